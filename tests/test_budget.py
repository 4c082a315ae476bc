"""Budgets: what a call does not name is the method's own, and what the clock ended says so."""

from types import SimpleNamespace

import pytest

from edgeflip import Budget, Constraints, list_datasets, list_explainers, make_explainer
from edgeflip.bench import load_spec
from edgeflip.cli.options import Limits
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.oracle import Allowance
from edgeflip.oracle import budget as budget_module
from edgeflip.presets import load_preset
from edgeflip.search import Ended
from edgeflip.testing import example_graphs, example_oracle
from scripted import GRAPH, Scripted, fitted, scripted

# Limits.


@pytest.mark.parametrize(
    ("given", "spent"),
    [
        (None, (1_000_000, 60.0)),
        (Budget(), (1_000_000, 60.0)),
        (Budget(seconds=120), (1_000_000, 120)),
        (Budget(oracle_calls=500), (500, 60.0)),
        (Budget(oracle_calls=None), (None, 60.0)),
        (Budget(seconds=None), (1_000_000, None)),
        (Budget(oracle_calls=7, seconds=8), (7, 8)),
    ],
    ids=repr,
)
def test_a_limit_that_is_not_named_is_the_methods_own(given, spent):
    answer = fitted(RandomSearch()).explain(GRAPH, budget=given)
    assert answer.provenance.budget == dict(zip(("oracle_calls", "seconds"), spent, strict=True))


def test_a_deadline_does_not_shrink_any_search():
    for name in list_explainers():
        explainer = make_explainer(name)
        own = explainer.default_budget()
        limits = Budget(seconds=120).over(own)
        assert limits == Allowance(own.oracle_calls, 120), name


def test_settings_of_the_method_count_and_not_its_defaults():
    explainer = fitted(RandomSearch(RandomConfig(oracle_calls=77, seconds=None)))
    answer = explainer.explain(GRAPH, budget=Budget(seconds=9))
    assert answer.provenance.budget == {"oracle_calls": 77, "seconds": 9}


def test_the_search_sees_numbers_and_asks_as_far_as_they_reach():
    seen = []

    def script(search):
        seen.append(search.oracle.budget)
        search.ask(search.space.allowed[:, None])

    explainer = scripted(script)
    explainer.config = RandomConfig(oracle_calls=5, seconds=None)
    answer = explainer.explain(GRAPH, budget=Budget(seconds=600))
    assert seen == [Allowance(5, 600)]
    assert answer.trace.stopped_by == "out_of_calls"
    assert answer.trace.stages["oracle"].oracle_calls == 5


@pytest.mark.parametrize(
    ("flags", "wanted"),
    [
        ({}, (1_000_000, 60.0)),
        ({"seconds": 120.0}, (1_000_000, 120.0)),
        ({"calls": 9}, (9, 60.0)),
    ],
)
def test_the_command_line_keeps_what_a_flag_does_not_name(flags, wanted):
    own = RandomSearch().default_budget()
    assert Limits(**flags).budget(own).over(own) == Allowance(*wanted)


def test_a_budget_is_short_to_read():
    assert repr(Budget(seconds=2)) == "Budget(oracle_calls=<the method's own>, seconds=2)"


# The clock.


def test_an_end_that_depends_on_the_clock_says_so():
    late = fitted(RandomSearch()).explain(GRAPH, budget=Budget(seconds=0))
    assert late.trace.status == "timeout"
    assert late.trace.notes["clock"].startswith("Budget(seconds=0) ended the search")
    assert "another run" in late.trace.notes["clock"]
    for budget in (Budget(oracle_calls=3), None):
        assert "clock" not in fitted(RandomSearch()).explain(GRAPH, budget=budget).trace.notes


def test_a_method_with_a_clock_of_its_own_says_so_too():
    explainer = scripted(lambda search: Ended("timeout"))
    trace = explainer.explain(GRAPH, budget=Budget(seconds=None)).trace
    assert trace.notes["clock"].startswith("the method's own clock ended the search")


def test_a_proof_that_the_clock_cut_short_says_so(monkeypatch):
    now = SimpleNamespace(hours=0.0)
    monkeypatch.setattr(
        budget_module, "time", SimpleNamespace(perf_counter=lambda: 3600 * now.hours)
    )

    class Certifying(Scripted):
        def _certifies(self):
            return 10_000

    def script(search):
        now.hours += 1

    explainer = fitted(Certifying())
    whole = explainer.explain(GRAPH)
    assert whole.certificate is not None
    assert "clock" not in whole.trace.notes
    explainer.script = script
    cut = explainer.explain(GRAPH, budget=Budget(seconds=60))
    assert cut.trace.stopped_by == "exhausted"
    assert cut.certificate is None
    assert "Budget(seconds=60) ended the search for smaller" in cut.trace.notes["clock"]


class SlowRule:
    """Takes six minutes a time, and refuses the first edit sets that it is asked about."""

    def __init__(self, monkeypatch, refused):
        self.now, self.asked, self.refused = SimpleNamespace(hours=0.0), 0, refused
        clock = SimpleNamespace(perf_counter=lambda: 3600 * self.now.hours)
        monkeypatch.setattr(budget_module, "time", clock)

    def __call__(self, graph, edits):
        self.now.hours += 0.1
        self.asked += 1
        return self.asked > self.refused


@pytest.mark.parametrize(("refused", "found"), [(2, 2), (10**9, 0)])
def test_slow_rules_do_not_outlive_the_deadline(refused, found, monkeypatch):
    explainer = scripted(lambda search: search.ask(search.space.allowed[:, None]))
    rule = SlowRule(monkeypatch, refused)
    answer = explainer.explain(
        GRAPH, constraints=Constraints(rules=(rule,)), budget=Budget(seconds=1440)
    )
    assert answer.trace.stopped_by == "timeout"
    assert rule.asked == 4
    assert len(answer.counterfactuals) == found
    assert "clock" in answer.trace.notes


def test_what_a_rule_was_not_asked_about_in_time_is_not_proven(monkeypatch):
    class Certifying(Scripted):
        def _certifies(self):
            return 10_000

    explainer, rule = fitted(Certifying()), SlowRule(monkeypatch, 10**9)
    answer = explainer.explain(
        GRAPH, constraints=Constraints(rules=(rule,), max_edits=1), budget=Budget(seconds=1440)
    )
    assert rule.asked == 4
    assert answer.certificate is None
    assert "search for smaller edit sets" in answer.trace.notes["clock"]


@pytest.mark.parametrize("dataset", [None, *(entry.name for entry in list_datasets())])
def test_smoke_settings_end_by_calls_and_not_by_seconds(dataset):
    tables = load_preset(dataset, "smoke").methods
    assert tables["random"]["oracle_calls"] <= 20_000
    assert not [name for name, table in tables.items() if "seconds" in table]
    assert load_spec("smoke")[1].seconds is None


GRAPHS = example_graphs(3, seed=5)


def test_the_same_call_limit_gives_the_same_answer_twice():
    explainer = fitted(RandomSearch(RandomConfig(stop_at_first=False)), example_oracle())
    first, second = (
        [answer.best.edits for answer in explainer.explain_many(GRAPHS, budget=Budget(300))]
        for _ in range(2)
    )
    assert first == second
