"""One number per metric, dataset and method: over the graphs of a seed first, then over the seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from edgeflip.bench.report.results import Results, Row, without_paths
from edgeflip.metrics import METRICS, AnswerCase, Average, Metric, average, metrics_of

Rows = Sequence[Row]


@dataclass(frozen=True)
class MethodSummary:
    """What a method did on a dataset.

    Attributes:
        graphs: How many graphs were explained, every seed counted.
        statuses: How many of them ended how.
        values: Averages by the name of the metric.
        classes: The same for every target class.
    """

    graphs: int = 0
    statuses: Mapping[str, int] = field(default_factory=dict)
    values: Mapping[str, Average] = field(default_factory=dict)
    classes: Mapping[int, Mapping[str, Average]] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Average:
        """An average by its name; undefined if it was not measured."""
        return self.values.get(name, Average())


Summaries = Mapping[tuple[str, str], MethodSummary]
"""Summaries by dataset and method."""


@dataclass(frozen=True)
class Failure:
    """Graphs without a counterfactual, for the same reason.

    Attributes:
        reason: What the method or the error said about the first of them.
        graphs: Their places in the split; the same place under two seeds counts twice.
    """

    dataset: str
    method: str
    status: str
    reason: str
    graphs: tuple[int, ...]


def summarize_run(results: Results) -> dict[tuple[str, str], MethodSummary]:
    """The summary of every dataset and method of a run."""
    return {
        (dataset, method): summarize_methods(results, dataset, (method,))
        for dataset in results.datasets
        for method in results.methods
    }


def summarize_methods(results: Results, dataset: str, methods: Sequence[str]) -> MethodSummary:
    """The summary of one method on a dataset, or of several put together."""

    def by_seed(rows: Iterable[Row]) -> list[list[Row]]:
        seeds: dict[Any, list[Row]] = {}
        for row in rows:
            if row["dataset"] == dataset and row["method"] in methods:
                seeds.setdefault(row.get("seed"), []).append(row)
        return list(seeds.values())

    graphs, compared, fits = map(by_seed, (results.graphs, results.plausibility, results.fits))
    rows = {"answer": graphs, "graphs": compared, "fit": fits}
    values = {name: _average(metric, rows[metric.level]) for name, metric in METRICS.items()}
    for metric in metrics_of("graphs"):
        values[f"baseline_{metric.name}"] = _average(metric, compared, f"baseline_{metric.name}")
    every = [row for seed in graphs for row in seed]
    return MethodSummary(
        graphs=len(every),
        statuses=dict(Counter(str(row.get("status")) for row in every)),
        values=values,
        classes=_by_class(graphs),
    )


def class_metrics() -> list[Metric]:
    """The metrics that are measured for every target class."""
    return [metric for metric in METRICS.values() if "targets" in metric.also]


def answer_to(row: Row, target: int) -> Mapping[str, Any] | None:
    """What came when a graph was asked for a class; None for a graph that is of that class already.

    A graph that was never asked, such as after an error, counts as one without an answer.
    """
    if row.get("label") is None or row["label"] == target:
        return None
    nothing = {metric.name: metric.of(AnswerCase()) for metric in class_metrics()}
    return (row.get("targets") or {}).get(str(target)) or nothing


def failures(results: Results) -> list[Failure]:
    """Graphs without a counterfactual, or with an error later on, grouped by how and why it ended."""
    groups: dict[tuple[str, str, str, str], list[Row]] = {}
    for row in results.graphs:
        if not row.get("found") or row.get("error"):
            status = "error" if row.get("found") else str(row.get("status"))
            apart = _reason(row) if status == "error" else str(row.get("stopped_by") or "")
            key = (row["dataset"], row["method"], status, apart)
            groups.setdefault(key, []).append(row)
    order = {key: index for index, key in enumerate(product(results.datasets, results.methods))}
    ordered = sorted(groups.items(), key=lambda group: order[group[0][:2]])
    return [
        Failure(*key[:3], _reason(rows[0]), tuple(sorted(int(row["graph"]) for row in rows)))
        for key, rows in ordered
    ]


def time_shares(results: Results) -> dict[str, tuple[float, float]]:
    """Where the time of all sessions went: seconds and share by name; empty if nothing was timed."""
    sessions = results.meta.get("sessions") or ()
    total = sum(float(session.get("seconds") or 0) for session in sessions)
    if total <= 0:
        return {}
    spent = {
        name: sum(float(session.get(name) or 0) for session in sessions)
        for name in ("training", "explaining", "oracle", "other")
    }
    return {name: (seconds, seconds / total) for name, seconds in spent.items()}


def _reason(row: Row) -> str:
    said = row.get("error") or row.get("message") or row.get("stopped_by") or ""
    return without_paths(" ".join(str(said).split()))


def _average(metric: Metric, seeds: Sequence[Rows], name: str | None = None) -> Average:
    column = name or metric.name
    return average(([row.get(column) for row in rows] for rows in seeds), metric.averaging)


def _by_class(seeds: Sequence[Rows]) -> dict[int, dict[str, Average]]:
    """Averages by target class; a graph counts unless it is of that class already."""
    asked = [rows for rows in seeds if any(row.get("targets") for row in rows)]
    classes = {int(key) for rows in asked for row in rows for key in row.get("targets") or ()}
    tables = {}
    for number in sorted(classes):
        answers = [
            [answer for row in rows if (answer := answer_to(row, number)) is not None]
            for rows in asked
        ]
        tables[number] = {metric.name: _average(metric, answers) for metric in class_metrics()}
    return tables
