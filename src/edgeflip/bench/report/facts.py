"""Tables of what was run: oracles, how answers ended and why, what was left out, and time."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from edgeflip.bench.report import published as paper
from edgeflip.bench.report.results import Results, Row, without_paths
from edgeflip.bench.report.summary import Summaries, failures, time_shares
from edgeflip.bench.report.tables import NOTHING, Cell, Entry, ReportTable, TableRow, write_number
from edgeflip.bench.spec import SPLITS
from edgeflip.metrics import over_seeds

STATUSES = ("found", "exhausted", "timeout", "out_of_calls", "not_applicable", "error")
_SHOWN_GRAPHS = 12


def fact_tables(results: Results, summaries: Summaries) -> list[ReportTable]:
    """What was run: oracles, how answers ended, failures, skipped datasets and time."""
    return [
        _method_table(results),
        _oracle_table(results),
        _status_table(results, summaries),
        _failure_table(results),
        _skipped_table(results),
        _time_table(results),
    ]


def _method_table(results: Results) -> ReportTable:
    """What stands behind the names of the columns."""
    usual = results.spec.get("profile")
    rows = []
    for method in results.spec.get("methods") or ():
        label = method.get("label") or method["name"]
        settings = ", ".join(
            f"{key} = {_plain(v)}" for key, v in (method.get("settings") or {}).items()
        )
        if method.get("learns_from") == "explained":
            settings = f"{settings}; learned from the explained graphs".removeprefix("; ")
        profile = str(method.get("profile") or usual or NOTHING)
        where = ", ".join(results.title(name) for name in method.get("datasets") or ()) or "all"
        chemistry = "kept" if method.get("chemistry") else "not asked"
        fits = [row for row in results.fits if row["method"] == label]
        differs = _joined(name for row in fits for name in row.get("differs") or ())
        epochs = _joined(_epochs(results, fits))
        differs = f"{differs} ({epochs})" if epochs != NOTHING else differs
        seeds = method.get("seeds") or results.spec.get("seeds") or ()
        cells = (
            str(method["name"]),
            profile,
            settings or NOTHING,
            differs,
            chemistry,
            where,
            _joined(seeds),
        )
        rows.append(TableRow((paper.label(label),), cells))
    return ReportTable(
        key="methods",
        title="Methods",
        note="Settings that differ from the profile's, and for the paper's method those that differ from the "
        "published ones on some dataset. Whether molecules must stay possible molecules; the "
        "paper has no such rules.",
        head=("Column",),
        columns=(
            "explainer",
            "profile",
            "settings",
            "not as published",
            "rules of chemistry",
            "datasets",
            "seeds",
        ),
        rows=tuple(rows),
    )


def _epochs(results: Results, fits: Iterable[Row]) -> Iterable[str]:
    """How long each fit was trained, of methods whose fits say so."""
    for row in fits:
        notes = row.get("notes") or {}
        if isinstance(notes.get("epochs"), int):
            why = {"patience": "none was better", "time": "time was up"}
            ending = why.get(str(notes.get("stopped")))
            ending = f", until {ending}" if ending else ""
            yield f"{results.title(row['dataset'])}: {notes['epochs']} epochs{ending}"


def _plain(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _oracle_table(results: Results) -> ReportTable:
    rows = []
    for dataset in results.datasets:
        oracles = [row for row in results.oracles if row["dataset"] == dataset]
        graphs = {
            (row.get("seed"), row.get("graph"))
            for row in results.graphs
            if row["dataset"] == dataset
        }
        accuracy = over_seeds(row.get("accuracy") for row in oracles)
        training = over_seeds(row.get("seconds") for row in oracles)
        printed = results.paper.accuracy(dataset)
        cells: tuple[Cell, ...] = (
            ((Entry("oracle_accuracy", "share", 0, accuracy.value, accuracy.sd, printed),),),
            ((Entry("oracle_seconds", "seconds", 0, training.value, training.sd),),),
            _joined(row.get(f"{results.split}_graphs") for row in oracles),
            str(len(graphs)),
            _joined(row.get("seed") for row in oracles),
            _joined(row.get("origin") for row in oracles),
        )
        rows.append(TableRow((results.title(dataset),), cells, dataset))
    printed_accuracy = " (the paper's in parentheses)" if results.paper.comparable else ""
    return ReportTable(
        key="oracles",
        title="Oracles and graphs",
        note=f"Accuracy of the explained models on the {SPLITS[results.split]}{printed_accuracy} and "
        "how many graphs were explained, every seed counted.",
        head=("Dataset",),
        columns=("accuracy", "training s", SPLITS[results.split], "explained", "seeds", "data"),
        rows=tuple(rows),
        methods=("oracle", "oracle"),
    )


def _joined(values: Iterable[Any]) -> str:
    texts = dict.fromkeys(str(value) for value in values if value is not None)
    return ", ".join(texts) or NOTHING


def _status_table(results: Results, summaries: Summaries) -> ReportTable:
    rows = []
    for (dataset, method), summary in summaries.items():
        extra = sum(count for name, count in summary.statuses.items() if name not in STATUSES)
        counts = [summary.statuses.get(name, 0) for name in STATUSES]
        cells = tuple(str(count) for count in (summary.graphs, *counts, extra))
        if summary.graphs:
            rows.append(TableRow((results.title(dataset), paper.label(method)), cells, dataset))
    return ReportTable(
        key="endings",
        title="How the answers ended",
        note="Graphs by the status of their answer, every seed counted; all but found are without "
        "a counterfactual.",
        head=("Dataset", "Method"),
        columns=("graphs", *(name.replace("_", " ") for name in STATUSES), "else"),
        rows=tuple(rows),
    )


def _failure_table(results: Results) -> ReportTable:
    rows = []
    for failure in failures(results):
        indices = ", ".join(str(graph) for graph in failure.graphs[:_SHOWN_GRAPHS])
        more = ", …" if len(failure.graphs) > _SHOWN_GRAPHS else ""
        cells = (
            failure.status.replace("_", " "),
            str(len(failure.graphs)),
            failure.reason or NOTHING,
            indices + more,
        )
        head = (results.title(failure.dataset), paper.label(failure.method))
        rows.append(TableRow(head, cells, failure.dataset))
    return ReportTable(
        key="failures",
        title="Graphs without a counterfactual, and errors while answers were rated",
        note=(
            "Without a counterfactual a graph counts as not valid; an error under noise or for a target "
            "counts there. The reason is that of the first graph of the line."
        ),
        head=("Dataset", "Method"),
        columns=("status", "graphs", "reason", "which"),
        rows=tuple(rows),
    )


def _skipped_table(results: Results) -> ReportTable:
    rows = [
        TableRow((str(row["dataset"]),), (without_paths(str(row.get("reason") or NOTHING)),))
        for row in results.skipped
        if row["dataset"] not in results.datasets
    ]
    return ReportTable(
        key="skipped",
        title="Datasets left out",
        note="They were not at hand.",
        head=("Dataset",),
        columns=("reason",),
        rows=tuple(rows),
    )


def _time_table(results: Results) -> ReportTable:
    names = {
        "training": "training (oracles and methods)",
        "explaining": "explaining",
        "oracle": "oracle, inside evaluation",
        "other": "everything else: the overhead of the benchmark",
    }
    rows = [
        TableRow((names[name],), (write_number(seconds, "seconds"), f"{share:.1%}"))
        for name, (seconds, share) in time_shares(results).items()
    ]
    return ReportTable(
        key="overhead",
        title="Where the time went",
        note="Wall seconds of this run's sessions; one that was killed leaves no record of its time.",
        head=("Part",),
        columns=("seconds", "share"),
        rows=tuple(rows),
    )
