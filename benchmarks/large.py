"""Graphs of thousands of nodes that lack two particular edges: found by gradient, as a black box, by chance?

    python benchmarks/large.py                            # 20 graphs of 2,000 and 20 of 5,000 nodes
    python benchmarks/large.py --sizes 2000 --graphs 5 --ways gradient
    python benchmarks/large.py --rows runs/large/rows.jsonl    # and a JSON line per graph

Sparse graphs with a planted clique (see `planting/cliques.py`), and a GIN that learned on graphs of 60 to 400
nodes to tell whether there is one. A graph is explained when the GIN says "no clique", says so as well after
each of two certain additions, and says "clique" after both.

    gradient  `EdgeFlip` on the whole graph; the model takes `edge_weight`
    function  the same asks a plain function, within 200 nodes around the clique
    random    `random` asks it within the same nodes, with so many questions

Each size and way is a process of its own on one thread. Its base is what it holds when everything is loaded,
right before the first graph is explained; "more" is what the peak has more than that. Answers are applied
again and asked about here.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from edgeflip import Budget, Constraints, EdgeFlip, EditSet, ModelOracle, make_explainer
from edgeflip.core import PAD, EditSpace
from edgeflip.support import progress_bar
from planting.cliques import (
    CLASSES,
    CliqueGIN,
    Planted,
    accuracy,
    any_graph,
    lacking_two,
    trained_gin,
)

WAYS = ("gradient", "function", "random")
REGION = 200


def main(argv: Sequence[str] | None = None) -> None:
    """Print what the GIN is worth, then a row per size and way."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=[2000, 5000], help="nodes")
    parser.add_argument("--graphs", type=int, default=20, help="so many of each size")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--region", type=int, default=REGION, help="nodes around the clique")
    parser.add_argument("--calls", type=int, default=500, help="questions of `random` a graph")
    parser.add_argument("--learned", type=int, default=3000, help="graphs that the GIN learns from")
    parser.add_argument("--epochs", type=int, default=40, help="of its training")
    parser.add_argument(
        "--held-out", type=int, default=100, help="graphs of each size to test it on"
    )
    parser.add_argument("--models", type=Path, default=Path("runs/large"))
    parser.add_argument("--rows", type=Path, help="file that gets a JSON line per graph")
    parser.add_argument("--smoke", action="store_true", help="small and few, to see that it runs")
    options = parser.parse_args(argv)
    if options.smoke:
        options.sizes, options.graphs, options.held_out = [600], 1, 4
        options.learned, options.epochs, options.calls = 60, 1, 100
    torch.set_num_threads(1)
    model = trained_gin(options.models, count=options.learned, epochs=options.epochs)
    oracle = ModelOracle(model, class_names=CLASSES)
    print(f"GIN {oracle.fingerprint()}")
    chosen = {}
    for size in options.sizes:
        chance = random.Random(f"held out {size}")
        held_out = [any_graph(size, chance) for _ in range(options.held_out)]
        right = accuracy(model, held_out)
        chosen[size], drawn = _seeds(oracle, size, options.graphs, any_will_do=options.smoke)
        print(
            f"{size:,} nodes: right about {right:.1%} of {len(held_out)} held-out graphs; "
            f"{len(chosen[size])} of {drawn} lack two edges by its word"
        )
    print(
        "\n| nodes | way | answered | the two | edits | CPU s: mean, most | seconds: mean, most | MB: base, "
        "peak, more | passes | looked at | single edits, pairs, larger |"
    )
    print("| --- " * 11 + "|")
    for size in options.sizes:
        for way in options.ways:
            rows, memory = _measured(way, size, chosen[size], options)
            for row in rows:
                _check(oracle, size, row)
            if options.rows is not None:
                _write(options.rows, size, way, rows)
            print(f"| {size:,} | {way} | {_cells(rows, memory)} |", flush=True)


def _seeds(
    oracle: ModelOracle, size: int, count: int, *, any_will_do: bool
) -> tuple[list[int], int]:
    """Seeds of graphs to explain, and how many were drawn for them."""
    found: list[int] = []
    seed = 0
    while len(found) < count:
        planted = _planted(size, seed)
        one, two = sorted(planted.missing)
        versions = [EditSet(added) for added in ([one], [two], [one, two])]
        graphs = [planted.graph, *(edits.apply(planted.graph) for edits in versions)]
        if any_will_do or oracle.predict(graphs).tolist() == [0, 0, 0, 1]:
            found.append(seed)
        seed += 1
    return found, seed


def _planted(size: int, seed: int) -> Planted:
    return lacking_two(size, random.Random(f"to explain {size} {seed}"))


def _check(oracle: ModelOracle, size: int, row: dict[str, Any]) -> None:
    """End the run when edits do not change the prediction, or leave the region."""
    if row["added"] is None:
        return
    planted = _planted(size, row["seed"])
    edits = EditSet(*([tuple(pair) for pair in row[key]] for key in ("added", "removed")))
    before, after = oracle.predict([planted.graph, edits.apply(planted.graph)]).tolist()
    nodes = {node for pair in edits.edges for node in pair}
    if before == after or (row["within"] and not nodes <= set(row["within"])):
        raise SystemExit(f"an answer about graph {row['seed']} of {size} nodes is none: {edits}")


def _write(path: Path, size: int, way: str, rows: Sequence[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps({"size": size, "way": way, **row}) + "\n")


def _cells(rows: Sequence[dict[str, Any]], memory: dict[str, float]) -> str:
    answered = [row for row in rows if row["added"] is not None]
    edits = [len(row["added"]) + len(row["removed"]) for row in answered]
    cpu, wall = ([row[key] for row in rows] for key in ("cpu", "wall"))
    looked = [row["pool"] / row["allowed"] for row in rows if row["pool"] is not None]
    cells = [
        f"{len(answered)} of {len(rows)}",
        str(sum(row["are_the_two"] for row in rows)),
        f"{fmean(edits):.2f}" if edits else "–",
        f"{fmean(cpu):.2f}, {max(cpu):.2f}",
        f"{fmean(wall):.2f}, {max(wall):.2f}",
        f"{memory['base']:,.0f}, {memory['peak']:,.0f}, {memory['peak'] - memory['base']:,.0f}",
        f"{fmean(row['passes'] for row in rows):,.0f}",
        f"{fmean(looked):.2%}" if looked else "–",
        ", ".join(f"{fmean(row['tried'][size] for row in rows):,.0f}" for size in range(3)),
    ]
    return " | ".join(cells)


def _measured(
    way: str, size: int, seeds: Sequence[int], options: argparse.Namespace
) -> tuple[list[dict[str, Any]], dict[str, float]]:
    """What a process of its own finds, a row per graph, and its memory."""
    task = {
        "way": way,
        "size": size,
        "seeds": seeds,
        "region": options.region,
        "calls": options.calls if way == "random" or options.smoke else None,
        "models": str(options.models),
        "learned": options.learned,
        "epochs": options.epochs,
    }
    process = subprocess.Popen(
        [sys.executable, __file__, "--worker", json.dumps(task)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    bar = progress_bar(f"{size:,} {way}", total=len(seeds), unit="graph", shown=True)
    lines = []
    for line in process.stdout:
        lines.append(json.loads(line))
        bar.update(int("seed" in lines[-1]))
    bar.close()
    if process.wait() or len(lines) != len(seeds) + 1:
        raise SystemExit(
            f"expected {len(seeds)} answers, got {len(lines)} lines; see the error above."
        )
    return lines[:-1], lines[-1]


# What a process measures.


class _Counting(ModelOracle):
    """An oracle that counts how many edits it is asked about."""

    def predict_edits(self, space: EditSpace, rows: Tensor) -> Tensor:
        """See `ModelOracle`."""
        tried: Counter[int] = self.__dict__.setdefault("tried", Counter())
        tried.update((rows != PAD).sum(dim=1).clamp(max=3).tolist())
        return super().predict_edits(space, rows)


def work(task: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """A row per graph, then the memory of the process in MB."""
    torch.set_num_threads(1)
    folder = Path(task["models"])
    model = trained_gin(folder, count=task["learned"], epochs=task["epochs"])
    graphs = {seed: _planted(task["size"], seed) for seed in task["seeds"]}
    base = _peak()
    for seed, planted in graphs.items():
        yield {"seed": seed, **_explained(task, model, planted, seed)}
    yield {"base": base, "peak": _peak()}


def _explained(
    task: dict[str, Any], model: CliqueGIN, planted: Planted, seed: int
) -> dict[str, Any]:
    """What a search finds in a graph, and what it takes."""
    is_gradient = task["way"] == "gradient"
    within = None if is_gradient else planted.region(random.Random(seed), task["region"])
    oracle = (
        _Counting(model, num_classes=2)
        if is_gradient
        else _Counting(_function(model), num_classes=2, returns="probabilities")
    )
    made: Any = make_explainer("random") if task["way"] == "random" else EdgeFlip()
    explainer = made.fit([], oracle)
    budget = Budget(oracle_calls=task["calls"], seconds=None)
    cpu, wall = time.process_time(), time.perf_counter()
    answer = explainer.explain(planted.graph, constraints=Constraints(within=within), budget=budget)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    edits = None if answer.best is None else answer.best.edits
    trace = answer.trace
    tried = vars(oracle).get("tried", Counter())
    return {
        "added": None if edits is None else sorted(edits.added),
        "removed": None if edits is None else sorted(edits.removed),
        "are_the_two": edits is not None and edits == EditSet(planted.missing),
        "within": None if within is None else sorted(within),
        "cpu": cpu,
        "wall": wall,
        "passes": trace.oracle_calls,
        "pool": trace.notes.get("pool"),
        "allowed": trace.notes.get("allowed"),
        "tried": [tried[1], tried[2], tried[3]],
        "stopped_by": trace.stopped_by,
        "ring": None if answer.best is None else answer.best.ring,
        "stages": {
            name: [stage.cpu_seconds, stage.oracle_calls] for name, stage in trace.stages.items()
        },
    }


def _function(model: CliqueGIN) -> Any:
    """The model as a plain function, which nobody can differentiate."""

    def ask(graphs: list[Data]) -> Tensor:
        batch: Any = Batch.from_data_list(graphs)
        with torch.no_grad():
            logits: Tensor = model(batch.x, batch.edge_index, batch.batch)
        return logits.softmax(dim=1)

    return ask


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        for found in work(json.loads(sys.argv[2])):
            print(json.dumps(found), flush=True)
    else:
        main()
