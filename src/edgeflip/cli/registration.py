"""How a function becomes a command: groups of options, errors as one sentence, exit codes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import typer

from edgeflip.cli.groups import SectionedCommand, with_groups
from edgeflip.cli.terminal import BAD_INPUT, INTERRUPTED, note
from edgeflip.errors import EdgeflipError

_KEPT = "interrupted: what was finished is kept."

Command = TypeVar("Command", bound=Callable[..., None])


def command(app: typer.Typer) -> Callable[[Command], Command]:
    """Register a command whose errors are one sentence on stderr and an exit code for scripts.

    Parameters that are an `OptionGroup` become the options of the group.
    """

    def register(function: Command) -> Command:
        guarded = _guarded(with_groups(function))
        # The help keeps the lines of a paragraph that begins with this character as they are.
        guarded.__doc__ = (function.__doc__ or "").replace("Examples:\n", "\b\n    Examples:\n")
        app.command(cls=SectionedCommand)(guarded)
        return function

    return register


def _guarded(function: Callable[..., None]) -> Callable[..., None]:
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

    return guarded


def _interruption_message(interruption: KeyboardInterrupt) -> str:
    """What is kept, in a sentence.

    Told by the message and not by the class: importing the classes takes seconds, and Ctrl-C may
    have come because loading took too long.
    """
    if getattr(interruption, "partial", None) is not None:
        return "interrupted: what was found so far is printed above."
    return f"interrupted: {interruption}" if str(interruption) else _KEPT
