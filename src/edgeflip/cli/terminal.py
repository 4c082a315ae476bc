"""What all commands share: errors as one sentence, exit codes, and where output goes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
from rich.console import Console

from edgeflip.bench import BenchInterrupted
from edgeflip.errors import EdgeflipError
from edgeflip.explainers import SearchInterrupted
from edgeflip.training import TrainingInterrupted

NOTHING_FOUND, BAD_INPUT, INTERRUPTED = 1, 2, 130

Command = TypeVar("Command", bound=Callable[..., None])

DataDir = Annotated[
    Path | None,
    typer.Option(
        "--data-dir", help="Folder of dataset files; by default the variable EDGEFLIP_DATA."
    ),
]


def command(app: typer.Typer) -> Callable[[Command], Command]:
    """Register a command whose errors are one sentence on stderr and an exit code for scripts."""

    def register(function: Command) -> Command:
        @wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> None:
            try:
                function(*args, **kwargs)
                sys.stdout.flush()
            except EdgeflipError as error:
                note(f"error: {error}")
                raise typer.Exit(BAD_INPUT) from None
            except KeyboardInterrupt as interruption:
                note(_interruption_message(interruption))
                raise typer.Exit(INTERRUPTED) from None
            except OSError as error:
                if not isinstance(error, BrokenPipeError):
                    note(
                        f"error: expected to write the output, got '{error.strerror}'; "
                        "check where it goes."
                    )
                    raise typer.Exit(BAD_INPUT) from None
                # The reader of our output has gone; there is nobody left to tell.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                raise typer.Exit(0) from None

        # The help keeps the lines of a paragraph that begins with this character as they are.
        guarded.__doc__ = (function.__doc__ or "").replace("Examples:\n", "\b\n    Examples:\n")
        app.command()(guarded)
        return function

    return register


def _interruption_message(interruption: BaseException) -> str:
    if isinstance(interruption, TrainingInterrupted | BenchInterrupted):
        return f"interrupted: {interruption}"
    if isinstance(interruption, SearchInterrupted):
        return "interrupted: what was found so far is printed above."
    return "interrupted: what was finished is kept."


class _Output(Console):
    """A console that lets a broken pipe be seen, instead of ending with an exit code of its own."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def stdout() -> Console:
    """Where results go."""
    return _Output(highlight=False, width=None if sys.stdout.isatty() else 160)


def note(text: str) -> None:
    """Tell people something that is no result."""
    print(text, file=sys.stderr)


def print_json(payload: Any) -> None:
    """One JSON value on a line."""
    print(json.dumps(payload), flush=True)
