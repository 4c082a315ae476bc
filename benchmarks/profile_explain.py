"""Where the time of an explanation goes: CPU seconds per stage, and the oracle's share.

    python benchmarks/profile_explain.py
    python benchmarks/profile_explain.py --datasets bbbp --graphs 40 --json

The default search (`cpu` profile, Occlusion) on correctly predicted test graphs, one thread. The
oracle's share counts the candidates of the search, the factual explainer's questions and the answers
checked again on really edited graphs.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table

from edgeflip import EdgeFlip, load_dataset
from edgeflip.training.fitting import fit_once
from edgeflip.training.oracles import oracle_for

DATASETS = ("ba_2motifs", "bbbp", "graph_twitter")
STAGES = ("predict", "deconstruct", "reconstruct", "propose", "check", "oracle", "rank", "verify")
ASKING = ("predict", "deconstruct", "oracle", "verify")


def profile(name: str, count: int, models: Path, preset: str) -> dict[str, Any]:
    """Mean CPU seconds per graph, per stage, and what the oracle has of them."""
    bundle = load_dataset(name)
    oracle = oracle_for(bundle, models / f"oracle-{name}", profile=preset)
    explainer = EdgeFlip.for_dataset(name, profile=preset)
    fitted = fit_once(explainer, bundle, oracle, models).explainer
    labels = oracle.predict(bundle.test).tolist()
    graphs = [g for g, label in zip(bundle.test, labels, strict=True) if label == int(g.y)][:count]
    totals = dict.fromkeys(STAGES, 0.0)
    calls, started = 0, time.process_time()
    for graph in graphs:
        # Without the rules of chemistry, which are Python.
        trace = fitted.explain(graph, chemistry=False).trace
        calls += trace.oracle_calls
        for stage, spent in trace.stages.items():
            totals[stage] = totals.get(stage, 0.0) + spent.cpu_seconds
    whole = time.process_time() - started
    means = {stage: seconds / len(graphs) for stage, seconds in totals.items()}
    return {
        "graphs": len(graphs),
        "seconds": whole / len(graphs),
        "oracle_calls": calls / len(graphs),
        "oracle_share": sum(totals[stage] for stage in ASKING) / whole,
        "stages": means,
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, print a table, and the figures as JSON if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--graphs", type=int, default=60)
    parser.add_argument("--profile", default="cpu", help="of the presets")
    parser.add_argument("--models", type=Path, default=Path("runs/profile"))
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    results = {
        name: profile(name, options.graphs, options.models, options.profile)
        for name in options.datasets
    }
    stages = [s for s in (*STAGES, "certify") if any(s in r["stages"] for r in results.values())]
    table = Table("dataset", "graphs", "CPU s", "calls", "oracle", *stages)
    for name, result in results.items():
        table.add_row(
            name,
            str(result["graphs"]),
            f"{result['seconds']:.3f}",
            f"{result['oracle_calls']:,.0f}",
            f"{result['oracle_share']:.0%}",
            *(f"{result['stages'].get(stage, 0.0):.3f}" for stage in stages),
        )
    Console(width=None if sys.stdout.isatty() else 160).print(table)
    if options.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
