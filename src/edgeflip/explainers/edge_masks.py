"""What CF², CF-GNNExplainer, C2Explainer and XPlore share: they learn a mask over edges through the oracle.

Such a method learns one number per node pair by gradient descent, then proposes the edits its mask
stands for. Graphs do not see each other, so the masks of many graphs are learned in one go.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, TypeVar

import torch
from torch import Tensor

from edgeflip.core import (
    NO_ROWS,
    FactualSubgraph,
    candidate_keys,
    first_occurrences,
    padded,
)
from edgeflip.errors import ConfigError, NotApplicableError
from edgeflip.explainers.base import CounterfactualExplainer
from edgeflip.explainers.beginning import Check, PairProblem, PairSearch
from edgeflip.oracle import SearchEnded, SoftGraphs, batches
from edgeflip.search import Ended
from edgeflip.support import STEEPEST

ConfigT = TypeVar("ConfigT")


class MaskExplainer(CounterfactualExplainer[ConfigT]):
    """Base of the methods that learn a mask per graph.

    A method says which pairs its mask covers and learns masks for several graphs at once. Passes of
    weighted graphs through the model are no oracle calls; they are noted as `soft_passes`, where one
    backward counts two.
    """

    learns: ClassVar[bool] = False
    explains_together: ClassVar[bool] = True

    @abstractmethod
    def _pairs(self, problem: PairProblem) -> Tensor:
        """Ids of the pairs that the mask of a graph covers."""

    @abstractmethod
    def _learn(
        self, soft: SoftGraphs, problems: Sequence[PairProblem], check: Check
    ) -> list[Learned]:
        """Learn the masks of some graphs."""

    @abstractmethod
    def _nothing(self, problem: PairProblem) -> str:
        """What to tell people when no edits of a graph changed its prediction."""

    def _groups(self, problems: Sequence[PairProblem]) -> list[list[int]]:
        return batches([problem.space.pairs for problem in problems])

    def _search(self, search: PairSearch) -> Ended:
        learned: Learned = search.prepared
        search.note(**learned.notes)
        search.factual = learned.factual
        if len(learned.rows):
            search.ask(learned.rows)
        return Ended("exhausted", learned.message or self._nothing(search.problem))

    def _prepare(
        self, problems: Sequence[PairProblem], check: Check
    ) -> list[Learned | NotApplicableError | SearchEnded]:
        """What was learned for each graph, or why nothing was."""
        pairs = [self._pairs(problem) for problem in problems]
        open_to_edits = [index for index, ids in enumerate(pairs) if ids.numel()]
        outcomes: list[Learned | NotApplicableError | SearchEnded] = [Learned() for _ in problems]
        chosen = [problems[index] for index in open_to_edits]
        if not chosen:
            return outcomes
        try:
            check()
            soft = SoftGraphs(
                chosen[0].oracle,
                [problem.space.pairs for problem in chosen],
                [pairs[index] for index in open_to_edits],
            )
            agree = soft.agree(torch.stack([problem.output for problem in chosen]))
            # Whoever asks may have gradients switched off.
            with torch.enable_grad():
                learned = self._learn(soft, chosen, check)
        except (NotApplicableError, SearchEnded) as error:
            return [error if ids.numel() else Learned() for ids in pairs]
        for index, each, agrees in zip(open_to_edits, learned, agree.tolist(), strict=True):
            notes = {"soft_passes": soft.passes, **each.notes}
            outcomes[index] = replace(each, notes=notes) if agrees else _disagreement()
        return outcomes


@dataclass(frozen=True, eq=False)
class Learned:
    """What a mask stands for.

    Attributes:
        rows: Edits, in the order to try them [candidates, width].
        notes: Figures to keep with the answer; `soft_passes` where a graph took fewer than the others.
        factual: The explanation, where the mask is one too.
        message: Why there is nothing to try, where that is so.
    """

    rows: Tensor = NO_ROWS
    notes: Mapping[str, Any] = field(default_factory=dict)
    factual: FactualSubgraph | None = None
    message: str = ""


def _disagreement() -> NotApplicableError:
    return NotApplicableError(
        "expected a graph whose edges with weight 1 get the oracle's own answer, got another; the model "
        "reads more of an edge than a weight can stand for: use a method that needs no soft graphs."
    )


def largest_first(ids: Tensor, values: Tensor, chosen: Tensor, limit: int) -> Tensor:
    """The chosen pairs; of more than are allowed those with the largest values [at most limit]."""
    picked = chosen.nonzero().flatten()
    order = values[picked].argsort(descending=True, stable=True)
    return ids[picked[order[:limit]]]


class FlipRecords:
    """The edits that flipped a prediction while masks were learned, of several graphs.

    A flip is a record when it needs fewer edits than all before it. When rules have a say, every
    flip is kept: a rule may refuse the smallest.

    Args:
        soft: The weighted graphs.
        problems: Their problems.
        pairs: Ids of the weighted pairs of each graph.
    """

    def __init__(
        self, soft: SoftGraphs, problems: Sequence[PairProblem], pairs: Sequence[Tensor]
    ) -> None:
        self._soft = soft
        self._problems = problems
        self._pairs = pairs
        self._is_edge = soft.original > 0
        self._best = torch.full((len(problems),), torch.inf)
        self._keeps_all = torch.tensor([problem.space.has_rules for problem in problems])
        limits = [
            (limits.max_removed, limits.max_added, limits.max_edits)
            for limits in (problem.space.limits for problem in problems)
        ]
        self._max_removed, self._max_added, self._max_edits = torch.tensor(limits).t()
        self._labels = torch.tensor([problem.goal.label for problem in problems])
        self._target = problems[0].goal.target
        self._rows: list[list[Tensor]] = [[] for _ in problems]

    def flips(self, logits: Tensor) -> Tensor:
        """Where logits are a change of class as asked [graphs]."""
        labels = logits.argmax(dim=1)
        return labels != self._labels if self._target is None else labels == self._target

    def note(self, changed: Tensor, flipped: Tensor) -> None:
        """Keep the records of a step.

        Args:
            changed: The pairs that are edited [pairs].
            flipped: The graphs whose prediction changed as asked [graphs].
        """
        if not bool(flipped.any()):
            return
        size = self._soft.per_graph(changed.float())
        removed = self._soft.per_graph((changed & self._is_edge).float())
        fits = (removed <= self._max_removed) & (size - removed <= self._max_added)
        kept = flipped & fits & (size <= self._max_edits) & (size > 0)
        kept &= self._keeps_all | (size < self._best)
        if not bool(kept.any()):
            return
        self._best = torch.where(kept, size, self._best)
        parts = self._soft.split(changed)
        for row in kept.nonzero().flatten().tolist():
            self._rows[row].append(self._pairs[row][parts[row]])

    def learned(self) -> list[Learned]:
        """The records of each graph, in the order found."""
        blocks = [padded(rows) for rows in self._rows]
        return [Learned(rows[first_occurrences(candidate_keys(rows))]) for rows in blocks]


def check_positive(where: str, **values: float) -> None:
    """Refuse settings that must be above 0.

    Raises:
        ConfigError: Naming the first that is not.
    """
    for name, value in values.items():
        if not 0 < value <= STEEPEST:
            raise ConfigError(
                f"expected {name} of '{where}' above 0 and at most {STEEPEST:g}, got {value}; correct it."
            )
