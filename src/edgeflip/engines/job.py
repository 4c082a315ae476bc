"""What is done with each task, wherever it is done."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

TaskT = TypeVar("TaskT")
ResultT = TypeVar("ResultT")
DoneT = TypeVar("DoneT", covariant=True)


class Job(ABC, Generic[TaskT, ResultT]):
    """Work that is the same for every task; it travels once to each worker, tasks one by one."""

    def begin(self, *, worker: bool) -> None:
        """Make this process ready; called once in each that works.

        Args:
            worker: Whether the process is there for the work alone, and may be killed.
        """
        return

    @abstractmethod
    def work(self, task: TaskT) -> ResultT:
        """Do a task. What goes wrong within it is for the result to say."""

    def single(self, task: TaskT) -> Sequence[TaskT]:
        """The same work in its smallest pieces, so that it is clear which of them ends a worker."""
        return [task]

    @abstractmethod
    def lost(self, task: TaskT, seconds: float) -> ResultT:
        """The result of a piece whose worker ended, and again when the piece was tried alone.

        Args:
            task: The piece.
            seconds: How long the last try took.
        """

    def named(self, task: TaskT) -> str:
        """What a task is about, in words."""
        return str(task)


@dataclass(frozen=True)
class Done(Generic[DoneT]):
    """What a task gave.

    Attributes:
        index: Its place among the tasks.
        results: Its results: one, or one for each of its pieces where it was taken apart.
    """

    index: int
    results: Sequence[DoneT]


def in_order(done: Iterator[Done[ResultT]]) -> Iterator[Done[ResultT]]:
    """The same by the places of their tasks; what comes early waits.

    Example:
        >>> [each.index for each in in_order(iter([Done(1, []), Done(0, []), Done(2, [])]))]
        [0, 1, 2]
    """
    early: dict[int, Done[ResultT]] = {}
    wanted = 0
    for each in done:
        early[each.index] = each
        while wanted in early:
            yield early.pop(wanted)
            wanted += 1
