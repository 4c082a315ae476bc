"""Reaching further than the paper's space: a beam over all single edits, and subsets of the best.

The paper's space is the edges of one factual subgraph and the pairs above one threshold. When it
holds no good answer, the oracle itself says where to look: every allowed edit is tried alone, and
those that bring the prediction closest to another class are combined.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import torch
from torch import Tensor

from edgeflip.core import ProposalBlock, candidate_keys, first_occurrences, unrank
from edgeflip.errors import ConfigError
from edgeflip.search import Outcome, Problem
from edgeflip.support import STRICT

_BLOCK = 4096

# Allowed pairs that are tried alone, and single edits by which a state grows: in larger graphs the
# edges and the likeliest additions, and then the most promising of them.
_MOST_SINGLES, _MOST_MOVES = 100_000, 1024

Asking: TypeAlias = Generator[ProposalBlock, Outcome | None, Tensor]
"""Asks about candidates block by block; returns their probabilities [candidates, C]."""

Searching: TypeAlias = Generator[ProposalBlock, Outcome | None, None]
"""A stream of blocks that is told what became of each."""

Enough: TypeAlias = Callable[[int], bool]
"""Whether a search may stop before candidates of so many edits."""


@dataclass(frozen=True)
class WideningConfig:
    """How far the search reaches beyond the paper's space.

    Attributes:
        worth: A wider ring is opened unless the best score so far comes within this share of the
            highest there could be.
        sure: The search ends before the link predictor is asked when single edits in the factual
            subgraph come within this share of the highest score there could be.
        near_edits: Edits of ring 0, the paper's space, at most; at least three where nodes have only
            so much room, as atoms have, or one of several classes is asked for. The paper's own limits
            hold too.
        near: Candidates of ring 0, and of ring 1, at most.
        lower: Ring 1 multiplies the threshold by this, and allows twice the factual nodes.
        width: States of the beam, ring 2.
        max_edits: Edits of its largest states.
        moves: Single edits by which states of two edits or more grow: those that do most beside another.
        hope: The beam ends when the way left to a flip is so many times longer than its longest stride
            so far, taken at every level left.
        patience: Levels of the beam after the one with the first flip.
        prior: Weight of an edit's log-likelihood beside the log-odds of the classes, when states are
            compared.
        promising: Of the best single edits so many are combined in all pairs, ring 3, and a third of
            them in all triples.
    """

    __pydantic_config__ = STRICT

    worth: float = 0.1
    sure: float = 0.02
    near_edits: int = 3
    near: int = 3000
    lower: float = 0.25
    width: int = 12
    max_edits: int = 15
    moves: int = 256
    hope: float = 1.5
    patience: int = 1
    prior: float = 0.005
    promising: int = 48

    def __post_init__(self) -> None:
        """Refuse settings that mean nothing."""
        shares = (self.worth, self.sure)
        if not (0 <= min(shares) <= max(shares) < 1 and 0 <= self.lower <= 1 and self.prior >= 0):
            raise ConfigError(
                "expected worth and sure in 0..1, lower in 0..1 and prior of 0 or more, got "
                f"{self.worth}, {self.sure}, {self.lower} and {self.prior}."
            )
        counts = (self.near_edits, self.near, self.width, self.max_edits, self.moves)
        if min(counts) < 1 or min(self.patience, self.promising) < 0 or not self.hope > 0:
            raise ConfigError(
                "expected near_edits, near, width, max_edits and moves of at least 1, patience and "
                f"promising of at least 0 and hope above 0, got {self}."
            )


class Beam:
    """A beam over edit sets, one edit more at each level, led by the oracle.

    States are compared by the log-odds of the label against each wanted class, so that every class
    has its share of the beam, and by how likely their edits are.

    Args:
        problem: The graph to explain.
        settings: Width and limits.
        likelihood: How likely each node pair is an edge [pairs].

    Attributes:
        singles: The edits that are tried alone; once they have been, the most promising first.
    """

    def __init__(self, problem: Problem, settings: WideningConfig, likelihood: Tensor) -> None:
        self._problem, self._settings = problem, settings
        allowed = problem.allowed
        existing = problem.space.is_edge(torch.arange(problem.space.num_pairs))
        chance = torch.where(existing, 1 - likelihood, likelihood).clamp(min=1e-3)
        self._cost = -settings.prior * chance.double().log()
        additions = allowed.additions if allowed.max_added else allowed.additions[:0]
        removals = allowed.removals if allowed.max_removed else allowed.removals[:0]
        room = max(0, _MOST_SINGLES - removals.numel())
        if additions.numel() > room:
            likely = likelihood[additions].topk(room).indices
            additions = additions[likely.sort().values]
        self._removals, self._additions = removals, additions
        self.singles = torch.cat([removals, additions])
        self._moves = self.singles
        self._later: dict[int, list[Tensor]] = {}
        self._at_node = _incidence(problem, removals)
        self._largest = min(settings.max_edits, allowed.max_edits)
        unedited = torch.empty(1, 0, dtype=torch.long)
        self._nearest = float(self._promise(unedited, problem.proba[None]).min())
        self._stride = 0.0

    def grow(self, enough: Enough) -> Searching:
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
            proba = yield from ask(rows)
            promise = self._promise(rows, proba)
            if size == 1:
                self._note_singles(rows, promise)
            elif size == 2:
                self._keep_moves(rows, promise)
            states = rows[self._chosen(promise, self._width(size))]
            self._leap(states, size)
            if self._is_hopeless(size, promise):
                # Steps lead nowhere; a leap may still, and there are few.
                for ahead in sorted(self._later):
                    yield from ask(torch.cat(self._later.pop(ahead)))
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

    def _promise(self, rows: Tensor, proba: Tensor) -> Tensor:
        """How far each candidate is from each wanted class, low is close [rows, classes]."""
        problem = self._problem
        logs = proba.double().clamp(min=1e-30).log()
        if problem.target is not None:
            rivals = logs.clone()
            rivals[:, problem.target] = -torch.inf
            margin = (rivals.max(dim=1).values - logs[:, problem.target])[:, None]
        else:
            others = [c for c in range(logs.size(1)) if c != problem.label]
            margin = logs[:, [problem.label]] - logs[:, others]
        distance = margin + self._cost[rows].sum(dim=1)[:, None]
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
        reach = self._settings.hope * self._stride * (self._largest - size)
        # Without any stride the oracle tells nothing about the way.
        return size >= 2 and self._stride > 0 and self._nearest > reach

    def _chosen(self, promise: Tensor, width: int) -> Tensor:
        """Places of the states to go on with, a share for every wanted class."""
        share = max(1, width // promise.size(1))
        best: Tensor = promise.argsort(dim=0, stable=True)[:share].flatten().unique()
        return best[torch.isfinite(promise[best]).any(dim=1)]

    def _rewirings(self) -> Tensor:
        """An edge that goes and one that comes at one of its ends: a step that keeps degrees."""
        space = self._problem.space
        here = torch.isin(self._removals, self._moves)
        there = torch.isin(self._additions, self._moves)
        removals, additions = self._removals[here], self._additions[there]
        gone, new = space.ends(removals), space.ends(additions)
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


def _incidence(problem: Problem, edges: Tensor) -> Tensor:
    """Which edges end at which node [nodes, edges]."""
    ends = problem.space.ends(edges)
    nodes = torch.arange(problem.space.num_nodes)
    found: Tensor = (ends[None] == nodes[:, None, None]).any(dim=1)
    return found


def combined(singles: Tensor, settings: WideningConfig, largest: int) -> Searching:
    """Ring 3: combinations of the most promising single edits."""
    for rows in combinations(singles, settings, largest):
        yield from ask(rows)


def combinations(ids: Tensor, settings: WideningConfig, largest: int) -> Iterator[Tensor]:
    """All pairs of the first ids, then all triples of a third of them [rows, 2 or 3]."""
    for size, most in ((2, settings.promising), (3, settings.promising // 3)):
        pool = ids[:most]
        if size <= largest and pool.numel() >= size:
            count = math.comb(pool.numel(), size)
            yield pool[unrank(torch.arange(count), pool.numel(), size)]


def ask(rows: Tensor) -> Asking:
    """The oracle's probabilities of candidates, NaN where they were refused."""
    answers = []
    for part in rows.split(_BLOCK):
        outcome = yield ProposalBlock(part)
        assert outcome is not None, "a search tells what became of a block"
        answers.append(outcome.proba)
    return torch.cat(answers)
