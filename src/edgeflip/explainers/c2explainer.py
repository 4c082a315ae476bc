"""C2Explainer: one mask over the edges that may go and the pairs that may come.

After the method of this name. There a whole graph gains edges to copies of its nodes; here the pairs
of its own nodes are the ones that may come, so that the node set stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import torch
from torch import Tensor

from edgeflip.core import PairSpace, base_adjacency
from edgeflip.errors import ConfigError
from edgeflip.explainers.beginning import Check, PairProblem
from edgeflip.explainers.edge_masks import FlipRecords, Learned, MaskExplainer, check_positive
from edgeflip.oracle import SoftGraphs
from edgeflip.support import STRICT


@dataclass(frozen=True)
class C2ExplainerConfig:
    """Settings of `C2Explainer`.

    Attributes:
        candidates: The pairs that may be added: `"all"`, `"two_hop"` for nodes with a common
            neighbour, `"none"`, or a list of pairs.
        beta: β, what an edit costs.
        entropy: What undecided masks cost; 0 for nothing.
        steps: Steps of Adam.
        learning_rate: Of Adam.
    """

    __pydantic_config__ = STRICT

    candidates: Literal["all", "two_hop", "none"] | tuple[tuple[int, int], ...] = "two_hop"
    beta: float = 1.0
    entropy: float = 0.0
    steps: int = 300
    learning_rate: float = 0.05

    def __post_init__(self) -> None:
        """Refuse what cannot be learned with."""
        check_positive("c2explainer", steps=self.steps, learning_rate=self.learning_rate)
        if isinstance(self.candidates, str) and self.candidates not in ("all", "two_hop", "none"):
            raise ConfigError(
                "expected candidates to be 'all', 'two_hop', 'none' or a list of pairs, got "
                f"'{self.candidates}'."
            )
        if not (0 <= self.beta < float("inf") and 0 <= self.entropy < float("inf")):
            raise ConfigError(
                f"expected beta and entropy of 0 or more, got {self.beta} and {self.entropy}."
            )


class C2Explainer(MaskExplainer[C2ExplainerConfig]):
    """C2Explainer: a mask over removals and additions, drawn towards the unchanged graph.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> explainer = C2Explainer(C2ExplainerConfig(candidates="none")).fit([], example_oracle())
        >>> answers = explainer.explain_many(example_graphs(3, seed=4))
        >>> any(entry.edits.added for answer in answers for entry in answer.counterfactuals)
        False
    """

    name: ClassVar[str] = "c2explainer"
    config_type: ClassVar[type[C2ExplainerConfig]] = C2ExplainerConfig

    def _pairs(self, problem: PairProblem) -> Tensor:
        groups = problem.space.groups
        additions = groups["add"]
        additions = additions[torch.isin(additions, self._admissible(problem.space.pairs))]
        return torch.cat([groups["remove"], additions])

    def _nothing(self, problem: PairProblem) -> str:
        return f"no mask of {self.config.steps} steps changes the prediction"

    def _admissible(self, space: PairSpace) -> Tensor:
        """Ids of the pairs that the settings allow to be added."""
        candidates = self.config.candidates
        if candidates == "all":
            return space.non_edge_ids()
        if candidates == "two_hop":
            near = base_adjacency(space)
            ids = space.non_edge_ids()
            u, v = space.ends(ids)
            return ids[(near @ near)[u, v] > 0]
        return space.ids_of([] if candidates == "none" else candidates)

    def _learn(
        self, soft: SoftGraphs, problems: Sequence[PairProblem], check: Check
    ) -> list[Learned]:
        config = self.config
        pairs = [self._pairs(problem) for problem in problems]
        draws = [
            2 * torch.rand(2, ids.numel(), generator=problem.generator("mask")) - 1
            for problem, ids in zip(problems, pairs, strict=True)
        ]
        mask = torch.cat(draws, dim=1).requires_grad_()
        optimiser = torch.optim.Adam([mask], lr=config.learning_rate)
        desired = torch.tensor([_desired(problem) for problem in problems])
        records = FlipRecords(soft, problems, pairs)
        for _ in range(config.steps):
            check()
            shares = mask.sigmoid().mean(dim=0)
            hard = (shares.detach() > 0.5).float()
            # The model sees the decided graph, the gradient passes as if it were undecided.
            logits = soft.logits(hard + shares - shares.detach())
            records.note(hard != soft.original, records.flips(logits.detach()))
            loss = torch.nn.functional.cross_entropy(logits, desired, reduction="sum")
            loss = loss + config.beta * (shares - soft.original).abs().sum()
            if config.entropy:
                loss = loss + config.entropy * _entropy(shares)
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        return records.learned()


def _desired(problem: PairProblem) -> int:
    """The class to reach: the target, or the one that comes second on the unchanged graph."""
    if problem.goal.target is not None:
        return problem.goal.target
    rest = problem.output.clone()
    rest[problem.goal.label] = -1.0
    return int(rest.argmax())


def _entropy(shares: Tensor) -> Tensor:
    """How undecided masks are, in all."""
    inside = shares.clamp(1e-6, 1 - 1e-6)
    return -(inside * inside.log() + (1 - inside) * (1 - inside).log()).sum()
