"""The command line: parse, call the library, print. Results go to stdout, everything else to stderr."""

from __future__ import annotations

from collections.abc import Sequence

from edgeflip.cli.commands import app

__all__ = ["app", "main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends with `SystemExit`."""
    app(args=None if arguments is None else list(arguments), prog_name="edgeflip")
