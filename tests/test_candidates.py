"""Rows of ids: what thousands of candidates become, against one at a time."""

import itertools
from collections import Counter

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgeflip.core import (
    NO_ROWS,
    PAD,
    AnswerStore,
    cancelled,
    candidate_keys,
    first_occurrences,
    padded,
    rows_from_mask,
    widened,
)


@st.composite
def blocks(draw, largest=9):
    width = draw(st.integers(0, 6))
    row = st.lists(st.integers(PAD, largest), min_size=width, max_size=width)
    rows = draw(st.lists(row, max_size=10))
    return torch.tensor(rows, dtype=torch.long).reshape(len(rows), width)


def odd_ones(row):
    """The ids that an odd number of toggles leaves changed."""
    return {entry for entry, times in Counter(row).items() if times % 2 and entry != PAD}


# Normalising and keys.


@given(blocks())
def test_an_edit_made_and_taken_back_is_no_edit(toggles):
    before = toggles.clone()
    rows = cancelled(toggles).tolist()
    assert len(rows) == len(toggles)
    for row, original in zip(rows, toggles.tolist(), strict=True):
        ids = [entry for entry in row if entry != PAD]
        assert ids == sorted(odd_ones(original), reverse=True)
        assert row == ids + [PAD] * (len(row) - len(ids))
    assert torch.equal(toggles, before)


@given(blocks(largest=4))
def test_keys_are_equal_exactly_for_equal_sets(toggles):
    keys = candidate_keys(toggles).tolist()
    sets = [odd_ones(row) for row in toggles.tolist()]
    for (one, first), (two, second) in itertools.combinations(zip(keys, sets, strict=True), 2):
        assert (one == two) == (first == second)


def test_keys_of_many_different_sets_are_all_different():
    pairs = torch.combinations(torch.arange(300), 2)
    triples = torch.combinations(torch.arange(70), 3)
    large = torch.arange(10**12, 10**12 + 50_000)[:, None]
    keys = torch.cat(
        [candidate_keys(block) for block in (pairs, triples, large, torch.arange(300)[:, None])]
    )
    assert keys.unique().numel() == keys.numel()


def test_a_key_knows_neither_order_nor_padding():
    one, two = torch.tensor([[7, 3, 5]]), torch.tensor([[5, PAD, 7, 3, PAD]])
    assert torch.equal(candidate_keys(one), candidate_keys(two))
    assert candidate_keys(torch.tensor([[0]])) != candidate_keys(torch.tensor([[PAD]]))


def test_keys_are_the_same_beside_pairs_of_very_large_graphs():
    small, large = torch.tensor([[3, 5], [7, PAD]]), torch.tensor([[3, 10**9]])
    assert torch.equal(candidate_keys(torch.cat([small, large]))[:2], candidate_keys(small))


@given(st.lists(st.integers(-3, 3), max_size=20))
def test_first_occurrences_mark_each_key_once(keys):
    mask = first_occurrences(torch.tensor(keys, dtype=torch.long))
    assert mask.tolist() == [key not in keys[:place] for place, key in enumerate(keys)]


# Rows of any length.


@given(st.lists(st.lists(st.integers(0, 9), max_size=5), max_size=6))
def test_rows_of_any_lengths_become_one_block(rows):
    block = padded([torch.tensor(row, dtype=torch.long) for row in rows])
    assert [[entry for entry in row if entry != PAD] for row in block.tolist()] == rows
    assert not rows or block.size(1) == max(map(len, rows))
    wider = widened(block, 7)
    assert wider[:, : block.size(1)].tolist() == block.tolist()
    assert (wider[:, block.size(1) :] == PAD).all()


def test_no_rows_are_a_block_too():
    assert padded([]) is NO_ROWS
    assert NO_ROWS.shape == (0, 1)


@given(st.lists(st.sets(st.integers(0, 6)), max_size=6))
def test_a_mask_becomes_the_ids_that_it_marks(sets):
    mask = torch.zeros(len(sets), 7, dtype=torch.bool)
    for row, ids in zip(mask, sets, strict=True):
        row[list(ids)] = True
    rows = rows_from_mask(mask)
    assert rows.shape == (len(sets), max(map(len, sets), default=0))
    assert [{entry for entry in row if entry != PAD} for row in rows.tolist()] == sets


# Remembered answers.


@given(
    st.lists(st.lists(st.integers(-20, 20), min_size=1, max_size=15), max_size=12),
    st.integers(1, 3),
)
def test_an_answer_store_remembers_like_a_dictionary(rounds, columns):
    store, wanted = AnswerStore(columns), {}
    everything = np.arange(-25, 26)
    for number, keys in enumerate(rounds):
        fresh = sorted({key for key in keys if key not in wanted})
        answers = np.arange(len(fresh) * columns).reshape(-1, columns) + 100.0 * number
        store.add(np.array(fresh, dtype=np.int64), answers)
        wanted.update(zip(fresh, answers.tolist(), strict=True))
        assert len(store) == len(wanted)
        known, found = store.find(everything)
        assert found.shape == (51, columns)
        for key, is_known, row in zip(everything.tolist(), known, found, strict=True):
            assert bool(is_known) == (key in wanted)
            assert row.tolist() == wanted[key] if key in wanted else np.isnan(row).all()


def test_an_answer_store_finds_the_largest_keys_and_the_same_key_twice():
    store = AnswerStore(1)
    store.add(np.array([-(2**62), 0, 2**62]), np.array([[1.0], [2.0], [3.0]]))
    known, found = store.find(np.array([-(2**62), 0, 0, 5, 2**62, 2**62 + 1]))
    assert known.tolist() == [True, True, True, False, True, False]
    assert found[known].flatten().tolist() == [1.0, 2.0, 2.0, 3.0]


def test_an_empty_answer_store_knows_nothing():
    known, found = AnswerStore(2).find(np.array([1, 2]))
    assert not known.any()
    assert np.isnan(found).all()
