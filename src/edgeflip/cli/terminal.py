"""What every command needs before any work is done: exit codes, notes to people, JSON for programs."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

DONE, NOTHING_FOUND, BAD_INPUT, CRASHED, INTERRUPTED = 0, 1, 2, 70, 130

EXIT_CODES = {
    DONE: "done",
    NOTHING_FOUND: "no counterfactual found",
    BAD_INPUT: "bad input",
    CRASHED: "a mistake of edgeflip's own",
    INTERRUPTED: "interrupted",
}
"""What the exit codes mean, in a few words each."""


COMMAND_LINE: ContextVar[tuple[str, ...]] = ContextVar("command line", default=())
"""What the user wrote after `edgeflip`, for advice that repeats it with a change."""

# Seconds after which people wonder.
_PATIENCE = 2.0


def note(text: str) -> None:
    """Tell people something that is no result."""
    print(text, file=sys.stderr)


@contextmanager
def waiting(for_what: str) -> Iterator[None]:
    """Say on a terminal what takes so long, from the second second on; the line is gone afterwards."""
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()
    started = time.monotonic()

    def tell() -> None:
        width = 0
        while not over.wait(0.5 if width else _PATIENCE):
            text = f"{for_what} … {time.monotonic() - started:.0f} s"
            width = max(width, len(text))
            print(f"\r{text:<{width}}", end="", file=sys.stderr, flush=True)
        if width:
            print(f"\r{'':<{width}}\r", end="", file=sys.stderr, flush=True)

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield
    finally:
        over.set()
        teller.join()


def starting() -> AbstractContextManager[None]:
    """Say that libraries are being loaded, which takes seconds."""
    return waiting("loading libraries")


def print_json(payload: Any) -> None:
    """One JSON value on a line."""
    print(json.dumps(payload), flush=True)


def counted(count: int, thing: str) -> str:
    """A number of things: `1 graph`, `2 graphs`.

    Example:
        >>> counted(1, "graph"), counted(1200, "graph"), counted(2, "class")
        ('1 graph', '1,200 graphs', '2 classes')
    """
    plural = f"{thing}es" if thing.endswith("s") else f"{thing}s"
    return f"{count:,} {thing if count == 1 else plural}"
