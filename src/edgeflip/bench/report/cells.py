"""Cell by cell: every published value beside ours, with an interval and a verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from edgeflip.bench.labels import PUBLISHED, VARIANTS
from edgeflip.bench.report.published import label
from edgeflip.bench.report.results import Results, Row
from edgeflip.bench.report.summary import answer_to, class_metrics
from edgeflip.bench.report.tables import NOTHING, Cell, Entry, ReportTable, TableRow, write_number
from edgeflip.metrics import (
    METRICS,
    Average,
    GraphValues,
    Interval,
    Metric,
    average,
    over_seeds,
    wilson_ends,
)

Verdict: TypeAlias = Literal["within", "better", "worse", "differs", "not judged"]

FAR = 0.15
"""Validities that differ by more are far from each other."""

FACTOR = 2.0
"""Sizes that differ by a larger factor are far from each other."""

_ACCURACY = Metric("oracle_accuracy", "oracle accuracy", float, "up", binary=True)
_ORACLE = "oracle"
_VERDICTS: tuple[Verdict, ...] = ("within", "better", "worse", "differs", "not judged")


@dataclass(frozen=True)
class PublishedCell:
    """One published value, and what was measured in its place.

    Attributes:
        dataset: The dataset.
        method: The column of the run; `oracle` for the model that is explained.
        metric: The measure.
        target: The class that was asked for; None for any other.
        ours: What was measured, with its deviation over seeds.
        interval: The 95 % interval of ours: Wilson's for shares, otherwise by a bootstrap over graphs; None
            where there are too few graphs.
        paper: What was published.
    """

    dataset: str
    method: str
    metric: Metric
    target: int | None
    ours: Average
    interval: Interval | None
    paper: float

    @property
    def verdict(self) -> Verdict:
        """Whether the published value, as rounded, lies within the interval, and if not, who is better.

        A measure without a better direction differs. Seconds of another machine are not judged.
        """
        if self.interval is None or self.ours.value is None or self.metric.style == "seconds":
            return "not judged"
        half = 0.5 * 10.0 ** -_decimals(self.paper, self.metric) + 1e-9
        low, high = self.interval
        if low <= self.paper + half and high >= self.paper - half:
            return "within"
        if not self.metric.better:
            return "differs"
        return "better" if self.metric.better * (self.ours.value - self.paper) > 0 else "worse"

    @property
    def far(self) -> bool:
        """Whether a validity is off by more than .15, or a size by more than a factor of two."""
        ours = self.ours.value
        if ours is None or self.verdict in ("within", "not judged"):
            return False
        if self.metric.name == "validity":
            # Rounded, so that a difference of exactly .15 is not far by the last digit of a float.
            return round(abs(ours - self.paper), 6) > FAR
        return self.metric.name == "size" and max(ours / self.paper, self.paper / ours) > FACTOR


def published_cells(results: Results) -> list[PublishedCell]:
    """Every published value that the run has measured too; none of a run on validation graphs."""
    cells: list[PublishedCell] = []
    for dataset in results.datasets:
        cells += _accuracy_cells(results, dataset)
        for method in results.methods:
            rows = [row for row in results.graphs if _is_of(row, dataset, method)]
            fits = [row for row in results.fits if _is_of(row, dataset, method)]
            name = published_column(method, rows)
            if name is not None:
                cells += _cells_of(results, dataset, method, name, rows, fits)
    return cells


def published_column(method: str, rows: Sequence[Row]) -> str | None:
    """The published column that a column of a run stands for; None for a method of its own.

    A column may say more in parentheses, as `d4explainer (200 epochs)` does, if it runs the same method. Of
    DR-CFGNN this is `(code)` alone, for nothing else is checked to be as published.

    Example:
        >>> published_column("d4explainer (200 epochs)", [{"explainer": "d4explainer"}])
        'd4explainer'
        >>> published_column("cf2 (mine)", [{"explainer": "random"}]) is None
        True
    """
    name, _, more = method.partition(" (")
    if name not in PUBLISHED or (name in VARIANTS and more not in ("", "code)")):
        return None
    meant = "dr-cfgnn" if name in VARIANTS else name
    return name if all(row.get("explainer", meant) == meant for row in rows) else None


def _is_of(row: Row, dataset: str, method: str) -> bool:
    return bool(row["dataset"] == dataset and row["method"] == method)


def _printed_metrics() -> list[Metric]:
    """A metric for each published name: the paper's own definition, which stands first in the table."""
    first: dict[str, Metric] = {}
    for metric in METRICS.values():
        if metric.published is not None:
            first.setdefault(metric.published, metric)
    return list(first.values())


def _accuracy_cells(results: Results, dataset: str) -> Iterator[PublishedCell]:
    paper = results.paper.accuracy(dataset)
    oracles = [row for row in results.oracles if row["dataset"] == dataset]
    ours = over_seeds(row.get("accuracy") for row in oracles)
    graphs = max((row.get("test_graphs") or 0 for row in oracles), default=0)
    if paper is not None and ours.value is not None and graphs:
        interval = wilson_ends(ours.value, graphs)
        yield PublishedCell(dataset, _ORACLE, _ACCURACY, None, ours, interval, paper)


def _cells_of(
    results: Results,
    dataset: str,
    method: str,
    name: str,
    rows: Sequence[Row],
    fits: Sequence[Row],
) -> Iterator[PublishedCell]:
    for metric in _printed_metrics():
        paper = results.paper.printed_for(dataset, name, metric)
        if paper is None:
            continue
        source = fits if metric.level == "fit" else rows
        values = _values(metric, ((row, row) for row in source))
        if values:
            yield _cell(dataset, method, metric, None, values, paper)
    asked = {row.get("seed") for row in rows if row.get("targets")}
    for target in sorted(results.paper.classes(dataset)):
        for metric in class_metrics():
            paper = results.paper.by_class(dataset, name, target, metric.name)
            answers = (
                (row, answer)
                for row in rows
                if row.get("seed") in asked and (answer := answer_to(row, target)) is not None
            )
            values = _values(metric, answers)
            if paper is not None and values:
                yield _cell(dataset, method, metric, target, values, paper)


def _values(metric: Metric, answers: Iterator[tuple[Row, Mapping[str, Any]]]) -> GraphValues:
    """The values of a metric by seed and graph, where there is one number of each."""
    return {
        (int(row.get("seed") or 0), int(row.get("graph", -1))): float(value)
        for row, answer in answers
        if isinstance(value := answer.get(metric.name), int | float)
    }


def _cell(
    dataset: str,
    method: str,
    metric: Metric,
    target: int | None,
    values: GraphValues,
    paper: float,
) -> PublishedCell:
    seeds: dict[int, list[float]] = {}
    for (seed, _), value in values.items():
        seeds.setdefault(seed, []).append(value)
    interval = metric.interval(values) if metric.level == "answer" else None
    return PublishedCell(dataset, method, metric, target, average(seeds.values()), interval, paper)


def _decimals(paper: float, metric: Metric) -> int:
    """How many decimals a value was printed with; a file keeps no zeros at the end."""
    written = len(str(paper).partition(".")[2])
    return max(written, 3 if metric.style == "share3" else 2)


def cell_tables(results: Results, cells: Sequence[PublishedCell]) -> list[ReportTable]:
    """The published cells and how many there are of each verdict; none without any."""
    return [_count_table(results, cells), _cell_table(results, cells)] if cells else []


def _cell_table(results: Results, cells: Sequence[PublishedCell]) -> ReportTable:
    rows = []
    for cell in cells:
        rows.append(TableRow(cell_head(results, cell), written_cell(cell), cell.dataset))
    return ReportTable(
        key="cells",
        title="Published and measured",
        note="Intervals are of 95 %: Wilson's for shares, otherwise by a bootstrap over graphs, all seeds of "
        "a graph together. Within: the published value, as rounded, lies in it. Far: a validity off by more "
        f"than {write_number(FAR, 'share')}, or a size by more than a factor of {FACTOR:g}. Differs: the "
        "measure has no better direction. Not judged: seconds, which are of another machine, and a single "
        "graph.",
        head=("Dataset", "Method", "Measure"),
        columns=("ours", "95 % interval", "published", "verdict"),
        rows=tuple(rows),
    )


def cell_head(results: Results, cell: PublishedCell) -> tuple[str, str, str]:
    """Which cell it is: dataset, column and measure."""
    to = "" if cell.target is None else f" to {results.class_name(cell.dataset, cell.target)}"
    return results.title(cell.dataset), _name(results, cell.method), cell.metric.heading + to


def _name(results: Results, method: str) -> str:
    return method if method == _ORACLE else results.label(method)


def written_cell(cell: PublishedCell) -> tuple[Cell, ...]:
    """Ours, its interval, the published value and the verdict."""
    style = cell.metric.style
    if cell.metric.style == "share" and _decimals(cell.paper, cell.metric) > 2:
        style = "share3"
    entry = Entry(cell.metric.name, style, ours=cell.ours.value, sd=cell.ours.sd)
    ends = NOTHING
    if cell.interval is not None:
        ends = " to ".join(write_number(end, style) for end in cell.interval)
    far = ", far" if cell.far else ""
    return ((entry,),), ends, write_number(cell.paper, style), f"{cell.verdict}{far}"


def _count_table(results: Results, cells: Sequence[PublishedCell]) -> ReportTable:
    missing = _missing(results, cells)
    groups: dict[tuple[str, str], tuple[list[PublishedCell], int]] = {}
    for kind, of in (
        ("measure", lambda cell: cell.metric.title),
        ("method", lambda cell: _name(results, cell.method)),
        ("dataset", lambda cell: results.title(cell.dataset)),
    ):
        for name in dict.fromkeys(map(of, cells)):
            groups[kind, name] = ([cell for cell in cells if of(cell) == name], 0)
    groups["all", "cells"] = (list(cells), len(missing))
    rows = []
    for head, (own, gone) in groups.items():
        counts = Counter(cell.verdict for cell in own)
        numbers = [*(counts[name] for name in _VERDICTS), sum(cell.far for cell in own)]
        last = str(gone) if head[0] == "all" else NOTHING
        rows.append(TableRow(head, (*map(str, numbers), last)))
    judged = [cell for cell in cells if cell.verdict != "not judged"]
    inside = sum(cell.verdict == "within" for cell in judged)
    return ReportTable(
        key="verdicts",
        title="How many cells are as published",
        note=f"{inside} of {len(judged)} judged cells lie within the interval. Every published value of the "
        "datasets of this run is a cell, for every column of the run that stands for it. Not measured: "
        f"{_told(missing) or 'none'}.",
        head=("Counted by", "which"),
        columns=(*_VERDICTS, "of these far", "not measured"),
        rows=tuple(rows),
    )


def _missing(results: Results, cells: Sequence[PublishedCell]) -> list[tuple[str, str, str]]:
    """Published values that no column of the run has: dataset, column, measure."""
    have = {
        (cell.dataset, published_column(cell.method, ()), cell.metric.published, cell.target)
        for cell in cells
    }
    found = []
    for dataset in results.datasets:
        for name in PUBLISHED:
            wanted: list[tuple[Metric, int | None, float | None]] = [
                (metric, None, results.paper.printed_for(dataset, name, metric))
                for metric in _printed_metrics()
            ]
            wanted += [
                (metric, target, results.paper.by_class(dataset, name, target, metric.name))
                for target in sorted(results.paper.classes(dataset))
                for metric in class_metrics()
            ]
            found += [
                (dataset, name, metric.title)
                for metric, target, paper in wanted
                if paper is not None and (dataset, name, metric.published, target) not in have
            ]
    return found


def _told(missing: Sequence[tuple[str, str, str]]) -> str:
    """How many values of which columns are missing."""
    counts = Counter(name for _, name, _ in missing)
    return ", ".join(f"{label(name)} {count}" for name, count in counts.items())
