"""One input to explain: what may be edited, what counts, and what the oracle says of it now."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor

from edgeflip.core import EditSpace
from edgeflip.oracle import AnyOracle, Goal

SpaceT = TypeVar("SpaceT", bound=EditSpace)
GoalT = TypeVar("GoalT", bound=Goal)


@dataclass(frozen=True, eq=False)
class Problem(Generic[SpaceT, GoalT]):
    """One input to explain; nobody changes it.

    Attributes:
        space: What may be edited.
        goal: When an output counts.
        output: The oracle's output on the input [columns].
        oracle: The oracle, not metered.
        stream: What random numbers come from; see `rng`.
    """

    space: SpaceT
    goal: GoalT
    output: Tensor
    oracle: AnyOracle
    stream: str = "0"

    def __repr__(self) -> str:
        """What may be edited, and what is wanted."""
        now = self.goal.describe(self.output.tolist())
        return f"Problem({self.space!r}, from {now} to {self.goal.wanted})"

    def rng(self, name: str) -> random.Random:
        """Random numbers for one purpose, from their beginning at every call.

        Each name has a stream of its own, so that what one stage draws never depends on what another
        drew before.
        """
        return random.Random(f"{self.stream} {name}")

    def generator(self, name: str) -> torch.Generator:
        """The same for torch."""
        return torch.Generator().manual_seed(self.rng(name).getrandbits(63))
