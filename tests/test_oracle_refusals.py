"""What an oracle refuses: models, graphs, edits and answers, each in one sentence."""

import warnings

import pytest
import torch
from torch import nn

from conftest import assert_sentence, random_graph
from edgeflip.errors import (
    BudgetExhausted,
    ConfigError,
    EdgeflipError,
    EditError,
    GraphError,
    OracleError,
)
from edgeflip.oracle.model import ModelOracle
from oracle_models import (
    ATTRIBUTED,
    PLAIN,
    ByTensors,
    LogProbabilities,
    OddSignature,
    OneLogit,
    Probabilities,
    WithEdgeAttributes,
    gine,
    moves,
    our_gcn,
    prepared,
)


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
        (lambda graphs, nodes: torch.zeros(nodes, 3), "pick one node's rows with a function"),
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
    class Ambiguous(OddSignature):
        def forward(self, features, edges, weights, graph_of_node):
            return super().forward(features, edges, graph_of_node)

    with pytest.raises(ConfigError) as error:
        ModelOracle(Ambiguous())
    assert_sentence(error, "features, edges, weights, graph_of_node", "call=")


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


def test_every_refusal_is_one_of_ours():
    assert issubclass(OracleError, EdgeflipError)
    assert issubclass(BudgetExhausted, EdgeflipError)
