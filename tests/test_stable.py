"""Answers that stay the same under noise, chosen among equally small ones."""

import pytest

from conftest import assert_sentence
from edgeflip import EdgeFlip, Noise
from edgeflip.errors import ConfigError
from edgeflip.search import Selection
from edgeflip.testing import example_graphs, example_oracle, same_answer
from test_joint import GCNS, GRAPHS

NOISE = Noise(edges="remove")


# Of the last one the smallest answer scores worse than many larger ones.
@pytest.mark.parametrize("graph", [*GRAPHS[:5], example_graphs(14, seed=0)[5]])
def test_the_smallest_come_first_and_of_these_the_steadiest(graph):
    explainer = EdgeFlip().fit([], example_oracle())
    answer = explainer.explain(graph, stable=8, noise=NOISE)
    told = [(entry.size, -entry.robustness) for entry in answer.counterfactuals]
    assert told == sorted(told)
    if answer.found:
        assert answer.smallest == answer.best
    plain = explainer.explain(graph)
    if plain.found:
        assert answer.smallest.size == plain.smallest.size == answer.best.size
    assert same_answer(explainer.explain(graph, stable=8, noise=NOISE), answer)
    assert answer.provenance.selection["stable"] == 8
    assert "stable" not in plain.provenance.selection


def test_robust_weighs_the_score_and_stable_does_not_change_it():
    explainer = EdgeFlip().fit([], GCNS[0])
    stable = explainer.explain(GRAPHS[0], stable=4)
    plain = {
        entry.edits: entry.score for entry in explainer.explain(GRAPHS[0], keep=500).counterfactuals
    }
    for entry in stable.counterfactuals:
        assert entry.score == pytest.approx(plain.get(entry.edits, entry.score), abs=1e-6)


@pytest.mark.parametrize("options", [{"stable": -1}, {"stable": 2, "robust": 2}, {"stable": "x"}])
def test_numbers_that_mean_nothing_are_refused(options):
    with pytest.raises(ConfigError) as caught:
        Selection(**options)
    assert_sentence(caught)
