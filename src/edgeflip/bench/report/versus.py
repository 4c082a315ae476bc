"""Head to head: one method against each of the others, on the graphs that both answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import fmean
from typing import Literal, TypeAlias

from edgeflip.bench.report import published as paper
from edgeflip.bench.report.results import Results, Row
from edgeflip.bench.report.tables import NOTHING, Style, Table, TableRow, write_number

OURS = "edgeflip"
"""The column that is compared with the others, unless another is named."""

Key: TypeAlias = tuple[int, int]
"""Seed and place of a graph."""

Verdict: TypeAlias = Literal["won", "tied", "lost"]

# Clocks are not to be trusted further than this.
_SAME_TIME = 0.1


@dataclass(frozen=True)
class Contest:
    """One measure of a comparison.

    Attributes:
        name: What it is called.
        style: How its numbers are written.
        better: 1 if higher is better, -1 if lower is.
        value: The measure of a row, None where it has none.
        paired: Whether only graphs count that have a value from both; otherwise all that both were
            asked about, which in a finished run is all.
        ratio: Whether the difference is a factor.
    """

    name: str
    style: Style
    better: int
    value: Callable[[Row], float | None]
    paired: bool = True
    ratio: bool = False

    def values(self, mine: dict[Key, Row], other: dict[Key, Row]) -> tuple[float, float] | None:
        """The means of both, None where one has none."""
        sides = [
            {key: value for key, row in rows.items() if (value := self.value(row)) is not None}
            for rows in (mine, other)
        ]
        both = (sides[0].keys() & sides[1].keys()) if self.paired else (mine.keys() & other.keys())
        sides = [{key: side[key] for key in sorted(side.keys() & both)} for side in sides]
        if not all(sides):
            return None
        return fmean(sides[0].values()), fmean(sides[1].values())

    def verdict(self, mine: float, other: float) -> Verdict:
        """Who is better, as written; times within a tenth of each other are the same."""
        if self.ratio:
            gap = 0.0 if abs(mine - other) <= _SAME_TIME * max(mine, other) else other - mine
        else:
            gap = self.better * self._gap(mine, other)
        return "tied" if gap == 0 else "won" if gap > 0 else "lost"

    def by(self, mine: float, other: float) -> str:
        """By how much."""
        if self.ratio:
            low, high = sorted((mine, other))
            return f"{high / low:.1f} ×" if low > 0 else NOTHING
        return write_number(abs(self._gap(mine, other)), self.style)

    def _gap(self, mine: float, other: float) -> float:
        """The difference of what is written."""
        shown = [float(write_number(value, self.style)) for value in (mine, other)]
        return shown[0] - shown[1]


def _of_found(name: str) -> Callable[[Row], float | None]:
    return lambda row: row.get(name) if row.get("found") else None


def _found(row: Row) -> float:
    return float(bool(row.get("found")))


def _seconds(row: Row) -> float | None:
    """An error is quick, but no merit."""
    return row.get("cpu_seconds") if row.get("status") != "error" else None


def _kept(row: Row) -> float | None:
    noise = row.get("noise") if row.get("found") else None
    return float(bool(noise["same_change"])) if noise else None


def _overlap(row: Row) -> float | None:
    noise = row.get("noise") if row.get("found") else None
    return noise.get("jaccard") if noise else None


def plausibility(row: Row) -> float | None:
    """Mean likelihood of the edits: of added edges that they are there, of removed ones that not."""
    added, removed = len(row.get("added") or ()), len(row.get("removed") or ())
    parts = [
        (added, row.get("added_likelihood")),
        (removed, None if (p := row.get("removed_likelihood")) is None else 1 - p),
    ]
    known = [(count, float(value)) for count, value in parts if count and value is not None]
    total = sum(count for count, _ in known)
    return sum(count * value for count, value in known) / total if total else None


CONTESTS = (
    Contest("validity", "share", 1, _found, paired=False),
    Contest("size", "number", -1, _of_found("size")),
    Contest("fidelity", "share", 1, _of_found("fidelity")),
    Contest("motif proximity", "share", 1, _of_found("motif_proximity")),
    Contest("minimality", "share", 1, _of_found("minimality")),
    Contest("VaN", "share", 1, _kept),
    Contest("ECaN", "share", 1, _overlap),
    Contest("plausibility", "share", 1, plausibility),
    Contest("CPU seconds", "seconds", -1, _seconds, paired=False, ratio=True),
)


def versus_table(results: Results, ours: str = OURS) -> Table | None:
    """Our method against each other one, per dataset and measure; None without such a method."""
    if ours not in results.methods:
        return None
    others = [method for method in results.methods if method != ours]
    rows = []
    for dataset in results.datasets:
        mine = rows_of(results, dataset, ours)
        verdicts: dict[str, list[Verdict]] = {method: [] for method in others}
        for contest in CONTESTS:
            cells = []
            for method in others:
                pair = contest.values(mine, rows_of(results, dataset, method))
                if pair is None:
                    cells.append(NOTHING)
                    continue
                verdict = contest.verdict(*pair)
                verdicts[method].append(verdict)
                numbers = " : ".join(write_number(value, contest.style) for value in pair)
                gap = "" if verdict == "tied" else f" by {contest.by(*pair)}"
                cells.append(f"{verdict}{gap} ({numbers})")
            if any(cell != NOTHING for cell in cells):
                head = (results.title(dataset), contest.name)
                rows.append(TableRow(head, tuple(cells), dataset))
        counted = tuple(
            " / ".join(str(found.count(kind)) for kind in ("won", "tied", "lost"))
            if found
            else NOTHING
            for found in verdicts.values()
        )
        if any(verdicts.values()):
            head = (results.title(dataset), "won / tied / lost")
            rows.append(TableRow(head, counted, dataset))
    if not rows:
        return None
    return Table(
        key="versus",
        title=f"{paper.label(ours)} against each method",
        note="In parentheses ours : theirs. Validity and CPU seconds are over all graphs; the rest are means "
        "over the graphs that both have a value for, so that nobody gains by leaving hard graphs out. "
        "Ties are ties as written; times within a tenth of each other are tied.",
        head=("Dataset", "Measure"),
        columns=tuple(paper.label(method) for method in others),
        rows=tuple(rows),
        methods=tuple(others),
    )


def rows_of(results: Results, dataset: str, method: str) -> dict[Key, Row]:
    """The rows of a column on a dataset, by seed and graph."""
    return {
        (int(row.get("seed") or 0), int(row["graph"])): row
        for row in results.graphs
        if row["dataset"] == dataset and row["method"] == method
    }
