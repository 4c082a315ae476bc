"""What a metric is: a plain function, and how its values are averaged and shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from edgeflip.metrics.averages import Average, Averaging, Value, average
from edgeflip.metrics.intervals import GraphValues, Interval, bootstrap_interval, share_interval

Level: TypeAlias = Literal["answer", "graphs", "fit"]
Direction: TypeAlias = Literal["up", "down"]
Need: TypeAlias = Literal[
    "oracle",
    "motif_nodes",
    "factual_nodes",
    "after_noise",
    "links",
    "molecules",
    "own_features",
    "other_nodes",
]
Style: TypeAlias = Literal["share", "share3", "number", "seconds", "count", "whole"]
Extra: TypeAlias = Literal["overview", "versus", "targets"]


@dataclass(frozen=True)
class Place:
    """Where the report shows a metric.

    Attributes:
        table: Key of the table.
        row: Title of the row; metrics with the same one share a cell. Empty if a dataset has one row.
        line: Line of the cell, from the top.
    """

    table: str
    row: str = ""
    line: int = 0


@dataclass(frozen=True)
class Metric:
    """One row of the table: a plain function, and how its values are averaged and shown.

    Attributes:
        name: The name in code, results and CSV files.
        title: The name for people.
        measure: The function. It takes an `AnswerCase`, a `GraphSet` or a `Learning`, as its level says.
        level: What one value belongs to: an answer, all edited graphs of a method, or its fit.
        direction: Whether `"up"` or `"down"` is better; None for neither.
        needs: What the subject must have; where one is missing there is no value.
        style: How it is written: a share, a number, seconds, a count that may be a mean, or a whole number.
        only_found: Whether it is asked only about graphs with a counterfactual.
        binary: Whether its values are 0 or 1, so that its interval is Wilson's.
        averaging: Whether values become a mean over seeds, or a share with Wilson's interval.
        published: Its name among the published results; None if it was never published.
        place: Where the report shows it.
        also: What else of the report it stands in: the overview, the comparison head to head, or the
            table by target class.

    Example:
        >>> from edgeflip.metrics import AnswerCase
        >>> def removals(case: AnswerCase) -> int:
        ...     return len(case.best.edits.removed)
        >>> Metric("removals", "removed edges", removals, "down", style="number").heading
        'removed edges ↓'
    """

    name: str
    title: str
    measure: Callable[[Any], Value]
    direction: Direction | None
    level: Level = "answer"
    needs: tuple[Need, ...] = ()
    style: Style = "share"
    only_found: bool = True
    binary: bool = False
    averaging: Averaging = "mean"
    published: str | None = None
    place: Place = field(default=Place(""))
    also: tuple[Extra, ...] = ()

    @property
    def heading(self) -> str:
        """The title with an arrow that says which way is better."""
        arrow = {"up": " ↑", "down": " ↓", None: ""}[self.direction]
        return f"{self.title}{arrow}"

    @property
    def better(self) -> int:
        """1 if higher is better, -1 if lower is, 0 if neither."""
        return {"up": 1, "down": -1, None: 0}[self.direction]

    def of(self, subject: Any) -> Value:
        """The value for a subject; None where it has none."""
        if self.level == "answer" and self.only_found and not subject.found:
            return None
        if any(getattr(subject, need) is None for need in self.needs):
            return None
        value = self.measure(subject)
        return None if isinstance(value, float) and math.isnan(value) else value

    def interval(self, values: GraphValues) -> Interval | None:
        """The 95 % interval of an average, by seed and graph: Wilson's, or by a bootstrap over graphs.

        Example:
            >>> from edgeflip.metrics import METRICS
            >>> low, high = METRICS["validity"].interval({(0, graph): 1.0 for graph in range(100)})
            >>> f"{low:.2f} to {high:.2f}"
            '0.96 to 1.00'
        """
        return share_interval(values) if self.binary else bootstrap_interval(values)

    def average(self, subjects: Iterable[Any]) -> Average:
        """The average over subjects of one seed."""
        return average([[self.of(subject) for subject in subjects]], self.averaging)
