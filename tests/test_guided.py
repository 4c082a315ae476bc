"""What leads EdgeFlip's beam: slopes, leaps, pools, and models without the channels that cannot matter."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, GINConv, global_add_pool, global_mean_pool

from conftest import random_graph
from edgeflip import Budget, Constraints, EdgeFlip, GCNClassifier, ModelOracle, explain
from edgeflip.core import PAD, PairEdits, PairSpace, pair_ids
from edgeflip.explainers.edgeflip import EdgeFlipConfig
from edgeflip.explainers.edgeflip.config import BeamConfig
from edgeflip.explainers.edgeflip.leaps import leaps
from edgeflip.oracle import SLOPE_PASSES, ClassGoal, slopes_of
from edgeflip.testing import example_graphs, example_oracle

ROOT = torch.empty(1, 0, dtype=torch.long)


def gcn(*, normalize=True, readout="max", seed=0, layers=(48, 48, 48)):
    torch.manual_seed(seed)
    return GCNClassifier(5, 3, layers=layers, normalize=normalize, readout=readout).eval()


def graph_with(nodes=9, seed=0, features=5):
    graph = random_graph(nodes, density=0.3, seed=seed)
    torch.manual_seed(seed)
    graph.x = torch.randn(nodes, features)
    return graph


def goal_of(oracle, graph, target=None):
    return ClassGoal(tuple(oracle.predict_proba([graph])[0].tolist()), target)


# Channels that cannot matter.


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("readout", ["max", "mean", "sum"])
@pytest.mark.parametrize("seed", range(3))
def test_channels_are_left_out_only_where_no_edge_makes_them_matter(normalize, readout, seed):
    model = gcn(normalize=normalize, readout=readout, seed=seed)
    with torch.no_grad():
        for conv in model.convs:
            conv.lin.weight[::2] *= 1e-12
            conv.bias[::2] = 0.0
    graph = graph_with(seed=seed)
    bound = model.on_graph(graph.x)
    assert sum(len(bias) for bias in bound.layers.biases) < 144
    nodes = graph.num_nodes
    generator = torch.Generator().manual_seed(seed)
    upper = (torch.rand(200, nodes, nodes, generator=generator) < 0.4).float().triu(1)
    matrices = upper + upper.transpose(1, 2) + torch.eye(nodes)
    with torch.no_grad():
        whole = model.dense_logits(model.project(graph.x), matrices)
        assert torch.allclose(bound.logits(matrices), whole, atol=2e-5, rtol=1e-5)


def test_where_every_channel_matters_all_are_kept():
    model = gcn()
    bound = model.on_graph(graph_with().x)
    assert [len(bias) for bias in bound.layers.biases] == [48, 48, 48]


def test_a_subclass_with_a_dense_way_of_its_own_is_asked_that_way():
    asked = []

    class Own(GCNClassifier):
        def dense_logits(self, projected, adjacency, sizes=None):
            asked.append(len(adjacency))
            return super().dense_logits(projected, adjacency, sizes)

        def forward(self, *args, **kwargs):
            return super().forward(*args, **kwargs)

    graph = graph_with()
    oracle = ModelOracle(Own(5, 3))
    oracle.predict_edits(PairEdits.of(graph), torch.tensor([[0], [3]]))
    assert asked == [2]
    assert oracle.dense_versions(PairEdits.of(graph)) is None


# Slopes.


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("readout", ["max", "mean", "sum"])
def test_slopes_are_derivatives_along_the_exact_change_of_the_messages(normalize, readout):
    graph = graph_with(seed=3)
    oracle = ModelOracle(gcn(normalize=normalize, readout=readout, seed=3).double())
    graph.x = graph.x.double()
    space, goal = PairEdits.of(graph), goal_of(oracle, graph)
    slopes = slopes_of(oracle, space, goal)
    assert slopes.name == "message matrix"
    rows = torch.tensor([[4, 11, PAD], [20, 7, 1]])
    found = slopes.of(rows, space.allowed)
    bound = oracle.dense_versions(space).bound
    for row, values in zip(rows, found, strict=True):
        row = row[row != PAD]
        for place, move in enumerate(space.allowed.tolist()):
            both = space.normalise(torch.cat([row, torch.tensor([move])])[None])
            versions = oracle.dense_versions(space)
            now = versions.matrices(space, row[None])
            then = versions.matrices(space, both)
            start, end = bound.layers.messages(now), bound.layers.messages(then)
            with torch.no_grad():
                margins = [
                    goal.margins(bound.logits_of_messages(mixed).softmax(dim=1)).max()
                    for mixed in (start, start + 1e-5 * (end - start))
                ]
            expected = float(margins[1] - margins[0]) / 1e-5
            assert float(values[place]) == pytest.approx(expected, abs=2e-3, rel=2e-3)


class Weighted(torch.nn.Module):
    """A model of the usual kind that takes edge weights."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.one, self.two = GCNConv(5, 8), GCNConv(8, 3)

    def forward(self, x, edge_index, batch, edge_weight=None):
        hidden = self.one(x, edge_index, edge_weight).relu()
        return global_mean_pool(self.two(hidden, edge_index, edge_weight), batch)


def test_a_model_that_takes_edge_weights_has_slopes_too():
    graph = graph_with(seed=1)
    oracle = ModelOracle(Weighted())
    space, goal = PairEdits.of(graph), goal_of(oracle, graph)
    slopes = slopes_of(oracle, space, goal)
    assert slopes.name == "edge weights"
    found = slopes.of(ROOT, space.allowed)[0]
    outputs = oracle.predict_edits(space, space.allowed[:, None])
    exact = (goal.margins(outputs) - goal.margins(oracle.predict_proba([graph]))).amax(dim=1)
    together = torch.corrcoef(torch.stack([found.double(), exact]))[0, 1]
    assert float(together) > 0.5


class Ignores(Weighted):
    """Takes edge weights and looks away."""

    def forward(self, x, edge_index, batch, edge_weight=None):
        return super().forward(x, edge_index, batch, None)


def test_where_no_gradient_flows_there_are_no_slopes():
    graph = graph_with()
    space = PairEdits.of(graph)
    for model in (Ignores(), torch.nn.Sequential()):
        oracle = ModelOracle(model, call=None if model.__class__ is Ignores else "data")
        assert slopes_of(oracle, space, ClassGoal((0.6, 0.2, 0.2))) is None
    function = ModelOracle(lambda graphs: torch.ones(len(graphs), 2), num_classes=2)
    assert slopes_of(function, space, ClassGoal((0.6, 0.4))) is None
    labels = ModelOracle(Weighted(), returns="labels", num_classes=3)
    assert slopes_of(labels, space, ClassGoal((1.0, 0.0, 0.0))) is None


@pytest.mark.parametrize("loops", [0, 2], ids=["nothing", "self-loops"])
def test_a_graph_without_edges_is_searched_whatever_the_model(loops):
    graph = Data(x=torch.randn(6, 5), edge_index=torch.arange(loops).expand(2, -1))
    weighted = ModelOracle(Weighted())
    space = PairEdits.of(graph)
    slopes = slopes_of(weighted, space, goal_of(weighted, graph))
    assert slopes.of(ROOT, space.allowed).shape == (1, 15)
    function = ModelOracle(weighted.predict_proba, returns="probabilities", num_classes=3)
    logits = ModelOracle(lambda graphs: weighted.predict_proba(graphs).log(), num_classes=3)
    for oracle in (weighted, function, logits):
        answer = EdgeFlip().fit([], oracle).explain(graph, budget=Budget(oracle_calls=200))
        assert answer.found or answer.trace.stopped_by == "out_of_calls"


class Passes(Weighted):
    """Counts the graphs that it is asked about, those that a gradient goes back through three times."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def forward(self, x, edge_index, batch, edge_weight=None):
        logits = super().forward(x, edge_index, batch, edge_weight)
        self.count += len(logits)
        if logits.requires_grad:
            logits.register_hook(self.back)
        return logits

    def back(self, gradient):
        self.count += 2 * len(gradient)


@pytest.mark.parametrize("calls", [None, 60])
def test_no_pass_of_the_model_is_left_out_of_the_count(calls):
    model, hard = Passes(), Constraints(rules=(lambda graph, edits: False,))
    explainer = EdgeFlip(EdgeFlipConfig(beam=BeamConfig(max_edits=4))).fit([], ModelOracle(model))
    answer = explainer.explain(
        graph_with(seed=5), constraints=hard, budget=Budget(oracle_calls=calls)
    )
    assert "edge weights" in answer.trace.notes["led_by"]
    assert 0 < model.count <= answer.trace.oracle_calls


def test_slopes_are_counted_and_the_trace_says_what_led():
    graph = graph_with(seed=5)
    oracle = ModelOracle(gcn(seed=5))
    hard = Constraints(rules=(lambda graph, edits: False,))
    answer = EdgeFlip().fit([], oracle).explain(graph, constraints=hard)
    assert answer.trace.notes["led_by"] == "inherited effects and slopes (message matrix)"
    assert answer.trace.stages["slopes"].oracle_calls >= SLOPE_PASSES
    black_box = ModelOracle(oracle.predict_proba, returns="probabilities", num_classes=3)
    answer = EdgeFlip().fit([], black_box).explain(graph, constraints=hard)
    assert answer.trace.notes["led_by"] == "inherited effects"
    assert "slopes" not in answer.trace.stages


@pytest.mark.parametrize("calls", [1, 20, 60, 100, 101, 102, 250])
def test_a_budget_that_ends_within_the_beam_is_kept(calls):
    graph = graph_with(seed=5)
    hard = Constraints(rules=(lambda graph, edits: False,))
    made = EdgeFlip().fit([], ModelOracle(gcn(seed=5)))
    answer = made.explain(graph, constraints=hard, budget=Budget(oracle_calls=calls))
    assert answer.trace.stopped_by == "out_of_calls"
    assert answer.trace.oracle_calls <= calls + 1


# Leaps.


def test_leaps_cut_off_a_node_or_two_joined_ones():
    graph = example_graphs(1, seed=4)[0]
    space = PairEdits.of(graph)
    pool = space.allowed
    rows = leaps(space, pool, torch.zeros(len(pool)), largest=15, joined=7, each=50)
    edges = {tuple(sorted(pair)) for pair in graph.edge_index.t().tolist()}
    for edits in space.edits(space.normalise(rows)):
        left = (edges - edits.removed) | edits.added
        nodes = range(graph.num_nodes)
        at = {node: [pair for pair in left if node in pair] for node in nodes}
        alone = [node for node in nodes if not at[node]]
        pairs = [
            pair
            for pair in itertools.combinations(nodes, 2)
            if at[pair[0]] == at[pair[1]] == [pair]
        ]
        assert alone or pairs
        assert 2 <= len(edits) <= 15


def test_of_pairs_of_nodes_that_are_alike_one_is_tried():
    star = torch.tensor([[0, 0, 0, 0], [1, 2, 3, 4]])
    graph = Data(x=torch.ones(5, 2), edge_index=torch.cat([star, star.flip(0)], dim=1))
    space = PairEdits.of(graph)
    none = torch.zeros(len(space.allowed))
    alike = leaps(space, space.allowed, none, largest=1, joined=7, each=50)
    assert not len(alike)
    alike = leaps(space, space.allowed, none, largest=3, joined=3, each=50)
    graph.x = torch.arange(10.0).view(5, 2)
    apart = leaps(PairEdits.of(graph), space.allowed, none, largest=3, joined=3, each=50)
    assert 0 < len(alike) < len(apart)


def test_a_node_with_an_edge_that_must_stay_is_not_cut_off():
    path = torch.tensor([[0, 1, 2], [1, 2, 3]])
    graph = Data(x=torch.ones(4, 1), edge_index=torch.cat([path, path.flip(0)], dim=1))
    space = PairEdits.of(graph, Constraints(frozen_edges={(1, 2)}))
    pool = space.allowed
    rows = leaps(space, pool, torch.zeros(len(pool)), largest=9, joined=7, each=9)
    kept = pair_ids(torch.tensor(1), torch.tensor(2), 4)
    assert not bool((rows == kept).any())


def test_edges_outside_the_pool_are_cut_too():
    graph = example_graphs(1, seed=4)[0]
    space = PairEdits.of(graph)
    pool = space.groups["add"]
    rows = leaps(space, pool, torch.zeros(len(pool)), largest=15, joined=7, each=50)
    whole = leaps(
        space, space.allowed, torch.zeros(len(space.allowed)), largest=15, joined=7, each=50
    )
    assert len(rows)
    assert torch.equal(rows, whole)


def test_of_equally_small_leaps_the_most_promising_is_tried():
    path = torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 5]])
    graph = Data(x=torch.ones(6, 1), edge_index=torch.cat([path, path.flip(0)], dim=1))
    space = PairEdits.of(graph)
    for first, apart in ((0, (1, 2)), (4, (3, 4))):
        # The edge at the end of the path promises something, and with it one pair of neighbours.
        promising = pair_ids(torch.tensor([first]), torch.tensor([first + 1]), 6)
        effects = torch.isin(space.allowed, promising).float()
        rows = leaps(space, space.allowed, effects, largest=2, joined=2, each=1)
        twos = [edits for edits in space.edits(space.normalise(rows)) if _leaves_a_pair(edits)]
        assert [edits.removed for edits in twos] == [
            frozenset({(apart[0] - 1, apart[0]), (apart[1], apart[1] + 1)})
        ]


def _leaves_a_pair(edits):
    return not edits.added and len({end for edge in edits.removed for end in edge}) == 4


class TwoAlone:
    """Changes its mind once two of the nodes 0, 1 and 2 have no edge; lost edges alone mean nothing."""

    num_classes = 2

    def predict_proba(self, graphs):
        lone = torch.tensor(
            [sum(node not in graph.edge_index for node in range(3)) for graph in graphs]
        )
        margins = torch.tensor([-4.0, -0.5, 1.0, 1.0])[lone]
        return torch.stack([torch.zeros(len(graphs)), margins], dim=1).softmax(dim=1)


def test_the_wide_beam_cuts_off_a_further_node(monkeypatch):
    pairs = torch.tensor([pair for pair in itertools.combinations(range(9), 2) if sum(pair) % 3])
    edges = pairs.t()
    graph = Data(x=torch.eye(9), edge_index=torch.cat([edges, edges.flip(0)], dim=1))
    explainer = EdgeFlip().fit([], TwoAlone())
    answer = explainer.explain(graph)
    assert answer.found
    assert answer.trace.notes["widened"]
    monkeypatch.setattr("edgeflip.explainers.edgeflip.guided._LEAPS_ON", 0)
    assert not explainer.explain(graph).found


# Larger graphs.


class Triangle(torch.nn.Module):
    """Looks for closed triangles at marked nodes; takes edge weights."""

    def forward(self, x, edge_index, batch, edge_weight=None):
        weight = torch.ones(edge_index.size(1)) if edge_weight is None else edge_weight
        marked = x[edge_index[0], 0] * x[edge_index[1], 0] * weight
        score = torch.zeros(int(batch.max()) + 1).index_add(0, batch[edge_index[0]], marked)
        return torch.stack([torch.full_like(score, 5.0), score], dim=1)


def test_in_a_large_graph_slopes_choose_what_is_looked_at():
    nodes = 120
    ring = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    graph = Data(x=torch.zeros(nodes, 1), edge_index=torch.cat([ring, ring.flip(0)], dim=1))
    graph.x[[5, 60, 110]] = 1.0
    answer = explain(Triangle(), graph)
    assert answer.found
    assert answer.smallest.edits.added == frozenset({(5, 60), (5, 110), (60, 110)})
    assert answer.trace.notes["pool"] < answer.trace.notes["allowed"] == nodes * (nodes - 1) // 2


def test_a_region_of_few_nodes_in_a_large_graph_is_searched():
    torch.manual_seed(0)
    graph = random_graph(600, density=0.006, seed=0)
    graph.x = torch.randn(600, 5)
    hard = Constraints(within={0, 1, 2}, rules=(lambda graph, edits: False,))
    answer = EdgeFlip().fit([], ModelOracle(Weighted())).explain(graph, constraints=hard)
    assert graph.num_edges > 2_000
    assert answer.trace.stopped_by == "exhausted"
    assert answer.trace.notes["pool"] == 3


def test_a_black_box_looks_near_the_part_that_carries_the_prediction():
    nodes = 120
    ring = torch.stack([torch.arange(nodes), (torch.arange(nodes) + 1) % nodes])
    graph = Data(x=torch.zeros(nodes, 1), edge_index=torch.cat([ring, ring.flip(0)], dim=1))
    graph.x[[5, 6, 8]] = 1.0
    model = Triangle()
    oracle = ModelOracle(
        lambda graphs: torch.cat(
            [model(g.x, g.edge_index, torch.zeros(nodes, dtype=torch.long)) for g in graphs]
        )
    )
    answer = explain(oracle, graph, budget=Budget(oracle_calls=4000))
    assert answer.trace.notes["led_by"] == "inherited effects"
    assert answer.found
    assert answer.smallest.edits.added == frozenset({(5, 8), (6, 8)})


class Sums(torch.nn.Module):
    """A GIN whose additions help one another."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(1)
        self.conv = GINConv(torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU()))
        self.out = torch.nn.Linear(8, 2)

    def forward(self, x, edge_index, batch):
        return self.out(global_add_pool(self.conv(x, edge_index), batch))


def test_same_seed_same_answer_and_input_untouched():
    graph = example_graphs(1, seed=7)[0]
    graph.x = torch.randn(graph.num_nodes, 4, generator=torch.Generator().manual_seed(0))
    before = graph.clone()
    one, two = (explain(Sums(), graph, seed=3).to_rows() for _ in range(2))
    assert one == two
    assert torch.equal(graph.x, before.x)
    assert torch.equal(graph.edge_index, before.edge_index)


def test_answers_through_slim_channels_are_those_of_the_model():
    oracle = example_oracle()
    for graph in example_graphs(6, seed=2):
        answer = EdgeFlip().fit([], oracle).explain(graph)
        for entry in answer.counterfactuals:
            proba = oracle.predict_proba([entry.edits.apply(graph)])[0]
            assert proba.tolist() == pytest.approx(entry.output, abs=1e-6)
            assert int(proba.argmax()) != answer.label


def test_a_leaf_may_move_where_it_may_neither_be_cut_off_nor_joined():
    index = torch.stack([torch.arange(29), torch.arange(1, 30)])
    graph = Data(x=torch.ones(30, 1), edge_index=torch.cat([index, index.flip(0)], dim=1))

    def moved(graphs):
        edges = [set(map(tuple, g.edge_index.t().tolist())) for g in graphs]
        rows = [2.0 * ((10, 29) in each) - 2.0 * ((28, 29) in each) - 1.0 for each in edges]
        return torch.tensor([[0.0, row] for row in rows])

    tree = Constraints(keep_connected=True, room={node: int(node == 10) for node in range(30)})
    oracle = ModelOracle(moved, num_classes=2)
    answer = EdgeFlip().fit([], oracle).explain(graph, constraints=tree)
    assert answer.found
    assert answer.best.edits.added == {(10, 29)}
    assert answer.best.edits.removed == {(28, 29)}


def test_pair_spaces_know_which_sets_may_stand_together():
    graph = graph_with()
    assert PairEdits.of(graph).combines_freely
    assert not PairEdits.of(graph, Constraints(keep_connected=True)).combines_freely
    assert not PairEdits.of(graph, Constraints(room={0: 1})).combines_freely
    assert isinstance(PairEdits.of(graph).pairs, PairSpace)
