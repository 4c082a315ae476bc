"""Validity and edge consistency after noise, worked out by hand."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conftest import assert_sentence, make_graph
from edgeflip.core import EditSet, PairEdits
from edgeflip.errors import ConfigError
from edgeflip.metrics import METRICS, AnswerCase, Proportion, overlaps_after_noise, wilson
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
    assert overlaps_after_noise(before, after) == {(0, 1): pytest.approx(2 / 3), (0, 2): None}


def test_every_kept_change_has_an_overlap_of_its_own():
    before = make_answer(1, (2, adding(A)), (0, adding(A, B)), (3, adding(C)))
    after = make_answer(1, (0, adding(A)), (2, adding(B)))
    assert overlaps_after_noise(before, after) == {(1, 0): 0.5, (1, 2): 0.0, (1, 3): None}


def test_a_change_from_another_class_is_another_change():
    before, after = make_answer(0, (1, adding(A))), make_answer(2, (1, adding(A)))
    assert overlaps_after_noise(before, after) == {(0, 1): None}


def test_without_overlap_the_same_change_still_counts():
    case = under_noise(make_answer(0, (1, adding(A))), make_answer(0, (1, adding(B))))
    assert METRICS["van"].of(case) == 1.0
    assert METRICS["ecan"].of(case) == 0.0


def test_a_pair_is_the_same_edit_whether_its_edge_comes_or_goes():
    before = make_answer(0, (1, EditSet(removed={(0, 1)})))
    after = make_answer(0, (1, EditSet(added={(0, 1)})))
    assert overlaps_after_noise(before, after) == {(0, 1): 1.0}


def under_noise(before, after):
    return AnswerCase(before, after_noise=after)


@pytest.fixture
def cases():
    """Five graphs, four with a counterfactual before, three of which keep a change."""
    return [
        # Changes to 1 and 2, both kept: overlaps 1 and 1/2.
        under_noise(
            make_answer(0, (1, adding(A)), (2, adding(A, B))),
            make_answer(0, (1, adding(A)), (2, adding(A))),
        ),
        # Changes to 1, 2 and 3, one kept: overlap 1/3.
        under_noise(
            make_answer(0, (1, adding(A, B)), (2, adding(A)), (3, adding(A))),
            make_answer(0, (1, adding(B, C))),
        ),
        # Kept without overlap.
        under_noise(make_answer(0, (1, adding(A))), make_answer(0, (1, adding(B)))),
        # Lost.
        under_noise(make_answer(0, (1, adding(A))), make_answer(0)),
        # Nothing before: not counted.
        under_noise(make_answer(0), make_answer(0, (1, adding(A)))),
    ]


def test_validity_after_noise_is_over_graphs_with_a_counterfactual_before(cases):
    share = METRICS["van"].average(cases)
    assert share.value == 0.75
    assert share.interval == (wilson(3, 4).low, wilson(3, 4).high)


def test_edge_consistency_is_over_graphs_that_keep_a_change(cases):
    # 1, 1/3 and 0.
    assert METRICS["ecan"].average(cases).value == pytest.approx(4 / 9)


def test_the_authors_count_changes_instead_of_graphs(cases):
    # 2 of 2, 1 of 3, 1 of 1, 0 of 1; overlaps 1, 1/2, 1/3 and 0.
    assert METRICS["van_by_change"].average(cases).value == pytest.approx(4 / 7)
    overlaps = METRICS["ecan_by_change"].average(cases).value
    assert overlaps == pytest.approx((1 + 1 / 2 + 1 / 3) / 4)


def test_with_nothing_to_count_there_are_no_values(cases):
    for nothing in ([], cases[-1:], [AnswerCase(cases[0].answer)]):
        for name in ("van", "ecan", "van_by_change", "ecan_by_change"):
            assert METRICS[name].average(nothing).value is None


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


def test_without_trials_there_are_no_bounds():
    share = wilson(0, 0)
    assert (share.hits, share.trials) == (0, 0)
    assert all(math.isnan(value) for value in (share.value, share.low, share.high))
    assert math.isnan(Proportion(0, 0, 0.0, 1.0).value)


@pytest.mark.parametrize(("hits", "trials"), [(2, 1), (-1, 3)])
def test_counts_that_cannot_be_are_refused(hits, trials):
    with pytest.raises(ConfigError) as error:
        wilson(hits, trials)
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
def test_overlaps_depend_neither_on_names_of_nodes_nor_on_order_and_stay_in_range(one, two, order):
    case = under_noise(as_answer(0, one), as_answer(0, two))
    renamed = under_noise(as_answer(0, one[::-1], order), as_answer(0, two[::-1], order))
    assert renamed.overlaps == case.overlaps
    overlaps = [
        len(left & right) / len(left | right)
        for (first, left), (second, right) in itertools.product(one, two)
        if first == second
    ]
    assert METRICS["van"].of(case) == bool(overlaps)
    assert METRICS["ecan"].of(case) == (pytest.approx(max(overlaps)) if overlaps else None)
    assert all(0 <= overlap <= 1 for overlap in METRICS["ecan_by_change"].of(case))


@given(found)
def test_the_same_answer_is_wholly_consistent_with_itself(entries):
    answer = as_answer(0, entries)
    assert set(overlaps_after_noise(answer, answer).values()) == {1.0}


@given(st.integers(0, 60), st.integers(0, 60))
def test_the_interval_holds_the_share_and_stays_between_0_and_1(hits, misses):
    share = wilson(hits, hits + misses)
    if hits + misses:
        assert 0 <= share.low <= share.value <= share.high <= 1
