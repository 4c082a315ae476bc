"""DR-CFGNN within its limits: constraints, odd graphs, and how a search ends."""

import itertools
import time

import pytest
import torch

from conftest import make_graph, path_graph, random_graph
from edgeflip import Budget, Constraints
from edgeflip.core import edge_pairs
from edgeflip.errors import ConstraintError
from edgeflip.links import predictor as link_predictor_module
from edgeflip.pools import SizeConfig
from link_methods import (
    MOTIF_PAIRS,
    RING,
    TAIL,
    MotifEdges,
    Recorded,
    Stubborn,
    Told,
    added_edges,
    make_paper,
    ring_and_tail,
)

# Constraints.


@pytest.mark.parametrize("denoise", [False, True])
def test_constraints_are_kept(denoise):
    explainer = make_paper(denoise=denoise)
    graph = ring_and_tail()
    frozen, forbidden = {(0, 1), (1, 2), (4, 5)}, {(0, 2)}
    free = explainer.explain(graph, keep=300)
    assert any(entry.edits.removed & frozen for entry in free.counterfactuals)
    assert any(entry.edits.added & forbidden for entry in free.counterfactuals)
    limits = Constraints(frozen_edges=frozen, forbidden_pairs=forbidden, frozen_nodes={7})
    answer = explainer.explain(graph, constraints=limits, keep=200)
    assert answer.found
    for entry in answer.counterfactuals:
        assert not entry.edits.removed & frozen
        assert not entry.edits.added & forbidden
        assert not any(7 in edge for edge in entry.edits.edges)


def test_additions_or_removals_can_be_ruled_out():
    explainer, graph = make_paper(), ring_and_tail()
    only = explainer.explain(graph, constraints=Constraints(allow_additions=False), keep=100)
    assert only.found
    assert all(not entry.edits.added for entry in only.counterfactuals)
    only = explainer.explain(graph, constraints=Constraints(allow_removals=False), keep=100)
    assert only.found
    assert all(not entry.edits.removed for entry in only.counterfactuals)
    assert only.best.label == 2


def test_limits_on_the_number_of_edits_hold():
    explainer, graph = make_paper(), ring_and_tail()
    limits = Constraints(max_edits=2, max_removed=1, max_added=1)
    answer = explainer.explain(graph, constraints=limits, keep=200)
    assert answer.found
    for entry in answer.counterfactuals:
        assert entry.size <= 2
        assert len(entry.edits.added) <= 1
        assert len(entry.edits.removed) <= 1


def test_frozen_edges_of_the_whole_factual_subgraph_leave_additions():
    explainer = make_paper(kind=Recorded)
    graph = ring_and_tail()
    answer = explainer.explain(graph, constraints=Constraints(frozen_edges=RING | TAIL), target=2)
    assert answer.best.edits.added == {(0, 2), (1, 3)}
    assert all(not edits & edge_pairs(graph) for edits in explainer.proposed)


def test_candidates_the_constraints_refuse_are_not_drawn():
    explainer = make_paper(
        iterations=10**6,
        oracle=Stubborn(),
        predictor=Told({(0, 2): 0.9, (1, 3): 0.8, (0, 5): 0.7}),
        threshold=0.5,
    )
    for limits in ({"max_edits": 1}, {"max_added": 1}, {"max_removed": 1}, {"max_edits": 2}):
        answer = explainer.explain(ring_and_tail(), constraints=Constraints(**limits))
        assert answer.trace.rejected == 0
        assert answer.trace.proposals > 0


# Odd graphs.


def test_a_complete_graph_is_answered_by_removals():
    complete = make_graph(5, itertools.combinations(range(5), 2))
    answer = make_paper().explain(complete)
    assert answer.label == 2
    assert answer.best.edits.removed < set(MOTIF_PAIRS)
    assert not answer.best.edits.added
    with pytest.raises(ConstraintError):
        make_paper().explain(complete, constraints=Constraints(allow_removals=False))


def test_a_graph_without_edges_is_answered_by_additions():
    empty = make_graph(4, [])
    explainer = make_paper(add=SizeConfig(alpha=0.001, beta=3.0, max=4))
    answer = explainer.explain(empty)
    assert answer.label == 0
    assert answer.best.size == 4
    assert answer.best.edits.added <= set(MOTIF_PAIRS)


def test_a_graph_of_one_edge_and_of_two_nodes_gets_an_answer():
    for graph in (path_graph(2), make_graph(2, []), path_graph(3)):
        answer = make_paper().explain(graph)
        assert not answer.found
        assert answer.trace.status == "exhausted"


def test_isolated_nodes_and_two_components_are_no_obstacle():
    apart = make_graph(11, RING | {(5, 6), (6, 7), (5, 7)}, loops=(4,))
    joined = make_paper(kind=Recorded, max_candidates=200, one_hot=False)
    answer = joined.explain(apart)
    assert answer.best.size == 1
    assert answer.best.edits.removed < RING
    added = added_edges(joined, apart)
    assert (0, 5) in added
    assert any(10 in edge for edge in added)


# How a search ends.


def test_a_huge_space_is_searched_until_the_iterations_are_used_up():
    graph = random_graph(50, seed=1, density=0.1)
    wide = SizeConfig(alpha=0.001, beta=4.0, max=7)
    explainer = make_paper(
        add=wide, remove=wide, max_candidates=1500, iterations=3000, max_nodes=12, oracle=Stubborn()
    )
    answer = explainer.explain(graph)
    assert answer.trace.proposals == 3000
    assert answer.trace.status == "out_of_calls"


def test_a_target_out_of_reach_gives_an_empty_answer_that_says_why():
    explainer = make_paper(oracle=Stubborn(), iterations=100_000)
    answer = explainer.explain(ring_and_tail(), target=1)
    assert not answer.found
    assert answer.best is None
    assert answer.trace.status == answer.trace.stopped_by == "exhausted"
    assert "factual subgraph" in answer.trace.message
    assert answer.trace.proposals > 100


@pytest.mark.parametrize("iterations", [1, 100, 200])
def test_the_iterations_end_the_search(iterations):
    explainer = make_paper(kind=Recorded, iterations=iterations, oracle=Stubborn())
    answer = explainer.explain(ring_and_tail())
    assert answer.trace.stopped_by == answer.trace.status == "out_of_calls"
    assert answer.trace.proposals == len(explainer.proposed) == iterations
    assert "`iterations`" in answer.trace.message
    assert "Budget" not in answer.trace.message


def test_a_space_of_just_as_many_choices_as_iterations_is_exhausted():
    whole = make_paper(kind=Recorded, iterations=10**6, oracle=Stubborn(), one_hot=False)
    whole.explain(ring_and_tail())
    count = len(whole.proposed)
    for iterations, ending in ((count, "exhausted"), (count - 1, "out_of_calls")):
        explainer = make_paper(iterations=iterations, oracle=Stubborn(), one_hot=False)
        answer = explainer.explain(ring_and_tail())
        assert answer.trace.proposals == iterations
        assert answer.trace.stopped_by == ending


@pytest.mark.serial
def test_the_deadline_ends_the_scoring_of_pairs_too(monkeypatch):
    explainer = make_paper(one_hot=False)
    monkeypatch.setattr(link_predictor_module, "_PAIR_CELLS", 1)
    real, parts = explainer.links_.predictor.encode, []

    def slowly(*given):
        parts.append(given)
        time.sleep(0.02)
        return real(*given)

    monkeypatch.setattr(explainer.links_.predictor, "encode", slowly)
    answer = explainer.explain(ring_and_tail(), budget=Budget(seconds=0.1))
    assert answer.trace.stopped_by == "timeout"
    assert len(parts) < 10


def test_what_was_found_before_the_iterations_ended_is_returned():
    answer = make_paper(iterations=300).explain(ring_and_tail())
    assert answer.trace.stopped_by == "out_of_calls"
    assert answer.trace.status == "found"


def test_oracle_calls_can_be_limited_as_well():
    oracle = MotifEdges()
    answer = make_paper(oracle=oracle).explain(ring_and_tail(), budget=Budget(oracle_calls=60))
    assert answer.trace.stopped_by == "out_of_calls"
    spent = sum(
        stage.oracle_calls
        for name, stage in answer.trace.stages.items()
        if name in ("denoise", "deconstruct", "oracle")
    )
    assert spent == 60


@pytest.mark.serial
def test_a_deadline_ends_the_search_at_any_stage():
    answer = make_paper().explain(ring_and_tail(), budget=Budget(seconds=1e-9))
    assert answer.trace.status == "timeout"
    slow = MotifEdges()
    slow.pause = 0.02
    explainer = make_paper(oracle=slow, seconds=0.3, threshold=0.0, iterations=10**6)
    wide = make_graph(40, RING | {(node, node + 1) for node in range(3, 39)})
    answer = explainer.explain(wide)
    assert answer.trace.stopped_by == "timeout"
    assert answer.provenance.budget == {"oracle_calls": None, "seconds": 0.3}


def test_the_trace_has_the_stages_with_seconds_and_calls():
    oracle = MotifEdges()
    answer = make_paper(oracle=oracle).explain(ring_and_tail())
    stages = answer.trace.stages
    assert {"denoise", "deconstruct", "reconstruct", "oracle"} <= stages.keys()
    order = [name for name in stages if name in ("denoise", "deconstruct", "reconstruct", "oracle")]
    assert order == ["denoise", "deconstruct", "reconstruct", "oracle"]
    for name in order:
        assert stages[name].seconds > 0
    # Occlusion asks about the graph and about each of its eight edges.
    assert stages["deconstruct"].oracle_calls == 9
    assert stages["reconstruct"].oracle_calls == 0
    assert stages["oracle"].oracle_calls > 100
    assert answer.trace.oracle_calls == oracle.asked


def test_explaining_changes_neither_graph_nor_predictor():
    explainer = make_paper()
    graph = ring_and_tail(loops=(2,))
    before = {key: value.clone() for key, value in explainer.links_.predictor.state_dict().items()}
    edges, x = graph.edge_index.clone(), graph.x.clone()
    explainer.explain(graph)
    assert torch.equal(graph.edge_index, edges)
    assert torch.equal(graph.x, x)
    after = explainer.links_.predictor.state_dict()
    assert all(torch.equal(value, after[key]) for key, value in before.items())
