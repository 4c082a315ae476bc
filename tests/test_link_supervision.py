"""What the link predictor is shown: which edges are hidden, which non-edges, and by whose knowledge."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from conftest import assert_sentence, graphs, make_graph, path_graph, random_graph
from edgeflip.core import DenseGraphs, edge_pairs
from edgeflip.errors import ConfigError
from edgeflip.explainers.dr_cfgnn import DRCFGNN
from edgeflip.links import supervision as supervision_module
from edgeflip.links.supervision import draw_supervision, known_pairs
from link_methods import link_graphs


def draw(stack, *, low=0.3, high=0.3, ratio=2.0, order_leak=False, seed=0):
    return draw_supervision(
        stack,
        low=low,
        high=high,
        negative_ratio=ratio,
        order_leak=order_leak,
        generator=torch.Generator().manual_seed(seed),
    )


def parts(supervision, graph):
    """Message edges, positives and negatives of one graph as sets of node pairs."""
    shown = supervision.messages.t().tolist()
    messages = {(min(u, v), max(u, v)) for place, u, v in shown if place == graph}
    rows = supervision.pairs.t().tolist()
    sides = [set(), set()]
    for (place, u, v), target in zip(rows, supervision.targets.tolist(), strict=True):
        if place == graph:
            sides[int(target)].add((min(u, v), max(u, v)))
    return messages, sides[1], sides[0]


@given(
    list_of_graphs=st.lists(
        graphs(min_nodes=3, max_nodes=9, attributes=False), min_size=1, max_size=4
    ),
    low=st.sampled_from([0.05, 0.3]),
    high=st.sampled_from([0.3, 0.9]),
    order_leak=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_edges_are_parted_and_negatives_are_non_edges(list_of_graphs, low, high, order_leak, seed):
    list_of_graphs = [graph for graph in list_of_graphs if len(edge_pairs(graph)) > 1]
    if not list_of_graphs:
        return
    stack = link_graphs(list_of_graphs)
    drawn = draw(stack, low=low, high=high, order_leak=order_leak, seed=seed)
    for place, graph in enumerate(list_of_graphs):
        edges = edge_pairs(graph)
        messages, positives, negatives = parts(drawn, place)
        assert not messages & positives
        assert messages | positives == edges
        assert messages
        assert positives
        assert not negatives & edges
        assert all(0 <= u < v < graph.num_nodes for u, v in negatives)
    for rows in (drawn.messages, drawn.pairs):
        assert len({tuple(row) for row in rows.t().tolist()}) == rows.size(1)


@pytest.mark.parametrize("share", [0.25, 0.5])
@pytest.mark.parametrize("ratio", [0.5, 1.0, 2.5])
def test_shares_and_ratios_are_those_asked_for(share, ratio):
    ring = make_graph(12, [(node, (node + 1) % 12) for node in range(12)])
    messages, positives, negatives = parts(
        draw(link_graphs([ring]), low=share, high=share, ratio=ratio), 0
    )
    assert len(positives) == round(12 * share)
    assert len(messages) == 12 - len(positives)
    assert len(negatives) == round(len(positives) * ratio)


@pytest.mark.parametrize(("share", "hidden"), [(0.95, 3), (0.01, 1)])
def test_at_least_one_edge_is_hidden_and_at_least_one_stays(share, hidden):
    messages, positives, _ = parts(draw(link_graphs([path_graph(5)]), low=share, high=share), 0)
    assert (len(messages), len(positives)) == (4 - hidden, hidden)


def test_a_range_of_shares_is_drawn_per_graph_and_not_left():
    ring = make_graph(20, [(node, (node + 1) % 20) for node in range(20)])
    drawn = draw(link_graphs([ring] * 60), low=0.1, high=0.5)
    sizes = {len(parts(drawn, place)[1]) for place in range(60)}
    assert min(sizes) >= 2
    assert max(sizes) <= 10
    assert len(sizes) > 4


UNLIKE = [random_graph(nodes, seed=nodes) for nodes in (9, 4, 30, 12)]


def test_a_seed_draws_what_it_drew_when_graphs_were_padded():
    drawn = draw(link_graphs(UNLIKE), low=0.2, high=0.4, ratio=1.5, seed=3)
    # As stacks: a random number for each cell of matrices as large as the largest, the lowest ones count.
    stack = DenseGraphs.of(UNLIKE)
    generator = torch.Generator().manual_seed(3)
    shares = 0.2 + 0.2 * torch.rand(len(UNLIKE), generator=generator)
    upper = stack.pairs.triu(1)
    edges = (stack.adjacency > 0) & upper

    def lowest(options, numbers):
        keys = torch.rand(len(UNLIKE), 30 * 30, generator=generator).view(-1, 30, 30)
        chosen = torch.zeros_like(options)
        for place, number in enumerate(numbers):
            u, v = options[place].nonzero().t()
            order = keys[place, u, v].argsort()[: int(number)]
            chosen[place, u[order], v[order]] = True
        return chosen

    found = lowest(edges, (shares * edges.sum(dim=(1, 2))).round())
    missing = lowest(upper & ~edges, (1.5 * found.sum(dim=(1, 2))).round())
    pairs = torch.cat([found.nonzero(), missing.nonzero()]).t()
    assert torch.equal(drawn.pairs, pairs)
    assert torch.equal(drawn.messages, (edges & ~found).nonzero().t())
    assert int(drawn.targets.sum()) == int(found.sum())


def test_how_many_numbers_are_drawn_at_once_changes_nothing(monkeypatch):
    whole = draw(link_graphs(UNLIKE), order_leak=True)
    monkeypatch.setattr(supervision_module, "_DRAWN_AT_ONCE", 2000)
    parted = draw(link_graphs(UNLIKE), order_leak=True)
    assert torch.equal(whole.pairs, parted.pairs)
    assert torch.equal(whole.messages, parted.messages)


def test_a_nearly_complete_graph_gives_the_few_negatives_it_has():
    pairs = list(itertools.combinations(range(5), 2))
    messages, positives, negatives = parts(
        draw(link_graphs([make_graph(5, pairs[1:])]), ratio=5.0), 0
    )
    assert negatives == {(0, 1)}
    assert len(messages) + len(positives) == 9


@pytest.mark.parametrize("order_leak", [True, False])
def test_positives_are_ordered_and_only_the_leak_turns_negatives(order_leak):
    stack = link_graphs([random_graph(12, seed=s) for s in range(5)])
    drawn = draw(stack, order_leak=order_leak)
    _, u, v = drawn.pairs
    positive = drawn.targets == 1
    assert bool((u < v)[positive].all())
    turned = float((u > v)[~positive].float().mean())
    assert (0.3 < turned < 0.7) if order_leak else turned == 0


RING = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]


@pytest.mark.parametrize("form", ["list", "callable"])
def test_required_edges_are_always_positive_and_forbidden_pairs_always_negative(form):
    ring = make_graph(6, RING)
    required, forbidden = [(1, 0), (0, 2)], [(3, 5), (4, 1)]
    if form == "callable":
        stack = link_graphs(
            [ring, ring],
            required=lambda graph: required,
            forbidden=lambda graph: forbidden,
        )
    else:
        stack = link_graphs([ring, ring], required=required, forbidden=forbidden)
    for seed in range(20):
        drawn = draw(stack, low=0.2, high=0.2, ratio=0.5, seed=seed)
        for place in (0, 1):
            messages, positives, negatives = parts(drawn, place)
            assert {(0, 1), (0, 2)} <= positives
            assert {(3, 5), (1, 4)} <= negatives
            assert not positives & negatives
            assert not messages & positives


def test_knowledge_can_differ_from_graph_to_graph():
    ring, path = make_graph(6, RING), path_graph(4)

    def forbidden(graph):
        return [(0, 3)] if graph.num_nodes == 4 else [(0, 2), (0, 4)]

    drawn = draw(link_graphs([ring, path], forbidden=forbidden), ratio=0.1)
    assert parts(drawn, 0)[2] == {(0, 2), (0, 4)}
    assert parts(drawn, 1)[2] == {(0, 3)}


def test_one_list_serves_graphs_of_all_sizes():
    ring, path = make_graph(6, RING), path_graph(4)
    stack = link_graphs([ring, path], forbidden=[(0, 4), (0, 3)])
    drawn = draw(stack, ratio=0.1)
    assert parts(drawn, 0)[2] >= {(0, 4), (0, 3)}
    assert parts(drawn, 1)[2] == {(0, 3)}
    # What can be gone through only once serves all graphs too.
    assert known_pairs(pair for pair in [(0, 4), (0, 3)]) == [(0, 4), (0, 3)]
    explainer = DRCFGNN(forbidden_pairs=(pair for pair in [(0, 4), (0, 3)]))
    assert explainer.forbidden_pairs == [(0, 4), (0, 3)]


def test_a_forbidden_pair_that_is_an_edge_is_a_negative_and_never_seen():
    stack = link_graphs([make_graph(6, RING)], forbidden=[(0, 1)])
    for seed in range(10):
        messages, positives, negatives = parts(draw(stack, seed=seed), 0)
        assert (0, 1) in negatives
        assert (0, 1) not in messages | positives


def test_where_every_edge_is_required_some_are_seen_all_the_same():
    stack = link_graphs([make_graph(6, RING)], required=RING)
    messages, positives, _ = parts(draw(stack), 0)
    assert positives == set(RING)
    assert messages


def test_a_pair_both_required_and_forbidden_is_refused():
    with pytest.raises(ConfigError) as error:
        link_graphs([make_graph(6, RING)], required=[(0, 2)], forbidden=[(2, 0)])
    assert_sentence(error, "both")
