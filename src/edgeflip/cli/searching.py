"""What people see while graphs are explained: a bar with an estimate, and how far a search has come."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from edgeflip.cli.terminal import counted
from edgeflip.oracle import Budget
from edgeflip.search import Step
from edgeflip.support import progress_bar


class SearchProgress:
    """A bar for the searches of one command.

    Several searches are counted one by one. A single one has no such measure: its bar runs towards its
    limit of calls, or names its limit of seconds, so that the estimate is the longest it can take.

    Args:
        searches: How many there will be, as far as is known.
        budget: What each may spend.
    """

    def __init__(self, searches: int, budget: Budget) -> None:
        self._many = searches > 1
        self._limit = budget.oracle_calls
        total = searches if self._many else self._limit
        self._bar = progress_bar(
            "explaining",
            total=total,  # type: ignore[arg-type]  # tqdm shows the count alone where there is no total
            unit="search" if self._many else "graph",
            shown=True,
        )
        timed = budget.seconds is not None and total is None
        self._most = f"at most {budget.seconds:g} s" if timed else ""
        self._bar.set_postfix_str(self._most, refresh=False)
        self._over = threading.Event()

    def __enter__(self) -> SearchProgress:
        """Show the clock running even while a method learns and tries nothing."""
        if sys.stderr.isatty():
            threading.Thread(target=self._tick, daemon=True).start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Take the bar away."""
        self._over.set()
        self._bar.close()

    def watch(self, step: Step) -> None:
        """Take note of how far a search has come; see `explain(watch=…)`."""
        parts = [] if not self._many else [f"{counted(step.calls, 'graph')} tried"]
        if step.smallest is not None:
            parts.append(f"smallest: {counted(step.smallest, 'edit')}")
        parts += [] if self._many else [self._most]
        self._bar.set_postfix_str(", ".join(filter(None, parts)), refresh=False)
        if not self._many:
            self._bar.update(step.calls - self._bar.n)

    def done(self) -> None:
        """Take note that a search is over."""
        if self._many:
            self._bar.update()

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Print beside the bar, not through it."""
        with self._bar.get_lock():
            if sys.stderr.isatty():
                self._bar.clear(nolock=True)
            yield

    def _tick(self) -> None:
        bar: Any = self._bar
        while not self._over.wait(2.0):
            bar.refresh()
