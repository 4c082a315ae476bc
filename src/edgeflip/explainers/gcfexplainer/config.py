"""Settings of GCFExplainer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from edgeflip.errors import ConfigError
from edgeflip.support import STRICT


@dataclass(frozen=True)
class GCFConfig:
    """Settings of `GCFExplainer`; the published symbols in brackets.

    Attributes:
        theta: Share of nodes and edges within which a graph covers another (θ).
        theta_summary: The same for the summary; None for `theta`.
        alpha: Weight of what a graph covers at all against what it alone covers (α).
        teleport: Probability of a jump to one of the inputs.
        sample_size: Edits tried from a graph.
        steps_per_input: Steps of a walk per input, when `steps` is not given.
        steps: Steps of the walk of each class; None to go by the number of inputs.
        max_inputs: At most this many inputs per walk, drawn at random; None for all.
        own_steps: Steps of the walk from a graph that is explained.
        tried: Which graphs of that walk may become counterfactuals: only those it went to
            (`"visited"`, as published) or also those it looked at on the way (`"seen"`).
        distance: `"aligned"` keeps nodes at their numbers; `"assignment"` also matches nodes, which is
            nearer to the edit distance and much slower.
        walks: A walk per wanted class (`"target"`) or per class to leave (`"source"`).
        alignment: Candidates for a graph: those with as many nodes (`"same"`) or all, where nodes
            that one of them lacks stay without edges (`"pad"`).
        keep_connected: Whether edges that hold two parts together stay while walking.
        capacity: Graphs that a walk remembers.
        fill: Attributes of edges added while learning, for graphs that have some.
    """

    __pydantic_config__ = STRICT

    theta: float = 0.05
    theta_summary: float | None = None
    alpha: float = 0.5
    teleport: float = 0.2
    sample_size: int = 40
    steps_per_input: int = 20
    steps: tuple[int, ...] | None = None
    max_inputs: int | None = 200
    own_steps: int = 40
    tried: Literal["visited", "seen"] = "seen"
    distance: Literal["aligned", "assignment"] = "aligned"
    walks: Literal["target", "source"] = "target"
    alignment: Literal["same", "pad"] = "same"
    keep_connected: bool = False
    capacity: int = 100_000
    fill: Literal["zeros", "mean", "mode"] = "mode"

    def __post_init__(self) -> None:
        """Refuse settings that leave nothing to walk."""
        shares = (self.theta, self.alpha, self.teleport, self.theta_summary or 0.0)
        if not all(0 <= share <= 1 for share in shares):
            raise ConfigError(
                f"expected theta, theta_summary, alpha and teleport in 0..1, got {shares}."
            )
        inputs = 1 if self.max_inputs is None else self.max_inputs
        counts = (self.sample_size, self.steps_per_input, self.capacity, inputs)
        if min(counts) < 1 or self.own_steps < 0:
            raise ConfigError(
                "expected sample_size, steps_per_input, capacity and max_inputs of at least 1 and "
                f"own_steps of at least 0, got {counts} and {self.own_steps}."
            )
        if self.steps is not None and (not self.steps or min(self.steps) < 1):
            raise ConfigError(
                f"expected steps of at least 1 for each class, got {list(self.steps)}."
            )

    @property
    def summary_theta(self) -> float:
        """The share within which the summary covers a graph."""
        return self.theta if self.theta_summary is None else self.theta_summary
