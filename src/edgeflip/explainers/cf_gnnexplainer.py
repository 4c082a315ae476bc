"""CF-GNNExplainer: fade edges until the prediction changes; removals only.

After Lucic et al., "CF-GNNExplainer: Counterfactual Explanations for Graph Neural Networks"
(AISTATS 2022), made for nodes; here the whole graph takes the place of a node's surroundings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from edgeflip.errors import ConfigError
from edgeflip.explainers.beginning import Check, PairProblem
from edgeflip.explainers.edge_masks import FlipRecords, Learned, MaskExplainer, check_positive
from edgeflip.oracle import SoftGraphs
from edgeflip.support import STRICT


@dataclass(frozen=True)
class CFGNNExplainerConfig:
    """Settings of `CFGNNExplainer`.

    Attributes:
        beta: β, what a removed edge costs.
        steps: Steps of gradient descent.
        learning_rate: Of the steps.
        momentum: Nesterov momentum; 0 for none.
        clip: The largest norm of a graph's gradient.
        distance_grad: Whether the cost of removed edges has a gradient, straight through the
            threshold. In the original it has none, and β only compares flips.
    """

    __pydantic_config__ = STRICT

    beta: float = 0.5
    steps: int = 500
    learning_rate: float = 0.1
    momentum: float = 0.9
    clip: float = 2.0
    distance_grad: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be learned with."""
        check_positive(
            "cf-gnnexplainer",
            steps=self.steps,
            learning_rate=self.learning_rate,
            clip=self.clip,
        )
        if not (0 <= self.momentum < 1 and 0 <= self.beta < float("inf")):
            raise ConfigError(
                "expected momentum of at least 0 and below 1, and beta of 0 or more, got "
                f"{self.momentum} and {self.beta}."
            )


class CFGNNExplainer(MaskExplainer[CFGNNExplainerConfig]):
    """CF-GNNExplainer: edges fade while the prediction holds; the flip with the fewest is best.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> explainer = CFGNNExplainer().fit([], example_oracle())
        >>> answers = explainer.explain_many(example_graphs(3, seed=4))
        >>> any(entry.edits.added for answer in answers for entry in answer.counterfactuals)
        False
    """

    name: ClassVar[str] = "cf-gnnexplainer"
    config_type: ClassVar[type[CFGNNExplainerConfig]] = CFGNNExplainerConfig

    def _pairs(self, problem: PairProblem) -> Tensor:
        return problem.space.limits.removals

    def _nothing(self, problem: PairProblem) -> str:
        if self._pairs(problem).numel():
            return f"{self.config.steps} steps faded no set of edges whose removal changes the prediction"
        return "CF-GNNExplainer only removes edges, and the constraints allow no removal"

    def _learn(
        self, soft: SoftGraphs, problems: Sequence[PairProblem], check: Check
    ) -> list[Learned]:
        config = self.config
        # Every edge starts alike, at a weight of σ(1) = 0.73.
        mask = torch.ones_like(soft.original).requires_grad_()
        optimiser = torch.optim.SGD(
            [mask],
            lr=config.learning_rate,
            momentum=config.momentum,
            nesterov=config.momentum > 0,
        )
        labels = torch.tensor([[problem.goal.label] for problem in problems])
        records = FlipRecords(soft, problems, [self._pairs(problem) for problem in problems])
        for _ in range(config.steps):
            check()
            weights = mask.sigmoid()
            kept = weights.detach() >= 0.5
            with torch.no_grad():
                flipped = records.flips(soft.logits(kept.float()))
            records.note(~kept, flipped)
            own = soft.logits(weights).log_softmax(dim=1).gather(1, labels).flatten()
            # A graph that flips on its hard mask is no longer pushed.
            loss = (own * ~flipped).sum()
            if config.distance_grad:
                loss = loss + config.beta * (1.0 - weights).sum()
            optimiser.zero_grad()
            loss.backward()
            _clip(mask, soft, config.clip)
            optimiser.step()
        return records.learned()


def _clip(mask: Tensor, soft: SoftGraphs, most: float) -> None:
    """Shorten each graph's gradient to a norm, as if the graph were alone."""
    gradient = mask.grad
    if gradient is None:
        return
    norms = soft.per_graph(gradient * gradient).sqrt()
    gradient *= (most / (norms + 1e-6)).clamp(max=1.0)[soft.owner]
