"""One line from a model to an answer."""

import pytest
import torch
from torch import nn

import edgeflip
from conftest import assert_sentence
from edgeflip import Constraints, EdgeFlip, ModelOracle, explain, load_explainer, make_explainer
from edgeflip.errors import ConfigError, ConstraintError, GraphError
from edgeflip.testing import example_graphs, example_oracle, same_answer
from edgeflip.testing.oracles import CountingOracle

GRAPHS = example_graphs(3, seed=4)
TRAIN = example_graphs(12, seed=1)


class Plain(nn.Module):
    """A model of one's own, which nothing is known of."""

    def __init__(self):
        super().__init__()
        self.inner = example_oracle().model

    def forward(self, x, edge_index, batch):
        return self.inner(x, edge_index, batch)


def test_a_model_and_a_graph_are_enough():
    answer = explain(Plain(), GRAPHS[0])
    assert answer.found
    assert same_answer(answer, EdgeFlip.for_dataset().fit([], Plain()).explain(GRAPHS[0]))


def test_an_oracle_a_function_and_a_list_of_graphs_do_as_well():
    oracle = example_oracle()
    one = explain(oracle, GRAPHS[0])
    assert [a.found for a in explain(oracle, GRAPHS)] == [True] * 3
    function = explain(lambda graphs: oracle.predict_proba(graphs).log(), GRAPHS[0])
    assert function.best.edits == one.best.edits


def test_options_names_and_methods_are_taken():
    answer = explain(
        Plain(),
        GRAPHS[0],
        method="random",
        class_names=("low", "high"),
        constraints=Constraints(allow_additions=False),
        seed=3,
    )
    assert answer.class_names == ("low", "high")
    assert answer.provenance.method == "random"
    assert not any(entry.edits.added for entry in answer.counterfactuals)
    other = answer.class_name(1 - answer.label)
    assert explain(Plain(), GRAPHS[0], class_names=("low", "high"), target=other).found


def test_what_is_no_model_is_refused_with_a_sentence():
    for wrong in (3, "model.pt", None):
        with pytest.raises(ConfigError) as error:
            explain(wrong, GRAPHS[0])
        assert_sentence(error, type(wrong).__name__, "model")
    with pytest.raises(ConfigError) as error:
        explain(example_oracle(), GRAPHS[0], class_names=("a", "b"))
    assert_sentence(error, "class_names")
    with pytest.raises(GraphError) as error:
        explain(Plain(), GRAPHS[0], method="dr-cfgnn")
    assert_sentence(error, "dr-cfgnn", "graphs")


@pytest.mark.parametrize("method", ["edgeflip", "dr-cfgnn", "gist", "rsgg-ce"])
def test_fit_and_load_take_a_plain_model(tmp_path, method):
    made = make_explainer(method, profile="smoke").fit(TRAIN, Plain())
    answer = made.explain(GRAPHS[0])
    made.save(tmp_path)
    again = load_explainer(tmp_path, Plain()).explain(GRAPHS[0])
    assert same_answer(answer, again)


def test_the_first_question_is_asked_once():
    oracle = CountingOracle(ModelOracle(Plain()))
    answer = make_explainer("random").fit([], oracle).explain(GRAPHS[0])
    assert oracle.calls == answer.trace.oracle_calls


def test_the_model_is_left_as_it_was():
    model = Plain().train()
    before = {key: value.clone() for key, value in model.state_dict().items()}
    explain(model, GRAPHS[0])
    assert model.training
    assert all(torch.equal(before[key], value) for key, value in model.state_dict().items())
    assert "explain" in edgeflip.__all__


def test_a_list_of_answers_made_by_hand_can_be_shown_drawn_and_saved(tmp_path):
    oracle = example_oracle()
    answers = edgeflip.AnswerList([explain(oracle, graph) for graph in GRAPHS[:2]])
    assert "AnswerList" in edgeflip.__all__
    assert "2 answers" in answers._repr_html_()
    assert answers.draw().svg.startswith("<svg")
    assert answers.save(tmp_path / "x.html").exists()


@pytest.mark.parametrize("method", ["edgeflip", "cf-gnnexplainer"])
def test_constraints_may_be_a_function_that_is_called_once_per_graph(method):
    seen = []

    def sparing(graph):
        seen.append(graph)
        return Constraints(frozen_nodes=frozenset({len(seen)}))

    answers = explain(example_oracle(), GRAPHS, method=method, constraints=sparing)
    assert len(seen) == len(GRAPHS)
    for place, (graph, given, answer) in enumerate(zip(GRAPHS, seen, answers, strict=True), 1):
        assert torch.equal(graph.edge_index, given.edge_index)
        assert answer.space.constraints == Constraints(frozen_nodes=frozenset({place}))


def test_a_function_of_a_graph_may_leave_all_free():
    assert explain(example_oracle(), GRAPHS[0], constraints=lambda graph: None).found


def test_a_function_that_gives_no_constraints_is_refused_with_a_sentence():
    with pytest.raises(ConstraintError) as error:
        explain(example_oracle(), GRAPHS, constraints=lambda graph: 3)
    assert_sentence(error, "function of a graph", "3")
    with pytest.raises(ConstraintError) as error:
        explain(example_oracle(), GRAPHS, constraints=lambda graph: {}["bond"])
    assert_sentence(error, "KeyError", "bond")
    with pytest.raises(ConfigError) as error:
        explain(example_oracle(), GRAPHS, constraints=Constraints)
    assert_sentence(error, "Constraints(max_edits=3)")
