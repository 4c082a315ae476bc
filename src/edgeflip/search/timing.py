"""Where the time of a search goes: seconds and model passes per stage."""

from __future__ import annotations

import time
from types import TracebackType

from edgeflip.oracle import MeteredOracle
from edgeflip.search.trace import Stage
from edgeflip.support import cpu_seconds


class StageClock:
    """Seconds and oracle calls per stage; a stage inside another is not counted twice.

    CPU seconds are read twice per search, and stages share them as they share the wall-clock ones.
    """

    def __init__(self, oracle: MeteredOracle) -> None:
        self._oracle = oracle
        self._open: list[str] = []
        # Plain numbers, because a small search opens a stage every few dozen microseconds.
        self._seconds: dict[str, float] = {}
        self._calls: dict[str, int] = {}
        self._added: dict[str, Stage] = {}
        self._started, self._cpu_started = time.perf_counter(), cpu_seconds()
        self._mark, self._mark_calls = self._started, oracle.calls

    def stage(self, name: str) -> _OpenStage:
        """Count the time and calls of the block for a stage."""
        return _OpenStage(self, name)

    def enter(self, name: str) -> None:
        """Begin a stage, perhaps inside another."""
        self._book()
        # Before the stage is open: Ctrl-C may come at any moment.
        if name not in self._calls:
            self._seconds[name] = 0.0
            self._calls[name] = 0
        self._open.append(name)

    def leave(self) -> None:
        """End the stage that was begun last."""
        self._book()
        self._open.pop()

    def add_calls(self, name: str, calls: int) -> None:
        """Count oracle calls made outside the metered oracle."""
        self.add(name, Stage(oracle_calls=calls))

    def add(self, name: str, more: Stage) -> None:
        """Count time and calls spent elsewhere, such as a share of what many inputs did together."""
        if name not in self._seconds:
            self._seconds[name], self._calls[name] = 0.0, 0
        self._added[name] = self._added.get(name, Stage()) + more

    @property
    def spent(self) -> float:
        """Seconds that were spent elsewhere."""
        return sum(stage.seconds for stage in self._added.values())

    def stages(self) -> dict[str, Stage]:
        """Totals so far, in order of first use."""
        elapsed = time.perf_counter() - self._started
        load = (cpu_seconds() - self._cpu_started) / elapsed if elapsed > 0 else 1.0
        return {
            name: Stage(seconds, self._calls[name], load * seconds) + self._added.get(name, Stage())
            for name, seconds in self._seconds.items()
        }

    def _book(self) -> None:
        now, calls = time.perf_counter(), self._oracle.calls
        if self._open:
            name = self._open[-1]
            self._seconds[name] += now - self._mark
            self._calls[name] += calls - self._mark_calls
        self._mark, self._mark_calls = now, calls


class _OpenStage:
    """A block whose time and calls are counted for a stage."""

    def __init__(self, clock: StageClock, name: str) -> None:
        self._clock, self._name = clock, name

    def __enter__(self) -> None:
        self._clock.enter(self._name)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._clock.leave()
