"""The one store of flips: what reached the goal, in the order found, and what is best among it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from edgeflip.core import PAD, EditSpace, candidate_keys, first_occurrences, widened
from edgeflip.search.minimal import forms_of, without_supersets
from edgeflip.search.ranking import SCORE_DECIMALS, best_first


@dataclass(frozen=True, eq=False)
class OrderedFlips:
    """Distinct flips in the order found, and which comes first by score.

    Attributes:
        rows: Their moves [flips, width].
        found_at: Which candidate each was, counted from 0 [flips].
        outputs: What the oracle said of them [flips, columns].
        scores: Their scores [flips].
        costs: What they cost [flips].
        order: Their indices, best first [flips].
    """

    rows: Tensor
    found_at: Tensor
    outputs: Tensor
    scores: Tensor
    costs: Tensor
    order: Tensor


class FlipStore:
    """Flips as they come.

    Args:
        score: Scores flips from their moves and outputs [flips].
        space: Whose moves they are.
        minimal: Whether flips that contain another one will be left out in the end.
    """

    def __init__(
        self,
        score: Callable[[Tensor, Tensor], Tensor],
        space: EditSpace,
        *,
        minimal: bool,
    ) -> None:
        self._score, self._costs, self._minimal = score, space.costs, minimal
        self._forms = forms_of(space)
        self._rows: list[Tensor] = []
        self._found_at: list[Tensor] = []
        self._outputs: list[Tensor] = []
        self._scores: list[Tensor] = []
        self._leader: tuple[Tensor, float] | None = None
        self._count = 0
        self._ordered: OrderedFlips | None = None
        self.smallest: float = math.inf

    def __len__(self) -> int:
        """Number of flips, repeats included."""
        return self._count

    @property
    def widest(self) -> int:
        """Columns of the widest block of flips, 0 if there are none."""
        return max((part.size(1) for part in self._rows), default=0)

    def add(self, rows: Tensor, found_at: Tensor, outputs: Tensor) -> None:
        """Take in flips."""
        self._rows.append(rows)
        self._count += len(rows)
        self._found_at.append(found_at)
        self._outputs.append(outputs)
        self._leader = self._ordered = None
        self.smallest = min(self.smallest, int(self._costs(rows).sum(dim=1).min()))

    def leader(self) -> tuple[Tensor, float]:
        """The best flip so far and its score as scores are compared; no moves when there is none."""
        if not self._rows:
            return torch.empty(0, dtype=torch.long), -math.inf
        if self._leader is None:
            rows, scores = self._all_rows(), self._all_scores()
            first = int(scores.numpy().argmax())
            # A single move cannot be needless.
            if self._minimal and rows.size(1) > 1 and int((rows[first] != PAD).sum()) > 1:
                rows, scores = self.best(1)
                first = 0
            self._leader = rows[first], round(float(scores[first]), SCORE_DECIMALS)
        return self._leader

    def best(self, limit: int) -> tuple[Tensor, Tensor]:
        """The best of those that will stay, as far as known, and their scores."""
        rows, scores = self._all_rows(), self._all_scores()
        order = scores.argsort(descending=True, stable=True)
        if self._minimal:
            order = without_supersets(order, rows, limit=limit, forms=self._forms)
        order = order[:limit]
        return rows[order], scores[order]

    def ordered(self) -> OrderedFlips:
        """Flips without repeats and their order; worked out again only when there are more."""
        if self._ordered is None:
            rows, scores = self._all_rows(), self._all_scores()
            found_at, outputs = _together(self._found_at), _together(self._outputs)
            distinct = first_occurrences(candidate_keys(rows))
            if not bool(distinct.all()):
                rows, scores, found_at, outputs = (
                    part[distinct] for part in (rows, scores, found_at, outputs)
                )
            costs = self._costs(rows).sum(dim=1)
            order = best_first(scores, rows, costs)
            self._ordered = OrderedFlips(rows, found_at, outputs, scores, costs, order)
        return self._ordered

    def _all_rows(self) -> Tensor:
        width = self.widest
        return _together(
            [part if part.size(1) == width else widened(part, width) for part in self._rows]
        )

    def _all_scores(self) -> Tensor:
        # Only those that came since: a flip is scored once.
        for index in range(len(self._scores), len(self._rows)):
            self._scores.append(self._score(self._rows[index], self._outputs[index]))
        return _together(self._scores)


def _together(parts: list[Tensor]) -> Tensor:
    """Blocks as one; mostly there is one."""
    return parts[0] if len(parts) == 1 else torch.cat(parts)


def count_moves(rows: Tensor) -> Tensor:
    """Number of moves of each candidate [candidates]."""
    return (rows != PAD).sum(dim=1)
