"""Bad input at every way into edgeflip: files, library calls and command lines.

    python benchmarks/fuzz.py --minutes 10                     # every entry
    python benchmarks/fuzz.py --minutes 1 --entries GraphML GEXF
    python benchmarks/fuzz.py --cases 200 --seed 3             # the same cases on every machine
    python benchmarks/fuzz.py --case 'graph JSON:17'           # one of them again, with its traceback
    python benchmarks/fuzz.py --minutes 10 --write docs/reliability.md

Valid files of every format are made first. Cases are mutations of their bytes and of the values in
them, library calls whose arguments hypothesis draws, and command lines with words changed. A case is
accepted, refused with an error of edgeflip's own, or failed: an exception that is none of these or
exit code 70 (tracebacks), input read as something else (wrong), too long (hangs), too much memory.
Failing cases are kept in a folder, one of each kind. Ends with exit code 1 when anything failed, and
with 3 when a run over all entries reached less than nine tenths of the lines of some reader.

A case depends on the seed and its number alone; only how many there are depends on the time.
"""

from __future__ import annotations

import argparse
import json
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import torch

from fuzzing.calls import call_entries
from fuzzing.commands import command_entries
from fuzzing.corpus import make_corpus
from fuzzing.data_calls import data_call_entries
from fuzzing.entry import Entry, Room
from fuzzing.files import file_entries
from fuzzing.places import place_entries
from fuzzing.running import Plan, made_case, run_watched
from fuzzing.saved import saved_entries
from fuzzing.tables import WANTED, Figures, write_between_markers


def all_entries() -> list[Entry]:
    """Every way into edgeflip."""
    return [
        *file_entries(),
        *saved_entries(),
        *place_entries(),
        *call_entries(),
        *data_call_entries(),
        *command_entries(),
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the cases and print what became of them."""
    options = _options(argv)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    entries = _chosen(options.entries)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        corpus = make_corpus(Path(folder) / "corpus")
        if options.case:
            _repeat(options.case, Room(corpus, Path(folder) / "work", options.seed))
            return
        plan = Plan(corpus, Path(options.out), options.seed, options.cases, options.minutes * 60)
        began = time.monotonic()
        tallies, reached = run_watched(entries, plan, workers=options.workers)
    minutes = (time.monotonic() - began) / 60
    figures = Figures(entries, tallies, reached, options.seed, minutes)
    print(json.dumps(figures.as_table()) if options.json else figures.as_markdown())
    if options.write:
        write_between_markers(Path(options.write), figures.as_markdown(failures=False))
    code = ending(figures, plan.failures, everything=not options.entries)
    if code:
        raise SystemExit(code)


def ending(figures: Figures, failures: Path, *, everything: bool) -> int:
    """The exit code of a run, with a word on stderr when it is not 0."""
    if figures.failed:
        print(f"{figures.failed} cases failed; one of each kind is in {failures}", file=sys.stderr)
        return 1
    if everything and figures.below:
        few = ", ".join(line.partition(":")[0] for line in figures.below)
        print(f"less than {WANTED:.0%} of the lines were reached of: {few}", file=sys.stderr)
        return 3
    return 0


def _options(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="for all entries together")
    parser.add_argument("--cases", type=int, help="of every entry, in place of minutes")
    parser.add_argument("--entries", nargs="+", metavar="NAME", help="only these; see --list")
    parser.add_argument("--list", action="store_true", help="the names of the entries")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=2, help="processes at a time")
    parser.add_argument("--case", metavar="NAME:NUMBER", help="run one case again, here")
    parser.add_argument("--out", default="fuzz_failures", help="where failing cases are kept")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--write", metavar="FILE", help="put the tables between its markers")
    options = parser.parse_args(argv)
    if options.list:
        print("\n".join(entry.name for entry in all_entries()))
        raise SystemExit(0)
    return options


def _chosen(names: Sequence[str] | None) -> list[Entry]:
    entries = {entry.name: entry for entry in all_entries()}
    unknown = [name for name in names or () if name not in entries]
    if unknown:
        raise SystemExit(f"no entry '{unknown[0]}'; there are: {', '.join(entries)}")
    return [entry for entry in entries.values() if not names or entry.name in names]


def _repeat(wanted: str, room: Room) -> None:
    name, _, number = wanted.rpartition(":")
    (entry,) = _chosen([name])
    room.work.mkdir()
    case = made_case(entry, room, int(number))
    print(case.text.encode(errors="backslashreplace").decode())
    result = case.run()
    if case.check is not None:
        case.check(result)
    print(f"accepted: {result!r:.300}")


if __name__ == "__main__":
    main()
