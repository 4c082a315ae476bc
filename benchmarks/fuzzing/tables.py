"""What a run of the fuzzer found, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzzing.entry import Entry
from fuzzing.reach import Line, shares
from fuzzing.running import Tally

BEGIN, END = "<!-- fuzz figures: begin -->", "<!-- fuzz figures: end -->"
WANTED = 0.9
"""The share of a reader's lines that a run over all entries should reach."""

_COLUMNS = ("cases", "accepted", "refused", "traceback", "wrong", "hang", "memory")
_TITLES = ("entry", "cases", "accepted", "refused", "tracebacks", "wrong", "hangs", "out of memory")


@dataclass(frozen=True)
class Figures:
    """The figures of one run."""

    entries: Sequence[Entry]
    tallies: Mapping[str, Tally]
    reached: set[Line]
    seed: int
    minutes: float

    @property
    def failed(self) -> int:
        """How many cases failed."""
        return sum(tally.failed for tally in self.tallies.values())

    @property
    def below(self) -> list[str]:
        """Readers of which too few lines were reached, with the lines that are left."""
        return [
            f"{name}: {', '.join(left[:12])}"
            for name, (found, total, left) in shares(self.reached).items()
            if found < WANTED * total
        ]

    def as_table(self) -> dict[str, Any]:
        """Plain values, for programs."""
        return {
            "seed": self.seed,
            "minutes": round(self.minutes, 2),
            "failed": self.failed,
            "entries": {entry.name: self._row(entry) for entry in self.entries},
            "readers": {
                name: {"reached": found, "lines": total, "left": left}
                for name, (found, total, left) in shares(self.reached).items()
            },
        }

    def _row(self, entry: Entry) -> dict[str, Any]:
        tally = self.tallies[entry.name]
        return {
            "group": entry.group,
            "cases": tally.cases,
            **{name: tally.verdicts[name] for name in _COLUMNS[1:]},
            "peak_mb": round(tally.memory),
            "slowest_seconds": round(tally.slowest, 1),
            "failures": [
                {"number": number, "where": where, "message": one.message, "text": one.text}
                for where, (number, one) in tally.failures.items()
            ],
        }

    def as_markdown(self, *, failures: bool = True) -> str:
        """Tables for people."""
        parts = [self._cases(), self._lines()]
        if failures and self.failed:
            parts.append(self._failures())
        return "\n\n".join(parts)

    def _cases(self) -> str:
        rows = [self._row(entry) for entry in self.entries]
        lines = [
            "| " + " | ".join((*_TITLES, "peak MB", "slowest s")) + " |",
            "| --- " * (len(_TITLES) + 2) + "|",
        ]
        for entry, row in zip(self.entries, rows, strict=True):
            cells = [entry.name, *(f"{row[name]:,}" for name in _COLUMNS)]
            cells += [f"{row['peak_mb']:,}", str(row["slowest_seconds"])]
            lines.append("| " + " | ".join(cells) + " |")
        sums = [f"{sum(row[name] for row in rows):,}" for name in _COLUMNS]
        peak = f"{max((row['peak_mb'] for row in rows), default=0):,}"
        slowest = max((row["slowest_seconds"] for row in rows), default=0)
        lines.append("| " + " | ".join(["**all**", *sums, peak, str(slowest)]) + " |")
        lines += ["", f"Seed {self.seed}, {self.minutes:.1f} minutes."]
        return "\n".join(lines)

    def _lines(self) -> str:
        lines = ["| reader | lines reached | of | share |", "| --- | --- | --- | --- |"]
        for name, (found, total, _) in shares(self.reached).items():
            lines.append(f"| {name} | {found} | {total} | {100 * found / max(total, 1):.0f} % |")
        if self.below:
            lines += [
                "",
                f"Below {100 * WANTED:.0f} %, lines not reached: {'; '.join(self.below)}.",
            ]
        return "\n".join(lines)

    def _failures(self) -> str:
        lines = ["Failures, one of each kind:"]
        for name, tally in self.tallies.items():
            for where, (number, one) in tally.failures.items():
                text = f"- {name}:{number} | {one.verdict} | {where} | {one.message[:160]} | {one.text[:240]}"
                lines.append(" ".join(text.split()).encode(errors="backslashreplace").decode())
        return "\n".join(lines)


def write_between_markers(file: Path, text: str) -> None:
    """Replace what stands between the markers of a page."""
    page = file.read_text("utf-8")
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"expected the markers {BEGIN} and {END} in {file}, got a page without")
    file.write_text(f"{head}{BEGIN}\n\n{text}\n\n{END}{tail}", "utf-8")
