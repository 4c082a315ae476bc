"""Progress with an estimate on stderr, lively on a terminal and sparse in a log."""

from __future__ import annotations

import sys
from typing import Any

from tqdm import tqdm


def progress_bar(description: str, *, total: int, unit: str, shown: bool, done: int = 0) -> Any:
    """A tqdm bar; in a log it writes a line every ten seconds instead of ten a second."""
    lively = sys.stderr.isatty()
    return tqdm(
        total=total,
        initial=done,
        desc=description,
        unit=unit,
        disable=not shown,
        mininterval=0.1 if lively else 10.0,
        miniters=None if lively else 1,
        maxinterval=10.0,
    )
