"""An oracle leaves its model as it was found."""

import pytest
import torch

from conftest import edited_graphs
from edgeflip.errors import OracleError
from edgeflip.oracle.model import ModelOracle
from edgeflip.testing import example_oracle
from oracle_models import (
    CASES,
    PLAIN,
    ByTensors,
    assert_close,
    assert_same_state,
    moves,
    our_gcn,
    prepared,
    state_of,
    unusual_state,
)

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


def test_ctrl_c_while_a_model_is_frozen_leaves_it_as_it_was(monkeypatch):
    oracle = ModelOracle(example_oracle().model.train())
    real = type(oracle.model).eval

    def interrupted(model):
        real(model)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(oracle.model), "eval", interrupted)
        with pytest.raises(KeyboardInterrupt), oracle.frozen():
            pass
    assert oracle.model.training
    with oracle.frozen():
        assert not oracle.model.training
    assert oracle.model.training
