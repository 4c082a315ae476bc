"""Edge sampling: sizes as the paper's p(x) has them, and every choice at most once."""

import itertools
import math
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from conftest import assert_sentence
from edgeflip.core.combinatorics import COUNT_LIMIT
from edgeflip.errors import ConfigError
from edgeflip.pools.sampling import (
    Pools,
    SizeConfig,
    draw_blocks,
    removal_sets,
    shapes_of,
)

REMOVE = SizeConfig(alpha=0.5, beta=1.0, max=2)
ADD = SizeConfig(alpha=0.01, beta=3.0, max=5)


def make_pools(edges=8, additions=30, *, largest=2, per_set=None):
    """All sets of up to R of some edges; the same additions, or so many of them, for each set."""
    sets = removal_sets(torch.arange(edges), largest, 10_000, random.Random(0))
    rows = torch.arange(1000, 1000 + additions).repeat(len(sets), 1)
    if per_set is not None:
        for row in range(len(sets)):
            rows[row, per_set(row) :] = -1
    return Pools(sets, rows)


def first_block(pools, remove, add, *, block=20_000, seed=0):
    rng = random.Random(seed)
    return next(draw_blocks(shapes_of(pools, remove, add, rng), block, rng))


def everything(pools, remove, add, *, block=64, seed=0):
    rng = random.Random(seed)
    shapes = shapes_of(pools, remove, add, rng)
    return [row for rows in draw_blocks(shapes, block, rng) for row in as_sets(rows)]


def as_sets(rows):
    return [frozenset(entry for entry in row if entry >= 0) for row in rows.tolist()]


def size_counts(rows, remove, add):
    """How often each (r, k) came; additions of these pools are numbered from 1000."""
    removed = ((rows >= 0) & (rows < 1000)).sum(dim=1).tolist()
    added = (rows >= 1000).sum(dim=1).tolist()
    pairs = list(zip(removed, added, strict=True))
    sizes = [(r, k) for r in range(remove.max + 1) for k in range(add.max + 1) if r + k]
    return sizes, [pairs.count(size) for size in sizes]


def expected_shares(sizes, remove, add):
    """The paper's equation, written out again."""
    weight = [
        math.exp(-remove.alpha * (r - remove.beta) ** 4)
        * math.exp(-add.alpha * (k - add.beta) ** 4)
        for r, k in sizes
    ]
    return [entry / sum(weight) for entry in weight]


def p_value(counts, shares):
    total = sum(counts)
    return chisquare(counts, [share * total for share in shares]).pvalue


# Large enough that no shape runs out within the block, so every draw is a fresh one.
WIDE = {"edges": 300, "additions": 3000, "largest": 1}


def test_weights_are_the_equation_of_the_paper():
    assert SizeConfig(alpha=1.7, beta=1.0, max=3).weights().tolist() == pytest.approx(
        [math.exp(-1.7), 1.0, math.exp(-1.7), math.exp(-1.7 * 16)]
    )
    assert SizeConfig(alpha=0.2, beta=2.5, max=1).weights().tolist() == pytest.approx(
        [math.exp(-0.2 * 2.5**4), math.exp(-0.2 * 1.5**4)]
    )


def test_sizes_of_the_first_block_follow_the_equation_and_no_other():
    remove, add = SizeConfig(alpha=1.5, beta=1.0, max=1), SizeConfig(alpha=0.05, beta=2.0, max=4)
    pools = make_pools(**WIDE)
    rows = first_block(pools, remove, add, block=1500)
    sizes, counts = size_counts(rows, remove, add)
    assert sum(counts) == 1500
    assert p_value(counts, expected_shares(sizes, remove, add)) > 0.001
    for wrong_remove, wrong_add in (
        (SizeConfig(alpha=0.5, beta=1.0, max=1), add),
        (remove, SizeConfig(alpha=0.2, beta=2.0, max=4)),
    ):
        assert p_value(counts, expected_shares(sizes, wrong_remove, wrong_add)) < 0.001


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_removals_and_additions_keep_their_own_parameters(seed):
    remove, add = SizeConfig(alpha=1.7, beta=1.0, max=3), SizeConfig(alpha=0.2, beta=3.0, max=5)
    pools = make_pools(edges=60, additions=200, largest=3)
    rows = first_block(pools, remove, add, block=1000, seed=seed)
    sizes, counts = size_counts(rows, remove, add)
    # Tests of chi-square want some draws in every cell: the rarest ones are put together.
    shares = expected_shares(sizes, remove, add)
    common = [place for place, share in enumerate(shares) if share > 0.005]
    kept = [counts[place] for place in common]
    parts = [shares[place] for place in common]
    merged = [*kept, sum(counts) - sum(kept)], [*parts, 1 - sum(parts)]
    assert p_value(*merged) > 0.001
    swapped = expected_shares(
        sizes, SizeConfig(alpha=0.2, beta=1.0, max=3), SizeConfig(alpha=1.7, beta=3.0, max=5)
    )
    other = [swapped[place] for place in common]
    assert p_value(merged[0], [*other, 1 - sum(other)]) < 0.001


def test_every_choice_is_visited_exactly_once():
    pools = make_pools(edges=5, additions=4)
    remove, add = REMOVE, SizeConfig(alpha=0.5, beta=1.0, max=3)
    seen = everything(pools, remove, add)
    wanted = {
        frozenset(gone) | frozenset(1000 + place for place in come)
        for r in range(3)
        for gone in itertools.combinations(range(5), r)
        for k in range(4)
        for come in itertools.combinations(range(4), k)
    } - {frozenset()}
    assert len(seen) == len(set(seen))
    assert set(seen) == wanted


@given(
    edges=st.integers(0, 5),
    additions=st.integers(0, 5),
    largest=st.integers(0, 3),
    most=st.integers(0, 4),
    seed=st.integers(0, 10_000),
)
def test_a_space_of_any_shape_is_enumerated_without_repeats(edges, additions, largest, most, seed):
    counts = random.Random(seed)
    pools = make_pools(edges, additions, largest=largest, per_set=lambda _: counts.randint(0, 5))
    remove = SizeConfig(alpha=0.5, beta=1.0, max=largest)
    add = SizeConfig(alpha=0.5, beta=1.0, max=most)
    seen = everything(pools, remove, add, block=16, seed=seed)
    wanted = [
        frozenset(entry for entry in gone if entry >= 0) | frozenset(come)
        for gone, candidates in zip(pools.removals.tolist(), pools.additions.tolist(), strict=True)
        for k in range(most + 1)
        for come in itertools.combinations([entry for entry in candidates if entry >= 0], k)
    ]
    wanted = [choice for choice in wanted if choice]
    assert len(seen) == len(wanted)
    assert set(seen) == set(wanted)


def test_each_removal_set_is_completed_from_its_own_candidates_only():
    sets = removal_sets(torch.arange(3), 1, 100, random.Random(0))
    additions = torch.tensor([[10, 11, -1], [20, -1, -1], [-1, -1, -1], [30, 31, 32]])
    own = {frozenset(): {10, 11}, frozenset({0}): {20}, frozenset({1}): set()}
    own[frozenset({2})] = {30, 31, 32}
    seen = everything(Pools(sets, additions), SizeConfig(max=1), SizeConfig(max=2))
    for choice in seen:
        gone = frozenset(entry for entry in choice if entry < 10)
        assert choice - gone <= own[gone]
    assert frozenset({2, 30, 32}) in seen
    assert frozenset({0, 10}) not in seen


def test_the_same_seed_draws_the_same_and_another_does_not():
    pools = make_pools()
    one, same, other = (first_block(pools, REMOVE, ADD, block=200, seed=s) for s in (4, 4, 5))
    assert torch.equal(one, same)
    assert not torch.equal(one, other)


def test_shapes_whose_probability_is_zero_come_last_but_come():
    pools = make_pools(edges=3, additions=2, largest=1)
    steep = SizeConfig(alpha=1e6, beta=1.0, max=1)
    never = SizeConfig(alpha=1e6, beta=0.0, max=2)
    seen = everything(pools, steep, never, block=8)
    assert {len(choice) for choice in seen[:3]} == {1}
    assert all(min(choice) < 3 for choice in seen[:3])
    assert len(seen) == (1 + 3) * (1 + 2 + 1) - 1


def test_spaces_too_large_to_number_are_sampled():
    pools = make_pools(edges=4, additions=2000, largest=1)
    add = SizeConfig(alpha=0.001, beta=9.0, max=9)
    rng = random.Random(0)
    shapes = shapes_of(pools, SizeConfig(max=1), add, rng)
    assert max(shape.total for shape in shapes) > COUNT_LIMIT
    blocks = draw_blocks(shapes, 500, rng)
    rows = torch.cat([next(blocks) for _ in range(4)])
    choices = as_sets(rows)
    large = [choice for choice in choices if len(choice) >= 9]
    assert len(large) > 100
    assert len(set(large)) == len(large)
    # Rows hold as many distinct edges as they have entries: nothing is drawn twice into one choice.
    lengths = (rows >= 0).sum(dim=1).tolist()
    assert lengths == [len(choice) for choice in choices]


def test_sets_with_few_candidates_in_a_huge_space_never_take_a_placeholder():
    # Without the edge 0 there are 2000 candidates, without the edge 1 or 2 only nine.
    pools = make_pools(
        edges=3, additions=2000, largest=1, per_set=lambda row: 2000 if row == 1 else 9
    )
    rng = random.Random(1)
    only_nine = SizeConfig(alpha=100.0, beta=9.0, max=9)
    shapes = shapes_of(pools, SizeConfig(alpha=100.0, beta=1.0, max=1), only_nine, rng)
    assert max(shape.total for shape in shapes) > COUNT_LIMIT
    rows = next(draw_blocks(shapes, 300, rng))
    few = [choice for choice in as_sets(rows) if choice & {1, 2}]
    assert len(few) == 2
    assert {choice - {1, 2} for choice in few} == {frozenset(range(1000, 1009))}


def test_removal_sets_are_all_sets_up_to_the_largest_size():
    sets = removal_sets(torch.tensor([4, 7, 9, 12]), 2, 100, random.Random(0))
    assert sets[0].tolist() == [-1, -1]
    wanted = [
        frozenset(chosen) for r in range(3) for chosen in itertools.combinations([4, 7, 9, 12], r)
    ]
    assert sorted(map(sorted, as_sets(sets))) == sorted(map(sorted, wanted))


def test_too_many_removal_sets_are_cut_to_the_small_ones_and_a_random_part():
    ids = torch.arange(10)
    one = removal_sets(ids, 3, 30, random.Random(0))
    other = removal_sets(ids, 3, 30, random.Random(1))
    assert one.shape == other.shape == (30, 3)
    assert len(set(as_sets(one))) == 30
    # The empty set, ten single edges, and nineteen of the 45 pairs.
    assert [sum(len(s) == r for s in as_sets(one)) for r in range(4)] == [1, 10, 19, 0]
    assert set(as_sets(one)) != set(as_sets(other))


def test_removal_sets_of_many_edges_are_cut_without_listing_all():
    sets = removal_sets(torch.arange(2000), 7, 3000, random.Random(0))
    assert len(sets) == 3000
    assert [int(n) for n in torch.bincount((sets >= 0).sum(dim=1))] == [1, 2000, 999]


def test_nothing_to_remove_leaves_the_empty_removal_set():
    assert removal_sets(torch.empty(0, dtype=torch.long), 2, 10, random.Random(0)).shape == (1, 0)


def test_nothing_to_draw_from_draws_nothing():
    pools = Pools(torch.full((1, 0), -1), torch.full((1, 1), -1))
    assert everything(pools, REMOVE, ADD) == []


@pytest.mark.parametrize(
    "wrong", [{"alpha": 0.0}, {"alpha": -1.0}, {"max": -1}, {"alpha": math.inf}, {"beta": math.nan}]
)
def test_sizes_without_a_distribution_are_refused(wrong):
    with pytest.raises(ConfigError) as error:
        SizeConfig(**wrong)
    assert_sentence(error, "alpha", "max")
