"""XPlore: one mask over all node pairs, so that edges come as well as go; the first flip ends it.

After De Sanctis et al., "Beyond Edge Deletion: A Comprehensive Approach to Counterfactual Explanation in
Graph Neural Networks" (2026), of which this is the variant that leaves features alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from edgeflip.core import PairEdits, padded
from edgeflip.errors import ConfigError
from edgeflip.explainers.beginning import Check, PairProblem
from edgeflip.explainers.edge_masks import FlipRecords, Learned, MaskExplainer, check_positive
from edgeflip.oracle import Budget, SoftGraphs
from edgeflip.support import STRICT


@dataclass(frozen=True)
class XPloreConfig:
    """Settings of `XPlore`; the published symbols in brackets.

    Attributes:
        start: Where the search starts. `"published"`: edges at 1 and missing pairs at `gamma`, plus noise,
            whichever side of the threshold that falls on. `"input"`: the same, mirrored where it falls
            on the wrong side, so that the first graph is the input.
        gamma: What missing pairs start from (γ).
        noise: Standard deviation of the noise.
        beta: What the distance from the full graph is worth (β).
        steps: Steps of gradient descent, at most (K).
        learning_rate: Of the steps (α).
        published_code: Whether every number falls at a rate of its own whatever the model says, as in
            the published code, where the gradient of the prediction is worked out and does not arrive.
        minimal: Whether answers with needless edits are replaced by their smaller versions.
    """

    __pydantic_config__ = STRICT

    start: Literal["published", "input"] = "published"
    gamma: float = 0.0
    noise: float = 0.1
    beta: float = 0.5
    steps: int = 50
    learning_rate: float = 0.1
    published_code: bool = False
    minimal: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be learned with."""
        check_positive("xplore", steps=self.steps, learning_rate=self.learning_rate)
        if self.start not in ("published", "input"):
            raise ConfigError(f"expected start to be 'published' or 'input', got '{self.start}'.")
        if not 0 <= self.gamma <= 1:
            raise ConfigError(f"expected gamma from 0 to 1, got {self.gamma}.")
        if not (0 <= self.noise < math.inf and 0 <= self.beta < math.inf):
            raise ConfigError(
                f"expected noise and beta of 0 or more, got {self.noise} and {self.beta}."
            )


class XPlore(MaskExplainer[XPloreConfig]):
    """XPlore, edges only: pairs come and go with the gradient until the prediction changes.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> explainer = XPlore(XPloreConfig(start="input")).fit([], example_oracle())
        >>> answers = explainer.explain_many(example_graphs(3, seed=4))
        >>> max(len(answer.counterfactuals) for answer in answers)
        1
    """

    name: ClassVar[str] = "xplore"
    config_type: ClassVar[type[XPloreConfig]] = XPloreConfig

    def default_budget(self) -> Budget:
        """As many calls as it takes to take needless edits back, and no more: the search asks one."""
        return Budget(oracle_calls=10_000, seconds=None)

    def _wants_minimal(self) -> bool:
        return self.config.minimal

    def _pairs(self, problem: PairProblem) -> Tensor:
        groups = problem.space.groups
        return torch.cat([groups["remove"], groups["add"]])

    def _nothing(self, problem: PairProblem) -> str:
        return f"none of the graphs of {self.config.steps} steps changes the prediction"

    def _learn(
        self, soft: SoftGraphs, problems: Sequence[PairProblem], check: Check
    ) -> list[Learned]:
        config = self.config
        pairs = [self._pairs(problem) for problem in problems]
        mask = self._first_mask(soft, problems).requires_grad_()
        labels = torch.tensor([[problem.goal.label] for problem in problems])
        firsts = _FirstFlips(soft, problems, pairs)
        for _ in range(config.steps):
            check()
            shares = mask.sigmoid()
            hard = (shares.detach() > 0.5).float()
            # The model sees the decided graph, the gradient passes as if it were undecided.
            decided = hard + shares - shares.detach()
            logits = soft.logits(hard if config.published_code else decided)
            flipped = firsts.flips(logits.detach())
            firsts.note(hard != soft.original, flipped)
            if firsts.complete:
                break
            missing = 1.0 - decided
            if config.published_code:
                # A kink in the distance: pairs that are there get no gradient of it.
                loss = decided.sum() - config.beta * missing.abs().sum()
            else:
                own = logits.log_softmax(dim=1).gather(1, labels).flatten()
                # Where a flip is not allowed, the push ends until the old class is back.
                loss = (own * ~flipped).sum() - config.beta * missing.sum()
            (gradient,) = torch.autograd.grad(loss, mask)
            mask = (mask.detach() - config.learning_rate * gradient).requires_grad_()
        return firsts.learned()

    def _first_mask(self, soft: SoftGraphs, problems: Sequence[PairProblem]) -> Tensor:
        """The numbers of all pairs before the first step, a draw for each pair [pairs]."""
        config = self.config
        parts = soft.split(soft.original)
        noise = [
            torch.randn(part.numel(), generator=problem.generator("mask"))
            for problem, part in zip(problems, parts, strict=True)
        ]
        is_edge = soft.original > 0
        mask = torch.where(is_edge, 1.0, config.gamma) + config.noise * torch.cat(noise)
        return mask if config.start == "published" else torch.where(is_edge, 1, -1) * mask.abs()


class _FirstFlips(FlipRecords):
    """The first allowed flip of each graph, and what it took."""

    def __init__(
        self, soft: SoftGraphs, problems: Sequence[PairProblem], pairs: Sequence[Tensor]
    ) -> None:
        super().__init__(soft, problems, pairs)
        self._found: dict[int, Learned] = {}

    @property
    def complete(self) -> bool:
        """Whether every graph has its flip."""
        return len(self._found) == len(self._problems)

    def note(self, changed: Tensor, flipped: Tensor) -> None:
        """Keep the flips of a step, of graphs that had none."""
        fresh = [row for row in flipped.nonzero().flatten().tolist() if row not in self._found]
        if not fresh:
            return
        parts = self._soft.split(changed)
        for row in fresh:
            edits = self._pairs[row][parts[row]]
            if edits.numel() and _is_allowed(self._problems[row].space, edits):
                notes = {"soft_passes": self._soft.passes}
                self._found[row] = Learned(padded([edits]), notes)

    def learned(self) -> list[Learned]:
        """What was found for each graph."""
        return [self._found.get(row, Learned()) for row in range(len(self._problems))]


def _is_allowed(space: PairEdits, edits: Tensor) -> bool:
    rows = space.normalise(edits[None])
    return bool(space.check(rows)[0]) and space.rules_allow(rows[0])
