"""How a search ends: out of budget, of its own accord, in a method that swallows it, while it prepares."""

import time

import pytest

from conftest import assert_sentence
from edgeflip import Budget, SearchInterrupted
from edgeflip.core import FactualSubgraph
from edgeflip.errors import EdgeflipError, NotApplicableError
from edgeflip.oracle import SearchEnded
from edgeflip.search import Ended
from scripted import GRAPH, Scripted, fitted, scripted


def test_every_question_after_the_end_raises_the_end_again():
    ends = []

    def script(search):
        rows = search.space.allowed[:, None]
        for again in (search.ask, search.ask, search.probe, lambda _: search.check()):
            try:
                again(rows)
            except SearchEnded as ended:
                ends.append(ended)
        raise ends[0]

    answer = scripted(script).explain(GRAPH, budget=Budget(oracle_calls=5))
    assert len(ends) == 4
    assert len(set(map(id, ends))) == 1
    assert answer.trace.stopped_by == "out_of_calls"
    assert answer.trace.stages["oracle"].oracle_calls == 5


def test_an_end_that_a_method_swallows_is_noted_and_the_answer_is_good_all_the_same():
    def script(search):
        try:
            search.ask(search.space.allowed[:, None])
        except BaseException:
            search.note(went_on=True)
        return Ended("exhausted")

    answer = scripted(script).explain(GRAPH, budget=Budget(oracle_calls=30))
    assert answer.found
    assert answer.trace.stopped_by == "out_of_calls"
    assert answer.trace.notes == {"went_on": True, "caught_search_ended": True}
    assert answer.trace.stages["oracle"].oracle_calls == 30


def test_a_method_s_own_error_handling_does_not_swallow_the_end():
    def script(search):
        try:
            search.ask(search.space.allowed[:, None])
        except Exception:
            search.note(swallowed=True)

    answer = scripted(script).explain(GRAPH, budget=Budget(oracle_calls=5))
    assert answer.trace.notes == {}
    assert answer.trace.stopped_by == "out_of_calls"


@pytest.mark.parametrize("calls", range(12))
def test_what_a_method_noted_before_the_end_is_kept_whatever_the_budget(calls):
    part = FactualSubgraph((0, 1), ((0, 1),), 0.5)
    kept = []

    def script(search):
        search.factual = part
        search.note(begun=True)
        try:
            for row in search.space.allowed:
                search.ask(row[None, None])
        except SearchEnded as ended:
            # A reference to the exception keeps every frame alive, which once kept the state too.
            kept.append(ended)
            raise

    answer = scripted(script).explain(GRAPH, budget=Budget(oracle_calls=calls))
    assert answer.factual == (part if calls else None)
    assert answer.trace.notes == ({"begun": True} if calls else {})
    assert answer.trace.oracle_calls <= calls + 1 + len(answer)


def test_a_search_that_yields_is_refused():
    def script(search):
        yield search.space.allowed[:, None]

    with pytest.raises(EdgeflipError, match=r"search\.ask") as error:
        scripted(script).explain(GRAPH)
    assert_sentence(error, "scripted", "generator")


def test_a_method_says_why_it_ended():
    def script(search):
        return Ended("best_possible", because="there is no pair left")

    answer = scripted(script).explain(GRAPH)
    assert answer.trace.stopped_by == "best_possible"
    assert answer.trace.status == "exhausted"
    assert answer.trace.message == "there is no pair left"
    assert "there is no pair left" in str(answer)


def test_a_method_that_is_not_applicable_answers_so():
    def script(search):
        raise NotApplicableError("expected a tree, got a cycle; use another method.")

    trace = scripted(script).explain(GRAPH).trace
    assert trace.status == trace.stopped_by == "not_applicable"
    assert trace.message == "expected a tree, got a cycle; use another method."


# Preparing.


def test_time_that_runs_out_while_a_method_prepares_is_a_timeout():
    class Preparing(Scripted):
        def _prepare(self, problems, check):
            time.sleep(0.02)
            check()
            raise AssertionError("the time was up")

    answer = fitted(Preparing()).explain(GRAPH, budget=Budget(seconds=0.01))
    assert answer.trace.status == "timeout"
    assert not answer.found


@pytest.mark.parametrize(
    ("trouble", "reason"),
    [(NotApplicableError("expected a tree, got a cycle."), "not_applicable"), (None, "exhausted")],
)
def test_what_prepares_may_refuse_one_of_several_inputs(trouble, reason):
    class Preparing(Scripted):
        explains_together = True

        def _groups(self, problems):
            return [list(range(len(problems)))]

        def _prepare(self, problems, check):
            return ["learned", trouble or "learned"]

    explainer = fitted(Preparing())
    explainer.script = lambda search: search.note(prepared=search.prepared)
    one, other = explainer.explain_many([GRAPH, GRAPH])
    assert one.trace.notes == {"prepared": "learned"}
    assert one.trace.stopped_by == "exhausted"
    assert other.trace.stopped_by == reason


def test_ctrl_c_while_a_method_prepares_carries_an_empty_answer():
    class Preparing(Scripted):
        def _prepare(self, problems, check):
            raise KeyboardInterrupt

    with pytest.raises(SearchInterrupted) as interruption:
        fitted(Preparing()).explain(GRAPH)
    assert not interruption.value.partial.found
    assert interruption.value.partial.trace.stopped_by == "interrupted"
