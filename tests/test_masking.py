"""Masked graphs: every way to the answer gives the same one, and each is asked for once."""

import pytest
import torch
from torch import nn
from torch_geometric.nn import GINConv, global_add_pool

from conftest import assert_sentence, make_graph, random_graph, same_content, snapshot
from edgeflip.core.graphs import PairSpace, edge_pairs
from edgeflip.errors import BudgetExhausted, ConfigError, GraphError, NotApplicableError
from edgeflip.oracle.budget import Budget, MeteredOracle
from edgeflip.oracle.gcn import GCNClassifier
from edgeflip.oracle.masking import MaskedOracle, is_plain_gcn, masked_graph, masked_proba
from edgeflip.oracle.model import ModelOracle
from edgeflip.support.seeding import seeded


class Foreign:
    """An oracle of which only the protocol is known; it remembers how many graphs it saw."""

    def __init__(self, oracle):
        self.oracle = oracle
        self.num_classes = oracle.num_classes
        self.seen = 0

    def predict_proba(self, graphs):
        self.seen += len(graphs)
        return self.oracle.predict_proba(graphs)


class GIN(nn.Module):
    """A model that is not ours."""

    def __init__(self):
        super().__init__()
        self.conv = GINConv(nn.Sequential(nn.Linear(3, 8), nn.ReLU(), nn.Linear(8, 8)))
        self.out = nn.Linear(8, 3)

    def forward(self, x, edge_index, batch):
        return self.out(global_add_pool(self.conv(x, edge_index).relu(), batch))


def gcn_oracle(*, normalize=False, readout="mean", classes=3, **options):
    with seeded(0):
        model = GCNClassifier(3, classes, layers=(6, 5), normalize=normalize, readout=readout)
        for conv in model.convs:
            nn.init.normal_(conv.bias)
    return ModelOracle(model, num_classes=classes, **options)


def gin_oracle():
    with seeded(0):
        return ModelOracle(GIN(), num_classes=3)


def random_masks(count, num_nodes, seed=0):
    generator = torch.Generator().manual_seed(seed)
    masks = torch.rand(count, num_nodes, generator=generator) < 0.6
    masks[0], masks[1] = True, False
    return masks


@pytest.mark.parametrize("masking", ["split", "zero"])
@pytest.mark.parametrize("readout", ["mean", "max", "sum"])
@pytest.mark.parametrize("normalize", [False, True])
def test_the_shared_product_answers_as_the_model_does_on_each_masked_graph(
    masking, readout, normalize
):
    oracle = gcn_oracle(normalize=normalize, readout=readout)
    space = PairSpace.of(random_graph(9, loops=(2, 5), seed=3))
    assert is_plain_gcn(oracle, space.graph)
    masks = random_masks(40, 9)
    graphs = [masked_graph(space, mask, masking=masking) for mask in masks]
    answers = masked_proba(oracle, space, masks, masking=masking)
    torch.testing.assert_close(answers, oracle.predict_proba(graphs), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("masking", ["split", "zero"])
@pytest.mark.parametrize("make", [gin_oracle, lambda: gcn_oracle(path="sparse")])
def test_other_models_and_foreign_oracles_give_the_same_answers(masking, make):
    oracle = make()
    space = PairSpace.of(random_graph(8, loops=(1,), seed=1))
    masks = random_masks(20, 8)
    graphs = [masked_graph(space, mask, masking=masking) for mask in masks]
    expected = oracle.predict_proba(graphs)
    for asked in (oracle, Foreign(oracle)):
        answers = masked_proba(asked, space, masks, masking=masking)
        torch.testing.assert_close(answers, expected, atol=1e-5, rtol=1e-5)


def test_split_takes_the_edges_of_masked_nodes_and_leaves_features_and_self_loops():
    graph = make_graph(4, [(0, 1), (1, 2), (2, 3)], loops=(3,), edge_attr=2)
    before = snapshot(graph)
    masked = masked_graph(PairSpace.of(graph), torch.tensor([True, True, True, False]))
    assert edge_pairs(masked) == {(0, 1), (1, 2)}
    assert masked.num_nodes == 4
    assert masked.edge_attr.size(0) == masked.edge_index.size(1) == 5
    assert bool((masked.edge_index == 3).any())
    assert torch.equal(masked.x, graph.x)
    assert same_content(before, snapshot(graph))


def test_zero_takes_the_features_of_masked_nodes_and_leaves_the_edges():
    graph = make_graph(3, [(0, 1), (1, 2)])
    mask = torch.tensor([True, False, True])
    masked = masked_graph(PairSpace.of(graph), mask, masking="zero")
    assert edge_pairs(masked) == edge_pairs(graph)
    assert torch.equal(masked.x[mask], graph.x[mask])
    assert not bool(masked.x[1].any())
    assert bool(graph.x[1].any())


@pytest.mark.parametrize("num_nodes", [9, 70])
def test_every_distinct_mask_is_asked_about_once(num_nodes):
    foreign = Foreign(gcn_oracle())
    space = PairSpace.of(random_graph(num_nodes, density=0.1, seed=2))
    masked = MaskedOracle(foreign, space)
    masks = random_masks(30, num_nodes)
    distinct = len({tuple(mask.tolist()) for mask in masks})
    first = masked.proba(torch.cat([masks, masks]))
    again = masked.proba(masks.flip(0))
    assert foreign.seen == masked.asked == distinct
    assert torch.equal(first[:30], first[30:])
    assert torch.equal(again, first[:30].flip(0))


def test_a_meter_is_charged_for_every_distinct_mask():
    meter = MeteredOracle(gcn_oracle())
    space = PairSpace.of(random_graph(9, seed=3))
    masks = random_masks(30, 9)
    masked_proba(meter, space, torch.cat([masks, masks]))
    assert meter.calls == len({tuple(mask.tolist()) for mask in masks})


def test_masks_that_do_not_fit_the_budget_are_not_asked_about():
    meter = MeteredOracle(gcn_oracle(), Budget(oracle_calls=5))
    space = PairSpace.of(random_graph(9, seed=3))
    with pytest.raises(BudgetExhausted) as caught:
        masked_proba(meter, space, random_masks(30, 9))
    assert caught.value.reason == "out_of_calls"
    assert meter.calls == 0
    late = MeteredOracle(gcn_oracle(), Budget(seconds=0))
    with pytest.raises(BudgetExhausted) as caught:
        masked_proba(late, space, random_masks(3, 9))
    assert caught.value.reason == "timeout"


def test_an_oracle_that_does_not_know_its_classes_yet_is_answered_too():
    oracle = ModelOracle(gcn_oracle().model)
    space = PairSpace.of(random_graph(6, seed=3))
    assert masked_proba(oracle, space, random_masks(4, 6)).shape == (4, 3)


def test_no_masks_have_no_answers():
    space = PairSpace.of(random_graph(6, seed=3))
    for oracle in (gcn_oracle(), gin_oracle(), MeteredOracle(gcn_oracle())):
        assert masked_proba(oracle, space, torch.ones(0, 6) > 0).shape == (0, 3)


def test_the_model_is_left_in_its_mode():
    oracle = gcn_oracle()
    oracle.model.train()
    masked_proba(oracle, PairSpace.of(random_graph(6, seed=3)), random_masks(4, 6))
    assert oracle.model.training
    assert all(parameter.requires_grad for parameter in oracle.model.parameters())


def test_wrong_masks_and_maskings_are_refused_in_one_sentence():
    oracle, graph = gcn_oracle(), random_graph(6, seed=3)
    space = PairSpace.of(graph)
    for masks in (torch.ones(2, 5, dtype=torch.bool), torch.ones(2, 6), torch.ones(6) > 0):
        with pytest.raises(GraphError) as caught:
            masked_proba(oracle, space, masks)
        assert_sentence(caught)
    with pytest.raises(ConfigError) as caught:
        masked_proba(oracle, space, random_masks(3, 6), masking="erase")
    assert_sentence(caught)
    bare = PairSpace.of(make_graph(3, [(0, 1)], features=0))
    with pytest.raises(NotApplicableError) as caught:
        masked_proba(oracle, bare, random_masks(3, 3), masking="zero")
    assert_sentence(caught)
