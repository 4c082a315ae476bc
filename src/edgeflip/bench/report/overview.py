"""The main numbers at a glance, by predicted class and by additions too."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean, median

from edgeflip.bench.report.results import Results, Row, has_size
from edgeflip.bench.report.summary import Summaries, summarize_run
from edgeflip.bench.report.tables import (
    NOTHING,
    Cell,
    Entry,
    ReportTable,
    TableRow,
    flat,
    mark_best,
)
from edgeflip.metrics import METRICS, Metric, over_seeds

MOST_ADDED = (0, 1, 3, 10)
"""Limits of the additions by which answers are counted."""


def overview_tables(results: Results, summaries: Summaries) -> list[ReportTable]:
    """The main numbers of all methods, by predicted class and by additions too."""
    optional = (label_table(results), additions_table(results))
    return [
        overview_table(results, summaries),
        *(table for table in optional if table.rows),
    ]


def overview_table(results: Results, summaries: Summaries) -> ReportTable:
    """A row per dataset and method."""
    rows = [
        TableRow((results.title(dataset), results.label(method)), cells, dataset)
        for dataset in results.datasets
        for method, cells in _compared(results, summaries, dataset, printed=True)
    ]
    return _overview(
        "overview",
        "Main numbers",
        "One row per method, all graphs. The other tables say more about each.",
        ("Dataset", "Method"),
        rows,
    )


def label_table(results: Results) -> ReportTable:
    """The same over the graphs of one predicted class, where there is more than one."""
    rows = []
    for dataset in results.datasets:
        labels = {
            int(row["label"])
            for row in results.graphs
            if row["dataset"] == dataset and row.get("label") is not None
        }
        for label in sorted(labels) if len(labels) > 1 else ():
            graphs = tuple(row for row in results.graphs if row.get("label") == label)
            part = replace(results, graphs=graphs)
            name = results.class_name(dataset, label)
            rows += [
                TableRow((results.title(dataset), name, results.label(method)), cells, dataset)
                for method, cells in _compared(part, summarize_run(part), dataset, printed=False)
            ]
    return _overview(
        "labels",
        "By predicted class",
        "The graphs that the model predicts to be of one class, asked for any other class. The paper "
        "prints nothing of this kind.",
        ("Dataset", "Predicted", "Method"),
        rows,
    )


def _columns() -> list[Metric]:
    return [metric for metric in METRICS.values() if "overview" in metric.also]


def _overview(
    key: str, title: str, note: str, head: tuple[str, ...], rows: Sequence[TableRow]
) -> ReportTable:
    """The table, without columns that are asked of molecules alone where there are none."""
    kept = [
        place
        for place, metric in enumerate(_columns())
        if "molecules" not in metric.needs
        or any(entry.ours is not None for row in rows for entry in flat(row.cells[place]))
    ]
    columns = tuple(metric.heading for metric in _columns())
    return ReportTable(
        key,
        title,
        note,
        head,
        tuple(columns[place] for place in kept),
        tuple(replace(row, cells=tuple(row.cells[place] for place in kept)) for row in rows),
    )


def _compared(
    results: Results, summaries: Summaries, dataset: str, *, printed: bool
) -> Iterable[tuple[str, tuple[Cell, ...]]]:
    """The cells of every method on a dataset, the best of each column marked."""
    methods = [method for method in results.methods if summaries[dataset, method].graphs]
    columns = []
    for metric in _columns():
        theirs = {method: results.paper.printed_for(dataset, method, metric) for method in methods}
        entries = [
            Entry.of(
                metric, summaries[dataset, method][metric.name], theirs[method] if printed else None
            )
            for method in methods
        ]
        columns.append(mark_best([((entry,),) for entry in entries]))
    return zip(methods, zip(*columns, strict=True), strict=True)


def additions_table(results: Results) -> ReportTable:
    """How many answers add few edges."""
    rows = []
    for dataset in results.datasets:
        for method in results.methods:
            graphs = [
                row
                for row in results.graphs
                if row["dataset"] == dataset and row["method"] == method
            ]
            if any(row.get("found") and row.get("added") for row in graphs):
                limits = (*MOST_ADDED, None)
                cells = tuple(_few_additions(graphs, limit) for limit in limits)
                head = (results.title(dataset), results.label(method))
                rows.append(TableRow(head, cells, dataset))
    return ReportTable(
        key="additions",
        title="Answers by their additions: validity / mean edits / median edits",
        note="Of all graphs those answered with at most so many added edges, and their edits. Methods "
        "that never add an edge are left out.",
        head=("Dataset", "Method"),
        columns=(*(f"at most {limit}" for limit in MOST_ADDED), "any number"),
        rows=tuple(rows),
    )


def _few_additions(graphs: Sequence[Row], limit: int | None) -> str:
    """Validity, mean and median of the sizes, each of a seed first and then over the seeds."""
    seeds: dict[int, list[Row]] = {}
    for row in graphs:
        seeds.setdefault(row.get("seed", -1), []).append(row)
    sizes = [
        [
            row["size"]
            for row in rows
            if has_size(row) and (limit is None or len(row.get("added") or ()) <= limit)
        ]
        for rows in seeds.values()
    ]
    if not any(sizes):
        return NOTHING
    shares = [len(own) / len(rows) for own, rows in zip(sizes, seeds.values(), strict=True)]
    found = [own for own in sizes if own]
    averages = (over_seeds(shares), over_seeds(map(fmean, found)), over_seeds(map(median, found)))
    return " / ".join(
        f"{entry.text} {entry.detail}".rstrip()
        for entry in (Entry("", "number", ours=one.value, sd=one.sd) for one in averages)
    )
