"""What edgeflip writes itself, as entries: answers, oracles, explainers, specs and runs."""

from __future__ import annotations

import hashlib
import json
import random
import shutil
import tomllib
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any
from unittest.mock import patch

from edgeflip import EdgeFlip, load_explainer, load_oracle, make_explainer
from edgeflip.bench import list_specs, load_spec, run_bench, write_report
from edgeflip.bench.report import read_results
from edgeflip.cli.reading import read_overrides
from edgeflip.oracle import ModelOracle
from edgeflip.search import CounterfactualSet, verify_certificate
from edgeflip.support import Journal, read_tensors, write_tensors
from edgeflip.testing import example_graphs, example_oracle
from fuzzing.chosen import ANSWERS, EXPLAINERS, SPECS, put
from fuzzing.entry import Case, Entry, Room
from fuzzing.mutation import mutated_bytes, mutated_tree, nasty_value
from fuzzing.rightness import require
from fuzzing.words import changes, copied, dumped, shown, signed


@cache
def _oracle_of_answers() -> ModelOracle:
    return example_oracle()


def _changed_answer(payload: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """An answer with a change anywhere, or in one of the parts with a shape of their own."""
    parts = [(payload["space"], "graph"), (payload["space"], "constraints"), (payload, "goal")]
    parts += [
        (payload["space"]["graph"]["tensors"], key) for key in payload["space"]["graph"]["tensors"]
    ]
    parts += [(entry, "edits") for entry in payload["counterfactuals"][:2]]
    if rng.random() < 0.5:
        holder, part = rng.choice(parts)
        holder[part] = mutated_tree(holder[part], rng)
        return payload
    changed: dict[str, Any] = mutated_tree(payload, rng)
    return changed


def _answer(rng: random.Random, room: Room, number: int) -> Case:
    names = ("answer.json", "answer_targeted.json", "answer_molecule.json")
    content = (room.corpus / rng.choice(names)).read_bytes()
    before = json.loads(content)
    if number < len(ANSWERS):
        content = (room.corpus / "answer.json").read_bytes()
        before = json.loads(content)
        content = dumped(signed(put(json.loads(content), *ANSWERS[number])))
    elif rng.random() < 0.15:
        content = mutated_bytes(content, rng)
    else:
        changed = _changed_answer(json.loads(content), rng)
        content = dumped(changed if rng.random() < 0.05 else signed(changed))
    path = room.work / "answer.json"
    path.write_bytes(content)
    as_table, verified = rng.random() < 0.3, rng.random() < 0.3

    def run() -> CounterfactualSet:
        if as_table:
            answer = CounterfactualSet.from_dict(_loaded(content))
        else:
            answer = CounterfactualSet.load_json(path)
        _use(answer)
        if verified and answer.certificate is not None and sum(answer.certificate.tried) < 5_000:
            verify_certificate(answer, _oracle_of_answers())
        return answer

    return Case(run, f"load_json answer: {changes(before, content)}")


def _loaded(content: bytes) -> Any:
    """What the caller of `from_dict` has read somehow."""
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return {}


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
    return f"config.json: {changes(before, config.read_bytes())}"


def _oracle(rng: random.Random, room: Room, number: int) -> Case:
    folder = copied(room, "oracle")
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
    if number < len(EXPLAINERS):
        name = "explainer_edgeflip"
    folder = copied(room, name)
    if number < len(EXPLAINERS):
        config = folder / "config.json"
        text = f"config.json: {EXPLAINERS[number]}"
        config.write_bytes(
            dumped(signed(put(json.loads(config.read_bytes()), *EXPLAINERS[number])))
        )
    else:
        text = _changed_artifact(folder, rng)
    by_class = number < len(EXPLAINERS) or rng.random() < 0.2

    def run() -> Any:
        load = EdgeFlip.load if by_class else load_explainer
        explainer = load(folder, _oracle_of_answers())
        repr(explainer)
        return explainer

    return Case(run, f"load_explainer {name}, {text}")


def toml_text(value: Any) -> str:
    """A value as TOML, as far as TOML has a word for it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return (
            "{ " + ", ".join(f"{json.dumps(k)} = {toml_text(v)}" for k, v in value.items()) + " }"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(toml_text, value)) + "]"
    if isinstance(value, str):
        return json.dumps(value)
    return "null" if value is None else str(value)


def _spec(rng: random.Random, room: Room, number: int) -> Case:
    content = (room.corpus / rng.choice(("spec.toml", "tiny.toml"))).read_bytes()
    if number >= len(SPECS) and rng.random() < 0.35:
        content = mutated_bytes(content, rng)
    else:
        table = tomllib.loads(content.decode())
        if number < len(SPECS) or rng.random() < 0.4:
            key, value = SPECS[number] if number < len(SPECS) else rng.choice(SPECS)
            table[key] = value
        else:
            table = mutated_tree(table, rng)
        if isinstance(table, dict):
            text = "".join(f"{json.dumps(k)} = {toml_text(v)}\n" for k, v in table.items())
        else:
            text = toml_text(table)
        content = text.encode()
    path = room.work / "spec.toml"
    path.write_bytes(content)
    packaged = rng.choice([*list_specs(), "nothing"]) if rng.random() < 0.05 else None

    def run() -> Any:
        _, spec = load_spec(packaged or path)
        spec.checksum()
        return spec

    return Case(run, f"load_spec: {packaged or shown(content)}")


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
        text = f"line {place + 1}: {changes(before, lines[place])}"

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


_PICTURES = "edgeflip.bench.report.figures.all_pictures"


def _report(rng: random.Random, room: Room, number: int) -> Case:
    folder = _run_folder(room)
    meta, rows = folder / "meta.json", folder / "results.jsonl"
    before = json.loads(meta.read_bytes())
    if rng.random() < 0.2:
        meta.write_bytes(mutated_bytes(meta.read_bytes(), rng))
        text = f"meta.json: {shown(meta.read_bytes())}"
    elif rng.random() < 0.6:
        meta.write_bytes(dumped(signed(mutated_tree(before, rng))))
        text = f"meta.json: {changes(before, meta.read_bytes())}"
    else:
        lines = rows.read_bytes().splitlines()
        place = rng.randrange(len(lines))
        row = json.loads(lines[place])
        lines[place] = dumped(signed_row(mutated_tree(row, rng)))
        rows.write_bytes(b"\n".join(lines) + b"\n")
        text = f"results.jsonl line {place + 1}: {changes(row, lines[place])}"
    # Drawing takes nearly all of the time, and looks at no value that the tables do not.
    drawn = rng.random() < 0.15

    def run() -> Any:
        with nullcontext() if drawn else patch(_PICTURES, return_value=[]):
            return write_report(folder, room.work / "report")

    return Case(run, f"write_report, {text}")


def _resume(rng: random.Random, room: Room, number: int) -> Case:
    folder = _run_folder(room)
    shutil.copytree(room.corpus / "run" / "models", folder / "models")
    meta, rows = folder / "meta.json", folder / "results.jsonl"
    kind = rng.random()
    if kind < 0.3:
        before = json.loads(meta.read_bytes())
        meta.write_bytes(dumped(signed(mutated_tree(before, rng))))
        text = f"meta.json: {changes(before, meta.read_bytes())}"
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
    resume = rng.random() < 0.9
    return Case(
        lambda: run_bench(spec, folder, name=name, resume=resume), f"run_bench, {resume}, {text}"
    )


def _tensors(rng: random.Random, room: Room, number: int) -> Case:
    path = room.work / "t.safetensors"
    write_tensors(path, {"features": example_graphs(1, seed=number % 7)[0].x})
    path.write_bytes(mutated_bytes(path.read_bytes(), rng))
    return Case(lambda: read_tensors(path), f"read_tensors: {shown(path.read_bytes())}")


def saved_entries() -> list[Entry]:
    """Every file that edgeflip writes and reads again."""
    kinds = {
        "answer": _answer,
        "oracle folder": _oracle,
        "explainer folder": _explainer,
        "bench spec": _spec,
        "--set values": _set_values,
        "journal rows": _journal,
        "report of a run": _report,
        "run to go on with": _resume,
        "cached tensors": _tensors,
    }
    slow = {"report of a run", "run to go on with"}
    return [
        Entry(name, "files", make, weight=2.0 if name in slow else 1.0)
        for name, make in kinds.items()
    ]
