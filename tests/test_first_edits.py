"""What many searches ask first is asked at once, and counts when a search comes to it."""

import pytest
import torch

from edgeflip import Budget, EdgeFlip, ModelOracle
from edgeflip.core import PairEdits
from edgeflip.factual import occlusions
from edgeflip.oracle import MeteredOracle, edits_together
from edgeflip.testing import example_graphs, example_oracle

GRAPHS = [*example_graphs(6, seed=3), *example_graphs(2, seed=9)]


def told(answer):
    """All of an answer but the time it took."""
    edits = [each.edits for each in answer.counterfactuals]
    return edits, answer.certificate, answer.trace.oracle_calls, answer.trace.status


@pytest.mark.parametrize("calls", [None, 1, 9, 40])
def test_answers_and_calls_are_those_of_one_graph_at_a_time(calls):
    explainer = EdgeFlip().fit([], example_oracle())
    budget = Budget(oracle_calls=calls)
    together = explainer.explain_many(GRAPHS, budget=budget)
    assert [told(each) for each in together] == [
        told(explainer.explain(graph, budget=budget)) for graph in GRAPHS
    ]


def test_what_is_asked_together_is_what_the_oracle_says_of_each_graph():
    oracle = example_oracle()
    spaces = [PairEdits.of(graph) for graph in GRAPHS]
    parts = [(space, occlusions(space)) for space in spaces]
    found = edits_together(oracle, parts)
    assert sorted(found) == list(range(len(GRAPHS)))
    for place, (space, rows) in enumerate(parts):
        assert torch.allclose(found[place], oracle.predict_edits(space, rows), atol=1e-6)


def test_expected_answers_count_when_they_are_asked_for_and_only_in_their_space():
    oracle = example_oracle()
    space, other = (PairEdits.of(graph) for graph in GRAPHS[:2])
    rows = occlusions(space)
    meter = MeteredOracle(oracle)
    meter.expect(space, rows, torch.full((len(rows), 2), 0.5))
    assert meter.calls == 0
    assert meter.predict_edits(space, rows[:3]).tolist() == [[0.5, 0.5]] * 3
    assert meter.calls == 3
    # Beside something nobody expected the oracle is asked.
    pairs = torch.tensor([[0, 1], [0, 2]])
    assert torch.equal(meter.predict_edits(space, pairs), oracle.predict_edits(space, pairs))
    assert torch.equal(
        meter.predict_edits(other, occlusions(other)),
        oracle.predict_edits(other, occlusions(other)),
    )


def test_of_other_models_nothing_is_asked_ahead():
    function = ModelOracle(lambda graphs: torch.zeros(len(graphs), 2))
    space = PairEdits.of(GRAPHS[0])
    assert edits_together(function, [(space, occlusions(space))]) == {}
