"""The best flip so far, while a search goes on."""

from __future__ import annotations

import math
from collections.abc import Generator
from typing import TypeVar

import torch
from torch import Tensor

from edgeflip.core import PAD, ProposalBlock, widened
from edgeflip.search import (
    SCORE_DECIMALS,
    Outcome,
    Problem,
    Ranking,
    Reductions,
    highest_score,
    rate,
    without_supersets,
)

Value = TypeVar("Value")

# So many of the best flips are looked at for needless edits together.
_REDUCED_AT_ONCE = 64


class BestSoFar:
    """The best score among the flips so far that will stay.

    Args:
        problem: The graph to explain.
        ranking: How flips are scored.
        minimal: Whether flips that contain a smaller one will be left out.
        largest: Edits of the largest set there will be, None if the search should not end early.

    Attributes:
        least: All sets of fewer edits than this were tried.
    """

    def __init__(
        self, problem: Problem, ranking: Ranking, *, minimal: bool, largest: int | None
    ) -> None:
        self._problem, self._ranking, self._minimal = problem, ranking, minimal
        self.least = 1
        self._largest = largest
        self._ceilings: dict[int, float] = {}
        self._flips: list[Tensor] = []
        self._scores: list[Tensor] = []
        self._best: tuple[Tensor, float] | None = (torch.empty(0, dtype=torch.long), -math.inf)
        self._reductions = Reductions()

    @property
    def found(self) -> bool:
        """Whether there is any flip."""
        return bool(self._flips)

    @property
    def smallest(self) -> float:
        """Edits of the smallest flip."""
        return min((int((part != PAD).sum(dim=1).min()) for part in self._flips), default=math.inf)

    def watched(
        self, stream: Generator[ProposalBlock, Outcome | None, Value]
    ) -> Generator[ProposalBlock, Outcome | None, Value]:
        """A stream whose outcomes are taken in as they come; returns what it returns."""
        outcome: Outcome | None = None
        while True:
            try:
                proposed = stream.send(outcome)
            except StopIteration as end:
                value: Value = end.value
                return value
            outcome = yield proposed
            self._note(proposed.toggles, outcome)

    def _note(self, rows: Tensor, outcome: Outcome | None) -> None:
        if outcome is not None and bool(outcome.flipped.any()):
            flips, proba = rows[outcome.flipped], outcome.proba[outcome.flipped]
            self._best = None
            self._flips.append(flips)
            self._scores.append(rate(self._ranking, self._problem.described(flips, proba)))

    def score(self) -> float:
        """The best score as it is compared, below all others when there is no flip."""
        return self._leader()[1]

    def smaller(self) -> Tensor | None:
        """Smaller versions of the best flips, None if those of the best are known.

        Should one of them flip, a larger one has needless edits and will not stay.
        """
        leader, _ = self._leader()
        if not self._minimal or int((leader != PAD).sum()) < 2:
            return None
        flips, _ = self._best_flips(_REDUCED_AT_ONCE)
        fresh = self._reductions.fresh(flips)
        return self._reductions.of(flips[fresh]) if bool(fresh[0]) else None

    def _leader(self) -> tuple[Tensor, float]:
        """The best flip and its score as it is compared; no edits when there is none."""
        if self._best is None:
            flips, scores = self._best_flips(1)
            self._best = flips[0], round(float(scores[0]), SCORE_DECIMALS)
        return self._best

    def _best_flips(self, most: int) -> tuple[Tensor, Tensor]:
        """The best of those that will stay, as far as known, and their scores."""
        width = max(part.size(1) for part in self._flips)
        flips = torch.cat([widened(part, width) for part in self._flips])
        scores = torch.cat(self._scores)
        order = scores.argsort(descending=True, stable=True)
        order = without_supersets(order, flips, most=most) if self._minimal else order[:most]
        return flips[order], scores[order]

    def ceiling(self, least: int) -> float:
        """No set of so many edits or more scores higher: the label cannot fall below 0."""
        if self._largest is None:
            return math.inf
        if least not in self._ceilings:
            problem = self._problem
            sizes = torch.arange(least, max(least, self._largest) + 1)
            fidelity = problem.proba[problem.label].expand(len(sizes))
            highest = highest_score(self._ranking, fidelity, sizes)
            self._ceilings[least] = round(highest, SCORE_DECIMALS)
        return self._ceilings[least]
