"""Validity and edge consistency after noise, worked out by hand."""

import itertools
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import assert_sentence, make_graph
from edgeflip.core import EditSet, PairEdits
from edgeflip.errors import ConfigError
from edgeflip.metrics import (
    NoiseOutcome,
    Proportion,
    edge_consistency_after_noise,
    edge_consistency_by_change,
    noise_outcome,
    validity_after_noise,
    validity_after_noise_by_change,
    wilson,
)
from edgeflip.oracle import ClassGoal
from edgeflip.search import Counterfactual, CounterfactualSet, Provenance, Trace


def sure_of(label):
    return tuple(float(label == each) for each in range(4))


def make_answer(label, *found):
    """An answer for a graph of a class; each counterfactual is a class and its edits."""
    return CounterfactualSet(
        space=PairEdits.of(make_graph(9, [(0, 1), (1, 2)])),
        goal=ClassGoal(sure_of(label)),
        output=sure_of(label),
        counterfactuals=tuple(
            Counterfactual(edits, sure_of(to), 1.0, -place, place)
            for place, (to, edits) in enumerate(found)
        ),
        trace=Trace("found" if found else "exhausted", "exhausted"),
        provenance=Provenance("hand", {}, 0, None, "", {}, {}),
    )


def adding(*edges):
    return EditSet(added=edges)


A, B, C, D = (0, 3), (0, 4), (0, 5), (0, 6)


def test_the_largest_overlap_of_counterfactuals_with_the_same_change_counts():
    before = make_answer(0, (1, adding(A, B)), (1, adding(C)), (2, adding(D)))
    after = make_answer(0, (1, adding(A, B, C)), (1, adding(B)), (3, adding(D)))
    # 0 to 1: {A, B} with {A, B, C} 2/3, with {B} 1/2; {C} with {A, B, C} 1/3, with {B} 0.
    # D is in both, but once on the way to 2 and once on the way to 3.
    assert noise_outcome(before, after) == NoiseOutcome(
        label_kept=True,
        found=True,
        same_change=True,
        jaccard=pytest.approx(2 / 3),
        changes=((0, 1), (0, 2)),
        changes_kept=((0, 1),),
        change_jaccards=(pytest.approx(2 / 3),),
    )


def test_every_kept_change_has_an_overlap_of_its_own():
    before = make_answer(1, (2, adding(A)), (0, adding(A, B)), (3, adding(C)))
    after = make_answer(1, (0, adding(A)), (2, adding(B)))
    outcome = noise_outcome(before, after)
    assert outcome.changes == ((1, 0), (1, 2), (1, 3))
    assert outcome.changes_kept == ((1, 0), (1, 2))
    assert outcome.change_jaccards == (0.5, 0.0)
    assert outcome.jaccard == 0.5


def test_a_change_from_another_class_is_another_change():
    before, after = make_answer(0, (1, adding(A))), make_answer(2, (1, adding(A)))
    outcome = noise_outcome(before, after)
    assert not outcome.label_kept
    assert outcome.found
    assert not outcome.same_change
    assert outcome.jaccard is None
    assert outcome.changes_kept == outcome.change_jaccards == ()


def test_without_overlap_the_same_change_still_counts():
    outcome = noise_outcome(make_answer(0, (1, adding(A))), make_answer(0, (1, adding(B))))
    assert outcome.same_change
    assert outcome.jaccard == 0.0


def test_a_pair_is_the_same_edit_whether_its_edge_comes_or_goes():
    before = make_answer(0, (1, EditSet(removed={(0, 1)})))
    after = make_answer(0, (1, EditSet(added={(0, 1)})))
    assert noise_outcome(before, after).jaccard == 1.0


def test_a_graph_without_counterfactuals_before_or_after():
    some, none = make_answer(0, (1, adding(A))), make_answer(0)
    lost, won, never = (
        noise_outcome(some, none),
        noise_outcome(none, some),
        noise_outcome(none, none),
    )
    assert (lost.found_before, lost.found) == (True, False)
    assert (won.found_before, won.found) == (False, True)
    assert (never.found_before, never.found) == (False, False)
    assert not any(each.same_change for each in (lost, won, never))
    assert all(each.label_kept and each.jaccard is None for each in (lost, won, never))


@pytest.fixture
def outcomes():
    """Five graphs, four with a counterfactual before, three of which keep a change."""
    return [
        # Changes to 1 and 2, both kept: overlaps 1 and 1/2.
        noise_outcome(
            make_answer(0, (1, adding(A)), (2, adding(A, B))),
            make_answer(0, (1, adding(A)), (2, adding(A))),
        ),
        # Changes to 1, 2 and 3, one kept: overlap 1/3.
        noise_outcome(
            make_answer(0, (1, adding(A, B)), (2, adding(A)), (3, adding(A))),
            make_answer(0, (1, adding(B, C))),
        ),
        # Kept without overlap.
        noise_outcome(make_answer(0, (1, adding(A))), make_answer(0, (1, adding(B)))),
        # Lost.
        noise_outcome(make_answer(0, (1, adding(A))), make_answer(0)),
        # Nothing before: not counted.
        noise_outcome(make_answer(0), make_answer(0, (1, adding(A)))),
    ]


def test_validity_after_noise_is_over_graphs_with_a_counterfactual_before(outcomes):
    share = validity_after_noise(outcomes)
    assert (share.hits, share.trials, share.value) == (3, 4, 0.75)
    assert share == wilson(3, 4)
    assert validity_after_noise(outcomes, confidence=0.5) == wilson(3, 4, 0.5)


def test_edge_consistency_is_over_graphs_that_keep_a_change(outcomes):
    # 1, 1/3 and 0.
    assert edge_consistency_after_noise(outcomes) == pytest.approx(4 / 9)


def test_the_authors_count_changes_instead_of_graphs(outcomes):
    # 2 of 2, 1 of 3, 1 of 1, 0 of 1; overlaps 1, 1/2, 1/3 and 0.
    share = validity_after_noise_by_change(iter(outcomes))
    assert (share.hits, share.trials) == (4, 7)
    assert share == wilson(4, 7)
    assert edge_consistency_by_change(outcomes) == pytest.approx((1 + 1 / 2 + 1 / 3) / 4)


def test_with_nothing_to_count_the_values_are_not_numbers(outcomes):
    for nothing in ([], outcomes[-1:]):
        assert math.isnan(validity_after_noise(nothing).value)
        assert math.isnan(validity_after_noise_by_change(nothing).low)
        assert math.isnan(edge_consistency_after_noise(nothing))
        assert math.isnan(edge_consistency_by_change(nothing))


def test_an_outcome_becomes_plain_json(outcomes):
    payload = outcomes[1].to_dict()
    assert json.loads(json.dumps(payload)) == payload
    assert payload == {
        "label_kept": True,
        "found": True,
        "same_change": True,
        "jaccard": pytest.approx(1 / 3),
        "changes": [[0, 1], [0, 2], [0, 3]],
        "changes_kept": [[0, 1]],
        "change_jaccards": [pytest.approx(1 / 3)],
    }
    assert json.loads(json.dumps(outcomes[3].to_dict()))["jaccard"] is None


@pytest.mark.parametrize(("hits", "trials"), [(0, 1), (1, 1), (3, 4), (8, 10), (45, 98), (0, 50)])
def test_the_interval_is_the_one_the_paper_prints(hits, trials):
    share, z = hits / trials, 1.959963984540054
    middle = share + z * z / (2 * trials)
    reach = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    low, high = ((middle + sign * reach) / (1 + z * z / trials) for sign in (-1, 1))
    interval = wilson(hits, trials)
    assert (interval.low, interval.high) == (
        pytest.approx(low, abs=1e-9),
        pytest.approx(high, abs=1e-9),
    )
    assert interval.value == share


def test_more_confidence_takes_a_wider_interval():
    narrow, wide = wilson(7, 20, 0.8), wilson(7, 20, 0.99)
    assert wide.low < narrow.low < 7 / 20 < narrow.high < wide.high


def test_without_trials_there_are_no_bounds():
    share = wilson(0, 0)
    assert (share.hits, share.trials) == (0, 0)
    assert all(math.isnan(value) for value in (share.value, share.low, share.high))
    assert math.isnan(Proportion(0, 0, 0.0, 1.0).value)


@pytest.mark.parametrize(
    ("hits", "trials", "confidence"), [(2, 1, 0.95), (-1, 3, 0.95), (1, 3, 1.0), (1, 3, 95)]
)
def test_counts_that_cannot_be_are_refused(hits, trials, confidence):
    with pytest.raises(ConfigError) as error:
        wilson(hits, trials, confidence)
    assert_sentence(error)


pairs = st.sampled_from(list(itertools.combinations(range(6), 2)))
found = st.lists(
    st.tuples(st.integers(1, 3), st.sets(pairs, min_size=1, max_size=4)), min_size=1, max_size=5
)


def as_answer(label, entries, order=tuple(range(6))):
    """An answer whose nodes are called by another name."""
    return make_answer(
        label,
        *((to, adding(*((order[u], order[v]) for u, v in edges))) for to, edges in entries),
    )


@given(found, found, st.permutations(range(6)))
def test_outcomes_do_not_hang_on_names_of_nodes_nor_on_order_and_stay_in_range(one, two, order):
    outcome = noise_outcome(as_answer(0, one), as_answer(0, two))
    renamed = noise_outcome(as_answer(0, one[::-1], order), as_answer(0, two[::-1], order))
    assert renamed == outcome
    overlaps = [
        len(left & right) / len(left | right)
        for (first, left), (second, right) in itertools.product(one, two)
        if first == second
    ]
    assert outcome.same_change == bool(overlaps)
    assert outcome.jaccard == (pytest.approx(max(overlaps)) if overlaps else None)
    assert all(0 <= overlap <= 1 for overlap in outcome.change_jaccards)
    assert len(outcome.change_jaccards) == len(outcome.changes_kept) <= len(outcome.changes)


@given(found)
def test_the_same_answer_is_wholly_consistent_with_itself(entries):
    answer = as_answer(0, entries)
    outcome = noise_outcome(answer, answer)
    assert outcome.label_kept
    assert outcome.changes_kept == outcome.changes
    assert set(outcome.change_jaccards) == {1.0}


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_interval_holds_the_share_and_stays_between_0_and_1(hits, misses):
    share = wilson(hits, hits + misses)
    if hits + misses:
        assert 0 <= share.low <= share.value <= share.high <= 1
