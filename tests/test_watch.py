"""Watching a search: live steps, cancelling, and what of it is kept with the answer."""

import json
import threading

import pytest

from edgeflip import (
    Budget,
    CounterfactualSet,
    EdgeFlip,
    EdgeFlipConfig,
    list_explainers,
    make_explainer,
)
from edgeflip.errors import ConfigError, UnknownNameError
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.search import Step
from edgeflip.testing import example_graphs, example_oracle, same_answer
from scripted import GRAPH, fitted, scripted

GRAPHS = example_graphs(4, seed=4)
LEARNS_NOTHING = [
    name for name in list_explainers() if not make_explainer(name, profile="smoke")._needs_graphs()
]


def one_at_a_time(search):
    for row in search.space.allowed:
        search.ask(row[None, None])


# Its first flip among single edits is not the first of them.
LATE = next(
    graph
    for graph in example_graphs(20, seed=4)
    if (found := scripted(one_at_a_time).explain(graph, keep=100)).found
    and found.first.found_at > 5
)


# Live steps.


def test_steps_are_seen_while_the_search_goes_on():
    seen = []

    def script(search):
        for number, row in enumerate(search.space.allowed, start=1):
            search.ask(row[None, None])
            # Told before the method is.
            assert len(seen) == number
            assert seen[-1].calls == search.oracle.calls

    answer = scripted(script).explain(LATE, watch=seen.append)
    assert answer.found
    calls, margins = [step.calls for step in seen], [step.margin for step in seen]
    assert calls == list(range(1, 37))
    assert margins == sorted(margins)
    assert margins[0] < 0 < margins[-1]
    first = next(step for step in seen if step.margin > 0)
    assert [step.smallest for step in seen] == [
        1 if step.calls >= first.calls else None for step in seen
    ]


@pytest.mark.parametrize("name", LEARNS_NOTHING)
def test_calls_rise_and_the_margin_never_falls_whatever_the_method(name):
    explainer = make_explainer(name, profile="smoke").fit([], example_oracle())
    for graph in GRAPHS:
        seen = []
        answer = explainer.explain(graph, budget=Budget(oracle_calls=300), watch=seen.append)
        calls, margins = [step.calls for step in seen], [step.margin for step in seen]
        assert all(isinstance(step, Step) for step in seen)
        assert calls == sorted(calls)
        assert margins == sorted(margins)
        if answer.found:
            assert margins[-1] > 0
            assert seen[-1].smallest is not None
        else:
            assert not seen or margins[-1] <= 0


def test_watching_changes_nothing():
    explainer = EdgeFlip().fit([], example_oracle())
    for graph in GRAPHS:
        assert same_answer(explainer.explain(graph), explainer.explain(graph, watch=print_nothing))


def print_nothing(step):
    return None


@pytest.mark.parametrize("nothing", [None, True, 0, ""], ids=repr)
def test_only_false_itself_ends_a_search(nothing):
    explainer = fitted(RandomSearch(RandomConfig(stop_at_first=False, max_added=1, max_removed=1)))
    answer = explainer.explain(GRAPH, watch=lambda step: nothing)
    assert answer.trace.stopped_by == "exhausted"


def test_the_rings_of_a_search_that_widens_are_told():
    seen = []
    explainer = EdgeFlip().fit([], example_oracle())
    for graph in GRAPHS:
        explainer.explain(graph, number=3, watch=seen.append)
    assert {step.ring for step in seen} >= {0, 2}


@pytest.mark.parametrize("factual", ["occlusion", "subgraphx"])
def test_a_watcher_hears_of_questions_before_the_first_candidate(factual):
    explainer = EdgeFlip(EdgeFlipConfig(factual=factual)).fit([], example_oracle())
    seen = []
    answer = explainer.explain(GRAPH, watch=seen.append)
    # Rings begin with the first candidate.
    early = [step for step in seen if step.ring is None]
    assert early == seen[: len(early)]
    assert early[-1].calls == answer.trace.stages["deconstruct"].oracle_calls > 0
    assert all(step.margin == early[0].margin < 0 for step in early)
    assert all(step.smallest is None for step in early)


def test_looking_ahead_is_heard_of_and_brings_nothing_nearer():
    seen = []

    def script(search):
        search.probe(search.space.allowed[:, None])
        assert [step.calls for step in seen] == [36]

    answer = scripted(script).explain(GRAPH, watch=seen.append)
    assert not answer.found
    assert seen[0].margin < 0


# Cancelling.


@pytest.mark.parametrize("factual", ["occlusion", "subgraphx"])
def test_a_search_can_be_cancelled_before_its_first_candidate(factual):
    explainer = EdgeFlip(EdgeFlipConfig(factual=factual)).fit([], example_oracle())
    answer = explainer.explain(GRAPH, watch=lambda step: False)
    assert answer.trace.stopped_by == "cancelled"
    assert answer.trace.proposals == 0


@pytest.mark.parametrize("after", [1, 2, 5])
def test_a_search_that_is_cancelled_says_so_and_asks_no_more(after):
    seen = []

    def watch(step):
        seen.append(step)
        return len(seen) < after

    answer = scripted(one_at_a_time).explain(LATE, watch=watch)
    assert answer.trace.stopped_by == "cancelled"
    assert len(seen) == after
    assert answer.trace.stages["oracle"].oracle_calls == after
    assert answer.trace.status == ("found" if answer.found else "cancelled")


def test_what_was_found_before_the_end_is_kept():
    answer = scripted(one_at_a_time).explain(LATE, watch=lambda step: step.margin <= 0)
    assert answer.found
    assert answer.trace.stopped_by == "cancelled"
    assert answer.trace.status == "found"
    assert len(answer) == 1
    assert answer.best.found_at == answer.trace.proposals - 1 > 5
    label = int(example_oracle().predict([answer.edited_graph()])[0])
    assert label != answer.label


def test_another_thread_can_cancel():
    wanted, begun = threading.Event(), threading.Event()

    def watch(step):
        begun.set()
        return not wanted.is_set()

    def cancel():
        begun.wait(5)
        wanted.set()

    def endless(search):
        while True:
            search.ask(search.space.allowed[:, None])

    thread = threading.Thread(target=cancel)
    thread.start()
    answer = scripted(endless).explain(GRAPH, watch=watch)
    thread.join()
    assert answer.trace.stopped_by == "cancelled"


def test_an_error_of_the_watcher_is_the_caller_s():
    def watch(step):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        fitted().explain(GRAPH, watch=watch)


# What is kept.


def test_steps_are_kept_wherever_something_changed_and_survive_json(tmp_path):
    seen = []
    answer = scripted(one_at_a_time).explain(LATE, watch=seen.append)
    kept = answer.trace.steps
    assert set(kept) <= set(seen)
    assert len({(step.margin, step.smallest, step.ring) for step in kept}) == len(kept)
    assert kept[0] == seen[0]
    assert kept[-1].margin == seen[-1].margin
    again = CounterfactualSet.load_json(answer.save_json(tmp_path / "answer.json"))
    assert again.trace.steps == kept
    assert isinstance(again.trace.steps[0], Step)
    plain = json.loads(json.dumps(answer.to_dict()))["trace"]["steps"][0]
    assert plain.keys() == {"calls", "margin", "smallest", "ring"}


def test_steps_are_kept_whether_or_not_somebody_watches():
    explainer = EdgeFlip().fit([], example_oracle())
    watched = explainer.explain(GRAPH, watch=print_nothing)
    assert explainer.explain(GRAPH).trace.steps == watched.trace.steps != ()


def test_a_search_that_asked_nothing_has_no_steps():
    answer = scripted(lambda search: None).explain(GRAPH)
    assert answer.trace.steps == ()
    refused = fitted().explain(GRAPH, budget=Budget(oracle_calls=0))
    assert refused.trace.steps == ()


# Keywords.


@pytest.mark.parametrize(
    ("wrong", "nearest"), [("wacth", "watch"), ("constraint", "constraints"), ("seeds", "seed")]
)
def test_an_unknown_keyword_is_refused_with_the_nearest_name(wrong, nearest):
    explainer = fitted()
    calls = (
        explainer.explain,
        explainer.explain_each_class,
        lambda graph, **options: explainer.explain_many([graph], **options),
    )
    for call in calls:
        with pytest.raises(UnknownNameError) as error:
            call(GRAPH, **{wrong: None})
        assert f"unknown keyword '{wrong}', did you mean '{nearest}'" in str(error.value)


def test_an_unknown_keyword_is_an_error_of_settings_too():
    with pytest.raises(ConfigError):
        fitted().explain(GRAPH, certainty=0.9)
