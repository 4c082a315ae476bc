"""EditExplanation: everything PyG does with an explanation works on edits too."""

import copy
import dataclasses
import io
import warnings

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explanation
from torch_geometric.explain.metric import fidelity, unfaithfulness
from torch_geometric.loader import DataLoader

from conftest import assert_sentence, random_graph
from edgeflip import Budget, Constraints, EditSet, explain, verify_certificate
from edgeflip.core import edge_pairs
from edgeflip.errors import EdgeflipError, NotApplicableError
from edgeflip.integrations.pyg import CounterfactualAlgorithm, EditExplanation, to_pyg
from edgeflip.testing import example_graphs, example_oracle
from pyg_explainers import (
    Counts,
    OneLogit,
    Probabilities,
    WithEdgeAttributes,
    asked,
    assert_edits_agree,
    batch_of,
    directed,
    explainer_for,
    one_graph,
)
from toy_space import SwitchSpace, switches

REMOVALS = {"target": 0}
ADDITIONS = {"target": 2}


def explainer(model=None, mode="classes", returns="raw", settings=None, **options):
    algorithm = CounterfactualAlgorithm("random", budget=Budget(oracle_calls=200), **options)
    return explainer_for(model or Counts(), algorithm, mode, returns, **(settings or {}))


def explained(graph=None, **options):
    graph = graph or one_graph()
    return explainer(**options)(graph.x, graph.edge_index, batch=graph.batch)


def same_tensors(one, other):
    mine, theirs = one.to_dict(), other.to_dict()
    assert mine.keys() == theirs.keys()
    return all(
        torch.equal(value, theirs[key])
        for key, value in mine.items()
        if isinstance(value, torch.Tensor)
    )


def test_removed_edges_are_the_explanation_and_its_subgraph():
    explanation = explained(**REMOVALS)
    assert isinstance(explanation, Explanation)
    assert_edits_agree(explanation)
    (pair,) = explanation.counterfactual.edits.removed
    part = explanation.get_explanation_subgraph()
    assert directed(part.edge_index) == [pair, pair[::-1]]
    rest = explanation.get_complement_subgraph()
    assert directed(rest.edge_index) == directed(explanation.cf_edge_index)
    assert part.validate()
    assert rest.validate()


def test_an_exchange_of_edges_keeps_pyg_from_cutting_the_edited_graph():
    """As many edges after the edits as before: by their length PyG takes ours for its own."""
    graph = one_graph(edge_attr=2)
    (gone,) = sorted(edge_pairs(graph))[:1]
    answer = explain(Counts(), graph, method="random", fill="zeros", budget=Budget(oracle_calls=50))
    missing = next(iter(sorted(answer.space.pairs.edges_of(answer.space.pairs.non_edge_ids()))))
    entry = dataclasses.replace(answer.smallest, edits=EditSet([missing], [gone]))
    explanation = to_pyg(answer, entry)
    assert explanation.cf_edge_index.shape == graph.edge_index.shape
    assert explanation.cf_edge_attr.shape == graph.edge_attr.shape
    part = explanation.get_explanation_subgraph()
    assert part.edge_index.size(1) == len(part.edge_attr) == 2
    assert torch.equal(part.cf_edge_index, explanation.cf_edge_index)
    assert torch.equal(part.cf_edge_attr, explanation.cf_edge_attr)
    assert edge_pairs(part.counterfactual_graph()) == edge_pairs(graph) - {gone} | {missing}


def test_pyg_measures_what_removals_do():
    graph, explain_with = one_graph(), explainer(**REMOVALS)
    explanation = explain_with(graph.x, graph.edge_index, batch=graph.batch)
    assert fidelity(explain_with, explanation)[0] == 1.0
    assert 0 <= unfaithfulness(explain_with, explanation) <= 1


def test_pyg_does_not_see_additions():
    graph, explain_with = one_graph(), explainer(**ADDITIONS)
    explanation = explain_with(graph.x, graph.edge_index, batch=graph.batch)
    assert bool(explanation.cf_found[0])
    assert fidelity(explain_with, explanation)[0] == 0.0


@pytest.mark.parametrize("truth", [1, 0])
def test_pyg_counts_that_a_phenomenon_was_left_or_reached(truth):
    """The graph is predicted 1: where that is true an edge less ends it, where 0 is it mends it."""
    graph = one_graph()
    only_removals = Constraints(allow_additions=False)
    explain_with = explainer(constraints=only_removals, settings={"explanation_type": "phenomenon"})
    explanation = explain_with(
        graph.x, graph.edge_index, batch=graph.batch, target=torch.tensor([truth])
    )
    assert fidelity(explain_with, explanation)[0] == 1.0


@pytest.mark.parametrize("returns", ["raw", "probs"])
def test_unfaithfulness_reads_every_return_type(returns):
    model = Counts() if returns == "raw" else Probabilities()
    graph, explain_with = one_graph(), explainer(model, returns=returns)
    explanation = explain_with(graph.x, graph.edge_index, batch=graph.batch)
    assert 0 <= unfaithfulness(explain_with, explanation) <= 1


@pytest.mark.parametrize(
    "threshold", [("hard", 0.5), ("topk", 1), ("topk", 500), ("topk_hard", 5), ("topk_hard", 500)]
)
def test_no_threshold_marks_an_edge_that_stays(threshold):
    graph = one_graph()
    whole = explained(graph, **REMOVALS)
    cut = explained(graph, settings={"threshold_config": threshold}, **REMOVALS)
    assert bool((cut.edge_mask <= whole.edge_mask).all())
    assert set(cut.edge_mask.tolist()) == {0.0, 1.0}
    assert cut.validate()
    if threshold != ("topk", 1):
        assert torch.equal(cut.edge_mask, whole.edge_mask)
    assert whole.threshold(*threshold).answer is whole.answer


@pytest.mark.parametrize("options", [REMOVALS, ADDITIONS])
def test_pyg_draws_it(options, tmp_path):
    pytest.importorskip("matplotlib")
    told = (
        warnings.catch_warnings()
        if options is REMOVALS
        else pytest.warns(UserWarning, match="come")
    )
    with told:
        explained(**options).visualize_graph(str(tmp_path / "graph.png"), backend="networkx")
    assert (tmp_path / "graph.png").stat().st_size


def test_we_draw_the_edits_that_the_mask_shows():
    explanation = explained(**ADDITIONS)
    (pair,) = explanation.counterfactual.edits.added
    assert "{}–{}".format(*pair) in explanation.draw(title="mine").scene.label
    assert explanation.draw().svg == explanation.answer.draw(explanation.counterfactual).svg
    data = batch_of()
    grid = explainer()(data.x, data.edge_index, batch=data.batch).draw(columns=2)
    assert grid.svg.startswith("<svg")


def test_the_certificate_can_be_checked():
    oracle, graph = example_oracle(), example_graphs(1, seed=4)[0]
    explain_with = explainer_for(oracle.model, CounterfactualAlgorithm())
    explanation = explain_with(graph.x, graph.edge_index)
    assert explanation.certificate is explanation.answer.certificate is not None
    assert verify_certificate(explanation.answer, oracle) > 0


def test_the_edited_graph_has_everything_that_the_model_reads():
    graph = one_graph(edge_attr=2)
    graph.edge_attr[:, 0] = 1.0
    explain_with = explainer(WithEdgeAttributes(), fill="mean", **ADDITIONS)
    explanation = explain_with(
        graph.x, graph.edge_index, batch=graph.batch, edge_attr=graph.edge_attr
    )
    edited = explanation.counterfactual_graph()
    assert type(edited) is Data
    assert set(edited.keys()) == {"x", "edge_index", "edge_attr", "batch"}
    assert edited.validate()
    said = asked(WithEdgeAttributes(), edited, "batch", "edge_attr")
    assert said.argmax(dim=1).tolist() == [2]


def test_it_moves_between_devices():
    explanation = explained()
    moved = explanation.clone().to("meta")
    tensors = [value for value in moved.to_dict().values() if isinstance(value, torch.Tensor)]
    assert len(tensors) >= 8
    assert {value.device.type for value in tensors} == {"meta"}
    assert moved.answer is explanation.answer
    assert explanation.cpu().edge_mask.device.type == "cpu"


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, Data.clone])
def test_copies_share_the_answer_and_nothing_else_that_changes(copied):
    explanation = explained(**REMOVALS)
    again = copied(explanation)
    assert type(again) is EditExplanation
    assert same_tensors(explanation, again)
    assert again.answer is explanation.answer
    again.edge_mask = torch.zeros_like(again.edge_mask)
    assert bool(explanation.edge_mask.any())


@pytest.mark.parametrize("only_weights", [True, False])
def test_it_is_saved_and_loaded_as_tensors_and_plain_values(only_weights):
    explanation = explained(**ADDITIONS)
    file = io.BytesIO()
    torch.save(explanation, file)
    assert b"Counts" not in file.getvalue(), "the model is no part of an explanation"
    file.seek(0)
    again = torch.load(file, weights_only=only_weights)
    assert type(again) is EditExplanation
    assert same_tensors(explanation, again)
    assert again.validate()
    assert again.counterfactual.edits == explanation.counterfactual.edits
    assert again.answer.to_dict() == explanation.answer.to_dict()
    assert again.draw().svg == explanation.draw().svg
    explain_with = explainer()
    assert fidelity(explain_with, again) == fidelity(explain_with, explanation)
    # And once more, without anybody having looked at the answer.
    file = io.BytesIO()
    torch.save(again, file)
    file.seek(0)
    assert torch.load(file, weights_only=only_weights).counterfactual == again.counterfactual


def test_it_goes_through_a_dictionary():
    explanation = explained(**REMOVALS)
    again = EditExplanation.from_dict(explanation.to_dict())
    assert same_tensors(explanation, again)
    assert again.answer is explanation.answer
    assert again.counterfactual_graph().num_edges == explanation.cf_edge_index.size(1)
    assert explanation.stores == [explanation._store]
    bare = EditExplanation.from_dict(
        {key: value for key, value in explanation.to_dict().items() if key != "record"}
    )
    assert bare.validate()
    with pytest.raises(EdgeflipError) as caught:
        _ = bare.answer
    assert_sentence(caught, "record")


def test_explanations_are_batched_and_taken_apart_again():
    several = [explained(one_graph(seed)) for seed in range(3)]
    for batch in (Batch.from_data_list(several), next(iter(DataLoader(several, batch_size=3)))):
        assert batch.validate()
        assert batch.available_explanations == ["edge_mask"]
        assert batch.num_nodes == sum(each.num_nodes for each in several)
        assert batch.cf_found.tolist() == [True] * 3
        assert batch.cf_prediction.shape == (3, 3)
        assert len(batch.answers) == 3
        said = asked(Counts(), batch.counterfactual_graph(), "batch")
        assert torch.allclose(said, batch.cf_prediction, atol=1e-5)
        for place, each in enumerate(several):
            again = batch.get_example(place)
            assert same_tensors(each, again)
            assert again.answer is each.answer
        with pytest.raises(EdgeflipError) as caught:
            _ = batch.answer
        assert_sentence(caught, "answers")


@pytest.mark.parametrize("only_weights", [True, False])
def test_a_batch_of_explanations_is_saved_and_loaded_too(only_weights):
    batch = Batch.from_data_list([explained(one_graph(seed)) for seed in range(3)])
    for _ in range(2):
        file = io.BytesIO()
        torch.save(batch, file)
        file.seek(0)
        again = torch.load(file, weights_only=only_weights)
        assert type(again) is type(batch)
        assert again.validate()
        assert same_tensors(batch, again)
        assert [one.to_dict() for one in again.answers] == [one.to_dict() for one in batch.answers]
        for place, one in enumerate(again.to_data_list()):
            assert type(one) is EditExplanation
            assert same_tensors(one, batch.get_example(place))
            assert one.counterfactual == batch[place].counterfactual
        batch = again


def test_one_call_for_a_batch_says_what_calls_for_each_graph_say():
    data = batch_of()
    together = explainer(seed=0)(data.x, data.edge_index, batch=data.batch)
    several = []
    for graph in data.to_data_list():
        graph.batch = torch.zeros(graph.num_nodes, dtype=torch.long)
        several.append(explained(graph))
    apart = Batch.from_data_list(several)
    for key in ("edge_mask", "cf_found", "cf_prediction", "target"):
        assert torch.equal(together[key], apart[key]), key
    for key in ("added_edge_index", "cf_edge_index"):
        assert directed(together[key]) == directed(apart[key]), key


def test_a_value_that_is_a_bare_number_is_kept_in_its_form():
    class Bare(OneLogit):
        def forward(self, x, edge_index):
            return super().forward(x, edge_index, None).sum()

    graph = one_graph()
    explain_with = explainer_for(Bare(), CounterfactualAlgorithm("edgeflip", target="+1"), "values")
    explanation = explain_with(graph.x, graph.edge_index)
    assert explanation.cf_prediction.shape == explanation.prediction.shape == ()
    assert float(explanation.cf_prediction) >= float(explanation.prediction) + 1


# An answer of ours on its way to PyG.


def test_an_answer_becomes_an_explanation():
    graph = example_graphs(1, seed=4)[0]
    answer = explain(example_oracle(), graph)
    explanation = answer.to_pyg()
    assert_edits_agree(explanation)
    assert explanation.counterfactual == answer.smallest
    assert explanation.target.tolist() == [answer.predicted]
    assert explanation.cf_prediction[0].tolist() == pytest.approx(answer.smallest.output)
    assert torch.equal(explanation.y, graph.y)
    other = answer.to_pyg(answer.best)
    assert other.counterfactual == answer.best
    assert edge_pairs(other.counterfactual_graph()) == edge_pairs(answer.edited_graph(answer.best))


def test_pyg_measures_an_answer_of_ours():
    net, graph = Counts(), one_graph()
    del graph.batch
    answer = explain(net, graph, method="random", target=0, budget=Budget(oracle_calls=200))
    assert fidelity(explainer(net), answer.to_pyg())[0] == 1.0

    class Strict(Counts):
        def forward(self, x, edge_index, batch):
            return super().forward(x, edge_index, batch)

    assert fidelity(explainer(Strict()), answer.to_pyg(model_args=["batch"]))[0] == 1.0


def test_an_answer_without_edits_or_features_becomes_an_explanation_too():
    graph = random_graph(5, seed=1, features=0)
    net = lambda graphs: torch.tensor([[float(g.num_edges), 1000.0] for g in graphs])  # noqa: E731
    answer = explain(net, graph, constraints=Constraints(max_edits=1))
    assert not answer.found
    explanation = answer.to_pyg()
    assert not bool(explanation.cf_found.any())
    assert "x" not in explanation
    assert explanation.edge_mask.shape == (graph.num_edges,)


def test_masks_that_a_graph_brings_along_do_not_stand_for_what_was_found():
    graph = one_graph(edge_attr=1)
    del graph.batch
    graph.edge_mask, graph.node_mask = torch.rand(graph.num_edges), torch.rand(graph.num_nodes)
    graph.prediction, graph.cf_found, graph.index = torch.ones(1, 9), "no", torch.tensor([4])
    fill = {"edge_attr": 0.0, "edge_mask": 0.0}
    for target in (0, 2):
        answer = explain(
            Counts(),
            graph,
            method="random",
            target=target,
            fill=fill,
            budget=Budget(oracle_calls=200),
        )
        explanation = answer.to_pyg()
        assert_edits_agree(explanation)
        assert explanation.cf_found.tolist() == [True]
        assert not {"prediction", "index", "node_mask", "cf_edge_mask"} & set(explanation.keys())
        assert fidelity(explainer(), explanation)[0] == (target == 0)


def test_only_answers_about_edges_become_explanations():
    answer = explain(example_oracle(), example_graphs(1, seed=4)[0])
    other = dataclasses.replace(answer, space=SwitchSpace(switches([0.0, 1.0]), (1,) * 6))
    with pytest.raises(NotApplicableError) as caught:
        to_pyg(other)
    assert_sentence(caught, other.space.kind)
