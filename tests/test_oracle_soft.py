"""Soft graphs: edges with weights, through which gradients flow."""

import pytest
import torch
from torch_geometric.data import Batch, Data

from conftest import assert_sentence, random_graph
from edgeflip.core import PairSpace
from edgeflip.errors import NotApplicableError
from edgeflip.oracle.model import ModelOracle
from edgeflip.oracle.weighted import SoftGraphs
from oracle_models import (
    PLAIN,
    WithEdgeWeights,
    alone,
    assert_close,
    assert_same_state,
    our_gcn,
    prepared,
    state_of,
    unusual_state,
)


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


def test_a_graph_of_self_loops_alone_has_soft_answers_without_any_weight():
    oracle = ModelOracle(WithEdgeWeights())
    graph = Data(x=torch.rand(3, 3), edge_index=torch.tensor([[0, 2], [0, 2]]))
    space = PairSpace.of(graph)
    soft = SoftGraphs(oracle, [space], [space.edge_ids])
    assert soft.original.numel() == 0
    assert bool(soft.agree(oracle.predict_proba([graph])).all())


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
