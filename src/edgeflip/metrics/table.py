"""The table of metrics. The bench measures what stands here, and the report and the command line show it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from edgeflip.metrics import costs, plausibility, quality, replaced, robustness
from edgeflip.metrics.averages import Average, Averaging, Value, average
from edgeflip.metrics.intervals import GraphValues, Interval, bootstrap_interval, share_interval

Level: TypeAlias = Literal["answer", "graphs", "fit"]
Direction: TypeAlias = Literal["up", "down"]
Need: TypeAlias = Literal[
    "oracle", "motif_nodes", "after_noise", "links", "molecules", "own_features", "other_nodes"
]
Style: TypeAlias = Literal["share", "share3", "number", "seconds", "count"]
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
        style: How it is written: a share, a number, seconds or a count.
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
            >>> low, high = METRICS["validity"].interval({(0, graph): 1.0 for graph in range(100)})
            >>> f"{low:.2f} to {high:.2f}"
            '0.96 to 1.00'
        """
        return share_interval(values) if self.binary else bootstrap_interval(values)

    def average(self, subjects: Iterable[Any]) -> Average:
        """The average over subjects of one seed."""
        return average([[self.of(subject) for subject in subjects]], self.averaging)


_LINKS: tuple[Need, ...] = ("links",)
_NOISE: tuple[Need, ...] = ("after_noise",)

_QUALITY = (
    Metric(
        "validity",
        "validity",
        quality.validity,
        "up",
        only_found=False,
        published="validity",
        binary=True,
        place=Place("quality"),
        also=("overview", "versus", "targets"),
    ),
    Metric(
        "validity_connected",
        "validity, connected",
        quality.validity_connected,
        "up",
        only_found=False,
        binary=True,
        place=Place("quality", line=2),
        also=("overview",),
    ),
    Metric(
        "validity_possible",
        "validity, possible",
        plausibility.validity_possible,
        "up",
        needs=("molecules",),
        only_found=False,
        binary=True,
        place=Place("quality", line=2),
        also=("overview",),
    ),
    Metric(
        "fidelity",
        "fidelity",
        quality.fidelity,
        "up",
        published="fidelity",
        place=Place("quality"),
        also=("overview", "versus", "targets"),
    ),
    Metric(
        "size",
        "size",
        quality.size,
        "down",
        style="number",
        published="size",
        place=Place("quality", line=1),
        also=("overview", "versus", "targets"),
    ),
    Metric(
        "first_size",
        "size of the first found",
        quality.first_size,
        "down",
        style="number",
        published="first_size",
        place=Place("quality", line=1),
    ),
    Metric(
        "minimality",
        "minimality",
        quality.minimality,
        "up",
        needs=("oracle",),
        published="minimality",
        place=Place("minimality", "of the best"),
        also=("overview", "versus", "targets"),
    ),
    Metric(
        "minimality_of_smallest",
        "minimality of the smallest",
        quality.minimality_of_smallest,
        "up",
        needs=("oracle",),
        published="minimality",
        place=Place("minimality", "of the smallest (authors' code)"),
    ),
    Metric(
        "motif_proximity",
        "motif proximity",
        quality.motif_proximity,
        "up",
        needs=("motif_nodes",),
        published="motif_proximity",
        place=Place("motif"),
        also=("overview", "versus", "targets"),
    ),
)
_REPLACED = (
    Metric(
        "validity_own_features",
        "validity, own features",
        replaced.validity_own_features,
        "up",
        needs=("own_features",),
        only_found=False,
        published="validity",
        place=Place("replaced", "own features"),
    ),
    Metric(
        "distance_own_features",
        "distance, own features",
        replaced.distance_own_features,
        "down",
        needs=("own_features",),
        style="number",
        only_found=False,
        published="size",
        place=Place("replaced", "own features", line=1),
    ),
    Metric(
        "validity_other_nodes",
        "validity, other nodes",
        replaced.validity_other_nodes,
        "up",
        needs=("other_nodes",),
        only_found=False,
        published="validity",
        place=Place("replaced", "other nodes"),
    ),
    Metric(
        "distance_other_nodes",
        "distance, other nodes",
        replaced.distance_other_nodes,
        "down",
        needs=("other_nodes",),
        style="number",
        only_found=False,
        published="size",
        place=Place("replaced", "other nodes", line=1),
    ),
)
_ROBUSTNESS = (
    Metric(
        "van",
        "VaN",
        robustness.validity_after_noise,
        "up",
        needs=_NOISE,
        averaging="share",
        binary=True,
        place=Place("noise", "VaN [95 % interval]"),
        also=("overview", "versus"),
    ),
    Metric(
        "van_by_change",
        "VaN by change",
        robustness.validity_after_noise_by_change,
        "up",
        needs=_NOISE,
        place=Place("noise", "VaN by change"),
    ),
    Metric(
        "ecan",
        "ECaN",
        robustness.edge_consistency_after_noise,
        "up",
        needs=_NOISE,
        style="share3",
        published="ecan",
        place=Place("noise", "ECaN"),
        also=("overview", "versus"),
    ),
    Metric(
        "ecan_by_change",
        "ECaN by change",
        robustness.edge_consistency_by_change,
        "up",
        needs=_NOISE,
        style="share3",
        published="ecan",
        place=Place("noise", "ECaN by change"),
    ),
)
_PLAUSIBILITY = (
    Metric(
        "added_likelihood",
        "likelihood of added edges",
        plausibility.added_likelihood,
        "up",
        needs=_LINKS,
        place=Place("plausibility"),
    ),
    Metric(
        "removed_likelihood",
        "likelihood of removed edges",
        plausibility.removed_likelihood,
        "down",
        needs=_LINKS,
        place=Place("plausibility"),
    ),
    Metric(
        "plausibility",
        "plausibility",
        plausibility.plausibility,
        "up",
        needs=_LINKS,
        place=Place("plausibility"),
        also=("versus",),
    ),
    Metric(
        "degree_mmd",
        "degree MMD",
        plausibility.degree_mmd,
        "down",
        level="graphs",
        style="share3",
        place=Place("plausibility", line=1),
    ),
    Metric(
        "clustering_mmd",
        "clustering MMD",
        plausibility.clustering_mmd,
        "down",
        level="graphs",
        style="share3",
        place=Place("plausibility", line=1),
    ),
    Metric(
        "spectrum_mmd",
        "spectrum MMD",
        plausibility.spectrum_mmd,
        "down",
        level="graphs",
        style="share3",
        place=Place("plausibility", line=1),
    ),
    Metric(
        "valid_molecules",
        "possible molecules",
        plausibility.valid_molecules,
        "up",
        level="graphs",
        needs=("molecules",),
        place=Place("plausibility", line=2),
    ),
)
_PER_GRAPH, _ALL_OF_IT = "training / per graph", "wall / CPU / oracle calls"
_COSTS = (
    Metric(
        "factual_seconds",
        "seconds for the factual subgraph",
        costs.factual_seconds,
        "down",
        style="seconds",
        only_found=False,
        published="factual_seconds",
        place=Place("factual"),
    ),
    Metric(
        "dropped_edges",
        "edges dropped",
        costs.dropped_edges,
        None,
        style="number",
        only_found=False,
        published="dropped_edges",
        place=Place("factual"),
    ),
    Metric(
        "denoise_seconds",
        "seconds for denoising",
        costs.denoise_seconds,
        None,
        style="seconds",
        only_found=False,
        place=Place("factual"),
    ),
    Metric(
        "training_seconds",
        "training seconds",
        costs.training_seconds,
        "down",
        level="fit",
        style="seconds",
        published="training_seconds",
        place=Place("times", _PER_GRAPH),
    ),
    Metric(
        "search_seconds",
        "seconds without the factual subgraph",
        costs.search_seconds,
        "down",
        style="seconds",
        only_found=False,
        published="seconds",
        place=Place("times", _PER_GRAPH),
    ),
    Metric(
        "seconds",
        "wall seconds",
        costs.seconds,
        "down",
        style="seconds",
        only_found=False,
        place=Place("times", _ALL_OF_IT),
    ),
    Metric(
        "cpu_seconds",
        "CPU seconds",
        costs.cpu_seconds,
        "down",
        style="seconds",
        only_found=False,
        place=Place("times", _ALL_OF_IT),
        also=("overview", "versus"),
    ),
    Metric(
        "oracle_calls",
        "oracle calls",
        costs.oracle_calls,
        "down",
        style="count",
        only_found=False,
        place=Place("times", _ALL_OF_IT),
    ),
)

METRICS: dict[str, Metric] = {
    metric.name: metric for metric in (*_QUALITY, *_REPLACED, *_ROBUSTNESS, *_PLAUSIBILITY, *_COSTS)
}
"""All metrics by name, in the order of reports. One more row is all that a new metric takes."""


def metrics_of(level: Level) -> list[Metric]:
    """The metrics of a level, in the order of the table."""
    return [metric for metric in METRICS.values() if metric.level == level]
