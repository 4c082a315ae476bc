"""What a search was told, block by block: for its steps, and to notice a model that says nothing."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from edgeflip.oracle import Goal
from edgeflip.search.trace import Step

# Decimals of a margin that are kept: later ones depend on how many graphs were asked about at a time.
_DECIMALS = 4


class AskedLog:
    """Outputs in the order they came.

    Example:
        >>> log = AskedLog()
        >>> log.add(4, None, math.inf, torch.tensor([[0.5, 0.5], [0.7, 0.3]]))
        >>> len(log), round(log.spread(torch.tensor([0.5, 0.5])), 3)
        (2, 0.2)
    """

    def __init__(self) -> None:
        self._blocks: list[tuple[int, int | None, float, Tensor]] = []

    def __len__(self) -> int:
        """Number of outputs, those of repeats among them and those the budget did not reach left out."""
        return sum(int((~outputs.isnan().any(dim=1)).sum()) for *_, outputs in self._blocks)

    def add(self, calls: int, ring: int | None, smallest: float, outputs: Tensor) -> None:
        """Keep a block.

        Args:
            calls: Model passes so far.
            ring: The ring of the search.
            smallest: What the smallest flip so far costs.
            outputs: The outputs, NaN where the budget did not reach [candidates, columns].
        """
        self._blocks.append((calls, ring, smallest, outputs))

    def spread(self, output: Tensor) -> float:
        """How far any output is from that on the input; of a single value relative to it."""
        if not self._blocks:
            return 0.0
        outputs = torch.cat([outputs for *_, outputs in self._blocks])
        scale = output.abs().clamp(min=1e-30) if len(output) == 1 else torch.ones_like(output)
        gaps = (outputs - output).abs() / scale
        return float(gaps.nan_to_num().max())

    def steps(self, goal: Goal, output: Tensor) -> tuple[Step, ...]:
        """How near the search came as it went on, from the output on the input: a step per change."""
        if not self._blocks:
            return ()
        # All at once, the input first: there are many small blocks.
        sizes = [1, *(len(outputs) for *_, outputs in self._blocks)]
        outputs = torch.cat([output[None], *(outputs for *_, outputs in self._blocks)])
        margins = np.nan_to_num(goal.margins(outputs).numpy(), nan=-math.inf).max(axis=1)
        starts = np.cumsum([0, *sizes[:-1]])
        nearest = np.maximum.accumulate(np.maximum.reduceat(margins, starts))[1:].tolist()
        kept: list[Step] = []
        for (calls, ring, smallest, _), best in zip(self._blocks, nearest, strict=True):
            best = in_short(best)
            step = Step(calls, best, None if math.isinf(smallest) else int(smallest), ring)
            last = kept[-1] if kept else None
            if last is None or (last.margin, last.smallest, last.ring) != (
                best,
                step.smallest,
                ring,
            ):
                kept.append(step)
        return tuple(kept)


def in_short(margin: float) -> float:
    """A margin without its last digits; one that reached the goal stays above 0."""
    if not math.isfinite(margin):
        return margin
    return round(margin, _DECIMALS) or math.copysign(10**-_DECIMALS, margin)
