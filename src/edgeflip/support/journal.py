"""Results as they come: one JSON line each, on the disk before the next is begun."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from edgeflip.errors import ArtifactError
from edgeflip.support.files import read_packed
from edgeflip.support.plain_json import parse_json

Row: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[str, str, str, int, int]

RESULTS = "results.jsonl"


def key_of(row: Mapping[str, Any]) -> Key:
    """What a row is about: kind, dataset, method, seed and graph."""
    return (
        str(row["kind"]),
        str(row["dataset"]),
        str(row.get("method", "")),
        int(row.get("seed", -1)),
        int(row.get("graph", -1)),
    )


class Journal:
    """The rows of a run, in a file that survives a crash at any moment.

    Args:
        path: The file; made if it is not there. A last line that a crash cut off is dropped.

    Attributes:
        rows: The rows so far, by what they are about.
        repaired: Whether a last line was dropped.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.repaired = False
        content = _content(path) if os.path.lexists(path) else b""
        lines, kept = _whole_lines(content, path)
        with _writing(path):
            if kept < len(content):
                self.repaired = True
                with path.open("r+b") as file:
                    file.truncate(kept)
                    os.fsync(file.fileno())
            self.rows: dict[Key, Row] = {key_of(row): row for row in lines}
            self._file = path.open("ab")

    def __contains__(self, key: Key) -> bool:
        return key in self.rows

    def append(self, row: Row) -> None:
        """Write a row; when this returns, it is on the disk."""
        line = json.dumps(row, allow_nan=False, ensure_ascii=False).encode() + b"\n"
        self._file.write(line)
        self._file.flush()
        os.fsync(self._file.fileno())
        self.rows[key_of(row)] = row

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def read_rows(path: Path) -> tuple[list[Row], bool]:
    """All rows of a file, and whether a cut-off last line was left out; the file is not changed."""
    content = _content(path)
    rows, kept = _whole_lines(content, path)
    return rows, kept < len(content)


def _whole_lines(content: bytes, path: Path) -> tuple[list[Row], int]:
    """The rows, and up to which byte they reach."""
    rows: list[Row] = []
    reached = 0
    lines = content.splitlines(keepends=True)
    for index, line in enumerate(lines):
        row = _parsed(line) if line.endswith(b"\n") else None
        if row is None:
            if index < len(lines) - 1:
                raise ArtifactError(
                    f"expected one JSON object a line in {path.name}, got something else in line "
                    f"{index + 1}; remove that line to have it measured again."
                )
            return rows, reached
        rows.append(row)
        reached += len(line)
    return rows, reached


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
