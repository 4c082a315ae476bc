"""Rankings by name: what comes first, and when a search may end."""

import dataclasses
import itertools
from functools import cache

import pytest

from chosen import EVERYTHING, GRAPH, Sets, edits_of, jaccard
from conftest import assert_sentence, path_graph
from edgeflip import (
    EdgeFlip,
    Mix,
    load_explainer,
    make_explainer,
    make_ranking,
)
from edgeflip.core import edge_pairs, non_edges
from edgeflip.errors import ConfigError
from edgeflip.explainers.edgeflip import EdgeFlipConfig
from edgeflip.explainers.edgeflip.config import BeamConfig
from edgeflip.explainers.random_search import RandomConfig, RandomSearch
from edgeflip.links import LinkTrainingConfig, PredictorConfig
from edgeflip.search import SizeWeightedFidelity, SmallestFirst
from edgeflip.testing import example_graphs, example_oracle


def test_rankings_by_name_change_what_comes_first():
    table = {((0, 2),): 0.6, ((0, 3),): 0.7, ((1, 3), (1, 4)): 0.99}
    first = {}
    for ranking in ("paper", "smallest", "confident", Mix({"confident": 1, "smallest": 3})):
        config = RandomConfig(stop_at_first=False, max_removed=0, max_added=2)
        explainer = RandomSearch(config, ranking=ranking).fit([], Sets(table))
        answer = explainer.explain(path_graph(6))
        assert all(0 <= entry.score <= 1 for entry in answer.counterfactuals)
        first[str(ranking)] = answer.best
    paper, smallest, confident, mix = first.values()
    # 0.99 · cos²(0.25) = 0.93 against 0.7.
    assert paper.edits.added == confident.edits.added == {(1, 3), (1, 4)}
    assert smallest.edits.added == mix.edits.added == {(0, 3)}
    assert confident.score == pytest.approx(0.98, abs=1e-6)
    # Size 1: (0.4 + 3 / 1.15) / 4; size 2: (0.98 + 3 / 2.005) / 4.
    assert mix.score == pytest.approx((0.4 + 3 / 1.15) / 4, abs=1e-5)


def test_a_ranking_by_robustness_tries_noisy_copies_of_its_own_accord():
    explainer = RandomSearch(EVERYTHING, ranking="robust").fit([], example_oracle())
    answer = explainer.explain(GRAPH)
    assert answer.provenance.selection["robust"] == 8
    shares = [entry.robustness for entry in answer.counterfactuals]
    assert shares == sorted(shares, reverse=True)
    assert [entry.score for entry in answer.counterfactuals] == shares
    assert explainer.explain(GRAPH, robust=3).provenance.selection["robust"] == 3


@pytest.mark.parametrize("ranking", ["plausible", Mix({"paper": 1, "plausible": 1})], ids=str)
def test_a_method_that_cannot_rate_edits_refuses_to_rank_by_likelihood(ranking):
    with pytest.raises(ConfigError) as error:
        RandomSearch(ranking=ranking)
    assert_sentence(error, "random", "plausible", "dr-cfgnn")
    later = RandomSearch().fit([], example_oracle())
    later.ranking = make_ranking(ranking)
    with pytest.raises(ConfigError):
        later.explain(GRAPH)


def test_names_are_taken_wherever_an_explainer_is_made():
    assert make_explainer("random", ranking="smallest").ranking == SmallestFirst()
    assert make_explainer("dr-cfgnn", ranking="paper=2").ranking == Mix({"paper": 2})
    assert RandomSearch.for_dataset("ba_2motifs").ranking == SizeWeightedFidelity()


@cache
def learned():
    config = EdgeFlipConfig(
        max_nodes=5,
        seconds=None,
        predictor=PredictorConfig(encoder_layers=2, encoder_width=8, decoder=(8,), class_width=4),
        training=LinkTrainingConfig(epochs=2, batch_size=8, learning_rate=0.01),
    )
    return EdgeFlip(config).fit(example_graphs(10, seed=3), example_oracle())


def with_ranking(ranking, oracle=None, **settings):
    made = EdgeFlip(dataclasses.replace(learned().config, **settings), ranking=ranking)
    vars(made).update({key: value for key, value in vars(learned()).items() if key.endswith("_")})
    made.oracle_ = oracle or made.oracle_
    return made


def test_plausible_answers_have_the_likelihood_that_the_link_predictor_gives():
    explainer = with_ranking("plausible")
    answer = explainer.explain(GRAPH)
    chances = explainer.edge_probabilities(GRAPH, edge_pairs(GRAPH))
    assert len(answer) > 1
    for entry in answer.counterfactuals:
        values = [float(chances[u, v]) for u, v in entry.edits.added]
        values += [1 - float(chances[u, v]) for u, v in entry.edits.removed]
        assert entry.score == pytest.approx(sum(values) / len(values), abs=1e-4)
    scores = [round(entry.score, 4) for entry in answer.counterfactuals]
    # The first one found may come last.
    assert scores[:-1] == sorted(scores[:-1], reverse=True)


ONE, TWO, THREE, *_ = sorted(non_edges(GRAPH))
# One edit that flips fully, and two that do together.
ORACLE = Sets({(ONE,): 1.0, (TWO, THREE): 1.0})
SHORT = {"ring0_candidates": 1, "ring0_edits": 1, "beam": BeamConfig(width=1, max_edits=2)}
# No end before everything within reach was tried.
PATIENT = {"ring_tolerance": 0.0, "early_tolerance": 0.0}


@pytest.mark.parametrize("ranking", ["plausible", "confident", "robust", "paper=1,plausible=0.5"])
def test_rankings_without_a_known_bound_do_not_end_the_search_early(ranking):
    early = with_ranking("paper", ORACLE, **SHORT).explain(GRAPH)
    late = with_ranking(ranking, ORACLE, **SHORT).explain(GRAPH)
    whole = with_ranking(ranking, ORACLE, **SHORT, **PATIENT).explain(GRAPH)
    assert early.trace.stopped_by == "best_possible"
    assert late.trace.stopped_by == whole.trace.stopped_by == "exhausted"
    assert late.best == whole.best
    assert {frozenset({ONE}), frozenset({TWO, THREE})} <= set(edits_of(late))


@pytest.mark.parametrize("options", [{"number": 2}, {"robust": 2}], ids=str)
def test_several_or_robust_answers_do_not_end_the_search_early(options):
    wide = with_ranking("paper", ORACLE, **SHORT).explain(GRAPH, **options)
    assert wide.trace.stopped_by == "exhausted"
    assert {frozenset({ONE}), frozenset({TWO, THREE})} <= set(edits_of(wide))


def test_diversity_of_1_looks_only_at_how_different_answers_are():
    explainer = with_ranking("paper")
    several = explainer.explain(GRAPH, number=3, diversity=1.0)
    sets = edits_of(several)
    assert len(sets) == 3
    assert max(jaccard(a, b) for a, b in itertools.combinations(sets, 2)) == 0


def test_rankings_that_have_a_name_are_saved_with_the_explainer(tmp_path):
    for place, ranking in enumerate(("smallest", "plausible", Mix({"paper": 1, "robust": 0.5}))):
        folder = with_ranking(ranking).save(tmp_path / str(place))
        loaded = load_explainer(folder, example_oracle())
        assert loaded.ranking == make_ranking(ranking)
        with pytest.raises(ConfigError) as error:
            EdgeFlip.load(folder, example_oracle(), ranking="confident")
        assert_sentence(error, "Confident")


def test_a_ranking_of_ones_own_may_look_at_everything():
    class Contrary:
        def rate(self, flips):
            return 1 - flips.margin

    answer = RandomSearch(EVERYTHING, ranking=Contrary()).fit([], example_oracle()).explain(GRAPH)
    assert answer.best.margin == min(entry.margin for entry in answer.counterfactuals)
