"""Factual explainers: found by name, right on a known answer, and leaving everything as it was."""

import copy

import pytest
import torch
from torch import nn
from torch_geometric.explain import GNNExplainer
from torch_geometric.nn import GCNConv, global_add_pool

from conftest import assert_sentence, make_graph, random_graph, same_content, snapshot
from edgeflip.core import PairEdits, PairSpace, edge_pairs
from edgeflip.errors import (
    BudgetExhausted,
    ConfigError,
    NotApplicableError,
    TargetError,
    UnknownNameError,
)
from edgeflip.factual import (
    FACTUAL,
    FactualExplainer,
    FromPyG,
    Occlusion,
    SubgraphX,
    make_factual,
)
from edgeflip.factual.growth import grow
from edgeflip.factual.occlusion import edge_importance, log_odds
from edgeflip.oracle.budget import Budget, MeteredOracle
from edgeflip.oracle.model import ModelOracle
from edgeflip.search.result import FactualSubgraph
from edgeflip.support.seeding import seeded
from edgeflip.testing import example_graphs
from test_subgraphx import ODD_GRAPHS, Triangle, example_oracle, triangle_graph

QUICK = {
    "subgraphx": {"max_nodes": 4, "rollouts": 3, "samples": 12, "tree_samples": 6},
    "occlusion": {"max_nodes": 4},
    "from-pyg": {"max_nodes": 4, "options": {"epochs": 5}},
}


class OneLogit(nn.Module):
    """A binary model that is not ours, with edges that count through their weight."""

    def __init__(self):
        super().__init__()
        self.conv = GCNConv(4, 6)
        self.drop = nn.Dropout(0.5)
        self.out = nn.Linear(6, 1)

    def forward(self, x, edge_index, batch):
        return self.out(self.drop(global_add_pool(self.conv(x, edge_index).relu(), batch)))


def one_logit_oracle():
    with seeded(2):
        return ModelOracle(OneLogit(), num_classes=2)


@pytest.mark.parametrize("name", FACTUAL)
@pytest.mark.parametrize("make", [example_oracle, one_logit_oracle])
def test_every_factual_explainer_keeps_the_contract(name, make):
    explainer, oracle = make_factual(name, QUICK[name]), make()
    assert isinstance(explainer, FactualExplainer)
    for graph in example_graphs(2, seed=6):
        before, answers = snapshot(graph), []
        for _ in range(2):
            torch.rand(3)  # whatever was drawn before must not matter
            answers.append(explainer.explain(oracle, graph, 1, seed=3))
        found = answers[0]
        assert isinstance(found, FactualSubgraph)
        assert answers[1] == found
        assert 1 <= len(found.nodes) <= 4
        inside = {pair for pair in edge_pairs(graph) if set(pair) <= set(found.nodes)}
        assert set(found.edges) == inside
        assert same_content(before, snapshot(graph))


@pytest.mark.parametrize("name", FACTUAL)
@pytest.mark.parametrize("graph", ODD_GRAPHS)
def test_every_factual_explainer_takes_odd_graphs(name, graph):
    oracle = example_oracle(3)
    found = make_factual(name, QUICK[name]).explain(oracle, ODD_GRAPHS[graph], 0, seed=0)
    assert 1 <= len(found.nodes) <= 4


@pytest.mark.parametrize("name", FACTUAL)
def test_every_factual_explainer_charges_the_meter_and_stops_at_its_budget(name):
    explainer, graph = make_factual(name, QUICK[name]), example_graphs(1, seed=6)[0]
    meter = MeteredOracle(example_oracle())
    free = explainer.explain(example_oracle(), graph, 1, seed=3)
    assert explainer.explain(meter, graph, 1, seed=3) == free
    assert meter.calls > 0
    poor = MeteredOracle(example_oracle(), Budget(oracle_calls=meter.calls - 1))
    with pytest.raises(BudgetExhausted):
        explainer.explain(poor, graph, 1, seed=3)
    assert poor.calls < meter.calls


@pytest.mark.parametrize("name", FACTUAL)
def test_the_model_is_left_as_it_was(name):
    oracle = one_logit_oracle()
    model = oracle.model.train()
    model.drop.eval()
    weights = copy.deepcopy(model.state_dict())
    layers = {key: set(vars(module)) for key, module in model.named_modules()}
    graph = example_graphs(1, seed=6)[0]
    before = oracle.predict_proba([graph])
    make_factual(name, QUICK[name]).explain(oracle, graph, 1, seed=3)
    assert model.training
    assert not model.drop.training
    assert {key: set(vars(module)) for key, module in model.named_modules()} == layers
    assert model.conv.explain is None
    assert model.conv._edge_mask is None
    assert all(torch.equal(weights[key], value) for key, value in model.state_dict().items())
    assert all(p.grad is None and p.requires_grad for p in model.parameters())
    assert torch.equal(oracle.predict_proba([graph]), before)


def test_occlusion_finds_the_part_that_decides_with_one_call_per_edge():
    for nodes_too, calls in ((False, 1 + 13), (True, 1 + 13 + 12 + 2)):
        meter = MeteredOracle(Triangle((3, 4, 5)))
        found = Occlusion(3, nodes_too=nodes_too).explain(meter, triangle_graph(), 1)
        assert found.nodes == (3, 4, 5)
        assert meter.calls <= calls


def test_occlusion_tells_edges_apart_where_probabilities_are_close_to_one():
    proba = torch.tensor([[1e-7, 1 - 1e-7], [1e-9, 1.0]])
    odds = log_odds(proba, 1)
    assert float(odds[1]) > float(odds[0]) > 0
    assert bool(torch.isfinite(log_odds(torch.tensor([[0.0, 1.0], [1.0, 0.0]]), 1)).all())


def test_importance_is_the_fall_of_the_log_odds_on_the_really_edited_graph():
    oracle, graph = example_oracle(), example_graphs(1, seed=2)[0]
    space = PairEdits.of(graph)
    scores = edge_importance(oracle, space, 0)
    u, v = space.pairs.edges_of(space.pairs.edge_ids)[2]
    source, target = graph.edge_index
    stays = ~((source == u) & (target == v) | (source == v) & (target == u))
    edited = copy.copy(graph)
    edited.edge_index = graph.edge_index[:, stays]
    whole, without = log_odds(oracle.predict_proba([graph, edited]), 0)
    assert float(scores[2]) == pytest.approx(float(whole - without), abs=1e-4)


def test_growing_starts_at_the_best_edge_and_prefers_smaller_nodes_among_equals():
    space = PairSpace.of(make_graph(6, [(0, 1), (1, 2), (2, 3), (3, 4), (4, 5)]))
    found = grow(space, torch.tensor([0.0, 0.0, 5.0, 0.0, 0.0]), 4)
    assert found.nodes == (0, 1, 2, 3)
    assert found.score == 5.0
    equal = grow(space, torch.ones(5), 3)
    assert equal.nodes == (0, 1, 2)
    negative = grow(space, torch.tensor([-3.0, -1.0, -2.0, -3.0, -3.0]), 3)
    assert negative.nodes == (1, 2, 3)


def test_a_ready_algorithm_of_pyg_can_be_given():
    oracle, graph = example_oracle(), example_graphs(1, seed=6)[0]
    found = FromPyG(GNNExplainer(epochs=5), max_nodes=3).explain(oracle, graph, 1, seed=3)
    assert len(found.nodes) == 3


def test_gnn_explainer_finds_the_edges_a_model_listens_to():
    class Loud(nn.Module):
        """Hears node 2's neighbours only: its features are large there."""

        def __init__(self):
            super().__init__()
            self.conv = GCNConv(1, 1, normalize=False, add_self_loops=False, bias=False)
            nn.init.ones_(self.conv.lin.weight)

        def forward(self, x, edge_index, batch):
            total = global_add_pool(self.conv(x, edge_index), batch)
            return torch.cat([3 - total, total - 3], dim=1)

    graph = make_graph(8, [(node, node + 1) for node in range(7)], features=0)
    graph.x = torch.zeros(8, 1)
    graph.x[2] = 4.0
    found = FromPyG(max_nodes=3, options={"epochs": 60, "lr": 0.1}).explain(
        ModelOracle(Loud(), num_classes=2), graph, 1, seed=0
    )
    assert found.nodes == (1, 2, 3)


def test_pyg_cannot_look_into_a_foreign_oracle():
    with pytest.raises(NotApplicableError) as caught:
        FromPyG().explain(Triangle((3, 4, 5)), triangle_graph(), 1, seed=0)
    assert_sentence(caught, "Triangle")
    with pytest.raises(NotApplicableError):
        FromPyG().explain(
            ModelOracle(Triangle((3, 4, 5)).predict_proba, num_classes=2, returns="probabilities"),
            triangle_graph(),
            1,
            seed=0,
        )


def test_an_algorithm_that_fails_is_reported_in_one_sentence():
    class Deaf(nn.Module):
        def forward(self, x, edge_index, batch):
            return torch.cat([x.sum().view(1, 1), -x.sum().view(1, 1)], dim=1)

    with pytest.raises(NotApplicableError) as caught:
        FromPyG(options={"epochs": 3}).explain(
            ModelOracle(Deaf(), num_classes=2), random_graph(5, seed=1), 0, seed=0
        )
    assert_sentence(caught, "GNNExplainer")


def test_names_are_forgiving_and_mistakes_are_named():
    assert make_factual("SubgraphX") == SubgraphX()
    assert make_factual("from_pyg", {"max_nodes": 3}).max_nodes == 3
    assert make_factual("occlusion", {"max_nodes": 3}) == Occlusion(3)
    with pytest.raises(UnknownNameError, match="subgraphx"):
        make_factual("subgraph-x")
    for name in FACTUAL:
        with pytest.raises(ConfigError, match="max_node"):
            make_factual(name, {"max_node": 3})
        with pytest.raises(ConfigError):
            make_factual(name, {"max_nodes": 0})
    with pytest.raises(ConfigError):
        FromPyG("gradients")
    with pytest.raises(ConfigError):
        FromPyG(GNNExplainer(), options={"epochs": 3})


@pytest.mark.parametrize("explainer", [Occlusion(), SubgraphX()])
@pytest.mark.parametrize("label", [-1, 7, 0.5])
def test_a_class_that_does_not_exist_is_refused(explainer, label):
    with pytest.raises(TargetError) as error:
        explainer.explain(example_oracle(), example_graphs(1, seed=0)[0], label)
    assert_sentence(error, "0..1")


def test_sizes_are_whole_numbers():
    for wrong in (lambda: SubgraphX(max_nodes=2.5), lambda: Occlusion(max_nodes=2.5)):
        with pytest.raises(ConfigError) as error:
            wrong()
        assert_sentence(error, "2.5")
