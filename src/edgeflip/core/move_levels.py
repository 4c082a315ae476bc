"""All sets of moves of one cost, where moves may have different costs: numbered, and drawn."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from edgeflip.core.candidates import PAD
from edgeflip.core.combinatorics import unrank

# Sets that are drawn at once.
_BLOCK = 1024


@dataclass(frozen=True, eq=False)
class MoveLevel:
    """All sets of moves of one cost: so many of those that cost 1, and so many of those that cost 2.

    Sets that no check would let pass, such as two moves of one slot, are among them.

    Attributes:
        pools: Ids of the moves of each cost.
        shapes: How many of each pool a set may have.
        keep: Blanks the rows that are other rows in disguise, so that every set is tried once.
    """

    pools: tuple[Tensor, ...]
    shapes: tuple[tuple[int, ...], ...]
    keep: Callable[[Tensor], Tensor]

    @classmethod
    def of(
        cls, cost: int, ids: Tensor, costs: Tensor, keep: Callable[[Tensor], Tensor]
    ) -> MoveLevel:
        """The level of one cost.

        Args:
            cost: What the sets cost.
            ids: The moves that may be made [moves].
            costs: What each costs [moves].
            keep: See `MoveLevel`.
        """
        prices = costs.unique().tolist()
        pools = tuple(ids[costs == price] for price in prices)
        sizes = [len(pool) for pool in pools]
        shapes = tuple(
            shape for shape in _shapes(cost, prices) if all(map(int.__le__, shape, sizes))
        )
        return cls(pools, shapes if any(map(sum, shapes)) else (), keep)

    @property
    def counts(self) -> list[int]:
        """Number of sets per shape."""
        return [
            math.prod(math.comb(len(pool), k) for pool, k in zip(self.pools, shape, strict=True))
            for shape in self.shapes
        ]

    @property
    def count(self) -> int:
        """Number of sets of all shapes."""
        return sum(self.counts)

    @property
    def width(self) -> int:
        """Moves of the largest set."""
        return max(map(sum, self.shapes), default=1)

    def rows(self, ranks: Tensor) -> Tensor:
        """Sets of given numbers as rows of ids, padded [ranks, width]."""
        rows = torch.full((len(ranks), self.width), PAD)
        start = 0
        for shape, count in zip(self.shapes, self.counts, strict=True):
            inside = ((ranks >= start) & (ranks < start + count)).nonzero().flatten()
            local, column = ranks[inside] - start, 0
            for pool, k in zip(self.pools, shape, strict=True):
                ways = math.comb(len(pool), k)
                rows[inside, column : column + k] = pool[unrank(local % ways, len(pool), k)]
                local, column = local // ways, column + k
            start += count
        return self.keep(rows)

    def draw(self, rng: random.Random) -> Tensor:
        """A block of independent random sets, for levels too large to number [block, width]."""
        random_ = np.random.default_rng(rng.getrandbits(63))
        logs = np.array([math.log(ways) for ways in self.counts])
        weights = np.exp(logs - logs.max())
        chosen = random_.choice(len(logs), _BLOCK, p=weights / weights.sum())
        rows = torch.full((_BLOCK, self.width), PAD)
        for place, index in enumerate(chosen.tolist()):
            column = 0
            for pool, k in zip(self.pools, self.shapes[index], strict=True):
                own = random_.choice(len(pool), k, replace=False)
                rows[place, column : column + k] = pool[torch.from_numpy(own)]
                column += k
        return self.keep(rows)


def _shapes(cost: int, prices: list[int]) -> Iterator[tuple[int, ...]]:
    """How many moves of each price cost so much together."""
    if not prices:
        return
    first, *rest = prices
    if not rest:
        if cost % first == 0:
            yield (cost // first,)
        return
    for many in range(cost // first + 1):
        for others in _shapes(cost - many * first, rest):
            yield (many, *others)


def sorted_rows(rows: Tensor) -> Tensor:
    """Rows sorted, what is padded last; a move that is named twice is made once.

    Example:
        >>> sorted_rows(torch.tensor([[4, 9, 4], [7, -1, 2]])).tolist()
        [[9, 4, -1], [7, 2, -1]]
    """
    if rows.size(1) <= 1:
        return rows
    ordered = rows.sort(dim=1, descending=True).values
    again = torch.zeros_like(ordered, dtype=torch.bool)
    again[:, 1:] = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PAD)
    if bool(again.any()):
        ordered = ordered.masked_fill(again, PAD).sort(dim=1, descending=True).values
    return ordered


def costs_plainly(prices: dict[int, int], cost: int) -> Iterator[tuple[int, ...]]:
    """All sets of moves of a cost, by `itertools`, for whoever checks: ids and what each costs."""
    cheapest = min(prices.values(), default=cost + 1)
    for size in range(1, cost // cheapest + 1):
        for chosen in itertools.combinations(prices, size):
            if sum(prices[each] for each in chosen) == cost:
                yield chosen
