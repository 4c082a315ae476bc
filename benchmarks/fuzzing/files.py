"""Files that users bring, as entries: a valid file, a mutation, and what must be true if it is read."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import urllib.error
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import Any
from unittest.mock import patch

from edgeflip import load_graphs, read_graph
from edgeflip.datasets.catalogue import RequiredFile
from edgeflip.datasets.dig import load_dig
from edgeflip.datasets.download import fetch_file
from fuzzing.corpus import csv_text, pickles
from fuzzing.entry import Case, Entry, Room
from fuzzing.mutation import mutated_bytes, mutated_table, mutated_xml, nasty_value
from fuzzing.rightness import bundle_of, graph_of_json, require, sound_graph
from fuzzing.words import changed_json, changes, copied, shown


def _graph_json(*names: str) -> Callable[[random.Random, Room, int], Case]:
    def make(rng: random.Random, room: Room, number: int) -> Case:
        original = (room.corpus / rng.choice(names)).read_bytes()
        content = changed_json(original, rng)
        text = changes(json.loads(original), content)
        return _graph_case(room, "g.json", content, graph_of_json(content), rng, text)

    return make


def _graph_case(
    room: Room,
    name: str,
    content: bytes,
    check: Callable[[Any], None],
    rng: random.Random,
    text: str = "",
) -> Case:
    if rng.random() < 0.1:
        name, packed = f"{name}.gz", gzip.compress(content, mtime=0)
        content = packed if rng.random() < 0.5 else mutated_bytes(packed, rng)
        check = sound_graph
    path = room.work / name
    path.write_bytes(content)
    return Case(lambda: read_graph(path), f"read_graph {name}: {text or shown(content)}", check)


def _graph_xml(name: str) -> Callable[[random.Random, Room, int], Case]:
    def make(rng: random.Random, room: Room, number: int) -> Case:
        content = (room.corpus / name).read_bytes()
        change = mutated_xml if rng.random() < 0.6 else mutated_bytes
        return _graph_case(room, name, change(content, rng), sound_graph, rng)

    return make


def _tu(rng: random.Random, room: Room, number: int) -> Case:
    folder = copied(room, "tu")
    for optional in ("node_labels", "node_attributes"):
        if rng.random() < 0.3:
            (folder / f"OWN_{optional}.txt").unlink()
    files = sorted(folder.iterdir())
    changed = rng.sample(files, rng.choice((1, 1, 2)))
    for file in changed:
        _change_numbers(file, rng)
    if rng.random() < 0.1:
        file = rng.choice(files)
        (folder / f"{file.name}.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
        file.unlink()
    labels = folder / "OWN_graph_labels.txt"
    check = None
    if labels.exists():
        lines = [line for line in labels.read_bytes().decode("latin1").splitlines() if line.strip()]
        check = bundle_of(
            [
                line.replace(",", " ").split()[0] if line.replace(",", " ").split() else ""
                for line in lines
            ]
        )
    text = ", ".join(
        f"{file.name}: {_difference(file, room.corpus / 'tu' / file.name)}" for file in changed
    )
    return Case(lambda: load_graphs(folder), f"load_graphs TU {text}", check)


def _change_numbers(file: Path, rng: random.Random) -> None:
    content = file.read_bytes()
    if rng.random() < 0.1:
        file.write_bytes(b"")
    elif rng.random() < 0.35:
        file.write_bytes(mutated_bytes(content, rng))
    elif rng.random() < 0.3:
        # The same for all: labels of many digits, say.
        values = sorted(set(content.decode().split("\n")))
        words = {value: str(nasty_value(rng))[:60] for value in values}
        file.write_text(
            "\n".join(words[line] for line in content.decode().split("\n")), errors="replace"
        )
    else:
        rows = [line.split(", ") for line in content.decode().splitlines()]
        table = mutated_table(rows, rng)
        text = "\n".join(", ".join(row) for row in table) + "\n"
        file.write_bytes(text.encode("utf-8", errors="surrogatepass"))


def _difference(changed: Path, original: Path) -> str:
    if not changed.exists():
        return "missing"
    lines = changed.read_bytes().split(b"\n")
    before = original.read_bytes().split(b"\n") if original.exists() else []
    other = [line for line in lines if line not in before]
    return f"{len(lines)} lines, new ones {[line[:60] for line in other[:4]]}"


def _csv(rng: random.Random, room: Room, number: int) -> Case:
    content = (room.corpus / "molecules.csv").read_bytes()
    rows = [line.split(",") for line in content.decode().splitlines()]
    check = None
    if rng.random() < 0.3:
        content = mutated_bytes(content, rng)
    else:
        if rng.random() < 0.3:
            words = {row[1]: str(nasty_value(rng))[:60].strip() for row in rows[1:]}
            rows = [rows[0], *([row[0], words[row[1]], row[2]] for row in rows[1:])]
        elif rng.random() < 0.5:
            rows[rng.randrange(1, len(rows))][0] = _smiles(rng)
        else:
            rows = mutated_table(rows, rng)
        content = csv_text(rows).encode("utf-8", errors="surrogatepass")
        if rows and rows[0] == ["smiles", "label", "weight"]:
            check = bundle_of([row[1] if len(row) > 1 else "" for row in rows[1:] if row])
    skip = rng.random() < 0.4
    path = room.work / "m.csv"
    path.write_bytes(content)
    text = f"load_graphs m.csv skip_invalid={skip}: {shown(content)}"
    return Case(lambda: load_graphs(path, skip_invalid=skip, bonds=rng.random() < 0.3), text, check)


def _smiles(rng: random.Random) -> str:
    parts = [
        "C",
        "c1ccccc1",
        "N",
        "(",
        ")",
        "=",
        "#",
        "[Fe]",
        "[2H]",
        "%99",
        "1",
        ".",
        "[C@@H]",
        "*",
    ]
    parts += ["$", "[", "]", ">", ">>", "[H]", "[#6]", "[U+8]", "\x00", "é", "[CH30]", "/", "\\"]
    if rng.random() < 0.1:
        return rng.choice(
            ("C" * 20_000, "(" * 3_000, "C(" * 900 + ")" * 900, ".".join("C" * 2_000))
        )
    return "".join(rng.choice(parts) for _ in range(rng.randrange(1, 12)))


def _several(rng: random.Random, room: Room, number: int) -> Case:
    folder = copied(room, "several")
    file = rng.choice(sorted(folder.iterdir()))
    content = file.read_bytes()
    if file.suffix == ".json":
        file.write_bytes(changed_json(content, rng))
    elif file.suffix == ".csv":
        rows = [line.split(",") for line in content.decode().splitlines()]
        text = csv_text(mutated_table(rows, rng))
        file.write_bytes(text.encode("utf-8", errors="surrogatepass"))
    else:
        change = mutated_xml if rng.random() < 0.5 else mutated_bytes
        file.write_bytes(change(content, rng))
    if rng.random() < 0.1:
        extra = rng.choice(("more.json", "more.pkl", "more.txt", ".json", "g9.graphml"))
        (folder / extra).write_bytes(b"{}")
    text = f"load_graphs folder, {file.name}: {shown(file.read_bytes())}"

    def check(bundle: Any) -> None:
        for graph in bundle.graphs:
            sound_graph(graph)

    return Case(lambda: load_graphs(folder), text, check)


class _FakeAnswer:
    """What a web server sends."""

    def __init__(self, content: bytes, status: int, headers: dict[str, str]) -> None:
        self.status, self.headers = status, headers
        self._content = content

    def __enter__(self) -> _FakeAnswer:
        return self

    def __exit__(self, *details: object) -> None:
        pass

    def read(self, size: int) -> bytes:
        part, self._content = self._content[:size], self._content[size:]
        return part


def _http_error(code: int) -> urllib.error.HTTPError:
    return urllib.error.HTTPError("http://x/m.csv", code, "no", Message(), None)


def _download(rng: random.Random, room: Room, number: int) -> Case:
    content = (room.corpus / "molecules.csv").read_bytes()
    sent = content if rng.random() < 0.3 else mutated_bytes(content, rng)
    sha = hashlib.sha256(rng.choice((content, sent))).hexdigest()
    if rng.random() < 0.5:
        return _packed(rng, room, sent, sha)
    headers = {
        "Content-Length": rng.choice((str(len(sent)), "", "x", "-1", "1e9", str(10**30), "7"))
    }
    error = rng.choice(
        (
            *(None, None, None, None, TimeoutError(), urllib.error.URLError("no")),
            *(ConnectionResetError("gone"), OSError(28, "No space left on device")),
            *(_http_error(416), _http_error(404)),
        )
    )
    place = room.work / "d" / "m.csv"
    if rng.random() < 0.1:
        (room.work / "d").write_text("a file where a folder should be")
    elif rng.random() < 0.4:
        place.parent.mkdir()
        (place.parent / "m.csv.part").write_bytes(content[: rng.randrange(len(content))])
    file = RequiredFile(
        "d/m.csv", sha, rng.choice(("http://x/m.csv", "https://x/m.csv", "file:///x", "http://["))
    )
    status = rng.choice((200, 200, 206, 204))

    def opened(*args: object, **options: object) -> _FakeAnswer:
        if error is not None:
            raise error
        return _FakeAnswer(sent, status, headers)

    def run() -> bytes:
        with patch("urllib.request.urlopen", opened):
            return fetch_file(file, room.work).read_bytes()

    def check(found: Any) -> None:
        require(hashlib.sha256(found).hexdigest() == sha, "a file with another checksum was kept")

    return Case(run, f"fetch_file {status} {headers} {error!r} {file.url}: {shown(sent)}", check)


def _packed(rng: random.Random, room: Room, sent: bytes, sha: str) -> Case:
    packed = gzip.compress(sent, mtime=0)
    if rng.random() < 0.6:
        packed = mutated_bytes(packed, rng)
    if rng.random() < 0.03:
        packed = gzip.compress(b"[" * (300 << 20), compresslevel=1, mtime=0)
    (room.work / "m.csv.gz").write_bytes(packed)
    file = RequiredFile("m.csv", sha)

    def check(found: Any) -> None:
        require(hashlib.sha256(found).hexdigest() == sha, "content of another checksum was read")

    return Case(
        lambda: file.read(room.work, otherwise="put it there"), f"m.csv.gz: {shown(packed)}", check
    )


_PICKLES = pickles()


def _dig(rng: random.Random, room: Room, number: int) -> Case:
    folder = copied(room, "dig")
    file = rng.choice(sorted(folder.iterdir()))
    before = file.read_bytes()
    # Every other one of the first cases is a pickle as it is.
    turn, other = divmod(number, 2)
    chosen = _PICKLES[turn] if turn < len(_PICKLES) and not other else None
    if chosen is not None:
        file = next(folder.glob("*.pkl"))
        file.write_bytes(chosen)
    elif file.suffix == ".json":
        file.write_bytes(changed_json(before, rng))
    elif file.suffix == ".txt":
        _change_numbers(file, rng)
    else:
        content = before if rng.random() < 0.3 else rng.choice(_PICKLES)
        file.write_bytes(content if rng.random() < 0.4 else mutated_bytes(content, rng))
    if chosen is None and rng.random() < 0.1:
        file.unlink()
    text = f"{file.name}: {_difference(file, room.corpus / 'dig' / file.name)}"

    def check(bundle: Any) -> None:
        for graph in bundle.graphs:
            sound_graph(graph)

    return Case(lambda: load_dig(folder), f"load_dig, {text}", check)


def file_entries() -> list[Entry]:
    """Every format that users bring."""
    kinds = {
        "graph JSON": _graph_json("graph.json", "bare.json", "molecule.json"),
        "node-link JSON": _graph_json("link.json", "vectors.json"),
        "GraphML": _graph_xml("graph.graphml"),
        "GEXF": _graph_xml("graph.gexf"),
        "TU folder": _tu,
        "CSV of SMILES": _csv,
        "folder of graphs": _several,
        "DIG folder": _dig,
        "download": _download,
    }
    return [Entry(name, "files", make) for name, make in kinds.items()]
