"""Edge sampling: how many edges go and come, and which, never the same choice twice.

Sizes follow the paper's p(x) = exp(-alpha (x - beta)^4). The choices of one shape (r removals, k additions)
are numbered and visited in a seeded random order, so that a space smaller than the budget is enumerated
once, and a larger one is sampled without repeats.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from edgeflip.core import COUNT_LIMIT, RandomOrder, unrank, widened
from edgeflip.errors import ConfigError
from edgeflip.support import STEEPEST, STRICT, check_at_most

# Orders of up to so many choices are stored; longer ones are computed as they are needed.
_STORED = 4096


@dataclass(frozen=True)
class SizeConfig:
    """How many edges are drawn.

    Attributes:
        alpha: How fast the probability falls with the distance from beta.
        beta: The size drawn most often; may be fractional.
        max: R or K, the largest size.
    """

    __pydantic_config__ = STRICT

    alpha: float = 0.5
    beta: float = 1.0
    max: int = 2

    def __post_init__(self) -> None:
        """Refuse what is no distribution over sizes."""
        if not (0 < self.alpha < math.inf and math.isfinite(self.beta)) or self.max < 0:
            raise ConfigError(
                f"expected alpha above 0, a finite beta and max of 0 or more, got {self}."
            )
        check_at_most(self, alpha=STEEPEST, max=10_000)

    def weights(self) -> Tensor:
        """p(x) for x = 0 … max, not normalised [max + 1].

        Example:
            >>> SizeConfig(alpha=0.5, beta=1.0, max=2).weights().round(decimals=3).tolist()
            [0.6069999933242798, 1.0, 0.6069999933242798]
        """
        sizes = torch.arange(self.max + 1, dtype=torch.float32)
        return torch.exp(-self.alpha * (sizes - self.beta) ** 4)


@dataclass(frozen=True, eq=False)
class Pools:
    """What may go and, for every removal set, what may come.

    Attributes:
        removals: Removal sets as pair ids, padded with -1 [sets, R].
        additions: Candidate additions per removal set, most likely first, padded with -1 [sets, M].
    """

    removals: Tensor
    additions: Tensor


class Shape:
    """Choices of r removals and k additions, numbered and visited in random order.

    Args:
        pools: What may go and come.
        rows: Removal sets of size r with equally many candidate additions.
        r: Number of removals.
        k: Number of additions, at most as many as there are candidates.
        weight: How often the shape is drawn, beside others.
        rng: Orders the choices.
    """

    def __init__(
        self, pools: Pools, rows: Tensor, r: int, k: int, weight: float, rng: random.Random
    ) -> None:
        self.r, self.k, self.size, self.weight = r, k, r + k, weight
        self._candidates = int((pools.additions[rows[0]] >= 0).sum())
        self._ways = math.comb(self._candidates, k)
        self.total = len(rows) * self._ways
        self._pools, self._rows = pools, rows
        self._order: Iterator[Tensor] | None = None
        self._rng = rng
        self._ready = torch.empty(0, dtype=torch.long)
        self.left = self.total if r + k else 0

    def take(self, count: int) -> Tensor:
        """The next choices as rows of pair ids [at most count, r + k]."""
        count = min(count, self.left)
        self.left -= count
        if self.total > COUNT_LIMIT:
            return self._any_rows(count)
        return self._rows_of(self._next_ranks(count))

    def _any_rows(self, count: int) -> Tensor:
        """Independent draws, for more choices than can be numbered: no budget reaches a repeat."""
        generator = torch.Generator().manual_seed(self._rng.getrandbits(63))
        additions = self._pools.additions
        sets = self._rows[torch.randint(len(self._rows), (count,), generator=generator)]
        keys = torch.rand(count, additions.size(1), generator=generator)
        keys = keys.masked_fill(additions[sets] < 0, -1.0)
        chosen = keys.topk(self.k, dim=1).indices
        added = additions[sets[:, None], chosen]
        return torch.cat([self._pools.removals[sets, : self.r], added], dim=1)

    def _next_ranks(self, count: int) -> Tensor:
        if self.total <= _STORED and not self._ready.numel():
            generator = torch.Generator().manual_seed(self._rng.getrandbits(63))
            self._ready = torch.randperm(self.total, generator=generator)
        elif self._order is None:
            self._order = RandomOrder(self.total, self._rng).blocks(first=256, largest=4096)
        while self._ready.numel() < count:
            assert self._order is not None
            self._ready = torch.cat([self._ready, next(self._order)])
        ranks, self._ready = self._ready[:count], self._ready[count:]
        return ranks

    def _rows_of(self, ranks: Tensor) -> Tensor:
        sets = self._rows[ranks // self._ways]
        chosen = unrank(ranks % self._ways, self._candidates, self.k)
        added = self._pools.additions[sets[:, None], chosen]
        return torch.cat([self._pools.removals[sets, : self.r], added], dim=1)


def removal_sets(ids: Tensor, largest: int, most: int, rng: random.Random) -> Tensor:
    """All sets of up to R of the given edges, padded with -1; a random part when there are too many.

    Args:
        ids: Edges that may go.
        largest: R.
        most: At most this many sets, smallest first.
        rng: Chooses among the sets of a size that does not fit.

    Returns:
        Removal sets, the empty one first [sets, R].
    """
    largest = min(largest, ids.numel())
    parts = [torch.full((1, largest), -1, dtype=torch.long)]
    room = most - 1
    for size in range(1, largest + 1):
        count = math.comb(ids.numel(), size)
        if room <= 0:
            break
        indices = range(count) if count <= room else sorted(rng.sample(range(count), room))
        ranks = torch.tensor(list(indices))
        rows = ids[unrank(ranks, ids.numel(), size)]
        parts.append(widened(rows, largest))
        room -= len(rows)
    return torch.cat(parts)


def shapes_of(
    pools: Pools,
    remove: SizeConfig,
    add: SizeConfig,
    rng: random.Random,
    *,
    fits: Callable[[int, int], bool] = lambda r, k: True,
) -> list[Shape]:
    """Every (r, k) that fits with its weight, without the empty edit.

    Sizes are drawn by p(r) and p(k), and all removal sets of a size are as likely, however many
    candidate additions each has: so sets with as many make shapes of their own. Where more edges are
    drawn than there are, all there are are taken, as in the published code.
    """
    sizes = (pools.removals >= 0).sum(dim=1).tolist()
    counts = (pools.additions >= 0).sum(dim=1).tolist()
    alike: dict[tuple[int, int], list[int]] = {}
    for row, kind in enumerate(zip(sizes, counts, strict=True)):
        alike.setdefault(kind, []).append(row)
    down, up = _clipped(remove.weights(), max(sizes)), add.weights()
    shapes = []
    for (r, count), rows in sorted(alike.items()):
        share = len(rows) / sizes.count(r)
        shapes += [
            Shape(pools, torch.tensor(rows), r, k, down[r] * share * weight, rng)
            for k, weight in enumerate(_clipped(up, count))
            if r + k and fits(r, k)
        ]
    return shapes


def _clipped(weights: Tensor, available: int) -> list[float]:
    """Weights of the sizes there are; what larger ones have goes to the largest."""
    last = min(available, len(weights) - 1)
    return [*weights[:last].tolist(), float(weights[last:].sum())]


def draw_blocks(shapes: Sequence[Shape], block: int, rng: random.Random) -> Iterator[Tensor]:
    """Blocks of candidates: shapes are drawn by their weights, with each the next of its choices.

    Yields:
        Rows of pair ids in the order drawn, padded with -1 [at most block, widest].
    """
    generator = torch.Generator().manual_seed(rng.getrandbits(63))
    width = max((shape.r + shape.k for shape in shapes), default=0)
    while True:
        open_shapes = [shape for shape in shapes if shape.left]
        if not open_shapes:
            return
        if len(open_shapes) == 1:
            rows = open_shapes[0].take(block)
            yield widened(rows, width)
            continue
        weights = torch.tensor([shape.weight for shape in open_shapes], dtype=torch.float64)
        if float(weights.sum()) <= 0:
            weights = torch.ones_like(weights)
        drawn = torch.multinomial(weights, block, replacement=True, generator=generator)
        counts = torch.bincount(drawn, minlength=len(open_shapes)).tolist()
        turns = drawn.argsort(stable=True).split(counts)
        parts, indices = [], []
        for shape, count, turn in zip(open_shapes, counts, turns, strict=True):
            if count:
                rows = shape.take(count)
                parts.append(widened(rows, width))
                indices.append(turn[: len(rows)])
        # What is drawn first is tried first; a shape that has run out is drawn in vain.
        yield torch.cat(parts)[torch.cat(indices).argsort()]
