"""The model behind its interface: every way of calling one, and leaving it as it was found."""

import copy
import pickle
import warnings

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data
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

from conftest import (
    assert_sentence,
    edited_graphs,
    make_graph,
    path_graph,
    random_graph,
    random_toggles,
    same_content,
    snapshot,
)
from edgeflip.core import PairEdits, PairSpace
from edgeflip.errors import (
    BudgetExhausted,
    ConfigError,
    EdgeflipError,
    EditError,
    GraphError,
    NotApplicableError,
    OracleError,
)
from edgeflip.oracle.budget import Budget, MeteredOracle, checked_proba
from edgeflip.oracle.gcn import GCNClassifier
from edgeflip.oracle.model import DENSE_NODE_LIMIT, ModelOracle
from edgeflip.oracle.protocols import DifferentiableOracle, EditOracle, Oracle


def moves(graph, fill=None):
    """All edits of a graph, whether or not there is a fill for them."""
    return PairEdits(PairSpace.of(graph), fill=fill)


NO_CANDIDATES = torch.empty(0, 2, dtype=torch.long)


# Models as people write them.


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


@pytest.mark.parametrize("name", CASES)
def test_edits_are_answered_as_if_the_edited_graphs_were_asked(name):
    case, model, oracle, space, toggles = prepared(name)
    before = snapshot(case.graph)
    edited = edited_graphs(space, toggles, fill=case.fill)
    wanted = by_hand(case, model, edited)
    assert wanted.std(dim=0).max() > 1e-3, "the edits of this case must matter"
    asked = oracle.predict_proba(edited)
    answered = oracle.predict_edits(space, toggles)
    assert_close(asked, wanted)
    assert_close(answered, wanted)
    assert answered.dtype == torch.float32
    assert not answered.requires_grad
    assert oracle.num_classes == wanted.size(1)
    assert same_content(before, snapshot(case.graph))


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("batch_size", [1, 7, 256])
def test_the_batch_size_does_not_change_the_answers(name, batch_size):
    case, model, _, space, toggles = prepared(name)
    oracle = ModelOracle(model, batch_size=batch_size, **case.options)
    edited = edited_graphs(space, toggles, fill=case.fill)
    wanted = by_hand(case, model, edited)
    assert_close(oracle.predict_proba(edited), wanted)
    assert_close(oracle.predict_edits(space, toggles), wanted)


@pytest.mark.parametrize("name", CASES)
def test_a_tiny_memory_still_answers(name):
    case, model, _, space, toggles = prepared(name)
    oracle = ModelOracle(model, memory=1, **case.options)
    edited = edited_graphs(space, toggles[:5], fill=case.fill)
    assert_close(oracle.predict_edits(space, toggles[:5]), by_hand(case, model, edited))


def test_a_batch_is_cut_to_the_batch_size():
    sizes = []

    class Watching(ByTensors):
        def forward(self, x, edge_index, batch):
            sizes.append(int(batch.max()) + 1)
            return super().forward(x, edge_index, batch)

    space = moves(PLAIN)
    oracle = ModelOracle(Watching(), batch_size=8)
    oracle.predict_edits(space, random_toggles(space))
    oracle.predict_proba([PLAIN] * 9)
    assert sizes == [8, 8, 4, 8, 1]


# The model is left as it was.


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


MODULES = [name for name, case in CASES.items() if not name.startswith("plain")]


@pytest.mark.parametrize("name", MODULES)
def test_a_model_is_left_exactly_as_it_was(name):
    case, model, oracle, space, toggles = prepared(name)
    before = unusual_state(model)
    assert len(set(before["modes"].values())) == 2
    oracle.predict_proba([case.graph, case.graph])
    oracle.predict_edits(space, toggles)
    with oracle.frozen(), oracle.frozen():
        assert not any(module.training for module in model.modules())
        assert not any(parameter.requires_grad for parameter in model.parameters())
    assert_same_state(before, state_of(model))


def test_a_model_is_left_as_it_was_when_it_raises():
    class Raising(ByTensors):
        def forward(self, x, edge_index, batch):
            super().forward(x, edge_index, batch)
            raise RuntimeError("no")

    model = Raising()
    before = unusual_state(model)
    with pytest.raises(OracleError):
        ModelOracle(model).predict_proba([PLAIN])
    assert_same_state(before, state_of(model))


def test_a_model_stays_frozen_until_the_last_user_leaves():
    model = ByTensors()
    oracle = ModelOracle(model)
    first, second = oracle.frozen(), oracle.frozen()
    before = unusual_state(model)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert not model.dropout.training
    second.__exit__(None, None, None)
    assert_same_state(before, state_of(model))


def test_gradients_stay_switched_on_for_the_caller():
    ModelOracle(ByTensors()).predict_proba([PLAIN])
    assert torch.is_grad_enabled()


def test_a_model_can_be_trained_between_two_predictions():
    model = our_gcn()
    oracle = ModelOracle(model)
    space, toggles = moves(PLAIN), torch.tensor([[0], [1]])
    before = oracle.predict_edits(space, toggles)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(1.5)
    after = oracle.predict_edits(space, toggles)
    assert (after - before).abs().max() > 1e-3
    assert_close(after, oracle.predict_proba(edited_graphs(space, toggles)))


# The dense path.


@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("readout", ["mean", "max", "sum"])
@pytest.mark.parametrize("loops", [(), (0, 3)], ids=["plain", "self-loops"])
def test_dense_and_sparse_path_give_the_same_answers(normalize, readout, loops):
    model = our_gcn(normalize=normalize, readout=readout, layers=(8, 7, 6))
    if readout == "sum" and not normalize:
        nn.init.normal_(model.classify.weight, std=0.003)  # or every probability is 0 or 1
    space = moves(random_graph(9, loops=loops, seed=5))
    toggles = random_toggles(space, candidates=60, width=4)
    dense, sparse, auto = (
        ModelOracle(model, path=path, batch_size=25) for path in ("dense", "sparse", "auto")
    )
    assert dense.uses_dense_path(space.input)
    assert auto.uses_dense_path(space.input)
    assert not sparse.uses_dense_path(space.input)
    wanted = sparse.predict_proba(edited_graphs(space, toggles))
    assert wanted.std(dim=0).max() > 1e-3
    for oracle in (dense, sparse, auto):
        assert_close(oracle.predict_edits(space, toggles), wanted)


@pytest.mark.parametrize("path", ["dense", "sparse"])
def test_the_path_that_was_asked_for_is_the_one_taken(path):
    taken = []

    class Watching(GCNClassifier):
        def forward(self, *args, **kwargs):
            taken.append("sparse")
            return super().forward(*args, **kwargs)

        def dense_logits(self, *args, **kwargs):
            taken.append("dense")
            return super().dense_logits(*args, **kwargs)

    space = moves(PLAIN)
    ModelOracle(Watching(3, 2), path=path).predict_edits(space, torch.tensor([[0], [1]]))
    assert set(taken) == {path}


@pytest.mark.parametrize("batch_size", [1, 2, 256])
def test_single_candidates_on_the_dense_path_do_not_leak_into_the_next(batch_size):
    oracle = ModelOracle(our_gcn(), path="dense", batch_size=batch_size)
    space = moves(PLAIN)
    toggles = torch.arange(space.pairs.num_pairs)[:, None]
    wanted = oracle.predict_proba(edited_graphs(space, toggles))
    assert_close(oracle.predict_edits(space, toggles), wanted)
    with oracle.frozen():
        rows = [oracle.predict_edits(space, row[None]) for row in toggles]
    assert_close(torch.cat(rows), wanted)


def test_blocks_of_any_size_are_answered_in_any_order_on_the_dense_path():
    oracle = ModelOracle(our_gcn(), path="dense", batch_size=16)
    space = moves(PLAIN)
    toggles = torch.arange(space.pairs.num_pairs)[:, None]
    wanted = oracle.predict_proba(edited_graphs(space, toggles))
    with oracle.frozen():
        for count in (1, 3, 2, space.pairs.num_pairs, 5):
            assert_close(oracle.predict_edits(space, toggles[:count]), wanted[:count])


def test_two_graphs_asked_about_in_turn_are_not_mixed_up():
    oracle = ModelOracle(our_gcn(), path="dense")
    spaces = [moves(random_graph(7, seed=seed)) for seed in (1, 2)]
    toggles = torch.tensor([[0], [5]])
    with oracle.frozen():
        for space in spaces * 2:
            wanted = oracle.predict_proba(edited_graphs(space, toggles))
            assert_close(oracle.predict_edits(space, toggles), wanted)


def test_a_graph_with_edge_weights_does_not_go_through_the_dense_path():
    model, space = our_gcn(), moves(WEIGHTED)
    toggles = random_toggles(space)
    auto = ModelOracle(model)
    assert not auto.uses_dense_path(space.input)
    wanted = auto.predict_proba(edited_graphs(space, toggles))
    assert_close(auto.predict_edits(space, toggles), wanted)
    with pytest.raises(NotApplicableError) as error:
        ModelOracle(model, path="dense").predict_edits(space, toggles)
    assert_sentence(error, "dense")


def test_large_graphs_only_go_through_the_dense_path_when_asked_to():
    space = moves(path_graph(DENSE_NODE_LIMIT + 1))
    assert not ModelOracle(our_gcn()).uses_dense_path(space.input)
    assert ModelOracle(our_gcn(), path="dense").uses_dense_path(space.input)


def test_the_dense_path_is_refused_for_other_models():
    with pytest.raises(ConfigError) as error:
        ModelOracle(ByTensors(), path="dense")
    assert_sentence(error, "dense_logits", "ByTensors", "path='auto'")


@pytest.mark.parametrize("path", ["dense", "sparse"])
def test_a_model_in_double_precision_is_answered_on_both_paths(path):
    graph = random_graph(7)
    graph.x = graph.x.double()
    space = moves(graph)
    toggles = random_toggles(space)
    oracle = ModelOracle(our_gcn().double(), path=path)
    wanted = oracle.predict_proba(edited_graphs(space, toggles))
    assert_close(oracle.predict_edits(space, toggles), wanted)


# Soft graphs.


def soft_model(kind, **options):
    return our_gcn(**options) if kind == "ours" else WithEdgeWeights()


def masks(space, count=6):
    """Random 0/1 weights per undirected edge, and the graphs they stand for."""
    generator = torch.Generator().manual_seed(4)
    kept = torch.rand(count, len(space.edge_ids), generator=generator) < 0.6
    weights = torch.ones(count, space.graph.num_edges)
    for row in range(count):
        weights[row, space.columns[~kept[row]].flatten()] = 0.0
    graphs = [Data(x=space.graph.x, edge_index=space.graph.edge_index[:, w > 0]) for w in weights]
    return weights, graphs


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("ours", {"normalize": True}),
        ("ours", {"normalize": False}),
        ("ours", {"normalize": True, "readout": "max"}),
        ("theirs", {}),
    ],
)
@pytest.mark.parametrize("loops", [(), (0, 3)], ids=["plain", "self-loops"])
def test_weight_0_is_a_removed_edge_and_weight_1_an_ordinary_one(kind, options, loops):
    model = soft_model(kind, **options)
    oracle = ModelOracle(model)
    space = PairSpace.of(random_graph(7, seed=3, loops=loops))
    weights, removed = masks(space)
    batch = Batch.from_data_list([space.graph] * len(weights))
    soft = oracle.soft_logits(batch.x, batch.edge_index, weights.flatten(), batch.batch)
    assert soft.shape == (len(weights), 3)
    assert_close(soft.softmax(dim=1), oracle.predict_proba(removed))
    ones = torch.ones(space.graph.num_edges)
    whole = oracle.soft_logits(space.graph.x, space.graph.edge_index, ones, alone(space.graph))
    assert_close(whole.softmax(dim=1), oracle.predict_proba([space.graph]))


@pytest.mark.parametrize("kind", ["ours", "theirs"])
def test_gradients_reach_the_weights_and_nothing_else(kind):
    model = soft_model(kind, **({"normalize": True} if kind == "ours" else {}))
    oracle = ModelOracle(model)
    before = unusual_state(model)
    weights = torch.full((PLAIN.num_edges,), 0.5, requires_grad=True)
    logits = oracle.soft_logits(PLAIN.x, PLAIN.edge_index, weights, alone(PLAIN))
    logits[0, 0].backward()
    assert weights.grad.abs().sum() > 1e-4
    assert_same_state(before, state_of(model))


def test_soft_logits_have_the_slope_of_finite_differences():
    oracle = ModelOracle(our_gcn(normalize=True).double())
    x = PLAIN.x.double()

    def first_logit(weights):
        return oracle.soft_logits(x, PLAIN.edge_index, weights, alone(PLAIN))[0, 0]

    weights = torch.full((PLAIN.num_edges,), 0.5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(first_logit, weights)


def test_a_single_soft_logit_is_widened_to_two():
    class OneWeighted(WithEdgeWeights):
        def __init__(self):
            super().__init__(outputs=1)

    oracle = ModelOracle(OneWeighted())
    ones = torch.ones(PLAIN.num_edges)
    soft = oracle.soft_logits(PLAIN.x, PLAIN.edge_index, ones, alone(PLAIN))
    assert_close(soft.softmax(dim=1), oracle.predict_proba([PLAIN]))


@pytest.mark.parametrize("name", ["GIN", "forward(data)", "plain function", "probabilities"])
def test_a_model_without_edge_weights_has_no_soft_graphs(name):
    case, _, oracle, _, _ = prepared(name)
    graph = case.graph
    with pytest.raises(NotApplicableError) as error:
        oracle.soft_logits(graph.x, graph.edge_index, torch.ones(graph.num_edges), alone(graph))
    assert_sentence(error, "edge_weight")


# What is refused.


class Answering(nn.Module):
    """A model that gives a fixed kind of output."""

    def __init__(self, output):
        super().__init__()
        self.output = output

    def forward(self, x, edge_index, batch):
        return self.output(int(batch.max()) + 1, len(x))


def ask(output, **options):
    return ModelOracle(Answering(output), **options).predict_proba([PLAIN, PLAIN])


@pytest.mark.parametrize(
    ("output", "word"),
    [
        (lambda graphs, nodes: torch.full((graphs, 2), float("nan")), "NaN"),
        (lambda graphs, nodes: torch.tensor([[0.0, 1.0], [0.0, float("inf")]]), "infinity"),
        (lambda graphs, nodes: torch.zeros(graphs, 5), "3 columns"),
        (lambda graphs, nodes: torch.zeros(graphs, 1), "3 columns"),
        (lambda graphs, nodes: torch.zeros(nodes, 3), "pools its nodes"),
        (lambda graphs, nodes: torch.zeros(1, 3), "pools its nodes"),
        (lambda graphs, nodes: torch.zeros(graphs, 0), "classes"),
        (lambda graphs, nodes: torch.zeros(3), "per graph"),
        (lambda graphs, nodes: torch.zeros(graphs, 3, 1), "per graph"),
        (lambda graphs, nodes: torch.tensor(0.5), "per graph"),
        (lambda graphs, nodes: (torch.zeros(graphs, 3), torch.zeros(nodes, 8)), "call="),
        (lambda graphs, nodes: {"logits": torch.zeros(graphs, 3)}, "call="),
        (lambda graphs, nodes: None, "call="),
    ],
    ids=[
        "NaN",
        "infinity",
        "columns",
        "one column",
        "node rows",
        "one row",
        "no columns",
        "one flat row",
        "three dimensions",
        "scalar",
        "tuple",
        "dictionary",
        "nothing",
    ],
)
def test_an_answer_that_is_none_is_refused_in_one_sentence(output, word):
    with pytest.raises(OracleError) as error:
        ask(output, num_classes=3)
    assert_sentence(error, word)


def test_the_message_of_a_model_that_raises_is_kept():
    class Raising(nn.Module):
        def forward(self, x, edge_index, batch):
            raise RuntimeError("the flux capacitor\n  is empty")

    oracle = ModelOracle(Raising(), num_classes=2)
    space = moves(PLAIN)
    for ask_it in (
        lambda: oracle.predict_proba([PLAIN]),
        lambda: oracle.predict_edits(space, torch.tensor([[0]])),
    ):
        with pytest.raises(OracleError) as error:
            ask_it()
        assert_sentence(error, "RuntimeError", "the flux capacitor is empty")
        assert isinstance(error.value.__cause__, RuntimeError)


@pytest.mark.parametrize("path", ["dense", "sparse"])
def test_features_of_the_wrong_width_are_refused(path):
    graph = random_graph(7, features=4)
    oracle = ModelOracle(our_gcn(), path=path)
    for ask_it in (
        lambda: oracle.predict_proba([graph]),
        lambda: oracle.predict_edits(moves(graph), torch.tensor([[0]])),
    ):
        with pytest.raises(OracleError) as error:
            ask_it()
        assert_sentence(error, "features")


def test_an_attribute_that_forward_asks_for_and_the_graph_lacks_is_named():
    with pytest.raises(OracleError) as error:
        ModelOracle(WithEdgeAttributes(gine)).predict_proba([PLAIN])
    assert_sentence(error, "'edge_attr'")


def test_graphs_that_cannot_be_batched_are_refused():
    with pytest.raises(GraphError) as error:
        ModelOracle(ByTensors()).predict_proba([PLAIN, random_graph(7, features=4)])
    assert_sentence(error)


def test_edits_without_a_fill_are_refused():
    space = moves(ATTRIBUTED)
    oracle = ModelOracle(WithEdgeAttributes(gine))
    with pytest.raises(EditError) as error:
        oracle.predict_edits(space, space.pairs.non_edge_ids()[:, None])
    assert_sentence(error, "fill")


def test_a_node_classifier_without_batch_is_not_taken_for_a_graph_classifier():
    class PerNode(nn.Module):
        def forward(self, x, edge_index):
            return x

    with pytest.raises(OracleError) as error:
        ModelOracle(PerNode()).predict_proba([PLAIN])
    assert_sentence(error)


def test_a_model_that_squeezes_its_logit_answers_for_one_graph_alone_too():
    class Squeezing(OneLogit):
        def forward(self, x, edge_index, batch):
            return super().forward(x, edge_index, batch).squeeze()

    other = random_graph(6, seed=8)
    oracle = ModelOracle(Squeezing())
    both = oracle.predict_proba([PLAIN, other])
    assert_close(both, torch.cat([oracle.predict_proba([graph]) for graph in (PLAIN, other)]))


def test_an_argument_named_like_a_method_of_data_is_left_alone():
    model = SizedPool().eval()
    wanted = model(PLAIN.x, PLAIN.edge_index, alone(PLAIN)).softmax(dim=1).detach()
    assert_close(ModelOracle(model).predict_proba([PLAIN]), wanted)


def test_probabilities_read_as_logits_are_warned_about_once():
    oracle = ModelOracle(Probabilities())
    with pytest.warns(UserWarning, match="returns='probabilities'"):
        oracle.predict_proba([PLAIN])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        oracle.predict_proba([PLAIN])


@pytest.mark.parametrize("name", ["GCN", "one logit", "log_softmax", "probabilities"])
def test_a_model_that_is_read_rightly_is_not_warned_about(name):
    case, _, oracle, space, toggles = prepared(name)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        oracle.predict_proba([case.graph])
        oracle.predict_edits(space, toggles)


@pytest.mark.parametrize("model", [ByTensors, OneLogit, LogProbabilities])
def test_logits_read_as_probabilities_are_refused(model):
    model = model()
    with torch.no_grad():
        model.out.bias += 3.0
    with pytest.raises(OracleError) as error:
        ModelOracle(model, returns="probabilities").predict_proba([PLAIN])
    assert_sentence(error, "returns='logits'")


def test_a_signature_that_does_not_tell_is_refused():
    with pytest.raises(ConfigError) as error:
        ModelOracle(OddSignature())
    assert_sentence(error, "features, edges, graph_of_node", "call=")


@pytest.mark.parametrize(
    "options",
    [
        {"call": "magic"},
        {"returns": "scores"},
        {"path": "fast"},
        {"batch_size": 0},
        {"memory": 0},
        {"num_classes": 3, "class_names": ["a", "b"]},
    ],
    ids=lambda options: next(iter(options)),
)
def test_an_option_out_of_range_is_refused(options):
    with pytest.raises(ConfigError) as error:
        ModelOracle(ByTensors(), **options)
    assert_sentence(error)


def test_something_that_cannot_be_called_is_no_model():
    with pytest.raises(ConfigError) as error:
        ModelOracle("GCN")
    assert_sentence(error, "str")


# Classes.


def test_the_number_of_classes_is_read_off_the_first_answer():
    oracle = ModelOracle(ByTensors())
    with pytest.raises(OracleError, match="pass num_classes="):
        _ = oracle.num_classes
    oracle.predict_proba([PLAIN])
    assert oracle.num_classes == 3


def test_the_number_of_classes_may_come_from_their_names():
    oracle = ModelOracle(ByTensors(), class_names=["a", "b", "c"])
    assert oracle.num_classes == 3
    assert oracle.class_names == ("a", "b", "c")


def test_predicted_classes_are_the_most_probable_ones():
    graphs = [random_graph(6, seed=seed) for seed in range(8)]
    oracle = ModelOracle(ByTensors())
    assert torch.equal(oracle.predict(graphs), oracle.predict_proba(graphs).argmax(dim=1))


def test_the_protocols_are_kept():
    oracle = ModelOracle(our_gcn(), num_classes=3)
    assert isinstance(oracle, Oracle)
    assert isinstance(oracle, EditOracle)
    assert isinstance(oracle, DifferentiableOracle)


@pytest.mark.parametrize("path", ["dense", "sparse"])
@pytest.mark.parametrize("label", [None, torch.tensor([1])], ids=["plain", "with y"])
def test_no_candidates_get_no_answers(path, label):
    graph = random_graph(7)
    if label is not None:
        graph.y = label
    oracle = ModelOracle(our_gcn(), num_classes=3, path=path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert oracle.predict_edits(moves(graph), NO_CANDIDATES).shape == (0, 3)
        assert oracle.predict_proba([]).shape == (0, 3)


def test_a_fingerprint_follows_the_weights():
    one, two = our_gcn(), our_gcn()
    assert ModelOracle(one).fingerprint() == ModelOracle(two).fingerprint()
    with torch.no_grad():
        two.classify.bias[0] += 1e-6
    assert ModelOracle(one).fingerprint() != ModelOracle(two).fingerprint()
    assert ModelOracle(statistics).fingerprint() != ModelOracle(one).fingerprint()


@pytest.mark.parametrize("name", ["GCN", "forward(data)", "our GCN", "PyG Sequential"])
def test_a_copied_oracle_asks_its_own_copy_of_the_model(name):
    case, model, oracle, _, _ = prepared(name)
    before = oracle.predict_proba([case.graph])
    twin = copy.deepcopy(oracle)
    assert twin.model is not model
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert_close(twin.predict_proba([case.graph]), before)


@pytest.mark.parametrize("name", ["GCN", "forward(data)", "our GCN"])
def test_an_oracle_can_be_sent_to_another_process(name):
    case, _, oracle, space, toggles = prepared(name)
    twin = pickle.loads(pickle.dumps(oracle))
    assert_close(twin.predict_proba([case.graph]), oracle.predict_proba([case.graph]))
    assert_close(twin.predict_edits(space, toggles), oracle.predict_edits(space, toggles))


# Metering.


class Counting:
    """A plain oracle that notes every graph it is asked about."""

    num_classes = 2

    def __init__(self):
        self.asked = 0

    def predict_proba(self, graphs):
        self.asked += len(graphs)
        share = torch.tensor([g.num_edges / (2 * g.num_nodes**2) for g in graphs])
        return torch.stack([share, 1 - share], dim=1)


def metered(budget=None):
    oracle = ModelOracle(our_gcn(), num_classes=3, batch_size=4)
    return MeteredOracle(oracle, budget), moves(PLAIN)


def repeated_toggles(space):
    """Thirty candidates of which ten are different, in no order."""
    distinct = torch.arange(10)[:, None]
    order = torch.randperm(30, generator=torch.Generator().manual_seed(0)) % 10
    return distinct[order], order


def test_every_different_graph_counts_once():
    meter, space = metered()
    toggles, _ = repeated_toggles(space)
    answers = meter.answer(space, toggles)
    assert meter.calls == 10
    assert_close(answers, meter.oracle.predict_edits(space, toggles))


def test_repeats_are_free_across_calls():
    meter, space = metered(Budget(oracle_calls=12))
    toggles, _ = repeated_toggles(space)
    first = meter.answer(space, toggles)
    assert torch.equal(meter.answer(space, toggles), first)
    assert torch.equal(meter.predict_edits(space, toggles), first)
    assert meter.calls == 10
    assert meter.remaining == 2


def test_a_repeat_is_recognised_in_another_order_and_width():
    meter, space = metered()
    one = meter.answer(space, torch.tensor([[5, 2, -1]]))
    two = meter.answer(space, torch.tensor([[2, 5]]))
    assert meter.calls == 1
    assert torch.equal(one, two)


def test_another_graph_is_another_question():
    meter, space = metered()
    other = moves(random_graph(7, seed=9))
    toggles = torch.tensor([[0], [1]])
    meter.answer(space, toggles)
    assert_close(meter.answer(other, toggles), meter.oracle.predict_edits(other, toggles))
    assert meter.calls == 4


def test_another_fill_is_another_question():
    toggles = PairSpace.of(ATTRIBUTED).non_edge_ids()[:3, None]
    meter = MeteredOracle(ModelOracle(WithEdgeAttributes(gine), num_classes=3))
    for fill in (0.0, 5.0):
        space = moves(ATTRIBUTED, fill)
        assert_close(meter.answer(space, toggles), meter.oracle.predict_edits(space, toggles))
    assert meter.calls == 6


def naive_answers(oracle, space, toggles, calls):
    """Ask in order, remember, stop at the budget: one candidate at a time."""
    remembered, rows = {}, []
    for row in toggles:
        key = frozenset(row[row >= 0].tolist())
        if key not in remembered and len(remembered) < calls:
            remembered[key] = oracle.predict_edits(space, row[None])[0]
        rows.append(remembered.get(key, torch.full((3,), torch.nan)))
    return torch.stack(rows), len(remembered)


@pytest.mark.parametrize("calls", [0, 1, 3, 4, 5, 9, 10, 100])
def test_candidates_are_answered_in_order_and_nan_past_the_budget(calls):
    meter, space = metered(Budget(oracle_calls=calls))
    toggles, _ = repeated_toggles(space)
    wanted, asked = naive_answers(meter.oracle, space, toggles, calls)
    answers = meter.answer(space, toggles)
    torch.testing.assert_close(answers, wanted, atol=1e-5, rtol=0, equal_nan=True)
    assert meter.calls == asked
    assert meter.remaining == calls - asked


def test_what_was_answered_before_the_budget_ran_out_stays_known():
    meter, space = metered(Budget(oracle_calls=3))
    toggles = torch.arange(6)[:, None]
    first = meter.answer(space, toggles)
    second = meter.answer(space, toggles.flip(0))
    assert first.isnan().any(dim=1).tolist() == [False] * 3 + [True] * 3
    assert torch.equal(second.flip(0)[:3], first[:3])
    assert meter.out_of() == "out_of_calls"


def test_a_block_beyond_the_budget_raises_when_all_answers_are_wanted():
    meter, space = metered(Budget(oracle_calls=3))
    with pytest.raises(BudgetExhausted) as error:
        meter.predict_edits(space, torch.arange(6)[:, None])
    assert error.value.reason == "out_of_calls"
    assert_sentence(error, "oracle_calls=3")


def test_graphs_beyond_the_budget_are_not_asked_about():
    meter, _ = metered(Budget(oracle_calls=3))
    assert meter.predict_proba([PLAIN, PLAIN]).shape == (2, 3)
    with pytest.raises(BudgetExhausted) as error:
        meter.predict_proba([PLAIN, PLAIN])
    assert error.value.reason == "out_of_calls"
    assert meter.calls == 2
    assert meter.predict_proba([PLAIN]).shape == (1, 3)
    assert meter.out_of() == "out_of_calls"


def test_a_deadline_of_0_has_passed_before_the_first_call():
    meter, space = metered(Budget(seconds=0))
    assert meter.out_of() == "timeout"
    assert meter.answer(space, torch.tensor([[0], [1]])).isnan().all()
    with pytest.raises(BudgetExhausted) as error:
        meter.predict_proba([PLAIN])
    assert error.value.reason == "timeout"
    with pytest.raises(BudgetExhausted) as error:
        meter.predict_edits(space, torch.tensor([[0]]))
    assert error.value.reason == "timeout"
    assert meter.calls == 0


def test_without_a_budget_nothing_runs_out():
    meter, _ = metered()
    assert meter.out_of() is None
    assert meter.remaining == float("inf")
    assert meter.num_classes == 3


@pytest.mark.parametrize("limit", [{"oracle_calls": -1}, {"seconds": -0.1}])
def test_a_negative_budget_is_refused(limit):
    with pytest.raises(ConfigError) as error:
        Budget(**limit)
    assert_sentence(error, next(iter(limit)))


def test_an_oracle_that_only_knows_graphs_is_metered_too():
    oracle = Counting()
    meter, space = MeteredOracle(oracle), moves(PLAIN)
    toggles, order = repeated_toggles(space)
    answers = meter.answer(space, toggles)
    assert oracle.asked == meter.calls == 10
    wanted = Counting().predict_proba(edited_graphs(space, toggles))
    assert_close(answers, wanted)
    assert torch.equal(answers[order == 3], answers[order == 3][:1].expand(3, 2))


@pytest.mark.parametrize("path", ["dense", "sparse"])
def test_no_new_candidates_are_no_reason_to_call_the_model(path):
    graph = random_graph(7)
    graph.y = torch.tensor([1])
    meter = MeteredOracle(ModelOracle(our_gcn(), num_classes=3, path=path))
    space, toggles = moves(graph), torch.tensor([[0], [1]])
    first = meter.answer(space, toggles)
    meter.oracle.model.forward = meter.oracle.model.dense_logits = None
    assert torch.equal(meter.answer(space, toggles), first)
    assert meter.answer(space, NO_CANDIDATES).shape == (0, 3)


def test_an_oracle_that_only_knows_graphs_is_never_asked_about_none():
    class Strict(Counting):
        def predict_proba(self, graphs):
            assert len(graphs) > 0
            return super().predict_proba(graphs)

    meter, space = MeteredOracle(Strict(), Budget(oracle_calls=2)), moves(PLAIN)
    toggles = torch.tensor([[0], [1]])
    first = meter.answer(space, toggles)
    assert torch.equal(meter.answer(space, toggles), first)
    assert meter.answer(space, torch.tensor([[2]])).isnan().all()
    assert meter.answer(space, NO_CANDIDATES).shape == (0, 2)


class Broken(Counting):
    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def predict_proba(self, graphs):
        return self.answer(len(graphs))


def _raise(count):
    raise ValueError("broken\ninside")


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        (lambda count: torch.full((count, 2), torch.nan), "NaN"),
        (lambda count: torch.ones(count, 2), "adding up to 1"),
        (lambda count: torch.tensor([[1.5, -0.5]] * count), "0 to 1"),
        (lambda count: torch.full((count, 3), 1 / 3), "[2, 2]"),
        (lambda count: torch.full((count + 1, 2), 0.5), "[3, 2]"),
        (_raise, "broken inside"),
    ],
    ids=["NaN", "sum", "negative", "columns", "rows", "raises"],
)
def test_the_answers_of_foreign_oracles_are_checked(answer, word):
    with pytest.raises(OracleError) as error:
        checked_proba(Broken(answer), [PLAIN, PLAIN])
    assert_sentence(error, word)
    with pytest.raises(OracleError):
        MeteredOracle(Broken(answer)).answer(moves(PLAIN), torch.tensor([[0], [1]]))


def test_good_answers_of_foreign_oracles_are_passed_on_as_floats():
    proba = checked_proba(Broken(lambda count: [[0.25, 0.75]] * count), [PLAIN, PLAIN])
    assert proba.dtype == torch.float32
    assert proba.tolist() == [[0.25, 0.75]] * 2


def test_a_graph_without_edges_can_be_asked_about():
    space = moves(make_graph(5, []))
    toggles = random_toggles(space)
    for oracle in (ModelOracle(ByTensors()), ModelOracle(our_gcn())):
        wanted = oracle.predict_proba(edited_graphs(space, toggles))
        assert_close(oracle.predict_edits(space, toggles), wanted)


def test_every_refusal_is_one_of_ours():
    assert issubclass(OracleError, EdgeflipError)
    assert issubclass(BudgetExhausted, EdgeflipError)
