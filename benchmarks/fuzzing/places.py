"""Odd places as an entry: what is no file, no folder, not there, too large, or a way out."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from edgeflip import load_explainer, load_graphs, load_oracle, read_graph
from edgeflip.bench import load_spec
from edgeflip.bench.report import read_results
from edgeflip.datasets.catalogue import RequiredFile
from edgeflip.datasets.dig import load_dig
from edgeflip.search import CounterfactualSet
from edgeflip.support import Journal, read_json, read_tensors
from edgeflip.testing import example_oracle
from fuzzing.entry import Case, Entry, Room

# Readers by the file or folder of the corpus that each of them reads.
READERS: dict[str, tuple[str, Callable[[Path], Any]]] = {
    "read_graph": ("graph.json", read_graph),
    "read_graph packed": ("packed.json.gz", read_graph),
    "read_graph graphml": ("graph.graphml", read_graph),
    "load_graphs csv": ("molecules.csv", load_graphs),
    "load_graphs tu": ("tu", load_graphs),
    "load_graphs several": ("several", load_graphs),
    "load_graphs several labels": (
        "several",
        lambda folder: load_graphs(folder, labels=folder / "labels.csv"),
    ),
    "load_dig": ("dig", load_dig),
    "load_oracle": ("oracle", load_oracle),
    "load_explainer": (
        "explainer_random",
        lambda folder: load_explainer(folder, example_oracle()),
    ),
    "load_json": ("answer.json", CounterfactualSet.load_json),
    "read_json": ("answer.json", read_json),
    "load_spec": ("tiny.toml", load_spec),
    "read_results": ("run", read_results),
    "journal": ("run/results.jsonl", lambda path: Journal(path).close()),
    "read_tensors": ("w.safetensors", read_tensors),
    "required file": (
        "molecules.csv",
        lambda path: RequiredFile(path.name, "0").read(path.parent, otherwise="put it there"),
    ),
}
_LIMITS = ("", "0", "-1", "x", "1e3", "9" * 30, "1000", "20")


def _gone(path: Path, rng: random.Random) -> Path:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    return path


def _pipe(path: Path, rng: random.Random) -> Path:
    os.mkfifo(_gone(path, rng))
    return path


def _loop(path: Path, rng: random.Random) -> Path:
    _gone(path, rng).symlink_to(path.name)
    return path


def _way_out(path: Path, rng: random.Random) -> Path:
    _gone(path, rng).symlink_to(rng.choice(("/etc/passwd", "/dev/zero", "/proc/self/mem", "/")))
    return path


def _exchanged(path: Path, rng: random.Random) -> Path:
    """A file where a folder should be, and the other way round."""
    if path.is_dir():
        shutil.rmtree(path)
        path.write_text("{}")
    else:
        path.unlink()
        path.mkdir()
    return path


def _huge(path: Path, rng: random.Random) -> Path:
    """A file with a hole: ten gigabytes that take no room on the disk."""
    os.truncate(path, 10 << 30)
    return path


def _empty(path: Path, rng: random.Random) -> Path:
    path.write_bytes(b"")
    return path


def _renamed(path: Path, rng: random.Random) -> Path:
    endings = (".pkl", ".pt", ".txt", "", ".JSON", ".csv", ".csv.gz", ".json", ".graphml", ".toml")
    # A name such as .lock begins with its ending, and a file cannot be called nothing.
    stem = path.name.partition(".")[0] or "n"
    return path.rename(path.with_name(f"{stem}{rng.choice(endings)}"))


def _beside(path: Path, rng: random.Random) -> Path:
    """A name that no file can have."""
    return path.with_name(rng.choice(("n" * 5_000, "a\x00b", "\ud800", "..", "~", " ")))


def _joined(path: Path, rng: random.Random) -> Path:
    """Another file beside it, so that there are two of a kind."""
    extra = rng.choice(("B_A.txt", "b_node_features.pkl", "more.json", "more.pkl", "labels.csv"))
    (path.parent / extra).write_text("{}")
    return path


_ALONE = (_gone, _pipe, _loop, _way_out, _exchanged, _renamed, _beside, _joined)
_FILES = (*_ALONE, _huge, _empty)


def _place(rng: random.Random, room: Room, number: int) -> Case:
    name = rng.choice(sorted(READERS))
    given, read = READERS[name]
    top = room.work / given.partition("/")[0]
    source = room.corpus / top.name
    shutil.copytree(source, top) if source.is_dir() else shutil.copy(source, top)
    chosen = room.work / given
    inside = [part for part in sorted(top.rglob("*")) if part.is_file()] if top.is_dir() else []
    text, limits = "nothing", {}
    if rng.random() < 0.15:
        limits = _odd_limit(rng)
    elif inside and rng.random() < 0.7:
        part = rng.choice(inside)
        change = rng.choice(_FILES)
        change(part, rng)
        text = f"{change.__name__} on {part.relative_to(room.work)}"
    else:
        change = rng.choice(_FILES if chosen.is_file() else _ALONE)
        chosen = change(chosen, rng)
        text = f"{change.__name__} on {given}"

    def run() -> Any:
        with patch.dict(os.environ, limits):
            return read(chosen)

    return Case(run, f"{name}: {text} {limits or ''}")


def _odd_limit(rng: random.Random) -> dict[str, str]:
    """A limit of the user's own that is too small, or none at all."""
    names = (
        "FILE_BYTES",
        "ARRAY_BYTES",
        "SPEC_BYTES",
        "VALUES",
        "NESTING",
        "GRAPHS",
        "NODES",
        "EDGES",
    )
    more = ("COLUMNS", "FEATURES", "CLASSES", "ATOMS")
    return {f"EDGEFLIP_MAX_{rng.choice((*names, *more))}": rng.choice(_LIMITS)}


def place_entries() -> list[Entry]:
    """Every reader, with a path that leads somewhere else."""
    return [Entry("odd paths", "files", _place)]
