"""Progress with an estimate on stderr, lively on a terminal and sparse in a log."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm

# Seconds before a bar is shown: what is over by then needs none.
_PATIENCE = 2.0


def progress_bar(description: str, *, total: int, unit: str, shown: bool, done: int = 0) -> Any:
    """A tqdm bar that appears after two seconds.

    On a terminal it is gone when its work is done. In a log it writes a line every ten seconds instead of
    ten a second.
    """
    lively = sys.stderr.isatty()
    return tqdm(
        total=total,
        initial=done,
        desc=description,
        unit=unit,
        disable=not shown,
        delay=_PATIENCE,
        leave=not lively,
        mininterval=0.1 if lively else 10.0,
        miniters=None if lively else 1,
        maxinterval=10.0,
    )
