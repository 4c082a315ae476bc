"""The parts of a table: entries with ours and the paper's value, cells, rows; and who is best."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from edgeflip.metrics import Average, Metric, Style

NOTHING = "–"


@dataclass(frozen=True)
class Entry:
    """One number: ours, the paper's, or both.

    Attributes:
        name: Its name in the CSV file.
        style: How it is written.
        better: 1 if higher is better, -1 if lower is, 0 if neither.
        ours: What was measured; none where it is undefined.
        sd: Standard deviation over seeds.
        paper: What was published.
        interval: Ends of a confidence interval.
        best: Whether ours is best of all measured methods in its row.
    """

    name: str
    style: Style
    better: int = 0
    ours: float | None = None
    sd: float | None = None
    paper: float | None = None
    interval: tuple[float, float] | None = None
    best: bool = False

    @classmethod
    def of(cls, metric: Metric, ours: Average, paper: float | None = None) -> Entry:
        """A metric's average beside what was published."""
        measured = (ours.value, ours.sd, paper, ours.interval)
        return cls(metric.name, metric.style, metric.better, *measured)

    @property
    def text(self) -> str:
        """Our value as shown."""
        return write_number(self.ours, self.style)

    @property
    def detail(self) -> str:
        """Deviation and interval as shown after our value; may be empty."""
        if self.ours is None:
            return ""
        indices = _decimals(self.ours, self.style)
        parts = [] if self.sd is None else [f"± {_fixed(self.sd, indices)}"]
        if self.interval is not None:
            low, high = (_fixed(end, indices) for end in self.interval)
            parts.append(f"[{low}, {high}]")
        return " ".join(parts)

    @property
    def printed(self) -> str:
        """The paper's value as shown; may be empty."""
        return "" if self.paper is None else f"({write_number(self.paper, self.style)})"


Cell = str | tuple[tuple[Entry, ...], ...]
"""Plain text, or lines of entries."""


@dataclass(frozen=True)
class TableRow:
    """One row: its texts on the left, its cells, and the dataset for the CSV file."""

    head: tuple[str, ...]
    cells: tuple[Cell, ...]
    dataset: str = ""


@dataclass(frozen=True)
class ReportTable:
    """A table of the report.

    Attributes:
        key: Name of its file, and in the CSV file.
        title: What it shows.
        note: How to read it.
        head: Titles of the texts on the left.
        columns: Titles of the cells.
        rows: From top to bottom.
        methods: The methods of the columns, for the CSV file; empty for texts.
    """

    key: str
    title: str
    note: str
    head: tuple[str, ...]
    columns: tuple[str, ...]
    rows: tuple[TableRow, ...]
    methods: tuple[str, ...] = ()

    def entries(self) -> Iterator[tuple[str, str, Entry]]:
        """Every number with its dataset and method."""
        for row in self.rows:
            for method, cell in zip(self.methods, row.cells, strict=False):
                for entry in flat(cell):
                    yield row.dataset, method, entry


def flat(cell: Cell) -> list[Entry]:
    """The entries of a cell."""
    return [] if isinstance(cell, str) else [entry for line in cell for entry in line]


def write_number(value: float | None, style: Style) -> str:
    """A number as shown, without a zero before the point.

    Example:
        >>> (
        ...     write_number(0.9, "share"),
        ...     write_number(None, "share"),
        ...     write_number(2341.463, "seconds"),
        ... )
        ('.90', '–', '2341.5')
    """
    return NOTHING if value is None else _fixed(value, _decimals(value, style))


def _fixed(value: float, places: int) -> str:
    text = f"{value:.{places}f}"
    if float(text) == 0:
        text = text.removeprefix("-")
    return text.replace("0.", ".", 1) if text.lstrip("-").startswith("0.") else text


def _decimals(value: float, style: Style) -> int:
    if style == "seconds":
        return 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1
    if style == "whole":
        return 0
    if style == "count":
        return 1 if abs(value) < 100 else 0
    return 3 if style == "share3" else 2


def mark_best(cells: Sequence[Cell]) -> tuple[Cell, ...]:
    """The cells of a row with the best of our values marked, as rounded; ties are all best."""
    shown: dict[str, list[float]] = {}
    for entry in (entry for cell in cells for entry in flat(cell)):
        if entry.ours is not None and entry.better:
            shown.setdefault(entry.name, []).append(float(entry.text))

    def marked(entry: Entry) -> Entry:
        if entry.ours is None or not entry.better:
            return entry
        values = shown[entry.name]
        best = max(values) if entry.better > 0 else min(values)
        return dataclasses.replace(entry, best=float(entry.text) == best)

    return tuple(_mapped(cell, marked) for cell in cells)


def _mapped(cell: Cell, change: Callable[[Entry], Entry]) -> Cell:
    if isinstance(cell, str):
        return cell
    return tuple(tuple(change(entry) for entry in line) for line in cell)


def without_empty_columns(table: ReportTable, measured: Sequence[str]) -> ReportTable:
    """The table without methods that have no value in it and were not measured."""
    filled = {
        method
        for _, method, entry in table.entries()
        if entry.ours is not None or entry.paper is not None
    }
    keep = [
        index
        for index, method in enumerate(table.methods)
        if method in filled or method in measured
    ]
    return dataclasses.replace(
        table,
        columns=tuple(table.columns[index] for index in keep),
        methods=tuple(table.methods[index] for index in keep),
        rows=tuple(
            dataclasses.replace(row, cells=tuple(row.cells[index] for index in keep))
            for row in table.rows
        ),
    )
