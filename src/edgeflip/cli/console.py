"""How results look in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

# Beyond this a table in a file or a pipe is no easier to read.
_WIDTH_OF_FILES = 160


class _Output(Console):
    """A console that lets a broken pipe be seen, instead of ending with an exit code of its own."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _stdout() -> Console:
    return _Output(highlight=False, width=None if sys.stdout.isatty() else _WIDTH_OF_FILES)


def say(text: str) -> None:
    """Print a sentence; the terminal wraps it, so that paths in it can be copied."""
    _stdout().print(text, soft_wrap=True, markup=False)


def table(*columns: str, numbers: Iterable[str] = (), title: str | None = None) -> Table:
    """An empty table in the look of all our tables.

    Args:
        columns: The names of the columns; the first is never wrapped.
        numbers: Those of them that hold numbers, which stand at the right.
        title: What stands above.
    """
    made = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    right = set(numbers)
    for place, name in enumerate(columns):
        made.add_column(
            name, no_wrap=place == 0 or name in right, justify="right" if name in right else "left"
        )
    return made


def show(made: Table) -> None:
    """Print a table."""
    _stdout().print(made, markup=False)


def edge_list(edges: Iterable[tuple[int, int]]) -> str:
    """Edges as a cell of a table: `0-3 2-5`, or a dash for none."""
    return " ".join(f"{u}-{v}" for u, v in edges) or "-"
