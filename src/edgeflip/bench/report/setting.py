"""Tables of what a run stands on: the datasets in numbers, and how well the link predictors learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from edgeflip.bench.report.results import Results, Row
from edgeflip.bench.report.tables import NOTHING, Entry, ReportTable, TableRow
from edgeflip.metrics import METRICS, Metric, Style, average, metrics_of

_NUMBERS: Mapping[str, tuple[str, Style]] = {
    "classes": ("classes", "whole"),
    "features": ("features", "whole"),
    "nodes": ("nodes a graph", "number"),
    "edges": ("edges a graph", "number"),
    "train": ("training graphs", "whole"),
    "val": ("validation graphs", "whole"),
    "test": ("test graphs", "whole"),
}
_AUCS = ("auc", "auc_order_free")


def setting_tables(results: Results) -> list[ReportTable]:
    """The tables that the rows of the run have something for."""
    found = (_statistics_table(results), _links_table(results))
    return [table for table in found if table.rows]


def _statistics_table(results: Results) -> ReportTable:
    rows = []
    for dataset in results.datasets:
        told = next(
            (
                row["statistics"]
                for row in results.oracles
                if row["dataset"] == dataset and isinstance(row.get("statistics"), dict)
            ),
            None,
        )
        if told is None:
            continue
        paper = results.paper.statistics(dataset)
        cells = tuple(
            ((Entry(name, style, 0, told.get(name), None, paper.get(name)),),)
            for name, (_, style) in _NUMBERS.items()
        )
        rows.append(TableRow((results.title(dataset),), cells, dataset))
    return ReportTable(
        key="statistics",
        title="The datasets in numbers",
        note="Means over all graphs; an edge is an undirected pair. The paper's value in parentheses.",
        head=("Dataset",),
        columns=tuple(title for title, _ in _NUMBERS.values()),
        rows=tuple(rows),
        methods=("data",) * len(_NUMBERS),
    )


def _links_table(results: Results) -> ReportTable:
    rows = []
    for dataset in results.datasets:
        known: dict[str, tuple[list[str], list[Row]]] = {}
        for row in results.fits:
            if row["dataset"] == dataset and isinstance(row.get("links"), dict):
                methods, fits = known.setdefault(repr(row["links"]), ([], []))
                if row["method"] not in methods:
                    methods.append(row["method"])
                fits.append(row)
        for methods, fits in known.values():
            who = ", ".join(map(results.label, methods))
            numbers = (_auc(results, dataset, methods, fits),)
            head = (results.title(dataset), "+OH" if fits[0]["links"].get("one_hot") else "-OH")
            rows.append(TableRow(head, (*_shape(fits[0]["links"]), numbers, who), dataset))
    return ReportTable(
        key="links",
        title="Link predictors: their shape, training and validation AUC",
        note="Validation AUC with pairs oriented as published / with every pair in one order: where "
        "negatives come in either order and edges do not, the order betrays some of them. The paper's value "
        "in parentheses. A share of supervision edges between two numbers is drawn anew every epoch.",
        head=("Dataset", "Class"),
        columns=(
            "encoder",
            "dropout",
            "decoder",
            "structure",
            "supervision edges",
            "negatives",
            "epochs, batch, rate",
            "validation AUC",
            "asked by",
        ),
        rows=tuple(rows),
        methods=("",) * 7 + ("links",),
    )


def _shape(links: Mapping[str, Any]) -> tuple[str, ...]:
    shape, training = links.get("predictor") or {}, links.get("training") or {}
    low, high = training.get("disjoint_low"), training.get("disjoint")
    return (
        f"{shape.get('encoder_layers')} × {shape.get('encoder_width')}",
        f"{shape.get('dropout')}",
        " / ".join(map(str, shape.get("decoder") or ())) or NOTHING,
        "yes" if shape.get("structural") else "no",
        f"{high}" if low == high else f"{low} to {high}",
        f"{training.get('negative_ratio')}",
        f"{training.get('epochs')}, {training.get('batch_size')}, {training.get('learning_rate')}",
    )


def _auc(
    results: Results, dataset: str, methods: Sequence[str], fits: Sequence[Row]
) -> tuple[Entry, ...]:
    # One link predictor a seed, whoever asked it.
    seeds = {row.get("seed"): row for row in fits}

    def entry(metric: Metric) -> Entry:
        ours = average([row.get(metric.name)] for row in seeds.values())
        printed = (results.paper.printed_for(dataset, name, metric) for name in methods)
        return Entry.of(metric, ours, next((value for value in printed if value is not None), None))

    return tuple(
        entry(METRICS[metric.name]) for metric in metrics_of("fit") if metric.name in _AUCS
    )
