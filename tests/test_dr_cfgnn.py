"""DR-CFGNN: Algorithm 1 as the paper has it, its variants, targets and the published code's departures."""

import dataclasses
import itertools

import pytest
import torch

from conftest import random_graph
from edgeflip.core import PairSpace, edge_pairs, non_edges
from edgeflip.explainers.dr_cfgnn import DRCFGNN, PublishedCode
from link_methods import (
    PAPER,
    RING,
    SMALL,
    TAIL,
    MotifEdges,
    Recorded,
    Told,
    added_edges,
    fixed_factual,
    make_paper,
    ring_and_tail,
)

# The four variants.


@pytest.mark.parametrize("denoise", [False, True])
@pytest.mark.parametrize("one_hot", [False, True])
def test_the_four_variants_find_what_flips(denoise, one_hot):
    explainer = make_paper(denoise=denoise, one_hot=one_hot)
    graph = ring_and_tail()
    answer = explainer.explain(graph)
    assert explainer.config.variant == f"{'-+'[denoise]}DeN {'-+'[one_hot]}OH"
    assert answer.label == 1
    assert answer.found
    # One motif edge less is class 0; two more are class 2.
    assert answer.best.size == 1
    assert answer.best.edits.removed < RING
    assert answer.best.label == 0
    for entry in answer.counterfactuals:
        assert explainer.oracle_.predict_proba([answer.edited_graph(entry)]).argmax() != 1
    assert ("denoised_edges" in answer.trace.notes) == denoise
    assert (explainer.links_.predictor.num_classes > 0) == one_hot


def test_with_one_hot_every_seen_class_but_the_present_one_is_asked_for():
    explainer = make_paper(predictor=Told(), known=[1, 1, 1], denoise=False)
    explainer.explain(ring_and_tail())
    wanted = [classes[0].argmax().item() for _, classes in explainer.links_.predictor.asked]
    assert wanted == [0, 2]


def test_without_one_hot_the_predictor_is_asked_once_and_without_a_class():
    explainer = make_paper(predictor=Told(), one_hot=False, denoise=False)
    answer = explainer.explain(ring_and_tail(), target=2)
    assert [classes for _, classes in explainer.links_.predictor.asked] == [None]
    assert "additions" in answer.trace.notes


@pytest.mark.parametrize("one_hot", [False, True])
@pytest.mark.parametrize("target", [0, 2])
def test_the_target_is_respected(one_hot, target):
    explainer = make_paper(one_hot=one_hot)
    answer = explainer.explain(ring_and_tail(), target=target, keep=200)
    assert {entry.label for entry in answer.counterfactuals} == {target}
    assert answer.best.edits.added == ({(0, 2), (1, 3)} if target == 2 else set())


def test_the_predictor_is_conditioned_on_the_target_for_every_removal_set(monkeypatch):
    fixed_factual(monkeypatch)
    explainer = make_paper(predictor=Told(), denoise=False)
    explainer.explain(ring_and_tail(), target=0)
    ((adjacency, classes),) = explainer.links_.predictor.asked
    # The empty set, four single edges and six pairs of them.
    assert len(adjacency) == 1 + 4 + 6
    assert torch.equal(classes, torch.tensor([1.0, 0.0, 0.0]).expand(11, 3))


def test_a_class_never_seen_in_training_is_sought_without_conditioning():
    explainer = make_paper(predictor=Told(), denoise=False)
    assert explainer.links_.known.tolist() == [1, 1, 0]
    answer = explainer.explain(ring_and_tail(), target=2)
    assert [classes for _, classes in explainer.links_.predictor.asked] == [None]
    assert answer.best.label == 2


# Algorithm 1.


def test_the_edges_that_may_go_are_those_of_the_factual_subgraph(monkeypatch):
    fixed_factual(monkeypatch, nodes=(0, 1, 2))
    explainer = make_paper(kind=Recorded, denoise=False)
    graph = ring_and_tail()
    answer = explainer.explain(graph)
    removed = {edits & edge_pairs(graph) for edits in explainer.proposed}
    assert removed == {
        frozenset(),
        frozenset({(0, 1)}),
        frozenset({(1, 2)}),
        frozenset({(0, 1), (1, 2)}),
    }
    assert answer.factual.nodes == (0, 1, 2)
    assert answer.trace.notes["factual_nodes"] == 3


def test_each_removal_set_is_scored_on_the_graph_without_it(monkeypatch):
    fixed_factual(monkeypatch)
    explainer = make_paper(predictor=Told(), denoise=False)
    graph = ring_and_tail()
    explainer.explain(graph)
    scored = {
        edge_pairs(graph) - {tuple(pair) for pair in matrix.triu().nonzero().tolist()}
        for matrix in explainer.links_.predictor.asked[0][0]
    }
    wanted = [frozenset(gone) for r in range(3) for gone in itertools.combinations(RING, r)]
    assert scored == set(wanted)


def test_at_most_so_many_edges_go_and_come_as_set():
    explainer = make_paper(kind=Recorded)
    graph = ring_and_tail()
    explainer.explain(graph)
    assert len(explainer.proposed) > 1000
    edges, missing = edge_pairs(graph), non_edges(graph)
    assert max(len(edits & edges) for edits in explainer.proposed) == 2
    assert max(len(edits & missing) for edits in explainer.proposed) == 2


def test_an_edge_just_removed_may_come_back(monkeypatch):
    fixed_factual(monkeypatch)
    told = Told({(0, 1): 0.9, (0, 2): 0.8}, rest=0.1)
    explainer = make_paper(
        kind=Recorded, predictor=told, denoise=False, one_hot=False, threshold=0.5
    )
    graph = ring_and_tail()
    back = PairSpace.of(graph).ids_of([(0, 1)]).item()
    answer = explainer.explain(graph, keep=200)
    twice = [row for row in explainer.rows if row.count(back) == 2]
    # Gone alone or with one of three others, then back alone or with (0, 2).
    assert len(twice) == (1 + 3) * 2
    assert all(row.count(entry) == 1 for row in explainer.rows for entry in row if entry != back)
    # Gone alone and back alone is no edit at all, and is not asked about.
    assert answer.trace.rejected == 1
    assert all(
        not set(entry.edits.added) & set(entry.edits.removed) for entry in answer.counterfactuals
    )


def test_sizes_are_drawn_and_a_good_answer_does_not_end_the_search():
    explainer = make_paper(kind=Recorded, iterations=10**6)
    answer = explainer.explain(ring_and_tail())
    sizes = [len(choice) for choice in explainer.proposed]
    assert sizes != sorted(sizes)
    assert answer.best.size == 1
    assert answer.trace.stopped_by == "exhausted"
    assert answer.trace.proposals == len(explainer.proposed)


def test_needless_edits_stay_and_nothing_is_proved():
    explainer = make_paper(one_hot=False)
    answer = explainer.explain(ring_and_tail(), keep=40)

    def contains_another(entry):
        edges = set(entry.edits.edges)
        return any(set(other.edits.edges) < edges for other in answer.counterfactuals)

    assert any(contains_another(entry) for entry in answer.counterfactuals)
    assert answer.certificate is None
    assert all(entry.ring is None for entry in answer.counterfactuals)


def test_only_additions_above_the_threshold_are_tried():
    told = Told({(0, 2): 0.9, (1, 3): 0.7, (0, 7): 0.6, (0, 1): 0.99}, rest=0.6)
    explainer = make_paper(kind=Recorded, predictor=told, denoise=False, threshold=0.6)
    graph = ring_and_tail()
    answer = explainer.explain(graph, target=0)
    added = added_edges(explainer, graph)
    assert added == {(0, 2), (1, 3)}
    assert answer.trace.notes["additions_to_0"] == 2


def test_of_too_many_candidates_the_most_likely_are_tried():
    told = Told({(0, 2): 0.9, (1, 3): 0.8, (0, 7): 0.7, (1, 7): 0.65}, rest=0.1)
    explainer = make_paper(kind=Recorded, predictor=told, denoise=False, max_candidates=3)
    graph = ring_and_tail()
    explainer.explain(graph)
    added = added_edges(explainer, graph)
    assert added == {(0, 2), (1, 3), (0, 7)}


def test_a_small_space_is_tried_whole_and_each_choice_once(monkeypatch):
    fixed_factual(monkeypatch)
    told = Told({(0, 2): 0.9, (1, 3): 0.8}, rest=0.1)
    explainer = make_paper(
        kind=Recorded, predictor=told, denoise=False, one_hot=False, threshold=0.5
    )
    answer = explainer.explain(ring_and_tail())
    assert len(explainer.proposed) == len(set(explainer.proposed)) == (1 + 4 + 6) * (1 + 2 + 1) - 1
    assert answer.trace.stopped_by == "exhausted"
    assert answer.trace.proposals == len(explainer.proposed)


def test_the_ids_of_the_recorder_are_those_of_the_graph():
    # The recorder above is trusted by many tests: a proposal read back is an edit of the graph.
    explainer = make_paper(kind=Recorded)
    graph = ring_and_tail()
    answer = explainer.explain(graph, keep=300)
    proposed = set(explainer.proposed)
    assert PairSpace.of(graph).num_pairs == 28
    assert {frozenset(entry.edits.edges) for entry in answer.counterfactuals} <= proposed
    assert len(answer.counterfactuals) == min(300, answer.trace.flips)


def test_the_size_of_the_factual_subgraph_is_half_the_mean_graph_or_as_set():
    plain = DRCFGNN(dataclasses.replace(PAPER, max_nodes=None))
    made = [random_graph(size, seed=3, density=0.6) for size in (12, 20, 22)]
    assert plain.fit(made, MotifEdges()).max_nodes_ == 9
    answer = plain.explain(random_graph(20, seed=4))
    assert len(answer.factual.nodes) <= 9
    assert make_paper().max_nodes_ == 5
    assert make_paper(max_nodes=None).max_nodes_ == 4


@pytest.mark.parametrize("factual", ["occlusion", "subgraphx"])
def test_either_factual_explainer_serves(factual):
    settings = {"rollouts": 3, "samples": 10, "tree_samples": 4} if factual == "subgraphx" else {}
    explainer = make_paper(factual=factual, factual_settings=settings)
    answer = explainer.explain(ring_and_tail())
    assert answer.found
    assert 1 <= len(answer.factual.nodes) <= 5


def test_self_loops_are_no_edges_to_the_predictor():
    told = Told(rest=0.6)
    make_paper(predictor=told).explain(ring_and_tail(loops=(0, 4)))
    assert all(float(matrix.diagonal().sum()) == 0 for matrix in told.asked[0][0])


# The published code.


CODE = {
    "text": None,
    "code": PublishedCode(),
    "faithful only": PublishedCode(denoise_stops=False),
    "denoise stops": PublishedCode(faithful_only=False),
}


@pytest.mark.parametrize(
    ("code", "faithful"),
    [("text", False), ("code", True), ("faithful only", True), ("denoise stops", False)],
)
def test_a_factual_subgraph_that_does_not_stand_alone_keeps_its_edges_only_in_the_code(
    monkeypatch, code, faithful
):
    fixed_factual(monkeypatch, nodes=(3, 4, 5, 6))
    explainer = make_paper(kind=Recorded, denoise=False, published_code=CODE[code])
    graph = ring_and_tail()
    answer = explainer.explain(graph)
    removes = any(edits & edge_pairs(graph) for edits in explainer.proposed)
    assert removes == (not faithful)
    assert answer.trace.notes.get("unfaithful_factual", False) == faithful


def test_a_factual_subgraph_that_stands_alone_may_lose_edges(monkeypatch):
    fixed_factual(monkeypatch)
    explainer = make_paper(kind=Recorded, denoise=False, published_code=PublishedCode())
    graph = ring_and_tail()
    answer = explainer.explain(graph)
    assert any(edits & edge_pairs(graph) for edits in explainer.proposed)
    assert "unfaithful_factual" not in answer.trace.notes


# Denoising within the method.


NOISE = {(5, 6): 1e-5, (6, 7): 2e-5}


def test_denoised_edges_are_counted_and_left_out_for_the_factual_explainer_only(monkeypatch):
    seen = fixed_factual(monkeypatch, nodes=range(8))
    explainer = make_paper(
        kind=Recorded,
        predictor=Told(unlikely=NOISE, rest=0.6),
        share=0.001,
    )
    graph = ring_and_tail()
    answer = explainer.explain(graph, keep=200)
    assert answer.trace.notes["denoised_edges"] == 2
    assert edge_pairs(seen[0]) == edge_pairs(graph) - set(NOISE)
    assert edge_pairs(graph) == RING | TAIL
    # Left out, they are neither removed nor added: edits are those of the input graph.
    assert all(not edits & set(NOISE) for edits in explainer.proposed)
    for entry in answer.counterfactuals:
        after = edge_pairs(answer.edited_graph(entry))
        assert set(NOISE) <= after
        assert len(after ^ edge_pairs(graph)) == entry.size


def test_without_denoising_the_factual_explainer_sees_the_whole_graph(monkeypatch):
    seen = fixed_factual(monkeypatch)
    told = Told(unlikely=NOISE)
    make_paper(predictor=told, denoise=False).explain(ring_and_tail())
    assert edge_pairs(seen[0]) == RING | TAIL


@pytest.mark.parametrize(
    ("code", "gone"),
    [
        ("text", {(5, 6), (6, 7)}),
        ("code", {(5, 6)}),
        ("faithful only", {(5, 6), (6, 7)}),
        ("denoise stops", {(5, 6)}),
    ],
)
def test_an_edge_whose_removal_flips_stays_and_ends_the_step_only_in_the_code(
    monkeypatch, code, gone
):
    seen = fixed_factual(monkeypatch)
    explainer = make_paper(
        predictor=Told(unlikely={(5, 6): 1e-6, (0, 1): 2e-6, (6, 7): 3e-6}, rest=0.6),
        share=0.001,
        published_code=CODE[code],
    )
    answer = explainer.explain(ring_and_tail())
    assert edge_pairs(seen[0]) == (RING | TAIL) - gone
    assert answer.trace.notes["denoised_edges"] == len(gone)
    assert answer.trace.stages["denoise"].oracle_calls > 0


@pytest.mark.parametrize("leave_one_out", [True, False])
def test_edges_are_scored_in_their_absence_or_in_place_and_without_a_class(leave_one_out):
    told = Told(rest=0.6)
    explainer = make_paper(
        predictor=told, shape=dataclasses.replace(SMALL, leave_one_out=leave_one_out)
    )
    graph = ring_and_tail()
    explainer.explain(graph)
    adjacency, classes = told.asked[0]
    assert classes is None
    missing = [
        edge_pairs(graph) - {tuple(pair) for pair in matrix.triu().nonzero().tolist()}
        for matrix in adjacency
    ]
    wanted = [{edge} for edge in sorted(edge_pairs(graph))] if leave_one_out else [set()]
    assert [set(entry) for entry in missing] == wanted
