"""The paper's space: removal sets and likely additions after each, drawn all at once or size by size."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import TypeAlias

import torch
from torch import Tensor

from edgeflip.core import PAD, AllowedEdits, widened
from edgeflip.pools.sampling import Pools, Shape, SizeConfig, draw_blocks, shapes_of

Additions: TypeAlias = Callable[[Tensor], list[Tensor]]
"""Likely additions for removal sets, lines 9 to 13: for every target [sets, candidates]."""

BLOCK = 2048
"""Candidates drawn at once."""


class Drawing:
    """Shapes that are drawn from together.

    Args:
        least: Edits of its smallest candidate.
        shapes: Makes the shapes per target; called when the first candidate is wanted.
        rng: Chooses among them.
    """

    def __init__(
        self, least: int, shapes: Callable[[], list[list[Shape]]], rng: random.Random
    ) -> None:
        self.least = least
        self._make, self._rng = shapes, rng
        self._made: list[list[Shape]] | None = None

    @property
    def _shapes(self) -> list[list[Shape]]:
        if self._made is None:
            self._made = self._make()
        return self._made

    def blocks(self) -> Iterator[Tensor]:
        """Blocks of candidates as rows of pair ids, each with a share from every target."""
        streams = [draw_blocks(part, BLOCK, self._rng) for part in self._shapes]
        while True:
            parts = [
                rows for rows in (next(stream, None) for stream in streams) if rows is not None
            ]
            if not parts:
                return
            width = max(rows.size(1) for rows in parts)
            yield torch.cat([widened(rows, width) for rows in parts])


class PaperSpace:
    """All choices among removal sets and the additions that are likely after each.

    Args:
        sets: Removal sets, smallest first [sets, R].
        additions: Likely additions for removal sets; called when they are needed.
        remove: How many edges go.
        add: How many edges come.
        limits: What the constraints allow.
        rng: Orders the choices.
    """

    def __init__(
        self,
        sets: Tensor,
        additions: Additions,
        *,
        remove: SizeConfig,
        add: SizeConfig,
        limits: AllowedEdits,
        rng: random.Random,
    ) -> None:
        self._sets, self._additions, self._rng = sets, additions, rng
        self._remove, self._add, self._limits = remove, add, limits
        self._lengths = (sets >= 0).sum(dim=1)
        self._scored: dict[int, list[Tensor]] = {}

    def everything(self) -> Drawing:
        """Candidates of all sizes, sizes drawn by p(x), as published."""

        def shapes() -> list[list[Shape]]:
            return [self._shapes(Pools(self._sets, each)) for each in self._additions(self._sets)]

        return Drawing(1, shapes, self._rng)

    def by_size(self, most_edits: int) -> Iterator[Drawing]:
        """One drawing per number of edits, the smallest first."""
        for size in range(1, most_edits + 1):
            yield Drawing(size, partial(self._of_size, size), self._rng)

    def _of_size(self, size: int) -> list[list[Shape]]:
        """Candidates of one size; removal sets of that size leave no room for additions."""
        few = self._sets[self._lengths <= size]
        by_target = zip(*(self._of_length(length) for length in range(size)), strict=True)
        found = []
        for parts in by_target:
            width = max((part.size(1) for part in parts), default=1)
            missing = torch.full((len(few) - sum(map(len, parts)), width), PAD)
            additions = torch.cat([*(widened(part, width) for part in parts), missing])
            found.append(self._shapes(Pools(few, additions), size))
        return found

    def _of_length(self, length: int) -> list[Tensor]:
        """Likely additions for the removal sets of a size, for every target, scored once."""
        if length not in self._scored:
            self._scored[length] = self._additions(self._sets[self._lengths == length])
        return self._scored[length]

    def _shapes(self, pools: Pools, size: int | None = None) -> list[Shape]:
        """What can be drawn from pools within the constraints, of one size or of any."""
        limits = self._limits

        def fits(r: int, k: int) -> bool:
            within = k <= limits.max_added and r + k <= limits.max_edits
            return within and size in (None, r + k)

        return shapes_of(pools, self._remove, self._add, self._rng, fits=fits)
