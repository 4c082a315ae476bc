"""How results look in a terminal."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

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
    width = None if sys.stdout.isatty() else _WIDTH_OF_FILES
    # What we print are names, paths and SMILES, whose brackets and colons mean themselves.
    return _Output(highlight=False, markup=False, emoji=False, width=width)


def say(text: str) -> None:
    """Print a sentence; the terminal wraps it, so that paths in it can be copied."""
    _stdout().print(text, soft_wrap=True)


def tell(text: str) -> None:
    """Print sentences, wrapped between words on a terminal."""
    _stdout().print(text, soft_wrap=not sys.stdout.isatty())


def table(*columns: str, numbers: Iterable[str] = (), title: str | None = None) -> Table:
    """An empty table in the look of all our tables.

    Args:
        columns: The names of the columns; the first is never wrapped.
        numbers: Those of them that hold numbers, which stand at the right.
        title: What stands above.
    """
    # No lines around and between the columns: in 80 of them, edges need the room.
    made = Table(
        title=title,
        title_justify="left",
        box=SIMPLE_HEAD,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    right = set(numbers)
    for index, name in enumerate(columns):
        # Folded and never cut off: half an edge tells nothing.
        made.add_column(
            name,
            no_wrap=index == 0 or name in right,
            justify="right" if name in right else "left",
            overflow="fold",
        )
    return made


def show(made: Table) -> None:
    """Print a table."""
    _stdout().print(made)


def edge_list(edges: Iterable[tuple[int, int]], names: Sequence[str] = ()) -> str:
    """Edges as a cell of a table: `0-3 2-5`, with names `Ann–Grace, Ann–Ida`, or a dash for none."""
    if all(map(str.isdecimal, names)):
        return " ".join(f"{u}-{v}" for u, v in edges) or "-"
    return ", ".join(f"{names[u]}–{names[v]}" for u, v in edges) or "-"


def table_width() -> int:
    """How wide a table can be, in a terminal or in a file."""
    return _stdout().width


def terminal_width() -> int:
    """How many letters fit on a line; 80 in a file or a pipe."""
    return _stdout().width if sys.stdout.isatty() else 80


def prints_unicode() -> bool:
    """Whether lines and signs can be printed that ASCII has not."""
    try:
        "─╌╰−".encode(sys.stdout.encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
