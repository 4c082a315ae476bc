"""CPU seconds a graph of edgeflip and of RSGG-CE, asked about the same graphs in turn.

    python benchmarks/speed.py
    python benchmarks/speed.py --datasets ba_3motifs --other random --rounds 5

In a benchmark the methods run one after the other, and a busy machine is faster at one time than at
another. Here each graph is explained by both, the one right after the other, and who begins changes
from graph to graph, so that what disturbs the one disturbs the other too. One thread, the `cpu` presets.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from edgeflip import CounterfactualExplainer, EdgeFlip, load_dataset, make_explainer
from edgeflip.training.fitting import fit_once
from edgeflip.training.oracles import oracle_for

DATASETS = ("ba_2motifs", "ba_2motifs_3class", "ba_3motifs", "ba_4motifs")


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row per dataset."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--other", default="rsgg-ce", help="the method to compare with")
    parser.add_argument("--graphs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--profile", default="cpu", help="of the presets")
    parser.add_argument("--models", type=Path, default=Path("runs/speed"))
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    print(f"| | graphs | edgeflip | {options.other} | ratio of each round |\n{'| --- ' * 5}|")
    for name in options.datasets:
        pair, graphs = _ready(name, options)
        for explainer in pair:
            explainer.explain(graphs[0])
        rounds = [_round(pair, graphs) for _ in range(options.rounds)]
        means = [sum(column) / len(rounds) for column in zip(*rounds, strict=True)]
        ratios = ", ".join(f"{ours / theirs:.2f}" for ours, theirs in rounds)
        print(
            f"| {name} | {len(graphs)} | {means[0]:.4f} | {means[1]:.4f} | {ratios} |", flush=True
        )


def _ready(
    name: str, options: argparse.Namespace
) -> tuple[list[CounterfactualExplainer[Any]], list[Any]]:
    """Both methods fitted, and correctly predicted test graphs."""
    models, profile = options.models, options.profile
    bundle = load_dataset(name)
    oracle = oracle_for(bundle, models / f"oracle-{name}", profile=profile)
    pair: list[CounterfactualExplainer[Any]] = [
        EdgeFlip.for_dataset(name, profile=profile),
        make_explainer(options.other, dataset=name, profile=profile),
    ]
    fitted = [fit_once(each, bundle, oracle, models).explainer for each in pair]
    labels = oracle.predict(bundle.test).tolist()
    graphs = [g for g, label in zip(bundle.test, labels, strict=True) if label == int(g.y)]
    return fitted, graphs[: options.graphs]


def _round(pair: list[CounterfactualExplainer[Any]], graphs: list[Any]) -> list[float]:
    """Mean CPU seconds a graph of each."""
    spent = [0.0, 0.0]
    for place, graph in enumerate(graphs):
        for turn in (place % 2, 1 - place % 2):
            started = time.process_time()
            pair[turn].explain(graph, chemistry=False)
            spent[turn] += time.process_time() - started
    return [seconds / len(graphs) for seconds in spent]


if __name__ == "__main__":
    main()
