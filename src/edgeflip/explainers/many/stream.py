"""Answers as they come, in the order of their graphs, whoever works on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from torch_geometric.data import Data

from edgeflip.engines import Engine, check_engine, crew
from edgeflip.errors import ConfigError, shown
from edgeflip.explainers.checking import check_options, listed
from edgeflip.explainers.interruption import SearchInterrupted
from edgeflip.explainers.many.explained import Explained, Failure, GraphsFailedError
from edgeflip.explainers.many.job import Chunk, ExplainJob, Outcome
from edgeflip.explainers.options import ExplainOptions, complete
from edgeflip.search import CounterfactualSet
from edgeflip.support import progress_bar

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer

# Graphs that are explained at a time: enough to share fixed costs, few enough to try again.
_CHUNK = 25


@dataclass(frozen=True)
class How:
    """Who works, and in which pieces.

    Attributes:
        engine: This process, several of this machine, or a Ray cluster.
        workers: How many; a core each when None.
        address: The address of the cluster.
        deadline: After so many seconds the process of a graph is ended.
        progress: Whether progress is shown, with an estimate.
        tell: Takes notes for people.
    """

    engine: Engine = "inline"
    workers: int | None = None
    address: str | None = None
    deadline: float | None = None
    progress: bool = False
    tell: Callable[[str], None] = lambda text: None

    def check(self, options: ExplainOptions) -> None:
        """Refuse what cannot be done.

        Raises:
            ConfigError: With what would work.
        """
        check_engine(self.engine, self.workers)
        check_options(options)
        if self.address is not None and self.engine != "ray":
            raise ConfigError(
                f"expected an address with engine='ray' only, got one with engine='{self.engine}'; leave "
                "it out."
            )
        if options["watch"] is not None and self.engine != "inline":
            raise ConfigError(
                f"expected no watch with engine='{self.engine}', whose searches run in other processes, got "
                "one; leave it out or use engine='inline'."
            )
        if self.deadline is None:
            return
        number = isinstance(self.deadline, int | float) and not isinstance(self.deadline, bool)
        if not number or not 0 < self.deadline < math.inf:
            raise ConfigError(
                f"expected a deadline in seconds above 0, got {shown(self.deadline)}; give such a number "
                "or leave it out."
            )
        if self.engine == "inline":
            raise ConfigError(
                "expected engine='local' or 'ray' for a deadline, got 'inline': a model that hangs in this "
                "process cannot be stopped; name another engine, or use Budget(seconds=…)."
            )


def explain_stream(
    explainer: CounterfactualExplainer[Any],
    graphs: Iterable[Data],
    *,
    engine: Engine = "inline",
    workers: int | None = None,
    address: str | None = None,
    deadline: float | None = None,
    progress: bool = False,
    tell: Callable[[str], None] = lambda text: None,
    **options: Unpack[ExplainOptions],
) -> Iterator[Explained]:
    """What becomes of many graphs, one after the other and in their order.

    The answers are those of `explain`, whatever the engine. A graph that fails, or whose process ends, is
    tried again; then its failure is handed out in place of an answer, and the rest goes on. Graphs are
    drawn when there is room for them, so that they may come from a generator that never ends.

    Args:
        explainer: The method, fitted.
        graphs: The graphs; none is changed.
        engine: `"inline"` for this process, `"local"` for several, `"ray"` for a cluster.
        workers: How many processes; one for each core when left out.
        address: The address of the Ray cluster.
        deadline: Seconds after which a graph's process is ended, for models that may hang.
        progress: Whether to show progress and an estimate.
        tell: Takes notes for people.
        options: As for `explain`, the same for all graphs.

    Example:
        >>> from edgeflip import make_explainer
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> explainer = make_explainer("random").fit([], example_oracle())
        >>> for each in explain_stream(explainer, example_graphs(2, seed=1)):
        ...     print(each.place, each.answer.found)
        0 True
        1 True
    """
    explainer._check_fitted()
    given = complete(options)
    how = How(engine, workers, address, deadline, progress, tell)
    how.check(given)
    if isinstance(graphs, Data | str):
        listed(graphs, "call explain(graph) for one")
    job = ExplainJob(explainer, given, seconds=deadline)
    return _named(outcomes(job, graphs, how), explainer)


def _named(
    found: Iterator[Outcome], explainer: CounterfactualExplainer[Any]
) -> Iterator[Explained]:
    """Answers that know their model again."""
    for each in found:
        explained, answer = each.explained, each.explained.answer
        if answer is None:
            yield explained
        else:
            yield replace(explained, answer=replace(answer, oracle=explainer.oracle_))


def outcomes(
    job: ExplainJob, graphs: Iterable[Data], how: How, *, first: int = 0
) -> Generator[Outcome]:
    """What becomes of graphs, in their order.

    Args:
        job: How each is explained.
        graphs: The graphs.
        how: Who works.
        first: The place of the first graph.
    """
    size = 1 if how.deadline is not None else _CHUNK
    total = len(graphs) if isinstance(graphs, Sequence) else None
    with (
        progress_bar(
            "explaining",
            total=None if total is None else first + total,
            unit="graph",
            shown=how.progress,
            done=first,
        ) as bar,
        crew(job, how.engine, how.workers, address=how.address, tell=how.tell) as team,
    ):
        done = team.done(chunks(graphs, size, first))
        for each in done:
            for results in each.results:
                for outcome in results:
                    yield outcome
                    bar.update()


def chunks(graphs: Iterable[Data], size: int, first: int) -> Iterator[Chunk]:
    """Graphs in pieces whose limits depend on the places alone, so that every engine asks alike."""
    piece: list[Data] = []
    for place, graph in enumerate(graphs, start=first):
        piece.append(graph)
        if (place + 1) % size == 0:
            yield Chunk(place + 1 - len(piece), piece)
            piece = []
    if piece:
        yield Chunk(place + 1 - len(piece), piece)


def explain_elsewhere(
    how: How,
    explainer: CounterfactualExplainer[Any],
    graphs: Sequence[Data],
    given: ExplainOptions,
) -> list[CounterfactualSet]:
    """The answers of `explain_many` by another engine.

    Raises:
        GraphsFailedError: If a graph has no answer; the others are in it.
        SearchInterrupted: On Ctrl-C, with what was finished.
    """
    explainer._check_fitted()
    how.check(given)
    answers: dict[int, CounterfactualSet] = {}
    failures: dict[int, Failure] = {}
    job = ExplainJob(explainer, given, seconds=how.deadline)
    try:
        with closing(outcomes(job, graphs, how)) as found:
            for each in _named(found, explainer):
                if each.answer is not None:
                    answers[each.place] = each.answer
                elif each.failure is not None:
                    failures[each.place] = each.failure
    except KeyboardInterrupt:
        raise SearchInterrupted(None, answers) from None
    if failures:
        raise GraphsFailedError(answers, failures)
    return [answers[place] for place in range(len(graphs))]
