"""Measures of how far answers can be believed, by hand on small graphs."""

import copy
from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import make_graph
from edgeflip import EdgeFlip, ModelOracle, explain
from edgeflip.core import RealGraphs
from edgeflip.metrics import METRICS, AnswerCase
from edgeflip.metrics.trust import edit_distance
from edgeflip.oracle import embeddings_of
from test_joint import EXAMPLES, GCNS, GRAPHS, MIXED

ANSWER = explain(GCNS[0], GRAPHS[4])
CASE = AnswerCase(ANSWER)


def value(name, **fields):
    return METRICS[name].of(replace(CASE, **fields))


def test_transfer_is_the_share_of_models_alike_whose_prediction_changes():
    for name, field, models in (
        ("transfer_same_kind", "same_kind", GCNS[1:]),
        ("transfer_other_kind", "other_kind", MIXED[1:]),
    ):
        edited = ANSWER.edited_graph()
        told = [
            [int(one.predict_proba([each]).argmax()) for each in (ANSWER.graph, edited)]
            for one in models
        ]
        alike = [after for before, after in told if before == ANSWER.label]
        wanted = None
        if alike:
            wanted = sum(after != ANSWER.label for after in alike) / len(alike)
        assert value(name, **{field: models}) == wanted
        assert value(name) is None


def test_the_explained_model_itself_is_always_convinced():
    assert value("transfer_same_kind", same_kind=[GCNS[0]]) == 1.0


def test_the_nearest_real_graph_is_one_of_the_new_class():
    real = RealGraphs([*EXAMPLES, ANSWER.edited_graph()])
    other = copy.copy(ANSWER.edited_graph())
    other.y = torch.tensor([ANSWER.best.label])
    assert value("nearest_real", real=RealGraphs([*EXAMPLES, other])) == 0.0
    assert value("nearest_real", real=real) == real.nearest(
        ANSWER.edited_graph(), ANSWER.best.label
    )
    assert value("nearest_real") is None


def test_an_answer_that_falls_apart_is_not_feasible():
    best = ANSWER.best
    for cut in (False, True):
        answer = replace(ANSWER, counterfactuals=(replace(best, disconnects=cut),))
        assert METRICS["feasibility"].of(AnswerCase(answer)) == float(not cut)


def test_instability_is_the_mean_distance_of_answers_over_one_plus_that_of_the_graphs():
    other = EdgeFlip().fit([], GCNS[0]).explain(GRAPHS[2], keep=3)
    own = replace(ANSWER, counterfactuals=ANSWER.counterfactuals[:2])
    found = METRICS["instability"].of(AnswerCase(own, neighbour=other))
    distances = [
        edit_distance(own.edited_graph(one), other.edited_graph(two))
        for one in own.counterfactuals
        for two in other.counterfactuals
    ]
    assert found == pytest.approx(np.mean(distances) / (1 + edit_distance(own.graph, other.graph)))
    same = METRICS["instability"].of(
        AnswerCase(
            replace(own, counterfactuals=own.counterfactuals[:1]),
            neighbour=replace(own, counterfactuals=own.counterfactuals[:1]),
        )
    )
    assert same == 0.0
    assert value("instability") is None


def test_the_distance_of_graphs_counts_edges_and_nodes():
    one = make_graph(4, [(0, 1), (1, 2)])
    two = make_graph(5, [(0, 1), (2, 3), (3, 4)])
    assert edit_distance(one, two) == 4
    assert edit_distance(one, one) == 0


def test_embeddings_are_what_the_last_layer_sees():
    oracle = MIXED[1]
    rows = embeddings_of(oracle, GRAPHS[:3])
    with torch.no_grad():
        logits = oracle.model.classify(rows)
    assert torch.allclose(logits.softmax(dim=1), oracle.predict_proba(GRAPHS[:3]), atol=1e-5)
    assert not oracle.model.classify._forward_pre_hooks
    similarity = value("embedding_similarity", embed=lambda graphs: embeddings_of(GCNS[0], graphs))
    before, after = embeddings_of(GCNS[0], [ANSWER.graph, ANSWER.edited_graph()])
    wanted = torch.nn.functional.cosine_similarity(before, after, dim=0)
    assert similarity == pytest.approx(float(wanted), abs=1e-5)
    assert embeddings_of(ModelOracle(lambda graphs: torch.ones(len(graphs), 2)), GRAPHS) is None
    assert value("embedding_similarity") is None
