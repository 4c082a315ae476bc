"""What outputs say where their columns are classes; for answers, which know nothing of classes themselves."""

from __future__ import annotations

from typing import Protocol

from edgeflip.oracle.goal import Goal


class _HasOutput(Protocol):
    @property
    def output(self) -> tuple[float, ...]: ...

    @property
    def predicted(self) -> int: ...


class _HasGoal(Protocol):
    @property
    def goal(self) -> Goal: ...

    @property
    def class_names(self) -> tuple[str, ...] | None: ...


class OutputReading:
    """Something with an `output`, read as probabilities of classes."""

    @property
    def proba(self: _HasOutput) -> tuple[float, ...]:
        """The output, where it is probabilities."""
        return self.output

    @property
    def predicted(self: _HasOutput) -> int:
        """The column that is largest."""
        return max(range(len(self.output)), key=self.output.__getitem__)

    @property
    def label(self: _HasOutput) -> int:
        """The predicted class."""
        return self.predicted

    @property
    def margin(self: _HasOutput) -> float:
        """The largest probability minus the next."""
        others = [p for column, p in enumerate(self.output) if column != self.predicted]
        return self.output[self.predicted] - max(others, default=0.0)


class GoalReading(OutputReading):
    """Something with an `output` on the input and a `goal`, read as classes before and wanted."""

    @property
    def target(self: _HasGoal) -> int | None:
        """The wanted class, None for any other; for goals that have one."""
        return getattr(self.goal, "target", None)

    @property
    def class_names(self: _HasGoal) -> tuple[str, ...] | None:
        """Names of the classes, when known."""
        return getattr(self.goal, "class_names", None)

    def class_name(self: _HasGoal, label: int) -> str:
        """A class by name where names are known, else by number."""
        name = self.class_names[label] if self.class_names else str(label)
        return f"class {name}" if name.lstrip("-").isdecimal() else name
