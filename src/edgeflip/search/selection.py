"""Which of many flips are handed back: different ones, and ones that noise does not undo."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgeflip.core import PAD, Noise, add_noise
from edgeflip.errors import ConfigError, shown
from edgeflip.oracle import MeteredOracle
from edgeflip.search.problem import Problem
from edgeflip.search.ranking import SCORE_DECIMALS

LOOKED_AT = 300
"""Different answers are chosen among so many of the best flips."""

NOISED = 64
"""So many of the best flips are tried on noisy copies, or as many as are kept."""

# Of a call that names none.
_USUAL_NOISE = Noise()


@dataclass(frozen=True)
class Selection:
    """Which of the flips a call wants.

    Attributes:
        keep: At most this many, the best ones.
        number: At most this many, good and different ones; it stands above `keep`.
        diversity: How much being different counts beside the score, from 0 to 1.
        robust: On how many noisy copies of the input the best flips are tried.
        noise: The noise.
        seed: What the noise is drawn with.
        stable: The same as `robust`, but copies only decide among flips that cost the same: the smallest
            come first, and of these what reaches the goal on most copies.

    Example:
        >>> Selection(number=3).limit
        3
    """

    keep: int = 20
    number: int | None = None
    diversity: float = 0.5
    robust: int = 0
    noise: Noise = _USUAL_NOISE
    seed: int = 0
    stable: int = 0

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        for name, least in (("keep", 1), ("number", 1), ("robust", 0), ("stable", 0)):
            value = getattr(self, name)
            if name == "number" and value is None:
                continue
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not (whole and least <= value <= 2**31):
                raise ConfigError(
                    f"expected {name} of at least {least} and at most 2**31, got {shown(value)}; give "
                    "such a number."
                )
        if self.robust and self.stable:
            raise ConfigError(
                f"expected robust or stable, got {self.robust} and {self.stable}; leave one of them out."
            )
        number = isinstance(self.diversity, int | float) and not isinstance(self.diversity, bool)
        if not (number and 0 <= self.diversity <= 1):
            raise ConfigError(
                f"expected diversity from 0 to 1, got {self.diversity!r}; 0 is the plain ranking."
            )
        if not isinstance(self.noise, Noise):
            raise ConfigError(
                f"expected noise as Noise(...), got {type(self.noise).__name__}; "
                "import it from edgeflip."
            )

    @property
    def limit(self) -> int:
        """At most this many answers."""
        return self.keep if self.number is None else self.number

    @property
    def copies(self) -> int:
        """On how many noisy copies the best flips are tried."""
        return self.robust or self.stable

    @property
    def wants_many(self) -> bool:
        """Whether flips beside the one with the best score matter."""
        return self.copies > 0 or (self.number or 1) > 1

    @property
    def enough(self) -> int:
        """So many flips suffice for methods that would end with the first."""
        several = 20 * (self.number or 1) if (self.number or 1) > 1 else 1
        return max(several, NOISED if self.copies else 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for provenance."""
        # Their fields are plain; `asdict` would take longer than many a search.
        plain = {**vars(self), "noise": dict(vars(self.noise))}
        if not self.stable:
            del plain["stable"]
        return plain


def diverse(scores: Tensor, rows: Tensor, *, number: int, diversity: float) -> Tensor:
    """Indices of good and different counterfactuals, in the order they are chosen.

    Maximal marginal relevance: the best comes first, then again and again the one with the largest
    (1 − diversity) · score / best score − diversity · overlap, where overlap is the largest Jaccard
    index of its moves with those chosen.

    Args:
        scores: Their scores, best first [counterfactuals].
        rows: Their moves [counterfactuals, width].
        number: At most this many.
        diversity: From 0, the plain ranking, to 1, only how different they are.

    Example:
        >>> rows = torch.tensor([[1, 2], [1, 3], [7, 8]])
        >>> diverse(torch.tensor([0.9, 0.8, 0.6]), rows, number=2, diversity=0.5).tolist()
        [0, 2]
    """
    if not len(rows):
        return torch.empty(0, dtype=torch.long)
    # As in the order of all flips, the last digits do not decide.
    rounded = np.round(scores.double().numpy(), SCORE_DECIMALS)
    best = rounded[0]
    relevance = rounded / best if best > 0 else rounded - best
    sizes = (rows != PAD).sum(dim=1)
    overlap = torch.zeros(len(rows), dtype=torch.float64)
    free = np.ones(len(rows), dtype=bool)
    chosen = [0]
    while len(chosen) < min(number, len(rows)):
        last = chosen[-1]
        free[last] = False
        ids = rows[last][rows[last] != PAD]
        shared = torch.isin(rows, ids).sum(dim=1)
        overlap = torch.maximum(overlap, shared / (sizes + ids.numel() - shared).clamp(min=1))
        gain = np.round((1 - diversity) * relevance - diversity * overlap.numpy(), SCORE_DECIMALS)
        # The first of equals is the one that ranks higher.
        chosen.append(int(np.where(free, gain, -np.inf).argmax()))
    return torch.tensor(chosen)


def robustness(
    problem: Problem[Any, Any], rows: Tensor, selection: Selection
) -> tuple[Tensor, int]:
    """On what share of noisy copies of the input the goal is still reached.

    Args:
        problem: The input, the goal and the oracle.
        rows: The counterfactuals' moves [counterfactuals, width].
        selection: How many copies, and the noise.

    Returns:
        The shares [counterfactuals], and how many inputs were asked about.
    """
    meter = MeteredOracle(problem.oracle)
    hits = torch.zeros(len(rows))
    # More copies begin with those that fewer would be.
    rng = random.Random(f"noise {selection.seed}")
    for seed in [rng.getrandbits(62) for _ in range(selection.copies)]:
        noisy = add_noise(problem.space.input, selection.noise, seed=seed)
        hits += problem.goal.reached(meter.answer(*problem.space.on(noisy, rows)))
    return hits / selection.copies, meter.calls
