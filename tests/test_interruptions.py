"""Ctrl-C at any moment: what was found is handed out, and finished answers are never dropped."""

import pytest

from edgeflip import SearchInterrupted, explain
from edgeflip.explainers import beginning, running
from edgeflip.explainers.random_search import RandomSearch
from edgeflip.oracle import together
from edgeflip.search import Finish
from edgeflip.testing import example_graphs, example_oracle, same_answer
from scripted import GRAPH, Scripted, fitted

GRAPHS = example_graphs(4, seed=21)


def on_call(number, real=lambda *arguments, **options: None):
    """A function that is interrupted on its call of a number, counted from 1, and else the real one."""
    calls = []

    def interrupted(*arguments, **options):
        calls.append(arguments)
        if len(calls) == number:
            raise KeyboardInterrupt
        return real(*arguments, **options)

    return interrupted


# One graph.


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (Finish, "answers"),
        (running, "certificate_of"),
        (running, "_trace"),
        (running, "_provenance"),
        (running, "_run"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_ctrl_c_after_the_search_hands_out_what_was_found(monkeypatch, owner, name):
    monkeypatch.setattr(owner, name, on_call(1, getattr(owner, name)))
    with pytest.raises(SearchInterrupted) as stop:
        fitted().explain(GRAPH)
    partial = stop.value.partial
    assert partial.trace.stopped_by == "interrupted"
    assert partial.found == (name != "_run")
    assert partial.trace.status == ("found" if partial.found else "interrupted")


def test_ctrl_c_twice_still_tells_how_far_the_search_came(monkeypatch):
    def never(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(Finish, "answers", never)
    with pytest.raises(SearchInterrupted) as stop:
        fitted().explain(GRAPH)
    assert not stop.value.partial.found
    assert stop.value.partial.trace.proposals > 0


def test_ctrl_c_before_the_model_has_answered_says_that_there_is_nothing(monkeypatch):
    monkeypatch.setattr(beginning, "answers_together", on_call(1))
    with pytest.raises(SearchInterrupted, match="not yet said") as stop:
        fitted().explain(GRAPH)
    assert stop.value.partial is None
    assert stop.value.finished == {}


# Several.


@pytest.mark.parametrize("name", ["_run", "_close", "_as_answer"])
def test_answers_that_were_finished_travel_with_the_interruption(monkeypatch, name):
    whole = fitted().explain_many(GRAPHS)
    monkeypatch.setattr(running, name, on_call(3, getattr(running, name)))
    with pytest.raises(SearchInterrupted) as stop:
        fitted().explain_many(GRAPHS)
    # What was searched by then is confirmed, whoever comes after the one at hand.
    finished = [0, 1, 3] if name == "_as_answer" else [0, 1]
    assert list(stop.value.finished) == finished
    assert all(same_answer(stop.value.finished[place], whole[place]) for place in finished)
    assert stop.value.partial.trace.stopped_by == "interrupted"


def test_ctrl_c_while_many_answers_are_confirmed_loses_none_that_was_searched(monkeypatch):
    whole = fitted().explain_many(GRAPHS)
    monkeypatch.setattr(running, "confirm_together", on_call(1, running.confirm_together))
    with pytest.raises(SearchInterrupted) as stop:
        fitted().explain_many(GRAPHS)
    assert stop.value.partial.trace.stopped_by == "interrupted"
    assert list(stop.value.finished) == [1, 2, 3]
    assert all(same_answer(stop.value.finished[place], whole[place]) for place in (1, 2, 3))


def test_groups_that_were_finished_before_ctrl_c_are_kept(monkeypatch):
    monkeypatch.setattr(together, "_GRAPHS", 2)
    whole = fitted().explain_many(GRAPHS)
    monkeypatch.setattr(beginning, "answers_together", on_call(2, beginning.answers_together))
    with pytest.raises(SearchInterrupted) as stop:
        fitted().explain_many(GRAPHS)
    assert stop.value.partial is None
    assert list(stop.value.finished) == [0, 1]
    assert all(same_answer(stop.value.finished[place], whole[place]) for place in (0, 1))


def test_the_one_line_hands_them_out_too(monkeypatch):
    monkeypatch.setattr(running, "_run", on_call(2, running._run))
    with pytest.raises(SearchInterrupted) as stop:
        explain(example_oracle(), GRAPHS, method="random")
    assert list(stop.value.finished) == [0]


def test_methods_that_learn_for_many_hand_out_groups_that_were_finished():
    class Grouped(Scripted):
        explains_together = True
        prepare = staticmethod(on_call(2, lambda problems: [None] * len(problems)))

        def _groups(self, problems):
            return [[3, 1], [0, 2]]

        def _prepare(self, problems, check):
            return self.prepare(problems)

    with pytest.raises(SearchInterrupted) as stop:
        fitted(Grouped()).explain_many(GRAPHS)
    assert set(stop.value.finished) == {1, 3}
    assert stop.value.partial.trace.stopped_by == "interrupted"


def test_classes_that_were_finished_are_kept(monkeypatch):
    explainer = RandomSearch().fit([], example_oracle(classes=3))
    others = list(explainer.explain_each_class(GRAPH))
    monkeypatch.setattr(running, "_run", on_call(2, running._run))
    with pytest.raises(SearchInterrupted) as stop:
        explainer.explain_each_class(GRAPH)
    assert list(stop.value.finished) == others[:1]
    assert stop.value.partial.target == others[1]
