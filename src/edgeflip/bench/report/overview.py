"""The main numbers at a glance, and where they are far from the published ones."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from statistics import fmean, median

from edgeflip.bench.report import published as paper
from edgeflip.bench.report.epochs import published_name
from edgeflip.bench.report.results import Results, Row, has_size
from edgeflip.bench.report.summary import MethodSummary, Summaries, summarize_run
from edgeflip.bench.report.tables import (
    NOTHING,
    Cell,
    Entry,
    ReportTable,
    TableRow,
    flat,
    mark_best,
    write_number,
)
from edgeflip.metrics import METRICS, Metric

FAR = 0.15
"""Validities that differ by more are far from each other."""

FACTOR = 2.0
"""Sizes that differ by a larger factor are far from each other."""

MOST_ADDED = (0, 1, 3, 10)
"""Limits of the additions by which answers are counted."""


def overview_tables(results: Results, summaries: Summaries) -> list[ReportTable]:
    """The main numbers of all methods, by predicted class too, and what stands out."""
    optional = (label_table(results), additions_table(results))
    return [
        overview_table(results, summaries),
        far_table(results, summaries),
        *(table for table in optional if table.rows),
    ]


def overview_table(results: Results, summaries: Summaries) -> ReportTable:
    """A row per dataset and method."""
    rows = [
        TableRow((results.title(dataset), paper.label(method)), cells, dataset)
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
                TableRow((results.title(dataset), name, paper.label(method)), cells, dataset)
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
        theirs = {method: paper.printed_for(dataset, method, metric) for method in methods}
        entries = [
            Entry.of(
                metric, summaries[dataset, method][metric.name], theirs[method] if printed else None
            )
            for method in methods
        ]
        columns.append(mark_best([((entry,),) for entry in entries]))
    return zip(methods, zip(*columns, strict=True), strict=True)


def far_table(results: Results, summaries: Summaries) -> ReportTable:
    """Methods whose validity or size is far from the published one."""
    rows, compared = [], 0
    for (dataset, method), summary in summaries.items():
        # A version that was trained less is held against the published method all the same.
        name = published_name(method)
        if not summary.graphs or paper.published(dataset, name, "validity") is None:
            continue
        compared += 1
        far = _far(dataset, name, summary)
        if far:
            cells: list[Cell] = []
            for metric in (METRICS["validity"], METRICS["size"]):
                printed = paper.printed_for(dataset, name, metric)
                cells.append(((Entry.of(metric, summary[metric.name], printed),),))
            head = (results.title(dataset), paper.label(method))
            rows.append(TableRow(head, (*cells, " and ".join(far)), dataset))
    return ReportTable(
        key="far",
        title="Far from the published values",
        note=f"Validity off by more than {write_number(FAR, 'share')}, or size by more than a factor of "
        f"{FACTOR:g}: {len(rows)} of {compared} methods and datasets with published values.",
        head=("Dataset", "Method"),
        columns=("validity", "size", "far in"),
        rows=tuple(rows),
    )


def _far(dataset: str, method: str, summary: MethodSummary) -> list[str]:
    names = []
    for name in ("validity", "size"):
        ours, theirs = summary[name].value, paper.published(dataset, method, name)
        if ours is None or theirs is None:
            continue
        # Rounded, so that a difference of exactly .15 is not far by the last digit of a float.
        is_far = (
            round(abs(ours - theirs), 6) > FAR
            if name == "validity"
            else max(ours / theirs, theirs / ours) > FACTOR
        )
        names += [name] if is_far else []
    return names


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
                head = (results.title(dataset), paper.label(method))
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
    sizes = [
        row["size"]
        for row in graphs
        if has_size(row) and (limit is None or len(row.get("added") or ()) <= limit)
    ]
    if not sizes:
        return NOTHING
    numbers = (len(sizes) / len(graphs), fmean(sizes), float(median(sizes)))
    return " / ".join(write_number(number, "number") for number in numbers)
