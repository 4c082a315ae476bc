"""The readers of files as entries: a valid file, a mutation, and what must be true if it is read."""

from __future__ import annotations

import gzip
import hashlib
import json
import random
import shutil
import urllib.error
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from edgeflip import load_explainer, load_graphs, load_oracle, make_explainer, read_graph
from edgeflip.bench import load_spec, run_bench, write_report
from edgeflip.bench.report import read_results
from edgeflip.cli.reading import read_overrides
from edgeflip.datasets.catalogue import RequiredFile
from edgeflip.datasets.dig import load_dig
from edgeflip.datasets.download import fetch_file
from edgeflip.search import CounterfactualSet, verify_certificate
from edgeflip.support import Journal, checksum, read_tensors, write_tensors
from edgeflip.testing import example_graphs, example_oracle
from fuzzing.corpus import csv_text
from fuzzing.entry import Case, Entry, Room
from fuzzing.mutation import mutated_bytes, mutated_table, mutated_tree, mutated_xml, nasty_value
from fuzzing.rightness import bundle_of, graph_of_json, require, sound_graph


def changed_json(content: bytes, rng: random.Random) -> bytes:
    """JSON with other values, or other bytes."""
    if rng.random() < 0.3:
        return mutated_bytes(content, rng)
    return dumped(mutated_tree(json.loads(content), rng))


def dumped(payload: Any) -> bytes:
    """JSON as careless programs write it: with infinities, and with halves of characters."""
    return json.dumps(payload).encode()


def _graph_json(*names: str) -> Callable[[random.Random, Room, int], Case]:
    def make(rng: random.Random, room: Room, number: int) -> Case:
        original = (room.corpus / rng.choice(names)).read_bytes()
        content = changed_json(original, rng)
        text = _changes(json.loads(original), content)
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


def shown(content: bytes) -> str:
    """The beginning of a file, for people."""
    return repr(content[:400]) + (f" … {len(content)} bytes" if len(content) > 400 else "")


def _copied(room: Room, name: str) -> Path:
    target = room.work / name
    shutil.copytree(room.corpus / name, target)
    return target


def _tu(rng: random.Random, room: Room, number: int) -> Case:
    folder = _copied(room, "tu")
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
        check = bundle_of([line.replace(",", " ").split()[0] if line.replace(",", " ").split() else "" for line in lines])
    text = ", ".join(f"{file.name}: {_difference(file, room.corpus / 'tu' / file.name)}" for file in changed)
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
        file.write_text("\n".join(words[line] for line in content.decode().split("\n")), errors="replace")
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
    return Case(
        lambda: load_graphs(path, skip_invalid=skip, bonds=rng.random() < 0.3), text, check
    )


def _smiles(rng: random.Random) -> str:
    parts = ["C", "c1ccccc1", "N", "(", ")", "=", "#", "[Fe]", "[2H]", "%99", "1", ".", "[C@@H]", "*"]
    parts += ["$", "[", "]", ">", ">>", "[H]", "[#6]", "[U+8]", "\x00", "é", "[CH30]", "/", "\\"]
    if rng.random() < 0.1:
        return rng.choice(("C" * 20_000, "(" * 3_000, "C(" * 900 + ")" * 900, ".".join("C" * 2_000)))
    return "".join(rng.choice(parts) for _ in range(rng.randrange(1, 12)))


def _several(rng: random.Random, room: Room, number: int) -> Case:
    folder = _copied(room, "several")
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


def _answer(rng: random.Random, room: Room, number: int) -> Case:
    names = ("answer.json", "answer_targeted.json", "answer_molecule.json")
    payload = json.loads((room.corpus / rng.choice(names)).read_bytes())
    if rng.random() < 0.15:
        content = mutated_bytes(dumped(payload), rng)
    else:
        content = dumped(signed(mutated_tree(payload, rng)))
    path = room.work / "answer.json"
    path.write_bytes(content)

    def run() -> CounterfactualSet:
        answer = CounterfactualSet.load_json(path)
        _use(answer)
        return answer

    return Case(run, f"load_json answer: {_changes(payload, content)}")


def _use(answer: CounterfactualSet) -> None:
    """Everything that people do with an answer."""
    str(answer)
    repr(answer)
    answer.to_rows()
    if answer.found:
        answer.edited_graph()
    again = CounterfactualSet.from_dict(answer.to_dict())
    require(again.to_dict() == answer.to_dict(), "an answer changed on its way through a file")
    if hasattr(answer, "summary"):
        answer.summary()
    if answer.certificate is not None and sum(answer.certificate.tried) < 5_000:
        verify_certificate(answer, example_oracle())


def signed(payload: Any) -> Any:
    """The payload with the right checksum, so that the reader looks further."""
    if not isinstance(payload, dict):
        return payload
    try:
        rest = {key: value for key, value in payload.items() if key != "checksum"}
        return {**rest, "checksum": checksum(rest)}
    except Exception:
        return payload


def _changes(before: Any, content: bytes) -> str:
    """Where a JSON file differs from the valid one."""
    try:
        after = json.loads(content)
    except (ValueError, RecursionError):
        return shown(content)
    found: list[str] = []
    _compare(before, after, "", found)
    return "; ".join(found[:4]) or "nothing"


def _compare(before: Any, after: Any, path: str, found: list[str]) -> None:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in sorted({*before, *after}):
            if key == "checksum":
                continue
            if key not in after:
                found.append(f"{path}.{key} missing")
            elif key not in before:
                found.append(f"{path}.{key} = {_short(after[key])} is new")
            else:
                _compare(before[key], after[key], f"{path}.{key}", found)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (one, other) in enumerate(zip(before, after, strict=True)):
            _compare(one, other, f"{path}[{index}]", found)
    elif type(before) is not type(after) or before != after:
        found.append(f"{path or 'all'} = {_short(after)}")


def _short(value: Any) -> str:
    try:
        return repr(value)[:80]
    except RecursionError:
        return "deeply nested"


def _changed_artifact(folder: Path, rng: random.Random) -> str:
    config, weights = folder / "config.json", folder / "model.safetensors"
    document = json.loads(config.read_bytes())
    before = json.loads(config.read_bytes())
    kind = rng.random()
    if kind < 0.12:
        rng.choice((config, weights)).unlink()
        return "a file is missing"
    if kind < 0.24:
        config.write_bytes(mutated_bytes(config.read_bytes(), rng))
        return f"config.json: {shown(config.read_bytes())}"
    if kind < 0.45:
        weights.write_bytes(mutated_bytes(weights.read_bytes(), rng))
        document["weights"]["sha256"] = hashlib.sha256(weights.read_bytes()).hexdigest()
        config.write_bytes(dumped(signed(document)))
        return f"model.safetensors: {shown(weights.read_bytes())}"
    if kind < 0.8 and isinstance(document["config"], dict):
        document["config"] = mutated_tree(document["config"], rng)
    else:
        document = mutated_tree(document, rng)
    config.write_bytes(dumped(signed(document)))
    return f"config.json: {_changes(before, config.read_bytes())}"


def _oracle(rng: random.Random, room: Room, number: int) -> Case:
    folder = _copied(room, "oracle")
    text = _changed_artifact(folder, rng)

    def run() -> Any:
        oracle = load_oracle(folder)
        repr(oracle)
        oracle.fingerprint()
        return oracle.predict_proba(example_graphs(2, seed=1))

    def check(output: Any) -> None:
        require(bool(output.isfinite().all()), "the oracle answers with NaN")

    return Case(run, f"load_oracle, {text}", check)


def _explainer(rng: random.Random, room: Room, number: int) -> Case:
    name = rng.choice(("explainer_edgeflip", "explainer_random", "explainer_cf2"))
    folder = _copied(room, name)
    text = _changed_artifact(folder, rng)

    def run() -> Any:
        explainer = load_explainer(folder, example_oracle())
        repr(explainer)
        return explainer

    return Case(run, f"load_explainer {name}, {text}")


def toml_text(value: Any) -> str:
    """A value as TOML, as far as TOML has a word for it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(k)} = {toml_text(v)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    return "null" if value is None else str(value)


def _spec(rng: random.Random, room: Room, number: int) -> Case:
    import tomllib

    content = (room.corpus / rng.choice(("spec.toml", "tiny.toml"))).read_bytes()
    if rng.random() < 0.35:
        content = mutated_bytes(content, rng)
    else:
        table = mutated_tree(tomllib.loads(content.decode()), rng)
        if isinstance(table, dict):
            text = "".join(f"{json.dumps(k)} = {toml_text(v)}\n" for k, v in table.items())
        else:
            text = toml_text(table)
        content = text.encode()
    path = room.work / "spec.toml"
    path.write_bytes(content)

    def run() -> Any:
        name, spec = load_spec(path)
        spec.checksum()
        return spec

    return Case(run, f"load_spec: {shown(content)}")


def _set_values(rng: random.Random, room: Room, number: int) -> Case:
    keys = ["ranking", "beam.width", "seconds", "iterations", "beam", "certify", "denoise", "x"]
    keys += ["factual", "one_hot", "training.epochs", "predictor.layers", "", ".", "a..b", "beam."]
    methods = ["edgeflip", "random", "dr-cfgnn", "cf2", "rsgg-ce", "gist", "d4explainer"]
    values = [
        f"{rng.choice(keys)}{rng.choice(['=', '=', '=', '', '=='])}{_set_text(rng)}"
        for _ in range(rng.randrange(1, 4))
    ]
    method = rng.choice(methods)

    def run() -> Any:
        return make_explainer(method, profile="smoke", overrides=read_overrides(values))

    return Case(run, f"--method {method} --set {[value[:80] for value in values]}")


def _set_text(rng: random.Random) -> str:
    value = nasty_value(rng)
    return value if isinstance(value, str) else json.dumps(value)


def _run_folder(room: Room) -> Path:
    folder = room.work / "run"
    folder.mkdir()
    for name in ("meta.json", "results.jsonl"):
        shutil.copy(room.corpus / "run" / name, folder / name)
    return folder


def _journal(rng: random.Random, room: Room, number: int) -> Case:
    folder = _run_folder(room)
    path = folder / "results.jsonl"
    content = path.read_bytes()
    if rng.random() < 0.4:
        path.write_bytes(mutated_bytes(content, rng))
        text = shown(path.read_bytes())
    else:
        lines = content.splitlines()
        place = rng.randrange(len(lines))
        before = json.loads(lines[place])
        lines[place] = dumped(signed_row(mutated_tree(before, rng)))
        path.write_bytes(b"\n".join(lines) + b"\n")
        text = f"line {place + 1}: {_changes(before, lines[place])}"

    def run() -> Any:
        results = read_results(folder)
        journal = Journal(path)
        journal.close()
        return results

    return Case(run, f"results.jsonl, {text}")


def signed_row(row: Any) -> Any:
    """A journal row with the right checksum, which is shorter than that of a file."""
    if not isinstance(row, dict) or not isinstance(row.get("checksum"), str):
        return row
    made = signed(row)
    return {**made, "checksum": made["checksum"][: len(row["checksum"])]}


def _report(rng: random.Random, room: Room, number: int) -> Case:
    folder = _run_folder(room)
    meta, rows = folder / "meta.json", folder / "results.jsonl"
    before = json.loads(meta.read_bytes())
    if rng.random() < 0.2:
        meta.write_bytes(mutated_bytes(meta.read_bytes(), rng))
        text = f"meta.json: {shown(meta.read_bytes())}"
    elif rng.random() < 0.6:
        meta.write_bytes(dumped(signed(mutated_tree(before, rng))))
        text = f"meta.json: {_changes(before, meta.read_bytes())}"
    else:
        lines = rows.read_bytes().splitlines()
        place = rng.randrange(len(lines))
        row = json.loads(lines[place])
        lines[place] = dumped(signed_row(mutated_tree(row, rng)))
        rows.write_bytes(b"\n".join(lines) + b"\n")
        text = f"results.jsonl line {place + 1}: {_changes(row, lines[place])}"
    return Case(lambda: write_report(folder, room.work / "report"), f"write_report, {text}")


def _resume(rng: random.Random, room: Room, number: int) -> Case:
    folder = _run_folder(room)
    shutil.copytree(room.corpus / "run" / "models", folder / "models")
    meta, rows = folder / "meta.json", folder / "results.jsonl"
    kind = rng.random()
    if kind < 0.3:
        before = json.loads(meta.read_bytes())
        meta.write_bytes(dumped(signed(mutated_tree(before, rng))))
        text = f"meta.json: {_changes(before, meta.read_bytes())}"
    elif kind < 0.5:
        rng.choice((meta, rows)).unlink()
        text = "a file is missing"
    elif kind < 0.7:
        place = rng.choice(sorted((folder / "models").rglob("*.*")))
        place.write_bytes(mutated_bytes(place.read_bytes(), rng))
        text = f"models/{place.name}: {shown(place.read_bytes())}"
    else:
        rows.write_bytes(mutated_bytes(rows.read_bytes(), rng))
        text = f"results.jsonl: {shown(rows.read_bytes())}"
    name, spec = load_spec(room.corpus / "tiny.toml")
    return Case(lambda: run_bench(spec, folder, name=name), f"run_bench, {text}")


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


def _download(rng: random.Random, room: Room, number: int) -> Case:
    content = (room.corpus / "molecules.csv").read_bytes()
    sent = content if rng.random() < 0.3 else mutated_bytes(content, rng)
    sha = hashlib.sha256(rng.choice((content, sent))).hexdigest()
    if rng.random() < 0.5:
        return _packed(rng, room, sent, sha)
    headers = {"Content-Length": rng.choice((str(len(sent)), "", "x", "-1", "1e9", str(10**30), "7"))}
    error = rng.choice(
        (None, None, None, ConnectionResetError("gone"), TimeoutError(), urllib.error.URLError("no"))
    )
    place = room.work / "d" / "m.csv"
    if rng.random() < 0.3:
        place.parent.mkdir()
        (place.parent / "m.csv.part").write_bytes(content[: rng.randrange(len(content))])
    file = RequiredFile("d/m.csv", sha, rng.choice(("http://x/m.csv", "https://x/m.csv", "file:///x", "http://[")))
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


def _dig(rng: random.Random, room: Room, number: int) -> Case:
    folder = _copied(room, "dig")
    file = rng.choice(sorted(folder.iterdir()))
    before = file.read_bytes()
    if file.suffix == ".json":
        file.write_bytes(changed_json(before, rng))
    elif file.suffix == ".txt":
        _change_numbers(file, rng)
    else:
        file.write_bytes(mutated_bytes(before, rng))
    if rng.random() < 0.1:
        file.unlink()
    text = f"{file.name}: {_difference(file, room.corpus / 'dig' / file.name)}"

    def check(bundle: Any) -> None:
        for graph in bundle.graphs:
            sound_graph(graph)

    return Case(lambda: load_dig(folder), f"load_dig, {text}", check)


def _tensors(rng: random.Random, room: Room, number: int) -> Case:
    path = room.work / "t.safetensors"
    write_tensors(path, {"features": example_graphs(1, seed=number % 7)[0].x})
    path.write_bytes(mutated_bytes(path.read_bytes(), rng))
    return Case(lambda: read_tensors(path), f"read_tensors: {shown(path.read_bytes())}")


def file_entries() -> list[Entry]:
    """Every format that edgeflip reads."""
    kinds = {
        "graph JSON": _graph_json("graph.json", "bare.json", "molecule.json"),
        "node-link JSON": _graph_json("link.json", "vectors.json"),
        "GraphML": _graph_xml("graph.graphml"),
        "GEXF": _graph_xml("graph.gexf"),
        "TU folder": _tu,
        "CSV of SMILES": _csv,
        "folder of graphs": _several,
        "DIG folder": _dig,
        "answer": _answer,
        "oracle folder": _oracle,
        "explainer folder": _explainer,
        "bench spec": _spec,
        "--set values": _set_values,
        "journal rows": _journal,
        "report of a run": _report,
        "run to go on with": _resume,
        "download": _download,
        "cached tensors": _tensors,
    }
    slow = {"report of a run", "run to go on with"}
    return [
        Entry(name, "files", make, weight=2.0 if name in slow else 1.0)
        for name, make in kinds.items()
    ]
