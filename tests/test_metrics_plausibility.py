"""Distances between sets of graphs and likelihood of edits, worked out by hand."""

import math

import networkx as nx
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Data

from conftest import assert_sentence, graphs, make_graph, path_graph, random_graph
from edgeflip.core.edits import EditSet
from edgeflip.core.graphs import edge_pairs
from edgeflip.errors import GraphError
from edgeflip.metrics import describe, descriptors, edge_likelihood, mmd, pooled_likelihood


def triangle():
    return make_graph(3, [(0, 1), (0, 2), (1, 2)])


def as_networkx(graph):
    other = nx.Graph()
    other.add_nodes_from(range(graph.num_nodes))
    other.add_edges_from(edge_pairs(graph))
    return other


def test_degrees_are_shares_of_nodes():
    described = describe([path_graph(3), triangle(), make_graph(4, [(0, 1), (0, 2), (0, 3)])])
    wanted = [[0, 2 / 3, 1 / 3, 0], [0, 0, 1, 0], [0, 3 / 4, 0, 1 / 4]]
    assert described.degree.tolist() == [pytest.approx(row) for row in wanted]
    assert len(described) == 3


def test_clustering_coefficients_are_in_bins_of_a_hundredth():
    # A triangle 0-1-2 with node 3 on node 0 and the lone node 4: 1/3 at node 0, 1 at nodes 1 and 2,
    # and 0 at nodes 3 and 4, which have fewer than two neighbours.
    graph = make_graph(5, [(0, 1), (0, 2), (1, 2), (0, 3)])
    (row,) = describe([graph]).clustering
    assert {place: share for place, share in enumerate(row) if share} == {
        0: pytest.approx(0.4),
        33: pytest.approx(0.2),
        99: pytest.approx(0.4),
    }
    assert len(row) == 100


def test_eigenvalues_are_in_bins_of_a_hundredth():
    # A path of three has 0, 1 and 2; a triangle 0, 3/2 and 3/2; a lone node has 0.
    one, two, three = describe([path_graph(3), triangle(), make_graph(2, [])]).spectrum
    assert {place: share for place, share in enumerate(one) if share} == {
        0: pytest.approx(1 / 3),
        100: pytest.approx(1 / 3),
        199: pytest.approx(1 / 3),
    }
    assert {place: share for place, share in enumerate(two) if share} == {
        0: pytest.approx(1 / 3),
        150: pytest.approx(2 / 3),
    }
    assert three[0] == 1.0


@given(graphs())
def test_descriptors_agree_with_networkx_and_add_up_to_one(graph):
    described, other = describe([graph]), as_networkx(graph)
    for table in (described.degree, described.clustering, described.spectrum):
        assert table.min() >= 0
        assert table.sum() == pytest.approx(1.0)
    degrees = [degree for _, degree in other.degree()]
    assert described.degree[0].tolist() == pytest.approx(
        (np.bincount(degrees) / graph.num_nodes).tolist()
    )
    coefficients = np.array(list(nx.clustering(other).values()))
    wanted = np.bincount((coefficients * 100).clip(max=99).astype(int), minlength=100)
    assert described.clustering[0].tolist() == pytest.approx((wanted / graph.num_nodes).tolist())
    values = np.linalg.eigvalsh(nx.normalized_laplacian_matrix(other).toarray())
    places = (np.round(values, 8) * 100).clip(0, 199).astype(int)
    wanted = np.bincount(places, minlength=200) / graph.num_nodes
    assert described.spectrum[0].tolist() == pytest.approx(wanted.tolist())


def test_large_graphs_are_described_in_the_same_way(monkeypatch):
    some = [random_graph(12, seed=seed, loops=(0, 3)) for seed in range(5)]
    dense = describe(some)
    monkeypatch.setattr(descriptors, "_DENSE_NODES", 3)
    sparse = describe(some)
    for name in ("degree", "clustering", "spectrum"):
        assert np.array_equal(getattr(dense, name), getattr(sparse, name))


def test_the_distance_of_two_graphs_is_the_one_worked_out_by_hand():
    # Total variation of the degrees [0, 2/3, 1/3] and [0, 0, 1]: 2/3; of the clustering, 0 against 1
    # everywhere: 1; of the spectra {0, 1, 2} and {0, 3/2, 3/2}: 2/3. MMD² = 1 + 1 - 2 k.
    near = 2 - 2 * math.exp(-((2 / 3) ** 2) / 2)
    values = mmd(describe([path_graph(3)]), describe([triangle()]))
    assert values == {
        "degree_mmd": pytest.approx(near),
        "clustering_mmd": pytest.approx(2 - 2 * math.exp(-1 / 0.02)),
        "spectrum_mmd": pytest.approx(near),
    }


def test_the_estimate_takes_every_graph_with_itself():
    # {path, triangle} against {path}: (2 + 2 k) / 4 + 1 - 2 (1 + k) / 2 = (1 - k) / 2. Without the
    # pairs of a graph with itself it would be k + 1 - (1 + k) = 0.
    kernel = math.exp(-((2 / 3) ** 2) / 2)
    values = mmd(describe([path_graph(3), triangle()]), describe([path_graph(3)]))
    assert values["degree_mmd"] == pytest.approx((1 - kernel) / 2)


def test_sets_whose_largest_degrees_differ_can_be_compared_both_ways():
    star = make_graph(6, [(0, node) for node in range(1, 6)])
    # Degrees [0, 5/6, 0, 0, 0, 1/6] and [0, 2/3, 1/3]: total variation 1/3.
    wanted = pytest.approx(2 - 2 * math.exp(-1 / 18))
    one, other = describe([star]), describe([path_graph(3)])
    assert mmd(one, other)["degree_mmd"] == wanted
    assert mmd(other, one)["degree_mmd"] == wanted


def test_the_distance_to_an_empty_set_is_not_a_number():
    none = describe([])
    assert len(none) == 0
    for pair in ((none, describe([triangle()])), (describe([triangle()]), none), (none, none)):
        values = mmd(*pair)
        assert list(values) == ["degree_mmd", "clustering_mmd", "spectrum_mmd"]
        assert all(math.isnan(value) for value in values.values())


def test_a_graph_without_nodes_is_refused():
    empty = Data(edge_index=torch.empty(2, 0, dtype=torch.long), num_nodes=0)
    with pytest.raises(GraphError) as error:
        describe([triangle(), empty])
    assert_sentence(error)


some_graphs = st.lists(graphs(attributes=False), min_size=1, max_size=4)


@given(some_graphs, some_graphs, st.randoms(use_true_random=False))
def test_names_of_nodes_and_order_of_graphs_do_not_matter(one, other, rng):
    renamed = []
    for graph in one:
        order = list(range(graph.num_nodes))
        rng.shuffle(order)
        edge_index = torch.tensor(order)[graph.edge_index]
        renamed.append(Data(edge_index=edge_index, num_nodes=graph.num_nodes))
    rng.shuffle(renamed)
    there = mmd(describe(one), describe(other))
    assert mmd(describe(renamed), describe(other)) == pytest.approx(there, abs=1e-12)
    assert mmd(describe(other), describe(one)) == pytest.approx(there, abs=1e-12)
    same = mmd(describe(one), describe(renamed))
    assert list(same.values()) == pytest.approx([0, 0, 0], abs=1e-12)
    # The total variation is at most 1, and no kernel value smaller than at 1.
    for name, sigma in descriptors.KERNEL_WIDTHS.items():
        assert 0 <= there[f"{name}_mmd"] <= 2 - 2 * math.exp(-1 / (2 * sigma**2))


def test_self_loops_do_not_count():
    with_loops = make_graph(4, [(0, 1), (1, 2)], loops=(0, 3))
    without = make_graph(4, [(0, 1), (1, 2)])
    values = mmd(describe([with_loops]), describe([without]))
    assert list(values.values()) == [0.0, 0.0, 0.0]


def test_the_likelihood_of_edges_is_the_mean_over_those_added_and_those_removed():
    probability = torch.full((4, 4), 0.99)
    probability[0, 2], probability[1, 3], probability[0, 1] = 0.25, 0.75, 0.125
    edits = EditSet(added={(2, 0), (1, 3)}, removed={(1, 0)})
    assert edge_likelihood(probability, edits) == (0.5, 0.125)


def test_without_added_or_removed_edges_there_is_no_likelihood():
    probability = torch.full((3, 3), 0.5)
    assert edge_likelihood(probability, EditSet(added={(0, 1)})) == (0.5, None)
    assert edge_likelihood(probability, EditSet(removed={(0, 1)})) == (None, 0.5)
    assert edge_likelihood(probability, EditSet()) == (None, None)


def test_the_plausibility_of_edits_weighs_each_edit_alike():
    assert pooled_likelihood((1, 3), (1.0, 0.0)) == 1.0
    assert pooled_likelihood((1, 3), (1.0, 1.0)) == 0.25
    assert pooled_likelihood((0, 0), (None, None)) is None
