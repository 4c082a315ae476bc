"""How a search went: its stages, its steps, and why it ended."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

StopReason: TypeAlias = Literal[
    "first_flip",
    "good_enough",
    "enough_flips",
    "best_possible",
    "exhausted",
    "timeout",
    "out_of_calls",
    "cancelled",
    "interrupted",
    "not_applicable",
]
Status: TypeAlias = Literal[
    "found", "exhausted", "timeout", "out_of_calls", "cancelled", "interrupted", "not_applicable"
]


@dataclass(frozen=True)
class Stage:
    """Time and oracle calls of one stage of the search.

    Attributes:
        seconds: Wall-clock seconds.
        oracle_calls: Inputs the oracle was asked about.
        cpu_seconds: CPU seconds of the process, all its threads together: those of the whole search
            shared out by wall-clock seconds.
    """

    seconds: float = 0.0
    oracle_calls: int = 0
    cpu_seconds: float = 0.0

    def __add__(self, other: Stage) -> Stage:
        """Both together."""
        return Stage(
            self.seconds + other.seconds,
            self.oracle_calls + other.oracle_calls,
            self.cpu_seconds + other.cpu_seconds,
        )

    def __sub__(self, other: Stage) -> Stage:
        """What came since."""
        return Stage(
            self.seconds - other.seconds,
            self.oracle_calls - other.oracle_calls,
            self.cpu_seconds - other.cpu_seconds,
        )


@dataclass(frozen=True)
class Step:
    """Where a search stood at one moment.

    Attributes:
        calls: Model passes so far.
        margin: The best margin so far; above 0 once the goal is reached.
        smallest: What the smallest flip so far costs, None before the first.
        ring: The ring of the search, for methods that widen theirs.
    """

    calls: int
    margin: float
    smallest: int | None = None
    ring: int | None = None


@dataclass(frozen=True)
class Trace:
    """How a search went.

    Attributes:
        status: `"found"`, or why there is no counterfactual.
        stopped_by: What ended the search.
        stages: Seconds and oracle calls per stage, in order of first use.
        proposals: Candidates the method proposed.
        rejected: Of these, how many the constraints refused.
        flips: How many distinct candidates reached the goal.
        message: A sentence for people, such as why a method is not applicable.
        notes: The method's own figures, such as how many candidates it left out as noise.
        steps: How near the search came, a step wherever that changed.
    """

    status: Status
    stopped_by: StopReason
    stages: Mapping[str, Stage] = field(default_factory=dict)
    proposals: int = 0
    rejected: int = 0
    flips: int = 0
    message: str = ""
    notes: Mapping[str, Any] = field(default_factory=dict)
    steps: tuple[Step, ...] = ()

    @property
    def seconds(self) -> float:
        """Seconds of all stages."""
        return sum(stage.seconds for stage in self.stages.values())

    @property
    def oracle_calls(self) -> int:
        """Inputs the oracle was asked about in all stages."""
        return sum(stage.oracle_calls for stage in self.stages.values())
