"""EdgeFlip's far rings: the beam over all edits, and combinations of the best."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from conftest import assert_sentence
from edgeflip import Constraints
from edgeflip.core import edge_pairs
from edgeflip.errors import ConfigError
from edgeflip.explainers.edgeflip import EdgeFlipConfig
from edgeflip.explainers.edgeflip.config import BeamConfig
from edgeflip.pools import SizeConfig
from link_methods import Edges, narrow, nine_nodes


def test_the_beam_takes_all_edges_of_a_node_at_once():
    graph = nine_nodes()[0]
    edges = edge_pairs(graph)
    node = max(range(graph.num_nodes), key=lambda n: sum(n in edge for edge in edges))
    wanted = frozenset(edge for edge in edges if node in edge)

    class Isolated(Edges):
        """Only the loss of all edges of one node helps: no single step shows the way."""

        def _answer(self, edges):
            return torch.tensor([0.1, 0.9] if not edges & wanted else [0.9, 0.1])

    answer = narrow(Isolated(graph, 1), beam=BeamConfig(width=2)).explain(graph)
    assert answer.found
    assert frozenset(answer.best.edits.removed) == wanted


def test_a_beam_without_hope_ends_early():
    graph = nine_nodes()[0]

    class Slow(Edges):
        """Every edit brings the same small step towards another class."""

        def _answer(self, edges):
            log_odds = 10 - 0.2 * len(edges ^ self.before)
            return torch.tensor([log_odds, 0.0]).softmax(dim=0)

    def calls(hope):
        made = narrow(Slow(graph, 1), beam=BeamConfig(reach_factor=hope, promising=0))
        answer = made.explain(graph)
        assert not answer.found
        return answer.trace.oracle_calls

    assert calls(1.5) < calls(50.0) / 2


@pytest.mark.parametrize("needed", [4, 5])
def test_an_oracle_that_tells_nothing_on_the_way_is_searched_on(needed):
    graph = nine_nodes()[0]

    class Plateau(Edges):
        def _answer(self, now):
            return torch.tensor([0.0, 1.0] if len(now ^ self.before) >= self.needed else [1.0, 0.0])

    answer = narrow(Plateau(graph, needed)).explain(graph, constraints=Constraints(max_removed=0))
    assert answer.found
    assert answer.best.size == needed


def test_states_grow_by_edits_that_help_beside_another():
    graph = nine_nodes()[0]
    edges = edge_pairs(graph)
    missing = [p for p in itertools.combinations(range(graph.num_nodes), 2) if p not in edges]
    wanted = set(missing[:3])

    class Together(Edges):
        """The third edit helps only beside the first."""

        def _answer(self, now):
            new = wanted & now
            log_odds = 4 - 3 * (missing[0] in new) - 2 * (len(new) >= 2 and missing[0] in new)
            log_odds = log_odds - 2 * (len(new) == 3)
            return torch.tensor([float(log_odds), 0.0]).softmax(dim=0)

    made = narrow(Together(graph, 1), beam=BeamConfig(width=2, moves=3, promising=0))
    assert set(made.explain(graph).best.edits.added) <= wanted


def test_large_answers_lose_their_needless_edits():
    graph = nine_nodes()[0]
    where = frozenset(itertools.combinations(range(6), 2))
    oracle = Edges(graph, 12, where=where)
    answer = narrow(oracle, beam=BeamConfig(width=3)).explain(graph)
    assert answer.found
    assert answer.best.size == 12
    assert all(set(entry.edits.edges) <= where for entry in answer.counterfactuals)


def test_where_one_edit_flips_the_best_are_tried_in_pairs():
    graph = nine_nodes()[0]
    edges = edge_pairs(graph)
    first, second, third = list(itertools.combinations(range(graph.num_nodes), 2))[-3:]

    class Pair(Edges):
        """One edit just flips; two others, each of which does nothing, flip for certain."""

        def _answer(self, now):
            changed = now ^ edges
            if {second, third} <= changed:
                return torch.tensor([0.0, 1.0])
            return torch.tensor([0.45, 0.55] if first in changed else [0.9, 0.1])

    def best(promising):
        beam = BeamConfig(promising=promising, width=1, moves=1, max_edits=2)
        return narrow(Pair(graph, 1), beam=beam).explain(graph).best

    assert set(best(36).edits.edges) == {second, third}
    assert set(best(0).edits.edges) == {first}


def test_one_edit_at_most_is_searched_and_not_crashed_on():
    graph = nine_nodes()[0]
    made = narrow(
        Edges(graph, 3),
        remove=SizeConfig(max=1),
        add=SizeConfig(max=0),
        beam=BeamConfig(max_edits=1),
    )
    answer = made.explain(graph)
    assert not answer.found
    assert answer.trace.status == "exhausted"


def test_a_ranking_that_is_undefined_for_large_sets_does_not_end_the_search():
    graph = nine_nodes()[0]

    def rank(fidelity, size):
        return fidelity * torch.sqrt(5.0 - size)

    answer = narrow(Edges(graph, 2), ranking=rank, certify=0).explain(graph)
    assert answer.found
    assert answer.best.ring is not None


def test_small_flips_are_found_among_very_many_larger_ones():
    graph = nine_nodes()[0]
    edges = edge_pairs(graph)

    class Eager(Edges):
        """Every addition flips, and more edits make it surer: most flips are needlessly large."""

        def _answer(self, now):
            if not now - edges:
                return torch.tensor([0.99, 0.01])
            return torch.tensor([0.45, 0.55] if len(now ^ edges) == 1 else [0.01, 0.99])

    made = narrow(Eager(graph, 1), beam=BeamConfig(patience=3, width=40, moves=36))
    answer = made.explain(graph, keep=1)
    assert answer.trace.flips > 1000
    assert answer.found
    assert answer.best.size == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"slope_moves": -1},
        {"wide_share": math.nan},
        {"singles": 0},
        {"width": 0},
        {"patience": -1},
        {"promising": -1},
        {"max_edits": 0},
        {"moves": 0},
        {"reach_factor": 0.0},
        {"reach_factor": math.nan},
    ],
)
def test_a_beam_that_means_nothing_is_refused(wrong):
    with pytest.raises(ConfigError) as error:
        BeamConfig(**wrong)
    assert_sentence(error)


@pytest.mark.parametrize(
    ("wrong", "word"),
    [
        ({"ring_tolerance": 1.0}, "tolerances"),
        ({"early_tolerance": -0.1}, "tolerances"),
        ({"ring_tolerance": math.nan}, "tolerances"),
        ({"threshold_factor": 2.0}, "threshold_factor"),
        ({"threshold": 1.5}, "threshold"),
        ({"certify": -1}, "certify"),
        ({"max_nodes": 0}, "max_nodes"),
        ({"max_candidates": 0}, "max_candidates"),
        ({"max_removal_sets": 0}, "max_removal_sets"),
        ({"ring0_edits": 0}, "ring0_edits"),
        ({"ring0_candidates": 0}, "ring0_candidates"),
        ({"remove": SizeConfig(max=0), "add": SizeConfig(max=0)}, "at least one edge"),
    ],
)
def test_settings_that_mean_nothing_are_refused(wrong, word):
    with pytest.raises(ConfigError) as error:
        EdgeFlipConfig(**wrong)
    assert_sentence(error, word)
