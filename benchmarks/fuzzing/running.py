"""Running cases: in processes that are watched, with a limit on time and memory for each."""

from __future__ import annotations

import multiprocessing
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from fuzzing.entry import FAILURES, Case, Entry, Outcome, Room, judged, rng_of
from fuzzing.reach import Line, Tracer

MEMORY = 2 << 30
"""Bytes that a case may take beyond what edgeflip and torch take themselves."""

_GRACE = 15.0


class _LateError(BaseException):
    """The time of a case is over; no code of edgeflip may catch this."""


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    def ring(*details: object) -> None:
        raise _LateError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def deep_stack() -> Iterator[None]:
    """Deeply nested values need a deep stack to be made, which the readers do not get."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(20_000)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


def made_case(entry: Entry, room: Room, number: int) -> Case:
    """One case of an entry; the same for the same seed and number."""
    with deep_stack():
        return entry.make(rng_of(room.seed, entry.name, number), room, number)


def run_case(entry: Entry, room: Room, number: int, tracer: Tracer | None = None) -> Outcome:
    """Make and judge one case in this process; the tracer, if there is one, sees how it is read."""
    case = made_case(entry, room, number)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            with _alarm(entry.seconds), tracer.watching() if tracer else nullcontext():
                outcome = judged(case)
        except _LateError:
            outcome = Outcome("hang", "took too long", f"more than {entry.seconds:.0f} s")
    if "_LateError" in outcome.where:
        outcome = replace(outcome, verdict="hang")
    return replace(
        outcome, text=case.text, seconds=time.perf_counter() - began, memory=peak_memory()
    )


def peak_memory() -> float:
    """The most memory that this process and its children have taken, in MB."""
    kinds = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    most = max(resource.getrusage(kind).ru_maxrss for kind in kinds)
    return most / (2**20 if sys.platform == "darwin" else 2**10)


@dataclass
class Tally:
    """What is known of one entry.

    Attributes:
        verdicts: How many cases ended which way.
        failures: The first case of every kind of failure, by where it failed: number and outcome.
        memory: The most memory that it took, in MB.
        slowest: Seconds of the slowest case.
        next: The number of the next case.
    """

    verdicts: Counter[str] = field(default_factory=Counter)
    failures: dict[str, tuple[int, Outcome]] = field(default_factory=dict)
    memory: float = 0.0
    slowest: float = 0.0
    next: int = 0

    @property
    def cases(self) -> int:
        """How many cases there were."""
        return sum(self.verdicts.values())

    @property
    def failed(self) -> int:
        """How many of them failed."""
        return sum(self.verdicts[kind] for kind in FAILURES)

    def add(self, number: int, outcome: Outcome) -> bool:
        """Count a case; true when it failed as none before it."""
        self.verdicts[outcome.verdict] += 1
        self.memory = max(self.memory, outcome.memory)
        self.slowest = max(self.slowest, outcome.seconds)
        self.next = number + 1
        if outcome.verdict in FAILURES and outcome.where not in self.failures:
            self.failures[outcome.where] = (number, outcome)
            return True
        return False


@dataclass(frozen=True)
class Plan:
    """What is run.

    Attributes:
        corpus: Folder of the valid files.
        failures: Where failing cases are kept.
        seed: Of all cases.
        cases: So many of every entry; None to go by time.
        seconds: For all entries together, when there is no number of cases.
    """

    corpus: Path
    failures: Path
    seed: int = 0
    cases: int | None = None
    seconds: float = 60.0


def run_here(entries: Sequence[Entry], plan: Plan) -> dict[str, Tally]:
    """Run a fixed number of cases in this process; for tests."""
    tallies = {entry.name: Tally() for entry in entries}
    for entry in entries:
        for number in range(plan.cases or 0):
            with _room(plan) as room:
                tallies[entry.name].add(number, run_case(entry, room, number))
    return tallies


@contextmanager
def _room(plan: Plan) -> Iterator[Room]:
    work = Path(tempfile.mkdtemp(prefix="fuzz-"))
    try:
        yield Room(plan.corpus, work, plan.seed)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _work(entry: Entry, plan: Plan, first: int, seconds: float, pipe: Connection) -> None:
    """What a worker does: case after case, each told before and after."""
    _quiet()
    _limit_memory()
    tracer = Tracer()
    seen: set[str] = set()
    end = time.monotonic() + seconds
    number = first
    while (plan.cases is None or number < plan.cases) and (
        plan.cases is not None or time.monotonic() < end
    ):
        pipe.send(("begin", number, None))
        with _room(plan) as room:
            try:
                outcome = run_case(entry, room, number, tracer)
            except Exception:
                # The harness itself is wrong, which must not be overlooked.
                outcome = Outcome("wrong", "the harness failed", traceback.format_exc()[-800:])
            if outcome.verdict in FAILURES and outcome.where not in seen:
                seen.add(outcome.where)
                _keep(entry, plan, number, outcome, room)
        pipe.send(("end", number, replace(outcome, lines=tracer.taken())))
        number += 1
    pipe.send(("done", number, None))


def _quiet() -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (1, 2):
        os.dup2(nowhere, stream)


def _limit_memory() -> None:
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:
        return
    limit = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))


def _keep(entry: Entry, plan: Plan, number: int, outcome: Outcome, room: Room) -> None:
    """Copy the files of a failing case, with a note that says how to repeat it."""
    name = f"{entry.name.replace(' ', '_').replace('-', '')}-{number}"
    folder = plan.failures / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(room.work, folder, dirs_exist_ok=True)
    note = [
        outcome.verdict,
        outcome.where,
        outcome.message,
        outcome.text,
        f"python benchmarks/fuzz.py --seed {plan.seed} --case '{entry.name}:{number}'",
    ]
    (folder / "case.txt").write_text("\n".join(note) + "\n", "utf-8", errors="backslashreplace")


class _Worker:
    """A process that runs the cases of one entry, and its watch."""

    def __init__(self, entry: Entry, plan: Plan, tally: Tally, seconds: float) -> None:
        self.entry, self.tally = entry, tally
        self.end = time.monotonic() + seconds
        self.plan = plan
        self._start()

    def _start(self) -> None:
        context = multiprocessing.get_context("fork")
        self.pipe, theirs = context.Pipe(duplex=False)
        left = max(0.0, self.end - time.monotonic())
        arguments = (self.entry, self.plan, self.tally.next, left, theirs)
        self.process = context.Process(target=_work, args=arguments, daemon=False)
        self.process.start()
        theirs.close()
        self.heard = time.monotonic()
        self.number = self.tally.next

    def listen(self) -> tuple[bool, tuple[Line, ...]]:
        """Take one message; whether the worker has finished, and the lines it reached."""
        try:
            kind, self.number, outcome = self.pipe.recv()
        except (EOFError, OSError):
            self.process.join()
            return self._lost("traceback", f"the process died ({self.process.exitcode})"), ()
        self.heard = time.monotonic()
        if kind == "end":
            self.tally.add(self.number, outcome)
            return False, outcome.lines
        if kind == "done":
            self.process.join()
        return kind == "done", ()

    def overdue(self) -> bool:
        """Whether the case has not come back from code that no alarm reaches; it is killed then."""
        if time.monotonic() - self.heard < self.entry.seconds + _GRACE:
            return False
        self.process.kill()
        self.process.join()
        return self._lost("hang", "took too long")

    def _lost(self, verdict: Any, where: str) -> bool:
        self.tally.add(self.number, Outcome(verdict, where, text=f"case {self.number}"))
        self.pipe.close()
        over = (
            self.tally.next >= (self.plan.cases or 0)
            if self.plan.cases
            else time.monotonic() > self.end
        )
        if not over:
            self._start()
        return over


def run_watched(
    entries: Sequence[Entry], plan: Plan, *, workers: int
) -> tuple[dict[str, Tally], set[Line]]:
    """Run all entries, several at a time; the tallies and the lines of readers that were reached."""
    tallies = {entry.name: Tally() for entry in entries}
    reached: set[Line] = set()
    weight = sum(entry.weight for entry in entries)
    # The long ones first, so that no core is idle at the end.
    waiting = sorted(entries, key=lambda entry: -entry.weight)
    active: list[_Worker] = []
    while waiting or active:
        while waiting and len(active) < workers:
            entry = waiting.pop(0)
            seconds = plan.seconds * workers * entry.weight / weight
            active.append(_Worker(entry, plan, tallies[entry.name], seconds))
        ready = wait([worker.pipe for worker in active], timeout=1.0)
        for worker in list(active):
            finished, lines = worker.listen() if worker.pipe in ready else (worker.overdue(), ())
            reached.update(lines)
            if finished:
                active.remove(worker)
    return tallies, reached
