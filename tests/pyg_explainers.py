"""What the tests of the PyG integration share: models whose answers are known, explainers, checks by hand."""

import copy

import torch
from torch import nn
from torch_geometric.data import Batch
from torch_geometric.explain import Explainer
from torch_geometric.nn import GCNConv, Sequential, global_add_pool

from conftest import random_graph

MODES = {
    "classes": "multiclass_classification",
    "binary": "binary_classification",
    "values": "regression",
}


class Counts(nn.Module):
    """Compares twice the number of edges with what the nodes ask for; `batch_of` makes them differ by 1.

    Of three classes a graph is 0 with an edge less than it needs, 1 with enough, 2 with one to spare.
    """

    def __init__(self):
        super().__init__()
        self.conv = GCNConv(1, 1, normalize=False, add_self_loops=False, bias=False)
        nn.init.ones_(self.conv.lin.weight)
        self.dropout = nn.Dropout(0.5)

    def margin(self, x, edge_index, batch, weight=None):
        degree = self.conv(torch.ones_like(x[:, :1]), edge_index, weight)
        return self.dropout(global_add_pool(degree - x[:, :1], batch))

    def logits(self, *given):
        margin = self.margin(*given)
        return torch.cat([-margin, margin, 2 * margin - 2], dim=1)

    def forward(self, x, edge_index, batch=None):
        return self.logits(x, edge_index, batch)


class Probabilities(Counts):
    def forward(self, x, edge_index, batch):
        return self.logits(x, edge_index, batch).softmax(dim=1)


class LogProbabilities(Counts):
    def forward(self, x, edge_index, batch):
        return self.logits(x, edge_index, batch).log_softmax(dim=1)


class OneLogit(Counts):
    def forward(self, x, edge_index, batch):
        return self.margin(x, edge_index, batch)


class FlatLogit(Counts):
    def forward(self, x, edge_index, batch):
        return self.margin(x, edge_index, batch).view(-1)


class OneProbability(Counts):
    def forward(self, x, edge_index, batch):
        return self.margin(x, edge_index, batch).sigmoid()


class OneGraphAtATime(Counts):
    def forward(self, x, edge_index):
        return self.logits(x, edge_index, None)


class OneGraphAsARow(Counts):
    def forward(self, x, edge_index):
        return self.logits(x, edge_index, None)[0]


class OtherNameForBatch(Counts):
    def forward(self, x, edge_index, batch_index):
        return self.logits(x, edge_index, batch_index)


class WithEdgeWeights(Counts):
    def forward(self, x, edge_index, edge_weight=None, batch=None):
        return self.logits(x, edge_index, batch, edge_weight)


class WithEdgeAttributes(Counts):
    def forward(self, x, edge_index, edge_attr, batch):
        return self.logits(x, edge_index, batch, edge_attr[:, 0])


def sequential():
    """A model whose signature does not tell what it takes."""
    return Sequential("x, edge_index, batch", [(Counts(), "x, edge_index, batch -> x")])


def explainer_for(model, algorithm, mode="classes", returns="raw", **settings):
    """PyG's Explainer for a model of graphs."""
    config = {"mode": MODES[mode], "task_level": "graph", "return_type": returns}
    defaults = {"explanation_type": "model", "edge_mask_type": "object", "model_config": config}
    return Explainer(model, algorithm, **{**defaults, **settings})


def one_graph(seed=2, *, enough=True, **options):
    """A graph that an edge less takes below what it needs, or that lacks one; with its `batch`."""
    graph = random_graph(6 + seed, seed=seed, **options)
    needs = (graph.num_edges - 1 if enough else graph.num_edges + 1) / graph.num_nodes
    graph.x[:, 0] = needs
    return alone(graph)


def batch_of(count=3, **options):
    """Graphs of different sizes as one batch; those at odd places lack an edge."""
    graphs = [one_graph(place, enough=place % 2 == 0, **options) for place in range(count)]
    for graph in graphs:
        del graph.batch
    return Batch.from_data_list(graphs)


def alone(graph):
    """One graph with the `batch` that a model may ask for."""
    graph = copy.copy(graph)
    graph.batch = torch.zeros(graph.num_nodes, dtype=torch.long)
    return graph


def directed(edge_index):
    """Columns of an edge index as pairs."""
    return sorted(zip(*edge_index.tolist(), strict=True))


def assert_edits_agree(explanation):
    """The mask, the edges that come and the edges afterwards tell the same story."""
    assert explanation.validate()
    assert explanation.available_explanations == ["edge_mask"]
    mask, edges = explanation.edge_mask, explanation.edge_index
    assert mask.shape == (edges.size(1),)
    assert mask.is_floating_point()
    assert set(mask.tolist()) <= {0.0, 1.0}
    gone = directed(edges[:, mask == 1])
    come = directed(explanation.added_edge_index)
    assert gone == sorted((v, u) for u, v in gone)
    assert come == sorted((v, u) for u, v in come)
    assert not set(come) & set(directed(edges))
    stay = directed(edges[:, mask == 0])
    assert directed(explanation.cf_edge_index) == sorted(stay + come)


def classes_of(output, mode="classes", returns="raw"):
    """Predicted classes of graphs; of one graph its outputs may stand without a row."""
    if mode == "binary":
        return (output.view(-1) > (0.5 if returns == "probs" else 0)).long()
    return output.argmax(dim=-1).view(-1)


def asked(model, graph, *names):
    """What the model says of a graph, called by hand."""
    training = model.training
    model.eval()
    with torch.no_grad():
        output = model(graph.x, graph.edge_index, **{name: graph[name] for name in names})
    model.train(training)
    return output


def assert_flips(explanation, model, *names, **how):
    """Every graph has a counterfactual of one edit, and the model says so of the edited graph."""
    assert_edits_agree(explanation)
    assert bool(explanation.cf_found.all())
    assert [answer.smallest.size for answer in explanation.answers] == [1] * len(
        explanation.answers
    )
    output = asked(model, explanation.counterfactual_graph(), *names)
    assert torch.allclose(output, explanation.cf_prediction, atol=1e-5)
    before, after = classes_of(explanation.prediction, **how), classes_of(output, **how)
    assert bool((before != after).all())
