"""Which of many flips are handed back: different ones, and ones that noise does not undo."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from edgeflip.core import PAD, EdgeFill, Noise, PairSpace, ProposalBlock, add_noise
from edgeflip.errors import ConfigError
from edgeflip.oracle import MeteredOracle, Oracle
from edgeflip.search.ranking import SCORE_DECIMALS

LOOKED_AT = 300
"""Different answers are chosen among so many of the best flips."""

NOISED = 64
"""So many of the best flips are tried on noisy copies, or as many as are kept."""


@dataclass(frozen=True)
class Choice:
    """Which of the flips a call wants.

    Attributes:
        keep: At most this many, the best ones.
        number: At most this many, good and different ones; it stands above `keep`.
        diversity: How much being different counts beside the score, from 0 to 1.
        robust: On how many noisy copies of the graph the best flips are tried.
        noise: The noise.
        seed: What the noise is drawn with.

    Example:
        >>> Choice(number=3).most
        3
    """

    keep: int = 20
    number: int | None = None
    diversity: float = 0.5
    robust: int = 0
    noise: Noise = field(default_factory=Noise)
    seed: int = 0

    def __post_init__(self) -> None:
        """Refuse numbers that mean nothing."""
        for name, least in (("keep", 1), ("number", 1), ("robust", 0)):
            value = getattr(self, name)
            if name == "number" and value is None:
                continue
            whole = isinstance(value, int) and not isinstance(value, bool)
            if not (whole and least <= value <= 2**31):
                raise ConfigError(
                    f"expected {name} as a whole number of at least {least}, got {value!r}."
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
    def most(self) -> int:
        """At most this many answers."""
        return self.keep if self.number is None else self.number

    @property
    def is_wide(self) -> bool:
        """Whether flips beside the one with the best score matter."""
        return self.robust > 0 or (self.number or 1) > 1

    @property
    def enough(self) -> int:
        """So many flips suffice for methods that would end with the first."""
        several = 20 * (self.number or 1) if (self.number or 1) > 1 else 1
        return max(several, NOISED if self.robust else 1)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for provenance."""
        return asdict(self)


def diverse(scores: Tensor, toggles: Tensor, *, number: int, diversity: float) -> Tensor:
    """Places of good and different counterfactuals, in the order they are chosen.

    Maximal marginal relevance: the best comes first, then again and again the one with the largest
    (1 − diversity) · score / best score − diversity · overlap, where overlap is the largest Jaccard
    index of its edits with those chosen.

    Args:
        scores: Their scores, best first [counterfactuals].
        toggles: Their pair ids [counterfactuals, width].
        number: At most this many.
        diversity: From 0, the plain ranking, to 1, only how different they are.

    Example:
        >>> toggles = torch.tensor([[1, 2], [1, 3], [7, 8]])
        >>> diverse(torch.tensor([0.9, 0.8, 0.6]), toggles, number=2, diversity=0.5).tolist()
        [0, 2]
    """
    if not len(toggles):
        return torch.empty(0, dtype=torch.long)
    # As in the order of all flips, the last digits do not decide.
    rounded = np.round(scores.double().numpy(), SCORE_DECIMALS)
    best = rounded[0]
    relevance = rounded / best if best > 0 else rounded - best
    sizes = (toggles != PAD).sum(dim=1)
    overlap = torch.zeros(len(toggles), dtype=torch.float64)
    free = np.ones(len(toggles), dtype=bool)
    chosen = [0]
    while len(chosen) < min(number, len(toggles)):
        last = chosen[-1]
        free[last] = False
        ids = toggles[last][toggles[last] != PAD]
        shared = torch.isin(toggles, ids).sum(dim=1)
        overlap = torch.maximum(overlap, shared / (sizes + ids.numel() - shared).clamp(min=1))
        gain = np.round((1 - diversity) * relevance - diversity * overlap.numpy(), SCORE_DECIMALS)
        # The first of equals is the one that ranks higher.
        chosen.append(int(np.where(free, gain, -np.inf).argmax()))
    return torch.tensor(chosen)


def noisy_copies(space: PairSpace, choice: Choice) -> list[PairSpace]:
    """The graph with noise, several times; more copies begin with those that fewer would be."""
    rng = random.Random(f"noise {choice.seed}")
    seeds = [rng.getrandbits(62) for _ in range(choice.robust)]
    return [PairSpace.of(add_noise(space.graph, choice.noise, seed=seed)) for seed in seeds]


def translated(space: PairSpace, copy: PairSpace, toggles: Tensor) -> Tensor:
    """Edits of a noisy copy after which the edited pairs are as after the edits of the graph.

    Args:
        space: The graph.
        copy: The noisy copy.
        toggles: Edits of the graph [candidates, width].

    Returns:
        Edits of the copy: without what the noise has done already [candidates, width].
    """
    ids = toggles.clamp(min=0)
    kept = (toggles != PAD) & (space.is_edge(ids) == copy.is_edge(ids))
    return ProposalBlock(torch.where(kept, toggles, PAD)).normalised().toggles


def robustness(
    oracle: Oracle,
    space: PairSpace,
    toggles: Tensor,
    choice: Choice,
    *,
    flips: Callable[[Tensor], Tensor],
    fill: EdgeFill | None = None,
) -> tuple[Tensor, int]:
    """On what share of noisy copies the class still changes as asked.

    Args:
        oracle: The model.
        space: The graph.
        toggles: The counterfactuals' pair ids [counterfactuals, width].
        choice: How many copies, and the noise.
        flips: Where probabilities are a change of class as asked.
        fill: The attributes of added edges.

    Returns:
        The shares [counterfactuals], and how many graphs were asked about.
    """
    meter = MeteredOracle(oracle)
    hits = torch.zeros(len(toggles))
    for copy in noisy_copies(space, choice):
        hits += flips(meter.answer(copy, translated(space, copy, toggles), fill=fill))
    return hits / choice.robust, meter.calls
