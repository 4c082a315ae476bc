"""Where the time of a benchmark goes, and an end for methods that never end."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import EditSpace
from edgeflip.oracle import Allowance, ModelOracle

# Seconds beyond twice its deadline after which a method is ended.
_GRACE = 10.0

# A timer cannot be set to more than the system's clock can count; nobody waits for a year.
_LONGEST = 365 * 24 * 3600.0


class TooSlowError(Exception):
    """A method went on long after its deadline."""


@dataclass
class Clock:
    """Where the seconds of a run went.

    Attributes:
        training: Training oracles and fitting explainers.
        explaining: Inside the explainers.
        oracle: Inside the oracle while answers were rated.
    """

    training: float = 0.0
    explaining: float = 0.0
    oracle: float = 0.0

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Count the seconds of a block."""
        started = time.perf_counter()
        try:
            yield
        finally:
            setattr(self, name, getattr(self, name) + time.perf_counter() - started)


class TimedOracle:
    """An oracle whose time is counted."""

    def __init__(self, oracle: ModelOracle, clock: Clock) -> None:
        self._oracle, self._clock = oracle, clock

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return self._oracle.num_classes

    def predict_proba(self, graphs: Sequence[Data]) -> Tensor:
        """Class probabilities [len(graphs), C]."""
        with self._clock.of("oracle"):
            return self._oracle.predict_proba(graphs)

    def predict_edits(self, space: EditSpace, rows: Tensor) -> Tensor:
        """Class probabilities of edited graphs [candidates, C]."""
        with self._clock.of("oracle"):
            return self._oracle.predict_edits(space, rows)


@contextmanager
def hard_limit(budget: Allowance, *, graphs: int = 1) -> Iterator[None]:
    """End a method that goes on long after its deadline; only the main thread can be interrupted."""
    if budget.seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    limit = min(2 * budget.seconds * graphs + _GRACE, _LONGEST)

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlowError(f"no answer after {limit:.0f} s, twice its deadline")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
