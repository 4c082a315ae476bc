"""Calling an explainer: targets, seeds, graphs that fit and do not, errors in words."""

import pytest
import torch
from torch_geometric.data import Data

from conftest import assert_sentence
from edgeflip import (
    Budget,
    Constraints,
    EditSet,
    ModelOracle,
    make_explainer,
)
from edgeflip.core import edge_pairs
from edgeflip.errors import (
    ConfigError,
    ConstraintError,
    EditError,
    GraphError,
    NotFittedError,
    OracleError,
    TargetError,
)
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.testing import example_graphs, example_oracle, same_answer
from scripted import GRAPH, fitted


def test_an_oracle_of_another_make_gives_the_same_edits():
    oracle = example_oracle()

    class Foreign:
        num_classes = 2

        def predict_proba(self, graphs):
            return oracle.predict_proba(graphs)

    one = fitted(oracle=oracle).explain(GRAPH)
    two = RandomSearch().fit([], Foreign()).explain(GRAPH)
    assert one.best.edits == two.best.edits


def test_explaining_before_fit_is_refused():
    with pytest.raises(NotFittedError, match="fit"):
        RandomSearch().explain(GRAPH)


@pytest.mark.parametrize("target", [2, -1, 1.5, "house", True])
def test_a_target_out_of_range_is_refused(target):
    with pytest.raises(TargetError, match="target"):
        fitted().explain(GRAPH, target=target)


def test_the_current_label_as_target_is_refused():
    oracle = example_oracle()
    label = int(oracle.predict([GRAPH])[0])
    with pytest.raises(TargetError, match="predicts already"):
        fitted(oracle=oracle).explain(GRAPH, target=label)


def test_a_complete_graph_is_answered_by_removals_or_refused_when_these_are_forbidden():
    pairs = [(u, v) for u in range(6) for v in range(6) if u != v]
    complete = Data(x=torch.rand(6, 4), edge_index=torch.tensor(pairs).t().contiguous())
    answer = fitted().explain(complete)
    assert all(not entry.edits.added for entry in answer.counterfactuals)
    with pytest.raises(ConstraintError, match="complete"):
        fitted().explain(complete, constraints=Constraints(allow_removals=False))


def test_another_feature_width_than_in_fit_is_refused():
    explainer = RandomSearch().fit(example_graphs(2, seed=0), example_oracle())
    narrow = example_graphs(1, seed=0, features=3)[0]
    with pytest.raises(GraphError, match="4 features"):
        explainer.explain(narrow)


def test_a_wrong_feature_width_without_fit_graphs_keeps_the_models_message():
    narrow = example_graphs(1, seed=0, features=3)[0]
    with pytest.raises(OracleError, match="shapes"):
        fitted().explain(narrow)


def test_edge_attributes_need_a_fill_for_additions():
    graph = GRAPH.clone()
    graph.edge_attr = torch.ones(graph.num_edges, 2)
    with pytest.raises(EditError, match="fill"):
        fitted().explain(graph)
    removals = fitted().explain(graph, constraints=Constraints(allow_additions=False))
    assert all(not entry.edits.added for entry in removals.counterfactuals)
    filled = fitted().explain(graph, fill="zeros")
    assert filled.found
    assert filled.edited_graph().edge_attr.size(1) == 2


def test_self_loops_survive():
    graph = GRAPH.clone()
    graph.edge_index = torch.cat([graph.edge_index, torch.tensor([[2], [2]])], dim=1)
    answer = fitted(RandomSearch(RandomConfig(stop_at_first=False))).explain(
        graph, constraints=Constraints(max_edits=1)
    )
    assert answer.found
    for entry in answer.counterfactuals:
        edges = entry.edits.apply(graph).edge_index
        assert int((edges[0] == edges[1]).sum()) == 1


def test_what_is_no_graph_model_says_so_when_it_is_asked():
    with pytest.raises(OracleError, match="expected an answer from the model"):
        RandomSearch().fit([], torch.nn.Linear(2, 2)).explain(GRAPH)


def test_settings_of_another_method_are_refused():
    with pytest.raises(ConfigError, match="RandomConfig"):
        RandomSearch({"max_added": 2})


def test_the_number_of_classes_may_be_left_out():
    oracle = ModelOracle(example_oracle().model)
    answer = RandomSearch().fit([], oracle).explain(GRAPH)
    assert len(answer.proba) == 2


def test_rules_see_the_whole_edit_set():
    def only_removals(graph: Data, edits: EditSet) -> bool:
        return not edits.added

    explainer = fitted(RandomSearch(RandomConfig(stop_at_first=False, max_added=1, max_removed=1)))
    answer = explainer.explain(GRAPH, constraints=Constraints(rules=(only_removals,)), keep=500)
    assert answer.found
    assert all(not entry.edits.added for entry in answer.counterfactuals)
    assert explainer.explain(GRAPH).trace.flips > answer.trace.flips
    assert answer.space.to_dict()["constraints"]["rules"] == ["only_removals"]


def test_edges_of_the_input_are_the_callers():
    before = edge_pairs(GRAPH)
    fitted().explain(GRAPH)
    assert edge_pairs(GRAPH) == before


def test_a_function_around_the_model_decides_not_the_models_fast_path():
    model = example_oracle().model
    scale = torch.tensor([1.0, 3.0])
    shift = ModelOracle(
        model,
        num_classes=2,
        call=lambda m, batch: m(batch.x, batch.edge_index, batch.batch) * scale,
    )
    plain = ModelOracle(
        model,
        num_classes=2,
        path="sparse",
        call=lambda m, batch: m(batch.x, batch.edge_index, batch.batch) * scale,
    )
    for graph in example_graphs(6, seed=3):
        one = RandomSearch().fit([], shift).explain(graph)
        two = RandomSearch().fit([], plain).explain(graph)
        assert (one.best and one.best.edits) == (two.best and two.best.edits)


def test_not_even_private_notes_are_left_on_the_graph():
    graph = example_graphs(3, seed=21)[2]
    graph.edge_weight = torch.ones(graph.num_edges)
    before = set(vars(graph._store))
    fitted().explain(graph)
    assert set(vars(graph._store)) == before


def test_a_model_that_works_in_place_does_not_reach_the_callers_graph():
    class InPlace(torch.nn.Module):
        def forward(self, x, edge_index):
            x.mul_(0.5)
            degree = torch.bincount(edge_index[0], minlength=x.size(0)).float()
            return torch.stack([degree.sum(), torch.tensor(18.5)])

    graph = example_graphs(3, seed=21)[2]
    before = graph.x.clone()
    RandomSearch().fit([], ModelOracle(InPlace())).explain(graph, budget=Budget(oracle_calls=50))
    assert torch.equal(graph.x, before)


def test_a_target_can_be_named():
    oracle = ModelOracle(example_oracle().model, class_names=("few", "many"))
    label = int(oracle.predict([GRAPH])[0])
    answer = RandomSearch().fit([], oracle).explain(GRAPH, target=("many", "few")[label])
    assert answer.target == 1 - label


@pytest.mark.parametrize("seed", [-1, 2**63, 1.5, "a", None, True])
def test_what_is_no_seed_is_refused_and_moves_nothing(seed):
    state = torch.random.get_rng_state()
    with pytest.raises(ConfigError, match="seed"):
        fitted().explain(GRAPH, seed=seed)
    assert torch.equal(torch.random.get_rng_state(), state)


def test_many_graphs_get_the_answers_they_get_one_at_a_time():
    explainer = fitted()
    graphs = example_graphs(3, seed=21)
    many = explainer.explain_many(graphs, seed=3, keep=2)
    assert all(
        same_answer(answer, explainer.explain(graph, seed=3, keep=2))
        for graph, answer in zip(graphs, many, strict=True)
    )
    assert explainer.explain_many([]) == []


def test_graphs_of_one_node_are_left_out_of_learning():
    """Files of molecules hold methane; it says nothing about bonds, and must not stop the rest."""
    methane = Data(x=torch.ones(1, 4), edge_index=torch.empty(2, 0, dtype=torch.long))
    graphs = example_graphs(4, seed=0)
    oracle = example_oracle()
    assert make_explainer("random").fit([methane, *graphs], oracle).explain(graphs[0])
    learning = make_explainer("dr-cfgnn", profile="smoke").fit([methane, *graphs], oracle)
    assert learning.num_features_ == 4
    with pytest.raises(GraphError, match="at least two nodes"):
        make_explainer("dr-cfgnn", profile="smoke").fit([methane], oracle)


@pytest.mark.parametrize(
    ("option", "value"),
    [("constraints", {}), ("constraints", {"max_edits": 1}), ("budget", 5), ("watch", 3)],
)
def test_keywords_of_another_type_are_refused_with_a_sentence(option, value):
    with pytest.raises(ConfigError) as error:
        fitted().explain(GRAPH, **{option: value})
    assert_sentence(error, option, type(value).__name__)
