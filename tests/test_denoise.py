"""Denoising: the least likely edges go, but never one that carries the label."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from conftest import assert_sentence
from edgeflip.errors import ConfigError
from edgeflip.explainers.dr_cfgnn import DRCFGNNConfig
from edgeflip.explainers.dr_cfgnn.denoise import drop_unlikely, edges_below

IDS = torch.tensor([40, 10, 30, 20, 50])
LIKELIHOOD = torch.tensor([4.0, 1.0, 3.0, 2.0, 90.0]) / 128
# Least first: 10, 20, 30, 40, 50, and of their area of 100/128: 1 %, 3 %, 6 %, 10 %, 100 %.


class Label:
    """Says that the label stays unless one of some edges goes, and keeps what it was asked."""

    def __init__(self, *needed):
        self.needed = set(needed)
        self.asked = []

    def __call__(self, rows):
        sets = [{entry for entry in row if entry >= 0} for row in rows.tolist()]
        self.asked.append(sets)
        return torch.tensor([not (chosen & self.needed) for chosen in sets])


@pytest.mark.parametrize(
    ("share", "gone"),
    [(0.0, 0), (0.009, 0), (0.01, 1), (0.029, 1), (0.03, 2), (0.0999, 3), (0.1, 4), (0.99, 4)],
)
def test_the_share_of_the_area_is_the_hand_computed_one(share, gone):
    assert IDS[edges_below(LIKELIHOOD, share)].tolist() == [10, 20, 30, 40][:gone]


def test_the_share_is_of_the_area_not_of_the_number_of_edges():
    # A tenth of the edges, but next to nothing of the area; and half the edges for a quarter of it.
    assert len(edges_below(torch.tensor([2**-20] + [1.0] * 9), 2**-20)) == 1
    assert len(edges_below(torch.tensor([0.25, 0.25, 0.75, 0.75]), 0.25)) == 2


def test_edges_of_one_probability_go_in_their_order():
    assert edges_below(torch.full((5,), 0.5), 0.4).tolist() == [0, 1]


def test_edges_of_probability_zero_go_at_any_share():
    assert edges_below(torch.tensor([0.5, 0.0, 0.5, 0.0]), 0.0).tolist() == [1, 3]


def test_all_unlikely_edges_go_with_one_question_when_none_matters():
    label = Label()
    dropped = drop_unlikely(IDS, LIKELIHOOD, 0.1, label)
    assert dropped.tolist() == [10, 20, 30, 40]
    assert label.asked == [[{10}, {10, 20}, {10, 20, 30}, {10, 20, 30, 40}]]


def test_an_edge_that_carries_the_label_stays_and_the_next_may_go_as_in_the_paper():
    label = Label(20)
    dropped = drop_unlikely(IDS, LIKELIHOOD, 0.1, label)
    assert dropped.tolist() == [10, 30, 40]
    assert label.asked[1] == [{10, 30}, {10, 30, 40}]


def test_the_first_edge_that_carries_the_label_ends_the_step_as_in_the_published_code():
    label = Label(20)
    assert drop_unlikely(IDS, LIKELIHOOD, 0.1, label, stops_at_first=True).tolist() == [10]
    assert len(label.asked) == 1


@pytest.mark.parametrize("stops_at_first", [False, True])
def test_nothing_goes_when_every_unlikely_edge_carries_the_label(stops_at_first):
    label = Label(10, 20, 30, 40)
    dropped = drop_unlikely(IDS, LIKELIHOOD, 0.1, label, stops_at_first=stops_at_first)
    assert dropped.tolist() == []


def test_what_matters_only_together_is_noticed():
    def keeps(rows):
        return torch.tensor([not {10, 30} <= set(row) for row in rows.tolist()])

    assert drop_unlikely(IDS, LIKELIHOOD, 0.1, keeps).tolist() == [10, 20, 40]


def test_nothing_is_asked_when_no_edge_is_unlikely_enough():
    label = Label()
    assert drop_unlikely(IDS, LIKELIHOOD, 0.0, label).tolist() == []
    assert label.asked == []


def dropped_one_by_one(ids, likelihood, share, keeps, *, stops_at_first):
    """The step as the paper tells it: least likely first, each one tried for itself."""
    dropped, area, total = [], 0.0, float(likelihood.double().sum())
    for place in torch.sort(likelihood, stable=True).indices.tolist():
        area += float(likelihood[place])
        if area > share * total + 1e-12:
            break
        if bool(keeps(torch.tensor([[*dropped, int(ids[place])]]))[0]):
            dropped.append(int(ids[place]))
        elif stops_at_first:
            break
    return dropped


@given(
    likelihood=st.lists(st.integers(0, 1000), min_size=1, max_size=12),
    needed=st.sets(st.integers(0, 11)),
    share=st.sampled_from([0.0, 0.01, 0.1, 0.3, 0.7]),
    stops_at_first=st.booleans(),
)
def test_asking_about_all_prefixes_at_once_drops_what_asking_one_by_one_would(
    likelihood, needed, share, stops_at_first
):
    way = {"stops_at_first": stops_at_first}
    values, ids = torch.tensor(likelihood) / 1024, torch.arange(len(likelihood))
    dropped = drop_unlikely(ids, values, share, Label(*needed), **way).tolist()
    assert dropped == dropped_one_by_one(ids, values, share, Label(*needed), **way)
    assert not set(dropped) & needed


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_shares_that_leave_no_graph_are_refused(share):
    with pytest.raises(ConfigError) as error:
        DRCFGNNConfig(share=share)
    assert_sentence(error, "share")
