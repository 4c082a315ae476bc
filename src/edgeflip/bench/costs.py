"""What learning and explaining took in earlier runs, by which the cost of another one is estimated."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from statistics import fmean
from typing import TypeAlias

from edgeflip.bench.report.render import CSV_HEAD
from edgeflip.bench.report.results import Results, read_results
from edgeflip.errors import ArtifactError
from edgeflip.support import as_path, checked_call

ORACLE = "oracle"
"""Stands for the oracle where others have the name of a column."""

# What benchmarks/costs.py prints of committed reports, and what is not in them or has changed since.
_REPORTED, _PROBED = "costs.csv", "probed_costs.csv"
_HEAD = ("dataset", "method", "profile", "graph_seconds", "training_seconds")
# A column whose label says for how many epochs it was trained costs the same under its own name.
_EPOCHS = re.compile(r" \(\d+(–\d+)? epochs?\)$")
_PROFILE = re.compile(r"^- Profile: (\w+)$", re.MULTILINE)
# The tables and metrics of a report in which they stand.
_GRAPH, _TRAINING = ("times", "cpu_seconds"), ("times", "training_seconds")
_ORACLE = ("oracles", "oracle_seconds")


@dataclass(frozen=True)
class Cost:
    """What a column took on a dataset.

    Attributes:
        graph: CPU seconds for one question about a graph; None if unknown.
        training: Seconds of learning with one seed; None if unknown, or if nothing was learned.
    """

    graph: float | None = None
    training: float | None = None


Key: TypeAlias = tuple[str, str, str]
"""Dataset, column and profile."""

Costs: TypeAlias = Mapping[Key, Cost]


def known_costs() -> dict[Key, Cost]:
    """The costs that come with the package: of the runs of docs/results, then of a few graphs.

    Example:
        >>> known_costs()["ba_2motifs", "edgeflip", "cpu"].graph < 1
        True
    """
    folder = files("edgeflip") / "bench"
    return {
        (line["dataset"], line["method"], line["profile"]): Cost(
            _number(line["graph_seconds"]), _number(line["training_seconds"])
        )
        for name in (_REPORTED, _PROBED)
        for line in csv.DictReader((folder / name).read_text("utf-8").splitlines())
    }


def costs_of_run(folder: str | os.PathLike[str]) -> dict[Key, Cost]:
    """The costs that the rows of a run say.

    Raises:
        ArtifactError: If the folder holds no run.
    """
    results = read_results(folder)
    usual = str(results.spec.get("profile") or "cpu")
    profiles = {
        (dataset, str(method.get("label") or method["name"])): str(method.get("profile") or usual)
        for method in results.spec.get("methods") or ()
        for dataset in method.get("datasets") or results.datasets
    }
    costs: dict[Key, Cost] = {}
    for dataset in results.datasets:
        oracles = [row for row in results.oracles if row["dataset"] == dataset]
        trained = _mean(row.get("cpu_seconds") for row in oracles)
        costs[dataset, ORACLE, usual] = Cost(training=trained)
        for method in results.methods:
            profile = profiles.get((dataset, method), usual)
            costs[dataset, _EPOCHS.sub("", method), profile] = _cost_of(results, dataset, method)
    return costs


def _cost_of(results: Results, dataset: str, method: str) -> Cost:
    def mine(row: Mapping[str, object]) -> bool:
        return (row["dataset"], row["method"]) == (dataset, method) and row.get("error") is None

    fits = [row for row in results.fits if mine(row) and row.get("learns")]
    return Cost(
        _mean(row.get("cpu_seconds") for row in results.graphs if mine(row)),
        _mean(row.get("cpu_seconds") for row in fits),
    )


@checked_call()
def costs_table(reports: Sequence[str | os.PathLike[str]]) -> str:
    """The costs that reports say, as the CSV file that comes with the package.

    Args:
        reports: Folders of reports; of what stands in several the first counts.

    Raises:
        ArtifactError: If one of them holds no report.
    """
    costs: dict[Key, Cost] = {}
    for report in reports:
        for key, cost in _costs_of_report(as_path(report, ArtifactError)).items():
            costs.setdefault(key, cost)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(_HEAD)
    for key, cost in costs.items():
        writer.writerow((*key, _plain(cost.graph), _plain(cost.training)))
    return out.getvalue()


def _costs_of_report(folder: Path) -> dict[Key, Cost]:
    try:
        page = (folder / "report.md").read_text("utf-8")
        lines = list(csv.reader((folder / "results.csv").read_text("utf-8").splitlines()))
    except (OSError, UnicodeDecodeError):
        lines, page = [], ""
    profile = _PROFILE.search(page)
    if profile is None or not lines or tuple(lines[0]) != CSV_HEAD:
        raise ArtifactError(
            f"expected a report with report.md and results.csv in {folder}, got none; give the folder that "
            "'edgeflip bench report' wrote."
        )
    graph: dict[Key, float] = {}
    training: dict[Key, float] = {}
    for table, dataset, method, metric, ours, *_ in lines[1:]:
        key = (dataset, _EPOCHS.sub("", method), profile[1])
        if not ours:
            continue
        if (table, metric) == _GRAPH:
            graph[key] = float(ours)
        elif (table, metric) in (_TRAINING, _ORACLE):
            training[key] = float(ours)
    keys = dict.fromkeys((*graph, *training))
    return {key: Cost(graph.get(key), training.get(key)) for key in keys}


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return fmean(known) if known else None


def _number(text: str) -> float | None:
    return float(text) if text else None


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"
