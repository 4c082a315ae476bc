"""Counterfactuals that only a symmetry tells apart: found in bounded time, and nothing else is folded."""

import re
from itertools import combinations

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data

from edgeflip import Constraints, EditSet, explain
from edgeflip.draw import answer_page, symmetry
from edgeflip.draw.symmetry import alike


def graph_of(pairs, **tensors):
    both = sorted({(u, v) for u, v in pairs} | {(v, u) for u, v in pairs})
    edge_index = torch.tensor(both).t().contiguous()
    count = int(edge_index.max()) + 1
    return Data(x=torch.ones(count, 1), edge_index=edge_index, **tensors)


def rook(side):
    return nx.convert_node_labels_to_integers(
        nx.line_graph(nx.complete_bipartite_graph(side, side))
    )


# What is left to tell apart is how the removed edges hang together, in all but the last two.
SYMMETRIC = {
    "K10": (nx.complete_graph(10), 2),
    "K12, three at once": (nx.complete_graph(12), 3),
    "K15,15": (nx.complete_bipartite_graph(15, 15), 2),
    "two of K10": (nx.disjoint_union(nx.complete_graph(10), nx.complete_graph(10)), 2),
    "star": (nx.star_graph(30), 2),
    "rook 6x6": (rook(6), 2),
    "hypercube": (nx.convert_node_labels_to_integers(nx.hypercube_graph(4)), 2),
}


@pytest.mark.parametrize("name", SYMMETRIC)
def test_symmetric_graphs_are_folded_right(name):
    shape, size = SYMMETRIC[name]
    pairs = sorted((min(edge), max(edge)) for edge in shape.edges)
    sets = list(combinations(pairs, size))
    removed = sets[:: max(1, len(sets) // 25)][:25]
    groups = alike(graph_of(pairs), [EditSet(removed=set(each)) for each in removed])
    expected = {}
    for place, each in enumerate(removed):
        expected.setdefault(kind_of(shape, each), []).append(place)
    if name not in {"rook 6x6", "hypercube"}:
        assert groups == list(expected.values())
    for group in groups:
        assert len({kind_of(shape, removed[place]) for place in group}) == 1


def kind_of(shape, removed):
    """How the removed edges hang together, and of how many parts of the graph they are."""
    gone = nx.Graph(list(removed))
    parts = {frozenset(nx.node_connected_component(shape, u)) for u, _ in removed}
    return tuple(sorted(dict(gone.degree).values())), len(parts)


class FewEdges(torch.nn.Module):
    def __init__(self, most):
        super().__init__()
        self.most = most

    def forward(self, x, edge_index, batch):
        ones = torch.ones(edge_index.shape[1])
        count = torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], ones) / 2
        return torch.stack([count - self.most, self.most - count], 1)


def test_the_page_of_a_complete_graph_folds_what_is_alike():
    whole = graph_of(nx.complete_graph(10).edges)
    answer = explain(FewEdges(43.5), whole, constraints=Constraints(allow_additions=False))
    assert "more alike" in answer_page(answer)


def test_without_time_to_compare_edit_sets_stay_apart(monkeypatch):
    monkeypatch.setattr(symmetry, "_PATIENCE", 50)
    whole = graph_of(nx.complete_graph(8).edges)
    edits = [EditSet(removed={pair}) for pair in ((0, 1), (2, 3), (4, 5))]
    assert alike(whole, edits) == [[0], [1], [2]]


def test_two_shapes_that_neighbours_cannot_tell_apart_are_not_alike():
    # A hexagon and two triangles, all of degree 2: one chord lies in each.
    hexagon = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (0, 5)]
    triangles = [(6, 7), (7, 8), (6, 8), (9, 10), (10, 11), (9, 11)]
    graph = graph_of(hexagon + triangles)
    edits = [EditSet(removed={pair}) for pair in ((0, 1), (6, 7), (3, 4), (9, 11))]
    assert alike(graph, edits) == [[0, 2], [1, 3]]


PATH = [(0, 1), (1, 2), (2, 3)]
ENDS = [EditSet(removed={(0, 1)}), EditSet(removed={(2, 3)})]


@pytest.mark.parametrize(
    "tensors",
    [
        {"pos": torch.tensor([[1.0], [1.0], [1.0], [2.0]])},
        {"node_weight": torch.tensor([1, 1, 1, 2])},
        {"edge_weight": torch.tensor([2.0, 2.0, 1.0, 1.0, 1.0, 1.0])},
        {"strength": torch.tensor([2.0, 2.0, 1.0, 1.0, 1.0, 1.0])},
    ],
    ids=lambda tensors: next(iter(tensors)),
)
def test_any_tensor_of_nodes_or_edges_can_break_a_symmetry(tensors):
    assert alike(graph_of(PATH), ENDS) == [[0, 1]]
    assert alike(graph_of(PATH, **tensors), ENDS) == [[0], [1]]


def test_what_a_pair_is_like_in_either_direction_counts():
    # Along the path 1, back 2: the mirrored path runs the other way.
    along = torch.tensor([1.0, 2.0, 1.0, 2.0, 1.0, 2.0])
    assert alike(graph_of(PATH, edge_weight=along), ENDS) == [[0], [1]]


def test_different_outputs_are_never_folded():
    assert alike(graph_of(PATH), ENDS, [(0.2, 0.8), (0.2, 0.8 + 1e-7)]) == [[0, 1]]
    assert alike(graph_of(PATH), ENDS, [(0.2, 0.8), (0.201, 0.799)]) == [[0], [1]]
    assert alike(graph_of(PATH), ENDS, [(1e-6,), (2e-6,)]) == [[0], [1]]


class NodeNumbers(torch.nn.Module):
    """Counts edges, those at node 0 for more: no symmetry holds for it."""

    def forward(self, data):
        batch = data.batch
        if batch is None:
            batch = torch.zeros(data.num_nodes, dtype=torch.long)
        starts = torch.cat([torch.tensor([True]), batch[1:] != batch[:-1]])
        weight = 1 + 0.5 * (starts[data.edge_index[0]] | starts[data.edge_index[1]]).float()
        count = (
            torch.zeros(int(batch.max()) + 1).index_add_(0, batch[data.edge_index[0]], weight) / 2
        )
        return torch.stack([count - 2.75, 2.75 - count], 1)


def test_a_page_folds_nothing_whose_outputs_differ():
    only = Constraints(allow_additions=False)
    answer = explain(NodeNumbers(), graph_of(PATH), constraints=only, number=5)
    singles = [entry for entry in answer.counterfactuals if entry.size == 1]
    assert len({round(entry.output[0], 3) for entry in singles}) > 1
    assert not re.search(r"more alike", answer_page(answer))
