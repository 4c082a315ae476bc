"""What a call of PyG's Explainer passes to CounterfactualAlgorithm: index, batch, target, keywords."""

import pytest
import torch

from conftest import assert_sentence
from edgeflip import Budget, Constraints
from edgeflip.errors import ConstraintError, GraphError, OracleError, TargetError
from edgeflip.integrations.pyg import CounterfactualAlgorithm
from pyg_explainers import Counts, OneLogit, assert_flips, batch_of, explainer_for, one_graph


def algorithm(**options):
    return CounterfactualAlgorithm("random", budget=Budget(oracle_calls=200), **options)


def test_a_model_may_squeeze_away_the_row_of_one_graph():
    class Squeezed(Counts):
        def forward(self, x, edge_index, batch=None):
            return self.logits(x, edge_index, batch).squeeze(0)

    net, graph = Squeezed(), one_graph()
    for names in ((), ("batch",)):
        given = {name: graph[name] for name in names}
        explanation = explainer_for(net, algorithm())(graph.x, graph.edge_index, **given)
        assert_flips(explanation, net, *names)
        assert explanation.cf_prediction.shape == explanation.prediction.shape == (3,)


@pytest.mark.parametrize(
    "index",
    [
        torch.tensor([0.5]),
        torch.tensor([]),
        torch.tensor([True, False]),
        True,
        -1,
        slice(0, 2),
        "all",
    ],
)
def test_an_index_that_names_no_graphs_is_refused(index):
    data = batch_of()
    with pytest.raises(GraphError) as caught:
        explainer_for(Counts(), algorithm())(data.x, data.edge_index, batch=data.batch, index=index)
    assert_sentence(caught, "0..2", "mask of 3")


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.uint8])
def test_a_batch_vector_may_be_of_any_whole_numbers(dtype):
    class Adds(Counts):
        def forward(self, x, edge_index, batch):
            return self.logits(x, edge_index, batch.long())

    net, data = Adds(), batch_of()
    data.batch = data.batch.to(dtype)
    explanation = explainer_for(net, algorithm())(data.x, data.edge_index, batch=data.batch)
    assert_flips(explanation, net, "batch")
    assert explanation.batch.dtype == dtype


def test_a_graph_of_a_batch_that_is_too_small_to_edit_is_named():
    data = batch_of(2)
    x = torch.cat([data.x, data.x[:1]])
    explain = explainer_for(Counts(), algorithm())
    for place, nodes in ((2, 1), (3, 0)):
        batch = torch.cat([data.batch, torch.tensor([place])])
        with pytest.raises(GraphError) as caught:
            explain(x, data.edge_index, batch=batch)
        assert_sentence(caught, f"got {nodes} in graph 2", "index=")
        others = explain(x, data.edge_index, batch=batch, index=[0, 1])
        assert others.cf_found.tolist() == [True, True] + [False] * (place - 1)
        assert others.validate()


@pytest.mark.parametrize("name", ["record", "edge_mask", "cf_found", "added_edge_index"])
def test_a_keyword_of_the_model_cannot_stand_where_the_edits_are(name):
    class Reads(Counts):
        def forward(self, x, edge_index, **others):
            return super().forward(x, edge_index)

    graph = one_graph()
    with pytest.raises(ValueError, match=name) as caught:
        explainer_for(Reads(), algorithm())(graph.x, graph.edge_index, **{name: 1})
    assert_sentence(caught, "rename it")


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        (Constraints(allow_additions=False), "(graph 2 of the batch; index="),
        (Constraints(within=range(7)), "(graph 0 of the batch; index="),
    ],
)
def test_the_graph_of_a_batch_that_constraints_leave_nothing_is_named(constraints, words):
    data = batch_of(2)
    x = torch.cat([data.x, data.x[:7]])
    batch = torch.cat([data.batch, torch.full((7,), 2)])
    explain = explainer_for(Counts(), algorithm(constraints=constraints))
    with pytest.raises(ConstraintError) as caught:
        explain(x, data.edge_index, batch=batch)
    assert_sentence(caught, words)
    assert explain(x, data.edge_index, batch=batch, index=1).validate()


def test_edges_between_two_graphs_of_a_batch_are_refused():
    data = batch_of(2)
    edges = torch.cat([data.edge_index, torch.tensor([[0, 7], [7, 0]])], dim=1)
    with pytest.raises(GraphError) as caught:
        explainer_for(Counts(), algorithm())(data.x, edges, batch=data.batch)
    assert_sentence(caught, "'batch'")


@pytest.mark.parametrize(("model", "mode"), [(Counts, "binary"), (OneLogit, "classes")])
def test_a_mode_that_does_not_fit_the_outputs_is_refused(model, mode):
    graph = one_graph()
    with pytest.raises(OracleError) as caught:
        explainer_for(model(), algorithm(), mode)(graph.x, graph.edge_index, batch=graph.batch)
    assert_sentence(caught, "mode=")


@pytest.mark.parametrize("targets", [[0, 2, 0], {0: 1}])
def test_a_target_for_each_graph_is_refused(targets):
    with pytest.raises(TargetError) as caught:
        algorithm(target=targets)
    assert_sentence(caught, str(targets), "index=")


def test_graphs_whose_value_is_there_already_are_named():
    data = batch_of()
    explain = explainer_for(OneLogit(), algorithm(target=">0.5"), "values")
    with pytest.raises(TargetError) as caught:
        explain(data.x, data.edge_index, batch=data.batch)
    assert_sentence(caught, "got [0, 2]", "index=")
    assert explain(data.x, data.edge_index, batch=data.batch, index=1).cf_found.tolist() == [
        False,
        True,
        False,
    ]
    wrong = explainer_for(OneLogit(), algorithm(target="up"), "values")
    with pytest.raises(TargetError) as caught:
        wrong(data.x, data.edge_index, batch=data.batch)
    assert_sentence(caught, "got 'up'")


def test_what_is_true_must_be_a_class_for_each_graph():
    data = batch_of()
    explain = explainer_for(Counts(), algorithm(), explanation_type="phenomenon")
    for target in (torch.tensor([0]), torch.tensor([0, 1, 3]), torch.tensor([0.5, 0.0, 1.0])):
        with pytest.raises(TargetError) as caught:
            explain(data.x, data.edge_index, batch=data.batch, target=target)
        assert_sentence(caught, "data.y")


def test_a_keyword_as_long_as_the_edges_must_say_so():
    class Typed(Counts):
        def forward(self, x, edge_index, batch, kind=None):
            return super().forward(x, edge_index, batch)

    graph = one_graph()
    assert graph.num_edges != graph.num_nodes
    with pytest.raises(GraphError) as caught:
        explainer_for(Typed(), algorithm())(
            graph.x, graph.edge_index, batch=graph.batch, kind=torch.zeros(graph.num_edges)
        )
    assert_sentence(caught, "'kind'")
