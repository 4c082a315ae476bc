"""A folder of answers: whole shards, and a journal of what is not yet a shard."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from torch_geometric.data import Data

from edgeflip.errors import ArtifactError, ConfigError, unknown_name
from edgeflip.explainers.many.explained import Explained
from edgeflip.explainers.many.job import Outcome, fingerprint_or_none
from edgeflip.support import (
    LineFile,
    Row,
    as_path,
    check_name,
    code_version,
    line_of,
    read_json,
    read_rows,
    write_json,
    write_whole,
)

Form: TypeAlias = Literal["parquet", "jsonl"]
FORMS: tuple[str, ...] = get_args(Form)

META, JOURNAL, SHARDS = "meta.json", "answers.jsonl", "shards.jsonl"

# Graphs of a shard; a multiple of those that are explained at a time.
_SHARD = 1_000


class AnswerFolder:
    """Answers of one job on the disk, in the order of their graphs.

    What is done is a number, since answers come in order: the graphs of the whole shards, and those of the
    journal, which begins anew with every shard.

    Args:
        folder: The folder; made if it is not there.
        job: What tells the job from others, see `describe`.
        form: Of the shards: `"parquet"`, or `"jsonl"` for a JSON line per graph.

    Raises:
        ConfigError: If the folder belongs to another job, or to another version of the code.

    Attributes:
        path: The folder.
        done: How many graphs are in it.
        found: For how many of them there is a counterfactual.
        failed: How many of them have no answer.
        repaired: Whether a last line that a crash cut off was dropped.
    """

    def __init__(self, folder: Path, job: Mapping[str, Any], form: Form = "parquet") -> None:
        if form not in FORMS:
            raise unknown_name("form of shards", form, FORMS)
        if form == "parquet":
            _parquet()
        self.path = as_path(folder, ArtifactError)
        check_name(self.path, ArtifactError)
        self._form: Form = form
        self._open(job)
        self._shards = LineFile(self.path / SHARDS)
        self._inputs: list[str] = [row["inputs"] for row in self._shards.found]
        self._sizes: list[int] = [row["rows"] for row in self._shards.found]
        self.found = sum(row["found"] for row in self._shards.found)
        self.failed = sum(row["failed"] for row in self._shards.found)
        self._first = sum(self._sizes)
        self._journal = LineFile(self.path / JOURNAL)
        self.repaired = self._shards.repaired or self._journal.repaired
        # Of a shard that was whole when a crash came before the journal was cleared.
        waiting = [row for row in self._journal.found if row["graph"] >= self._first]
        if waiting and waiting[0]["graph"] != self._first:
            raise ArtifactError(
                f"expected graph {self._first} first in {self.path / JOURNAL}, got graph "
                f"{waiting[0]['graph']}; restore the folder, or give another."
            )
        if len(waiting) < len(self._journal.found):
            self._journal.clear()
            self._journal.extend(map(line_of, waiting))
        self._count([(row["input"], row["found"], row["error"] is not None) for row in waiting])

    def _count(self, rows: Iterable[tuple[str, bool, bool]], *, anew: bool = True) -> None:
        """Note what the journal holds: fingerprint of the graph, whether found, whether failed."""
        if anew:
            self._waiting: list[tuple[str, bool, bool]] = []
        for row in rows:
            self._waiting.append(row)
            self.found += row[1]
            self.failed += row[2]
        self.done = self._first + len(self._waiting)

    def _open(self, job: Mapping[str, Any]) -> None:
        path = self.path / META
        own = {"kind": "answers", "job": dict(job), "code": code_version(), "form": self._form}
        if self.path.exists() and not self.path.is_dir():
            raise ConfigError(
                f"expected a folder for the answers, got the file {self.path}; give another."
            )
        if not os.path.lexists(path):
            others = [JOURNAL, SHARDS]
            if any((self.path / name).exists() for name in others):
                raise ArtifactError(
                    f"expected {META} beside the answers in {self.path}, got none; give another folder."
                )
            write_json(path, own)
            return
        meta = read_json(path)
        if meta.get("kind") != "answers" or "job" not in meta:
            raise ConfigError(
                f"expected a folder of answers, got one of something else in {self.path}; give another."
            )
        if meta.get("code") != own["code"]:
            raise ConfigError(
                f"expected a folder of edgeflip {own['code']}, got one of {meta.get('code')} in "
                f"{self.path}; answers of two versions cannot be mixed: give another folder."
            )
        wanted = json.loads(json.dumps(own["job"]))
        differing = sorted(
            key for key in {*wanted, *meta["job"]} if wanted.get(key) != meta["job"].get(key)
        )
        if differing:
            raise ConfigError(
                f"expected a folder of the same job, got one whose {' and '.join(differing)} differ in "
                f"{self.path}; give another folder."
            )
        if meta.get("form") != self._form:
            raise ConfigError(
                f"expected shards of the form '{meta.get('form')}', as in {self.path}, got "
                f"'{self._form}'; keep the form or give another folder."
            )

    def pass_by(self, graphs: Iterator[Data]) -> None:
        """Draw the graphs whose answers are there, and see that they are the same.

        Raises:
            ConfigError: If they are others, or fewer.
        """
        for size, known in zip(self._sizes, self._inputs, strict=True):
            if digest_of(self._drawn(graphs, size)) != known:
                raise self._other_graphs()
        if self._drawn(graphs, len(self._waiting)) != [each[0] for each in self._waiting]:
            raise self._other_graphs()

    def _drawn(self, graphs: Iterator[Data], count: int) -> list[str]:
        found: list[str] = []
        for _ in range(count):
            graph = next(graphs, None)
            if graph is None:
                raise self._other_graphs()
            found.append(fingerprint_or_none(graph))
        return found

    def _other_graphs(self) -> ConfigError:
        return ConfigError(
            f"expected the graphs that the answers in {self.path} were begun with, in their order, got "
            "others; give another folder."
        )

    def extend(self, outcomes: Sequence[Outcome]) -> None:
        """Keep outcomes that follow those that are there; when this returns, they are on the disk."""
        start = 0
        while start < len(outcomes):
            some = outcomes[start : start + _SHARD - len(self._waiting)]
            self._journal.extend(each.line for each in some)
            rows = [(o.input, o.found, o.explained.failure is not None) for o in some]
            self._count(rows, anew=False)
            if len(self._waiting) >= _SHARD:
                self.close_shard()
            start += len(some)

    def close_shard(self) -> None:
        """Make a shard of what the journal holds; nothing where it is empty."""
        if not self._waiting:
            return
        number = len(self._sizes)
        path = self.path / f"answers-{number:06d}.{self._form}"
        if self._form == "parquet":
            _write_parquet(self._rows(), path)
        else:
            write_whole(path, lambda name: shutil.copyfile(self._journal.path, name))
        inputs = digest_of(each[0] for each in self._waiting)
        shard = {
            "kind": "shard",
            "dataset": "",
            "graph": number,
            "rows": len(self._waiting),
            "found": sum(found for _, found, _ in self._waiting),
            "failed": sum(failed for *_, failed in self._waiting),
            "inputs": inputs,
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
        }
        self._shards.extend([line_of(shard)])
        self._journal.clear()
        self._sizes.append(len(self._waiting))
        self._inputs.append(inputs)
        self._first += len(self._waiting)
        self._waiting = []

    def _rows(self) -> Iterator[Row]:
        """The rows of the journal that are not in a shard, each read when it is wanted."""
        with self._journal.path.open("rb") as file:
            for line in file:
                row: Row = json.loads(line)
                if row["graph"] >= self._first:
                    yield row

    def close(self) -> None:
        """Close the files; what is not yet a shard stays in the journal."""
        self._journal.close()
        self._shards.close()


def read_answers(folder: str | os.PathLike[str]) -> Iterator[Explained]:
    """What a folder of answers holds, in the order of the graphs, a shard at a time.

    Args:
        folder: A folder that `explain_into` wrote; it may be unfinished, and is not changed.

    Raises:
        ArtifactError: If it is no such folder, or was changed.
    """
    path = as_path(folder, ArtifactError)
    if not (path / META).is_file() or not (path / SHARDS).is_file():
        raise ArtifactError(
            f"expected a folder of answers with {META} and {SHARDS}, got none in {path}; give one that "
            "explain_into or 'edgeflip explain --all' wrote."
        )
    form = read_json(path / META).get("form")
    first = 0
    for shard in read_rows(path / SHARDS, all_signed=True).rows:
        file = path / f"answers-{shard['graph']:06d}.{form}"
        content = file.read_bytes() if file.is_file() else b""
        if hashlib.sha256(content).hexdigest() != shard["sha256"]:
            raise ArtifactError(
                f"expected {file} as it was written, got {'another' if content else 'none'}; restore it, or "
                "explain the graphs again into another folder."
            )
        first += shard["rows"]
        rows = _read_parquet(file) if form == "parquet" else read_rows(file, all_signed=True).rows
        yield from map(Explained.from_row, rows)
    if (path / JOURNAL).is_file():
        for row in read_rows(path / JOURNAL, all_signed=True).rows:
            if row["graph"] >= first:
                yield Explained.from_row(row)


def digest_of(fingerprints: Iterable[str]) -> str:
    """One fingerprint of many, in their order."""
    return hashlib.sha256("\n".join(fingerprints).encode()).hexdigest()


def _parquet() -> Any:
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ConfigError(
            "expected pyarrow for shards in Parquet, got no such package; pip install 'edgeflip[bench]', or "
            "ask for the form 'jsonl'."
        ) from error
    return pyarrow


# Rows of a table that are in memory at once.
_AT_ONCE = 100

# Columns that are JSON in a table: their shape is another for each graph.
_AS_TEXT = ("added", "removed")


def _write_parquet(rows: Iterator[Row], path: Path) -> None:
    pa = _parquet()
    schema = pa.schema(
        {
            "graph": pa.int64(),
            "input": pa.string(),
            "status": pa.string(),
            "error": pa.string(),
            "found": pa.bool_(),
            "size": pa.int64(),
            "added": pa.string(),
            "removed": pa.string(),
            "calls": pa.int64(),
            "seconds": pa.float64(),
            "answer": pa.string(),
        }
    )

    def write(temporary: str) -> None:
        with (
            open(temporary, "xb") as file,
            pa.parquet.ParquetWriter(file, schema, compression="zstd") as table,
        ):
            while some := list(islice(rows, _AT_ONCE)):
                flat = [
                    row | {key: json.dumps(row[key]) for key in _AS_TEXT if row[key] is not None}
                    for row in some
                ]
                table.write_table(pa.Table.from_pylist(flat, schema=schema))

    write_whole(path, write)


def _read_parquet(path: Path) -> Iterator[Row]:
    for batch in _parquet().parquet.ParquetFile(path).iter_batches(_AT_ONCE):
        yield from batch.to_pylist()
