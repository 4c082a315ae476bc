"""Which edits are worth trying: sizes as p(x) has them, every choice once, likely additions."""

import itertools
import math
import random

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from conftest import assert_sentence
from edgeflip import Constraints
from edgeflip.core import COUNT_LIMIT, PAD, PairEdits
from edgeflip.errors import ConfigError
from edgeflip.pools import PaperSpace, SizeConfig, likely_additions, removal_sets
from edgeflip.pools import reconstruct as reconstruct_module
from edgeflip.pools.sampling import Pools, draw_blocks, shapes_of
from link_methods import PAPER, RING, Told, make_links, ring_and_tail

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


# The paper's space.


def make_space(constraints=None, *, additions=None, targets=1, sizes=(2, 2), seed=0):
    """Removal sets of the ring and as many additions for each, or those given."""
    space = PairEdits.of(ring_and_tail(), constraints or Constraints())
    asked = []

    def likely(removed):
        asked.append(removed)
        chosen = space.limits.additions[:4] if additions is None else additions
        return [chosen.roll(shift).repeat(len(removed), 1) for shift in range(targets)]

    rng = random.Random(seed)
    sets = removal_sets(space.pairs.ids_of(sorted(RING)), sizes[0], 100, rng)
    remove, add = SizeConfig(max=sizes[0]), SizeConfig(max=sizes[1])
    made = PaperSpace(sets, likely, remove=remove, add=add, limits=space.limits, rng=rng)
    return made, space, asked


def all_of(drawing):
    return [choice for rows in drawing.blocks() for choice in as_sets(rows)]


@pytest.mark.parametrize("targets", [1, 2])
def test_size_by_size_is_everything_in_another_order(targets):
    drawn = all_of(make_space(targets=targets)[0].everything())
    by_size = [all_of(part) for part in make_space(targets=targets)[0].by_size(4)]
    sizes = [len(choice) for part in by_size for choice in part]
    assert sizes == sorted(sizes)
    assert [len(choice) for choice in drawn] != sizes
    assert len(drawn) == sum(map(len, by_size)) == targets * ((1 + 4 + 6) * (1 + 4 + 6) - 1)
    assert set(drawn) == set().union(*by_size)


def test_every_target_has_its_share_of_a_block():
    made, space, _ = make_space(targets=2)
    pairs = space.limits.additions

    def own(removed):
        return [part.repeat(len(removed), 1) for part in (pairs[:5], pairs[5:10])]

    made._additions = own
    block = next(made.everything().blocks())
    shares = [int(torch.isin(block, part).any(dim=1).sum()) for part in (pairs[:5], pairs[5:10])]
    assert min(shares) > 0.4 * max(shares)


def test_removal_sets_are_scored_once_and_only_when_they_are_reached():
    made, _, asked = make_space()
    drawings = made.by_size(4)
    assert asked == []
    for size, scored in ((1, [1]), (2, [1, 4]), (3, [1, 4, 6]), (4, [1, 4, 6])):
        drawing = next(drawings)
        assert drawing.least == size
        all_of(drawing)
        assert [len(rows) for rows in asked[: len(scored)]] == scored
    # Of four removals there are none, so nobody is asked about them with anything in it.
    assert all(not len(rows) for rows in asked[3:])


@pytest.mark.parametrize(
    ("limits", "fits"),
    [
        ({"max_edits": 1}, lambda r, k: r + k <= 1),
        ({"max_added": 1}, lambda r, k: k <= 1),
        ({"max_edits": 3, "max_added": 1}, lambda r, k: r + k <= 3 and k <= 1),
    ],
)
def test_what_the_constraints_refuse_is_not_drawn(limits, fits):
    made, space, _ = make_space(Constraints(**limits))
    seen = all_of(made.everything())
    edges = set(space.pairs.edge_ids.tolist())
    shapes = {(len(choice & edges), len(choice - edges)) for choice in seen}
    assert shapes == {(r, k) for r in range(3) for k in range(3) if r + k and fits(r, k)}


# Likely additions.


def additions(told, *, threshold=0.5, limit=10, may_undo=False, targets=(None,), constraints=None):
    space = PairEdits.of(ring_and_tail(), constraints or Constraints())
    sets = removal_sets(space.pairs.ids_of([(0, 1), (1, 2)]), 2, 100, random.Random(0))
    found = likely_additions(
        make_links(PAPER.links, predictor=told),
        space,
        sets,
        list(targets),
        threshold=threshold,
        limit=limit,
        may_undo=may_undo,
        check=lambda: None,
    )
    edges = space.pairs.edges_of(torch.arange(space.pairs.num_pairs))
    return [[[edges[i] for i in row if i != PAD] for row in part.tolist()] for part in found]


def test_likely_additions_come_most_likely_first_and_above_the_threshold_only():
    told = Told({(0, 2): 0.7, (1, 3): 0.9, (0, 7): 0.5, (2, 3): 0.99}, rest=0.1)
    ((none, one, other, both),) = additions(told)
    assert none == one == other == both == [(1, 3), (0, 2)]
    ((none, *_),) = additions(told, limit=1)
    assert none == [(1, 3)]


def test_an_edge_that_was_removed_comes_back_only_where_that_is_allowed():
    told = Told({(0, 1): 0.8, (1, 3): 0.9, (2, 3): 0.99}, rest=0.1)
    ((none, first, second, both),) = additions(told, may_undo=True)
    # (2, 3) is there and stays; (0, 1) may come back only where it is gone.
    assert none == second == [(1, 3)]
    assert first == both == [(1, 3), (0, 1)]
    ((*rows,),) = additions(told, may_undo=False)
    assert rows == [[(1, 3)]] * 4


def test_pairs_that_are_forbidden_are_no_likely_additions():
    told = Told({(0, 2): 0.7, (1, 3): 0.9}, rest=0.1)
    ((none, *_),) = additions(told, constraints=Constraints(forbidden_pairs={(1, 3)}))
    assert none == [(0, 2)]


def test_every_target_is_asked_about_with_its_class_however_little_memory(monkeypatch):
    answers = []
    for cells in (20_000_000, 1):
        monkeypatch.setattr(reconstruct_module, "_STACK_CELLS", cells)
        told = Told({(0, 2): 0.7, (1, 3): 0.9}, rest=0.1)
        answers.append(additions(told, targets=(0, None, 2)))
        asked = [None if c is None else int(c[0].argmax()) for _, c in told.asked]
        assert asked == [0, None, 2]
    assert answers[0] == answers[1]
    assert len(answers[0]) == 3


def test_where_nothing_may_come_nothing_is_likely():
    told = Told(rest=0.9)
    ((*rows,),) = additions(told, constraints=Constraints(allow_additions=False))
    assert rows == [[]] * 4
    assert told.asked == []
