"""Rivals judged as their papers do: graphs that replace the input, with nodes or features of their own."""

import pytest
import torch

from edgeflip import Counterfactual, load_explainer, make_explainer
from edgeflip.core.graphs import edge_pairs
from edgeflip.errors import ConfigError
from edgeflip.explainers import ReplacingExplainer, explainer_class, list_explainers
from edgeflip.explainers.gist import GIST
from edgeflip.testing import example_graphs, example_oracle

TRAIN = [*example_graphs(14, seed=1), *example_graphs(6, seed=2, num_nodes=11)]
TEST = [*example_graphs(6, seed=4), *example_graphs(2, seed=5, num_nodes=11)]
SETTINGS = {"gist": {"tries": 20, "epochs": 30}, "gcfexplainer": {"steps_per_input": 5}}


def fitted(name):
    explainer = make_explainer(name, profile="smoke", overrides=SETTINGS[name])
    return explainer.fit(TRAIN, example_oracle(), seed=0)


@pytest.fixture(scope="module")
def gist():
    return fitted("gist")


@pytest.fixture(scope="module")
def gcf():
    return fitted("gcfexplainer")


@pytest.fixture(params=["gist", "gcf"])
def explainer(request):
    return request.getfixturevalue(request.param)


def answered(explainer):
    return next(graph for graph in TEST if explainer.replacements(graph, TRAIN))


def test_two_methods_can_be_judged_so():
    kinds = {name: explainer_class(name) for name in list_explainers()}
    replacing = {n: k.replaced for n, k in kinds.items() if issubclass(k, ReplacingExplainer)}
    assert replacing == {"gist": "own features", "gcfexplainer": "other nodes"}


def test_a_replacement_has_another_class_by_the_oracle_and_no_edits(explainer):
    oracle, count = explainer.oracle_, 0
    for graph in TEST:
        label = int(oracle.predict([graph])[0])
        for each in explainer.replacements(graph, TRAIN, keep=3):
            count += 1
            assert int(oracle.predict([each.graph])[0]) != label
            assert max(range(2), key=each.output.__getitem__) != label
            # It does not pose as an answer.
            assert not isinstance(each, Counterfactual)
            assert not hasattr(each, "edits")
    assert count > len(TEST)


def test_neither_the_graph_nor_the_training_graphs_change(explainer):
    before = [graph.clone() for graph in (*TRAIN, *TEST)]
    explainer.replacements(TEST[0], TRAIN)
    for graph, copy in zip((*TRAIN, *TEST), before, strict=True):
        assert graph.keys() == copy.keys()
        assert torch.equal(graph.x, copy.x)
        assert torch.equal(graph.edge_index, copy.edge_index)


def test_the_same_seed_gives_the_same_replacement(explainer):
    graph = answered(explainer)
    one, other = (explainer.replacements(graph, TRAIN, seed=0)[0] for _ in range(2))
    assert one.distance == other.distance
    assert one.output == other.output
    assert torch.equal(one.graph.edge_index, other.graph.edge_index)


def test_gist_keeps_the_features_of_its_network_and_counts_edges(gist):
    found = [(graph, each) for graph in TEST for each in gist.replacements(graph, TRAIN)]
    assert found
    for graph, each in found:
        assert each.graph.num_nodes == graph.num_nodes
        assert each.graph.x.shape == graph.x.shape
        assert not torch.equal(each.graph.x, graph.x)
        assert each.distance == len(edge_pairs(each.graph) ^ edge_pairs(graph))


def test_gist_draws_the_edges_that_it_lays_upon_the_input(gist, monkeypatch):
    drawn, redraw = [], GIST._redraw

    def seen(self, *arguments):
        drawn.append(redraw(self, *arguments))
        return drawn[-1]

    monkeypatch.setattr(GIST, "_redraw", seen)
    gist.explain(TEST[0], seed=3)
    gist.replacements(TEST[0], TRAIN, seed=3)
    laid, own = drawn
    assert torch.equal(laid, own)


def test_gcfexplainer_takes_the_nearest_pattern_whatever_its_nodes(gcf):
    distances, nodes = [], set()
    for graph in TEST:
        found = gcf.replacements(graph, TRAIN, keep=50)
        own = [each.distance for each in found]
        assert own == sorted(own)
        distances += own[:1]
        nodes |= {(graph.num_nodes, each.graph.num_nodes) for each in found}
        for each in found:
            # An edit of an edge each, and one for every node that one of them lacks.
            gap = abs(each.graph.num_nodes - graph.num_nodes)
            edges = abs(len(edge_pairs(each.graph)) - len(edge_pairs(graph)))
            assert each.distance >= gap + edges
    assert min(distances) > 0
    assert any(one != other for one, other in nodes)


def test_a_pattern_has_the_features_of_the_graph_it_descends_from(gcf):
    rows = {tuple(row.tolist()) for graph in TRAIN for row in graph.x}
    (found,) = gcf.replacements(TEST[0], TRAIN)
    assert {tuple(row.tolist()) for row in found.graph.x} <= rows


def test_a_target_is_kept():
    oracle = example_oracle(classes=3)
    explainer = make_explainer("gist", profile="smoke", overrides=SETTINGS["gist"])
    explainer.fit(TRAIN, oracle, seed=0)
    graph = TEST[0]
    for target in {0, 1, 2} - {int(oracle.predict([graph])[0])}:
        for found in explainer.replacements(graph, TRAIN, target=target):
            assert int(oracle.predict([found.graph])[0]) == target


def test_gist_has_none_where_no_training_graph_has_as_many_nodes(gist):
    assert gist.replacements(example_graphs(1, seed=0, num_nodes=7)[0], TRAIN) == []


def test_other_graphs_than_those_of_fit_are_refused(explainer):
    graph = answered(explainer)
    for wrong in (TRAIN[::-1], TRAIN[:3]):
        with pytest.raises(ConfigError, match="was fitted on"):
            explainer.replacements(graph, wrong, keep=50)


def test_attributes_of_edges_are_refused(explainer):
    graph = TEST[0].clone()
    graph.edge_attr = torch.zeros(graph.num_edges, 1)
    with pytest.raises(ConfigError, match="attributes of edges"):
        explainer.replacements(graph, TRAIN, fill={"edge_attr": 0.0})


def test_a_saved_method_replaces_alike(explainer, tmp_path):
    again = load_explainer(explainer.save(tmp_path), explainer.oracle_)
    graph = answered(explainer)
    one, other = (each.replacements(graph, TRAIN)[0] for each in (explainer, again))
    assert one.distance == other.distance
    assert torch.equal(one.graph.x, other.graph.x)
