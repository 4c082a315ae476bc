"""What methods share that learn a mask over edges through the oracle: CF², CF-GNNExplainer, C2Explainer.

Such a method learns one number per node pair by gradient descent, then proposes the edits its mask
stands for. Graphs do not see each other, so the masks of many graphs are learnt in one go.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import ClassVar, TypeAlias, TypeVar

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import (
    FREE,
    PAD,
    Constraints,
    EdgeFill,
    Noise,
    ProposalBlock,
    candidate_keys,
    first_occurrences,
)
from edgeflip.errors import BudgetExhausted, ConfigError, NotApplicableError
from edgeflip.explainers.base import CounterfactualExplainer
from edgeflip.oracle import Budget, SoftGraphs, batches
from edgeflip.search import CounterfactualSet, Problem, Stage

ConfigT = TypeVar("ConfigT")

Pulse: TypeAlias = Callable[[], None]
"""Called once per step of learning; raises `BudgetExhausted` when the time is up."""

_STAGE = "learn"


class MaskExplainer(CounterfactualExplainer[ConfigT]):
    """Base of the methods that learn a mask per graph.

    A method says which pairs its mask covers and learns masks for several graphs at once. Passes of
    weighted graphs through the model are no oracle calls; they are noted as `soft_passes`.
    """

    learns: ClassVar[bool] = False
    explains_together: ClassVar[bool] = True

    @abstractmethod
    def _pairs(self, problem: Problem) -> Tensor:
        """Ids of the pairs that the mask of a graph covers."""

    @abstractmethod
    def _learn(
        self, soft: SoftGraphs, problems: Sequence[Problem], pulse: Pulse
    ) -> list[ProposalBlock]:
        """Learn the masks of some graphs; the edits they stand for, in the order to try them."""

    def _propose(self, problem: Problem) -> Iterator[ProposalBlock]:
        with problem.clock.stage(_STAGE):
            learnt = self._learn_together([problem], problem.oracle.check)[0]
        yield from _replayed(learnt)

    def explain_many(
        self,
        graphs: Sequence[Data],
        *,
        target: int | str | None = None,
        constraints: Constraints = FREE,
        budget: Budget | None = None,
        fill: EdgeFill | None = None,
        keep: int = 20,
        number: int | None = None,
        diversity: float = 0.5,
        robust: int = 0,
        noise: Noise | None = None,
        seed: int = 0,
    ) -> list[CounterfactualSet]:
        """The answers of `explain` for many graphs, whose masks are learnt at once.

        The time of learning together is shared out evenly; a deadline is so much time per graph.
        See `CounterfactualExplainer.explain_many` for the arguments.
        """
        choice = self._choice(keep, number, diversity, robust, noise, seed)
        for graph in graphs:
            self._check_call(graph, seed)
        budget = budget or self.default_budget()
        with self._at_work(seed):
            problems = [
                self._pose(graph, target, constraints, budget, fill, seed) for graph in graphs
            ]
            answers: dict[int, CounterfactualSet] = {}
            for group in batches([problem.space for problem in problems]):
                together = [problems[place] for place in group]
                learnt = self._learn_timed(together, budget)
                for place, problem, block in zip(group, together, learnt, strict=True):
                    answers[place] = self._answer(
                        problem, budget, _proposer(block), choice=choice, seed=seed
                    )
        return [answers[place] for place in range(len(graphs))]

    def _learn_timed(self, problems: Sequence[Problem], budget: Budget) -> list[_Learnt]:
        """Learn together, and book an even share of the time for every graph."""
        started, cpu_started = time.perf_counter(), time.process_time()
        allowed = None if budget.seconds is None else budget.seconds * len(problems)

        def pulse() -> None:
            if allowed is not None and time.perf_counter() - started >= allowed:
                raise problems[0].oracle.exhausted()

        learnt = self._learn_together(problems, pulse)
        share = Stage(
            seconds=(time.perf_counter() - started) / len(problems),
            cpu_seconds=(time.process_time() - cpu_started) / len(problems),
        )
        for problem in problems:
            problem.clock.add(_STAGE, share)
            problem.oracle.restart(spent=share.seconds)
        return learnt

    def _learn_together(self, problems: Sequence[Problem], pulse: Pulse) -> list[_Learnt]:
        """What was learnt for each graph, or why nothing was."""
        pairs = [self._pairs(problem) for problem in problems]
        open_to_edits = [place for place, ids in enumerate(pairs) if ids.numel()]
        outcomes: list[_Learnt] = [_NOTHING] * len(problems)
        chosen = [problems[place] for place in open_to_edits]
        if not chosen:
            return outcomes
        try:
            pulse()
            soft = SoftGraphs(
                chosen[0].oracle,
                [problem.space for problem in chosen],
                [pairs[place] for place in open_to_edits],
            )
            agree = soft.agree(torch.stack([problem.proba for problem in chosen]))
            # Whoever asks may have gradients switched off.
            with torch.enable_grad():
                blocks = self._learn(soft, chosen, pulse)
        except (NotApplicableError, BudgetExhausted) as error:
            return [error if ids.numel() else _NOTHING for ids in pairs]
        for place, block, agrees in zip(open_to_edits, blocks, agree.tolist(), strict=True):
            outcomes[place] = block if agrees else _disagreement()
            problems[place].notes["soft_passes"] = soft.passes
        return outcomes


_Learnt: TypeAlias = ProposalBlock | NotApplicableError | BudgetExhausted

_NOTHING = ProposalBlock(torch.empty(0, 1, dtype=torch.long))


def _proposer(learnt: _Learnt) -> Callable[[Problem], Iterator[ProposalBlock]]:
    return lambda _: _replayed(learnt)


def _replayed(learnt: _Learnt) -> Iterator[ProposalBlock]:
    if not isinstance(learnt, ProposalBlock):
        raise learnt
    if len(learnt):
        yield learnt


def _disagreement() -> NotApplicableError:
    return NotApplicableError(
        "expected a graph whose edges with weight 1 get the oracle's own answer, got another; the model "
        "reads more of an edge than a weight can stand for: use a method that needs no soft graphs."
    )


def largest_first(ids: Tensor, values: Tensor, chosen: Tensor, most: int) -> ProposalBlock:
    """One candidate: the chosen pairs, of more than are allowed those with the largest values."""
    picked = chosen.nonzero().flatten()
    order = values[picked].argsort(descending=True, stable=True)
    row = ids[picked[order[:most]]]
    return ProposalBlock(row[None]) if row.numel() else _NOTHING


class FlipRecords:
    """The edits that flipped a prediction while masks were learnt, of several graphs.

    A flip is a record when it needs fewer edits than all before it. When rules have a say, every
    flip is kept: a rule may refuse the smallest.

    Args:
        soft: The weighted graphs.
        problems: Their problems.
        pairs: Ids of the weighted pairs of each graph.
    """

    def __init__(
        self, soft: SoftGraphs, problems: Sequence[Problem], pairs: Sequence[Tensor]
    ) -> None:
        self._soft = soft
        self._problems = problems
        self._pairs = pairs
        self._is_edge = soft.original > 0
        self._best = torch.full((len(problems),), torch.inf)
        self._keeps_all = bool(problems[0].constraints.rules)
        limits = [
            (each.allowed.max_removed, each.allowed.max_added, each.allowed.max_edits)
            for each in problems
        ]
        self._max_removed, self._max_added, self._max_edits = torch.tensor(limits).t()
        self._labels = torch.tensor([problem.label for problem in problems])
        self._target = problems[0].target
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
        if not self._keeps_all:
            kept &= size < self._best
        if not bool(kept.any()):
            return
        self._best = torch.where(kept, size, self._best)
        parts = self._soft.split(changed)
        for row in kept.nonzero().flatten().tolist():
            self._rows[row].append(self._pairs[row][parts[row]])

    def blocks(self) -> list[ProposalBlock]:
        """The records of each graph, in the order found."""
        return [_padded(rows) for rows in self._rows]


def _padded(rows: Sequence[Tensor]) -> ProposalBlock:
    if not rows:
        return _NOTHING
    toggles = torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True, padding_value=PAD)
    return ProposalBlock(toggles[first_occurrences(candidate_keys(toggles))])


def check_positive(where: str, **values: float) -> None:
    """Refuse settings that must be above 0.

    Raises:
        ConfigError: Naming the first that is not.
    """
    for name, value in values.items():
        if not 0 < value < float("inf"):
            raise ConfigError(f"expected {name} of '{where}' above 0, got {value}; correct it.")
