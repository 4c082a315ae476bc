"""What could be misread is refused, or said with the answer."""

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch_geometric.nn import global_add_pool

from conftest import assert_sentence
from edgeflip import CounterfactualSet, ModelOracle, explain, make_explainer
from edgeflip.errors import ConfigError, OracleError
from edgeflip.testing import example_graphs, example_oracle
from edgeflip.testing.oracles import CountingOracle

GRAPHS = example_graphs(3, seed=4)
GRAPH = GRAPHS[0]


class Around(nn.Module):
    """The example model with something done to its logits."""

    def __init__(self, change):
        super().__init__()
        self.inner = example_oracle().model
        self.change = change

    def forward(self, x, edge_index, batch):
        return self.change(self.inner(x, edge_index, batch))


class MixesGraphs(Around):
    def forward(self, x, edge_index, batch):
        logits = self.inner(x, edge_index, batch)
        return logits + 3 * (logits - logits.mean(dim=0))


def one_logit(logits):
    return logits[:, 1:] - logits[:, :1]


def warnings_of(answer):
    return " ".join(answer.trace.notes.get("warnings", ()))


def test_one_output_that_nobody_called_a_logit_is_said_with_the_answer(tmp_path):
    answer = explain(Around(one_logit), GRAPH)
    assert "task='regression'" in warnings_of(answer)
    assert "class_names=[" in warnings_of(answer)
    saved = CounterfactualSet.load_json(answer.save_json(tmp_path / "answer.json"))
    assert warnings_of(saved) == warnings_of(answer)
    told = ModelOracle(Around(one_logit), num_classes=2)
    assert not warnings_of(explain(told, GRAPH))
    assert not warnings_of(explain(Around(one_logit), GRAPH, class_names=("no", "yes")))
    assert explain(told, GRAPH).best.edits == answer.best.edits


def test_probabilities_read_as_logits_are_said_with_the_answer():
    with pytest.warns(UserWarning, match="probabilities"):
        answer = explain(Around(lambda logits: logits.softmax(dim=1)), GRAPH)
    assert "returns='probabilities'" in warnings_of(answer)


@pytest.mark.parametrize(
    ("change", "call"),
    [
        (lambda logits: logits.argmax(dim=1), "returns='labels'"),
        (lambda logits: logits.argmax(dim=1, keepdim=True).int(), "returns='labels'"),
        (lambda logits: logits[:, 1] > logits[:, 0], "returns='labels'"),
        (lambda logits: functional.one_hot(logits.argmax(dim=1), 2), "returns='probabilities'"),
    ],
    ids=["long", "int column", "bool", "one-hot"],
)
def test_predicted_classes_are_refused_with_the_call_that_works(change, call):
    model = Around(change)
    with pytest.raises(OracleError) as error:
        explain(model, GRAPH)
    assert_sentence(error, "whole numbers" if "bool" not in str(error.value) else "bool", call)
    returns = call.split("'")[1]
    oracle = ModelOracle(model, returns=returns, num_classes=2)
    answer = explain(oracle, GRAPH)
    assert answer.best.size == explain(example_oracle(), GRAPH, method="random").best.size
    assert set(answer.output) == {0.0, 1.0}


def test_labels_need_a_number_of_classes_and_must_be_classes():
    labels = Around(lambda logits: logits.argmax(dim=1))
    with pytest.raises(ConfigError) as error:
        ModelOracle(labels, returns="labels")
    assert_sentence(error, "num_classes")
    with pytest.raises(OracleError) as error:
        explain(ModelOracle(Around(lambda x: x), returns="labels", num_classes=2), GRAPH)
    assert_sentence(error, "class number")


def randomly(logits):
    return functional.dropout(logits, 0.5, training=True) + torch.randn_like(logits)


@pytest.mark.parametrize("method", ["edgeflip", "random"])
@pytest.mark.parametrize("model", [Around(randomly), MixesGraphs(None)], ids=["random", "mixes"])
def test_a_model_that_answers_differently_about_one_graph_is_said(model, method):
    torch.manual_seed(0)
    answer = make_explainer(method).fit([], ModelOracle(model, num_classes=2)).explain(GRAPH)
    assert "differently" in warnings_of(answer)


@pytest.mark.parametrize("method", ["edgeflip", "random"])
def test_a_steady_model_is_asked_no_question_more_where_something_is_found(method, monkeypatch):
    oracle = CountingOracle(example_oracle())
    answer = make_explainer(method).fit([], oracle).explain(GRAPH)
    assert answer.found
    assert "warnings" not in answer.trace.notes
    assert oracle.calls == answer.trace.oracle_calls
    monkeypatch.setattr("edgeflip.explainers.running.doubts_about", lambda search, found: [])
    other = CountingOracle(example_oracle())
    without = make_explainer(method).fit([], other).explain(GRAPH)
    assert answer.trace.oracle_calls == without.trace.oracle_calls


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_a_model_whose_answer_never_varies_is_said(task):
    class Blind(nn.Module):
        def forward(self, x, edge_index, batch):
            size = global_add_pool(x, batch)[:, :1]
            return size if task == "regression" else torch.cat([size, -size], dim=1)

    target = {"target": "+1"} if task == "regression" else {}
    answer = explain(Blind(), GRAPH, task=task, **target)
    assert not answer.found
    assert "same answer" in warnings_of(answer)
    assert "read edges" in warnings_of(answer)


def test_an_ordinary_search_without_an_answer_has_no_warning():
    unreachable = Around(lambda logits: logits / 10 + torch.tensor([5.0, 0.0]))
    answer = explain(unreachable, GRAPH, method="random")
    assert not answer.found
    assert not warnings_of(answer)


def test_one_output_that_was_called_a_logit_is_not_taken_for_a_probability():
    graph = example_graphs(1, seed=4)[0]

    class Near(torch.nn.Module):
        def forward(self, x, edge_index, batch):
            count = torch.zeros(int(batch.max()) + 1).index_add(
                0, batch[edge_index[0]], torch.full((edge_index.size(1),), 0.001)
            )
            return (0.5 + count)[:, None]

    answer = ModelOracle(Near(), class_names=["no", "yes"])
    told = explain(answer, graph).trace.notes.get("warnings", [])
    assert not any("probabilities" in warning for warning in told)


def test_a_model_that_says_otherwise_of_a_graph_alone_is_said():
    graph = example_graphs(1, seed=4)[0]
    model = example_oracle().model

    class Crowded(torch.nn.Module):
        def forward(self, x, edge_index, batch):
            crowd = int(batch.max()) > 0
            return model(x, edge_index, batch) + torch.tensor([0.0, 0.8 * crowd])

    told = explain(Crowded(), graph).trace.notes.get("warnings", [])
    assert any("differently about the same graph" in warning for warning in told)
