"""How long the command line takes to start, and what it loads for that.

Each command runs in a process of its own under `-X importtime`, several times; the fastest run counts, for
the others measure what else the machine was doing.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

COMMANDS = {
    "import edgeflip": ("-c", "import edgeflip"),
    "edgeflip --help": ("-m", "edgeflip", "--help"),
    "edgeflip --version": ("-m", "edgeflip", "--version"),
    "edgeflip explain --help": ("-m", "edgeflip", "explain", "--help"),
    "a misspelt command": ("-m", "edgeflip", "explian"),
    "a misspelt option": ("-m", "edgeflip", "explain", "--indexx", "0"),
    "a misspelt dataset": ("-m", "edgeflip", "explain", "ba_2motif", "--index", "0"),
    "a misspelt method": (
        "-m",
        "edgeflip",
        "explain",
        "bbbp",
        "--index",
        "0",
        "--method",
        "randum",
    ),
    "a misspelt class": ("-m", "edgeflip", "explain", "bbbp", "--index", "0", "--target", "yess"),
    "edgeflip methods": ("-m", "edgeflip", "methods", "--json"),
}


@dataclass(frozen=True)
class Start:
    """How one command starts.

    Attributes:
        command: What was run.
        cpu_seconds: CPU seconds of the fastest run, Python's own start included: what it takes on an idle
            core.
        seconds: Wall-clock seconds of the fastest run, which other work on the machine lengthens.
        imports: Seconds of these spent on imports, as `-X importtime` counts them.
        modules: How many modules were imported.
        torch: Whether torch was among them.
    """

    command: str
    cpu_seconds: float
    seconds: float
    imports: float
    modules: int
    torch: bool


def measure(command: str, arguments: tuple[str, ...], rounds: int) -> Start:
    """The fastest of several starts."""
    walls, cpus = [], []
    for _ in range(rounds):
        started, cpu_started = time.perf_counter(), _cpu_of_children()
        done = subprocess.run(
            [sys.executable, *arguments], capture_output=True, text=True, check=False
        )
        walls.append(time.perf_counter() - started)
        cpus.append(_cpu_of_children() - cpu_started)
        if done.returncode not in (0, 2):
            raise SystemExit(f"'{command}' ended with {done.returncode}: {done.stderr[-300:]}")
    traced = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    rows = [line.split("|") for line in traced.stderr.splitlines() if line.count("|") == 2]
    own = [(row[0].rpartition(":")[2].strip(), row[2].strip()) for row in rows]
    counted = [(int(microseconds), name) for microseconds, name in own if microseconds.isdecimal()]
    return Start(
        command,
        cpu_seconds=min(cpus),
        seconds=min(walls),
        imports=sum(microseconds for microseconds, _ in counted) / 1e6,
        modules=len(counted),
        torch=any(name.partition(".")[0] == "torch" for _, name in counted),
    )


def _cpu_of_children() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="runs of each command")
    parser.add_argument("--only", nargs="*", choices=list(COMMANDS), help="only these")
    parser.add_argument("--json", action="store_true", help="print JSON")
    given = parser.parse_args(argv)
    starts = [measure(name, COMMANDS[name], given.rounds) for name in given.only or COMMANDS]
    if given.json:
        print(json.dumps([asdict(start) for start in starts]))
        return
    print("| command | CPU s | wall s | imports s | modules | torch |")
    print("| --- | --- | --- | --- | --- | --- |")
    for start in starts:
        loaded = "loaded" if start.torch else "not loaded"
        print(
            f"| {start.command} | {start.cpu_seconds:.2f} | {start.seconds:.2f} | {start.imports:.2f} "
            f"| {start.modules} | {loaded} |"
        )


if __name__ == "__main__":
    main()
