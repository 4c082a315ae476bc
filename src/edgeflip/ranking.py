"""Which counterfactual is best: the paper's post-hoc score and the order it gives."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from edgeflip.errors import ConfigError
from edgeflip.proposals import PAD

SCORE_DECIMALS = 4
"""Scores are compared to this many decimals: batch size alone moves the last digits."""


class RankingPolicy(Protocol):
    """Anything that scores counterfactuals; higher is better."""

    def __call__(self, fidelity: Tensor, size: Tensor) -> Tensor:
        """Scores from the drop of the label's probability and the number of edits [counterfactuals]."""
        ...


@dataclass(frozen=True)
class SizeWeightedFidelity:
    """The paper's score: fidelity × cos²(γ(x − 1)), 0 for more than X edits.

    Attributes:
        gamma: γ, how fast the weight falls with the number of edits x.
        max_size: X, the largest number of edits with a weight above 0.

    Example:
        >>> score = SizeWeightedFidelity()
        >>> score(torch.tensor([0.9, 0.9]), torch.tensor([1, 3])).round(decimals=3).tolist()
        [0.8999999761581421, 0.6930000185966492]
    """

    gamma: float = 0.25
    max_size: int = 7

    def __post_init__(self) -> None:
        """Refuse a weight that would rise again."""
        if not (self.gamma > 0 and self.max_size >= 1):
            raise ConfigError(
                f"expected gamma above 0 and max_size of at least 1, got {self.gamma} and {self.max_size}."
            )
        if self.gamma * (self.max_size - 1) > math.pi / 2:
            raise ConfigError(
                f"expected gamma * (max_size - 1) of at most pi/2, beyond which larger edit sets would "
                f"score higher again, got {self.gamma * (self.max_size - 1):.3f}; lower one of them."
            )

    def weight(self, size: Tensor) -> Tensor:
        """W(x), the weight of x edits."""
        inside = (size >= 1) & (size <= self.max_size)
        return torch.where(inside, torch.cos(self.gamma * (size - 1)) ** 2, 0.0)

    def __call__(self, fidelity: Tensor, size: Tensor) -> Tensor:
        """Scores of counterfactuals [counterfactuals]."""
        return fidelity * self.weight(size)


@dataclass(frozen=True)
class SmallestFirst:
    """Fewest edits first, and of equally many the highest fidelity: 1 / (size + (1 − fidelity) / 2).

    For methods whose authors take the nearest of the counterfactuals they find.

    Example:
        >>> score = SmallestFirst()
        >>> score(torch.tensor([0.2, 0.9, 0.6]), torch.tensor([1, 2, 1])).round(decimals=2).tolist()
        [0.7099999785423279, 0.49000000953674316, 0.8299999833106995]
    """

    def __call__(self, fidelity: Tensor, size: Tensor) -> Tensor:
        """Scores of counterfactuals [counterfactuals]."""
        return 1 / (size + (1 - fidelity) / 2)


def best_first(scores: Tensor, toggles: Tensor) -> Tensor:
    """Places of counterfactuals from best to worst: by score, then size, then edges.

    Args:
        scores: One score per counterfactual [counterfactuals].
        toggles: Their pair ids [counterfactuals, width].
    """
    last = np.iinfo(np.int64).max
    ids = toggles.numpy()
    ids = np.sort(np.where(ids == PAD, last, ids), axis=1)
    sizes = (ids != last).sum(axis=1)
    rounded = -np.round(scores.double().numpy(), SCORE_DECIMALS)
    columns = [ids[:, column] for column in reversed(range(ids.shape[1]))]
    return torch.from_numpy(np.lexsort([*columns, sizes, rounded]))
