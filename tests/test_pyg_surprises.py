"""What somebody who comes from PyG's Explainer runs into: masks that stay, pictures that are empty, words."""

import warnings

import pytest
import torch
from torch_geometric.explain.algorithm.utils import clear_masks, set_masks
from torch_geometric.explain.metric import fidelity
from torch_geometric.nn import MessagePassing

from conftest import assert_sentence
from edgeflip import AnswerList, Budget, EdgeFlip, ModelOracle, explain
from edgeflip.errors import ConfigError, OracleError, TargetError, UnknownNameError
from edgeflip.factual import SubgraphX
from edgeflip.integrations.pyg import CounterfactualAlgorithm, SubgraphXAlgorithm, to_pyg
from pyg_explainers import (
    Counts,
    LogProbabilities,
    Probabilities,
    batch_of,
    explainer_for,
    one_graph,
)


def algorithm(**options):
    return CounterfactualAlgorithm("random", budget=Budget(oracle_calls=200), **options)


def masked(graph, *, learned=False):
    model = Counts()
    mask = torch.ones(graph.num_edges)
    set_masks(model, torch.nn.Parameter(mask) if learned else mask, graph.edge_index)
    return model


@pytest.mark.parametrize("learned", [False, True])
def test_masks_that_pyg_left_behind_are_named_before_the_model_is_asked(learned):
    graph = one_graph()
    model = masked(graph, learned=learned)
    with pytest.raises(OracleError) as caught:
        explain(model, graph, method="random")
    assert_sentence(caught, "clear_masks(model)", "GCNConv")
    clear_masks(model)
    assert explain(model, graph, method="random", budget=Budget(oracle_calls=200)).found


@pytest.mark.parametrize("made", [algorithm(), SubgraphXAlgorithm(SubgraphX(max_nodes=3))])
def test_masks_that_pyg_left_behind_are_named_in_its_explainer(made):
    graph = one_graph()
    explain_with = explainer_for(masked(graph), made)
    with pytest.raises(OracleError) as caught:
        explain_with(graph.x, graph.edge_index, batch=graph.batch)
    assert_sentence(caught, "clear_masks(model)")


def test_a_call_of_pyg_that_failed_is_told_from_a_graph_that_does_not_fit():
    class NeedsBatch(Counts):
        def forward(self, x, edge_index, batch):
            return self.logits(x, edge_index, batch)

    model, graph = NeedsBatch(), one_graph()
    answer = explain(model, graph, method="random", target=0)
    explain_with = explainer_for(model, algorithm())
    with pytest.raises(TypeError, match="batch"):
        fidelity(explain_with, to_pyg(answer))
    with pytest.raises(OracleError) as caught:
        explain(model, graph, method="random")
    assert_sentence(caught, "when a call failed")
    clear_masks(model)
    assert fidelity(explain_with, answer.to_pyg(model_args=["batch"]))[0] == 1.0


def test_a_layer_without_a_mask_in_use_is_asked():
    """PyG heeds a mask only where `explain` is set."""
    graph = one_graph()
    model = masked(graph)
    for module in model.modules():
        if isinstance(module, MessagePassing):
            module.explain = False
    assert explain(model, graph, method="random", budget=Budget(oracle_calls=200)).found


def test_pygs_picture_warns_where_edges_come(tmp_path):
    pytest.importorskip("matplotlib")
    graph = one_graph()
    for target, warned in ((2, True), (0, False)):
        explain_with = explainer_for(Counts(), algorithm(target=target))
        explanation = explain_with(graph.x, graph.edge_index, batch=graph.batch)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            explanation.visualize_graph(str(tmp_path / "graph.png"), backend="networkx")
        said = [str(each.message) for each in caught if "explanation.draw()" in str(each.message)]
        assert bool(said) is warned


def test_a_misread_output_is_told_in_the_words_of_both():
    graph = one_graph()
    with pytest.raises(OracleError) as caught:
        explainer_for(LogProbabilities(), algorithm(), returns="probs")(
            graph.x, graph.edge_index, batch=graph.batch
        )
    assert_sentence(caught, "return_type='raw'", "returns='logits'")
    with pytest.warns(UserWarning, match=r"return_type='probs'"):
        explainer_for(Probabilities(), algorithm())(graph.x, graph.edge_index, batch=graph.batch)


@pytest.mark.parametrize(
    ("target", "said"), [("ring", "class_names="), (">0.5", "mode='regression'")]
)
def test_a_target_that_is_no_class_says_what_to_pass(target, said):
    graph = one_graph()
    with pytest.raises(TargetError) as caught:
        explainer_for(Counts(), algorithm(target=target))(
            graph.x, graph.edge_index, batch=graph.batch
        )
    assert_sentence(caught, said)


def test_a_class_in_place_of_an_explainer_is_named():
    with pytest.raises(ConfigError) as caught:
        CounterfactualAlgorithm(EdgeFlip)
    assert_sentence(caught, "the class EdgeFlip", "write EdgeFlip()")


def test_misspelt_class_names_are_recognised():
    with pytest.raises(UnknownNameError, match="did you mean 'class_names'"):
        CounterfactualAlgorithm(class_name=["no", "yes"])


def test_a_method_that_cannot_ask_the_model_ends_its_sentence_once():
    answer = explain(ModelOracle(Counts(), num_classes=3), one_graph(), method="cf-gnnexplainer")
    assert not answer.found
    assert ".." not in str(answer)
    assert ".." not in answer.draw().scene.label


def test_answers_of_a_batch_are_one_table():
    data = batch_of()
    explain_with = explainer_for(Counts(), algorithm())
    answers = explain_with(data.x, data.edge_index, batch=data.batch).answers
    rows = answers.to_rows()
    assert [row["graph"] for row in rows if row["smallest"]] == [0, 1, 2]
    assert rows[0] == {"graph": 0, **answers[0].to_rows()[0]}
    assert AnswerList().to_rows() == []


def test_answers_of_a_batch_are_a_table_of_pandas():
    pytest.importorskip("pandas", reason="pip install pandas")
    answers = explain(Counts(), [one_graph(), one_graph(3)], budget=Budget(oracle_calls=200))
    frame = answers.to_frame()
    assert frame["graph"].tolist() == [row["graph"] for row in answers.to_rows()]
