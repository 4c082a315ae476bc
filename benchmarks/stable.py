"""What does ECaN, the overlap of answers before and after noise, reward? On validation graphs of the BA sets.

    python benchmarks/stable.py                                 # three BA sets, 40 validation graphs each
    python benchmarks/stable.py --datasets ba_2motifs --graphs 20 --split test

Every way to choose answers explains the same graphs before and after the same noise. ECaN is the largest
overlap (Jaccard) of an answer before with one after, where both lead to the same class; VaN is the share of
answered graphs with such a pair.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data

from edgeflip import DatasetBundle, EdgeFlip, ModelOracle, load_dataset, make_explainer
from edgeflip.core import Noise, add_noise
from edgeflip.explainers import CounterfactualExplainer, explainer_class
from edgeflip.metrics import overlaps_after_noise
from edgeflip.training import oracle_for

Ways = dict[str, tuple[CounterfactualExplainer[Any], dict[str, Any]]]


def ways_of(bundle: DatasetBundle, profile: str, others: Sequence[str]) -> Ways:
    """The ways to choose answers: how many, how many were looked for, and by what."""

    def ours(**overrides: Any) -> CounterfactualExplainer[Any]:
        return EdgeFlip.for_dataset(bundle.name, profile=profile, overrides=overrides)

    certain: dict[str, Any] = {"ring_tolerance": 0.0, "early_tolerance": 0.0}
    noise = Noise.for_dataset(bundle.name)
    return {
        "as it is, 20 kept": (ours(), {}),
        "1 kept": (ours(), {"keep": 1}),
        "100 kept": (ours(), {"keep": 100}),
        "20 kept, with needless edits": (ours(minimal=False), {}),
        "100 kept, with needless edits": (ours(minimal=False), {"keep": 100}),
        "20 kept, searched to the end": (ours(**certain), {}),
        "100 kept, searched to the end": (ours(**certain), {"keep": 100}),
        "robust=8": (ours(), {"robust": 8, "noise": noise}),
        "stable=8": (ours(), {"stable": 8, "noise": noise}),
        "stable=8, 100 kept": (ours(), {"stable": 8, "noise": noise, "keep": 100}),
        **{
            f"{name}, 20 kept": (make_explainer(name, dataset=bundle.name, profile=profile), {})
            for name in others
        },
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Explain before and after noise, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", nargs="*", default=["ba_2motifs", "ba_3motifs", "ba_4motifs"])
    parser.add_argument("--graphs", type=int, default=40, help="at most this many a dataset")
    parser.add_argument("--split", choices=("test", "val"), default="val")
    parser.add_argument("--profile", default="cpu")
    parser.add_argument("--others", nargs="*", default=["random"], help="other methods, by name")
    parser.add_argument("--models", type=Path, default=Path("runs/trust"))
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    for name in arguments.datasets:
        bundle = load_dataset(name)
        folder = arguments.models / name / "gcn-0"
        oracle = oracle_for(bundle, folder, profile=arguments.profile)
        graphs = _predicted_rightly(oracle, getattr(bundle, arguments.split))[: arguments.graphs]
        noise = Noise.for_dataset(name)
        noisy = [add_noise(graph, noise, seed=1) for graph in graphs]
        table = Table(
            f"{name}, {len(graphs)} {arguments.split} graphs",
            "answered",
            "ECaN",
            "VaN",
            "edits",
            "kept",
            "CPU s",
        )
        learning = [each for each in arguments.others if explainer_class(each).learns]
        for title, (explainer, options) in ways_of(
            bundle, arguments.profile, arguments.others
        ).items():
            explainer.fit(bundle.train if title.partition(",")[0] in learning else [], oracle)
            table.add_row(title, *_measured(explainer, graphs, noisy, options))
        Console(width=110).print(table)


def _measured(
    explainer: CounterfactualExplainer[Any],
    graphs: Sequence[Data],
    noisy: Sequence[Data],
    options: dict[str, Any],
) -> list[str]:
    started = time.process_time()
    before = [explainer.explain(graph, **options) for graph in graphs]
    seconds = (time.process_time() - started) / max(1, len(graphs))
    found = [(one, graph) for one, graph in zip(before, noisy, strict=True) if one.found]
    overlaps = []
    for answer, graph in found:
        told = overlaps_after_noise(answer, explainer.explain(graph, **options))
        kept = [value for value in told.values() if value is not None]
        overlaps.append(max(kept) if kept else None)
    known = [value for value in overlaps if value is not None]
    sizes = [one.smallest.size for one, _ in found if one.smallest is not None]
    return [
        f"{len(found)}/{len(graphs)}",
        _mean(known),
        _mean([float(value is not None) for value in overlaps]),
        _mean(sizes),
        _mean([len(one) for one, _ in found]),
        f"{seconds:.3f}",
    ]


def _mean(values: Sequence[float]) -> str:
    return f"{fmean(values):.3f}" if values else "-"


def _predicted_rightly(oracle: ModelOracle, graphs: Sequence[Data]) -> list[Data]:
    truth = [int(graph.y) for graph in graphs]
    labels = oracle.predict(graphs).tolist()
    return [graph for graph, one, two in zip(graphs, truth, labels, strict=True) if one == two]


if __name__ == "__main__":
    main()
