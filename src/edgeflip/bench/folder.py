"""The folder of a run: who may write there, what it belongs to, and the table at the end."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edgeflip.bench.shapes import check_meta
from edgeflip.bench.spec import SPLITS, BenchSpec, Split
from edgeflip.errors import ArtifactError, ConfigError
from edgeflip.support import (
    CHANGED,
    RESULTS,
    Row,
    code_commit,
    code_version,
    package_version,
    read_json,
    write_json,
)

META, PARQUET = "meta.json", "results.parquet"


def open_meta(
    spec: BenchSpec, folder: Path, *, name: str, command: str, resume: bool
) -> dict[str, Any]:
    """What is known of the run in a folder, written down first if it is new.

    Raises:
        ConfigError: If it belongs to another spec or version, or may not be gone on with.
    """
    path, rows = folder / META, folder / RESULTS
    if not path.exists():
        if rows.exists() and rows.stat().st_size:
            raise ArtifactError(
                f"expected {META} beside {RESULTS} in {folder}, got none; give another folder."
            )
        # First, so that a description without rows always means that they were deleted.
        rows.touch()
        meta: dict[str, Any] = {
            "spec": spec.to_dict(),
            "spec_name": name,
            "spec_checksum": spec.checksum(),
            "code": code_version(),
            "commit": code_commit(),
            "versions": {
                package: package_version(package)
                for package in ("edgeflip", "torch", "torch_geometric")
            }
            | {"python": platform.python_version()},
            "command": command,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "row_checksums": True,
            "rows": 0,
            "sessions": [],
        }
        write_json(path, meta)
        return read_json(path)
    meta = read_meta(folder)
    if not resume:
        raise ConfigError(
            f"expected an empty folder, got results in {folder}; leave out --no-resume to go on with "
            "them, or give another folder."
        )
    check_same_run(meta, spec, folder)
    return meta


def check_same_run(meta: Mapping[str, Any], spec: BenchSpec, folder: Path) -> None:
    """Refuse a folder whose results a run of the spec cannot go on with.

    Raises:
        ConfigError: If it belongs to another split, spec or version.
        ArtifactError: If its rows were deleted.
    """
    split = split_of(meta)
    if split != spec.split:
        raise ConfigError(
            f"expected a folder of a run on {SPLITS[spec.split]}, got one on {SPLITS[split]} in {folder}; "
            "results of two splits cannot be mixed: give another folder."
        )
    if meta.get("spec_checksum") != spec.checksum():
        raise ConfigError(
            f"expected a folder of the same spec, got one of '{meta.get('spec_name')}' in {folder} "
            "whose settings differ; give another folder."
        )
    if meta.get("code") != code_version():
        raise ConfigError(
            f"expected a folder of edgeflip {code_version()}, got one of {meta.get('code')} in "
            f"{folder}; results of two versions cannot be mixed: give another folder{_from(meta)}."
        )
    check_rows_are_there(meta, folder)


def _from(meta: Mapping[str, Any]) -> str:
    """From which commit a run can be gone on with."""
    commit = str(meta.get("commit") or "")
    known = commit and not commit.endswith(CHANGED)
    return f", or run this one from git commit {commit[:12]}" if known else ""


def read_meta(folder: Path) -> dict[str, Any]:
    """What is known of the run in a folder.

    Raises:
        ArtifactError: If nothing is, or it is not as the run wrote it.
    """
    path = folder / META
    if not os.path.exists(path):
        raise ArtifactError(
            f"expected the folder of a benchmark run with {META} and {RESULTS}, found no {META} in "
            f"{folder}; give the folder that 'edgeflip bench run' wrote."
        )
    try:
        meta = read_json(path)
    except ArtifactError:
        raise ArtifactError(
            f"expected {path} as 'edgeflip bench run' wrote it, got one that was changed or cut off; "
            "restore it, or run the benchmark again in another folder."
        ) from None
    check_meta(meta, path)
    return meta


def split_of(meta: Mapping[str, Any]) -> Split:
    """Which graphs a run explains; of older runs the test graphs."""
    split: Split = (meta.get("spec") or {}).get("split") or "test"
    return split


def check_rows_are_there(meta: Mapping[str, Any], folder: Path) -> None:
    """Refuse a folder whose rows were deleted, as a whole; single ones may be taken out.

    Raises:
        ArtifactError: If there are none, although the run wrote some.
    """
    path, written = folder / RESULTS, meta.get("rows") or 0
    if not path.exists() or (written and not path.stat().st_size):
        raise ArtifactError(
            f"expected the rows of the run in {path}, got {'an empty' if path.exists() else 'no such'} "
            "file: they were deleted; restore them, or run the benchmark again in another folder."
        )


def write_table(rows: Sequence[Row], path: Path) -> None:
    """Rows as a Parquet file; lists and tables within a row become JSON text."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ConfigError(
            "expected pyarrow to write Parquet, got no such package; pip install 'edgeflip[bench]'."
        ) from error
    nested = {key for row in rows for key, value in row.items() if isinstance(value, dict | list)}
    flat = [
        {key: json.dumps(value) if key in nested else value for key, value in row.items()}
        for row in rows
    ]
    part = path.with_suffix(".parquet.part")
    # By a name with a colon, such as that of a time, pyarrow would look for another file system.
    with part.open("wb") as file:
        pq.write_table(pa.Table.from_pylist(flat), file)
    os.replace(part, path)
