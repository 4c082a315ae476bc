"""A run that is not done, small enough to be kept in a repository and gone on with in another clone."""

from __future__ import annotations

import lzma
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from edgeflip.bench.folder import META, read_meta
from edgeflip.errors import ArtifactError, ConfigError
from edgeflip.support import RESULTS, as_path, checked_call, locked, read_json, read_rows

_MODELS, _PART = "models", "rows-{:04d}.jsonl.xz"
# Models that take long and are small are worth their bytes; all others are learned again.
_DEAR_SECONDS, _SMALL_BYTES = 600.0, 5_000_000
_ORACLE, _FIT = "oracle-", "fit.json"


@dataclass(frozen=True)
class Packed:
    """What was packed or unpacked.

    Attributes:
        folder: Where to.
        rows: How many rows.
        models: How many oracles and fitted methods.
        commit: The git commit that the run is of; None if it is not known.
    """

    folder: Path
    rows: int
    models: int
    commit: str | None


@checked_call()
def pack_run(run: str | os.PathLike[str], into: str | os.PathLike[str]) -> Packed:
    """Keep a run in a folder that a repository can hold, or what is new of it since the last time.

    Rows are written once: every call adds a compressed file of those that came since, so that a repository
    grows by what is new. Oracles come along, and fits that took ten minutes or more, if they are small.

    Args:
        run: The folder of the run, which may be at work.
        into: Where to; a folder that an earlier call wrote is added to.

    Raises:
        ArtifactError: If there is no run, or the rows that are packed already are not its first ones.
    """
    source, place = as_path(run, ArtifactError), as_path(into, ArtifactError)
    meta = read_meta(source)
    whole = read_rows(source / RESULTS, all_signed=True)
    content = (source / RESULTS).read_bytes()
    content = content[: content.rfind(b"\n") + 1]
    known = b"".join(_unpacked(place))
    if not content.startswith(known):
        raise ArtifactError(
            f"expected {place} to hold the first rows of the run in {source}, got others; give another "
            "folder, or unpack that run and go on with it."
        )
    place.mkdir(parents=True, exist_ok=True)
    if len(content) > len(known):
        number = len(list(place.glob(_PART.replace("{:04d}", "*")))) + 1
        _write(place / _PART.format(number), lzma.compress(content[len(known) :]))
    _write(place / META, (source / META).read_bytes())
    models = [_kept(model, place / _MODELS / model.name) for model in _worth_keeping(source)]
    return Packed(place, len(whole.rows), len(models), _commit(meta))


@checked_call()
def unpack_run(packed: str | os.PathLike[str], into: str | os.PathLike[str]) -> Packed:
    """Lay out a packed run, so that the command that began it goes on with it.

    Raises:
        ArtifactError: If there is no packed run, or a row is not as it was written.
        ConfigError: If the folder is not empty.
    """
    source, folder = as_path(packed, ArtifactError), as_path(into, ConfigError)
    meta = read_meta(source)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ConfigError(f"expected an empty folder to unpack into, got {folder}; give another.")
    folder.mkdir(parents=True, exist_ok=True)
    with locked(folder, "a benchmark"):
        _write(folder / RESULTS, b"".join(_unpacked(source)))
        rows = read_rows(folder / RESULTS, all_signed=True).rows
        models = sorted((source / _MODELS).iterdir()) if (source / _MODELS).is_dir() else []
        for model in models:
            _kept(model, folder / _MODELS / model.name)
        # Last: with it the folder is a run.
        _write(folder / META, (source / META).read_bytes())
    return Packed(folder, len(rows), len(models), _commit(meta))


def _unpacked(place: Path) -> Iterator[bytes]:
    """The rows of each packed file, in the order in which they were measured."""
    for path in sorted(place.glob(_PART.replace("{:04d}", "*"))):
        try:
            yield lzma.decompress(path.read_bytes())
        except (OSError, lzma.LZMAError, EOFError) as error:
            raise ArtifactError(
                f"expected rows that pack_run wrote in {path}, got {error}; restore "
                "the file from the repository."
            ) from None


def _worth_keeping(run: Path) -> Iterator[Path]:
    """Finished models of a run that are needed to go on, and too dear or too particular to learn again."""
    for model in sorted((run / _MODELS).glob("*")):
        files = [path for path in model.rglob("*") if path.is_file()]
        if sum(path.stat().st_size for path in files) > _SMALL_BYTES:
            continue
        if model.name.startswith(_ORACLE):
            # What a finished one has last.
            if (model / "time.json").exists():
                yield model
        elif (model / _FIT).exists() and read_json(model / _FIT)["cpu_seconds"] >= _DEAR_SECONDS:
            yield model


def _kept(model: Path, to: Path) -> Path:
    return Path(shutil.copytree(model, to, dirs_exist_ok=True))


def _write(path: Path, content: bytes) -> None:
    """Write a file whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    part.write_bytes(content)
    os.replace(part, path)


def _commit(meta: dict[str, object]) -> str | None:
    commit = meta.get("commit")
    return commit if isinstance(commit, str) else None
