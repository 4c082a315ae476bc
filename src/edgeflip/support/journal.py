"""Results as they come: one JSON line each with a checksum, on the disk before the next is begun."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from edgeflip.errors import ArtifactError
from edgeflip.support.files import as_path, read_packed
from edgeflip.support.plain_json import parse_json
from edgeflip.support.storage import checksum

Row: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str, str, int, int]

RESULTS = "results.jsonl"
_CHECKSUM = "checksum"


def key_of(row: Mapping[str, Any]) -> Key:
    """What a row is about: kind, dataset, method, seed and graph."""
    return (
        str(row["kind"]),
        str(row["dataset"]),
        str(row.get("method", "")),
        int(row.get("seed", -1)),
        int(row.get("graph", -1)),
    )


def signed(row: Mapping[str, Any]) -> Row:
    """A row as it is written: with a checksum, so that one that was edited is noticed."""
    return {**row, _CHECKSUM: checksum(row)[:16]}


def line_of(row: Mapping[str, Any]) -> bytes:
    """A row as it stands in a file, signed."""
    return json.dumps(signed(row), allow_nan=False, ensure_ascii=False).encode() + b"\n"


class LineFile:
    """Lines that are added to a file, which survives a crash at any moment.

    Args:
        path: The file; made if it is not there. A last line that a crash cut off is dropped.

    Raises:
        ArtifactError: If a row is not as it was written.

    Attributes:
        found: The rows that it held when it was opened.
        repaired: Whether a last line was dropped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path = as_path(path, ArtifactError)
        self.repaired = False
        content = _content(path) if os.path.lexists(path) else b""
        whole, kept = _whole_lines(content, path, all_signed=True)
        self.found: list[Row] = whole.rows
        with _writing(path):
            if kept < len(content):
                self.repaired = True
                self._cut(kept)
            self._file = path.open("ab")

    def extend(self, lines: Iterable[bytes]) -> None:
        """Add lines that `line_of` made; when this returns, they are on the disk."""
        with _writing(self.path):
            self._file.write(b"".join(lines))
            self._file.flush()
            os.fsync(self._file.fileno())

    def clear(self) -> None:
        """Forget all lines."""
        with _writing(self.path):
            self._cut(0)

    def close(self) -> None:
        """Close the file."""
        # What a full disk refused once would be tried again here.
        with suppress(OSError):
            self._file.close()

    def _cut(self, kept: int) -> None:
        with self.path.open("r+b") as file:
            file.truncate(kept)
            os.fsync(file.fileno())


class Journal(LineFile):
    """The rows of a run, in a file that survives a crash at any moment.

    Attributes:
        rows: The rows so far, by what they are about.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.rows: dict[Key, Row] = {key_of(row): row for row in self.found}
        self.found = []

    def __contains__(self, key: Key) -> bool:
        return key in self.rows

    def append(self, row: Row) -> None:
        """Write a row; when this returns, it is on the disk."""
        self.extend([line_of(row)])
        self.rows[key_of(row)] = row


@dataclass(frozen=True)
class ReadRows:
    """What a file of rows holds.

    Attributes:
        rows: The rows, without their checksums.
        unsigned: How many of them have none, as rows of older runs.
        cut_off: Whether a cut-off last line was left out.
    """

    rows: list[Row]
    unsigned: int = 0
    cut_off: bool = False


def read_rows(path: Path, *, all_signed: bool) -> ReadRows:
    """All rows of a file, which is not changed.

    Args:
        path: The file.
        all_signed: Whether a row without a checksum is refused like one whose checksum is wrong.

    Raises:
        ArtifactError: If a row is not as it was written.
    """
    content = _content(path)
    whole, kept = _whole_lines(content, path, all_signed=all_signed)
    return ReadRows(whole.rows, whole.unsigned, kept < len(content))


def _whole_lines(content: bytes, path: Path, *, all_signed: bool) -> tuple[ReadRows, int]:
    """The rows, and up to which byte they reach."""
    rows: list[Row] = []
    reached = unsigned = 0
    lines = content.splitlines(keepends=True)
    for index, line in enumerate(lines):
        row = _parsed(line) if line.endswith(b"\n") else None
        if row is None:
            if index < len(lines) - 1:
                raise ArtifactError(
                    f"expected one JSON object a line in {path.name}, got something else in line "
                    f"{index + 1}; remove that line to have it measured again."
                )
            break
        own = row.pop(_CHECKSUM, None)
        unsigned += own is None
        if own != signed(row)[_CHECKSUM] and (own is not None or all_signed):
            raise ArtifactError(
                f"expected the rows of {path.name} as edgeflip wrote them, got line {index + 1} "
                f"({_about(row)}) changed afterwards; restore the line, or remove it and run the "
                "benchmark again to have it measured anew."
            )
        rows.append(row)
        reached += len(line)
    return ReadRows(rows, unsigned), reached


def _about(row: Row) -> str:
    """What a row is about, in words."""
    kind, dataset, method, seed, graph = key_of(row)
    words = [kind if graph < 0 else f"{kind} {graph}", dataset, method]
    return ", ".join([word for word in words if word] + [f"seed {seed}"][: seed >= 0])


def _parsed(line: bytes) -> Row | None:
    try:
        row = parse_json(line, where="a row", error=ArtifactError)
        key_of(row)
    except (ArtifactError, ValueError, TypeError, KeyError, AttributeError, OverflowError):
        return None
    return row if isinstance(row, dict) else None


def _content(path: Path) -> bytes:
    return read_packed(path, error=ArtifactError)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ArtifactError(
            f"expected to write {path}, got '{error.strerror or error}'; check free space and permissions."
        ) from error
