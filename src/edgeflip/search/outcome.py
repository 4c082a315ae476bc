"""What became of candidates, and why a method ended."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from edgeflip.search.trace import StopReason


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of candidates.

    Attributes:
        outputs: The oracle's outputs, NaN where a candidate was refused [candidates, columns].
        reached: Where the goal was reached and no rule objected [candidates].
    """

    outputs: Tensor
    reached: Tensor

    def __repr__(self) -> str:
        """How many candidates there were, and how many reached the goal."""
        return (
            f"Outcome({len(self.reached)} candidates, {int(self.reached.sum())} reached the goal)"
        )


@dataclass(frozen=True)
class Ended:
    """Why a method ended of its own accord.

    Attributes:
        reason: As `Trace.stopped_by` says it.
        because: What to tell people when nothing was found.
    """

    reason: StopReason = "exhausted"
    because: str = ""
