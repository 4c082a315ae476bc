"""Running a search: learning for many inputs at once, letting the method ask, making an answer of it."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from torch_geometric.data import Data

from edgeflip.errors import EdgeflipError, NotApplicableError
from edgeflip.explainers.beginning import (
    Call,
    ask_first_together,
    begin,
    begin_graphs,
    selection_of,
)
from edgeflip.explainers.checking import (
    allowance,
    check_options,
    fingerprint_of,
    frozen,
    ranking_words,
)
from edgeflip.explainers.doubts import doubts_about
from edgeflip.explainers.interruption import SearchInterrupted
from edgeflip.explainers.options import ExplainOptions
from edgeflip.explainers.preferring import first_try, judged
from edgeflip.explainers.trusting import others_to_ask, trusted, with_real
from edgeflip.oracle import (
    JointOracle,
    SearchEnded,
    groups_of,
)
from edgeflip.search import (
    Answers,
    Certificate,
    CounterfactualSet,
    Ended,
    Finish,
    Provenance,
    Search,
    Selection,
    Stage,
    Trace,
    certificate_of,
    certify,
    confirm_together,
    reduce_flips,
)
from edgeflip.support import cpu_seconds, one_thread, package_version

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer

# Ends after which there is time to look for needless edits.
_COMPLETE = ("exhausted", "best_possible", "good_enough", "out_of_calls", "enough_flips")

# Ends after which nobody waits for anything more.
_CUT_SHORT = ("cancelled", "interrupted", "not_applicable")

_LIMITS = {
    "timeout": "the time was up; allow more with Budget(seconds=…)",
    "out_of_calls": "the calls were used up; allow more with Budget(oracle_calls=…)",
}


@contextmanager
def session(explainer: CounterfactualExplainer[Any]) -> Iterator[None]:
    """The oracle frozen, on one thread where more are of no use. Nothing global is seeded."""
    small = bool(getattr(explainer.oracle_, "is_small", False))
    with frozen(explainer.oracle_), one_thread(when=small):
        yield


def explain_together(
    explainer: CounterfactualExplainer[Any], graphs: Sequence[Data], given: ExplainOptions
) -> list[CounterfactualSet]:
    """Answers for graphs, group by group: first edits are asked about at once, all else graph by graph."""
    check_options(given)
    ranking = explainer._ranking_for(given["ranking"])
    call = Call(
        allowance(explainer, given["budget"]),
        selection_of(given, ranking),
        given["watch"],
        given["seed"],
        ranking,
        given["agree"],
        others_to_ask(explainer, given["check"]),
    )
    for graph in graphs:
        explainer._check_call(graph, call.seed)
    # Methods that learn for many at once make groups of their own.
    together = explainer.explains_together and len(graphs)
    groups = [range(len(graphs))] if together else groups_of(graphs)
    answers: dict[int, CounterfactualSet] = {}
    with session(explainer):
        for places in groups:
            try:
                searches = begin_graphs(explainer, [graphs[i] for i in places], given, call)
                ask_first_together(explainer, searches)
                answers |= zip(places, finish_all(explainer, searches, call), strict=True)
            except SearchInterrupted as interruption:
                answers |= {places[i]: found for i, found in interruption.finished.items()}
                raise SearchInterrupted(interruption.partial, answers) from None
            except KeyboardInterrupt:
                raise SearchInterrupted(None, answers) from None
    return [answers[place] for place in range(len(graphs))]


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


def finish_all(
    explainer: CounterfactualExplainer[Any], searches: Sequence[Search[Any, Any]], call: Call
) -> list[CounterfactualSet]:
    """The answers of searches: what they learn is learned in groups, what they found confirmed in the end."""
    ended: dict[int, _Closed] = {}
    try:
        for group in explainer._groups([search.problem for search in searches]):
            together = [searches[index] for index in group]
            _prepare_group(explainer, together)
            for index, search in zip(group, together, strict=True):
                # Only its own time counts, not that of those before it.
                search.oracle.restart(spent=search.clock.spent)
                ended[index] = _closed(explainer, search, call)
    except SearchInterrupted as interruption:
        raise SearchInterrupted(
            interruption.partial, _told_at_last(explainer, ended, call)
        ) from None
    except KeyboardInterrupt:
        raise SearchInterrupted(None, _told_at_last(explainer, ended, call)) from None
    answers = _told(explainer, ended, call)
    return [answers[index] for index in range(len(searches))]


def _prepare_group(
    explainer: CounterfactualExplainer[Any],
    searches: Sequence[Search[Any, Any]],
    spent: float = 0.0,
) -> None:
    """Let the method learn for some inputs, and book an even share of the time for each.

    Args:
        explainer: The method.
        searches: Their searches.
        spent: Seconds that were spent on them before.
    """
    if not explainer._prepares:
        return
    started, cpu_started = time.perf_counter(), cpu_seconds()
    allowed = sum(_seconds_of(search) for search in searches) - spent

    def check() -> None:
        if time.perf_counter() - started >= allowed:
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


def _seconds_of(search: Search[Any, Any]) -> float:
    seconds = search.oracle.budget.seconds
    return math.inf if seconds is None else seconds


@dataclass(frozen=True, eq=False)
class _Closed:
    """A search at its end, its flips not yet confirmed.

    Attributes:
        search: The search.
        end: Why it ended.
        certificate: What is proven.
        finish: Its flips.
    """

    search: Search[Any, Any]
    end: Ended
    certificate: Certificate | None
    finish: Finish


def _closed(
    explainer: CounterfactualExplainer[Any], search: Search[Any, Any], call: Call
) -> _Closed:
    """Run a search to its end, and close it."""
    try:
        end = _run(explainer, search)
        if _wants_second_try(search, end):
            search, end = _second_try(explainer, search, call, end)
        if end.reason != "interrupted":
            certificate = _close(explainer, search, call, end)
            finish = Finish(search, call.selection, minimal=explainer._wants_minimal())
            return _Closed(search, end, certificate, finish)
    except KeyboardInterrupt:
        end = Ended("interrupted")
    raise SearchInterrupted(_partial(explainer, search, call, end))


def _partial(
    explainer: CounterfactualExplainer[Any], search: Search[Any, Any], call: Call, end: Ended
) -> CounterfactualSet:
    """What was found until Ctrl-C: fewer answers, but each one checked; none if that is interrupted too."""
    search.begin_closing()
    try:
        minimal = explainer._wants_minimal()
        found = Finish(search, Selection(keep=1), minimal=minimal).answers()
    except KeyboardInterrupt:
        found = Answers()
    made_by = _provenance(explainer, call)
    answer = _as_answer(search, end, found, certificate_of(search), made_by)
    return with_real(explainer, answer)


def _told(
    explainer: CounterfactualExplainer[Any], ended: Mapping[int, _Closed], call: Call
) -> dict[int, CounterfactualSet]:
    """The answers of closed searches, whose flips are confirmed together."""
    answers: dict[int, CounterfactualSet] = {}
    try:
        confirm_together([each.finish for each in ended.values()])
        made_by = _provenance(explainer, call)
        for place, each in ended.items():
            found = each.finish.answers()
            answer = _as_answer(each.search, each.end, found, each.certificate, made_by)
            answers[place] = trusted(explainer, with_real(explainer, answer), call)
    except KeyboardInterrupt:
        place = next(place for place in ended if place not in answers)
        at_hand = _partial(explainer, ended[place].search, call, Ended("interrupted"))
        left = {key: each for key, each in ended.items() if key not in (place, *answers)}
        answers |= _told_at_last(explainer, left, call)
        raise SearchInterrupted(at_hand, answers) from None
    return answers


def _told_at_last(
    explainer: CounterfactualExplainer[Any], ended: Mapping[int, _Closed], call: Call
) -> dict[int, CounterfactualSet]:
    """The same after Ctrl-C, as far as nobody interrupts that as well."""
    try:
        return _told(explainer, ended, call)
    except SearchInterrupted as interruption:
        return interruption.finished


def _wants_second_try(search: Search[Any, Any], end: Ended) -> bool:
    """Whether nothing was found within what is preferred, and there is something left to spend."""
    if not search.problem.keeps_preference or search.found:
        return False
    search.release()
    return end.reason not in ("cancelled", "interrupted") and search.oracle.out_of() is None


def _second_try(
    explainer: CounterfactualExplainer[Any], first: Search[Any, Any], call: Call, end: Ended
) -> tuple[Search[Any, Any], Ended]:
    """Search again without what is preferred; the search counts what the first one spent."""
    preference = first.problem.preference
    assert preference is not None
    search = begin(explainer, replace(first.problem, space=preference.without), call)
    search.note(first_try=first_try(first, end.reason))
    _prepare_group(explainer, [search], spent=first.oracle.elapsed)
    search.follow(first)
    return search, _run(explainer, search)


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
    search: Search[Any, Any],
    end: Ended,
    found: Answers,
    certificate: Certificate | None,
    made_by: Provenance,
) -> CounterfactualSet:
    if certificate is not None and certificate.below == 1 and not _has_single(found):
        # The single edit that it speaks of did not flip the really edited input.
        certificate = None
    answer = CounterfactualSet(
        space=search.space,
        goal=search.goal,
        output=tuple(search.output.tolist()),
        counterfactuals=found.best,
        smallest=found.smallest,
        first=found.first,
        trace=_trace(search, end, found),
        provenance=made_by,
        factual=None if search.factual is None else search.factual.in_short(),
        certificate=certificate,
        oracle=search.problem.oracle,
    )
    return judged(answer, search)


def _has_single(found: Answers) -> bool:
    return found.smallest is not None and found.smallest.cost == 1


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


def _trace(search: Search[Any, Any], end: Ended, found: Answers) -> Trace:
    message = end.because or _LIMITS.get(end.reason, "")
    if end.reason == "timeout" or search.oracle.cut_by_clock:
        search.note(clock=_clock_note(search, end))
    doubts = doubts_about(search, found) if end.reason not in _CUT_SHORT else []
    if doubts:
        search.note(warnings=[*search.notes.get("warnings", []), *doubts])
    if found.best:
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
        flips=found.flips,
        message="" if found.best else message,
        notes=dict(search.notes),
        steps=search.steps(),
    )


def _clock_note(search: Search[Any, Any], end: Ended) -> str:
    """Which limit cut a search short that another run need not meet."""
    seconds = search.oracle.budget.seconds
    limit = "the method's own clock" if seconds is None else f"Budget(seconds={seconds:g})"
    what = "the search" if end.reason == "timeout" else "the search for smaller edit sets"
    first = search.notes.get("first_try", {})
    if first.get("stopped_by") == "timeout" and end.reason != "timeout":
        what = f"the search within {first['within']}"
    return f"{limit} ended {what}, and another run may get further or less far"


def _provenance(explainer: CounterfactualExplainer[Any], call: Call) -> Provenance:
    oracle = explainer.oracle_
    several = {}
    if isinstance(oracle, JointOracle):
        several = {"models": len(oracle.members), "agree": oracle.of_so_many(call.agree).wanted}
    return Provenance(
        method=explainer.name,
        config=explainer._plain_config(),
        seed=call.seed,
        batch_size=getattr(oracle, "batch_size", None),
        oracle=fingerprint_of(oracle),
        budget=dict(vars(call.budget)),
        versions={name: package_version(name) for name in ("edgeflip", "torch", "torch_geometric")},
        selection={"ranking": ranking_words(call.ranking), **call.selection.to_dict(), **several},
    )
