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


def in_notebook() -> bool:
    """Whether this runs in a notebook, where a bar can be drawn although there is no terminal."""
    interactive = sys.modules.get("IPython")
    shell = interactive.get_ipython() if interactive is not None else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def _notebook_bar() -> Any:
    """The bar with widgets, where they are installed."""
    try:
        import ipywidgets  # noqa: F401 - tqdm needs it
        from tqdm.notebook import tqdm as widget_bar
    except ImportError:
        return None
    return widget_bar


def progress_bar(
    description: str, *, total: int | None, unit: str, shown: bool, done: int = 0
) -> Any:
    """A tqdm bar that appears after two seconds.

    On a terminal and in a notebook it is gone when its work is done. In a log it writes a line every ten
    seconds instead of ten a second.
    """
    notebook = shown and in_notebook()
    lively = notebook or sys.stderr.isatty()
    kind = (_notebook_bar() if notebook else None) or tqdm
    bar = kind(
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
