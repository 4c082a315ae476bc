"""How time and memory grow with the number of graphs, and with the nodes of a graph.

    python benchmarks/scaling.py --out runs/scaling --figure docs/figures/scaling.svg
    python benchmarks/scaling.py --out runs/scaling --graphs 100 1000 --nodes 25 100
    python benchmarks/scaling.py --out runs/scaling --graphs 200 2200 --nodes --engine local --workers 2

By the number: graphs of the make-up of BA-2Motifs, 25 nodes each, come from a generator and are explained
into a folder of Parquet shards by `EdgeFlip` with its preset, and a GCN that learned on BA-2Motifs. By the
size: Barabási-Albert trees and a GCN with random weights, whose two classes are in balance on a tree of 25
nodes; a search may ask 2,000 times.

Each point is a process of its own on one thread. CPU seconds and memory are those of the process, with its
workers where it has some; what it holds when all is loaded, before the first graph, is taken off the peak
as "base". An exponent is the slope of a straight line through the logarithms; 1 means in proportion.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data

from edgeflip import Budget, GCNClassifier, ModelOracle, explain_into, load_dataset, make_explainer
from edgeflip.core import PairSpace
from edgeflip.datasets import generated_graphs
from edgeflip.draw import Curve, CurvePanel, Picture, Scale, curve_chart
from edgeflip.draw.axes import even_ticks, log_scale, log_ticks
from edgeflip.support import cpu_seconds
from edgeflip.training import oracle_for

GRAPHS, NODES = (100, 1_000, 10_000, 100_000), (25, 100, 400, 1_000, 2_000, 5_000)
# Graphs of each size, and what may be spent on one.
EACH, CALLS = 5, 2_000


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table for each kind of growth, and draw both."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--graphs", nargs="*", type=int, default=list(GRAPHS), help="numbers")
    parser.add_argument("--nodes", nargs="*", type=int, default=list(NODES), help="sizes")
    parser.add_argument("--each", type=int, default=EACH, help="graphs of each size")
    parser.add_argument("--engine", default="inline", choices=("inline", "local", "ray"))
    parser.add_argument("--workers", type=int)
    parser.add_argument("--out", type=Path, required=True, help="folder for models and answers")
    parser.add_argument("--profile", default="cpu", choices=("cpu", "smoke"), help="of the oracle")
    parser.add_argument("--figure", type=Path, help="where the picture goes")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON as well")
    parser.add_argument("--point", nargs=2, metavar=("KIND", "N"), help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.point:
        kind, count = options.point
        row = by_number(int(count), options) if kind == "graphs" else by_size(int(count), options)
        print(json.dumps(row))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    if options.graphs:
        # Before the points, so that none of them trains.
        ba_oracle(options)
    rows = {
        kind: [point(kind, count, options) for count in counts]
        for kind, counts in (("graphs", options.graphs), ("nodes", options.nodes))
        if counts
    }
    (options.out / "scaling.json").write_text(json.dumps(rows, indent=1) + "\n")
    for kind, found in rows.items():
        show(kind, found)
    draw(rows).save(options.figure or options.out / "scaling.svg")
    if options.json:
        print(json.dumps(rows))


def point(kind: str, count: int, options: argparse.Namespace) -> dict[str, Any]:
    """One measurement, in a process of its own."""
    command = [sys.executable, __file__, "--point", kind, str(count), "--out", str(options.out)]
    command += ["--engine", options.engine, "--each", str(options.each)]
    command += ["--profile", options.profile]
    command += ["--workers", str(options.workers)] if options.workers else []
    done = subprocess.run(
        command,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def ba_oracle(options: argparse.Namespace) -> ModelOracle:
    """A GCN that learned on BA-2Motifs, trained once."""
    bundle = load_dataset("ba_2motifs")
    return oracle_for(bundle, options.out / "oracle", profile=options.profile)


def by_number(count: int, options: argparse.Namespace) -> dict[str, Any]:
    """Time and memory of so many graphs of 25 nodes."""
    torch.set_num_threads(1)
    explainer = make_explainer("edgeflip", dataset="ba_2motifs").fit([], ba_oracle(options))
    # What is made once is made before.
    explainer.explain_many(list(islice(generated_graphs(), 3)))
    folder = options.out / f"answers-{count}-{options.engine}"
    shutil.rmtree(folder, ignore_errors=True)
    base, cpu, started = peak(), all_cpu_seconds(), time.perf_counter()
    asking = cpu_seconds()
    report = explain_into(
        explainer,
        islice(generated_graphs(), count),
        folder,
        engine=options.engine,
        workers=options.workers,
    )
    seconds, cpu = time.perf_counter() - started, all_cpu_seconds() - cpu
    asking = cpu_seconds() - asking
    size = sum(path.stat().st_size for path in folder.iterdir())
    shutil.rmtree(folder)
    row = {"count": count, "seconds": seconds, "cpu": cpu, "peak": peak(), "base": base}
    return {**row, "found": report.found, "failed": report.failed, "bytes": size, "asking": asking}


def by_size(nodes: int, options: argparse.Namespace) -> dict[str, Any]:
    """Time and memory of a few graphs of so many nodes, each by itself."""
    torch.set_num_threads(1)
    oracle = degree_oracle()
    explainer = make_explainer("edgeflip").fit([], oracle)
    explainer.explain(tree(25, seed=0), budget=Budget(oracle_calls=CALLS))
    graphs = [tree(nodes, seed=seed) for seed in range(options.each)]
    base, cpu, started = peak(), cpu_seconds(), time.perf_counter()
    answers = [
        explainer.explain(graph, budget=Budget(oracle_calls=CALLS, seconds=None))
        for graph in graphs
    ]
    seconds, cpu = time.perf_counter() - started, cpu_seconds() - cpu
    each = {"count": nodes, "seconds": seconds / len(graphs), "cpu": cpu / len(graphs)}
    return {
        **each,
        "peak": peak(),
        "base": base,
        "found": sum(answer.found for answer in answers),
        "calls": sum(answer.trace.oracle_calls for answer in answers) / len(answers),
        "graphs": len(answers),
    }


def degree_oracle() -> ModelOracle:
    """A GCN whose two classes are graphs whose hub is well connected, and others; nothing is learned."""
    generator = torch.Generator().manual_seed(0)
    model = GCNClassifier(4, 2, layers=(16, 16))
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator) / 4)
        graph = tree(25, seed=0)
        model.classify.bias.sub_(model(graph.x, graph.edge_index)[0])
    return ModelOracle(model, num_classes=2)


def tree(nodes: int, *, seed: int) -> Data:
    """A Barabási-Albert tree, each of whose nodes joins an old one with a chance by its degree."""
    generator = torch.Generator().manual_seed(seed)
    ends = [0, 1]
    pairs = [(0, 1)]
    draws = torch.rand(nodes, generator=generator).tolist()
    for node in range(2, nodes):
        old = ends[int(draws[node] * len(ends))]
        pairs.append((old, node))
        ends += (old, node)
    edges = torch.tensor([*pairs, *((v, u) for u, v in pairs)]).t().contiguous()
    x = 0.5 + torch.rand(nodes, 4, generator=generator)
    graph = Data(x=x, edge_index=edges)
    PairSpace.of(graph)
    return graph


def peak() -> float:
    """Megabytes that this process held at most, and the largest of those it waited for."""
    own, others = (resource.getrusage(who).ru_maxrss for who in _WHO)
    return float(max(own, others)) / 1024


def all_cpu_seconds() -> float:
    """CPU seconds of this process and of those it waited for."""
    used = [resource.getrusage(who) for who in _WHO]
    return sum(each.ru_utime + each.ru_stime for each in used)


_WHO = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)


def exponent(rows: Sequence[dict[str, Any]], name: str) -> float:
    """The slope of a straight line through the logarithms; NaN for one point."""
    pairs = [(math.log(row["count"]), math.log(max(row[name], 1e-9))) for row in rows]
    middle = [sum(column) / len(pairs) for column in zip(*pairs, strict=True)]
    spread = sum((x - middle[0]) ** 2 for x, _ in pairs)
    if not spread:
        return math.nan
    return float(sum((x - middle[0]) * (y - middle[1]) for x, y in pairs) / spread)


def show(kind: str, rows: Sequence[dict[str, Any]]) -> None:
    """Print a table."""
    table = Table(box=None)
    heads = (kind, "found", "seconds", "CPU seconds", "CPU ms a graph", "base MB", "more MB")
    for head in heads:
        table.add_column(head, justify="right")
    for row in rows:
        each = row["cpu"] / row["count"] if kind == "graphs" else row["cpu"]
        table.add_row(
            f"{row['count']:,}",
            f"{row['found']:,}",
            f"{row['seconds']:,.1f}",
            f"{row['cpu']:,.1f}",
            f"{1e3 * each:,.2f}",
            f"{row['base']:,.0f}",
            f"{row['peak'] - row['base']:,.0f}",
        )
    console = Console()
    console.print(table)
    console.print(
        f"CPU time grows with the power {exponent(rows, 'cpu'):.2f} of the {kind}, peak memory with "
        f"{exponent(rows, 'peak'):.2f}."
    )
    if len(rows) > 1 and "asking" in rows[-1]:
        last, before = rows[-1], rows[-2]
        each = (last["asking"] - before["asking"]) / (last["count"] - before["count"])
        console.print(f"Who asks spends {1e3 * each:.2f} CPU ms on a further graph.")


def draw(rows: Mapping[str, Sequence[dict[str, Any]]]) -> Picture:
    """Time and peak memory of both kinds, on logarithmic axes."""
    panels = []
    for kind, found in rows.items():
        for name, unit in (("cpu", "CPU seconds"), ("peak", "Peak MB")):
            points = tuple((float(row["count"]), float(row[name])) for row in found)
            across, up = (log_scale(column) for column in zip(*points, strict=True))
            ticks = log_ticks(up)
            if name == "peak":
                up = Scale(0.0, 1.15 * max(value for _, value in points))
                ticks = even_ticks(up.low, up.high, 5)
            panels.append(
                CurvePanel(
                    f"{unit}: power {exponent(found, name):.2f} of the {kind}",
                    (Curve("", points, points),),
                    kind,
                    across,
                    up,
                    tuple(ticks),
                    tuple(log_ticks(across)),
                    is_ours=True,
                )
            )
    return Picture(
        curve_chart(
            panels,
            "What more graphs, and larger ones, cost",
            "On the left both axes count factors: a straight line is a power of what is below.",
        )
    )


if __name__ == "__main__":
    main()
