"""Soft graphs: weights of 0 and 1 are real edits, and graphs in a batch do not see each other."""

import pytest
import torch
from torch import nn
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv, global_mean_pool

from edgeflip import GCNClassifier, ModelOracle
from edgeflip.core import PAD, PairEdits, PairSpace
from edgeflip.errors import NotApplicableError
from edgeflip.oracle.budget import MeteredOracle
from edgeflip.oracle.weighted import SoftGraphs, batches
from edgeflip.testing import example_graphs, example_oracle

GRAPHS = [
    *example_graphs(3, seed=1),
    *example_graphs(2, seed=2, num_nodes=12),
    *example_graphs(1, seed=3, num_nodes=6),
]
SPACES = [PairSpace.of(graph) for graph in GRAPHS]


class Foreign(nn.Module):
    """Somebody's own GCN, which normalises degrees itself."""

    def __init__(self):
        super().__init__()
        self.conv = GCNConv(4, 8)
        self.last = nn.Linear(8, 3)

    def forward(self, x, edge_index, batch, edge_weight=None):
        hidden = self.conv(x, edge_index, edge_weight).relu()
        return self.last(global_mean_pool(hidden, batch))


class Unweighted(Foreign):
    def forward(self, x, edge_index, batch):
        return super().forward(x, edge_index, batch)


class Attributed(Foreign):
    def forward(self, x, edge_index, batch, edge_weight=None, edge_attr=None):
        assert edge_attr is not None
        return super().forward(x, edge_index, batch, edge_weight)


def oracles():
    torch.manual_seed(0)
    own = [
        ModelOracle(GCNClassifier(4, 3, layers=(8, 8), readout=readout, normalize=normalize))
        for readout in ("mean", "max", "sum")
        for normalize in (False, True)
    ]
    sparse = ModelOracle(GCNClassifier(4, 3, normalize=True), path="sparse")
    return [*own, sparse, ModelOracle(Foreign())]


def all_pairs(space):
    return torch.arange(space.num_pairs)


@pytest.mark.parametrize("oracle", oracles(), ids=range(8))
@pytest.mark.parametrize("pairs", ["edges", "all"])
def test_weights_of_zero_and_one_are_the_edited_graph(oracle, pairs):
    ids = [space.edge_ids if pairs == "edges" else all_pairs(space) for space in SPACES]
    soft = SoftGraphs(oracle, SPACES, ids)
    generator = torch.Generator().manual_seed(5)
    for _ in range(5):
        flip = torch.rand(len(soft.original), generator=generator) < 0.3
        weights = torch.where(flip, 1 - soft.original, soft.original)
        answers = soft.logits(weights).softmax(dim=1)
        for space, own, toggled, answer in zip(SPACES, ids, soft.split(flip), answers, strict=True):
            row = torch.where(toggled, own, PAD).sort(descending=True).values[None]
            hard = oracle.predict_edits(PairEdits(space), row)[0]
            assert float((answer - hard).abs().max()) < 1e-5


@pytest.mark.parametrize("oracle", oracles()[:6], ids=range(6))
def test_stacks_by_size_answer_and_slope_as_one_padded_stack(oracle, monkeypatch):
    found = []
    oracle.predict(GRAPHS)
    for padded in (False, True):
        if padded:
            monkeypatch.setattr(
                "edgeflip.oracle.weighted.batches", lambda spaces: [list(range(len(spaces)))]
            )
        soft = SoftGraphs(oracle, SPACES, [all_pairs(space) for space in SPACES])
        assert (len(soft._backend._stacks) == 1) == padded
        generator = torch.Generator().manual_seed(3)
        weights = torch.rand(2, len(soft.original), generator=generator).requires_grad_()
        logits = soft.logits(weights)
        (slopes,) = torch.autograd.grad(logits.logsumexp(dim=2).sum(), weights)
        found.append((logits, slopes))
    for one, other in zip(*found, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("oracle", oracles(), ids=range(8))
def test_the_unchanged_weights_are_the_unchanged_graph(oracle):
    soft = SoftGraphs(oracle, SPACES, [all_pairs(space) for space in SPACES])
    assert bool(soft.agree(oracle.predict_proba(GRAPHS)).all())


@pytest.mark.parametrize("oracle", oracles(), ids=range(8))
def test_a_graph_gets_the_same_logits_and_gradients_alone_and_among_others(oracle):
    ids = [space.edge_ids for space in SPACES]
    together = SoftGraphs(oracle, SPACES, ids)
    weights = torch.rand(2, len(together.original)).requires_grad_()
    logits = together.logits(weights)
    logits[..., 0].sum().backward()
    start = 0
    for place, (space, own) in enumerate(zip(SPACES, ids, strict=True)):
        part = weights[:, start : start + own.numel()].detach().clone().requires_grad_()
        alone = SoftGraphs(oracle, [space], [own]).logits(part)
        alone[..., 0].sum().backward()
        assert torch.allclose(alone[:, 0], logits[:, place], atol=1e-5)
        grad = weights.grad[:, start : start + own.numel()]
        assert torch.allclose(part.grad, grad, atol=1e-5)
        start += own.numel()


def test_stack_and_blocks_agree_on_soft_weights():
    torch.manual_seed(1)
    model = GCNClassifier(4, 2, layers=(8, 8), normalize=True)
    ids = [all_pairs(space) for space in SPACES]
    ways = [SoftGraphs(ModelOracle(model, path=path), SPACES, ids) for path in ("auto", "sparse")]
    weights = torch.rand(len(ways[0].original))
    one, two = (way.logits(weights) for way in ways)
    assert torch.allclose(one, two, atol=1e-5)


def test_a_graph_with_edge_weights_of_its_own_keeps_them():
    torch.manual_seed(2)
    oracle = ModelOracle(Foreign())
    graph = GRAPHS[0].clone()
    graph.edge_weight = torch.full((graph.num_edges,), 0.4)
    space = PairSpace.of(graph)
    soft = SoftGraphs(oracle, [space], [space.edge_ids])
    assert bool(soft.agree(oracle.predict_proba([graph])).all())


def test_an_oracle_without_weights_is_not_applicable():
    class Plain:
        num_classes = 2

        def predict_proba(self, graphs):
            return torch.full((len(graphs), 2), 0.5)

    for oracle in (Plain(), MeteredOracle(Plain())):
        with pytest.raises(NotApplicableError, match="takes edge weights"):
            SoftGraphs(oracle, SPACES[:1], [SPACES[0].edge_ids])
    soft = SoftGraphs(ModelOracle(Unweighted()), SPACES[:1], [SPACES[0].edge_ids])
    with pytest.raises(NotApplicableError, match="edge_weight"):
        soft.agree(torch.zeros(1, 3))


def test_a_model_that_reads_more_than_weights_is_not_applicable():
    soft = SoftGraphs(ModelOracle(Attributed()), SPACES[:1], [SPACES[0].edge_ids])
    with pytest.raises(NotApplicableError, match="alone"):
        soft.agree(torch.zeros(1, 3))


def test_a_graph_without_features_is_not_applicable():
    space = PairSpace.of(Data(edge_index=GRAPHS[0].edge_index, num_nodes=9))
    with pytest.raises(NotApplicableError, match="node features"):
        SoftGraphs(ModelOracle(Foreign()), [space], [space.edge_ids])


def test_the_model_is_left_as_it_was():
    oracle = example_oracle()
    oracle.model.train()
    soft = SoftGraphs(oracle, SPACES, [space.edge_ids for space in SPACES])
    soft.logits(soft.original.clone().requires_grad_()).sum().backward()
    assert oracle.model.training
    assert all(each.requires_grad and each.grad is None for each in oracle.model.parameters())


def test_batches_hold_every_graph_once_and_sizes_that_are_alike():
    spaces = [
        PairSpace.of(example_graphs(1, seed=seed, num_nodes=5 + seed * 7 % 60)[0])
        for seed in range(30)
    ]
    groups = batches(spaces)
    assert sorted(place for group in groups for place in group) == list(range(30))
    for group in groups:
        sizes = [spaces[place].num_nodes for place in group]
        assert max(sizes) <= 1.25 * min(sizes) + 2


def test_a_pass_backward_counts_two():
    soft = SoftGraphs(example_oracle(), SPACES[:2], [space.edge_ids for space in SPACES[:2]])
    soft.logits(soft.original)
    assert soft.passes == 1
    weights = soft.original.clone().requires_grad_()
    soft.logits(torch.stack([weights, 1 - weights]))
    assert soft.passes == 1 + 2 * 3
    with torch.no_grad():
        soft.logits(weights)
    assert soft.passes == 1 + 2 * 3 + 1
