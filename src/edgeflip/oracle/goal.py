"""When an output counts: a goal, bound to the output on the input.

Outputs are rows of probabilities or values, as an oracle gives them. The search asks a goal whether
outputs reach it, how near they come, and how far they fell; it knows nothing of classes itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from edgeflip.errors import ArtifactError, shown
from edgeflip.support import read_settings, shown_name


@runtime_checkable
class Goal(Protocol):
    """What a search is after."""

    @property
    def kind(self) -> str:
        """What sort of goal it is; written into saved answers."""
        ...

    @property
    def ceiling(self) -> float:
        """The largest `fall` there can be."""
        ...

    def reached(self, outputs: Tensor) -> Tensor:
        """Which outputs reach the goal; never one that is NaN [outputs]."""
        ...

    def margins(self, outputs: Tensor) -> Tensor:
        """How far each output is along every way to the goal, above 0 when reached [outputs, ways].

        Log-odds for probabilities, a distance for values. NaN where the output is.
        """
        ...

    def fall(self, outputs: Tensor) -> Tensor:
        """How much of what was predicted is gone, 0 to 1; for classes the paper's fidelity [outputs]."""
        ...

    def decidedness(self, outputs: Tensor) -> Tensor:
        """How clearly outputs that reach the goal do so, 0 to 1 [outputs]."""
        ...

    def describe(self, output: Sequence[float]) -> str:
        """An output in words."""
        ...

    def row(self, before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
        """Two outputs as columns of a table: `from`, `to` and what says how sure `to` is."""
        ...

    @property
    def wanted(self) -> str:
        """What would reach the goal, in words."""
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the `kind`; `goal_from_dict` is the inverse."""
        ...


@dataclass(frozen=True)
class ClassGoal:
    """Another class than the predicted one, or a certain one.

    Attributes:
        before: The oracle's class probabilities on the input.
        target: The wanted class, None for any other.
        class_names: Names of the classes, when known.
        least_margin: How far ahead the wanted class must be, in log-odds.

    Example:
        >>> goal = ClassGoal((0.9, 0.1))
        >>> goal.reached(torch.tensor([[0.4, 0.6], [0.8, 0.2]])).tolist()
        [True, False]
        >>> ClassGoal((0.9, 0.1), least_margin=1.0).reached(torch.tensor([[0.4, 0.6]])).tolist()
        [False]
    """

    before: tuple[float, ...]
    target: int | None = None
    class_names: tuple[str, ...] | None = None
    least_margin: float = 0.0

    kind: ClassVar[str] = "class"

    @cached_property
    def label(self) -> int:
        """The class predicted for the input."""
        return _largest(self.before)

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return len(self.before)

    @property
    def aims_at_one_class(self) -> bool:
        """Whether only one class can be the new one."""
        return self.target is not None or self.num_classes == 2

    @property
    def wants_one_of_many(self) -> bool:
        """Whether a class is asked for where there are others to change to."""
        return self.target is not None and self.num_classes > 2

    @property
    def ceiling(self) -> float:
        """The label's probability cannot fall below 0."""
        return self.before[self.label]

    def reached(self, outputs: Tensor) -> Tensor:
        """Where the prediction is another class as asked [outputs]."""
        values = outputs.detach().numpy()
        labels = values.argmax(axis=1)
        changed = labels != self.label if self.target is None else labels == self.target
        known = torch.from_numpy(changed & ~np.isnan(values).any(axis=1))
        if not self.least_margin:
            return known
        return known & (self.margins(outputs).amax(dim=1) >= 0)

    def margins(self, outputs: Tensor) -> Tensor:
        """Log-odds of each wanted class, less the least margin: against the label, or all for a target."""
        beyond = self._log_odds(outputs)
        return beyond - self.least_margin if self.least_margin else beyond

    def _log_odds(self, outputs: Tensor) -> Tensor:
        logs = outputs.double().clamp(min=1e-30).log()
        if self.target is not None:
            rivals = logs.clone()
            rivals[:, self.target] = -torch.inf
            return (logs[:, self.target] - rivals.max(dim=1).values)[:, None]
        own = logs[:, self.label, None]
        if logs.size(1) == 2:
            return logs[:, 1 - self.label, None] - own
        others = torch.cat([logs[:, : self.label], logs[:, self.label + 1 :]], dim=1)
        return others - own

    def way(self, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """The columns that part each output from its best way: what should rise, and what should fall.

        Args:
            outputs: Probabilities, or logits, whose order is the same [outputs, C].
        """
        own = self.label if self.target is None else self.target
        others = outputs.clone()
        others[:, own] = -torch.inf
        best = others.argmax(dim=1)
        fixed = torch.full_like(best, own)
        return (best, fixed) if self.target is None else (fixed, best)

    def fall(self, outputs: Tensor) -> Tensor:
        """How far the label's probability fell, the paper's fidelity [outputs]."""
        return self.before[self.label] - outputs[:, self.label]

    def decidedness(self, outputs: Tensor) -> Tensor:
        """Probability of the new class minus the largest other one [outputs]."""
        if outputs.size(1) < 2:
            return torch.zeros(len(outputs))
        top = outputs.topk(2, dim=1).values
        return top[:, 0] - top[:, 1]

    def class_name(self, label: int) -> str:
        """A class by name where names are known, else by number."""
        name = shown_name(self.class_names[label]) if self.class_names else str(label)
        return f"class {name}" if name.lstrip("-").isdecimal() else name

    def describe(self, output: Sequence[float]) -> str:
        """The predicted class and its probability.

        Example:
            >>> ClassGoal((0.9, 0.1), class_names=("cycle", "house")).describe((0.03, 0.97))
            'house (.97)'
        """
        label = _largest(output)
        return f"{self.class_name(label)} ({self.figure(output, label)})"

    def figure(self, output: Sequence[float], column: int) -> str:
        """One probability of an output, in two digits, or as many as tell the largest from the others.

        Example:
            >>> ClassGoal((0.9, 0.1)).figure((0.4981, 0.5019), 1)
            '.502'
        """
        return f"{output[column]:.{_digits(output)}f}".removeprefix("0")

    def row(self, before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
        """The classes before and after, the new one's probability, and its lead over the next."""
        label = _largest(after)
        others = [value for column, value in enumerate(after) if column != label]
        return {
            "from": self.class_name(_largest(before)),
            "to": self.class_name(label),
            "probability": after[label],
            "margin": after[label] - max(others, default=0.0),
        }

    @property
    def wanted(self) -> str:
        """The target, or any other class, and by how much where that is asked."""
        wanted = "another class" if self.target is None else self.class_name(self.target)
        return f"{wanted} by log-odds of {self.least_margin:g}" if self.least_margin else wanted

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = None if self.class_names is None else list(self.class_names)
        margin = {"least_margin": self.least_margin} if self.least_margin else {}
        return {
            "kind": self.kind,
            "before": list(self.before),
            "target": self.target,
            "class_names": names,
            **margin,
        }

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`."""
        plain = _without_kind(payload)
        goal = read_settings(cls, plain, where="a saved goal", error=ArtifactError)
        count, target = len(goal.before), goal.target
        named = goal.class_names is None or len(goal.class_names) == count
        named = named and 0 <= goal.least_margin < math.inf
        if not count or not named or (target is not None and not 0 <= target < count):
            raise ArtifactError(
                f"expected a saved goal whose target and names fit its {count} classes, got "
                f"{shown(target)} and {shown(goal.class_names)}; explain the graph again."
            )
        return goal


def _digits(output: Sequence[float]) -> int:
    """Digits that tell the largest probability from the next: two where these do, four at most."""
    top = sorted(output, reverse=True)[:2]
    for digits in (2, 3):
        if len(top) < 2 or f"{top[0]:.{digits}f}" != f"{top[1]:.{digits}f}":
            return digits
    return 4


def _without_kind(payload: Any) -> Any:
    """The settings of a saved goal; what is no table is left for their reader to refuse."""
    if not isinstance(payload, Mapping):
        return payload
    return {key: value for key, value in payload.items() if key != "kind"}


def _largest(output: Sequence[float]) -> int:
    return max(range(len(output)), key=output.__getitem__)


_READERS: dict[str, Callable[[Mapping[str, Any]], Goal]] = {ClassGoal.kind: ClassGoal.from_dict}


def register_goal(kind: str, read: Callable[[Mapping[str, Any]], Goal]) -> None:
    """Tell how saved answers with a kind of goal are read.

    Args:
        kind: The `kind` of the goal.
        read: The inverse of its `to_dict`.
    """
    _READERS[kind] = read


def goal_from_dict(payload: Mapping[str, Any]) -> Goal:
    """A goal from what its `to_dict` gave.

    Raises:
        ArtifactError: If nobody has told how such a goal is read.
    """
    kind = payload.get("kind") if isinstance(payload, Mapping) else None
    if not isinstance(kind, str) or kind not in _READERS:
        raise ArtifactError(
            f"expected a goal of a known kind ({', '.join(_READERS)}), got {shown(kind)}; import the package "
            "that defines it, or call register_goal."
        )
    return _READERS[kind](payload)
