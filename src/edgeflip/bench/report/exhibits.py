"""Answers of a benchmark to look at, made again from its rows and the graphs they are about."""

from __future__ import annotations

import os
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from edgeflip.bench.report.figures import ReportFigure
from edgeflip.bench.report.published import label
from edgeflip.bench.report.results import Results, Row, read_results
from edgeflip.bench.spec import SPLITS, OwnData, Split, graphs_of
from edgeflip.core import FREE, EditSet, PairEdits
from edgeflip.datasets import DatasetBundle, load_dataset
from edgeflip.draw import Exhibit, draw_grid
from edgeflip.errors import ArtifactError, EdgeflipError, unknown_name
from edgeflip.oracle import ClassGoal
from edgeflip.search import (
    Counterfactual,
    CounterfactualSet,
    Provenance,
    Status,
    StopReason,
    Trace,
)
from edgeflip.support import RESULTS, STRICT, as_path, file_name, read_settings

_Output: TypeAlias = tuple[float, ...]
_Edges: TypeAlias = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class _ShownRow:
    """What a row must say to be drawn."""

    __pydantic_config__ = STRICT

    graph: Annotated[int, Field(ge=0)]
    explainer: str
    output: _Output
    found: bool = False
    seed: int = -1
    status: Status | Literal["error"] | None = None
    stopped_by: StopReason | None = None
    message: str = ""
    output_after: _Output | None = None
    added: _Edges = ()
    removed: _Edges = ()
    fidelity: float | None = None
    score: float | None = None

    @classmethod
    def of(cls, row: Row) -> _ShownRow:
        known = {field.name: row[field.name] for field in fields(cls) if field.name in row}
        return read_settings(cls, known, where="a row of a run", error=ArtifactError)


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
            for mark, row in chosen:
                part = "" if results.split == "test" else f"{results.split} "
                title = f"{results.title(dataset)} {part}{row['graph']}"
                try:
                    answer = answer_of(row, bundle, results.split)
                except EdgeflipError as error:
                    notes.append(f"{title} by {label(name)} is not shown: {error}")
                    continue
                found.append(
                    Exhibit(
                        answer, title, data=results.title(dataset), method=label(name), mark=mark
                    )
                )
    return found, notes


def _bundle(results: Results, dataset: str, data_dir: Path | None) -> DatasetBundle:
    own = (results.spec.get("data") or {}).get(dataset)
    if own is not None:
        return read_settings(OwnData, own, where="own data of a run").load(dataset)
    return load_dataset(dataset, data_dir)


def _chosen(rows: Sequence[Row]) -> Iterator[tuple[str, Row]]:
    """The answer with the highest score, the one in the middle, and a graph without any."""
    seed = min((row.get("seed", -1) for row in rows), default=0)
    rows = [row for row in rows if row.get("seed", -1) == seed]
    rows.sort(key=lambda row: int(row["graph"]))
    found = [row for row in rows if row.get("found")]
    found.sort(key=lambda row: -(row.get("score") or 0.0))
    if found:
        yield "best", found[0]
        middle = statistics.median_low(range(len(found)))
        if middle:
            yield "median", found[middle]
    failed = [row for row in rows if not row.get("found")]
    if failed:
        yield "failure", failed[0]


def answer_of(row: Row, bundle: DatasetBundle, split: Split = "test") -> CounterfactualSet:
    """What a row says, as an answer; the certificate is not among it.

    Raises:
        ArtifactError: If the row is not one of such data.
    """
    shown = _ShownRow.of(row)
    outputs = [shown.output, *([shown.output_after] if shown.output_after else [])]
    classes = len(bundle.class_names or shown.output)
    graphs = graphs_of(bundle, split)
    if shown.graph >= len(graphs) or {len(output) for output in outputs} != {classes}:
        raise ArtifactError(
            f"expected a row about one of {len(graphs)} {SPLITS[split]} and {classes} classes, got graph "
            f"{shown.graph} and {', '.join(str(len(output)) for output in outputs)} probabilities; give the "
            "data of the run."
        )
    space = PairEdits.of(graphs[shown.graph], FREE, bundle.fill)
    entries: tuple[Counterfactual, ...] = ()
    if shown.found and shown.output_after:
        edits = EditSet(added=frozenset(shown.added), removed=frozenset(shown.removed))
        space.row(edits)
        fall, score = shown.fidelity or 0.0, shown.score or 0.0
        entries = (Counterfactual(edits, shown.output_after, fall, score, 0),)
    status: Status = "not_applicable"
    if shown.status is not None and shown.status != "error":
        status = shown.status
    return CounterfactualSet(
        space=space,
        goal=ClassGoal(shown.output, class_names=bundle.class_names),
        output=shown.output,
        counterfactuals=entries,
        trace=Trace(status, shown.stopped_by or "not_applicable", message=shown.message),
        provenance=Provenance(
            method=shown.explainer,
            config={},
            seed=shown.seed,
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
                    f"answers-{file_name(dataset)}",
                    f"{title}: three answers of {label(method)}",
                    "The answer with the highest score, the one in the middle, and a graph without an answer "
                    "where there is one.",
                    scene,
                )
            )
    return figures, notes
