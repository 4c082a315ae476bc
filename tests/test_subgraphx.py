"""SubgraphX: two scorers that agree, a search that repeats itself, and answers on odd graphs."""

import itertools
import math
from functools import cache

import pytest
import torch

from conftest import assert_sentence, make_graph, random_graph, same_content, snapshot
from edgeflip.core.graphs import PairSpace
from edgeflip.errors import BudgetExhausted, ConfigError
from edgeflip.factual.coalitions import Topology, as_bits, as_masks, members, subgraph_of
from edgeflip.factual.shapley import (
    BatchedShapley,
    PlainShapley,
    coalition_masks,
    draw_independent,
    draw_joiners,
)
from edgeflip.factual.subgraphx import SubgraphX, one_move_away
from edgeflip.oracle.budget import Budget, MeteredOracle
from edgeflip.oracle.masking import MaskedOracle
from edgeflip.testing import example_graphs
from edgeflip.testing import example_oracle as make_example_oracle

QUICK = {"rollouts": 4, "samples": 20, "tree_samples": 8}


@cache
def example_oracle(features=4):
    """The example oracle, made once: no test changes it."""
    return make_example_oracle(features=features)


class Triangle:
    """An oracle that counts the edges of one triangle, whatever else there is."""

    num_classes = 2

    def __init__(self, nodes):
        self.edges = set(itertools.combinations(sorted(nodes), 2))

    def predict_proba(self, graphs):
        rows = []
        for graph in graphs:
            present = set(zip(*graph.edge_index.tolist(), strict=True)) & self.edges
            share = 0.02 + 0.96 * (len(present) / len(self.edges)) ** 2
            rows.append([1 - share, share])
        return torch.tensor(rows)


def triangle_graph():
    """A ring of twelve nodes with one chord, which closes the triangle 3, 4, 5."""
    ring = [(node, (node + 1) % 12) for node in range(12)]
    return make_graph(12, [*ring, (3, 5)])


def setting(graph, *, masking="split", radius=3, samples=12, label=1):
    """Both scorers of a graph, with the same samples."""
    oracle = example_oracle(graph.x.size(1))
    space = PairSpace.of(graph)
    topology = Topology.of(space)
    generator = torch.Generator().manual_seed(5)
    joiners = draw_joiners(samples, space.num_nodes, generator)
    masked = MaskedOracle(oracle, space, masking=masking)
    batched = BatchedShapley(masked, label, topology, radius, joiners)
    plain = PlainShapley(oracle, label, space, topology, radius, generator, joiners, masking)
    return topology, batched, plain


@pytest.mark.parametrize("masking", ["split", "zero"])
@pytest.mark.parametrize("radius", [1, 2, 4])
def test_both_scorers_give_the_same_value_on_the_same_samples(masking, radius):
    graph = random_graph(10, density=0.25, loops=(4,), seed=2)
    topology, batched, plain = setting(graph, masking=masking, radius=radius)
    coalitions = [as_bits(nodes) for nodes in ([0], [1, 2], [3, 5, 7, 9], range(10))]
    for samples in (5, 12):
        expected = plain.scores(coalitions, samples)
        assert batched.scores(coalitions, samples) == pytest.approx(expected, abs=1e-5)
    assert topology.num_nodes == 10


def test_both_scorers_lead_the_published_search_to_the_same_coalition():
    for graph in example_graphs(2, seed=4):
        topology, batched, plain = setting(graph)
        search = SubgraphX.published(4, min_nodes=3, rollouts=3, samples=8)
        by_batches, value = search.search(topology, batched)
        by_hand, plain_value = search.search(topology, plain)
        assert by_batches == by_hand
        assert value == pytest.approx(plain_value, abs=1e-5)


def test_sampled_values_approach_the_exact_shapley_value():
    graph = random_graph(7, density=0.5, seed=6)
    topology, batched, _ = setting(graph, radius=4, samples=4000)
    coalition = as_bits([1, 2])
    around = [node for node in range(7) if node not in (1, 2)]
    exact = 0.0
    for size in range(len(around) + 1):
        for chosen in itertools.combinations(around, size):
            pair = as_masks([as_bits(chosen), as_bits((*chosen, 1, 2))], 7)
            without, joined = batched.masked.proba(pair)[:, 1].tolist()
            weight = 1 / (math.comb(len(around), size) * (len(around) + 1))
            exact += weight * (joined - without)
    assert topology.reach(3).all()  # so that every other node is a player
    assert batched.scores([coalition], 4000)[0] == pytest.approx(exact, abs=0.005)


def test_the_masks_of_a_sample_differ_by_the_coalition_and_spare_what_is_far():
    topology = Topology.of(PairSpace.of(make_graph(6, [(node, node + 1) for node in range(5)])))
    coalition = as_masks([as_bits([0])], 6)
    region = (coalition.float() @ topology.reach(2).float()) > 0
    joiners = draw_independent(30, 6, torch.Generator().manual_seed(0))
    without, joined = coalition_masks(coalition, region, joiners)[:, 0]
    assert not bool(without[:, 0].any())
    assert bool(joined[:, 0].all())
    assert torch.equal(without[:, 1:], joined[:, 1:])
    assert torch.equal(without[:, 1:3], joiners[:, 1:3])
    assert bool(without[:, 3:].all())


def test_joiners_hold_every_node_half_of_the_time_and_all_sizes_alike():
    joiners = draw_joiners(3000, 5, torch.Generator().manual_seed(1))
    assert joiners.float().mean(dim=0).tolist() == pytest.approx([0.5] * 5, abs=0.02)
    sizes = joiners.sum(dim=1).bincount(minlength=6) / 3000
    assert sizes.tolist() == pytest.approx([1 / 6] * 6, abs=0.03)
    assert draw_joiners(7, 5, torch.Generator()).shape == (7, 5)


def test_no_coalition_and_no_mask_is_scored_twice():
    graph = example_graphs(1, seed=4)[0]
    topology, batched, _ = setting(graph)
    scored = []

    class Noting:
        def scores(self, coalitions, samples):
            scored.extend(coalitions)
            return batched.scores(coalitions, samples)

    SubgraphX.published(4, min_nodes=3, samples=12).search(topology, Noting())
    assert len(scored) == len(set(scored))
    assert batched.masked.asked < 2 * 12 * len(scored)


@pytest.mark.parametrize("settings", [{}, {"rollouts": 20, "tree_samples": None, "refinements": 0}])
def test_the_part_that_decides_is_found(settings):
    found = SubgraphX(max_nodes=3, min_nodes=3, **settings).explain(
        Triangle((3, 4, 5)), triangle_graph(), 1, seed=0
    )
    assert found.nodes == (3, 4, 5)
    assert found.edges == ((3, 4), (3, 5), (4, 5))
    assert found.score > 0.5


def test_the_same_seed_gives_the_same_answer_and_global_randomness_is_left_alone():
    oracle, graph = example_oracle(), example_graphs(1, seed=3)[0]
    state = torch.random.get_rng_state()
    first = SubgraphX(4, **QUICK).explain(oracle, graph, 0, seed=7)
    torch.rand(3)
    torch.random.set_rng_state(state)
    assert SubgraphX(4, **QUICK).explain(oracle, graph, 0, seed=7) == first
    assert torch.equal(torch.random.get_rng_state(), state)


ODD_GRAPHS = {
    "two nodes": make_graph(2, [(0, 1)]),
    "two nodes apart": make_graph(2, []),
    "no edges": make_graph(7, []),
    "two components": make_graph(9, [(0, 1), (1, 2), (2, 0), (4, 5), (5, 6), (6, 7), (7, 8)]),
    "isolated nodes": make_graph(8, [(2, 3), (3, 4)]),
    "self-loops": make_graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)], loops=(0, 3)),
    "complete": make_graph(7, list(itertools.combinations(range(7), 2))),
    "many nodes": random_graph(70, density=0.05, seed=1),
}


@pytest.mark.parametrize("name", ODD_GRAPHS)
@pytest.mark.parametrize("max_nodes", [1, 4])
@pytest.mark.parametrize("published", [False, True])
def test_odd_graphs_have_a_connected_answer_of_at_most_max_nodes(name, max_nodes, published):
    graph, oracle = ODD_GRAPHS[name], example_oracle(3)
    before = snapshot(graph)
    explainer = SubgraphX.published(max_nodes, samples=6, rollouts=2)
    if not published:
        explainer = SubgraphX(max_nodes, **QUICK)
    found = explainer.explain(oracle, graph, 0, seed=0)
    assert 1 <= len(found.nodes) <= max_nodes
    topology = Topology.of(PairSpace.of(graph))
    bits = as_bits(found.nodes)
    assert topology.largest_component(bits) == bits
    assert subgraph_of(PairSpace.of(graph), found.nodes, found.score) == found
    assert same_content(before, snapshot(graph))


def test_every_masked_graph_is_counted():
    class Counting(Triangle):
        seen = 0

        def predict_proba(self, graphs):
            self.seen += len(graphs)
            return super().predict_proba(graphs)

    oracle = Counting((3, 4, 5))
    meter = MeteredOracle(oracle)
    SubgraphX(3, **QUICK).explain(meter, triangle_graph(), 1, seed=0)
    assert meter.calls == oracle.seen > 0


def test_the_budget_ends_the_search():
    meter = MeteredOracle(Triangle((3, 4, 5)), Budget(oracle_calls=200))
    with pytest.raises(BudgetExhausted):
        SubgraphX(3).explain(meter, triangle_graph(), 1, seed=0)
    assert meter.calls <= 200


def test_refining_never_ends_lower_and_patience_saves_calls():
    for graph in example_graphs(2, seed=8):
        topology, batched, _ = setting(graph, samples=16)
        rough = SubgraphX.published(4, min_nodes=3, samples=16)
        _, before = rough.search(topology, batched)
        fine = SubgraphX.published(4, min_nodes=3, samples=16, refinements=5)
        assert fine.search(topology, batched)[1] >= before - 1e-6
    calls = []
    for patience in (1, None):
        meter = MeteredOracle(Triangle((3, 4, 5)))
        SubgraphX(3, samples=12, tree_samples=4, patience=patience).explain(
            meter, triangle_graph(), 1, seed=0
        )
        calls.append(meter.calls)
    assert calls[0] < calls[1]


def test_values_within_the_tolerance_are_told_apart_by_support():
    topology = Topology.of(PairSpace.of(make_graph(4, [(0, 1), (1, 2), (2, 3)])))

    values = {0b0011: 0.5, 0b0110: 0.495, 0b1100: 0.4}

    class Table:
        def scores(self, coalitions, samples):
            return [values.get(coalition, 0.0) for coalition in coalitions]

    def support(coalition):
        return float(coalition)  # later nodes are better

    for tolerance, best in ((0.0, 0b0011), (0.01, 0b0110), (0.2, 0b1100)):
        search = SubgraphX(2, min_nodes=2, tolerance=tolerance)
        assert search.search(topology, Table(), support=support)[0] == best
        assert search.search(topology, Table())[0] == 0b0011


def test_moves_keep_a_coalition_connected_and_small():
    topology = Topology.of(PairSpace.of(make_graph(5, [(0, 1), (1, 2), (2, 3), (3, 4)])))
    moves = {tuple(members(bits)) for bits in one_move_away(topology, as_bits([1, 2]), 1, 2)}
    assert moves == {(1,), (2,), (0, 1), (2, 3)}
    moves = {tuple(members(bits)) for bits in one_move_away(topology, as_bits([1, 2]), 2, 3)}
    assert moves == {(0, 1), (2, 3), (0, 1, 2), (1, 2, 3)}
    moves = {tuple(members(bits)) for bits in one_move_away(topology, as_bits([1]), 3, 4)}
    assert moves == {(0, 1), (1, 2)}


def test_coalitions_go_to_masks_and_back_for_any_number_of_nodes():
    for nodes in (3, 8, 65, 130):
        chosen = sorted({0, nodes // 2, nodes - 1})
        mask = as_masks([as_bits(chosen)], nodes)
        assert mask.shape == (1, nodes)
        assert mask[0].nonzero().flatten().tolist() == list(members(as_bits(chosen))) == chosen


@pytest.mark.parametrize("name", ["max_nodes", "samples", "tree_samples", "radius", "patience"])
def test_settings_below_one_are_refused(name):
    with pytest.raises(ConfigError) as caught:
        SubgraphX(**{name: 0})
    assert_sentence(caught, name)
    with pytest.raises(ConfigError):
        SubgraphX(exploration=-1.0)
