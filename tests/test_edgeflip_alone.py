"""EdgeFlip without any graphs to learn from: it answers, says what it went without, and proves it."""

import itertools

import pytest
import torch

from conftest import random_graph
from edgeflip import Budget, Constraints, EditSet, GCNClassifier, ModelOracle, verify_certificate
from edgeflip.core import edge_pairs
from edgeflip.explainers.edgeflip import EdgeFlip, EdgeFlipConfig
from edgeflip.support import seeded
from edgeflip.testing import example_graphs, example_oracle
from link_methods import MotifEdges, has_needless_edits, ring_and_tail, train_graphs


def flips_of(oracle, graph, size, *, target=None, constraints=None):
    """All edit sets of a size that change the class as asked: every one is tried."""
    label = int(oracle.predict_proba([graph])[0].argmax())
    edges, every = edge_pairs(graph), itertools.combinations(range(graph.num_nodes), 2)
    tried = [
        EditSet(added=set(pairs) - edges, removed=set(pairs) & edges)
        for pairs in itertools.combinations(every, size)
    ]
    labels = oracle.predict_proba([edits.apply(graph) for edits in tried]).argmax(dim=1)
    flips = labels != label if target is None else labels == target
    found = [edits for edits, hit in zip(tried, flips.tolist(), strict=True) if hit]
    return [e for e in found if constraints is None or constraints.allows(graph, e)]


def centred_oracle(graphs, *, classes=2, seed=0):
    """A random network whose decision lies amidst some graphs, so that few edits change it."""
    with seeded(seed):
        model = GCNClassifier(graphs[0].x.size(1), classes, layers=(8, 8))
    with torch.no_grad():
        logits = torch.cat([model(graph.x, graph.edge_index) for graph in graphs])
        model.classify.bias.sub_(logits.mean(dim=0))
    return ModelOracle(model, num_classes=classes)


def six_nodes(count=50):
    graphs = [random_graph(6, seed=seed, density=0.3 + 0.1 * (seed % 4)) for seed in range(count)]
    return [graph for graph in graphs if graph.num_edges]


def test_it_answers_and_says_what_it_went_without():
    answer = EdgeFlip().fit([], MotifEdges()).explain(ring_and_tail())
    assert answer.found
    assert answer.best.size == 1
    assert answer.trace.notes["without"] == "link predictor"
    assert "reconstruct" not in answer.trace.stages
    assert verify_certificate(answer, MotifEdges()) > 0


def test_with_graphs_it_goes_without_nothing():
    config = EdgeFlip.for_dataset(None, profile="smoke").config
    answer = EdgeFlip(config).fit(train_graphs(), MotifEdges()).explain(ring_and_tail())
    assert "without" not in answer.trace.notes


def test_a_second_fit_without_graphs_forgets_the_link_predictor_of_the_first():
    made = EdgeFlip(EdgeFlip.for_dataset(None, profile="smoke").config)
    made.fit(train_graphs(), MotifEdges())
    assert hasattr(made, "links_")
    made.fit([], MotifEdges())
    assert not hasattr(made, "links_")
    assert made.explain(ring_and_tail()).trace.notes["without"] == "link predictor"


def test_graphs_of_one_node_are_as_good_as_none():
    single = random_graph(1, seed=0)
    answer = EdgeFlip().fit([single], MotifEdges()).explain(ring_and_tail())
    assert answer.trace.notes["without"] == "link predictor"


def test_its_far_rings_need_no_link_predictor_either():
    answer = EdgeFlip().fit([], MotifEdges()).explain(ring_and_tail(), target=2)
    assert answer.best.edits.added == {(0, 2), (1, 3)}
    assert {entry.ring for entry in answer.counterfactuals} & {2, 3}
    assert answer.certificate.below == 2


def test_without_a_size_the_factual_subgraph_is_half_the_graph():
    made = EdgeFlip().fit([], MotifEdges())
    assert len(made.explain(ring_and_tail()).factual.nodes) <= 4
    small = EdgeFlip(EdgeFlipConfig(max_nodes=2)).fit([], MotifEdges())
    assert len(small.explain(ring_and_tail()).factual.nodes) <= 2


def test_it_answers_the_same_for_the_same_seed():
    made = EdgeFlip().fit([], example_oracle())
    graph = example_graphs(1, seed=4)[0]
    one, two = (made.explain(graph, seed=7) for _ in range(2))
    assert one.to_dict()["counterfactuals"] == two.to_dict()["counterfactuals"]


# Beside a search that leaves out nothing.


def test_a_single_edit_that_flips_is_never_missed_nor_claimed_in_vain():
    graphs = six_nodes()
    oracle = centred_oracle(graphs)
    # Enough for proofs up to two edits: 15 and 105 sets.
    made = EdgeFlip(EdgeFlipConfig(certify=120)).fit([], oracle)
    seen = {True: 0, False: 0}
    for graph in graphs:
        answer = made.explain(graph)
        single = flips_of(oracle, graph, 1)
        seen[bool(single)] += 1
        proof = answer.certificate
        smallest = min((entry.size for entry in answer.counterfactuals), default=None)
        assert (proof.below == 1) == bool(single)
        assert (smallest == 1) <= bool(single)
        if single:
            assert answer.found
        else:
            assert proof.tried[0] == 15
            pairs = flips_of(oracle, graph, 2)
            if proof.below >= 3:
                assert not pairs
            if pairs:
                assert answer.found
                assert proof.below == 2
        assert verify_certificate(answer, oracle) > 0
        for entry in answer.counterfactuals[:3]:
            if entry != answer.first:
                assert not has_needless_edits(oracle, answer, entry)
    # The test would say nothing if all graphs were alike.
    assert min(seen.values()) >= 5, seen


@pytest.mark.parametrize("target", [0, 1, 2])
def test_one_of_three_classes_is_found_whenever_one_or_two_edits_reach_it(target):
    graphs = six_nodes(24)
    oracle = centred_oracle(graphs, classes=3, seed=3)
    made = EdgeFlip().fit([], oracle)
    reached = 0
    for graph in graphs:
        if int(oracle.predict([graph])[0]) == target:
            continue
        answer = made.explain(graph, target=target)
        sizes = [size for size in (1, 2) if flips_of(oracle, graph, size, target=target)]
        reached += bool(sizes)
        if sizes:
            assert answer.found
            assert answer.certificate.below == sizes[0]
        else:
            assert answer.certificate is None or answer.certificate.below != 1
            assert all(entry.size > 2 for entry in answer.counterfactuals)
        assert {entry.label for entry in answer.counterfactuals} <= {target}
    assert reached


def odd_number_stays(graph, edits):
    """A rule: no edit set of an even number of edits."""
    return len(edits.edges) % 2 == 1


@pytest.mark.parametrize(
    "constraints",
    [
        Constraints(keep_connected=True),
        Constraints(allow_additions=False),
        Constraints(max_removed=0),
        Constraints(frozen_nodes={0}, max_edits=2),
        Constraints(room={0: 0, 1: 0, 2: 1}),
        Constraints(rules=(odd_number_stays,)),
    ],
)
def test_within_constraints_nothing_is_missed_nor_claimed_in_vain(constraints):
    graphs = six_nodes(12)
    oracle = centred_oracle(graphs)
    # Proofs up to two edits: checking one of three takes long.
    made = EdgeFlip(EdgeFlipConfig(certify=120)).fit([], oracle)
    for graph in graphs:
        answer = made.explain(graph, constraints=constraints)
        for entry in answer.counterfactuals:
            assert constraints.allows(graph, entry.edits)
        sizes = [s for s in (1, 2) if flips_of(oracle, graph, s, constraints=constraints)]
        proof = answer.certificate
        if sizes:
            assert answer.found
            assert proof.below == sizes[0]
        else:
            assert proof.below >= 2
        assert verify_certificate(answer, oracle, constraints=constraints) > 0


@pytest.mark.parametrize("calls", [1, 8, 16, 30, 60])
def test_a_budget_may_cost_the_proof_but_never_its_truth(calls):
    graphs = six_nodes(12)
    oracle = centred_oracle(graphs)
    made = EdgeFlip().fit([], oracle)
    for graph in graphs:
        answer = made.explain(graph, budget=Budget(oracle_calls=calls))
        proof = answer.certificate
        if proof is not None:
            assert (proof.below == 1) == bool(flips_of(oracle, graph, 1))
            assert verify_certificate(answer, oracle) > 0


@pytest.mark.parametrize("options", [{"number": 3}, {"robust": 4}, {"keep": 1}])
def test_the_proof_does_not_depend_on_how_many_answers_are_wanted(options):
    graphs = six_nodes(6)
    oracle = centred_oracle(graphs)
    made = EdgeFlip().fit([], oracle)
    for graph in graphs:
        plain, other = made.explain(graph), made.explain(graph, **options)
        assert plain.found == other.found
        assert (plain.certificate.below == 1) == (other.certificate.below == 1)
        assert verify_certificate(other, oracle) > 0
