"""Progress with an estimate on stderr, lively on a terminal and sparse in a log."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

# Seconds before a bar is shown: what is over by then needs none.
_PATIENCE = 2.0

# Seconds between two lines in a log.
_LOG_INTERVAL = 10.0


class _Lines:
    """A stream for logs: what would overwrite the line before begins a line of its own."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        """Write what there is to read, a line each time."""
        told = text.strip("\r\n ")
        if told:
            self._stream.write(f"{told}\n")

    def flush(self) -> None:
        """As the stream does."""
        self._stream.flush()


def progress_bar(description: str, *, total: int, unit: str, shown: bool, done: int = 0) -> Any:
    """A tqdm bar that appears after two seconds.

    On a terminal it is gone when its work is done. In a log it writes a line every ten seconds instead of
    ten a second.
    """
    lively = sys.stderr.isatty()
    bar = tqdm(
        file=sys.stderr if lively else _Lines(sys.stderr),
        total=total,
        initial=done,
        desc=description,
        unit=unit,
        disable=not shown,
        delay=_PATIENCE,
        leave=not lively,
        mininterval=0.1 if lively else _LOG_INTERVAL,
        miniters=None if lively else 1,
        maxinterval=_LOG_INTERVAL,
        smoothing=0.3 if lively else 0,
    )
    if shown and not lively:
        # The first line of a log comes as early as a bar would.
        bar.last_print_t -= _LOG_INTERVAL - _PATIENCE
    return bar
