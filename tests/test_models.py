from __future__ import annotations

from dataclasses import asdict

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GCNConv

from edgeflip.errors import ConfigError
from edgeflip.oracle.gcn import GCNClassifier

both_norms = pytest.mark.parametrize("normalize", [False, True])
all_readouts = pytest.mark.parametrize("readout", ["mean", "max", "sum"])


def random_adjacency(graphs: int, nodes: int, *, loops: bool, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    upper = (torch.rand(graphs, nodes, nodes, generator=generator) < 0.2).float().triu(1)
    adjacency = upper + upper.transpose(1, 2)
    if loops:
        adjacency.diagonal(dim1=1, dim2=2)[:, ::3] = 1.0
    return adjacency


def dense_logits(model: GCNClassifier, projected: Tensor, adjacency: Tensor) -> Tensor:
    """The dense way, with the ones on the diagonal that it takes."""
    nodes = adjacency.size(1)
    eye = torch.eye(nodes)
    return model.dense_logits(projected, adjacency * (1 - eye) + eye)


def sparse_logits(model: GCNClassifier, x: Tensor, adjacency: Tensor) -> Tensor:
    graphs = [Data(x=x, edge_index=one.nonzero().t().contiguous()) for one in adjacency]
    batch = Batch.from_data_list(graphs)
    return model(batch.x, batch.edge_index, batch.batch)


def close(first: Tensor, second: Tensor) -> bool:
    return torch.allclose(first, second, atol=1e-5, rtol=1e-5)


def classifier(**changes: object) -> GCNClassifier:
    torch.manual_seed(0)
    model = GCNClassifier(**{"num_features": 6, "num_classes": 3, "layers": (8, 7, 5), **changes})
    for parameter in model.parameters():  # biases start at zero, which would hide a lost one
        torch.nn.init.normal_(parameter, std=0.3)
    return model.eval()


@both_norms
@all_readouts
@pytest.mark.parametrize("loops", [False, True])
def test_dense_logits_equal_sparse_logits(normalize: bool, readout: str, loops: bool) -> None:
    model = classifier(normalize=normalize, readout=readout)
    x, adjacency = torch.rand(9, 6), random_adjacency(12, 9, loops=loops)
    dense = dense_logits(model, model.project(x), adjacency)
    assert close(dense, sparse_logits(model, x, adjacency))


@both_norms
@settings(max_examples=20, deadline=None)
@given(nodes=st.integers(1, 12), seed=st.integers(0, 10_000), loops=st.booleans())
def test_dense_equals_sparse_on_any_graph(
    normalize: bool, nodes: int, seed: int, loops: bool
) -> None:
    model = classifier(normalize=normalize)
    x, adjacency = torch.rand(nodes, 6), random_adjacency(3, nodes, loops=loops, seed=seed)
    dense = dense_logits(model, model.project(x), adjacency)
    assert close(dense, sparse_logits(model, x, adjacency))


@both_norms
@pytest.mark.parametrize("loops", [False, True])
def test_an_edge_of_weight_zero_is_a_removed_edge(normalize: bool, loops: bool) -> None:
    model = classifier(normalize=normalize)
    x = torch.rand(9, 6)
    edge_index = random_adjacency(1, 9, loops=loops)[0].nonzero().t()
    for position in range(edge_index.size(1)):
        u, v = edge_index[:, position]
        same = (edge_index == torch.stack([u, v])[:, None]).all(0)
        back = (edge_index == torch.stack([v, u])[:, None]).all(0)
        kept = ~(same | back)
        weighted = model(x, edge_index, edge_weight=kept.float())
        removed = model(x, edge_index[:, kept])
        assert close(weighted, removed)


@both_norms
@pytest.mark.parametrize("loops", [False, True])
def test_an_edge_of_weight_one_is_an_ordinary_edge(normalize: bool, loops: bool) -> None:
    model = classifier(normalize=normalize)
    x = torch.rand(9, 6)
    edge_index = random_adjacency(1, 9, loops=loops)[0].nonzero().t()
    weighted = model(x, edge_index, edge_weight=torch.ones(edge_index.size(1)))
    assert close(weighted, model(x, edge_index))


@both_norms
def test_soft_weights_mean_the_same_sparse_and_dense(normalize: bool) -> None:
    model = classifier(normalize=normalize)
    x = torch.rand(9, 6)
    soft = random_adjacency(1, 9, loops=False) * 0.3
    edge_index = soft[0].nonzero().t()
    weighted = model(x, edge_index, edge_weight=torch.full((edge_index.size(1),), 0.3))
    assert close(weighted, dense_logits(model, model.project(x), soft))


@both_norms
def test_gradients_reach_the_edges_both_ways(normalize: bool) -> None:
    model = classifier(normalize=normalize)
    x = torch.rand(9, 6)
    adjacency = random_adjacency(2, 9, loops=True).requires_grad_()
    dense_logits(model, model.project(x), adjacency)[0, 0].backward()
    edge_index = adjacency[0].detach().fill_diagonal_(0).nonzero().t()
    weight = torch.ones(edge_index.size(1), requires_grad=True)
    model(x, edge_index, edge_weight=weight)[0, 0].backward()
    assert adjacency.grad is not None
    assert weight.grad is not None
    # A row of the matrix gathers for its node; the second row of edge_index is what gathers.
    assert close(adjacency.grad[0, edge_index[1], edge_index[0]], weight.grad)
    assert not bool(adjacency.grad[1].any())


@pytest.mark.parametrize("normalize", [False, True])
def test_the_sparse_path_is_a_stack_of_pyg_convolutions(normalize: bool) -> None:
    model = classifier(normalize=normalize)
    x = torch.rand(9, 6)
    edge_index = random_adjacency(1, 9, loops=False)[0].nonzero().t()
    loops = torch.arange(9).repeat(2, 1)
    hidden = x
    for conv in model.convs:
        plain = GCNConv(conv.in_channels, conv.out_channels, normalize=normalize)
        plain.load_state_dict(conv.state_dict())
        edges = edge_index if normalize else torch.cat([edge_index, loops], dim=1)
        hidden = plain(hidden, edges).relu()
    expected = model.classify(hidden.mean(dim=0, keepdim=True))
    assert torch.allclose(model(x, edge_index), expected, atol=1e-6)


@both_norms
def test_dense_logits_leave_their_input_alone(normalize: bool) -> None:
    model = classifier(normalize=normalize)
    adjacency = random_adjacency(4, 9, loops=False)
    projected = model.project(torch.rand(9, 6)).detach()
    before = adjacency.clone(), projected.clone()
    model.dense_logits(projected, adjacency)
    assert torch.equal(adjacency, before[0])
    assert torch.equal(projected, before[1])


@both_norms
def test_graphs_may_have_features_of_their_own(normalize: bool) -> None:
    model = classifier(normalize=normalize)
    x, adjacency = torch.rand(4, 9, 6), random_adjacency(4, 9, loops=False)
    together = dense_logits(model, model.project(x), adjacency)
    alone = [
        dense_logits(model, model.project(own), one[None])
        for own, one in zip(x, adjacency, strict=True)
    ]
    assert torch.allclose(together, torch.cat(alone), atol=1e-6)


def test_large_stacks_are_worked_off_in_chunks_with_the_same_logits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model = classifier()
    x, adjacency = torch.rand(10, 9, 6), random_adjacency(10, 9, loops=True)
    whole = dense_logits(model, model.project(x), adjacency)
    monkeypatch.setattr("edgeflip.oracle.dense_gcn._CHUNK_VALUES", 3 * 9 * 9)
    assert torch.allclose(dense_logits(model, model.project(x), adjacency), whole, atol=1e-6)
    shared = dense_logits(model, model.project(x[0]), adjacency)
    assert torch.allclose(shared[0], whole[0], atol=1e-6)


def test_no_graphs_give_no_logits() -> None:
    model = classifier()
    assert dense_logits(model, model.project(torch.rand(9, 6)), torch.empty(0, 9, 9)).shape == (
        0,
        3,
    )


def test_a_node_without_edges_and_a_single_node_are_graphs_too() -> None:
    model = classifier()
    assert model(torch.rand(1, 6), torch.empty(2, 0).long()).shape == (1, 3)
    x = torch.rand(2, 6)
    dense = dense_logits(model, model.project(x), torch.zeros(1, 2, 2))
    assert torch.allclose(dense, model(x, torch.empty(2, 0).long()), atol=1e-6)


def test_the_config_builds_the_same_model_again() -> None:
    model = classifier(readout="max", normalize=True)
    again = GCNClassifier(**asdict(model.config))
    again.load_state_dict(model.state_dict())
    x, edge_index = torch.rand(9, 6), random_adjacency(1, 9, loops=False)[0].nonzero().t()
    assert torch.equal(again.eval()(x, edge_index), model(x, edge_index))


def test_dropout_acts_in_training_only() -> None:
    model = classifier(dropout=0.5)
    x, edge_index = torch.rand(9, 6), random_adjacency(1, 9, loops=False)[0].nonzero().t()
    assert torch.equal(model(x, edge_index), model(x, edge_index))
    model.train()
    outputs = torch.cat([model(x, edge_index) for _ in range(8)])
    assert len(outputs.unique(dim=0)) > 1


@pytest.mark.parametrize(
    "changes",
    [
        {"layers": ()},
        {"layers": (8, 0)},
        {"num_features": 0},
        {"num_classes": 0},
        {"num_classes": 2.5},
        {"readout": "median"},
        {"dropout": 1.0},
    ],
)
def test_shapes_that_make_no_model_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="got"):
        classifier(**changes)
