"""Edited graphs in bulk, against one edited graph at a time."""

import pytest
import torch
from hypothesis import given
from torch_geometric.data import Batch
from torch_geometric.utils import to_dense_adj

from conftest import (
    assert_sentence,
    edited_graphs,
    graphs_and_edits,
    make_graph,
    path_graph,
    random_graph,
    random_toggles,
    same_content,
    snapshot,
)
from edgeflip.core import PAD, PairEdits, PairSpace, assemble, base_adjacency
from edgeflip.core import graphs as graphs_module
from edgeflip.core.batching import adjacency
from edgeflip.errors import EditError


def edge_rows(batch):
    """Every directed edge with its attributes, sorted: a batch's edges whatever their order."""
    columns = [batch.edge_index.t()]
    for key in ("edge_attr", "edge_weight", "edge_kind"):
        if key in batch:
            columns.append(batch[key].flatten(1) if batch[key].dim() > 1 else batch[key][:, None])
    return sorted(torch.cat([column.double() for column in columns], dim=1).tolist())


def assert_same_batch(ours, theirs):
    assert edge_rows(ours) == edge_rows(theirs)
    assert ours.num_graphs == theirs.num_graphs
    assert ours.num_nodes == theirs.num_nodes
    assert set(ours.keys()) == set(theirs.keys())
    for key in theirs.keys():  # noqa: SIM118 (a Batch is no mapping)
        value = theirs[key]
        if key in ("edge_attr", "edge_weight", "edge_kind", "edge_index"):
            assert ours[key].dtype == value.dtype
            assert ours[key].shape == value.shape
        elif isinstance(value, torch.Tensor):
            assert ours[key].dtype == value.dtype, key
            assert torch.equal(ours[key], value), key
        else:
            assert ours[key] == value, key


def _decorated():
    graph = random_graph(7, loops=[2, 5], edge_attr=2, edge_weight=True)
    graph.edge_kind = torch.arange(graph.num_edges)
    graph.pos, graph.mask = torch.rand(7, 2), torch.arange(7) % 2 == 0
    graph.y, graph.scalar, graph.descriptors = (
        torch.tensor([1]),
        torch.tensor(0.5),
        torch.rand(1, 4),
    )
    graph.name = "a graph"
    return graph


ASSEMBLED = {
    "plain": (random_graph(7), None),
    "self-loops": (random_graph(7, loops=[0, 3]), None),
    "without features": (random_graph(7, features=0), None),
    "without edges": (make_graph(5, []), None),
    "without edges, with attributes": (make_graph(5, [], edge_attr=2), "zeros"),
    "complete": (random_graph(5, density=1.1), None),
    "two nodes": (make_graph(2, [(0, 1)]), None),
    "edge_attr": (random_graph(7, edge_attr=3, loops=[1]), "mean"),
    "edge_attr by function": (
        random_graph(7, edge_attr=2),
        lambda graph, edge: torch.tensor([float(edge[0]), float(edge[1])]),
    ),
    "edge_weight": (random_graph(7, edge_weight=True), None),
    "edge_weight by fill": (random_graph(7, edge_weight=True), {"edge_weight": 0.25}),
    "as many edges as nodes": (make_graph(4, [(0, 1), (2, 3)], edge_attr=1), 0.5),
    "everything": (_decorated(), {"edge_attr": "zeros", "edge_kind": -1}),
}


@pytest.mark.parametrize("count", [1, 20])
@pytest.mark.parametrize("name", ASSEMBLED)
def test_a_block_is_assembled_to_the_batch_of_its_edited_graphs(name, count):
    graph, fill = ASSEMBLED[name]
    before = snapshot(graph)
    space = PairSpace.of(graph)
    toggles = random_toggles(space, candidates=count)
    ours = assemble(space, toggles, fill=fill)
    assert_same_batch(ours, Batch.from_data_list(edited_graphs(space, toggles, fill=fill)))
    assert same_content(before, snapshot(graph))


@given(graphs_and_edits())
def test_one_candidate_is_assembled_to_its_edited_graph(graph_and_edits):
    graph, edits = graph_and_edits
    fill = {"edge_attr": 3.0, "edge_weight": 2.0}
    space = PairEdits(PairSpace.of(graph), fill=fill)
    theirs = Batch.from_data_list([edits.apply(graph, fill=fill)])
    assert_same_batch(space.batch(space.row(edits)[None]), theirs)


def test_a_graph_too_large_for_tables_is_assembled_all_the_same(monkeypatch):
    graph = random_graph(9, edge_attr=2)
    monkeypatch.setattr(graphs_module, "_TABLE_LIMIT", 0)
    space = PairSpace.of(graph)
    toggles = random_toggles(space)
    theirs = Batch.from_data_list(edited_graphs(space, toggles, fill="zeros"))
    assert_same_batch(assemble(space, toggles, fill="zeros"), theirs)


@pytest.mark.parametrize(
    ("key", "value"),
    [("temperature", 0.5), ("charge", 2), ("motif_index", torch.tensor([1, 3]))],
)
def test_numbers_and_node_numbers_are_batched_the_way_pyg_batches_them(key, value):
    graph = random_graph(5)
    graph[key] = value
    space = PairSpace.of(graph)
    toggles = random_toggles(space, candidates=3)
    ours, theirs = assemble(space, toggles), Batch.from_data_list(edited_graphs(space, toggles))
    assert isinstance(ours[key], torch.Tensor)
    assert torch.equal(ours[key], theirs[key])


def test_taking_an_assembled_batch_apart_is_refused_rather_than_wrong():
    space = PairSpace.of(random_graph(5))
    with pytest.raises(RuntimeError, match="from_data_list"):
        assemble(space, random_toggles(space, candidates=3)).to_data_list()


def test_a_fill_function_is_asked_once_per_distinct_pair():
    asked = []

    def fill(graph, edge):
        asked.append(edge)
        return torch.zeros(2)

    space = PairSpace.of(path_graph(4, edge_attr=2))
    ids = space.ids_of([(0, 2), (0, 2), (0, 3)])
    assemble(space, ids[:, None], fill=fill)
    assert sorted(asked) == [(0, 2), (0, 3)]


def test_a_block_of_additions_without_a_fill_is_refused():
    space = PairSpace.of(path_graph(4, edge_attr=2))
    with pytest.raises(EditError) as error:
        assemble(space, space.non_edge_ids()[:, None])
    assert_sentence(error, "fill")


@pytest.mark.parametrize("graph", [path_graph(4), _decorated()], ids=["plain", "decorated"])
def test_no_candidates_are_assembled_to_an_empty_batch(graph):
    batch = assemble(PairSpace.of(graph), torch.empty(0, 2, dtype=torch.long), fill="zeros")
    assert batch.num_graphs == 0
    assert batch.edge_index.shape == (2, 0)


# Dense adjacency.


def dense(graph):
    matrix = to_dense_adj(graph.edge_index, max_num_nodes=graph.num_nodes)[0]
    assert matrix.max() <= 1
    return matrix


@pytest.mark.parametrize("count", [1, 2, 20])
@pytest.mark.parametrize(
    "graph",
    [random_graph(7), random_graph(7, loops=[0, 3]), make_graph(5, []), make_graph(2, [(0, 1)])],
    ids=["plain", "self-loops", "no edges", "two nodes"],
)
def test_dense_matrices_are_those_of_the_edited_graphs(graph, count):
    space = PairSpace.of(graph)
    toggles = random_toggles(space, candidates=count)
    base = base_adjacency(space)
    assert torch.equal(base, dense(graph).fill_diagonal_(1.0))
    matrices = adjacency(space, toggles, base)
    wanted = torch.stack(
        [dense(edited).fill_diagonal_(1.0) for edited in edited_graphs(space, toggles)]
    )
    assert torch.equal(matrices, wanted)


@pytest.mark.parametrize("count", [1, 3])
def test_the_matrices_of_a_block_never_share_memory_with_the_graph_s_own(count):
    space = PairSpace.of(random_graph(6))
    base = base_adjacency(space)
    before = base.clone()
    adjacency(space, random_toggles(space, candidates=count), base).fill_(7.0)
    assert torch.equal(base, before)


def test_dense_matrices_without_padding_are_the_same_as_with():
    space = PairSpace.of(random_graph(6))
    toggles = torch.combinations(torch.arange(space.num_pairs), 2)
    padded = torch.cat([toggles, torch.full((len(toggles), 1), PAD)], dim=1)
    base = base_adjacency(space)
    assert torch.equal(adjacency(space, toggles, base), adjacency(space, padded, base))
