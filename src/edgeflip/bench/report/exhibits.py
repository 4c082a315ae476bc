"""Answers of a benchmark to look at, made again from its rows and the graphs they are about."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from edgeflip.bench.report.figures import ReportFigure
from edgeflip.bench.report.published import label
from edgeflip.bench.report.results import Results, Row, read_results
from edgeflip.bench.spec import OwnData
from edgeflip.core import FREE, EditSet, PairEdits
from edgeflip.datasets import DatasetBundle, load_dataset
from edgeflip.draw import Exhibit, draw_grid
from edgeflip.errors import EdgeflipError, unknown_name
from edgeflip.oracle import ClassGoal
from edgeflip.search import Counterfactual, CounterfactualSet, Provenance, Trace
from edgeflip.support import RESULTS, as_path


def is_run(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder holds a benchmark."""
    return (as_path(folder, EdgeflipError) / RESULTS).exists()


def run_exhibits(
    folder: str | os.PathLike[str], *, method: str | None = None, data_dir: Path | None = None
) -> tuple[list[Exhibit], list[str]]:
    """Answers of a run: of every method and dataset the best, the median and a failure, or all of one method.

    Args:
        folder: Where `edgeflip bench run` wrote.
        method: All answers of this column.
        data_dir: Folder of dataset files.

    Returns:
        The answers, and notes on what could not be shown.
    """
    results = read_results(folder)
    if method is not None and method not in results.methods:
        raise unknown_name("column", method, results.methods)
    return exhibits_of(
        results, [method] if method else None, data_dir=data_dir, all_of=bool(method)
    )


def exhibits_of(
    results: Results,
    methods: Sequence[str] | None = None,
    *,
    data_dir: Path | None = None,
    all_of: bool = False,
) -> tuple[list[Exhibit], list[str]]:
    """The same from results that were read already."""
    found: list[Exhibit] = []
    notes: list[str] = []
    for dataset in results.datasets:
        rows = [row for row in results.graphs if row["dataset"] == dataset]
        if not any(row.get("output") for row in rows):
            notes.append(
                f"{results.title(dataset)}: no answers are shown, because this run is from before rows had "
                "what the model says."
            )
            continue
        try:
            bundle = _bundle(results, dataset, data_dir)
        except EdgeflipError as error:
            notes.append(f"{results.title(dataset)}: no answers are shown: {error}")
            continue
        for name in methods or results.methods:
            own = [row for row in rows if row["method"] == name and row.get("output")]
            chosen = [("", row) for row in own] if all_of else list(_chosen(own))
            found += [
                Exhibit(
                    answer_of(row, bundle),
                    f"{results.title(dataset)} {row['graph']}",
                    data=results.title(dataset),
                    method=label(name),
                    mark=mark,
                )
                for mark, row in chosen
            ]
    return found, notes


def _bundle(results: Results, dataset: str, data_dir: Path | None) -> DatasetBundle:
    own = (results.spec.get("data") or {}).get(dataset)
    if own is not None:
        return OwnData(**own).load(dataset)
    return load_dataset(dataset, data_dir)


def _chosen(rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """The answer with the highest score, the one in the middle, and a graph without any."""
    seed = min((row["seed"] for row in rows), default=0)
    rows = sorted((row for row in rows if row["seed"] == seed), key=lambda row: row["graph"])
    found = sorted((row for row in rows if row["found"]), key=lambda row: -(row["score"] or 0.0))
    if found:
        yield "best", found[0]
        middle = statistics.median_low(range(len(found)))
        if middle:
            yield "median", found[middle]
    failed = [row for row in rows if not row["found"]]
    if failed:
        yield "failure", failed[0]


def answer_of(row: Row, bundle: DatasetBundle) -> CounterfactualSet:
    """What a row says, as an answer; the certificate is not among it."""
    graph = bundle.test[row["graph"]]
    before = tuple(float(value) for value in row["output"])
    entries: tuple[Counterfactual, ...] = ()
    if row["found"] and row.get("output_after"):
        edits = EditSet(
            added=frozenset((int(u), int(v)) for u, v in row["added"]),
            removed=frozenset((int(u), int(v)) for u, v in row["removed"]),
        )
        after = tuple(float(value) for value in row["output_after"])
        fall = float(row.get("fidelity") or 0.0)
        entries = (Counterfactual(edits, after, fall, float(row["score"] or 0.0), 0),)
    status: Any = row["status"] if row["status"] != "error" else "not_applicable"
    return CounterfactualSet(
        space=PairEdits.of(graph, FREE, bundle.fill),
        goal=ClassGoal(before, class_names=bundle.class_names),
        output=before,
        counterfactuals=entries,
        trace=Trace(status, row["stopped_by"] or "not_applicable", message=row["message"]),
        provenance=Provenance(
            method=row["explainer"],
            config={},
            seed=row["seed"],
            batch_size=None,
            oracle="",
            budget={},
            versions={},
        ),
    )


def answer_figures(
    results: Results, ours: str, data_dir: Path | None = None
) -> tuple[list[ReportFigure], list[str]]:
    """For every dataset a picture of three answers: the best, the median and a failure.

    Args:
        results: The run.
        ours: Whose answers; where it was not measured, those of the first method.
        data_dir: Folder of dataset files.
    """
    method = ours if ours in results.methods else next(iter(results.methods), None)
    if method is None:
        return [], []
    exhibits, notes = exhibits_of(results, [method], data_dir=data_dir)
    figures = []
    for dataset in results.datasets:
        title = results.title(dataset)
        own = [exhibit for exhibit in exhibits if exhibit.data == title]
        if own:
            titles = [f"{exhibit.mark}: graph {exhibit.title.split()[-1]}" for exhibit in own]
            scene = draw_grid([exhibit.answer for exhibit in own], titles=titles).scene
            figures.append(
                ReportFigure(
                    f"answers-{dataset}",
                    f"{title}: three answers of {label(method)}",
                    "The answer with the highest score, the one in the middle, and a graph without an answer "
                    "where there is one.",
                    scene,
                )
            )
    return figures, notes
