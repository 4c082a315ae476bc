"""Test accuracy and training time of the oracles.

    python benchmarks/oracles.py                    # the four BA sets, cpu profile, seeds 0 to 2
    python benchmarks/oracles.py --profile paper --seeds 1
    python benchmarks/oracles.py --json             # and the figures as one JSON object on the last line

One thread; seconds are CPU seconds. With EDGEFLIP_DATA the published graphs, otherwise generated ones.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Sequence

import torch
from rich.console import Console
from rich.table import Table

from edgeflip import list_datasets, load_dataset, load_preset
from edgeflip.training.oracles import fit_classifier


def main(argv: Sequence[str] | None = None) -> None:
    """Train, measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the figures as JSON last")
    parser.add_argument("--profile", default="cpu")
    parser.add_argument("--seeds", type=int, default=3)
    motifs = [entry.name for entry in list_datasets() if entry.name.startswith("ba_")]
    parser.add_argument("--datasets", nargs="*", default=motifs)
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    table = Table("dataset", "data", "test accuracy per seed", "paper", "val", "CPU s", "epochs")
    figures = {}
    for name in arguments.datasets:
        bundle = load_dataset(name)
        settings = load_preset(name, arguments.profile).oracle
        expected = load_preset(name, "paper").expected
        published = None if expected is None else expected.oracle_accuracy
        reports = [fit_classifier(bundle, settings, seed).report for seed in range(arguments.seeds)]
        figures[name] = {
            "origin": bundle.card.origin,
            "test_accuracy": [report.test_accuracy for report in reports],
            "paper_accuracy": published,
            "val_accuracy": [report.val_accuracy for report in reports],
            "cpu_seconds": [report.cpu_seconds for report in reports],
            "epochs": [report.epochs for report in reports],
        }
        table.add_row(
            name,
            bundle.card.origin,
            " ".join(f"{report.test_accuracy:.2f}" for report in reports),
            "-" if published is None else f"{published:.2f}",
            " ".join(f"{report.val_accuracy:.2f}" for report in reports),
            f"{statistics.fmean(report.cpu_seconds for report in reports):.1f}",
            " ".join(str(report.epochs) for report in reports),
        )
    Console(width=110).print(table)
    if arguments.json:
        print(json.dumps(figures))


if __name__ == "__main__":
    main()
