"""The conformance suite takes any oracle and any graphs."""

import numpy as np
import pytest
import torch
from broken import QUICK, BreaksALot, ClearsGradients, UnfreezesParameters
from torch_geometric.data import Data
from torch_geometric.nn import GIN, GINEConv, global_add_pool

from applicable import number_of_checks
from edgeflip import EditSet, ModelOracle, testing
from edgeflip.errors import EditError
from edgeflip.explainers.random_search import RandomSearch
from edgeflip.testing import CHECKS, check_explainer, checks, example_graphs, example_oracle


def run_only(check, monkeypatch):
    """Leave the other checks out, for the sake of time: each finds out on its own what it is for."""
    monkeypatch.setattr(testing, "CHECKS", (getattr(checks, f"check_{check}"),))


class AnyModel(torch.nn.Module):
    """A model whose last layer has a name of its own, and a buffer."""

    def __init__(self, classes=3):
        super().__init__()
        self.gin = GIN(4, 8, num_layers=2, out_channels=classes)
        self.register_buffer("shift", torch.zeros(classes))

    def forward(self, x, edge_index, batch):
        return global_add_pool(self.gin(x, edge_index), batch) - self.shift


class TakesEdgeAttributes(torch.nn.Module):
    """A model that cannot do without edge attributes."""

    def __init__(self):
        super().__init__()
        self.conv = GINEConv(torch.nn.Linear(4, 8), edge_dim=2)
        self.out = torch.nn.Linear(8, 2)

    def forward(self, x, edge_index, edge_attr, batch):
        return self.out(global_add_pool(self.conv(x, edge_index, edge_attr).relu(), batch))


class JustAnOracle:
    """Two classes by the parity of the number of edges, and no model."""

    num_classes = 2

    def predict_proba(self, graphs):
        odd = torch.tensor([graph.num_edges // 2 % 2 for graph in graphs])
        return 0.2 + 0.6 * torch.nn.functional.one_hot(odd, 2).float()


def any_model_oracle():
    """An untrained model, shifted so that it is undecided about one of the graphs."""
    torch.manual_seed(6)
    oracle = ModelOracle(AnyModel())
    graph = example_graphs(2, seed=4)[1]
    with torch.no_grad():
        logits = oracle.model(graph.x, graph.edge_index, torch.zeros(9, dtype=torch.long))
    oracle.model.shift.copy_(logits[0])
    return oracle


def test_any_model_is_an_oracle_to_check_with():
    oracle = any_model_oracle()
    assert len(check_explainer(RandomSearch(), oracle=oracle)) == len(CHECKS)


def test_a_broken_explainer_is_caught_on_any_model(monkeypatch):
    run_only("model_is_as_before", monkeypatch)
    oracle = any_model_oracle()
    with pytest.raises(AssertionError, match="requires_grad"):
        check_explainer(UnfreezesParameters(), oracle=oracle, **QUICK)


@pytest.mark.parametrize(
    "oracle", [JustAnOracle(), ModelOracle(JustAnOracle().predict_proba, returns="probabilities")]
)
def test_an_oracle_without_a_module_skips_only_the_look_at_the_model(oracle):
    passed = check_explainer(RandomSearch(), oracle=oracle, **QUICK)
    assert len(passed) == len(CHECKS) - 1
    assert "model is as before" not in passed


def with_edge_attributes(graphs):
    for graph in graphs:
        u, v = graph.edge_index
        graph.edge_attr = torch.stack([(u + v).float(), (u * v).float()], dim=1) / 10
    return graphs


def test_graphs_with_edge_attributes_are_checked_with_their_fill():
    torch.manual_seed(0)
    model = TakesEdgeAttributes()
    graphs = with_edge_attributes(example_graphs(3, seed=4))
    with torch.no_grad():
        first = graphs[1]
        logits = model(first.x, first.edge_index, first.edge_attr, torch.zeros(9, dtype=torch.long))
        model.out.bias -= logits[0]
    passed = check_explainer(
        RandomSearch(), oracle=ModelOracle(model), graphs=graphs, fill={"edge_attr": "mean"}
    )
    assert len(passed) == len(CHECKS)


def test_edge_attributes_without_a_fill_are_a_mistake_of_the_caller():
    graphs = with_edge_attributes(example_graphs(2, seed=4))
    with pytest.raises(EditError, match="fill"):
        check_explainer(RandomSearch(), graphs=graphs)


def test_labels_that_are_not_a_number_count_as_unchanged():
    graphs = example_graphs(2, seed=4)
    for graph in graphs:
        graph.y = torch.tensor([float("nan")])
    passed = check_explainer(RandomSearch(), graphs=graphs, budget=QUICK["budget"])
    assert len(passed) == len(CHECKS)


def test_the_callers_graphs_model_and_random_state_are_left_alone():
    graphs, oracle = example_graphs(2, seed=4), example_oracle()
    model = oracle.model
    model.train()
    model.classify.bias.grad = torch.ones(2)
    model.classify.weight.requires_grad_(False)
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    edges = [graph.edge_index.clone() for graph in graphs]
    np.random.seed(3)
    expected = np.random.rand()
    np.random.seed(3)
    for culprit in (BreaksALot, ClearsGradients):
        with pytest.raises(AssertionError):
            check_explainer(culprit(), oracle=oracle, graphs=graphs, budget=QUICK["budget"])
    assert np.random.rand() == expected
    assert all(map(torch.equal, edges, [graph.edge_index for graph in graphs]))
    assert all(torch.equal(value, weights[key]) for key, value in model.state_dict().items())
    assert model.training
    assert torch.equal(model.classify.bias.grad, torch.ones(2))
    assert not model.classify.weight.requires_grad
    assert model.convs[0].bias.requires_grad


class DropOneEdge(RandomSearch):
    """The smallest method there is: single removals."""

    name = "drop-one"

    def _search(self, search):
        search.ask(search.space.groups["remove"][:, None])


class AddOneEdge(RandomSearch):
    """Its mirror image: single additions."""

    name = "add-one"

    def _search(self, search):
        for edge in search.space.pairs.edges_of(search.space.groups["add"]):
            search.ask([EditSet(added=[edge])])


@pytest.mark.parametrize("method", [DropOneEdge, AddOneEdge])
def test_the_default_graphs_are_flipped_by_single_edits_of_either_kind(method):
    assert len(check_explainer(method())) == number_of_checks(method())


def test_the_default_graphs_hold_both_classes():
    labels = example_oracle().predict(example_graphs(4, seed=4))
    assert set(labels.tolist()) == {0, 1}


def test_only_training_graphs_given_are_explained_too():
    passed = check_explainer(
        RandomSearch(), train=example_graphs(3, seed=4), budget=QUICK["budget"]
    )
    assert len(passed) == len(CHECKS)


def test_one_graph_is_enough_for_a_method_that_learns_nothing():
    star = Data(
        x=torch.ones(4, 2), edge_index=torch.tensor([[0, 1, 0, 2, 0, 3], [1, 0, 2, 0, 3, 0]])
    )
    passed = check_explainer(RandomSearch(), oracle=JustAnOracle(), train=[], graphs=[star])
    assert len(passed) == len(CHECKS) - 1
