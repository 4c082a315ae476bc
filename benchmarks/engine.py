"""How fast candidates reach the oracle: one at a time, in blocks, and the bare model.

    python benchmarks/engine.py            # a table
    python benchmarks/engine.py --json     # and its figures as one JSON object on the last line
    python benchmarks/engine.py --paths    # also the dense against the sparse path by graph size

All on one thread, on the BA-2Motifs oracle, on all edit sets of two edges of one graph. Rates are in
candidates per CPU second; the three are timed in turn, round by round, and the medians are compared,
so that a busy machine slows all of them alike. The bare model runs on
batches made beforehand, all different, as the whole path's are.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from torch_geometric.data import Batch, Data

from edgeflip import (
    Budget,
    Constraints,
    GCNClassifier,
    MeteredOracle,
    ModelOracle,
    PairEdits,
    PairSpace,
    load_dataset,
    train_oracle,
)
from edgeflip.core import EditSet, PairLevel, RandomOrder, assemble, base_adjacency
from edgeflip.core.batching import adjacency
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.testing import example_graphs

BLOCK = 4096


def level_blocks(space: PairSpace, seed: int = 0) -> list[Tensor]:
    """All edit sets of two edges, in random order, block by block."""
    level = PairLevel.of(2, space.edge_ids, space.non_edge_ids(), max_removed=2, max_added=2)
    order = RandomOrder(level.count, random.Random(seed))
    return [level.rows(ranks) for ranks in order.blocks(first=BLOCK, largest=BLOCK)]


def edited_data(space: PairSpace, entry: EditSet) -> Data:
    """An edited PyG graph the plain way, kept lean: cut and join the edge list."""
    graph = space.graph
    source, target = graph.edge_index
    keep = torch.ones(source.numel(), dtype=torch.bool)
    for u, v in entry.removed:
        keep &= ~((source == u) & (target == v) | (source == v) & (target == u))
    new = [pair for u, v in entry.added for pair in ((u, v), (v, u))]
    added = torch.tensor(new, dtype=torch.long).reshape(-1, 2).t()
    return Data(x=graph.x, edge_index=torch.cat([graph.edge_index[:, keep], added], dim=1))


def one_at_a_time(oracle: ModelOracle, space: PairSpace, edits: list[EditSet]) -> int:
    """A PyG graph per candidate, a model call per graph."""
    model: Any = oracle.model
    batch = torch.zeros(space.num_nodes, dtype=torch.long)
    for entry in edits:
        data = edited_data(space, entry)
        model(data.x, data.edge_index, batch).softmax(dim=1).argmax(dim=1)
    return len(edits)


def collated(oracle: ModelOracle, space: PairSpace, edits: list[EditSet]) -> int:
    """A PyG graph per candidate, collated by PyG into batches of 256."""
    model: Any = oracle.model
    for start in range(0, len(edits), 256):
        part = edits[start : start + 256]
        batch = Batch.from_data_list([edited_data(space, entry) for entry in part])
        model(batch.x, batch.edge_index, batch.batch).softmax(dim=1).argmax(dim=1)
    return len(edits)


def whole_explain(oracle: ModelOracle, space: PairSpace) -> int:
    """A real call: every edit set of one or two edges, flips noted, ranked and verified."""
    config = RandomConfig(stop_at_first=False, oracle_calls=None, seconds=None)
    explainer = RandomSearch(config).fit([], oracle)
    answer = explainer.explain(space.graph, constraints=Constraints(max_edits=2))
    return answer.trace.oracle_calls


def whole_path(oracle: ModelOracle, space: PairSpace) -> int:
    """Block of candidates, constraints, de-duplication, oracle."""
    moves = PairEdits(space)
    meter = MeteredOracle(oracle, Budget(oracle_calls=None))
    for block in level_blocks(space):
        rows = moves.normalise(block)
        kept = moves.check(rows)
        meter.answer(moves, rows if bool(kept.all()) else rows[kept])
    return meter.calls


def bare_model(oracle: ModelOracle, space: PairSpace) -> Callable[[], int]:
    """The model alone on batches that were made beforehand, the same way as the whole path makes them."""
    parts = [
        part for block in level_blocks(space) for part in block.split(oracle.batch_size or 1024)
    ]
    model: Any = oracle.model
    if oracle.uses_dense_path(space.graph):
        projected, base = model.project(space.graph.x), base_adjacency(space)
        ready = [adjacency(space, part, base) for part in parts]

        def run() -> int:
            for matrices in ready:
                model.dense_logits(projected, matrices).softmax(dim=1)
            return sum(len(matrices) for matrices in ready)

    else:
        batches = [assemble(space, part) for part in parts]

        def run() -> int:
            for batch in batches:
                model(batch.x, batch.edge_index, batch.batch).softmax(dim=1)
            return sum(batch.num_graphs for batch in batches)

    return run


def rate(run: Callable[[], int]) -> float:
    """Candidates per CPU second."""
    started = time.process_time()
    count = run()
    return count / (time.process_time() - started)


def measure(oracle: ModelOracle, space: PairSpace, rounds: int) -> dict[str, float]:
    """Median rates of all three ways, timed in turn."""
    many = PairEdits(space).edits(level_blocks(space)[0][:1024])
    edits = many[:300]
    with oracle.frozen(), torch.no_grad():
        ways: dict[str, Callable[[], int]] = {
            "one_at_a_time_per_s": lambda: one_at_a_time(oracle, space, edits),
            "collated_per_s": lambda: collated(oracle, space, many),
            "whole_path_per_s": lambda: whole_path(oracle, space),
            "explain_per_s": lambda: whole_explain(oracle, space),
            "bare_model_per_s": bare_model(oracle, space),
        }
        for run in ways.values():
            run()
        rates: dict[str, list[float]] = {key: [] for key in ways}
        for _ in range(rounds):
            for key, run in ways.items():
                rates[key].append(rate(run))
    return {key: statistics.median(values) for key, values in rates.items()}


def ask(oracle: ModelOracle, space: PairSpace, toggles: Tensor) -> int:
    """One block through the oracle."""
    return len(oracle.predict_edits(PairEdits(space), toggles))


def compare_paths(rounds: int) -> list[dict[str, float]]:
    """Dense against sparse by graph size, for the default of `DENSE_NODE_LIMIT`."""
    rows = []
    torch.manual_seed(0)
    for nodes in (10, 25, 50, 64, 100, 150):
        graph = example_graphs(1, seed=nodes, num_nodes=nodes, features=10)[0]
        space = PairSpace.of(graph)
        toggles = level_blocks(space)[0]
        row: dict[str, float] = {"nodes": nodes}
        for width, normalize in ((20, False), (128, True)):
            model = GCNClassifier(10, 2, layers=(width,) * 3, normalize=normalize)
            for path in ("sparse", "dense"):
                oracle = ModelOracle(model, num_classes=2, path=path)
                block = toggles[: 1024 if width == 20 else 256]
                with oracle.frozen():
                    run = partial(ask, oracle, space, block)
                    run()
                    row[f"{path}_{width}"] = statistics.median(rate(run) for _ in range(rounds))
        rows.append(row)
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--json", action="store_true", help="print the figures as JSON on the last line"
    )
    parser.add_argument(
        "--paths", action="store_true", help="compare the dense and the sparse path"
    )
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    bundle = load_dataset("ba_2motifs")
    oracle = train_oracle(bundle, profile="smoke")
    space = PairSpace.of(bundle.test[0])
    figures: dict[str, Any] = {**measure(oracle, space, arguments.rounds)}
    whole = figures["whole_path_per_s"]
    figures["times_one_at_a_time"] = whole / figures["one_at_a_time_per_s"]
    figures["share_of_bare_model"] = whole / figures["bare_model_per_s"]
    figures["path"] = "dense" if oracle.uses_dense_path(space.graph) else "sparse"
    table = Table("way", "candidates per CPU s", title="BA-2Motifs oracle, one thread, two edits")
    table.add_row("one at a time (a PyG graph each)", f"{figures['one_at_a_time_per_s']:,.0f}")
    table.add_row("collated by PyG, 256 a batch", f"{figures['collated_per_s']:,.0f}")
    table.add_row("whole path, in blocks", f"{whole:,.0f}")
    table.add_row("explain() with ranking and verifying", f"{figures['explain_per_s']:,.0f}")
    table.add_row(
        f"bare model on ready {figures['path']} batches", f"{figures['bare_model_per_s']:,.0f}"
    )
    table.add_row("whole path / one at a time", f"{figures['times_one_at_a_time']:.1f} x")
    table.add_row("whole path / bare model", f"{figures['share_of_bare_model']:.0%}")
    console = Console(width=110)
    console.print(table)
    if arguments.paths:
        figures["paths"] = compare_paths(arguments.rounds)
        sizes = Table("nodes", "sparse, width 20", "dense, width 20", "sparse, 128", "dense, 128")
        for row in figures["paths"]:
            sizes.add_row(
                *(f"{row[key]:,.0f}" for key in ("nodes", "sparse_20", "dense_20")),
                *(f"{row[key]:,.0f}" for key in ("sparse_128", "dense_128")),
            )
        console.print(sizes)
    if arguments.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
