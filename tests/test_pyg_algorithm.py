"""CounterfactualAlgorithm in PyG's Explainer: every mode, every way of calling a model, every refusal."""

import copy
import warnings

import pytest
import torch
from torch import nn
from torch_geometric.data import HeteroData

from conftest import assert_sentence, same_content, snapshot
from edgeflip import Budget, Constraints, EdgeFlip, ModelOracle, make_explainer
from edgeflip.errors import (
    ConfigError,
    EdgeflipError,
    GraphError,
    NotApplicableError,
    NotFittedError,
    TargetError,
    UnknownNameError,
)
from edgeflip.integrations.pyg import CounterfactualAlgorithm
from edgeflip.testing import example_graphs, example_oracle
from pyg_explainers import (
    Counts,
    FlatLogit,
    LogProbabilities,
    OneGraphAsARow,
    OneGraphAtATime,
    OneLogit,
    OneProbability,
    OtherNameForBatch,
    Probabilities,
    WithEdgeAttributes,
    WithEdgeWeights,
    alone,
    asked,
    assert_edits_agree,
    assert_flips,
    batch_of,
    explainer_for,
    one_graph,
    sequential,
)

BUDGET = Budget(oracle_calls=200)


def algorithm(method="random", **options):
    return CounterfactualAlgorithm(method, **{"budget": BUDGET, **options})


@pytest.mark.parametrize(
    ("model", "mode", "returns"),
    [
        (Counts, "classes", "raw"),
        (Probabilities, "classes", "probs"),
        (LogProbabilities, "classes", "log_probs"),
        (OneLogit, "binary", "raw"),
        (FlatLogit, "binary", "raw"),
        (OneProbability, "binary", "probs"),
    ],
)
def test_the_graphs_of_a_batch_change_class_in_every_mode(model, mode, returns):
    net, data = model(), batch_of()
    explanation = explainer_for(net, algorithm(), mode, returns)(
        data.x, data.edge_index, batch=data.batch
    )
    assert_flips(explanation, net, "batch", mode=mode, returns=returns)
    assert len(explanation.answers) == 3
    assert explanation.cf_prediction.shape == explanation.prediction.shape


@pytest.mark.parametrize("model", [OneGraphAtATime, OneGraphAsARow])
def test_a_model_that_knows_no_batches_is_explained(model):
    net, graph = model(), one_graph()
    explanation = explainer_for(net, algorithm())(graph.x, graph.edge_index)
    assert_flips(explanation, net)


@pytest.mark.parametrize(
    ("make", "name"), [(OtherNameForBatch, "batch_index"), (sequential, "batch")]
)
def test_the_batch_may_have_another_name_or_a_signature_that_says_nothing(make, name):
    net, data = make(), batch_of()
    explanation = explainer_for(net, algorithm())(data.x, data.edge_index, **{name: data.batch})
    assert_flips(explanation, net, name)


def test_a_model_that_takes_a_batch_is_explained_without_one():
    net, graph = WithEdgeWeights(), one_graph()
    assert_flips(explainer_for(net, algorithm())(graph.x, graph.edge_index), net)


@pytest.mark.parametrize(
    ("model", "name", "options", "fill"),
    [
        (WithEdgeAttributes, "edge_attr", {"edge_attr": 2}, "mean"),
        (WithEdgeWeights, "edge_weight", {"edge_weight": True}, None),
    ],
)
def test_attributes_of_edges_go_with_them(model, name, options, fill):
    net, data = model(), batch_of(**options)
    data[name].view(data.num_edges, -1)[:, 0] = 1.0
    explanation = explainer_for(net, algorithm(fill=fill))(
        data.x, data.edge_index, batch=data.batch, **{name: data[name]}
    )
    assert_flips(explanation, net, "batch", name)
    after = explanation[f"cf_{name}"]
    assert after.shape == (explanation.cf_edge_index.size(1), *data[name].shape[1:])
    before = dict(columns_with(data.edge_index, data[name]))
    for pair, row in columns_with(explanation.cf_edge_index, after):
        assert row == before.get(pair, row)


def columns_with(edge_index, values):
    pairs = zip(*edge_index.tolist(), strict=True)
    return list(zip(pairs, values.tolist(), strict=True))


class ManyKeywords(Counts):
    """A model that reads something of nodes, of graphs and of nothing in particular."""

    def forward(self, x, edge_index, more, context, *, scale, shift, batch_size, batch=None):
        assert context.shape == (batch_size, 2)
        assert more.shape == (len(x), 1)
        logits = self.logits(x + more - more.mean(), edge_index, batch)
        return (logits + context.sum(dim=1, keepdim=True)) * scale + shift


@pytest.mark.parametrize("count", [1, 3])
def test_further_keywords_reach_the_model_as_they_are_meant(count):
    data = batch_of(count)
    given = {
        "more": torch.ones(len(data.x), 1),
        "context": torch.arange(2.0 * count).view(count, 2),
        "scale": 2.0,
        "shift": torch.tensor([[0.01, 0.02, 0.03]]),
        "batch_size": count,
        "batch": data.batch,
    }
    for name, value in given.items():
        data[name] = value
    net = ManyKeywords()
    explanation = explainer_for(net, algorithm())(data.x, data.edge_index, **given)
    assert_flips(explanation, net, *given)


def test_a_size_that_is_passed_is_that_of_the_edited_graphs_too():
    class Sized(Counts):
        def forward(self, x, edge_index, batch, size):
            logits = super().forward(x, edge_index, batch)
            assert len(logits) == size
            return logits

    net, data = Sized(), batch_of()
    explanation = explainer_for(net, algorithm())(data.x, data.edge_index, batch=data.batch, size=3)
    assert_flips(explanation, net, "batch", "size")


@pytest.mark.parametrize(("target", "rise"), [("+1.5", 2.0), ("-3", -4.0)])
def test_values_move_over_the_threshold(target, rise):
    net, data = OneLogit(), batch_of()
    explanation = explainer_for(net, algorithm("edgeflip", target=target), "values")(
        data.x, data.edge_index, batch=data.batch
    )
    assert_edits_agree(explanation)
    moved = explanation.cf_prediction - explanation.prediction
    assert torch.allclose(moved, torch.full_like(moved, rise), atol=1e-4)


@pytest.mark.parametrize(("target", "added"), [(0, 0), (2, 1), ("poor", 0), ("rich", 1)])
def test_a_target_class_is_reached_by_number_and_by_name(target, added):
    net, graph = Counts(), one_graph()
    wanted = algorithm("edgeflip", target=target, class_names=["poor", "enough", "rich"])
    explanation = explainer_for(net, wanted)(graph.x, graph.edge_index, batch=graph.batch)
    assert_flips(explanation, net, "batch")
    assert explanation.target.tolist() == [1]
    assert explanation.cf_prediction.argmax(dim=1).tolist() == [2 * added]
    assert explanation.added_edge_index.size(1) == 2 * added
    assert int(explanation.edge_mask.sum()) == 2 * (1 - added)


def test_a_phenomenon_is_left_where_the_model_is_right_and_reached_where_it_is_wrong():
    net, data = Counts(), batch_of()
    assert asked(net, data, "batch").argmax(dim=1).tolist() == [1, 0, 1]
    truth = torch.tensor([1, 1, 2])
    explain = explainer_for(net, algorithm("edgeflip"), explanation_type="phenomenon")
    explanation = explain(data.x, data.edge_index, batch=data.batch, target=truth)
    assert "prediction" not in explanation
    after = explanation.cf_prediction.argmax(dim=1).tolist()
    assert after[0] != 1
    assert after[1:] == [1, 2]


def test_a_target_named_beforehand_stands_above_the_phenomenon():
    net, graph = Counts(), one_graph()
    explain = explainer_for(net, algorithm(target=0), explanation_type="phenomenon")
    for truth in (1, 2):
        explanation = explain(
            graph.x, graph.edge_index, batch=graph.batch, target=torch.tensor([truth])
        )
        assert explanation.cf_prediction.argmax(dim=1).tolist() == [0]


def test_only_the_graphs_that_are_named_are_explained():
    net, data = Counts(), batch_of()
    explain = explainer_for(net, algorithm())
    for index in (1, torch.tensor([1]), torch.tensor([False, True, False])):
        explanation = explain(data.x, data.edge_index, batch=data.batch, index=index)
        assert_edits_agree(explanation)
        assert explanation.cf_found.tolist() == [False, True, False]
        assert explanation.answer.graph.num_nodes == 7
        touched = torch.cat(
            [explanation.edge_index[:, explanation.edge_mask == 1], explanation.added_edge_index], 1
        )
        assert set(data.batch[touched].flatten().tolist()) == {1}
    with pytest.raises(GraphError) as caught:
        explain(data.x, data.edge_index, batch=data.batch, index=3)
    assert_sentence(caught, "0..2")


def test_a_graph_of_a_batch_is_explained_as_if_it_were_alone():
    net, data = Counts(), batch_of()
    explain = explainer_for(net, algorithm("edgeflip"))
    together = explain(data.x, data.edge_index, batch=data.batch)
    for place, graph in enumerate(data.to_data_list()):
        single = alone(graph)
        explained = explain(single.x, single.edge_index, batch=single.batch)
        assert explained.counterfactual.edits == together.answers[place].smallest.edits


def test_a_batch_need_not_be_sorted():
    net, data = Counts(), batch_of()
    order = torch.randperm(len(data.x), generator=torch.Generator().manual_seed(0))
    number = order.argsort()
    explanation = explainer_for(net, algorithm())(
        data.x[order], number[data.edge_index], batch=data.batch[order]
    )
    assert_flips(explanation, net, "batch")


def test_the_masks_show_the_smallest_edits_unless_a_ranking_is_asked_for():
    net, graph = example_oracle().model, example_graphs(1, seed=4)[0]
    for options, which in (({}, "smallest"), ({"ranking": "paper"}, "best")):
        explanation = explainer_for(net, CounterfactualAlgorithm("edgeflip", **options))(
            graph.x, graph.edge_index
        )
        assert explanation.counterfactual == getattr(explanation.answer, which)
        assert explanation.answer.best != explanation.answer.smallest
    explainer = EdgeFlip(ranking="confident").fit([], net)
    explanation = explainer_for(net, CounterfactualAlgorithm(explainer))(graph.x, graph.edge_index)
    assert explanation.counterfactual == explanation.answer.best


def test_where_nothing_is_found_the_graph_stays_as_it_is():
    net, graph = Counts(), one_graph(enough=False)
    only_removals = algorithm(constraints=Constraints(allow_additions=False))
    explanation = explainer_for(net, only_removals)(graph.x, graph.edge_index, batch=graph.batch)
    assert_edits_agree(explanation)
    assert explanation.cf_found.tolist() == [False]
    assert not bool(explanation.edge_mask.any())
    assert torch.equal(explanation.cf_edge_index, graph.edge_index)
    assert torch.allclose(explanation.cf_prediction, explanation.prediction)
    assert explanation.counterfactual is None
    with pytest.raises(EdgeflipError) as caught:
        explanation.counterfactual_graph()
    assert_sentence(caught, "cf_found")


def test_model_and_inputs_are_left_as_they_were():
    net, data = Counts(), batch_of()
    net.train()
    net.dropout.eval()
    weights, before = copy.deepcopy(net.state_dict()), snapshot(data)
    torch.manual_seed(4)
    state = torch.random.get_rng_state()
    explainer_for(net, algorithm("edgeflip"))(data.x, data.edge_index, batch=data.batch)
    assert torch.equal(torch.random.get_rng_state(), state)
    assert all(torch.equal(weights[key], value) for key, value in net.state_dict().items())
    assert all(parameter.requires_grad for parameter in net.parameters())
    assert same_content(before, snapshot(data))


def test_an_explainer_that_was_fitted_on_the_model_is_used_as_it_is():
    net, data = Counts(), batch_of()
    fitted = make_explainer("random").fit([], ModelOracle(net))
    explanation = explainer_for(net, CounterfactualAlgorithm(fitted, budget=BUDGET))(
        data.x, data.edge_index, batch=data.batch
    )
    assert_flips(explanation, net, "batch")
    # The same weights are the same model, wherever they were loaded.
    again = explainer_for(copy.deepcopy(net), CounterfactualAlgorithm(fitted, budget=BUDGET))
    assert bool(again(data.x, data.edge_index, batch=data.batch).cf_found.any())


def test_an_explainer_without_fit_is_fitted_on_a_copy():
    net, graph = Counts(), one_graph()
    bare = make_explainer("random")
    explain = explainer_for(net, CounterfactualAlgorithm(bare, budget=BUDGET))
    assert_flips(explain(graph.x, graph.edge_index, batch=graph.batch), net, "batch")
    assert not hasattr(bare, "oracle_")


def test_an_explainer_of_another_model_is_refused():
    net, data = Counts(), batch_of()
    other = Counts()
    with torch.no_grad():
        other.conv.lin.weight.mul_(2)
    fitted = make_explainer("random").fit([], other)
    with pytest.raises(NotApplicableError) as caught:
        explainer_for(net, CounterfactualAlgorithm(fitted))(
            data.x, data.edge_index, batch=data.batch
        )
    assert_sentence(caught, "another Counts")


def test_an_oracle_that_reads_the_model_in_another_way_is_refused():
    net, data = Probabilities(), batch_of()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the oracle says so too
        fitted = make_explainer("random").fit([], ModelOracle(net))
        with pytest.raises(NotApplicableError) as caught:
            explainer_for(net, CounterfactualAlgorithm(fitted), returns="probs")(
                data.x, data.edge_index, batch=data.batch
            )
    assert_sentence(caught, "return_type")


def test_a_method_that_learns_from_graphs_must_be_fitted():
    graph = one_graph()
    with pytest.raises(NotFittedError) as caught:
        explainer_for(Counts(), CounterfactualAlgorithm("dr-cfgnn"))(
            graph.x, graph.edge_index, batch=graph.batch
        )
    assert_sentence(caught, "dr-cfgnn")


@pytest.mark.parametrize("level", ["node", "edge"])
def test_models_of_nodes_and_links_are_refused(level):
    config = {"mode": "multiclass_classification", "task_level": level, "return_type": "raw"}
    # PyG promises a ValueError for settings that an algorithm does not support.
    with pytest.raises(ValueError, match=level) as caught:
        explainer_for(Counts(), algorithm(), model_config=config)
    assert_sentence(caught, "task_level='graph'")


@pytest.mark.parametrize(
    "settings",
    [
        {"node_mask_type": "attributes"},
        {"node_mask_type": "object", "edge_mask_type": None},
    ],
)
def test_masks_of_nodes_are_refused(settings):
    with pytest.raises(ValueError, match="node_mask_type") as caught:
        explainer_for(Counts(), algorithm(), **settings)
    assert_sentence(caught)


def test_a_model_of_values_needs_a_target():
    with pytest.raises(ValueError, match="target") as caught:
        explainer_for(OneLogit(), algorithm("edgeflip"), "values")
    assert_sentence(caught, ">0.5")


def test_heterogeneous_graphs_are_refused():
    data = HeteroData()
    data["atom"].x = torch.ones(2, 3)
    data["atom", "to", "atom"].edge_index = torch.tensor([[0, 1], [1, 0]])

    class Hetero(nn.Module):
        def forward(self, x, edge_index):
            return x["atom"].sum().view(1, 1).repeat(1, 3)

    with pytest.raises(NotApplicableError) as caught:
        explainer_for(Hetero(), algorithm())(data.x_dict, data.edge_index_dict)
    assert_sentence(caught, "to_homogeneous")


def test_graphs_that_are_of_the_target_class_already_are_named():
    net, data = Counts(), batch_of()
    there = asked(net, data, "batch").argmax(dim=1)
    with pytest.raises(TargetError) as caught:
        explainer_for(net, algorithm(target=int(there[1])))(
            data.x, data.edge_index, batch=data.batch
        )
    assert_sentence(caught, "index=", str((there == there[1]).nonzero().flatten().tolist()))


def test_mistakes_in_the_constructor_are_named():
    with pytest.raises(UnknownNameError, match="edgeflip"):
        CounterfactualAlgorithm("edgflip")
    with pytest.raises(UnknownNameError, match="target"):
        CounterfactualAlgorithm("edgeflip", targets=1)
    with pytest.raises(ConfigError) as caught:
        CounterfactualAlgorithm(Counts())
    assert_sentence(caught, "Counts")
    fitted = make_explainer("random").fit([], Counts())
    with pytest.raises(ConfigError) as caught:
        CounterfactualAlgorithm(fitted, class_names=["a", "b", "c"])
    assert_sentence(caught, "class_names")


def test_it_says_what_it_was_asked_for():
    assert repr(CounterfactualAlgorithm("random", target=1)) == (
        "CounterfactualAlgorithm('random', target=1)"
    )
