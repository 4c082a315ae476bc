"""Running a search: learning for many inputs at once, letting the method ask, making an answer of it."""

from __future__ import annotations

import copy
import time
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from torch_geometric.data import Data

from edgeflip.core import FREE, Noise, PairEdits
from edgeflip.errors import EdgeflipError, NotApplicableError
from edgeflip.explainers.checking import (
    check_options,
    check_target,
    fingerprint_of,
    first_answer,
    frozen,
    ranking_words,
)
from edgeflip.explainers.options import ExplainOptions
from edgeflip.oracle import Budget, ClassGoal, SearchEnded
from edgeflip.search import (
    Certificate,
    CounterfactualSet,
    Ended,
    Finish,
    Problem,
    Provenance,
    Search,
    Selection,
    Stage,
    Trace,
    Watch,
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

_LIMITS = {
    "timeout": "the time was up; allow more with Budget(seconds=…)",
    "out_of_calls": "the calls were used up; allow more with Budget(oracle_calls=…)",
}


PairProblem: TypeAlias = Problem[PairEdits, ClassGoal]
"""A graph whose edges are edited until its class changes."""

PairSearch: TypeAlias = Search[PairEdits, ClassGoal]
"""The search for that."""

Check: TypeAlias = Callable[[], None]
"""Raises `SearchEnded` when the time is up."""


@dataclass(frozen=True)
class Call:
    """What one call wants, beside the problem itself.

    Attributes:
        budget: How much may be spent on each input.
        selection: Which of the flips are wanted.
        watch: Called with every step.
        seed: The seed of the call.
    """

    budget: Budget
    selection: Selection
    watch: Watch | None
    seed: int


class SearchInterrupted(KeyboardInterrupt):
    """Ctrl-C during a search.

    Attributes:
        partial: What the search at hand had found until then.
        finished: The answers for graphs or classes before it, of calls that give several.
    """

    def __init__(
        self, partial: CounterfactualSet, finished: Sequence[CounterfactualSet] = ()
    ) -> None:
        super().__init__("the search was interrupted")
        self.partial = partial
        self.finished = tuple(finished)


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
    call = Call(
        given["budget"] or explainer.default_budget(),
        selection_of(explainer, given),
        given["watch"],
        given["seed"],
    )
    for graph in graphs:
        explainer._check_call(graph, call.seed)
    with session(explainer):
        searches = [begin_graph(explainer, graph, given, call) for graph in graphs]
        return finish_all(explainer, searches, call)


def explain_in_turn(
    explainer: CounterfactualExplainer[Any], graphs: Sequence[Data], given: ExplainOptions
) -> list[CounterfactualSet]:
    """The same for graphs one after the other; those that are finished survive Ctrl-C."""
    answers: list[CounterfactualSet] = []
    for graph in graphs:
        try:
            answers += explain_together(explainer, [graph], given)
        except SearchInterrupted as interruption:
            raise SearchInterrupted(interruption.partial, answers) from None
    return answers


def begin(
    explainer: CounterfactualExplainer[Any], problem: Problem[Any, Any], call: Call
) -> Search[Any, Any]:
    """A search for a problem, as the method and the call want it."""
    return Search(
        problem,
        budget=call.budget,
        ranking=explainer.ranking,
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
    for group in explainer._groups([search.problem for search in searches]):
        together = [searches[index] for index in group]
        _prepare_group(explainer, together, call.budget)
        for index, search in zip(group, together, strict=True):
            try:
                answers[index] = _answer(explainer, search, call)
            except SearchInterrupted as interruption:
                finished = [answers[place] for place in sorted(answers)]
                raise SearchInterrupted(interruption.partial, finished) from None
    return [answers[index] for index in range(len(searches))]


def _prepare_group(
    explainer: CounterfactualExplainer[Any],
    searches: Sequence[Search[Any, Any]],
    budget: Budget,
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
    end = _run(explainer, search)
    certificate: Certificate | None = None
    minimal = explainer._wants_minimal()
    search.begin_closing()
    try:
        if minimal and end.reason in _COMPLETE:
            reduce_flips(search, call.selection.limit)
        if explainer._certifies() and end.reason in _COMPLETE:
            with search.stage("certify"):
                certificate = certify(search, explainer._certifies())
        found, flips = Finish(search, call.selection, minimal=minimal).counterfactuals()
    except KeyboardInterrupt:
        # Even now: fewer answers, but each one checked.
        end = Ended("interrupted")
        found, flips = Finish(search, Selection(keep=1), minimal=minimal).counterfactuals()
    answer = CounterfactualSet(
        space=search.space,
        goal=search.goal,
        output=tuple(search.output.tolist()),
        counterfactuals=tuple(found),
        trace=_trace(search, end, bool(found), flips),
        provenance=_provenance(explainer, call),
        factual=search.factual,
        certificate=certificate,
    )
    if end.reason == "interrupted":
        raise SearchInterrupted(answer)
    return answer


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


def _trace(search: Search[Any, Any], end: Ended, found: bool, flips: int) -> Trace:
    message = end.because or _LIMITS.get(end.reason, "")
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


def begin_graph(
    explainer: CounterfactualExplainer[Any], graph: Data, given: ExplainOptions, call: Call
) -> PairSearch:
    """A search for one graph, with its label read and the call's wishes checked."""
    started, cpu_started = time.perf_counter(), cpu_seconds()
    oracle = explainer.oracle_
    # A shallow copy: PyG notes on a graph what it looked up, and the caller's stays untouched.
    graph = copy.copy(graph)
    space = PairEdits.of(
        graph, FREE if given["constraints"] is None else given["constraints"], given["fill"]
    )
    proba = first_answer(oracle, graph)
    label, before = int(proba.argmax()), tuple(proba.tolist())
    names = getattr(oracle, "class_names", None)
    target = check_target(given["target"], label, len(proba), names)
    goal = ClassGoal(before, target, names)
    # Graphs explained with one seed still get draws of their own.
    edges = zlib.crc32(space.pairs.edge_ids.numpy().tobytes())
    stream = f"{call.seed} {space.pairs.num_nodes} {edges}"
    problem = Problem(space, goal, proba, oracle, stream)
    search = begin(explainer, problem, call)
    seconds = time.perf_counter() - started
    search.oracle.restart(spent=seconds)
    search.clock.add("predict", Stage(seconds, 1, cpu_seconds() - cpu_started))
    return search


def selection_of(explainer: CounterfactualExplainer[Any], given: ExplainOptions) -> Selection:
    """Which of the flips a call wants, checked; a ranking by robustness looks at some copies."""
    explainer._check_ranking()
    selection = Selection(
        given["keep"],
        given["number"],
        given["diversity"],
        given["robust"],
        Noise() if given["noise"] is None else given["noise"],
        given["seed"],
    )
    if not selection.robust and "robustness" in needs_of(explainer.ranking):
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
        selection={"ranking": ranking_words(explainer.ranking), **call.selection.to_dict()},
    )
