"""The command line as entries: valid command lines, with words replaced, dropped, repeated or added."""

from __future__ import annotations

import contextlib
import io
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from edgeflip.cli import main
from edgeflip.errors import EdgeflipError
from fuzzing.chosen import LINES
from fuzzing.entry import Case, Entry, Room, WrongError
from fuzzing.mutation import mutated_bytes, nasty_value
from fuzzing.words import changed_json

DONE, NOTHING_FOUND, BAD_INPUT = 0, 1, 2
_SMALL = "--profile smoke --calls 30"
_OWN = "explain --model model.py:build"
_MOLECULES = "explain --data molecules.csv --oracle molecule_oracle"
_FINDS = ("explain",)

VALID = (
    "--help",
    "--version",
    "datasets --json",
    "methods",
    "metrics --json",
    "bench specs",
    f"{_OWN} --weights w.safetensors --graph graph.json {_SMALL}",
    f"explain --model model.py:one_logit --graph link.json --target 1 {_SMALL} --json",
    f"{_OWN} --graph graph.graphml --graph graph.gexf {_SMALL}",
    f"{_OWN} --graph graph.json --each-class --number 2 --out answers {_SMALL}",
    f"{_MOLECULES} --index 0 --method random {_SMALL}",
    f"{_MOLECULES} --index 1 --target ring --no-chemistry {_SMALL}",
    f"{_MOLECULES} --index 0 --stratified --skip-invalid --split train {_SMALL}",
    f"explain --data tu --index 0 --oracle new_oracle --method random --keep 3 --diversity 0.2 {_SMALL}",
    f"explain --data several --labels several/labels.csv --index 0 --method random {_SMALL}",
    f"{_OWN} --graph graph.json --no-additions --max-edits 2 --seconds 3 {_SMALL}",
    f"{_OWN} --graph graph.json --ranking paper=1,sparse=0.5 --robust 2 --seed 3 {_SMALL}",
    f"{_OWN} --graph graph.json --set certify=1 --set beam.width=4 {_SMALL}",
    f"explain --model model.py:nothing --graph graph.json {_SMALL}",
    f"explain --model model.py:broken --graph graph.json {_SMALL}",
    f"explain --model model.py:word --graph graph.json {_SMALL}",
    f"explain --model nowhere.py:build --graph graph.json {_SMALL}",
    "train --data molecules.csv --label-column label --smiles-column smiles --profile smoke --out trained",
    "train --data tu --profile smoke --method random --seed 1 --json",
    "verify answer.json --oracle oracle",
    "verify answer_targeted.json --oracle oracle",
    "bench run tiny.toml --out run --workers 1",
    "bench run tiny.toml --out fresh --dataset ba_2motifs --method random --models run/models",
    "bench report run --out report --ours random",
    "summarize --data tu --from-class 0 --steps 3 --patterns 1 --profile smoke --out summary",
    "data get ba_2motifs --data-dir data",
)
# Those that take seconds each; one in twenty.
_SLOW = (
    "train",
    "summarize",
    "bench run",
    "bench report",
    "explain --data tu",
    "explain --data several",
)


def _line(rng: random.Random) -> list[str]:
    while True:
        chosen = rng.choice(VALID)
        if not chosen.startswith(_SLOW) or rng.random() < 0.15:
            return chosen.split()


def changed_line(words: Sequence[str], rng: random.Random) -> list[str]:
    """A command line with a few of its words changed."""
    line = list(words)
    if rng.random() < 0.3:
        return line
    values = [place for place in range(1, len(line)) if line[place - 1].startswith("--")]
    if values and rng.random() < 0.5:
        line[rng.choice(values)] = _word(rng)
        return line
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        place = rng.randrange(len(line) + 1)
        action = rng.randrange(8)
        here = line[place : place + 1]
        if action < 3 and here:
            line[place] = _word(rng)
        elif action == 3:
            del line[place : place + 1]
        elif action == 4:
            line[place:place] = here or [_word(rng)]
        elif action == 5 and here:
            line[place] = here[0][: rng.randrange(len(here[0]) + 1)] + rng.choice(
                ("", "x", "=", "\x00", "é")
            )
        elif action == 6:
            line[place:place] = [rng.choice(_OPTIONS), _word(rng)]
        elif action == 7 and len(line) > 1:
            other = rng.choice(VALID).split()
            line[place:place] = [rng.choice(other)]
    return line


_OPTIONS = (
    *(
        "--index",
        "--target",
        "--keep",
        "--number",
        "--diversity",
        "--robust",
        "--seed",
        "--seconds",
    ),
    *(
        "--calls",
        "--max-edits",
        "--set",
        "--method",
        "--ranking",
        "--profile",
        "--graph",
        "--model",
    ),
    *("--weights", "--data", "--labels", "--oracle", "--out", "--split", "--workers", "--dataset"),
    *(
        "--data-dir",
        "--label-column",
        "--smiles-column",
        "--factual",
        "--theta",
        "--steps",
        "--ours",
    ),
    *("--patterns", "--from-class", "--to-class", "--models", "--graphs", "--task", "--prefer"),
)


def _word(rng: random.Random) -> str:
    if rng.random() < 0.5:
        value = nasty_value(rng)
        return (value if isinstance(value, str) else repr(value))[:6_000]
    return rng.choice(
        (
            *(
                "graph.json",
                "molecules.csv",
                "tu",
                "oracle",
                "model.py",
                "model.py:nothing",
                "run",
                ".",
            ),
            *(
                "model.py:broken",
                "w.safetensors",
                "/dev/null",
                "/proc/self/mem",
                "nowhere",
                "answer.json",
            ),
            *(
                "random",
                "edgeflip",
                "cf2",
                "dr-cfgnn",
                "ba_2motifs",
                "bbbp",
                "house",
                "-5",
                "1e400",
            ),
            *("beam.width=-1", "certify=nan", "a=b", ">0.5", "<0.5", "+0.3", "paper=0", "\ud800"),
        )
    )


def _prepared(rng: random.Random, room: Room, line: Sequence[str], *, change: bool) -> str:
    """Copy what the line names into its folder, and change one of the files now and then."""
    known = {entry.name for entry in room.corpus.iterdir()}
    named = {word.partition(":")[0].partition("/")[0] for word in line} & known
    for name in sorted(named):
        source = room.corpus / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, room.work / name)
    if not change or not named or rng.random() < 0.4:
        return ""
    files = [
        path for path in sorted(room.work.rglob("*")) if path.is_file() and path.suffix != ".py"
    ]
    if not files:
        return ""
    file = rng.choice(files)
    rewrite = changed_json if file.suffix == ".json" else mutated_bytes
    file.write_bytes(rewrite(file.read_bytes(), rng))
    return f", {file.relative_to(room.work)}: {file.read_bytes()[:200]!r}"


class _ExitError(Exception):
    """An exit code that is none of the documented ones."""


def in_process(line: Sequence[str], folder: Path) -> tuple[int, str, str]:
    """Run a command line here, with outputs that are as strict as a terminal's."""
    out = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="strict", write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), "utf-8", errors="backslashreplace", write_through=True)
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main(list(line))
                code: Any = DONE
            except SystemExit as end:
                code = end.code
    finally:
        os.chdir(before)
    texts = [stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err)]
    return int(code or 0), texts[0], texts[1]


def in_subprocess(line: Sequence[str], folder: Path) -> tuple[int, str, str]:
    """Run a command line as users do."""
    done = subprocess.run(
        [sys.executable, "-m", "edgeflip", *line],
        cwd=folder,
        capture_output=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        timeout=110,
        check=False,
    )
    return (
        done.returncode,
        done.stdout.decode(errors="replace"),
        done.stderr.decode(errors="replace"),
    )


def _ended(line: Sequence[str], code: int, out: str, err: str) -> int:
    """What a command's end means, in the words of a library call."""
    if code not in (DONE, NOTHING_FOUND, BAD_INPUT) or "Traceback (most recent" in err:
        last = err.strip().splitlines()[-1] if err.strip() else ""
        raise _ExitError(f"exit code {code}: {last[:300]}")
    if code == NOTHING_FOUND and not any(word in line for word in _FINDS):
        raise WrongError("exit code 1 from a command that does not look for counterfactuals")
    if code == BAD_INPUT:
        if not err.strip():
            raise WrongError("exit code 2 without a word")
        raise EdgeflipError(err.strip()[-300:])
    return code


def _command(run: Callable[[Sequence[str], Path], tuple[int, str, str]]) -> Any:
    def make(rng: random.Random, room: Room, number: int) -> Case:
        chosen = run is in_process and number < len(LINES)
        line = LINES[number].split() if chosen else changed_line(_line(rng), rng)
        if run is in_subprocess:
            line = [word.replace("\x00", "").encode("utf-8", "replace").decode() for word in line]
        files = _prepared(rng, room, line, change=not chosen)

        def act() -> int:
            return _ended(line, *run(line, room.work))

        text = " ".join(
            word[:80] if word.isprintable() and " " not in word else repr(word)[:80]
            for word in line
        )
        return Case(act, f"edgeflip {text}{files}")

    return make


def command_entries() -> list[Entry]:
    """The command line in this process, and a sample of it in processes of its own."""
    return [
        Entry("commands", "command line", _command(in_process), seconds=60, weight=6.0),
        Entry(
            "commands as processes",
            "command line",
            _command(in_subprocess),
            seconds=120,
            weight=3.0,
        ),
    ]
