"""What pictures are drawn from: averages by dataset and method, of a run or of its CSV file."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from edgeflip.bench.report.published import Paper
from edgeflip.bench.report.render import CSV_HEAD
from edgeflip.bench.report.results import Results
from edgeflip.bench.report.summary import MethodSummary, Summaries
from edgeflip.datasets import list_datasets
from edgeflip.errors import ArtifactError
from edgeflip.metrics import Average
from edgeflip.support import as_path

_TABLES = ("quality", "noise", "times")


@dataclass(frozen=True)
class Board:
    """Averages by dataset and method.

    Attributes:
        titles: Datasets in their order, with what they are called.
        methods: The methods measured.
        summaries: What each did on each dataset.
        paper: The published values.
    """

    titles: Mapping[str, str]
    methods: Sequence[str]
    summaries: Summaries
    paper: Paper = field(default_factory=Paper)

    def get(self, dataset: str, method: str) -> MethodSummary:
        """What a method did on a dataset; nothing if it was not asked."""
        return self.summaries.get((dataset, method), MethodSummary())


def board_of(results: Results, summaries: Summaries) -> Board:
    """The averages of a run."""
    titles = {dataset: results.title(dataset) for dataset in results.datasets}
    return Board(titles, results.methods, summaries, results.paper)


def read_board(path: str | os.PathLike[str]) -> Board:
    """The averages in the CSV file of a report.

    Raises:
        ArtifactError: If there is no such file, or it is something else.
    """
    location = as_path(path, ArtifactError)
    try:
        text = location.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        raise ArtifactError(
            f"expected the results.csv of a report, found none that can be read at {location.name}; "
            "give the folder of a report."
        ) from None
    lines = list(csv.reader(text.splitlines()))
    if not lines or tuple(lines[0]) != CSV_HEAD:
        raise ArtifactError(
            f"expected {location.name} to begin with the columns {', '.join(CSV_HEAD)}, got others; "
            "write the report again."
        )
    try:
        return _board(lines[1:])
    except ValueError:
        raise ArtifactError(
            f"expected seven columns with numbers in {location.name}, got something else; write the "
            "report again."
        ) from None


def _board(lines: Iterable[Sequence[str]]) -> Board:
    values: dict[tuple[str, str], dict[str, Average]] = {}
    known_titles = {entry.name: entry.title for entry in list_datasets()}
    titles: dict[str, str] = {}
    ends: list[tuple[tuple[str, str], str, float]] = []
    # A report of validation graphs has no published values.
    comparable = False
    for table, dataset, method, metric, ours, _, printed in lines:
        comparable |= bool(printed)
        if table not in _TABLES or not ours:
            continue
        titles.setdefault(dataset, known_titles.get(dataset, dataset))
        known = values.setdefault((dataset, method), {})
        if table == "noise" and metric.endswith(("_low", "_high")):
            ends.append(((dataset, method), metric, float(ours)))
        else:
            known[metric] = Average(float(ours))
    for key, metric, end in ends:
        name, _, side = metric.rpartition("_")
        average = values[key].get(name)
        if average is None:
            continue
        low, high = average.interval or (end, end)
        pair = (end, high) if side == "low" else (low, end)
        values[key][name] = replace(average, interval=pair)
    methods = tuple(dict.fromkeys(method for _, method in values))
    summaries = {key: MethodSummary(values=known) for key, known in values.items()}
    return Board(titles, methods, summaries, Paper(comparable))
