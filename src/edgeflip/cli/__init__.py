"""The command line: parse, call the library, print. Results go to stdout, everything else to stderr."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from edgeflip.cli.commands import app
from edgeflip.cli.ending import ending_of_usage
from edgeflip.cli.terminal import COMMAND_LINE

__all__ = ["app", "main"]


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; ends with `SystemExit`."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    COMMAND_LINE.set(tuple(given))
    run = lambda: app(args=given, prog_name="edgeflip", standalone_mode=False)  # noqa: E731
    sys.exit(ending_of_usage(run, given))
