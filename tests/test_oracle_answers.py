"""Answers of an oracle, their classes, and copies that give the same ones."""

import copy
import pickle
import warnings

import pytest
import torch

from conftest import random_graph
from edgeflip.errors import OracleError
from edgeflip.oracle.model import ModelOracle
from edgeflip.oracle.protocols import DifferentiableOracle, EditOracle, Oracle
from oracle_models import (
    NO_CANDIDATES,
    PLAIN,
    ByTensors,
    OneLogit,
    assert_close,
    moves,
    our_gcn,
    prepared,
    statistics,
)


def test_a_model_that_squeezes_its_logit_answers_for_one_graph_alone_too():
    class Squeezing(OneLogit):
        def forward(self, x, edge_index, batch):
            return super().forward(x, edge_index, batch).squeeze()

    other = random_graph(6, seed=8)
    oracle = ModelOracle(Squeezing())
    both = oracle.predict_proba([PLAIN, other])
    assert_close(both, torch.cat([oracle.predict_proba([graph]) for graph in (PLAIN, other)]))


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
