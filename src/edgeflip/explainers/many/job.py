"""Explaining a few graphs at a time, in whatever process: what fails is tried again and written down."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from torch_geometric.data import Data

from edgeflip.core import fingerprint
from edgeflip.engines import Job, deadline
from edgeflip.errors import EdgeflipError
from edgeflip.explainers.many.explained import Explained, Failure, row_of
from edgeflip.explainers.options import ExplainOptions
from edgeflip.explainers.running import explain_together
from edgeflip.support import line_of

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer

# How often a graph is tried before its failure is written down.
_TRIES = 2


@dataclass(frozen=True)
class Chunk:
    """Graphs that follow each other.

    Attributes:
        first: The place of the first.
        graphs: The graphs.
    """

    first: int
    graphs: Sequence[Data]


@dataclass(frozen=True)
class Outcome:
    """What became of a graph, as it travels between processes.

    Attributes:
        explained: The answer or the failure; without the answer where there is a line.
        found: Whether there is a counterfactual.
        input: The fingerprint of the graph.
        line: The line for a folder of answers.
    """

    explained: Explained
    found: bool
    input: str = ""
    line: bytes = b""


class ExplainJob(Job[Chunk, list[Outcome]]):
    """Explaining chunks of graphs.

    Args:
        explainer: The method, fitted.
        options: The options of the call, complete.
        as_lines: Whether answers are wanted as lines for a folder, and not themselves.
        seconds: After so many seconds a graph's process ends.
    """

    def __init__(
        self,
        explainer: CounterfactualExplainer[Any],
        options: ExplainOptions,
        *,
        as_lines: bool = False,
        seconds: float | None = None,
    ) -> None:
        self._explainer, self._options = explainer, options
        self._as_lines, self._seconds = as_lines, seconds
        self._may_end = False

    def begin(self, *, worker: bool) -> None:
        """Note whether this process may be ended."""
        self._may_end = worker

    def work(self, task: Chunk) -> list[Outcome]:
        """What became of each graph of a chunk."""
        try:
            explained = self._together(task)
        except Exception:
            # One of them is to blame; the others get their answers.
            explained = [self._alone(task.first + k, each) for k, each in enumerate(task.graphs)]
        return [self._packed(*pair) for pair in zip(explained, task.graphs, strict=True)]

    def single(self, task: Chunk) -> Sequence[Chunk]:
        """Graph by graph."""
        return [Chunk(task.first + k, [graph]) for k, graph in enumerate(task.graphs)]

    def lost(self, task: Chunk, seconds: float) -> list[Outcome]:
        """A graph whose process ended twice has failed."""
        why = "its worker ended, and again when it was tried alone; perhaps memory was short"
        kind = "killed"
        if self._seconds is not None and seconds >= self._seconds:
            kind = "deadline"
            why = f"it took longer than its deadline of {self._seconds:g} s, and again when tried alone"
        failure = Failure(kind, why)
        explained = [Explained(task.first + k, failure=failure) for k in range(len(task.graphs))]
        return [self._packed(*pair) for pair in zip(explained, task.graphs, strict=True)]

    def named(self, task: Chunk) -> str:
        """Which graphs they are."""
        last = task.first + len(task.graphs) - 1
        return f"graph {last}" if last == task.first else f"graphs {task.first} to {last}"

    def _together(self, task: Chunk) -> list[Explained]:
        with deadline(self._limit):
            answers = explain_together(self._explainer, task.graphs, self._options)
        return [Explained(task.first + k, answer) for k, answer in enumerate(answers)]

    def _alone(self, place: int, graph: Data) -> Explained:
        """A graph that is tried again, since what went wrong may not happen twice."""
        error: Exception = EdgeflipError()
        for _ in range(_TRIES):
            try:
                return self._together(Chunk(place, [graph]))[0]
            except Exception as problem:
                error = problem
        return Explained(place, failure=Failure.of(error))

    @property
    def _limit(self) -> float | None:
        return self._seconds if self._may_end else None

    def _packed(self, explained: Explained, graph: Data) -> Outcome:
        answer = explained.answer
        found = answer is not None and answer.found
        if not self._as_lines:
            # The model stays where it is; whoever asked has it.
            bare = None if answer is None else replace(answer, oracle=None)
            return Outcome(replace(explained, answer=bare), found)
        known = fingerprint_or_none(graph)
        line = line_of(row_of(explained, known))
        return Outcome(replace(explained, answer=None), found, known, line)


def fingerprint_or_none(graph: Any) -> str:
    """What tells a graph from others, empty where it is none."""
    try:
        return fingerprint(cast(Data, graph))
    except Exception:
        return ""
