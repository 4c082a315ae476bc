"""Where the time of a search goes: seconds and model passes per stage."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from edgeflip.oracle import MeteredOracle
from edgeflip.search.result import Stage
from edgeflip.support import cpu_seconds


class StageClock:
    """Seconds and oracle calls per stage; a stage inside another is not counted twice.

    CPU seconds are read twice per search, and stages share them as they share the wall-clock ones.
    """

    def __init__(self, oracle: MeteredOracle) -> None:
        self._oracle = oracle
        self._names: list[str] = []
        self._timed: dict[str, Stage] = {}
        self._added: dict[str, Stage] = {}
        self._started, self._cpu_started = time.perf_counter(), cpu_seconds()
        self._mark = self._now()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time and calls of the block for a stage."""
        self._book()
        self._names.append(name)
        self._timed.setdefault(name, Stage())
        try:
            yield
        finally:
            self._book()
            self._names.pop()

    def add_calls(self, name: str, calls: int) -> None:
        """Count oracle calls made outside the metered oracle."""
        self.add(name, Stage(oracle_calls=calls))

    def add(self, name: str, more: Stage) -> None:
        """Count time and calls spent elsewhere, such as a share of what many inputs did together."""
        self._timed.setdefault(name, Stage())
        self._added[name] = self._added.get(name, Stage()) + more

    def stages(self) -> dict[str, Stage]:
        """Totals so far, in order of first use."""
        elapsed = time.perf_counter() - self._started
        load = (cpu_seconds() - self._cpu_started) / elapsed if elapsed > 0 else 1.0
        return {
            name: replace(timed, cpu_seconds=load * timed.seconds) + self._added.get(name, Stage())
            for name, timed in self._timed.items()
        }

    def _now(self) -> Stage:
        return Stage(time.perf_counter(), self._oracle.calls)

    def _book(self) -> None:
        before, self._mark = self._mark, self._now()
        if self._names:
            name = self._names[-1]
            self._timed[name] = self._timed[name] + (self._mark - before)
