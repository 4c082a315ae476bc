"""Progress with an estimate on stderr, lively on a terminal and sparse in a log."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

# Seconds before a bar is shown: what is over by then needs none.
_PATIENCE = 2.0

# Seconds between two lines in a log.
_LOG_INTERVAL = 10.0


def progress_bar(description: str, *, total: int, unit: str, shown: bool, done: int = 0) -> Any:
    """A tqdm bar that appears after two seconds.

    On a terminal it is gone when its work is done. In a log it writes a line every ten seconds instead of
    ten a second.
    """
    lively = sys.stderr.isatty()
    bar = tqdm(
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
