"""Why a cell is worse than published, or far from it: what was found, and the command that shows it.

The causes stand in `causes.toml`, beside this file. Each says which cells it is about, what an intervention
moved them to and by which command, or, where no cause was found, what was tried.
"""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from edgeflip.bench.report.cells import PublishedCell, cell_head, written_cell
from edgeflip.bench.report.results import Results
from edgeflip.bench.report.tables import NOTHING, ReportTable, TableRow
from edgeflip.errors import ConfigError
from edgeflip.support import STRICT, read_settings

_OPEN = "open: nobody has looked yet"


@dataclass(frozen=True)
class Cause:
    """What makes cells other than published.

    Attributes:
        why: The cause in a sentence; what was tried where none was found.
        found: Whether an intervention moved the cells into their intervals.
        spec: The benchmark whose cells these are.
        datasets: Their datasets; all when left out.
        methods: Their columns.
        measures: Their metrics, by name.
        targets: The classes that were asked for, -1 for any other; all when left out.
        moved: What the intervention moved the cells to.
        command: The command that repeats it; several are parted by semicolons.
    """

    __pydantic_config__ = STRICT

    why: str
    found: bool
    spec: str = "reproduction"
    datasets: tuple[str, ...] | None = None
    methods: tuple[str, ...] | None = None
    measures: tuple[str, ...] | None = None
    targets: tuple[int, ...] | None = None
    moved: str = ""
    command: str = ""

    def __post_init__(self) -> None:
        """Refuse a cause that nobody can check."""
        if not self.command:
            raise ConfigError(
                f"expected a command that repeats what is said of '{self.why}', got none; name it."
            )
        if self.found and not self.moved:
            raise ConfigError(
                f"expected what the intervention of '{self.why}' moved cells to, got nothing; say it, or set "
                "found to false."
            )

    def is_of(self, cell: PublishedCell, spec: str) -> bool:
        """Whether it is about a cell of a run."""
        about = (
            (self.datasets, {cell.dataset}),
            # What a column says in parentheses need not be said here.
            (self.methods, {cell.method, cell.method.partition(" (")[0]}),
            (self.measures, {cell.metric.name}),
            (self.targets, {-1 if cell.target is None else cell.target}),
        )
        return self.spec == spec and all(
            chosen is None or not names.isdisjoint(chosen) for chosen, names in about
        )


@cache
def known_causes() -> tuple[Cause, ...]:
    """All causes that were found, or sought."""
    return read_causes((files("edgeflip") / "bench" / "report" / "causes.toml").read_text("utf-8"))


def read_causes(text: str) -> tuple[Cause, ...]:
    """Causes of the text of a TOML file, each a table [[cause]]."""
    entries = tomllib.loads(text).get("cause", [])
    return tuple(
        read_settings(Cause, entry, where=f"cause {number + 1} of causes.toml")
        for number, entry in enumerate(entries)
    )


def cause_tables(
    results: Results, cells: Sequence[PublishedCell], causes: Sequence[Cause] | None = None
) -> list[ReportTable]:
    """Every cell that is worse or far, with its cause; none where there is no such cell."""
    known = known_causes() if causes is None else causes
    spec = str(results.meta.get("spec_name") or "")
    wanting = [cell for cell in cells if cell.verdict == "worse" or cell.far]
    rows = []
    counts = {"found": 0, "not found": 0, "open": 0}
    for cell in wanting:
        own = [cause for cause in known if cause.is_of(cell, spec)]
        told = sorted(own, key=lambda cause: not cause.found)[:1]
        state = "open" if not told else "found" if told[0].found else "not found"
        counts[state] += 1
        words = told[0].why if told else _OPEN
        if state == "not found":
            words = f"not found: {words}"
        elif state == "found":
            words = f"{words} Without it: {told[0].moved}."
        rows.append(
            TableRow(
                cell_head(results, cell),
                (
                    *written_cell(cell),
                    words,
                    told[0].command if told else NOTHING,
                ),
                cell.dataset,
            )
        )
    table = ReportTable(
        key="causes",
        title="Why cells are worse than published, or far from it",
        note=f"Of {len(wanting)} such cells a cause is found for {counts['found']}, was sought and not found "
        f"for {counts['not found']}, and is open for {counts['open']}. A cause is found if a change of the "
        "named kind moves the cell into its interval; the command repeats it.",
        head=("Dataset", "Method", "Measure"),
        columns=("ours", "95 % interval", "published", "verdict", "cause", "command"),
        rows=tuple(rows),
    )
    return [table] if rows else []
