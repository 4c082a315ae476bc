"""Edit sets that wait for their level of the beam."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from edgeflip.core import PAD, candidate_keys, first_occurrences


@dataclass(frozen=True, eq=False)
class States:
    """Edit sets of one size from which the beam may go on.

    Attributes:
        rows: Their moves [states, size].
        margins: How far each is along every way to the goal [states, ways].
        effects: By how much each move of the pool is expected to raise them [states, moves, ways].
        leapt: Whether it began with a leap [states].
    """

    rows: Tensor
    margins: Tensor
    effects: Tensor
    leapt: Tensor

    def __len__(self) -> int:
        """Number of states."""
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class _Block:
    """Edit sets of one size that were asked about together, and whose effects they inherit.

    Attributes:
        rows: Their moves [sets, size].
        margins: How far each is along every way to the goal [sets, ways].
        leapt: Whether it began with a leap [sets].
        effects: What the sets that they grew from expect of each move [parents, moves, ways].
        parents: Which of these each grew from [sets].
    """

    rows: Tensor
    margins: Tensor
    leapt: Tensor
    effects: Tensor
    parents: Tensor


class Waiting:
    """Sets by size, and which of them a level begins with.

    Args:
        largest: Edits of the largest sets; these are not grown from.
        leap_seats: Seats of every level for sets that began with a leap.
        levelled: Margins to compare by, from margins.
        lawful: Of the indices of the best sets those to go on with, where rules are asked: from rows, the
            indices and their number.
    """

    def __init__(
        self,
        largest: int,
        leap_seats: int,
        levelled: Callable[[Tensor], Tensor],
        lawful: Callable[[Tensor, Tensor, int], Tensor] | None = None,
    ) -> None:
        self._largest, self._leap_seats = largest, leap_seats
        self._levelled, self._lawful = levelled, lawful
        self._blocks: dict[int, list[_Block]] = {}

    def __contains__(self, size: int) -> bool:
        """Whether any set of a size waits."""
        return size in self._blocks

    def add(
        self,
        size: int,
        rows: Tensor,
        margins: Tensor,
        effects: Tensor,
        leapt: Tensor,
        parents: Tensor | None = None,
    ) -> None:
        """Let sets wait for their level."""
        if size >= self._largest or not len(rows):
            return
        if parents is None:
            parents = torch.zeros(len(rows), dtype=torch.long)
        block = _Block(rows, margins, leapt[parents], effects, parents)
        self._blocks.setdefault(size, []).append(block)

    def add_by_size(
        self,
        rows: Tensor,
        margins: Tensor,
        effects: Tensor,
        leapt: Tensor,
        parents: Tensor | None = None,
    ) -> None:
        """Let sets of several sizes, padded, wait for their levels."""
        sizes = (rows != PAD).sum(dim=1)
        for size in sizes.unique().tolist():
            own = sizes == size
            owners = None if parents is None else parents[own]
            self.add(size, rows[own, :size], margins[own], effects, leapt, owners)

    def best(self, size: int, width: int) -> States:
        """The best distinct states that wait at a size."""
        blocks = self._blocks[size]
        rows = torch.cat([each.rows for each in blocks])
        margins = torch.cat([each.margins for each in blocks])
        leapt = torch.cat([each.leapt for each in blocks])
        distinct = first_occurrences(candidate_keys(rows))
        margins = margins.masked_fill(~distinct[:, None], math.nan)
        if self._lawful is None:
            chosen = self._seated(margins, leapt, width)
        else:
            chosen = self._lawful(rows, self._seated(margins, leapt, 3 * width), width)
        # Effects are large, so only those of the chosen are looked up, block by block.
        effects = margins.new_empty(len(chosen), *blocks[0].effects.shape[1:])
        start = 0
        for block in blocks:
            own = ((chosen >= start) & (chosen < start + len(block.rows))).nonzero().flatten()
            effects[own] = block.effects[block.parents[chosen[own] - start]]
            start += len(block.rows)
        return States(rows[chosen], margins[chosen], effects, leapt[chosen])

    def _seated(self, margins: Tensor, leapt: Tensor, width: int) -> Tensor:
        """Indices of the best, with some seats for those that began with a leap."""
        best = self._chosen(margins, width)
        seats = self._leap_seats
        where = leapt.nonzero().flatten()
        if not seats or not len(where):
            return best
        together = torch.cat([best, where[self._chosen(margins[where], seats)]])
        return together[first_occurrences(together)]

    def _chosen(self, margins: Tensor, width: int) -> Tensor:
        """Indices of the best: half by their best way, half with a share for every way."""
        values = self._levelled(margins).numpy()
        ways = values.shape[1]
        best = values.max(axis=1)
        best = np.where(np.isnan(best), -math.inf, best)
        order = (-best).argsort(kind="stable")[: width if ways == 1 else width - width // 2]
        if ways > 1:
            share = max(1, width // 2 // ways)
            each = np.where(np.isnan(values), -math.inf, values)
            each = (-each).argsort(axis=0, kind="stable")[:share]
            order = np.concatenate([order, each.ravel()])
            order = order[first_occurrences(torch.from_numpy(order)).numpy()]
        return torch.from_numpy(order[np.isfinite(best[order])])
