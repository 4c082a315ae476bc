"""A value that rises above or falls below a threshold: the goal for models that give numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self, TypeAlias, get_args

import torch
from torch import Tensor

from edgeflip.errors import ArtifactError, TargetError, shown
from edgeflip.oracle.goal import register_goal
from edgeflip.support import reading

Relation: TypeAlias = Literal[">", ">=", "<", "<="]

_EXAMPLES = '">0.5" (above), "<0.5" (below), "+0.3" (rise by at least) or "-0.3" (fall by at least)'
_WORDS: Mapping[Relation, str] = {
    ">": "above",
    ">=": "of at least",
    "<": "below",
    "<=": "of at most",
}
_TARGET = re.compile(r"(>=|<=|>|<|\+|-)\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)")

# How much of the fidelity reaching the threshold is worth; the rest is for going as far again.
# What single precision can tell apart, relative to a number.
_SINGLE = 2.0**-23

_REACHED = 0.9


@dataclass(frozen=True)
class ValueGoal:
    """A value on the other side of a threshold.

    Attributes:
        before: The oracle's value on the input, alone in a tuple.
        relation: On which side of the threshold the value must be: `">"`, `">="`, `"<"` or `"<="`.
        threshold: Where the sides part.

    Example:
        >>> goal = ValueGoal.asked(">0.5", (0.2,))
        >>> goal.reached(torch.tensor([[0.4], [0.6]])).tolist()
        [False, True]
        >>> print(goal.describe((0.2,)), "should become", ValueGoal.asked("+0.3", (0.2,)).wanted)
        0.200 should become a value of at least 0.500
    """

    before: tuple[float, ...]
    relation: Relation
    threshold: float

    kind: ClassVar[str] = "value"

    @classmethod
    def asked(cls, target: Any, before: Sequence[float]) -> Self:
        """The goal that a target such as `">0.5"` stands for.

        Args:
            target: `">0.5"`, `"<0.5"`, or relative to the value now `"+0.3"`, `"-0.3"`.
            before: The oracle's values on the input.

        Raises:
            TargetError: If there is no such target, the value is there already, or there are several.
        """
        if len(before) != 1:
            raise TargetError(
                f"expected a model with one value, got {len(before)}; let the model, or call=, return the "
                "one you mean."
            )
        if target is None:
            raise TargetError(
                f"expected a target for a model that gives values, got none; pass {_EXAMPLES}."
            )
        found = _TARGET.fullmatch(target.strip()) if isinstance(target, str) else None
        if found is None:
            raise TargetError(f"expected a target such as {_EXAMPLES}, got {target!r}.")
        sign, number = found[1], float(found[2])
        relation: Relation = {"+": ">=", "-": "<="}.get(sign, sign)  # type: ignore[assignment]
        if sign in "+-":
            if not number > 0:
                raise TargetError(
                    f"expected a rise or fall by more than 0, got {target!r}; pass {_EXAMPLES}."
                )
            number = before[0] + (number if sign == "+" else -number)
        goal = cls(tuple(before), relation, number)
        if not math.isfinite(number):
            raise TargetError(f"expected a finite target, got {target!r}; pass {_EXAMPLES}.")
        least = 8 * _SINGLE * max(abs(number), abs(before[0]))
        if 0 < abs(number - before[0]) < least:
            raise TargetError(
                f"expected a target that differs from the value by at least {least:.1g}, which is what "
                f"single precision can tell apart there, got {target!r}; let the model return smaller "
                "numbers, for example without their mean."
            )
        if bool(goal.reached(torch.tensor([before], dtype=torch.double))[0]):
            raise TargetError(
                f"expected a target that is not reached yet, got {target!r} where the value is "
                f"{goal.describe(before)} already; name another."
            )
        return goal

    @property
    def _sign(self) -> float:
        return 1.0 if self.relation in (">", ">=") else -1.0

    @property
    def _way(self) -> float:
        """How far the threshold is from the value now; never quite 0."""
        return max(abs(self.threshold - self.before[0]), 1e-6 * max(1.0, abs(self.threshold)))

    @property
    def ceiling(self) -> float:
        """Twice the way to the threshold counts as much as any."""
        return 1.0

    def reached(self, outputs: Tensor) -> Tensor:
        """Where the value is on the wanted side [outputs]."""
        beyond = self.margins(outputs)[:, 0]
        return beyond > 0 if self.relation in (">", "<") else beyond >= 0

    def margins(self, outputs: Tensor) -> Tensor:
        """How far beyond the threshold each value is, below 0 where it is not [outputs, 1].

        Where the threshold itself will do, the last digits of single precision do not decide.
        """
        beyond = self._sign * (outputs[:, :1].double() - self.threshold)
        slack = 0.0
        if self.relation in (">=", "<="):
            slack = 2 * _SINGLE * max(abs(self.threshold), abs(self.before[0]))
        return torch.where(beyond.abs() <= slack, 0.0, beyond)

    def fall(self, outputs: Tensor) -> Tensor:
        """How far the value went: 0.9 at the threshold, 1 where it went as far again [outputs]."""
        share = self._sign * (outputs[:, 0].double() - self.before[0]) / self._way
        return (_REACHED * share.clamp(0, 1) + (1 - _REACHED) * (share - 1).clamp(0, 1)).float()

    def decidedness(self, outputs: Tensor) -> Tensor:
        """How clearly the threshold is passed: 0 at it, 0.5 where the value went as far again [outputs]."""
        beyond = self.margins(outputs)[:, 0].clamp(min=0)
        return (beyond / (beyond + self._way)).float()

    def describe(self, output: Sequence[float]) -> str:
        """The value, to as many digits as the way to the threshold needs.

        Example:
            >>> ValueGoal.asked("+0.4", (12345.0,)).describe((12345.4,))
            '12345.40'
        """
        return self._number(output[0])

    def _number(self, value: float) -> str:
        digits = 1 - math.floor(math.log10(self._way))
        if value:
            digits = max(digits, 2 - math.floor(math.log10(abs(value))))
        text = (
            f"{value:.{max(0, digits)}f}" if digits <= 9 and abs(value) < 1e12 else f"{value:.6g}"
        )
        return f"−{text[1:]}" if text.startswith("-") else text

    def row(self, before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
        """The values before and after, and how far beyond the threshold the new one is."""
        beyond = self._sign * (after[0] - self.threshold)
        return {
            name: float(f"{value:.6g}")
            for name, value in (("from", before[0]), ("to", after[0]), ("margin", beyond))
        }

    @property
    def wanted(self) -> str:
        """Which values would do."""
        return f"a value {_WORDS[self.relation]} {self._number(self.threshold)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "kind": self.kind,
            "before": list(self.before),
            "relation": self.relation,
            "threshold": self.threshold,
        }

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`.

        Raises:
            ArtifactError: If something else is written there.
        """
        what = "a value goal with a number before, a relation and a threshold"
        with reading(what, advice="explain the graph again", error=ArtifactError):
            relation, numbers = payload["relation"], [*payload["before"], payload["threshold"]]
            if (
                relation not in get_args(Relation)
                or len(numbers) != 2
                or not all(isinstance(one, int | float) and math.isfinite(one) for one in numbers)
            ):
                raise ArtifactError(
                    f"expected {what}, got {shown(dict(payload))}; explain the graph again."
                )
            return cls((float(numbers[0]),), relation, float(numbers[1]))


register_goal(ValueGoal.kind, ValueGoal.from_dict)
