"""CF²: one mask per graph that is to hold the prediction alone, and to change it when taken away.

After Tan et al., "Learning and Evaluating Graph Neural Network Explanations based on Counterfactual
and Factual Reasoning" (WWW 2022), with the margins between classes that the DR-CFGNN paper uses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor

from edgeflip.core import FactualSubgraph, padded
from edgeflip.errors import ConfigError
from edgeflip.explainers.beginning import Check, PairProblem
from edgeflip.explainers.edge_masks import (
    Learned,
    MaskExplainer,
    check_positive,
    largest_first,
)
from edgeflip.oracle import SoftGraphs
from edgeflip.support import STRICT


@dataclass(frozen=True)
class CF2Config:
    """Settings of `CF2`.

    Attributes:
        alpha: α, the share of the factual term; the rest is the counterfactual term's.
        weight: λ, how much both terms count against the size of the mask.
        margin: γ, by how much the probabilities of two classes should differ.
        temperature: T, what logits are divided by before they become probabilities.
        threshold: Edges whose mask is above it make up the explanation.
        steps: Steps of Adam.
        learning_rate: Of Adam.
        track_best: Whether masks on the way are proposed too, every 25 steps; the original proposes
            the last one alone.
    """

    __pydantic_config__ = STRICT

    alpha: float = 0.7
    weight: float = 100.0
    margin: float = 0.9
    temperature: float = 5.0
    threshold: float = 0.5
    steps: int = 500
    learning_rate: float = 0.02
    track_best: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be learned with."""
        check_positive(
            "cf2",
            steps=self.steps,
            learning_rate=self.learning_rate,
            temperature=self.temperature,
        )
        if not (0 <= self.alpha <= 1 and 0 < self.threshold < 1):
            raise ConfigError(
                "expected alpha from 0 to 1 and a threshold between 0 and 1, got "
                f"{self.alpha} and {self.threshold}."
            )
        if not (0 <= self.weight < math.inf and 0 <= self.margin < math.inf):
            raise ConfigError(
                f"expected weight and margin of 0 or more, got {self.weight} and {self.margin}."
            )


class CF2(MaskExplainer[CF2Config]):
    """CF²: the edges that hold a prediction and without which it changes; removals only.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> explainer = CF2(CF2Config(steps=50, learning_rate=0.1)).fit([], example_oracle())
        >>> answers = explainer.explain_many(example_graphs(3, seed=4))
        >>> any(entry.edits.added for answer in answers for entry in answer.counterfactuals)
        False
    """

    name: ClassVar[str] = "cf2"
    config_type: ClassVar[type[CF2Config]] = CF2Config

    def _pairs(self, problem: PairProblem) -> Tensor:
        return problem.space.limits.removals

    def _nothing(self, problem: PairProblem) -> str:
        if self._pairs(problem).numel():
            return "CF² only removes edges, and taking its explanation away does not change the prediction"
        return "CF² only removes edges, and the constraints allow no removal"

    def _learn(
        self, soft: SoftGraphs, problems: Sequence[PairProblem], check: Check
    ) -> list[Learned]:
        mask = torch.cat([_first_mask(problem) for problem in problems], dim=1).requires_grad_()
        optimiser = torch.optim.Adam([mask], lr=self.config.learning_rate)
        loss = _Loss(self.config, problems)
        on_the_way = []
        for step in range(self.config.steps):
            check()
            shares = mask.sigmoid().mean(dim=0)
            if self.config.track_best and step % 25 == 0 and step:
                on_the_way.append(shares.detach())
            optimiser.zero_grad()
            loss(soft, shares).backward()
            optimiser.step()
        last = mask.detach().sigmoid().mean(dim=0)
        with torch.no_grad():
            kept = soft.logits(last).softmax(dim=1)
        versions = [soft.split(shares) for shares in [*on_the_way, last]]
        return [
            self._learned(problem, [version[index] for version in versions], kept[index])
            for index, problem in enumerate(problems)
        ]

    def _learned(self, problem: PairProblem, masks: Sequence[Tensor], kept: Tensor) -> Learned:
        """The edges of the explanations, to be removed; the last one is kept whether or not it flips."""
        limits, threshold = problem.space.limits, self.config.threshold
        limit = min(limits.max_removed, limits.max_edits)
        # Of too many edges those with the largest mask.
        rows = [largest_first(limits.removals, mask, mask > threshold, limit) for mask in masks]
        ids = limits.removals[masks[-1] > threshold]
        factual = None
        if ids.numel():
            edges = tuple(problem.space.pairs.edges_of(ids))
            nodes = tuple(sorted({node for edge in edges for node in edge}))
            factual = FactualSubgraph(nodes, edges, float(kept[problem.goal.label]))
        found = padded([row for row in rows if row.numel()])
        message = "" if len(found) else "no edge's mask is above the threshold"
        return Learned(found, {"explanation_edges": ids.numel()}, factual, message)


def _first_mask(problem: PairProblem) -> Tensor:
    """Random numbers around 1, one per direction of every edge [2, edges]."""
    spread = math.sqrt(2.0) * math.sqrt(1.0 / problem.space.pairs.num_nodes)
    shape = (2, problem.space.limits.removals.numel())
    return 1.0 + spread * torch.randn(shape, generator=problem.generator("mask"))


class _Loss:
    """Size of the mask, plus what the explanation alone and the graph without it fall short by."""

    def __init__(self, config: CF2Config, problems: Sequence[PairProblem]) -> None:
        self._config = config
        self._labels = torch.tensor([[problem.goal.label] for problem in problems])
        target = problems[0].goal.target
        self._target = None if target is None else torch.full_like(self._labels, target)

    def __call__(self, soft: SoftGraphs, shares: Tensor) -> Tensor:
        """The sum of all graphs' losses; each has a gradient only for its own mask."""
        config = self._config
        logits = soft.logits(torch.stack([shares, 1.0 - shares])) / config.temperature
        alone, without = logits.softmax(dim=-1)
        label_alone, rival_alone = self._label(alone), self._strongest_other(alone)
        label_without = self._label(without)
        rival_without = (
            self._strongest_other(without)
            if self._target is None
            else without.gather(1, self._target)
        )
        factual = (config.margin + rival_alone - label_alone).relu()
        counterfactual = (config.margin + label_without - rival_without).relu()
        short = config.alpha * factual + (1.0 - config.alpha) * counterfactual
        # Both directions of an edge count, as in the original: this gives λ its meaning.
        return 2.0 * shares.sum() + config.weight * short.sum()

    def _label(self, proba: Tensor) -> Tensor:
        return proba.gather(1, self._labels)

    def _strongest_other(self, proba: Tensor) -> Tensor:
        return proba.scatter(1, self._labels, -1.0).amax(dim=1, keepdim=True)
