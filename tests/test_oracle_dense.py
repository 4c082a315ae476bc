"""The dense path of an oracle gives the answers of the sparse one."""

import pytest
import torch
from torch import nn

from conftest import assert_sentence, edited_graphs, path_graph, random_graph, random_toggles
from edgeflip.errors import ConfigError, NotApplicableError
from edgeflip.oracle.batch_sizes import DENSE_NODE_LIMIT
from edgeflip.oracle.gcn import GCNClassifier
from edgeflip.oracle.model import ModelOracle
from oracle_models import PLAIN, WEIGHTED, ByTensors, assert_close, moves, our_gcn


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


def test_channels_that_all_values_share_are_not_left_out():
    torch.manual_seed(0)
    model = GCNClassifier(4, 2, layers=(64, 64), readout="sum").eval()
    with torch.no_grad():
        # Apart in few channels, so that the difference of the two hardly needs the others.
        model.classify.weight[1] = model.classify.weight[0]
        model.classify.weight[1, :8] += 0.1
    graph = random_graph(9, features=4, seed=2)
    space = moves(graph)
    toggles = random_toggles(space, candidates=30, width=4)
    oracle = ModelOracle(model, task="regression")
    wanted = oracle.predict_values(edited_graphs(space, toggles))
    assert_close(oracle.predict_edits(space, toggles), wanted)


def test_channels_of_a_model_whose_values_are_small_are_not_left_out():
    torch.manual_seed(0)
    model = GCNClassifier(4, 1, layers=(64, 64)).eval()
    with torch.no_grad():
        for parameter in model.classify.parameters():
            parameter *= 2e-8
    graph = random_graph(8, features=4, seed=2)
    space = moves(graph)
    toggles = random_toggles(space, candidates=30, width=4)
    oracle = ModelOracle(model, task="regression")
    wanted = oracle.predict_values(edited_graphs(space, toggles))
    assert_close(1e8 * oracle.predict_edits(space, toggles), 1e8 * wanted)


def test_a_version_of_a_graph_gets_the_same_digits_in_any_block():
    model = our_gcn(layers=(128, 128, 128))
    with torch.no_grad():
        # Training with weight decay leaves few channels alive, in numbers that suit no processor.
        for conv, alive in zip(model.convs, (31, 38, 53), strict=True):
            conv.lin.weight[alive:] = 0.0
            conv.bias[alive:] = -1.0
    oracle, space = ModelOracle(model), moves(random_graph(24, seed=5))
    rows = space.normalise(space.allowed[:200, None])
    assert oracle.dense_versions(space).bound.layers.biases[0].numel() < 128
    whole = oracle.predict_edits(space, rows)
    for size in (1, 3, 7, 33, 100):
        parts = [oracle.predict_edits(space, part) for part in rows.split(size)]
        assert torch.equal(torch.cat(parts), whole)
