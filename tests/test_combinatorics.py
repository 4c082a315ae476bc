"""Every combination exactly once, in an order that looks random and is not stored."""

import itertools
import math
import random
from collections import Counter

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from edgeflip.core.combinatorics import COUNT_LIMIT, PairLevel, RandomOrder, unrank


@pytest.mark.parametrize("pool", range(8))
def test_unranking_lists_every_combination_exactly_once(pool):
    for size in range(pool + 1):
        count = math.comb(pool, size)
        rows = unrank(torch.arange(count), pool, size).tolist()
        wanted = [
            sorted(entry, reverse=True) for entry in itertools.combinations(range(pool), size)
        ]
        assert len(rows) == count
        assert sorted(rows) == sorted(wanted)


def test_ranks_are_in_colexicographic_order():
    rows = unrank(torch.arange(math.comb(9, 4)), 9, 4).tolist()
    assert rows == sorted(rows)


@given(st.integers(1, 3000), st.integers(1, 7), st.data())
def test_a_combination_has_the_rank_it_was_asked_for(pool, size, data):
    count = math.comb(pool, size)
    if not 0 < count < COUNT_LIMIT:
        return
    rank = data.draw(st.integers(0, count - 1))
    (row,) = unrank(torch.tensor([rank]), pool, size).tolist()
    assert row == sorted(set(row), reverse=True)
    assert 0 <= row[-1] <= row[0] < pool
    places = range(size, 0, -1)
    assert sum(math.comb(e, place) for e, place in zip(row, places, strict=True)) == rank


@pytest.mark.parametrize(("pool", "size"), [(70, 68), (100, 99), (90, 90)])
def test_nearly_all_of_a_large_pool_can_be_chosen(pool, size):
    count = math.comb(pool, size)
    rows = unrank(torch.arange(count), pool, size)
    missing = {tuple(sorted(set(range(pool)) - set(row))) for row in rows.tolist()}
    assert missing == set(itertools.combinations(range(pool), pool - size))


def walk(count, seed, *, first=16, largest=64):
    return list(RandomOrder(count, random.Random(seed)).blocks(first=first, largest=largest))


COUNTS = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 63, 64, 65, 100, 255, 256, 257, 1000, 4097]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_random_order_is_a_permutation(count, seed):
    order = torch.cat(walk(count, seed))
    assert sorted(order.tolist()) == list(range(count))


@pytest.mark.parametrize(("first", "largest"), [(1, 1), (1, 64), (5, 17), (1000, 1000)])
def test_a_random_order_does_not_depend_on_its_blocks(first, largest):
    blocks = walk(300, 5, first=first, largest=largest)
    assert torch.equal(torch.cat(blocks), torch.cat(walk(300, 5)))
    assert all(0 < len(block) <= largest for block in blocks)
    assert len(blocks[0]) <= first


def test_the_blocks_of_a_random_order_double_up_to_the_largest():
    # The order of 4⁵ numbers leaves none out, so that the blocks are full.
    blocks = walk(4**5, 0, first=8, largest=100)
    assert [len(block) for block in blocks[:6]] == [8, 16, 32, 64, 100, 100]


def test_a_random_order_can_be_walked_again():
    order = RandomOrder(100, random.Random(0))
    once, again = (torch.cat(list(order.blocks(first=7, largest=9))) for _ in range(2))
    assert torch.equal(once, again)


def test_a_random_order_follows_its_seed_and_is_not_the_plain_one():
    orders = [torch.cat(walk(500, seed)) for seed in (0, 0, 1)]
    assert torch.equal(orders[0], orders[1])
    assert not torch.equal(orders[0], orders[2])
    moved = (orders[0] != torch.arange(500)).float().mean()
    assert moved > 0.9


@pytest.mark.parametrize("count", [2**40 + 1, 2**59 - 1, COUNT_LIMIT])
def test_a_huge_random_order_stays_inside_and_repeats_nothing(count):
    blocks = RandomOrder(count, random.Random(3)).blocks(first=4096, largest=4096)
    values = torch.cat(list(itertools.islice(blocks, 20)))
    assert int(values.min()) >= 0
    assert int(values.max()) < count
    assert values.unique().numel() == values.numel() > 4096
    # Spread over the whole range, not bunched at its start.
    assert 0.4 < (values.double() / count).mean() < 0.6


def _level(size, removals, additions, **limits):
    limits = {"max_removed": size, "max_added": size, **limits}
    return PairLevel.of(size, torch.tensor(removals), torch.tensor(additions), **limits)


REMOVALS, ADDITIONS = [2, 3, 11, 17], [0, 5, 6, 8, 9]


def _edit_sets(size, max_removed, max_added, removals, additions):
    return Counter(
        frozenset(chosen)
        for chosen in itertools.combinations(removals + additions, size)
        if sum(entry in removals for entry in chosen) <= max_removed
        and sum(entry in additions for entry in chosen) <= max_added
    )


@pytest.mark.parametrize("size", [1, 2, 3, 4])
@pytest.mark.parametrize(("max_removed", "max_added"), [(9, 9), (2, 2), (1, 3), (0, 4), (4, 0)])
@pytest.mark.parametrize(
    ("removals", "additions"), [(REMOVALS, ADDITIONS), (REMOVALS, [1]), ([4], ADDITIONS)]
)
def test_a_level_lists_each_edit_set_exactly_once(
    size, max_removed, max_added, removals, additions
):
    level = _level(size, removals, additions, max_removed=max_removed, max_added=max_added)
    wanted = _edit_sets(size, max_removed, max_added, removals, additions)
    assert level.count == len(wanted)
    if level.shapes:
        rows = level.rows(torch.arange(level.count))
        assert rows.shape == (len(wanted), size)
        assert Counter(frozenset(row) for row in rows.tolist()) == wanted


def test_a_level_can_be_asked_for_ranks_in_any_order():
    level = _level(3, REMOVALS, ADDITIONS)
    count = level.count
    whole = level.rows(torch.arange(count))
    order = torch.cat(walk(count, 0))
    assert torch.equal(level.rows(order), whole[order])


def test_a_level_without_removable_edges_only_adds():
    level = PairLevel.of(
        2, torch.empty(0, dtype=torch.long), torch.tensor(ADDITIONS), max_removed=0, max_added=5
    )
    assert level.shapes == ((0, 2),)
    rows = level.rows(torch.arange(level.count)).tolist()
    assert {frozenset(row) for row in rows} == {
        frozenset(pair) for pair in itertools.combinations(ADDITIONS, 2)
    }


def test_drawn_edit_sets_have_distinct_ids_and_an_allowed_shape():
    removals, additions = list(range(40)), list(range(100, 400))
    level = _level(9, removals, additions, max_removed=6, max_added=7)
    assert level.count > COUNT_LIMIT / 100
    rows = level.draw(random.Random(0))
    assert rows.size(1) == 9
    assert len(rows) > 100
    assert set(rows.flatten().tolist()) <= {*removals, *additions}
    ordered = rows.sort(dim=1).values
    assert (ordered[:, 1:] != ordered[:, :-1]).all()
    removed = (rows < 100).sum(dim=1)
    assert (removed <= 6).all()
    assert (9 - removed <= 7).all()


def test_draws_follow_their_seed():
    level = _level(3, REMOVALS, ADDITIONS)
    one, two, other = (level.draw(random.Random(seed)) for seed in (1, 1, 2))
    assert torch.equal(one, two)
    assert not torch.equal(one, other)


def test_every_edit_set_of_a_level_is_drawn_about_as_often():
    level = _level(2, REMOVALS, ADDITIONS)
    drawn = Counter(frozenset(row) for row in level.draw(random.Random(0)).tolist())
    wanted = _edit_sets(2, 2, 2, REMOVALS, ADDITIONS)
    assert drawn.keys() == wanted.keys()
    mean = drawn.total() / len(wanted)
    # Six standard deviations of a Poisson count.
    assert all(abs(times - mean) < 6 * math.sqrt(mean) for times in drawn.values())
