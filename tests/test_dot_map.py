"""The map of a large graph: the same every time, and like the graph."""

import networkx as nx
import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from edgeflip.draw import Canvas, drawing_of, subject_of
from edgeflip.draw.dot_map import map_places
from edgeflip.draw.graphs import whole_map


def pairs_of(graph):
    return sorted((min(edge), max(edge)) for edge in graph.edges)


def data_of(graph):
    pairs = pairs_of(graph)
    both = torch.tensor(sorted([*pairs, *((v, u) for u, v in pairs)])).t().contiguous()
    return Data(x=torch.ones(len(graph), 1), edge_index=both)


LARGE = {
    "BA 1000": nx.barabasi_albert_graph(1000, 2, seed=0),
    "BA 1499": nx.barabasi_albert_graph(1499, 2, seed=1),
    "grid 900": nx.convert_node_labels_to_integers(nx.grid_2d_graph(30, 30)),
}


@pytest.mark.parametrize("name", LARGE)
def test_a_large_graph_is_drawn_with_a_dot_for_every_node(name):
    drawing = drawing_of(subject_of(data_of(LARGE[name]), []), Canvas())
    assert len(drawing.aside.items) == len(LARGE[name])


@pytest.mark.parametrize("name", LARGE)
def test_dots_of_neighbours_are_nearer_than_those_of_others(name):
    graph = LARGE[name]
    places = np.array(map_places(len(graph), pairs_of(graph)))
    neighbours = np.array([np.linalg.norm(places[u] - places[v]) for u, v in graph.edges])
    others = np.linalg.norm(places - np.roll(places, 371, axis=0), axis=1)
    assert np.median(neighbours) < 0.6 * np.median(others)
    assert map_places(len(graph), pairs_of(graph)) == [tuple(place) for place in places.tolist()]


@pytest.mark.parametrize(
    "graph",
    [
        nx.empty_graph(1),
        nx.empty_graph(2),
        nx.empty_graph(200),
        nx.path_graph(100),
        nx.star_graph(300),
        nx.complete_graph(80),
        nx.disjoint_union_all([nx.cycle_graph(20)] * 5 + [nx.empty_graph(5)]),
    ],
    ids=str,
)
def test_every_dot_is_in_the_frame_whatever_the_graph(graph):
    places = np.array(map_places(len(graph), pairs_of(graph)))
    assert places.shape == (len(graph), 2)
    assert np.isfinite(places).all()
    assert np.abs(places).max() <= 1 + 1e-9
    assert len(graph) < 2 or len(np.unique(places.round(6), axis=0)) > 0.9 * len(graph)


def test_parts_that_nothing_joins_are_told_apart_on_the_map():
    two = nx.disjoint_union(nx.cycle_graph(60), nx.cycle_graph(60))
    places = np.array(map_places(120, pairs_of(two)))
    assert np.linalg.norm(places[:60].mean(axis=0) - places[60:].mean(axis=0)) > 0.3


def test_drawn_nodes_lie_on_top_of_the_map():
    scene = whole_map(data_of(LARGE["grid 900"]), {0, 1})
    assert [disc.style for disc in scene.items[-3:]] == ["map-dot", "map-near", "map-near"]
