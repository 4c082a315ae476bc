"""How a command ends: errors as one sentence on stderr, and an exit code that tells the truth."""

from __future__ import annotations

import difflib
import os
import re
import sys
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import typer

from edgeflip.cli.terminal import BAD_INPUT, CRASHED, DONE, INTERRUPTED, note
from edgeflip.cli.wording import in_flags
from edgeflip.errors import EdgeflipError

DEBUG_VARIABLE = "EDGEFLIP_DEBUG"
"""Set to anything, it makes errors show their traceback."""

_KEPT = "interrupted: what was finished is kept."

# The library behind typer is its own business; that a bad parameter is a usage error is not.
_UsageError: type[Any] = typer.BadParameter.__mro__[1]

# What the library behind typer says of a bad value, in its several versions, and what we say.
_WANTED = (
    (r"exceeded maximum size", "a whole number of fewer digits"),
    (r"valid integer", "a whole number"),
    (r"valid (number|float)", "a number"),
    (r"greater than or equal to ([\d.]+)|x>=([\d.]+)", "at least {}"),
)


def ending(run: Callable[[], object]) -> int:
    """Run something to its end and return the exit code; what went wrong is said on stderr."""
    try:
        run()
        sys.stdout.flush()
        return DONE
    except typer.Exit as end:
        return end.exit_code
    except KeyboardInterrupt as interruption:
        note(_interruption_sentence(interruption))
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone; there is nobody left to tell.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:
        if os.environ.get(DEBUG_VARIABLE):
            traceback.print_exc()
        sentence, code = _sentence(error)
        note(f"error: {sentence}")
        return code


def ending_of_usage(run: Callable[[], object], arguments: Sequence[str]) -> int:
    """The same for the whole command line, whose options may be wrong."""
    codes: list[object] = []

    def parse() -> None:
        try:
            codes.append(run())
        except _UsageError as error:
            if type(error).__name__ == "NoArgsIsHelpError":
                note(error.format_message())
            else:
                note(f"error: {_usage_sentence(error, arguments)}")
            codes.append(BAD_INPUT)

    code = ending(parse)
    return code or (codes[0] if codes and isinstance(codes[0], int) else DONE)


def _sentence(error: Exception) -> tuple[str, int]:
    """What went wrong in a sentence, and the exit code for it."""
    if isinstance(error, EdgeflipError):
        return in_flags(str(error)), BAD_INPUT
    if isinstance(error, OSError) and error.strerror:
        where = f"to read or write {error.filename}" if error.filename else "to write the output"
        return f"expected {where}, got '{error.strerror}'; check the path.", BAD_INPUT
    lines = str(error).strip().splitlines()
    what = type(error).__name__ + (f": {lines[0][:200]}" if lines else "")
    return (
        f"edgeflip made a mistake of its own ({what}); please report it in edgeflip's issue tracker, with "
        f"the command and what it prints with {DEBUG_VARIABLE}=1.",
        CRASHED,
    )


def _interruption_sentence(interruption: KeyboardInterrupt) -> str:
    """What is kept, in a sentence.

    Told by the message and not by the class: importing the classes takes seconds, and Ctrl-C may
    have come because loading took too long.
    """
    if hasattr(interruption, "partial"):
        return "interrupted: what was found so far is printed above."
    return f"interrupted: {interruption}" if str(interruption) else _KEPT


def _usage_sentence(error: Any, arguments: Sequence[str]) -> str:
    """What is wrong with the options, in our words."""
    command = error.ctx.command_path if error.ctx is not None else "edgeflip"
    see = f"see '{command} --help'."
    kind = type(error).__name__
    parameter: Any = getattr(error, "param", None)
    if kind == "NoSuchOption":
        known = [option for each in error.ctx.command.params for option in each.opts]
        near = difflib.get_close_matches(error.option_name, [*known, "--help"], n=1, cutoff=0.6)
        hint = f", did you mean '{near[0]}'? S" if near else "; s"
        return f"unknown option '{error.option_name}'{hint}{see[1:]}"
    if kind == "MissingParameter" and parameter is not None:
        flag = "" if parameter.param_type_name == "argument" else f"{parameter.opts[0]} "
        return f"expected {flag}{parameter.metavar or parameter.name.upper()}, got none; {see}"
    message = error.format_message().rstrip(".")
    for pattern, wanted in _WANTED if parameter is not None else ():
        if match := re.search(pattern, message):
            limit = next(filter(None, match.groups()), "")
            got = _given(parameter.opts, arguments)
            return f"expected {wanted.format(limit)} for {parameter.opts[0]}{got}; {see}"
    return f"{message[0].lower()}{message[1:]}; {see}"


def _given(options: Sequence[str], arguments: Sequence[str]) -> str:
    """What the command line gave for an option, as the middle of a sentence."""
    values = [
        value
        for place, argument in enumerate(arguments)
        for value in arguments[place + 1 : place + 2]
        if argument in options
    ]
    values += [
        argument.partition("=")[2]
        for argument in arguments
        if argument.partition("=")[0] in options and "=" in argument
    ]
    return f", got '{values[-1]}'" if values else ", got something else"
