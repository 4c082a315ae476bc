"""Noise: exactly as much as asked for, and nothing else."""

import random

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from conftest import (
    assert_sentence,
    attribute_rows,
    graphs,
    make_graph,
    path_graph,
    same_content,
    snapshot,
)
from edgeflip.core.edits import EditSet
from edgeflip.core.graphs import edge_pairs
from edgeflip.core.noise import Noise, add_noise
from edgeflip.errors import ConfigError


def changed_rows(before, after):
    """Nodes whose features differ."""
    return (before.x != after.x).any(dim=1).nonzero().flatten().tolist()


@pytest.mark.parametrize(
    ("num_nodes", "edges", "nodes"),
    # A path has one edge less than nodes: 4 % of 24, 25, 49, 50, 75 and 99 edges, rounded down.
    [(2, 1, 1), (25, 1, 1), (26, 1, 1), (50, 1, 2), (51, 2, 2), (76, 3, 3), (100, 3, 4)],
)
def test_four_percent_of_edges_and_nodes_change_but_at_least_one(num_nodes, edges, nodes):
    graph = path_graph(num_nodes)
    for seed in range(5):
        noisy = add_noise(graph, Noise(), seed=seed)
        edits = EditSet.between(graph, noisy)
        assert len(edits) == edges
        assert not edits.added or not edits.removed
        assert len(changed_rows(graph, noisy)) == nodes


def test_edges_and_nodes_have_shares_of_their_own():
    noisy = add_noise(path_graph(41), Noise(edge_share=0.25, node_share=0.1), seed=0)
    assert len(EditSet.between(path_graph(41), noisy)) == 10
    assert len(changed_rows(path_graph(41), noisy)) == 4


def test_a_share_that_floating_point_puts_a_hair_too_low_is_rounded_as_meant():
    assert int(0.29 * 100) == 28
    noisy = add_noise(path_graph(101), Noise(edge_share=0.29), seed=0)
    assert len(EditSet.between(path_graph(101), noisy)) == 29


def test_a_share_of_zero_means_none():
    graph = path_graph(10)
    noisy = add_noise(graph, Noise(edge_share=0.0, node_share=0.0), seed=0)
    assert same_content(snapshot(graph), snapshot(noisy))


def test_a_coin_decides_between_adding_and_removing():
    graph = path_graph(20)
    added = sum(
        bool(EditSet.between(graph, add_noise(graph, Noise(), seed=s)).added) for s in range(100)
    )
    # Four standard deviations of a fair coin are 20.
    assert 30 <= added <= 70


def test_every_edge_and_every_node_can_be_met():
    graph = path_graph(5)
    noisy = [add_noise(graph, Noise(), seed=seed) for seed in range(200)]
    edits = [EditSet.between(graph, each) for each in noisy]
    assert frozenset().union(*(each.removed for each in edits)) == edge_pairs(graph)
    assert len(frozenset().union(*(each.added for each in edits))) == 6
    assert {node for each in noisy for node in changed_rows(graph, each)} == set(range(5))


def test_removal_only_never_adds():
    graph = path_graph(20)
    for seed in range(40):
        edits = EditSet.between(graph, add_noise(graph, Noise(edges="remove"), seed=seed))
        assert (len(edits.added), len(edits.removed)) == (0, 1)


def test_where_one_is_not_possible_the_other_is_done():
    complete = make_graph(4, [(u, v) for v in range(4) for u in range(v)])
    empty = make_graph(4, [])
    for seed in range(10):
        noisy = add_noise(complete, Noise(), seed=seed)
        assert len(EditSet.between(complete, noisy).removed) == 1
        noisy = add_noise(empty, Noise(), seed=seed)
        assert len(EditSet.between(empty, noisy).added) == 1


def test_where_neither_is_possible_edges_stay():
    for graph, noise in (
        (make_graph(4, []), Noise(edges="remove")),
        (make_graph(4, [], edge_attr=2), Noise()),
    ):
        noisy = add_noise(graph, noise, seed=0)
        assert noisy.num_edges == 0
        assert len(changed_rows(graph, noisy)) == 1


def test_no_more_edges_are_added_than_there_is_room_for():
    # Five of six pairs are edges: half of five would be two.
    graph = make_graph(4, [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3)])
    sizes = {
        len(EditSet.between(graph, add_noise(graph, Noise(edge_share=0.5), seed=seed)).added)
        for seed in range(20)
    }
    assert sizes == {0, 1}


def test_edges_with_attributes_are_only_removed_and_the_other_rows_follow():
    graph = path_graph(30, edge_attr=2, loops=(3,))
    for seed in range(20):
        noisy = add_noise(graph, Noise(edge_share=0.2), seed=seed)
        edits = EditSet.between(graph, noisy)
        assert (len(edits.added), len(edits.removed)) == (0, 5)
        old, new = attribute_rows(graph, "edge_attr"), attribute_rows(noisy, "edge_attr")
        assert len(new) == noisy.num_edges == graph.num_edges - 10
        assert all(old[edge] == row for edge, row in new.items())


def test_edges_with_weights_may_come_too_and_weigh_one():
    graph = path_graph(10, edge_weight=True)
    noisy = next(
        noisy
        for noisy in (add_noise(graph, Noise(), seed=seed) for seed in range(20))
        if noisy.num_edges > graph.num_edges
    )
    rows = attribute_rows(noisy, "edge_weight")
    (edge,) = EditSet.between(graph, noisy).added
    assert rows[edge] == rows[edge[::-1]] == 1.0


def test_self_loops_are_not_counted_and_stay():
    graph = path_graph(25, loops=range(25))
    for seed in range(10):
        noisy = add_noise(graph, Noise(), seed=seed)
        assert len(EditSet.between(graph, noisy)) == 1
        assert (noisy.edge_index[0] == noisy.edge_index[1]).sum() == 25


def test_the_noise_on_features_has_the_standard_deviation_asked_for():
    graph = path_graph(2000)
    noisy = add_noise(graph, Noise(node_share=1.0, sigma=0.02), seed=0)
    drawn = noisy.x - graph.x
    # 6000 draws: the standard error is below one percent.
    assert float(drawn.std()) == pytest.approx(0.02, rel=0.05)
    assert float(drawn.mean()) == pytest.approx(0.0, abs=0.0015)


def test_relative_noise_grows_with_the_features():
    graph = path_graph(2000)
    graph.x = 50 * graph.x + 1000
    noisy = add_noise(graph, Noise(node_share=1.0, sigma=0.04, relative=True), seed=0)
    assert float((noisy.x - graph.x).std()) == pytest.approx(0.04 * 50, rel=0.07)
    graph.x = torch.full((2000, 3), 7.0)
    noisy = add_noise(graph, Noise(node_share=1.0, sigma=0.04, relative=True), seed=0)
    assert torch.equal(noisy.x, graph.x)


def categories(num_nodes, *, dtype=torch.long):
    graph = path_graph(num_nodes, features=0)
    kinds = torch.arange(num_nodes) % 5
    graph.x = torch.stack([kinds, 7 * kinds + 1], dim=1).to(dtype)
    return graph


@pytest.mark.parametrize(
    ("dtype", "noise"),
    [
        (torch.long, Noise(node_share=0.1)),
        (torch.int8, Noise(node_share=0.1, edges="remove")),
        (torch.float32, Noise(node_share=0.1, edges="remove")),
    ],
)
def test_categories_are_taken_from_other_nodes(dtype, noise):
    graph = categories(50, dtype=dtype)
    rows = {tuple(row) for row in graph.x.tolist()}
    for seed in range(10):
        noisy = add_noise(graph, noise, seed=seed)
        assert noisy.x.dtype == dtype
        assert len(changed_rows(graph, noisy)) == 5
        assert {tuple(row) for row in noisy.x.tolist()} <= rows


def test_whole_numbers_of_a_floating_type_are_categories_for_molecules_only():
    graph = categories(50, dtype=torch.float32)
    noisy = add_noise(graph, Noise(), seed=0)
    assert not torch.equal(noisy.x, noisy.x.round())
    graph.x[0, 0] = 0.5
    noisy = add_noise(graph, Noise(edges="remove", node_share=1.0), seed=0)
    assert not torch.equal(noisy.x[1:], noisy.x[1:].round())


def test_all_other_nodes_can_lend_their_category():
    graph = categories(5)
    noise = Noise(node_share=0.2)
    taken = {
        (node, int(noisy.x[node, 0]))
        for noisy in (add_noise(graph, noise, seed=seed) for seed in range(300))
        for node in changed_rows(graph, noisy)
    }
    assert taken == {(node, kind) for node in range(5) for kind in range(5) if node != kind}


def test_where_all_nodes_are_of_one_category_features_stay():
    graph = categories(5)
    graph.x = torch.ones(5, 2, dtype=torch.long)
    assert torch.equal(add_noise(graph, Noise(), seed=0).x, graph.x)


def test_a_graph_without_features_gets_noise_on_edges_only():
    graph = path_graph(30, features=0)
    noisy = add_noise(graph, Noise(), seed=0)
    assert noisy.x is None
    assert len(EditSet.between(graph, noisy)) == 1
    assert noisy.num_nodes == 30


def test_other_attributes_are_kept():
    graph = path_graph(9)
    graph.y = torch.tensor([1])
    graph.name = "nine"
    graph.position = torch.randn(9, 2)
    noisy = add_noise(graph, Noise(), seed=0)
    assert torch.equal(noisy.y, graph.y)
    assert noisy.name == "nine"
    assert torch.equal(noisy.position, graph.position)
    assert noisy.keys() == graph.keys()


@given(graphs(), st.integers(0, 50), st.sampled_from(["either", "remove"]))
def test_the_input_stays_as_it_is_and_the_same_seed_gives_the_same_noise(graph, seed, edges):
    before = snapshot(graph)
    noise = Noise(edges=edges)
    noisy = add_noise(graph, noise, seed=seed)
    assert same_content(before, snapshot(graph))
    assert same_content(snapshot(noisy), snapshot(add_noise(graph, noise, seed=seed)))
    assert noisy.is_undirected()


def test_another_seed_and_another_graph_give_other_noise():
    graph = path_graph(60)
    noisy = [add_noise(graph, Noise(), seed=seed) for seed in range(8)]
    edits = {EditSet.between(graph, each) for each in noisy}
    assert len(edits) > 6
    assert len({tuple(changed_rows(graph, each)) for each in noisy}) > 6
    # As many edges, so that only their names can make the difference.
    other = make_graph(60, edge_pairs(graph) - {(58, 59)} | {(0, 2)})
    elsewhere = [add_noise(other, Noise(), seed=seed) for seed in range(8)]
    same = [
        changed_rows(graph, one) == changed_rows(other, two)
        for one, two in zip(noisy, elsewhere, strict=True)
    ]
    assert sum(same) < 3


def test_the_draw_hangs_on_edges_alone_not_on_features_nor_on_the_order_of_edges():
    one, two = path_graph(60, seed=1), path_graph(60, seed=2)
    assert not torch.equal(one.edge_index, two.edge_index)
    for seed in range(5):
        first, second = add_noise(one, Noise(), seed=seed), add_noise(two, Noise(), seed=seed)
        assert edge_pairs(first) == edge_pairs(second)
        assert changed_rows(one, first) == changed_rows(two, second)


def test_the_global_random_state_is_neither_read_nor_moved():
    graph = path_graph(30)
    torch.manual_seed(1)
    first = add_noise(graph, Noise(), seed=0)
    torch.manual_seed(2)
    states = torch.get_rng_state(), random.getstate(), np.random.get_state()[1].tolist()
    second = add_noise(graph, Noise(), seed=0)
    assert torch.equal(states[0], torch.get_rng_state())
    assert states[1:] == (random.getstate(), np.random.get_state()[1].tolist())
    assert same_content(snapshot(first), snapshot(second))


@pytest.mark.parametrize(
    ("names", "noise"),
    [
        (["ba_2motifs", "ba_2motifs_3class", "ba_3motifs", "ba_4motifs", "mine"], Noise()),
        (["graph_twitter", "graph_sst5"], Noise(sigma=0.04, relative=True)),
        (["bbbp", "mutag0"], Noise(edges="remove", node_share=0.0)),
    ],
)
def test_every_data_set_has_the_noise_of_the_paper(names, noise):
    for name in names:
        assert Noise.for_dataset(name) == noise
        # Molecules lose bonds and nothing else.
        assert (noise.edge_share, noise.node_share) == (0.04, 0.0 if "bbbp" in names else 0.04)
    assert Noise().sigma == 0.02


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("edge_share", -0.1),
        ("edge_share", 1.5),
        ("node_share", float("nan")),
        ("sigma", -1.0),
        ("sigma", float("inf")),
        ("edges", "add"),
    ],
)
def test_settings_out_of_range_are_refused(setting, value):
    with pytest.raises(ConfigError) as error:
        Noise(**{setting: value})
    assert_sentence(error, setting)


def test_what_is_no_seed_is_refused():
    with pytest.raises(ConfigError):
        add_noise(path_graph(4), Noise(), seed=-1)
