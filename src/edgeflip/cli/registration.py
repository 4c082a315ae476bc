"""How a function becomes a command: groups of options, errors as one sentence, exit codes."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

import typer
from typer.core import TyperGroup

from edgeflip.cli.ending import ending
from edgeflip.cli.groups import SectionedCommand, with_groups
from edgeflip.errors import unknown_name

Command = TypeVar("Command", bound=Callable[..., None])


class CommandGroup(TyperGroup):
    """Commands by name; for a misspelt one the nearest is suggested."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the first argument names."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            raise unknown_name("command", args[0], self.list_commands(ctx))
        return super().resolve_command(ctx, args)


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
    # Here and not around all commands: typer has an ending of its own for Ctrl-C.
    @wraps(function)
    def guarded(*args: Any, **kwargs: Any) -> None:
        code = ending(lambda: function(*args, **kwargs))
        if code:
            raise typer.Exit(code)

    return guarded
