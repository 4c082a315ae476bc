"""Head to head: one method against each of the others, on the graphs that both answered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from edgeflip.bench.report import published as paper
from edgeflip.bench.report.results import Results, Row
from edgeflip.bench.report.tables import NOTHING, ReportTable, TableRow, write_number
from edgeflip.metrics import METRICS, Metric, Style, bootstrap_interval, mean_over_seeds

OURS = "edgeflip"
"""The column that is compared with the others, unless another is named."""

Key: TypeAlias = tuple[int, int]
"""Seed and place of a graph."""

Verdict: TypeAlias = Literal["won", "tied", "lost"]

# Clocks are not to be trusted further than this.
_SAME_TIME = 0.1

# Sums of floats differ by less.
_SAME = 1e-9


@dataclass(frozen=True)
class Contest:
    """A metric as one measure of a comparison."""

    metric: Metric

    @property
    def name(self) -> str:
        """What it is called."""
        return self.metric.title

    @property
    def style(self) -> Style:
        """How its numbers are written: with two decimals, also where a table shows three."""
        return "share" if self.metric.style == "share3" else self.metric.style

    @property
    def ratio(self) -> bool:
        """Whether the difference is a factor."""
        return self.metric.style == "seconds"

    def value(self, row: Row) -> float | None:
        """The measure of a row, None where it has none."""
        if self.ratio and row.get("status") == "error":
            # An error is quick, but no merit.
            return None
        value: float | None = row.get(self.metric.name)
        return value

    def pairs(self, mine: dict[Key, Row], other: dict[Key, Row]) -> dict[Key, tuple[float, float]]:
        """The values of both where both have one."""
        found = {
            key: (self.value(mine[key]), self.value(other[key]))
            for key in mine.keys() & other.keys()
        }
        return {
            key: (ours, theirs)
            for key, (ours, theirs) in sorted(found.items())
            if ours is not None and theirs is not None
        }

    def values(self, mine: dict[Key, Row], other: dict[Key, Row]) -> tuple[float, float] | None:
        """The means of both, None where one has none."""
        pairs = self.pairs(mine, other)
        if not pairs:
            return None
        sides = ({key: pair[side] for key, pair in pairs.items()} for side in (0, 1))
        ours, theirs = map(mean_over_seeds, sides)
        return ours, theirs

    def verdict(self, mine: dict[Key, Row], other: dict[Key, Row]) -> Verdict:
        """Who is better: tied where the interval of the mean difference contains 0.

        Graphs are drawn again, each with the values of both under all seeds. Times within a tenth of each
        other are the same whatever the interval says.
        """
        differences = {
            key: ours - theirs for key, (ours, theirs) in self.pairs(mine, other).items()
        }
        interval, means = bootstrap_interval(differences), self.values(mine, other)
        if interval is None or means is None or (interval[0] <= _SAME and interval[1] >= -_SAME):
            return "tied"
        if self.ratio and abs(means[0] - means[1]) <= _SAME_TIME * max(means):
            return "tied"
        return "won" if self.metric.better * (means[0] - means[1]) > 0 else "lost"

    def by(self, mine: float, other: float) -> str:
        """By how much, as the difference of what is written."""
        if self.ratio:
            low, high = sorted((mine, other))
            return f"{high / low:.1f} ×" if low > 0 else NOTHING
        shown = [float(write_number(value, self.style)) for value in (mine, other)]
        gap = abs(shown[0] - shown[1])
        return write_number(gap, self.style) if gap else "less than .01"


def contests() -> list[Contest]:
    """What methods are compared by, in the order of the table of metrics."""
    return [Contest(metric) for metric in METRICS.values() if "versus" in metric.also]


def versus_table(results: Results, ours: str = OURS) -> ReportTable | None:
    """Our method against each other one, per dataset and measure; None without such a method."""
    if ours not in results.methods:
        return None
    others = [method for method in results.methods if method != ours]
    rows = []
    for dataset in results.datasets:
        mine = rows_of(results, dataset, ours)
        verdicts: dict[str, list[Verdict]] = {method: [] for method in others}
        for contest in contests():
            cells = []
            for method in others:
                theirs = rows_of(results, dataset, method)
                pair = contest.values(mine, theirs)
                if pair is None:
                    cells.append(NOTHING)
                    continue
                verdict = contest.verdict(mine, theirs)
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
    return ReportTable(
        key="versus",
        title=f"{paper.label(ours)} against each method",
        note="In parentheses ours : theirs. Validity and CPU seconds are over all graphs; the rest are means "
        "over the graphs that both have a value for, so that nobody gains by leaving hard graphs out. Tied "
        "means that the 95 % interval of the mean difference contains 0, by a paired bootstrap over graphs, "
        "all seeds of a graph together. A single graph decides nothing, and times within a tenth of each "
        "other are tied.",
        head=("Dataset", "Measure"),
        columns=tuple(results.label(method) for method in others),
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
