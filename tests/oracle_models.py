"""What the tests of oracles share: models as people write them, and their answers by hand."""

import copy

import torch
from torch import nn
from torch_geometric.data import Batch
from torch_geometric.nn import (
    GATConv,
    GCNConv,
    GINConv,
    GINEConv,
    SAGEConv,
    Sequential,
    global_add_pool,
    global_max_pool,
    global_mean_pool,
)

from conftest import random_graph, random_toggles
from edgeflip.core import PairEdits, PairSpace
from edgeflip.oracle.gcn import GCNClassifier
from edgeflip.oracle.model import ModelOracle


def moves(graph, fill=None):
    """All edits of a graph, whether or not there is a fill for them."""
    return PairEdits(PairSpace.of(graph), fill=fill)


NO_CANDIDATES = torch.empty(0, 2, dtype=torch.long)


def gin(inputs, outputs, **options):
    layers = nn.Sequential(nn.Linear(inputs, outputs), nn.ReLU(), nn.Linear(outputs, outputs))
    return GINConv(layers, **options)


def gine(inputs, outputs):
    return GINEConv(nn.Sequential(nn.Linear(inputs, outputs)), edge_dim=2)


def gat_with_edges(inputs, outputs):
    return GATConv(inputs, outputs, edge_dim=2)


class Backbone(nn.Module):
    """Two convolutions with BatchNorm and dropout, which make train and eval mode disagree."""

    def __init__(self, conv=GCNConv, outputs=3):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = conv(3, 8), conv(8, 8)
        self.norm, self.dropout = nn.BatchNorm1d(8), nn.Dropout(0.5)
        self.out = nn.Linear(8, outputs)
        nn.init.normal_(self.norm.running_mean, std=0.3)
        nn.init.uniform_(self.norm.running_var, 0.5, 2.0)
        nn.init.normal_(self.out.weight, std=3.0)

    def logits(self, x, edge_index, batch, *extra, pool=global_mean_pool):
        hidden = self.dropout(self.norm(self.first(x, edge_index, *extra)).relu())
        hidden = self.second(hidden, edge_index, *extra).relu()
        return self.out(pool(hidden, batch))


class ByTensors(Backbone):
    def forward(self, x, edge_index, batch):
        return self.logits(x, edge_index, batch)


class ByData(Backbone):
    def forward(self, data):
        return self.logits(data.x, data.edge_index, data.batch, pool=global_add_pool)


class ByDataOfManyParts(Backbone):
    def forward(self, data, temperature=1.0):
        pooled = self.logits(data.x, data.edge_index, data.batch)
        assert pooled.size(0) == data.num_graphs == len(data.ptr) - 1
        return pooled / temperature


class WithEdgeAttributes(Backbone):
    def forward(self, x, edge_index, edge_attr, batch):
        return self.logits(x, edge_index, batch, edge_attr)


class WithEdgeWeights(Backbone):
    def forward(self, x, edge_index, edge_weight=None, batch=None):
        return self.logits(x, edge_index, batch, edge_weight, pool=global_max_pool)


class OtherNameForBatch(Backbone):
    def forward(self, x, edge_index, batch_index):
        return self.logits(x, edge_index, batch_index)


class OneLogit(ByTensors):
    def __init__(self):
        super().__init__(outputs=1)


class FlatLogit(OneLogit):
    def forward(self, x, edge_index, batch):
        return super().forward(x, edge_index, batch).view(-1)


class Probabilities(ByTensors):
    def forward(self, x, edge_index, batch):
        return super().forward(x, edge_index, batch).softmax(dim=1)


class OneProbability(OneLogit):
    def forward(self, x, edge_index, batch):
        return super().forward(x, edge_index, batch).sigmoid()


class LogProbabilities(ByTensors):
    def forward(self, x, edge_index, batch):
        return super().forward(x, edge_index, batch).log_softmax(dim=1)


class OneGraphAtATime(Backbone):
    def forward(self, x, edge_index):
        return self.logits(x, edge_index, x.new_zeros(len(x)).long())


class OneGraphAsARow(OneGraphAtATime):
    def forward(self, x, edge_index):
        return super().forward(x, edge_index)[0]


class OddSignature(Backbone):
    def forward(self, features, edges, graph_of_node):
        return self.logits(features, edges, graph_of_node)


class SizedPool(Backbone):
    def forward(self, x, edge_index, batch, size=None):
        hidden = self.first(x, edge_index).relu()
        return self.out(global_mean_pool(hidden, batch, size))


def pyg_sequential():
    torch.manual_seed(0)
    layers = [
        (GCNConv(3, 8), "x, edge_index -> x"),
        nn.BatchNorm1d(8),
        nn.ReLU(),
        nn.Dropout(0.5),
        (global_mean_pool, "x, batch -> x"),
        nn.Linear(8, 3),
    ]
    return Sequential("x, edge_index, batch", layers)


def statistics(graphs):
    """A plain function, with no torch model behind it."""
    rows = [[g.num_edges / 10, float(g.x.sum()), float(g.x[g.edge_index[0]].sum())] for g in graphs]
    return torch.tensor(rows)


def statistics_as_lists(graphs):
    return statistics(graphs).tolist()


def alone(data):
    return torch.zeros(data.num_nodes, dtype=torch.long)


def softmax(logits):
    return logits.reshape(1, -1).softmax(dim=1)[0]


def binary(logit):
    return torch.stack([(-logit).sigmoid(), logit.sigmoid()]).flatten()


def by_tensors(model, data):
    return softmax(model(data.x, data.edge_index, alone(data)))


def by_data(model, data):
    return softmax(model(Batch.from_data_list([data])))


PLAIN = random_graph(7, seed=3)
ATTRIBUTED = random_graph(7, seed=3, edge_attr=2)
WEIGHTED = random_graph(7, seed=3, edge_weight=True)


class Case:
    """A model, how to wrap it, and how its answer on one graph is worked out by hand."""

    def __init__(self, make, reference, graph=PLAIN, fill=None, **options):
        self.make, self.reference, self.graph = make, reference, graph
        self.fill, self.options = fill, options


CASES = {
    "GCN": Case(lambda: ByTensors(GCNConv), by_tensors),
    "GIN": Case(lambda: ByTensors(gin), by_tensors),
    "GAT": Case(lambda: ByTensors(GATConv), by_tensors),
    "GraphSAGE": Case(lambda: ByTensors(SAGEConv), by_tensors),
    "GCN with self-loops in the graph": Case(
        lambda: ByTensors(GCNConv), by_tensors, random_graph(7, seed=3, loops=[1, 4])
    ),
    "forward(data)": Case(ByData, by_data),
    "forward(data, temperature=1)": Case(ByDataOfManyParts, by_data),
    "GINE with edge_attr": Case(
        lambda: WithEdgeAttributes(gine),
        lambda model, data: softmax(model(data.x, data.edge_index, data.edge_attr, alone(data))),
        ATTRIBUTED,
        "mean",
    ),
    "GAT with edge_attr": Case(
        lambda: WithEdgeAttributes(gat_with_edges),
        lambda model, data: softmax(model(data.x, data.edge_index, data.edge_attr, alone(data))),
        ATTRIBUTED,
        lambda graph, edge: torch.tensor([edge[0] / 7, edge[1] / 7]),
    ),
    "edge_weight": Case(
        WithEdgeWeights,
        lambda model, data: softmax(model(data.x, data.edge_index, data.edge_weight, alone(data))),
        WEIGHTED,
        {"edge_weight": 0.7},
    ),
    "edge_weight that the graph does not have": Case(
        WithEdgeWeights,
        lambda model, data: softmax(model(data.x, data.edge_index, None, alone(data))),
    ),
    "batch by another name": Case(OtherNameForBatch, by_tensors),
    "one logit": Case(
        OneLogit, lambda model, data: binary(model(data.x, data.edge_index, alone(data)))
    ),
    "one flat logit": Case(
        FlatLogit, lambda model, data: binary(model(data.x, data.edge_index, alone(data)))
    ),
    "probabilities": Case(
        Probabilities,
        lambda model, data: model(data.x, data.edge_index, alone(data))[0],
        returns="probabilities",
    ),
    "one probability": Case(
        OneProbability,
        lambda model, data: torch.tensor(
            [1 - float(p := model(data.x, data.edge_index, alone(data))), float(p)]
        ),
        returns="probabilities",
    ),
    "log_softmax": Case(
        LogProbabilities, lambda model, data: model(data.x, data.edge_index, alone(data))[0].exp()
    ),
    "plain function": Case(
        lambda: statistics, lambda model, data: statistics([data])[0].softmax(dim=0)
    ),
    "plain function that gives lists": Case(
        lambda: statistics_as_lists, lambda model, data: statistics([data])[0].softmax(dim=0)
    ),
    "PyG Sequential": Case(pyg_sequential, by_tensors),
    "no batch": Case(OneGraphAtATime, lambda model, data: softmax(model(data.x, data.edge_index))),
    "no batch, one row": Case(
        OneGraphAsARow, lambda model, data: softmax(model(data.x, data.edge_index))
    ),
    "call function": Case(
        OddSignature,
        by_tensors,
        call=lambda model, batch: model(batch.x, batch.edge_index, batch.batch),
    ),
    "module called with graphs": Case(
        lambda: GraphsModule(),
        lambda model, data: softmax(model([data])),
        call="graphs",
    ),
    "our GCN": Case(lambda: our_gcn(), by_tensors),
}


class GraphsModule(ByTensors):
    def forward(self, graphs):
        batch = Batch.from_data_list(graphs)
        return super().forward(batch.x, batch.edge_index, batch.batch)


def our_gcn(**options):
    torch.manual_seed(0)
    options = {"layers": (6, 5), "dropout": 0.3, **options}
    model = GCNClassifier(num_features=3, num_classes=3, **options)
    for conv in model.convs:
        nn.init.normal_(conv.bias, std=0.3)
    return model


def prepared(name):
    """The case, its model in a mixed mode, its oracle, graph and some candidates."""
    case = CASES[name]
    model = case.make()
    if isinstance(model, nn.Module):
        model.train()
    oracle = ModelOracle(model, **case.options)
    space = moves(case.graph, case.fill)
    return case, model, oracle, space, random_toggles(space)


def by_hand(case, model, graphs):
    """The answers of the bare model in eval mode, one graph at a time."""
    model = copy.deepcopy(model)
    if isinstance(model, nn.Module):
        model.eval()
    with torch.no_grad():
        return torch.stack([case.reference(model, graph) for graph in graphs])


def assert_close(one, two):
    torch.testing.assert_close(one, two, atol=1e-5, rtol=0)


def state_of(model):
    return {
        "modes": {name: module.training for name, module in model.named_modules()},
        "parameters": {name: p.detach().clone() for name, p in model.named_parameters()},
        "buffers": {name: buffer.clone() for name, buffer in model.named_buffers()},
        "wants": {name: p.requires_grad for name, p in model.named_parameters()},
        "gradients": {
            name: None if p.grad is None else p.grad.clone() for name, p in model.named_parameters()
        },
    }


def assert_same_state(before, after):
    for part in ("modes", "wants"):
        assert before[part] == after[part]
    for part in ("parameters", "buffers", "gradients"):
        assert before[part].keys() == after[part].keys()
        for name, value in before[part].items():
            other = after[part][name]
            assert other is None if value is None else torch.equal(value, other), name


def unusual_state(model):
    """Most in training mode, one part in eval, one parameter frozen, one with a gradient."""
    model.train()
    modules, parameters = list(model.children()), list(model.parameters())
    modules[-1].eval()
    parameters[0].requires_grad_(False)
    parameters[-1].grad = torch.ones_like(parameters[-1])
    return state_of(model)
