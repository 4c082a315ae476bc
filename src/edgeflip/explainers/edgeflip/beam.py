"""The far rings: a beam over all single edits, and combinations of the best.

Where the near rings hold no good answer, the oracle itself says where to look: every allowed edit is
tried alone, and those that bring the prediction closest to another class are combined.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from edgeflip.core import PairSpace, candidate_keys, first_occurrences, unrank
from edgeflip.explainers.edgeflip.config import BeamConfig
from edgeflip.explainers.running import GraphSearch

_BLOCK = 4096

# Allowed pairs that are tried alone, and single edits by which a state grows: in larger graphs the
# edges and the likeliest additions, and then the most promising of them.
_MOST_SINGLES, _MOST_MOVES = 100_000, 1024


class Beam:
    """A beam over edit sets, one edit more at each level, led by the oracle.

    States are compared by their margins, so that every way to the goal has its share of the beam, and by
    how likely their edits are.

    Args:
        search: The search.
        settings: Width and limits.
        likelihood: How likely each node pair is an edge, None if nobody knows [pairs].

    Attributes:
        singles: The edits that are tried alone; once they have been, the most promising first.
    """

    def __init__(
        self, search: GraphSearch, settings: BeamConfig, likelihood: Tensor | None
    ) -> None:
        self._search, self._settings = search, settings
        space = search.space
        removals, additions = space.groups["remove"], space.groups["add"]
        self._cost = _costs(space.pairs, likelihood, settings.prior)
        room = max(0, _MOST_SINGLES - removals.numel())
        if additions.numel() > room:
            if likelihood is None:
                additions = additions[:room]
            else:
                likely = likelihood[additions].topk(room).indices
                additions = additions[likely.sort().values]
        self._removals, self._additions = removals, additions
        self.singles = torch.cat([removals, additions])
        self._moves = self.singles
        self._later: dict[int, list[Tensor]] = {}
        self._at_node = _incidence(space.pairs, removals)
        self._largest = min(settings.max_edits, space.max_cost)
        unedited = torch.empty(1, 0, dtype=torch.long)
        self._nearest = float(self._distances(unedited, search.output[None]).min())
        self._stride = 0.0

    def grow(self, enough: Callable[[int], bool]) -> None:
        """Level by level, until it is enough.

        Args:
            enough: Asked before each level, with its number of edits, whether to stop.
        """
        states = torch.empty(1, 0, dtype=torch.long)
        for size in range(1, self._largest + 1):
            if enough(size):
                return
            rows = self._children(states, size)
            if not len(rows):
                return
            outputs = _ask(self._search, rows)
            promise = self._distances(rows, outputs)
            if size == 1:
                self._note_singles(rows, promise)
            elif size == 2:
                self._keep_moves(rows, promise)
            states = rows[self._chosen(promise, self._width(size))]
            self._leap(states, size)
            if self._is_hopeless(size, promise):
                # Steps lead nowhere; a leap may still, and there are few.
                for ahead in sorted(self._later):
                    _ask(self._search, torch.cat(self._later.pop(ahead)))
                return

    def _width(self, size: int) -> int:
        """Large states are many calls each; the later ones are fewer."""
        width = self._settings.width
        return width if size <= 7 else max(1, width // 2)

    def _children(self, states: Tensor, size: int) -> Tensor:
        """States with one edit more, and those that several edits at once lead to [rows, size]."""
        moves = self._moves
        grown = torch.cat(
            [states.repeat_interleave(len(moves), dim=0), moves.repeat(len(states))[:, None]], dim=1
        )
        grown = grown[~(grown[:, :-1] == grown[:, -1:]).any(dim=1)]
        rows = torch.cat([grown, *self._later.pop(size, [])])
        return rows[first_occurrences(candidate_keys(rows))]

    def _distances(self, rows: Tensor, outputs: Tensor) -> Tensor:
        """How far each candidate is along every way to the goal, low is close [rows, ways]."""
        distance = self._cost[rows].sum(dim=1)[:, None] - self._search.goal.margins(outputs)
        return distance.nan_to_num(nan=torch.inf)

    def _note_singles(self, rows: Tensor, promise: Tensor) -> None:
        order = promise.min(dim=1).values.argsort(stable=True)
        self.singles = rows[order].flatten()
        self._moves = self.singles[:_MOST_MOVES].sort().values
        if self._largest >= 2:
            self._later.setdefault(2, []).append(self._rewirings())

    def _keep_moves(self, rows: Tensor, promise: Tensor) -> None:
        """Go on with the edits that do most beside another, not only alone."""
        if self._moves.numel() <= self._settings.moves:
            return
        best = promise.min(dim=1).values.argsort(stable=True)
        edits = rows[best].flatten()
        first = edits[first_occurrences(edits)]
        self._moves = first[: self._settings.moves].sort().values

    def _is_hopeless(self, size: int, promise: Tensor) -> bool:
        """Whether the longest stride so far, taken at every level left, would not reach a flip."""
        nearest = float(promise.min())
        self._stride = max(self._stride, self._nearest - nearest)
        self._nearest = min(self._nearest, nearest)
        reach = self._settings.reach_factor * self._stride * (self._largest - size)
        # Without any stride the oracle tells nothing about the way.
        return size >= 2 and self._stride > 0 and self._nearest > reach

    def _chosen(self, promise: Tensor, width: int) -> Tensor:
        """Indices of the states to go on with, a share for every way to the goal."""
        share = max(1, width // promise.size(1))
        best: Tensor = promise.argsort(dim=0, stable=True)[:share].flatten().unique()
        return best[torch.isfinite(promise[best]).any(dim=1)]

    def _rewirings(self) -> Tensor:
        """An edge that goes and one that comes at one of its ends: a step that keeps degrees."""
        pairs = self._search.space.pairs
        here = torch.isin(self._removals, self._moves)
        there = torch.isin(self._additions, self._moves)
        removals, additions = self._removals[here], self._additions[there]
        gone, new = pairs.ends(removals), pairs.ends(additions)
        shared = (gone[:, None, :, None] == new[None, :, None, :]).any(dim=0).any(dim=0)
        row, column = shared.nonzero(as_tuple=True)
        return torch.stack([removals[row], additions[column]], dim=1)[: 4 * _BLOCK]

    def _leap(self, states: Tensor, size: int) -> None:
        """From each state, one node loses all the edges it has left, which single steps rarely reach."""
        if not self._removals.numel():
            return
        gone = (states[:, :, None] == self._removals).any(dim=1)
        left = self._at_node[None] & ~gone[:, None, :]
        counts = left.sum(dim=2)
        for count in counts.unique().tolist():
            if 2 <= count <= self._largest - size:
                state, node = (counts == count).nonzero(as_tuple=True)
                which = left[state, node].nonzero()[:, 1].view(-1, count)
                rows = torch.cat([states[state], self._removals[which]], dim=1)
                self._later.setdefault(size + count, []).append(rows)


def _costs(pairs: PairSpace, likelihood: Tensor | None, prior: float) -> Tensor:
    """What each pair's edit counts beside margins, by how unlikely it is [pairs]."""
    if likelihood is None:
        return torch.zeros(pairs.num_pairs, dtype=torch.double)
    existing = pairs.is_edge(torch.arange(pairs.num_pairs))
    chance = torch.where(existing, 1 - likelihood, likelihood).clamp(min=1e-3)
    return -prior * chance.double().log()


def _incidence(pairs: PairSpace, edges: Tensor) -> Tensor:
    """Which edges end at which node [nodes, edges]."""
    ends = pairs.ends(edges)
    nodes = torch.arange(pairs.num_nodes)
    found: Tensor = (ends[None] == nodes[:, None, None]).any(dim=1)
    return found


def ask_combinations(
    search: GraphSearch, singles: Tensor, settings: BeamConfig, largest: int
) -> None:
    """Ring 3: all pairs of the most promising single edits, then all triples of a third of them."""
    for size, limit in ((2, settings.promising), (3, settings.promising // 3)):
        pool = singles[:limit]
        if size <= largest and pool.numel() >= size:
            count = math.comb(pool.numel(), size)
            _ask(search, pool[unrank(torch.arange(count), pool.numel(), size)])


def _ask(search: GraphSearch, rows: Tensor) -> Tensor:
    """The oracle's outputs of candidates, NaN where they were refused."""
    return torch.cat([search.ask(part).outputs for part in rows.split(_BLOCK)])
