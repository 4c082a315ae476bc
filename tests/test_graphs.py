"""The numbering of node pairs, and which graphs are refused."""

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data, HeteroData

from conftest import assert_sentence, graphs, make_graph, path_graph, random_graph
from edgeflip import bundle_from, explain
from edgeflip.core import graphs as graphs_module
from edgeflip.core.graphs import (
    PairSpace,
    canonical,
    edge_pairs,
    fingerprint,
    id_pairs,
    non_edges,
    pair_ids,
)
from edgeflip.draw import draw_graphs
from edgeflip.errors import GraphError
from edgeflip.testing import example_oracle

NO_EDGES = torch.empty(2, 0, dtype=torch.long)


@pytest.mark.parametrize("num_nodes", [2, 3, 4, 5, 8, 13, 25, 64])
def test_pair_ids_count_row_by_row_through_the_upper_triangle(num_nodes):
    pairs = list(itertools.combinations(range(num_nodes), 2))
    u, v = torch.tensor(pairs).t()
    assert pair_ids(u, v, num_nodes).tolist() == list(range(len(pairs)))
    assert pair_ids(v, u, num_nodes).tolist() == list(range(len(pairs)))
    u, v = id_pairs(torch.arange(len(pairs)), num_nodes)
    assert list(zip(u.tolist(), v.tolist(), strict=True)) == pairs


@pytest.mark.parametrize("num_nodes", [1000, 2829, 2830, 65_537, 1_000_003, 100_000_000])
def test_pair_ids_of_large_graphs_come_back_at_the_ends_of_rows(num_nodes):
    generator = torch.Generator().manual_seed(0)
    rows = torch.randint(0, num_nodes - 1, (2000,), generator=generator)
    rows = torch.cat([torch.tensor([0, 1, num_nodes - 3, num_nodes - 2]), rows])
    for columns in (rows + 1, torch.full_like(rows, num_nodes - 1)):
        u, v = id_pairs(pair_ids(rows, columns, num_nodes), num_nodes)
        assert torch.equal(u, rows)
        assert torch.equal(v, columns)


@given(st.integers(2, 3_000_000), st.data())
def test_an_id_and_its_pair_belong_to_each_other(num_nodes, data):
    ids = torch.tensor([data.draw(st.integers(0, num_nodes * (num_nodes - 1) // 2 - 1))])
    u, v = id_pairs(ids, num_nodes)
    assert 0 <= int(u) < int(v) < num_nodes
    assert torch.equal(pair_ids(u, v, num_nodes), ids)


@given(graphs())
def test_a_space_knows_which_pairs_are_edges_and_where_they_stand(graph):
    space = PairSpace.of(graph)
    pairs = list(itertools.combinations(range(graph.num_nodes), 2))
    edges = edge_pairs(graph)
    everything = torch.arange(space.num_pairs)
    assert space.num_pairs == len(pairs)
    assert space.edges_of(everything) == pairs
    assert torch.equal(space.ids_of(pairs), everything)
    assert space.is_edge(everything).tolist() == [pair in edges for pair in pairs]
    assert space.edges_of(space.edge_ids) == sorted(edges)
    assert space.edges_of(space.non_edge_ids()) == sorted(set(pairs) - edges)
    for pair, columns in zip(sorted(edges), space.columns, strict=True):
        assert graph.edge_index[:, columns].t().tolist() == [list(pair), list(pair[::-1])]


@pytest.mark.parametrize("density", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("num_nodes", [2, 3, 9, 30])
def test_a_space_without_tables_gives_the_same_answers(monkeypatch, num_nodes, density):
    graph = random_graph(num_nodes, density=density, loops=[0])
    tabled = PairSpace.of(graph)
    monkeypatch.setattr(graphs_module, "_TABLE_LIMIT", 0)
    plain = PairSpace.of(graph)
    assert tabled._slots is not None
    assert plain._slots is None
    assert plain._ends is None
    ids = torch.stack([torch.arange(plain.num_pairs)] * 2, dim=1)
    assert torch.equal(plain.slots(ids), tabled.slots(ids))
    assert torch.equal(plain.is_edge(ids), tabled.is_edge(ids))
    assert torch.equal(plain.ends(ids), tabled.ends(ids))
    assert plain.edges_of(ids[:, 0]) == tabled.edges_of(ids[:, 0])
    assert torch.equal(plain.non_edge_ids(), tabled.non_edge_ids())
    assert torch.equal(plain.columns, tabled.columns)


def test_a_graph_too_large_for_tables_has_none():
    space = PairSpace.of(make_graph(3000, [(0, 2999), (17, 18)], features=0))
    assert space._slots is None
    assert space.edges_of(space.edge_ids) == [(0, 2999), (17, 18)]
    assert space.is_edge(space.ids_of([(2999, 0), (1, 2), (18, 17)])).tolist() == [
        True,
        False,
        True,
    ]


@pytest.mark.parametrize("pair", [(0, 4), (-1, 2), (2, 2), (7, 9)])
def test_a_pair_that_is_none_of_the_graph_is_refused(pair):
    with pytest.raises(GraphError) as error:
        PairSpace.of(path_graph(4)).ids_of([(0, 1), pair])
    assert_sentence(error, "0..3", str(pair))


def _directed():
    return Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 1], [1, 0, 2]]))


def _twice(*columns):
    edge_index = torch.tensor([[0, 1], [1, 0], *columns]).t()
    return Data(x=torch.ones(3, 1), edge_index=edge_index)


def _features(value):
    graph = path_graph(4)
    graph.x[2, 1] = value
    return graph


REFUSED = {
    "empty": (Data(x=torch.empty(0, 2), edge_index=NO_EDGES), "empty"),
    "one node": (Data(x=torch.ones(1, 2), edge_index=NO_EDGES), "one node"),
    "one node with a self-loop": (
        Data(x=torch.ones(1, 2), edge_index=torch.tensor([[0], [0]])),
        "one node",
    ),
    "one direction": (_directed(), "to_undirected"),
    "two edges, each in one direction": (
        Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1], [1, 2]])),
        "to_undirected",
    ),
    "edge twice": (_twice([0, 1], [1, 0]), "coalesce"),
    "edge twice in one direction": (_twice([0, 1]), "coalesce"),
    "self-loop twice": (_twice([2, 2], [2, 2]), "coalesce"),
    "NaN": (_features(float("nan")), "node 2"),
    "infinity": (_features(float("inf")), "node 2"),
    "minus infinity": (_features(float("-inf")), "node 2"),
    "node beyond the last": (
        Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 3], [3, 0]])),
        "0..2",
    ),
    "negative node": (
        Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, -1], [-1, 0]])),
        "0..2",
    ),
    "float edge_index": (
        Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0.0, 1.0], [1.0, 0.0]])),
        "integers",
    ),
    "edge_index the other way round": (
        Data(x=torch.ones(4, 1), edge_index=torch.tensor([[0, 1], [1, 0], [2, 3]])),
        "[2, edges]",
    ),
    "too few rows of x": (
        Data(x=torch.ones(3, 1), edge_index=NO_EDGES, num_nodes=5),
        "one row per node (5)",
    ),
    "too many rows of x": (
        Data(x=torch.ones(6, 1), edge_index=NO_EDGES, num_nodes=5),
        "one row per node (5)",
    ),
    "x without rows": (
        Data(x=torch.tensor(1.0), edge_index=NO_EDGES, num_nodes=5),
        "one row per node (5)",
    ),
    "no edge_index": (Data(x=torch.ones(3, 1)), "edge_index"),
    "another type of graph": (HeteroData(), "HeteroData"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_graph_that_cannot_be_explained_is_refused_in_one_sentence(name):
    graph, word = REFUSED[name]
    with pytest.raises(GraphError) as error:
        PairSpace.of(graph)
    assert_sentence(error, word, "; ")


ACCEPTED = {
    "isolated nodes": (make_graph(5, [(1, 3)]), 1),
    "no edges": (make_graph(4, []), 0),
    "two nodes without an edge": (make_graph(2, []), 0),
    "only self-loops": (make_graph(3, [], loops=[0, 2]), 0),
    "complete": (random_graph(6, density=1.1), 15),
    "self-loops": (path_graph(4, loops=[0, 3]), 3),
    "two components": (make_graph(6, [(0, 1), (1, 2), (3, 4), (4, 5)]), 4),
    "no features": (path_graph(4, features=0), 3),
    "integer features": (Data(x=torch.ones(2, 1).long(), edge_index=NO_EDGES), 0),
    "int32 edge_index": (
        Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]], dtype=torch.int32)),
        1,
    ),
}


@pytest.mark.parametrize("name", ACCEPTED)
def test_an_unusual_but_sound_graph_is_accepted(name):
    graph, num_edges = ACCEPTED[name]
    space = PairSpace.of(graph)
    assert space.edge_ids.numel() == num_edges
    assert space.columns.shape == (num_edges, 2)
    assert space.non_edge_ids().numel() == space.num_pairs - num_edges


@pytest.mark.parametrize("key", ["tokens", "node_names"])
@pytest.mark.parametrize("names", [["a", "b", "c"], ("a",) * 5, []])
def test_names_for_more_or_fewer_nodes_than_there_are_are_refused(key, names):
    graph = path_graph(4)
    graph[key] = names
    told = (
        f"expected {key} with one text for each of 4 nodes",
        f"got {len(names)}",
        "leave it out",
    )
    with pytest.raises(GraphError) as error:
        PairSpace.of(graph)
    assert_sentence(error, *told)
    with pytest.raises(GraphError) as error:
        explain(example_oracle(), graph)
    assert_sentence(error, *told)
    with pytest.raises(GraphError) as error:
        draw_graphs([graph])
    assert_sentence(error, *told)
    with pytest.raises(GraphError) as error:
        bundle_from([path_graph(4), graph, path_graph(4), path_graph(4)], [0, 1, 0, 1])
    assert_sentence(error, f"got {len(names)} in graph 1; correct {key}")


@pytest.mark.parametrize("key", ["tokens", "node_names"])
@pytest.mark.parametrize("names", [None, ["a", "b", "c", "d"], ("a",) * 4, torch.tensor([7, 8])])
def test_names_for_all_nodes_or_none_at_all_are_fine(key, names):
    graph = path_graph(4)
    graph[key] = names
    assert PairSpace.of(graph).num_nodes == 4


def test_self_loops_are_no_pairs():
    space = PairSpace.of(path_graph(4, loops=[0, 3]))
    assert space.edges_of(space.edge_ids) == [(0, 1), (1, 2), (2, 3)]


@given(graphs(attributes=False))
def test_edges_and_non_edges_share_out_all_pairs(graph):
    pairs = set(itertools.combinations(range(graph.num_nodes), 2))
    assert edge_pairs(graph) | non_edges(graph) == pairs
    assert not edge_pairs(graph) & non_edges(graph)


@given(graphs(), st.randoms(use_true_random=False))
def test_the_order_of_edges_changes_neither_fingerprint_nor_canonical_form(graph, random):
    order = list(range(graph.num_edges))
    random.shuffle(order)
    shuffled = graph.clone()
    shuffled.edge_index = graph.edge_index[:, order]
    for key in ("edge_attr", "edge_weight"):
        if key in graph:
            shuffled[key] = graph[key][order]
    assert fingerprint(shuffled) == fingerprint(graph)
    assert torch.equal(canonical(shuffled).edge_index, canonical(graph).edge_index)


def test_a_fingerprint_sees_everything_a_model_can_read():
    graph = path_graph(4, edge_attr=2)
    changed = {"same": graph.clone()}
    for name in ("features", "dtype", "attribute", "edge", "label", "nodes"):
        changed[name] = graph.clone()
    changed["features"].x = graph.x + 1e-6 * torch.eye(4, 3)
    changed["dtype"].x = graph.x.double()
    changed["attribute"].edge_attr = graph.edge_attr.flip(0)
    changed["edge"].edge_index = torch.where(graph.edge_index == 3, 0, graph.edge_index)
    changed["label"].y = torch.tensor([1])
    changed["nodes"].num_nodes = 5
    assert fingerprint(changed.pop("same")) == fingerprint(graph)
    prints = {name: fingerprint(other) for name, other in changed.items()}
    assert fingerprint(graph) not in prints.values()
    assert len(set(prints.values())) == len(prints)
