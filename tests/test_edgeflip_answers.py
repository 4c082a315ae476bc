"""What EdgeFlip hands back: answers without needless edits, to the class asked for, within limits."""

import dataclasses
import itertools
from typing import ClassVar

import pytest
import torch

from conftest import make_graph, path_graph
from edgeflip import Budget, Constraints, Noise, verify_certificate
from edgeflip.core import PairSpace, edge_pairs
from edgeflip.errors import ConstraintError
from edgeflip.explainers import SearchInterrupted
from edgeflip.explainers import running as running_module
from edgeflip.explainers.dr_cfgnn import DRCFGNN
from edgeflip.explainers.edgeflip import EdgeFlip
from edgeflip.pools import SizeConfig
from edgeflip.testing import example_graphs
from edgeflip.testing.oracles import AttributeOracle
from link_methods import (
    MOTIF_PAIRS,
    OURS,
    RING,
    TAIL,
    MotifEdges,
    Stubborn,
    Told,
    fixed_factual,
    has_needless_edits,
    make_ours,
    make_paper,
    ring_and_tail,
)

DATASETS = ("ba_2motifs", "ba_2motifs_3class", "ba_3motifs", "ba_4motifs")

# Classes.


@pytest.mark.parametrize("one_hot", [False, True])
@pytest.mark.parametrize("target", [0, 2])
def test_the_target_is_respected(one_hot, target):
    answer = make_ours(one_hot=one_hot).explain(ring_and_tail(), target=target, keep=200)
    assert {entry.label for entry in answer.counterfactuals} == {target}
    assert answer.best.edits.added == ({(0, 2), (1, 3)} if target == 2 else set())


def test_an_edge_just_removed_does_not_come_back(monkeypatch):
    fixed_factual(monkeypatch)
    told = Told({(0, 1): 0.9, (0, 2): 0.8}, rest=0.1)
    made = make_ours(predictor=told, oracle=Stubborn(), one_hot=False, threshold=0.5)
    graph, rows = ring_and_tail(), []
    back = PairSpace.of(graph).ids_of([(0, 1)]).item()

    class Noted(EdgeFlip):
        def _search(self, search):
            real = search.ask

            def ask(asked):
                rows.extend(asked.tolist())
                return real(asked)

            search.ask = ask
            return super()._search(search)

    Noted(made.config, links=made.links).fit([], Stubborn()).explain(graph)
    assert any(back in row for row in rows)
    assert all(row.count(entry) == 1 for row in rows for entry in row if entry >= 0)


# Ends.


def test_the_search_ends_when_nothing_larger_can_score_much_higher():
    whole = make_paper(iterations=10**6).explain(ring_and_tail())
    early = make_ours().explain(ring_and_tail())
    assert whole.trace.stopped_by == "exhausted"
    assert early.trace.stopped_by == "good_enough"
    assert early.best.edits == whole.best.edits
    assert early.best.score == pytest.approx(whole.best.score)
    assert early.trace.proposals < whole.trace.proposals / 10
    # A ranking that likes large edits has no such end.
    greedy = make_ours(ranking=lambda fidelity, size: fidelity * size, minimal=False)
    answer = greedy.explain(ring_and_tail())
    assert answer.trace.stopped_by == "exhausted"
    assert answer.best.size >= 3


class Additions:
    """Adding edge X flips a little, X and Y fully, and so do A, B and C together; nothing else does."""

    num_classes = 2
    chances: ClassVar = {frozenset("X"): 0.49, frozenset("XY"): 0.0, frozenset("ABC"): 0.0}
    names: ClassVar = {(0, 2): "X", (1, 3): "Y", (0, 4): "A", (1, 5): "B", (2, 6): "C"}

    def predict_proba(self, graphs):
        chosen = [self.chances.get(self.added(graph), 1.0) for graph in graphs]
        return torch.tensor([[chance, 1 - chance] for chance in chosen])

    def added(self, graph):
        return frozenset(self.names[pair] for pair in edge_pairs(graph) & set(self.names))


def make_adding():
    return make_ours(
        predictor=Told(dict.fromkeys(Additions.names, 0.9), num_classes=2),
        oracle=Additions(),
        known=[1, 1],
        add=SizeConfig(max=3),
        one_hot=False,
        threshold=0.5,
        ring0_edits=3,
    )


@pytest.mark.parametrize("number", [None, 3])
def test_an_early_end_reckons_with_answers_that_are_left_out_later(number):
    # X and Y score highest but hold X, which flips alone; A, B and C score higher than X.
    assert len(make_adding().explain(ring_and_tail(), number=number).best.edits.added) == 3


def test_ctrl_c_during_the_proof_leaves_an_answer_without_needless_edits(monkeypatch):
    def interrupted(search, most):
        raise KeyboardInterrupt

    monkeypatch.setattr(running_module, "certify", interrupted)
    made = make_adding()
    with pytest.raises(SearchInterrupted) as stop:
        made.explain(ring_and_tail())
    assert len(stop.value.partial.best.edits.added) == 3
    assert stop.value.partial.certificate is None


def test_removal_sets_are_scored_only_when_single_edits_do_not_suffice(monkeypatch):
    fixed_factual(monkeypatch)
    for target, sets in ((0, []), (2, [1, 4])):
        told = Told({(0, 2): 0.9, (1, 3): 0.9})
        settings = {"threshold": 0.5, "ring_tolerance": 0.9, "max_nodes": 4, "one_hot": False}
        answer = make_ours(predictor=told, **settings).explain(ring_and_tail(), target=target)
        assert answer.best.size == max(1, target)
        assert [len(adjacency) for adjacency, _ in told.asked] == sets


def test_a_target_out_of_reach_gives_an_empty_answer_that_says_why():
    answer = make_ours(oracle=Stubborn()).explain(ring_and_tail(), target=1)
    assert not answer.found
    assert answer.best is None
    assert answer.trace.status == answer.trace.stopped_by == "exhausted"
    assert "within reach" in answer.trace.message


@pytest.mark.parametrize("calls", [0, 1, 9, 10, 15, 40, 100])
def test_calls_end_the_search_wherever_it_is_and_are_never_exceeded(calls):
    oracle = MotifEdges()
    made = make_ours(oracle=oracle)
    answer = made.explain(ring_and_tail(), target=2, budget=Budget(oracle_calls=calls))
    assert answer.trace.stopped_by in ("out_of_calls", "best_possible", "good_enough")
    stages = answer.trace.stages
    beside = sum(stages[name].oracle_calls for name in ("predict", "verify") if name in stages)
    assert answer.trace.oracle_calls == oracle.asked <= calls + beside
    if not answer.found:
        assert "oracle_calls" in answer.trace.message
        assert answer.trace.status == "out_of_calls"
    if answer.certificate is not None:
        assert verify_certificate(answer, oracle) > 0


def test_a_deadline_that_has_passed_gives_an_empty_answer():
    for made in (make_ours(), make_paper()):
        answer = made.explain(ring_and_tail(), budget=Budget(seconds=0))
        assert not answer.found
        assert answer.trace.status == answer.trace.stopped_by == "timeout"
        assert "seconds" in answer.trace.message
        assert answer.certificate is None
        assert answer.trace.proposals == 0


@pytest.mark.parametrize("make", [make_ours, make_paper])
@pytest.mark.parametrize("when", [2, 3, 4, 5])
def test_ctrl_c_leaves_what_was_found_until_then(make, when):
    class Interrupted(MotifEdges):
        def answer(self, counts):
            self.times = getattr(self, "times", 0) + 1
            if self.times == when:
                raise KeyboardInterrupt
            return super().answer(counts)

    made = make(oracle=Interrupted())
    with pytest.raises(SearchInterrupted) as stop:
        made.explain(ring_and_tail(), target=2)
    partial = stop.value.partial
    assert partial.trace.stopped_by == "interrupted"
    for entry in partial.counterfactuals:
        assert int(MotifEdges().predict_proba([partial.edited_graph(entry)]).argmax()) == 2


# Needless edits.


@pytest.mark.parametrize("keep", [1, 5, 20])
def test_answers_are_minimal_however_few_are_kept(keep):
    oracle = MotifEdges()
    answer = make_ours(oracle=oracle).explain(ring_and_tail(), keep=keep)
    assert not has_needless_edits(oracle, answer, answer.best)


def contains_another(entry, answer):
    edges = set(entry.edits.edges)
    return any(set(other.edits.edges) < edges for other in answer.counterfactuals)


def test_needless_edits_are_left_out_only_when_asked():
    kept = {}
    for minimal in (False, True):
        made = make_ours(minimal=minimal, one_hot=False)
        answer = made.explain(ring_and_tail(), keep=40, ranking="confident")
        kept[minimal] = [
            has_needless_edits(made.oracle_, answer, entry) for entry in answer.counterfactuals
        ]
        assert any(contains_another(entry, answer) for entry in answer.counterfactuals) != minimal
    assert any(kept[False])
    assert kept[True]
    assert not any(kept[True])


def test_the_first_one_found_comes_last_when_it_has_needless_edits():
    likely = {(0, 2): 0.9, (1, 3): 0.8}
    made = make_ours(predictor=Told(likely, rest=0.1), one_hot=False, threshold=0.5)
    answer = made.explain(ring_and_tail(), target=2, keep=200)
    wanted = [entry for entry in answer.counterfactuals if entry is not answer.first]
    assert not any(contains_another(entry, answer) for entry in wanted)
    assert not contains_another(answer.best, answer)


def test_the_paper_keeps_needless_edits_and_we_do_not():
    for dataset in (None, *DATASETS):
        for profile in ("paper", "cpu", "smoke"):
            assert EdgeFlip.for_dataset(dataset, profile=profile).config.minimal
        assert not DRCFGNN.for_dataset(dataset)._wants_minimal()
        assert DRCFGNN.for_dataset(dataset)._certifies() == 0


@pytest.mark.parametrize("options", [{"number": 4}, {"robust": 5}, {"number": 4, "robust": 5}])
def test_many_and_robust_answers_have_no_needless_edits_either(options):
    oracle = MotifEdges()
    # Few wanted edges more or less: noise that leaves most of the motif as it is.
    options = {**options, "noise": Noise()} if "robust" in options else options
    answer = make_ours(oracle=oracle).explain(ring_and_tail(), **options)
    assert answer.found
    for entry in answer.counterfactuals:
        if entry != answer.first:
            assert not has_needless_edits(oracle, answer, entry)
        assert (entry.robustness is not None) == ("robust" in options)
    if "number" in options:
        assert 1 < len(answer.counterfactuals) <= 4
    assert verify_certificate(answer, oracle) > 0


# Constraints and attributes.


def test_constraints_are_kept():
    graph = ring_and_tail()
    frozen, forbidden = {(0, 1), (1, 2), (4, 5)}, {(0, 2)}
    limits = Constraints(frozen_edges=frozen, forbidden_pairs=forbidden, frozen_nodes={7})
    answer = make_ours().explain(graph, constraints=limits, number=40)
    assert answer.found
    for entry in answer.counterfactuals:
        assert limits.allows(graph, entry.edits)


def test_connected_graphs_stay_connected_and_the_proof_knows():
    graph, oracle = ring_and_tail(), MotifEdges()
    limits = Constraints(keep_connected=True)
    answer = make_ours(oracle=oracle).explain(graph, constraints=limits, number=30)
    assert answer.found
    for entry in answer.counterfactuals:
        assert limits.allows(graph, entry.edits)
        # Edges of the tail are bridges: without another in their place they must stay.
        assert not entry.edits.removed & TAIL or entry.edits.added
    assert verify_certificate(answer, oracle, constraints=limits) > 0


@pytest.mark.parametrize("target", [None, 0, 2])
def test_rules_hold_for_every_answer_and_the_proof_knows(target):
    graph, oracle = ring_and_tail(), MotifEdges()

    def keeps_its_size(graph, edits):
        return len(edits.added) == len(edits.removed)

    limits = Constraints(rules=(keeps_its_size,))
    answer = make_ours(oracle=oracle).explain(graph, target=target, constraints=limits, keep=30)
    assert answer.found
    for entry in answer.counterfactuals:
        assert len(entry.edits.added) == len(entry.edits.removed)
    # An edge of the motif for one outside; for all six, two of the tail go.
    assert answer.best.size == (4 if target == 2 else 2)
    assert answer.certificate.below >= 2
    assert verify_certificate(answer, oracle, constraints=limits) > 0


def test_a_rule_that_refuses_everything_leaves_an_empty_answer():
    limits = Constraints(rules=(lambda graph, edits: False,), max_edits=2)
    answer = make_ours().explain(ring_and_tail(), constraints=limits)
    assert not answer.found
    assert answer.trace.status == "exhausted"
    assert answer.certificate.below == 3


@pytest.mark.parametrize("kind", ["ours", "paper"])
def test_added_edges_get_the_attributes_they_are_given(kind):
    graph = ring_and_tail(edge_attr=2)
    oracle = AttributeOracle(2)
    make = make_ours if kind == "ours" else make_paper
    made = make(oracle=oracle, one_hot=False)
    only = Constraints(allow_removals=False)
    answer = made.explain(graph, fill=torch.tensor([0.5, -0.5]), constraints=only)
    assert answer.found
    for entry in answer.counterfactuals:
        edited = answer.edited_graph(entry)
        u, v = min(entry.edits.added)
        place = ((edited.edge_index[0] == u) & (edited.edge_index[1] == v)).nonzero().item()
        assert edited.edge_attr[place].tolist() == [0.5, -0.5]
        assert int(oracle.predict_proba([edited]).argmax()) == entry.label != answer.label


# Odd graphs.


def test_a_complete_graph_is_answered_by_removals():
    complete = make_graph(5, itertools.combinations(range(5), 2))
    answer = make_ours().explain(complete)
    assert answer.label == 2
    assert answer.best.edits.removed < set(MOTIF_PAIRS)
    with pytest.raises(ConstraintError):
        make_ours().explain(complete, constraints=Constraints(allow_removals=False))


def test_a_graph_without_edges_is_answered_by_additions():
    answer = make_ours().explain(make_graph(4, []))
    assert answer.label == 0
    assert answer.best.size == 4
    assert answer.best.edits.added <= set(MOTIF_PAIRS)


def test_a_graph_of_one_edge_and_of_two_nodes_gets_an_answer():
    for graph in (path_graph(2), make_graph(2, []), path_graph(3)):
        answer = make_ours().explain(graph)
        assert not answer.found
        assert answer.trace.status == "exhausted"
        # All there is was tried.
        assert answer.certificate.below == PairSpace.of(graph).num_pairs + 1


def test_one_class_only_in_training_is_no_obstacle():
    graphs = example_graphs(8, seed=1, features=3)
    for graph in graphs:
        graph.y = torch.tensor([1])
    for kind, config in ((EdgeFlip, OURS), (DRCFGNN, make_paper().config)):
        made = kind(dataclasses.replace(config)).fit(graphs, MotifEdges())
        assert made.links_.known.tolist() == [0, 1, 0]
        answer = made.explain(ring_and_tail())
        assert answer.label == 1
        assert answer.found
        assert answer.best.edits.removed < RING
