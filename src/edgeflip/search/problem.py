"""One input to explain: what may be edited, what counts, and what the oracle says of it now."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor

from edgeflip.core import EditSpace
from edgeflip.oracle import AnyOracle, Goal

SpaceT = TypeVar("SpaceT", bound=EditSpace)
GoalT = TypeVar("GoalT", bound=Goal)


@dataclass(frozen=True, eq=False)
class Preference(Generic[SpaceT]):
    """What answers should keep beyond what is allowed: searched first, set aside where nothing keeps it.

    Attributes:
        name: What it is, as the end of "within …".
        without: The space in which it is set aside.
        fault: Says what is wrong with edits, in words; empty where nothing is.
    """

    name: str
    without: SpaceT
    fault: Callable[[Any], str]


@dataclass(frozen=True, eq=False)
class Problem(Generic[SpaceT, GoalT]):
    """One input to explain; nobody changes it.

    Attributes:
        space: What may be edited.
        goal: When an output counts.
        output: The oracle's output on the input [columns].
        oracle: The oracle, not metered.
        stream: What random numbers come from; see `rng`.
        preference: What `space` keeps by preference alone, if anything.
    """

    space: SpaceT
    goal: GoalT
    output: Tensor
    oracle: AnyOracle
    stream: str = "0"
    preference: Preference[SpaceT] | None = None

    @property
    def keeps_preference(self) -> bool:
        """Whether the space is the preferred one, and another is left for a second try."""
        return self.preference is not None and self.space is not self.preference.without

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
