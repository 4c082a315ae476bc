"""Every way of calling a model: edits are answered as the edited graphs would be."""

import pytest
import torch

from conftest import edited_graphs, make_graph, random_toggles, same_content, snapshot
from edgeflip.oracle.model import ModelOracle
from oracle_models import (
    CASES,
    PLAIN,
    ByTensors,
    SizedPool,
    alone,
    assert_close,
    by_hand,
    moves,
    our_gcn,
    prepared,
)


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


def test_an_argument_named_like_a_method_of_data_is_left_alone():
    model = SizedPool().eval()
    wanted = model(PLAIN.x, PLAIN.edge_index, alone(PLAIN)).softmax(dim=1).detach()
    assert_close(ModelOracle(model).predict_proba([PLAIN]), wanted)


def test_a_graph_without_edges_can_be_asked_about():
    space = moves(make_graph(5, []))
    toggles = random_toggles(space)
    for oracle in (ModelOracle(ByTensors()), ModelOracle(our_gcn())):
        wanted = oracle.predict_proba(edited_graphs(space, toggles))
        assert_close(oracle.predict_edits(space, toggles), wanted)
