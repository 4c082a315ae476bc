"""The paper's score by hand, and the order it gives."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from conftest import assert_sentence
from edgeflip.core.candidates import PAD
from edgeflip.errors import ConfigError
from edgeflip.search.ranking import (
    RANKINGS,
    Flips,
    Mix,
    Plausible,
    Robust,
    SizeWeightedFidelity,
    best_first,
    highest_score,
    make_ranking,
    needs_of,
    ranking_name,
    rate,
)


def test_the_weight_of_each_size_is_the_one_worked_out_by_hand():
    # cos²(0.25 (x − 1)) for x = 1 … 7, and 0 beyond.
    wanted = [1.0, 0.938791, 0.770151, 0.535369, 0.291927, 0.099428, 0.005004, 0.0, 0.0]
    weights = SizeWeightedFidelity().weight(torch.arange(1, 10))
    assert weights.tolist() == pytest.approx(wanted, abs=1e-6)


def test_no_edits_have_no_weight():
    assert SizeWeightedFidelity().weight(torch.tensor([0])).tolist() == [0.0]


def test_a_score_is_fidelity_times_weight():
    score = SizeWeightedFidelity(gamma=math.pi / 6, max_size=4)
    fidelity = torch.tensor([0.8, 0.8, 0.8, 0.8, 0.8, -0.4])
    scores = score(fidelity, torch.tensor([1, 2, 3, 4, 5, 2]))
    assert scores.tolist() == pytest.approx([0.8, 0.6, 0.2, 0.0, 0.0, -0.3], abs=1e-6)


@given(st.floats(0.01, 1.5), st.integers(1, 40))
def test_more_edits_never_score_higher(gamma, max_size):
    if gamma * (max_size - 1) > math.pi / 2:
        with pytest.raises(ConfigError):
            SizeWeightedFidelity(gamma, max_size)
        return
    weights = SizeWeightedFidelity(gamma, max_size).weight(torch.arange(1, 50))
    assert (weights[1:] <= weights[:-1]).all()
    assert (weights[max_size:] == 0).all()


@pytest.mark.parametrize(
    ("gamma", "max_size"),
    [(0.0, 7), (-0.25, 7), (float("nan"), 7), (0.25, 0), (0.25, 8), (0.3, 7), (1.6, 2)],
)
def test_a_weight_that_would_rise_again_is_refused(gamma, max_size):
    with pytest.raises(ConfigError) as error:
        SizeWeightedFidelity(gamma, max_size)
    assert_sentence(error, "gamma", "max_size")


@pytest.mark.parametrize(("gamma", "max_size"), [(math.pi / 2, 2), (5.0, 1), (0.25, 7)])
def test_a_weight_that_just_reaches_zero_is_accepted(gamma, max_size):
    assert SizeWeightedFidelity(gamma, max_size).weight(torch.tensor([1])).item() == 1.0


def in_order(scores, rows):
    """The order where every move costs 1."""
    return best_first(scores, rows, (rows != PAD).sum(dim=1)).tolist()


def test_higher_scores_come_first():
    scores = torch.tensor([0.1, 0.9, -0.2, 0.5])
    rows = torch.tensor([[1], [2], [0], [3]])
    assert in_order(scores, rows) == [1, 3, 0, 2]


def test_of_equal_scores_the_smaller_edit_set_comes_first():
    rows = torch.tensor([[9, 1, 0], [8, 7, PAD], [6, PAD, PAD], [PAD, 5, 2]])
    assert in_order(torch.full((4,), 0.5), rows) == [2, 3, 1, 0]


def test_of_equal_scores_and_sizes_the_smaller_edges_come_first_whatever_their_place():
    rows = torch.tensor([[5, 3], [4, 3], [9, 1], [3, 2], [1, 8]])
    assert in_order(torch.zeros(5), rows) == [4, 2, 3, 1, 0]


def test_scores_that_differ_only_in_the_last_digits_are_a_tie():
    scores = torch.tensor([0.500001, 0.500009, 0.5003])
    rows = torch.tensor([[1, PAD], [0, PAD], [3, 2]])
    assert in_order(scores, rows) == [2, 1, 0]


def test_no_counterfactuals_have_an_order_too():
    empty = in_order(torch.empty(0), torch.empty(0, 2, dtype=torch.long))
    assert empty == []


@given(st.lists(st.tuples(st.integers(0, 3), st.sets(st.integers(0, 5), max_size=4)), max_size=12))
def test_the_order_is_by_score_then_size_then_edges(found):
    lists = [sorted(ids, reverse=True) + [PAD] * (4 - len(ids)) for _, ids in found]
    rows = torch.tensor(lists, dtype=torch.long).reshape(-1, 4)
    scores = torch.tensor([score / 4 for score, _ in found])
    keys = [(-score, len(ids), sorted(ids)) for score, ids in found]
    order = in_order(scores, rows)
    assert [keys[place] for place in order] == sorted(keys)
    assert sorted(order) == list(range(len(found)))


def test_of_equal_scores_the_cheaper_come_first_even_with_more_moves():
    rows, costs = torch.tensor([[9, PAD], [8, 7], [6, 5]]), torch.tensor([3, 2, 3])
    assert best_first(torch.full((3,), 0.5), rows, costs).tolist() == [1, 2, 0]


FLIPS = Flips(
    fidelity=torch.tensor([0.5, 0.75, -0.25]),
    size=torch.tensor([1, 2, 1]),
    outputs=torch.tensor([[0.25, 0.75, 0.0], [0.0, 0.625, 0.375], [0.375, 0.5, 0.125]]),
    margin=torch.tensor([0.5, 0.25, 0.125]),
    likelihood=torch.tensor([0.2, 0.9, 0.4]),
    robustness=torch.tensor([1.0, 0.5, 0.0]),
)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("paper", [0.5, 0.75 * math.cos(0.25) ** 2, -0.25]),
        ("smallest", [1 / 1.25, 1 / 2.125, 1 / 1.625]),
        ("confident", [0.5, 0.25, 0.125]),
        ("plausible", [0.2, 0.9, 0.4]),
        ("robust", [1.0, 0.5, 0.0]),
        # A score below 0 counts as 0 in a mix.
        ("paper=1,plausible=3", [0.275, (0.75 * math.cos(0.25) ** 2 + 2.7) / 4, 0.3]),
    ],
)
def test_each_ranking_gives_the_scores_worked_out_by_hand(name, wanted):
    assert rate(make_ranking(name), FLIPS).tolist() == pytest.approx(wanted, abs=1e-6)


def test_a_plain_function_of_fidelity_and_size_is_a_ranking():
    assert rate(lambda fidelity, size: fidelity / size, FLIPS).tolist() == [0.5, 0.375, -0.25]


def test_robustness_that_nobody_has_looked_at_is_guessed_from_the_margin():
    unknown = Flips(FLIPS.fidelity, FLIPS.size, FLIPS.outputs, FLIPS.margin)
    assert rate(Robust(), unknown).tolist() == [0.5, 0.25, 0.125]
    with pytest.raises(ConfigError) as error:
        rate(Plausible(), unknown)
    assert_sentence(error, "plausible")


@given(
    st.dictionaries(
        st.sampled_from(sorted(RANKINGS)), st.floats(0.001, 1000), min_size=1, max_size=5
    )
)
def test_a_mix_lies_in_0_to_1_and_comes_back_by_its_name(weights):
    mix = Mix(weights)
    scores = rate(mix, FLIPS)
    assert ((scores >= 0) & (scores <= 1 + 1e-6)).all()
    assert make_ranking(ranking_name(mix)) == mix
    assert needs_of(mix) == frozenset(
        need for name in weights for need in needs_of(make_ranking(name))
    )
    assert highest_score(mix, torch.ones(1), torch.ones(1)) == math.inf


def test_named_rankings_come_back_by_their_name_and_others_have_none():
    for name in RANKINGS:
        assert ranking_name(make_ranking(name.upper())) == name
    assert ranking_name(SizeWeightedFidelity(gamma=0.1)) is None
    assert ranking_name(lambda fidelity, size: fidelity) is None
    own = SizeWeightedFidelity(gamma=0.1)
    assert make_ranking(own) is own


def test_equal_mixes_are_written_alike():
    one, other = Mix({"robust": 1, "paper": 2}), Mix({"paper": 2.0, "robust": 1.0})
    assert one == other
    assert repr(one) == repr(other)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("plausibel", ("did you mean 'plausible'",)),
        ("paper=1,smalest=2", ("did you mean 'smallest'",)),
        ("paper=much", ("paper=much",)),
        ("paper=1,smallest", ("paper=1,smallest",)),
        ("paper=1,paper=2", ("twice",)),
        ("paper=0", ("above 0",)),
        ("paper=inf", ("above 0",)),
        ("paper=nan", ("above 0",)),
    ],
)
def test_rankings_that_cannot_be_read_are_refused(text, words):
    with pytest.raises(ConfigError) as error:
        make_ranking(text)
    for word in words:
        assert word in str(error.value)


def test_an_empty_mix_is_refused():
    with pytest.raises(ConfigError) as error:
        Mix({})
    assert_sentence(error, "mix")
