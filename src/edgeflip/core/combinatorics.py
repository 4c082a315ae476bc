"""Walking through all combinations of a level in a seeded random order, without listing them."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

import torch
from torch import Tensor

from edgeflip.core.missing import MissingPairs

COUNT_LIMIT = 2**60
"""Levels with more combinations than this cannot be numbered with 64-bit integers."""


def unrank(ranks: Tensor, pool: int, size: int) -> Tensor:
    """The combinations of given ranks.

    Args:
        ranks: Numbers in `0 .. C(pool, size) - 1` [candidates].
        pool: Number of elements to choose from.
        size: Number of elements to choose.

    Returns:
        Chosen elements, descending within each row [candidates, size].

    Example:
        >>> unrank(torch.arange(6), pool=4, size=2).tolist()
        [[1, 0], [2, 0], [2, 1], [3, 0], [3, 1], [3, 2]]
    """
    columns = []
    rest = ranks
    for position in range(size, 0, -1):
        if position <= 2 and pool > _LARGEST_TABLE:
            element = rest if position == 1 else _larger_of_two(rest)
            rest = rest - (element if position == 1 else element * (element - 1) // 2)
        else:
            table = _binomials(pool, position)
            element = torch.searchsorted(table, rest, right=True) - 1
            rest = rest - table[element]
        columns.append(element)
    return torch.stack(columns, dim=1) if columns else ranks.new_empty(len(ranks), 0)


@lru_cache(maxsize=256)
def _binomials(pool: int, size: int) -> Tensor:
    """C(element, size) for all elements of a pool [pool]."""
    # Entries beyond any rank need not be exact, only larger than it and within 64 bits.
    return torch.tensor([min(math.comb(element, size), 2**62) for element in range(pool)])


# Of more elements there is no table of how many there are of one or two of them; formulas tell.
_LARGEST_TABLE = 100_000


def _larger_of_two(ranks: Tensor) -> Tensor:
    """The larger element of pairs of given ranks; any shape."""
    element = ((1 + (1 + 8 * ranks.double()).sqrt()) / 2).long()
    # Rounding can cost the last unit.
    element = torch.where(element * (element - 1) // 2 > ranks, element - 1, element)
    return torch.where(element * (element + 1) // 2 <= ranks, element + 1, element)


class RandomOrder:
    """A seeded permutation of `0 .. count - 1` that is computed, not stored.

    A small Feistel network permutes the next power of four; numbers beyond the count are left out.

    Example:
        >>> order = RandomOrder(10, random.Random(0))
        >>> blocks = list(order.blocks(first=2, largest=4))
        >>> sorted(torch.cat(blocks).tolist())
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    """

    _ROUNDS = 6

    def __init__(self, count: int, rng: random.Random) -> None:
        self.count = count
        self._bits = max(1, (max(1, count - 1).bit_length() + 1) // 2)
        self._keys = [rng.getrandbits(31) for _ in range(self._ROUNDS)]

    def blocks(self, *, first: int, largest: int) -> Iterator[Tensor]:
        """All numbers in their order, in blocks that double from the first to the largest size."""
        start, width, domain = 0, first, 4**self._bits
        while start < domain:
            values = self._permute(torch.arange(start, min(start + width, domain)))
            values = values[values < self.count]
            if values.numel():
                yield values
            start, width = start + width, min(2 * width, largest)

    def _permute(self, values: Tensor) -> Tensor:
        mask = (1 << self._bits) - 1
        left, right = values >> self._bits, values & mask
        for key in self._keys:
            mixed = (right + key) * 0x2545F491
            mixed = (mixed ^ (mixed >> 15)) * 0x9E3779B1
            left, right = right, left ^ (((mixed >> 17) ^ mixed) & mask)
        return (left << self._bits) | right


@dataclass(frozen=True)
class PairLevel:
    """All edit sets of one size: r of the removable edges and size − r of the addable pairs.

    Attributes:
        removals: Ids of edges that may be removed.
        additions: Ids of pairs that may be added, listed or described.
        shapes: The allowed (r, k) with r + k = size.
    """

    removals: Tensor
    additions: Tensor | MissingPairs
    shapes: tuple[tuple[int, int], ...]

    @classmethod
    def of(
        cls,
        size: int,
        removals: Tensor,
        additions: Tensor | MissingPairs,
        *,
        max_removed: int,
        max_added: int,
    ) -> PairLevel:
        """The level of one size within limits."""
        shapes = tuple(
            (r, size - r)
            for r in range(size + 1)
            if r <= min(max_removed, len(removals)) and size - r <= min(max_added, len(additions))
        )
        return cls(removals, additions, shapes)

    @property
    def counts(self) -> list[int]:
        """Number of edit sets per shape."""
        pools = len(self.removals), len(self.additions)
        return [math.comb(pools[0], r) * math.comb(pools[1], k) for r, k in self.shapes]

    @property
    def count(self) -> int:
        """Number of edit sets of all shapes."""
        return sum(self.counts)

    def rows(self, ranks: Tensor) -> Tensor:
        """Edit sets of given ranks as rows of pair ids [candidates, size]."""
        size = sum(self.shapes[0])
        if size == 1 and isinstance(self.additions, Tensor):
            pools = [self.removals if r else self.additions for r, _ in self.shapes]
            return torch.cat(pools)[ranks][:, None]
        rows = torch.empty(len(ranks), size, dtype=torch.long)
        start = 0
        for (r, k), count in zip(self.shapes, self.counts, strict=True):
            inside = ((ranks >= start) & (ranks < start + count)).nonzero().flatten()
            local = ranks[inside] - start
            ways = math.comb(len(self.additions), k)
            removed = self.removals[unrank(local // ways, len(self.removals), r)]
            added = self.additions[unrank(local % ways, len(self.additions), k)]
            rows[inside] = torch.cat([removed, added], dim=1)
            start += count
        return rows

    def draw(self, rng: random.Random) -> Tensor:
        """A block of independent random edit sets, for levels too large to number [block, size]."""
        generator = torch.Generator().manual_seed(rng.getrandbits(63))
        pools = len(self.removals), len(self.additions)
        block = max(1, min(4096, _DRAW_CELLS // min(max(pools), _LARGEST_TABLE)))
        logs = torch.tensor([math.log(ways) for ways in self.counts], dtype=torch.float64)
        weights = (logs - logs.max()).exp()
        chosen = torch.multinomial(weights, block, replacement=True, generator=generator)
        rows = torch.empty(block, sum(self.shapes[0]), dtype=torch.long)
        for index, (r, k) in enumerate(self.shapes):
            inside = (chosen == index).nonzero().flatten()
            removed = self.removals[_subsets(len(inside), pools[0], r, generator)]
            added = self.additions[_subsets(len(inside), pools[1], k, generator)]
            rows[inside] = torch.cat([removed, added], dim=1)
        return rows


# Random keys drawn at once by `PairLevel.draw`; bounds its memory to some 32 MB.
_DRAW_CELLS = 4_000_000


def _subsets(count: int, pool: int, size: int, generator: torch.Generator) -> Tensor:
    """Random subsets [count, size]: the places of the largest of random keys, a key per element.

    Of many elements they are drawn one by one, and rows that name one twice are drawn again.
    """
    if not count or not size:
        return torch.empty(count, size, dtype=torch.long)
    if pool > _LARGEST_TABLE:
        rows = torch.randint(pool, (count, size), generator=generator)
        while len(again := _repeating(rows)):
            rows[again] = torch.randint(pool, (len(again), size), generator=generator)
        return rows
    return torch.rand(count, pool, generator=generator).topk(size, dim=1).indices


def _repeating(rows: Tensor) -> Tensor:
    """Indices of rows with an element twice."""
    ordered = rows.sort(dim=1).values
    return (ordered[:, 1:] == ordered[:, :-1]).any(dim=1).nonzero().flatten()
