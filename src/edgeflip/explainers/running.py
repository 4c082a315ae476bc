"""Running a search: learning for many inputs at once, letting the method ask, making an answer of it."""

from __future__ import annotations

import copy
import time
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from torch_geometric.data import Data

from edgeflip.core import Noise, PairEdits
from edgeflip.errors import EdgeflipError, NotApplicableError
from edgeflip.explainers.checking import (
    allowance,
    check_options,
    constraints_on,
    fingerprint_of,
    first_answer,
    frozen,
    goal_of,
    ranking_words,
)
from edgeflip.explainers.doubts import doubts_about
from edgeflip.explainers.options import ExplainOptions
from edgeflip.oracle import Allowance, ClassGoal, SearchEnded, ValueGoal
from edgeflip.search import (
    Answers,
    Certificate,
    Counterfactual,
    CounterfactualSet,
    Ended,
    Finish,
    Problem,
    Provenance,
    Ranking,
    Search,
    Selection,
    Stage,
    Trace,
    Watch,
    certificate_of,
    certify,
    needs_of,
    reduce_flips,
)
from edgeflip.support import cpu_seconds, one_thread, package_version

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer

# Noisy copies for a ranking that needs some, in a call that names no number.
_COPIES = 8

# Ends after which there is time to look for needless edits.
_COMPLETE = ("exhausted", "best_possible", "good_enough", "out_of_calls", "enough_flips")

# Ends after which nobody waits for anything more.
_CUT_SHORT = ("cancelled", "interrupted", "not_applicable")

_LIMITS = {
    "timeout": "the time was up; allow more with Budget(seconds=…)",
    "out_of_calls": "the calls were used up; allow more with Budget(oracle_calls=…)",
}


PairProblem: TypeAlias = Problem[PairEdits, ClassGoal]
"""A graph whose edges are edited until its class changes."""

PairSearch: TypeAlias = Search[PairEdits, ClassGoal]
"""The search for that."""

GraphSearch: TypeAlias = Search[PairEdits, ClassGoal | ValueGoal]
"""The same for methods that need no classes."""

Check: TypeAlias = Callable[[], None]
"""Raises `SearchEnded` when the time is up."""


@dataclass(frozen=True)
class Call:
    """What one call wants, beside the problem itself.

    Attributes:
        budget: How much may be spent on each input, in numbers.
        selection: Which of the flips are wanted.
        watch: Called with every step.
        seed: The seed of the call.
        ranking: What counts as best.
    """

    budget: Allowance
    selection: Selection
    watch: Watch | None
    seed: int
    ranking: Ranking


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C while a graph, or one of several, was explained.

    Attributes:
        partial: What was found until then for the graph at hand, each answer checked; None where the
            model had not yet said what it predicts.
        finished: The answers that were whole by then: by the place of their graph for `explain_many`,
            by class for `explain_each_class`.
    """

    def __init__(
        self,
        partial: CounterfactualSet | None = None,
        finished: Mapping[int, CounterfactualSet] | None = None,
    ) -> None:
        super().__init__(
            "the model had not yet said what it predicts"
            if partial is None
            else "the search was interrupted"
        )
        self.partial = partial
        self.finished = dict(finished or {})


@contextmanager
def session(explainer: CounterfactualExplainer[Any]) -> Iterator[None]:
    """The oracle frozen, on one thread where more are of no use. Nothing global is seeded."""
    small = bool(getattr(explainer.oracle_, "is_small", False))
    with frozen(explainer.oracle_), one_thread(when=small):
        yield


def explain_together(
    explainer: CounterfactualExplainer[Any], graphs: Sequence[Data], given: ExplainOptions
) -> list[CounterfactualSet]:
    """Answers for graphs whose learning, if there is any, is done at once."""
    check_options(given)
    ranking = explainer._ranking_for(given["ranking"])
    call = Call(
        allowance(explainer, given["budget"]),
        selection_of(given, ranking),
        given["watch"],
        given["seed"],
        ranking,
    )
    for graph in graphs:
        explainer._check_call(graph, call.seed)
    with session(explainer):
        try:
            searches = [begin_graph(explainer, graph, given, call) for graph in graphs]
        except KeyboardInterrupt:
            raise SearchInterrupted from None
        return finish_all(explainer, searches, call)


def in_turn(
    questions: Mapping[int, Callable[[], list[CounterfactualSet]]],
) -> dict[int, CounterfactualSet]:
    """The answers to questions for one graph each; on Ctrl-C those that are finished travel with it."""
    answers: dict[int, CounterfactualSet] = {}
    try:
        for key, ask in questions.items():
            (answers[key],) = ask()
    except SearchInterrupted as interruption:
        raise SearchInterrupted(interruption.partial, answers) from None
    except KeyboardInterrupt:
        raise SearchInterrupted(None, answers) from None
    return answers


def begin(
    explainer: CounterfactualExplainer[Any], problem: Problem[Any, Any], call: Call
) -> Search[Any, Any]:
    """A search for a problem, as the method and the call want it."""
    return Search(
        problem,
        budget=call.budget,
        ranking=call.ranking,
        selection=call.selection,
        stops_at_first=explainer._stops_at_first(),
        minimal=explainer._wants_minimal(),
        watch=call.watch,
    )


def finish_all(
    explainer: CounterfactualExplainer[Any], searches: Sequence[Search[Any, Any]], call: Call
) -> list[CounterfactualSet]:
    """The answers of searches, whose learning is done in groups."""
    answers: dict[int, CounterfactualSet] = {}
    try:
        for group in explainer._groups([search.problem for search in searches]):
            together = [searches[index] for index in group]
            _prepare_group(explainer, together, call.budget)
            for index, search in zip(group, together, strict=True):
                answers[index] = _answer(explainer, search, call)
    except SearchInterrupted as interruption:
        raise SearchInterrupted(interruption.partial, answers) from None
    except KeyboardInterrupt:
        raise SearchInterrupted(None, answers) from None
    return [answers[index] for index in range(len(searches))]


def _prepare_group(
    explainer: CounterfactualExplainer[Any],
    searches: Sequence[Search[Any, Any]],
    budget: Allowance,
) -> None:
    """Let the method learn for some inputs, and book an even share of the time for each."""
    if not explainer._prepares:
        return
    started, cpu_started = time.perf_counter(), cpu_seconds()
    allowed = None if budget.seconds is None else budget.seconds * len(searches)

    def check() -> None:
        if allowed is not None and time.perf_counter() - started >= allowed:
            raise SearchEnded("timeout")

    count = len(searches)
    try:
        prepared = explainer._prepare([search.problem for search in searches], check)
    except (SearchEnded, NotApplicableError, KeyboardInterrupt) as end:
        prepared = [end] * count
    share = Stage(
        seconds=(time.perf_counter() - started) / count,
        cpu_seconds=(cpu_seconds() - cpu_started) / count,
    )
    for search, found in zip(searches, prepared, strict=True):
        search.prepared = found
        search.clock.add("learn", share)
        search.oracle.restart(spent=share.seconds)


def _answer(
    explainer: CounterfactualExplainer[Any], search: Search[Any, Any], call: Call
) -> CounterfactualSet:
    """Run a search to its end, and make an answer of what it found."""
    minimal = explainer._wants_minimal()
    try:
        end = _run(explainer, search)
        if end.reason != "interrupted":
            certificate = _close(explainer, search, call, end)
            found = Finish(search, call.selection, minimal=minimal).answers()
            return _as_answer(explainer, search, call, end, found, certificate)
    except KeyboardInterrupt:
        end = Ended("interrupted")
    # Even now: fewer answers, but each one checked; none if that is interrupted as well.
    search.begin_closing()
    try:
        found = Finish(search, Selection(keep=1), minimal=minimal).answers()
    except KeyboardInterrupt:
        found = Answers()
    answer = _as_answer(explainer, search, call, end, found, certificate_of(search))
    raise SearchInterrupted(answer)


def _close(
    explainer: CounterfactualExplainer[Any], search: Search[Any, Any], call: Call, end: Ended
) -> Certificate | None:
    """Undo needless moves and prove smallness, as far as the method wants it and the budget reaches."""
    search.begin_closing()
    if explainer._wants_minimal() and end.reason in _COMPLETE:
        reduce_flips(search, call.selection.limit)
    if explainer._certifies() and end.reason in _COMPLETE:
        with search.stage("certify"):
            certify(search, explainer._certifies())
    return certificate_of(search)


def _as_answer(
    explainer: CounterfactualExplainer[Any],
    search: Search[Any, Any],
    call: Call,
    end: Ended,
    found: Answers,
    certificate: Certificate | None,
) -> CounterfactualSet:
    return CounterfactualSet(
        space=search.space,
        goal=search.goal,
        output=tuple(search.output.tolist()),
        counterfactuals=found.best,
        smallest=found.smallest,
        first=found.first,
        trace=_trace(search, end, found.best, found.flips),
        provenance=_provenance(explainer, call),
        factual=search.factual,
        certificate=certificate,
        oracle=search.problem.oracle,
    )


def _run(explainer: CounterfactualExplainer[Any], search: Search[Any, Any]) -> Ended:
    """Let the method search; why it ended."""
    try:
        if isinstance(search.prepared, BaseException):
            raise search.prepared
        search.check()
        with search.stage("propose"):
            end = explainer._search(search)
    except SearchEnded as ended:
        if search.oracle.asked_late:
            search.note(asked_after_the_end=True)
        return Ended(ended.reason, ended.because)  # type: ignore[arg-type]
    except NotApplicableError as error:
        return Ended("not_applicable", str(error))
    except KeyboardInterrupt:
        return Ended("interrupted")
    if end is not None and not isinstance(end, Ended):
        raise EdgeflipError(
            f"expected _search of '{explainer.name}' to ask and to return None or Ended(...), got "
            f"{type(end).__name__}; a method asks with search.ask and yields nothing."
        )
    if search.ended is not None:
        # A method that caught the end and went on; what it found is good all the same.
        search.note(caught_search_ended=True)
        return Ended(search.ended.reason)  # type: ignore[arg-type]
    return end or Ended()


def _trace(
    search: Search[Any, Any], end: Ended, found: Sequence[Counterfactual], flips: int
) -> Trace:
    message = end.because or _LIMITS.get(end.reason, "")
    if end.reason == "timeout" or search.oracle.cut_by_clock:
        search.note(clock=_clock_note(search, end))
    doubts = doubts_about(search, found) if end.reason not in _CUT_SHORT else []
    if doubts:
        search.note(warnings=doubts)
    if found:
        status: Any = "found"
    else:
        ends = ("first_flip", "enough_flips", "best_possible", "good_enough")
        status = "exhausted" if end.reason in ends else end.reason
    return Trace(
        status=status,
        stopped_by=end.reason,
        stages=search.clock.stages(),
        proposals=search.proposals,
        rejected=search.rejected,
        flips=flips,
        message="" if found else message,
        notes=dict(search.notes),
        steps=search.steps(),
    )


def _clock_note(search: Search[Any, Any], end: Ended) -> str:
    """Which limit cut a search short that another run need not meet."""
    seconds = search.oracle.budget.seconds
    limit = "the method's own clock" if seconds is None else f"Budget(seconds={seconds:g})"
    what = "the search" if end.reason == "timeout" else "the search for smaller edit sets"
    return f"{limit} ended {what}, and another run may get further or less far"


def begin_graph(
    explainer: CounterfactualExplainer[Any], graph: Data, given: ExplainOptions, call: Call
) -> GraphSearch:
    """A search for one graph, with its label read and the call's wishes checked."""
    started, cpu_started = time.perf_counter(), cpu_seconds()
    oracle = explainer.oracle_
    # A shallow copy: PyG notes on a graph what it looked up, and the caller's stays untouched.
    graph = copy.copy(graph)
    space = PairEdits.of(graph, constraints_on(graph, given), given["fill"])
    output = first_answer(oracle, graph)
    goal = goal_of(oracle, output, given["target"])
    # Graphs explained with one seed still get draws of their own.
    edges = zlib.crc32(space.pairs.edge_ids.numpy().tobytes())
    stream = f"{call.seed} {space.pairs.num_nodes} {edges}"
    problem: Problem[PairEdits, ClassGoal | ValueGoal] = Problem(
        space, goal, output, oracle, stream
    )
    search = begin(explainer, problem, call)
    seconds = time.perf_counter() - started
    search.oracle.restart(spent=seconds)
    search.clock.add("predict", Stage(seconds, 1, cpu_seconds() - cpu_started))
    return search


def selection_of(given: ExplainOptions, ranking: Ranking) -> Selection:
    """Which of the flips a call wants, checked; a ranking by robustness looks at some copies."""
    selection = Selection(
        given["keep"],
        given["number"],
        given["diversity"],
        given["robust"],
        Noise() if given["noise"] is None else given["noise"],
        given["seed"],
    )
    if not selection.robust and "robustness" in needs_of(ranking):
        selection = replace(selection, robust=_COPIES)
    return selection


def _provenance(explainer: CounterfactualExplainer[Any], call: Call) -> Provenance:
    oracle = explainer.oracle_
    return Provenance(
        method=explainer.name,
        config=explainer._plain_config(),
        seed=call.seed,
        batch_size=getattr(oracle, "batch_size", None),
        oracle=fingerprint_of(oracle),
        budget=asdict(call.budget),
        versions={name: package_version(name) for name in ("edgeflip", "torch", "torch_geometric")},
        selection={"ranking": ranking_words(call.ranking), **call.selection.to_dict()},
    )
