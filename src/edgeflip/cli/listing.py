"""What there is: datasets, methods, and files to download."""

from __future__ import annotations

import os
from dataclasses import asdict
from pathlib import Path

from edgeflip.cli.console import say, show, table
from edgeflip.cli.terminal import print_json
from edgeflip.datasets import DATA_VARIABLE, FAMILIES, fetch_dataset, list_datasets
from edgeflip.errors import ConfigError
from edgeflip.explainers import explainer_class, list_explainers

_AT_HAND = {"file": "yes", "generated": "generated"}


def print_datasets(data_dir: Path | None, *, as_json: bool) -> None:
    """List the datasets."""
    entries = list_datasets(data_dir)
    if as_json:
        print_json([asdict(entry) for entry in entries])
        return
    rows = table("dataset", "graphs", "train/val/test", "at hand", "classes", numbers=["graphs"])
    for entry in entries:
        split = "/".join(str(part) for part in entry.split or ())
        at_hand = _AT_HAND.get(entry.source, "no")
        rows.add_row(entry.name, str(entry.graphs), split, at_hand, ", ".join(entry.class_names))
    show(rows)
    say("By name, too:")
    for family, what in FAMILIES.items():
        say(f"  {family}:NAME  {what}")


def print_methods(*, as_json: bool) -> None:
    """List the methods."""
    names = list_explainers()
    if as_json:
        print_json(names)
        return
    rows = table("method", "what it does")
    for name in names:
        summary = (explainer_class(name).__doc__ or "").strip().splitlines()
        rows.add_row(name, summary[0] if summary else "")
    show(rows)


def download(name: str, data_dir: Path | None) -> None:
    """Download a dataset and print where its files are."""
    folder = data_dir or os.environ.get(DATA_VARIABLE)
    if not folder:
        raise ConfigError(
            f"expected a data folder, got none; give --data-dir or set {DATA_VARIABLE}."
        )
    for path in fetch_dataset(name, folder, progress=True):
        say(str(path))
