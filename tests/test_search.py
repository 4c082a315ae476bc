"""The shared search: asking, what is kept, stages, budgets, interruption."""

import dataclasses
import math
import time

import pytest
import torch

from edgeflip import Budget, Constraints, SearchInterrupted
from edgeflip.core import edge_pairs
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.testing import example_oracle
from scripted import GRAPH, Scripted, fitted, scripted


def test_a_method_is_told_what_became_of_its_candidates():
    seen = []

    def script(search):
        seen.append(search.ask(torch.arange(search.space.pairs.num_pairs)[:, None]))

    explainer = scripted(script)
    answer = explainer.explain(GRAPH, constraints=Constraints(frozen_nodes=frozenset({0})))
    (outcome,) = seen
    refused = outcome.outputs.isnan().any(dim=1)
    assert int(refused.sum()) == GRAPH.num_nodes - 1 == answer.trace.rejected
    assert int(outcome.reached.sum()) == answer.trace.flips > 0
    assert not bool((outcome.reached & refused).any())


def test_an_edge_removed_and_added_back_is_no_edit():
    def script(search):
        outcome = search.ask(torch.tensor([[3, 3], [3, 4]]))
        assert bool(outcome.outputs[0].isnan().all())
        assert not bool(outcome.outputs[1].isnan().any())

    assert scripted(script).explain(GRAPH).trace.rejected == 1


def test_repeats_cost_no_oracle_call_and_are_answered():
    def script(search):
        one = search.ask(torch.tensor([[3, 5], [5, 3], [3, -1]]))
        two = search.ask(torch.tensor([[-1, 3], [5, 3]]))
        assert torch.equal(one.outputs[0], one.outputs[1])
        assert torch.equal(one.outputs[2], two.outputs[0])
        assert torch.equal(one.outputs[0], two.outputs[1])

    answer = scripted(script).explain(GRAPH)
    assert answer.trace.stages["oracle"].oracle_calls == 2
    assert answer.trace.proposals == 5


def test_the_same_flip_is_counted_once():
    flips = RandomSearch(RandomConfig(stop_at_first=False, max_added=1, max_removed=1))
    best = fitted(flips).explain(GRAPH).best.edits

    def script(search):
        search.ask([best])
        search.ask([best])

    answer = scripted(script).explain(GRAPH)
    assert answer.trace.flips == 1
    assert len(answer) == 1


def test_needless_edits_are_left_out_step_by_step():
    singles = fitted(RandomSearch(RandomConfig(stop_at_first=False))).explain(
        GRAPH, constraints=Constraints(max_edits=1), keep=100
    )
    one, other = (entry.edits for entry in singles.counterfactuals[:2])

    def script(search):
        pairs = search.space.pairs
        ids = pairs.ids_of([*one.edges, *other.edges])
        rows = [[int(ids[0]), k] for k in range(pairs.num_pairs) if k not in ids]
        outcome = search.ask(torch.tensor(rows))
        assert bool(outcome.reached.any())
        outcome = search.ask(ids[None])
        assert outcome.outputs.shape[0] == 1

    explainer = scripted(script)
    explainer._wants_minimal = lambda: True
    answer = explainer.explain(GRAPH, keep=3)
    assert answer.best.edits == one
    # All smaller versions were asked about, so no answer but the first found contains a smaller flip.
    flips = {entry.edits for entry in singles.counterfactuals}
    wordy = [
        entry
        for entry in answer.counterfactuals
        if len(entry.edits) > 1 and any(part in flips for part in entry.edits.subsets())
    ]
    assert wordy in ([], [answer.first])


def test_a_candidate_without_edits_does_not_pass_for_a_tried_edit():
    pair = (GRAPH.num_nodes - 2, GRAPH.num_nodes - 1)
    before = pair in edge_pairs(GRAPH)

    class LastPair:
        """Another class when the last pair of nodes changes."""

        num_classes = 2

        def predict_proba(self, graphs):
            changed = [(pair in edge_pairs(graph)) != before for graph in graphs]
            return torch.tensor([[0.1, 0.9] if hit else [0.9, 0.1] for hit in changed])

    def script(search):
        last = search.space.pairs.num_pairs - 1
        search.ask(torch.tensor([[-1], [0]]))
        search.ask(torch.tensor([[last, 0]]))

    explainer = fitted(Scripted(), LastPair())
    explainer.script, explainer._wants_minimal = script, lambda: True
    assert explainer.explain(GRAPH).best.edits.edges == (pair,)


def test_needless_edits_go_before_a_certificate_spends_the_budget():
    singles = fitted(RandomSearch(RandomConfig(stop_at_first=False))).explain(
        GRAPH, constraints=Constraints(max_edits=1), keep=100
    )
    one = singles.best.edits

    def script(search):
        ids = search.space.pairs.ids_of(one.edges)
        search.ask(torch.tensor([[int(ids[0]), int(ids[0] == 0)]]))

    explainer = scripted(script)
    explainer._wants_minimal, explainer._certifies = lambda: True, lambda: 1000
    answer = explainer.explain(GRAPH, budget=Budget(oracle_calls=3))
    assert answer.best.edits == one
    assert answer.certificate.below == 1
    assert answer.trace.stages["oracle"].oracle_calls == 3


def test_a_budget_that_ends_in_a_block_keeps_what_was_found():
    everything = fitted(RandomSearch(RandomConfig(stop_at_first=False))).explain(
        GRAPH, constraints=Constraints(max_edits=1), keep=100
    )
    calls = everything.first.found_at + 1
    explainer = fitted(RandomSearch(RandomConfig(stop_at_first=False)))
    answer = explainer.explain(GRAPH, budget=Budget(oracle_calls=calls))
    assert answer.found
    assert answer.trace.stopped_by == "out_of_calls"
    assert answer.first.edits == everything.first.edits
    assert answer.trace.stages["oracle"].oracle_calls == calls


def test_stage_calls_add_up_to_what_the_oracle_was_asked():
    oracle = example_oracle()
    asked = []
    plain = oracle.predict_proba

    class Counting:
        num_classes = 2

        def predict_proba(self, graphs):
            asked.append(len(graphs))
            return plain(graphs)

    answer = RandomSearch().fit([], Counting()).explain(GRAPH)
    assert sum(asked) == answer.trace.oracle_calls


def test_ctrl_c_carries_what_was_found():
    edge = fitted().explain(GRAPH).best.edits

    def script(search):
        search.ask([edge])
        raise KeyboardInterrupt

    with pytest.raises(SearchInterrupted) as interruption:
        scripted(script).explain(GRAPH)
    partial = interruption.value.partial
    assert partial.best.edits == edge
    assert partial.trace.stopped_by == "interrupted"


def test_keep_one_keeps_the_best():
    explainer = fitted(RandomSearch(RandomConfig(stop_at_first=False)))
    full = explainer.explain(GRAPH, constraints=Constraints(max_edits=2), keep=1000)
    one = explainer.explain(GRAPH, constraints=Constraints(max_edits=2), keep=1)
    assert [entry.edits for entry in one.counterfactuals] == [full.best.edits]
    three = explainer.explain(GRAPH, constraints=Constraints(max_edits=2), keep=3)
    assert three.first.edits == full.first.edits
    assert three.best.edits == full.best.edits


def test_a_first_flip_that_is_not_confirmed_does_not_end_the_search():
    class Flighty:
        """Its fast path claims that everything flips; the real graphs tell otherwise."""

        num_classes = 2

        def __init__(self):
            self.honest = example_oracle()

        def predict_proba(self, graphs):
            return self.honest.predict_proba(graphs)

        def predict_edits(self, space, rows):
            label = int(self.honest.predict([space.input])[0])
            proba = torch.zeros(len(rows), 2)
            proba[:, 1 - label] = 1.0
            return proba

    answer = RandomSearch().fit([], Flighty()).explain(GRAPH)
    honest = fitted().explain(GRAPH)
    assert answer.found
    assert int(Flighty().honest.predict([answer.edited_graph()])[0]) != answer.label
    assert answer.best.size == honest.best.size


@pytest.mark.serial
def test_a_slow_oracle_keeps_the_deadline_roughly():
    class Slow:
        num_classes = 2

        def predict_proba(self, graphs):
            time.sleep(0.005 * len(graphs))
            return torch.tensor([[1.0, 0.0]] * len(graphs))

    answer = RandomSearch().fit([], Slow()).explain(GRAPH, budget=Budget(seconds=0.2))
    assert answer.trace.status == "timeout"
    assert answer.trace.oracle_calls < 200


# What else a method may do.


def test_probed_candidates_are_counted_and_remembered_but_never_kept_or_checked():
    def script(search):
        rows = search.space.pairs.edge_ids[:, None]
        outputs = search.probe(rows)
        assert bool(search.goal.reached(outputs).any())
        assert not search.found
        assert search.proposals == 0
        assert torch.equal(search.probe(rows.flip(0)), outputs.flip(0))

    answer = scripted(script).explain(GRAPH, constraints=Constraints(allow_removals=False))
    assert not answer.found
    assert answer.trace.rejected == 0
    # They count for the stage they are made in.
    assert answer.trace.stages["propose"].oracle_calls == len(edge_pairs(GRAPH))


def test_what_was_probed_costs_nothing_when_it_is_asked_about():
    def script(search):
        rows = search.space.allowed[:, None]
        outputs = search.probe(rows)
        assert torch.equal(search.ask(rows).outputs, outputs)

    answer = scripted(script).explain(GRAPH)
    assert answer.found
    assert answer.trace.stages["propose"].oracle_calls == 36
    assert answer.trace.stages["oracle"].oracle_calls == 0


def test_a_probe_beyond_the_budget_ends_the_search_unless_parts_will_do():
    def script(search):
        rows = search.space.allowed[:, None]
        outputs = search.probe(rows, partly=True)
        assert outputs.isnan().any(dim=1).tolist() == [False] * 5 + [True] * 31
        search.probe(rows)
        raise AssertionError("the search went on")

    answer = scripted(script).explain(GRAPH, budget=Budget(oracle_calls=5))
    assert answer.trace.stopped_by == "out_of_calls"


def test_random_streams_are_named_and_do_not_depend_on_each_other():
    drawn = []

    def script(search):
        first = search.rng("one").random()
        search.rng("two").random()
        drawn.append((first, search.rng("one").random(), search.rng("two").random()))
        numbers = [torch.rand(3, generator=search.generator(name)) for name in ("one", "one", "x")]
        assert torch.equal(numbers[0], numbers[1])
        assert not torch.equal(numbers[0], numbers[2])

    explainer = scripted(script)
    for seed in (3, 3, 4):
        explainer.explain(GRAPH, seed=seed)
    one, same, other = drawn
    assert one == same
    assert one[0] == one[1] != one[2]
    assert one[0] != other[0]


def test_what_is_known_so_far_is_told():
    def script(search):
        assert not search.found
        assert search.best_score == -math.inf
        assert search.smallest == math.inf
        search.ask(search.space.allowed[:, None])
        assert search.found
        assert search.smallest == 1
        # The paper's score of one edit is its fidelity, which is below the label's probability.
        assert 0 < search.best_score <= search.ceiling(1) <= float(search.output.max()) + 1e-4
        assert search.ceiling(2) < search.ceiling(1)
        assert search.ceiling(2, 3) == search.ceiling(2)

    assert scripted(script).explain(GRAPH).found


def test_where_several_answers_are_wanted_no_score_is_the_highest():
    def script(search):
        assert search.wants_many
        assert search.ceiling(1) == math.inf

    scripted(script).explain(GRAPH, number=3)


def test_the_ring_of_an_answer_is_the_one_it_was_asked_about_in():
    def script(search):
        for ring, rows in enumerate(search.space.allowed.split(12)):
            search.ring = ring
            search.ask(rows[:, None])

    answer = scripted(script).explain(GRAPH, keep=100)
    assert {entry.ring for entry in answer.counterfactuals} <= {0, 1, 2}
    assert all(entry.ring == entry.found_at // 12 for entry in answer.counterfactuals)
    assert [step.ring for step in answer.trace.steps] == sorted(
        step.ring for step in answer.trace.steps
    )


def test_a_problem_cannot_be_changed():
    def script(search):
        for name in ("space", "goal", "output", "oracle", "stream"):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(search.problem, name, None)

    scripted(script).explain(GRAPH)
