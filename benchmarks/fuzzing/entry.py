"""What is fuzzed: an entry makes cases from a number, and a case says how it ended."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from edgeflip.errors import EdgeflipError

Verdict = Literal["accepted", "refused", "traceback", "wrong", "hang", "memory"]
FAILURES: tuple[Verdict, ...] = ("traceback", "wrong", "hang", "memory")


class WrongError(Exception):
    """Input that was accepted and read as something that it is not."""


@dataclass(frozen=True)
class Room:
    """Where a case may write, and the valid files that it starts from.

    Attributes:
        corpus: Valid files and folders; never changed.
        work: An empty folder of this case.
        seed: Of the whole run.
    """

    corpus: Path
    work: Path
    seed: int = 0


@dataclass(frozen=True)
class Case:
    """One input.

    Attributes:
        run: Reads it; raises an error of edgeflip's own when it refuses.
        text: The input in words, for people who look for the mistake.
        check: What must be true of an accepted input; raises `WrongError`.
    """

    run: Callable[[], Any]
    text: str
    check: Callable[[Any], None] | None = None


@dataclass(frozen=True)
class Entry:
    """One way into edgeflip.

    Attributes:
        name: For tables.
        group: `"files"`, `"library"` or `"command line"`.
        make: A case from the random numbers of its place; the number says which one it is.
        seconds: A case that takes longer hangs.
        weight: Its share of the time, beside the others.
    """

    name: str
    group: str
    make: Callable[[random.Random, Room, int], Case]
    seconds: float = 30.0
    weight: float = 1.0


@dataclass(frozen=True)
class Outcome:
    """How a case ended.

    Attributes:
        verdict: Accepted, refused, or one of the failures.
        where: Of a failure: the exception and the line that raised it.
        message: Of a failure or a refusal: what it said.
        text: The input in words.
        memory: The most memory that the case took, in MB.
        seconds: How long it took.
        lines: Lines of readers that it reached first.
    """

    verdict: Verdict
    where: str = ""
    message: str = ""
    text: str = ""
    memory: float = 0.0
    seconds: float = 0.0
    lines: tuple[tuple[str, int], ...] = field(default=(), repr=False)


def rng_of(seed: int, entry: str, number: int) -> random.Random:
    """The random numbers of one case, which depend on nothing else."""
    return random.Random(f"{seed} {entry} {number}")


def judged(case: Case) -> Outcome:
    """Run a case and see how it ends."""
    try:
        result = case.run()
        if case.check is not None:
            case.check(result)
    except EdgeflipError as error:
        return Outcome("refused", message=str(error))
    except WrongError as error:
        return Outcome("wrong", str(error), str(error))
    except MemoryError as error:
        return Outcome("memory", _where(error), "out of memory")
    # Whatever comes here was not foreseen, a SystemExit in the middle of a library included.
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        if "allocate memory" in str(error):
            return Outcome("memory", _where(error), "out of memory")
        return Outcome("traceback", _where(error), f"{type(error).__name__}: {error}"[:500])
    return Outcome("accepted")


def _where(error: BaseException) -> str:
    """The exception and the last line of edgeflip that it came through."""
    step, place = error.__traceback__, ""
    while step is not None:
        code = step.tb_frame.f_code
        if "/edgeflip/" in code.co_filename:
            file = code.co_filename.rpartition("/edgeflip/")[2]
            place = f"{file}:{step.tb_lineno} {code.co_name}"
        step = step.tb_next
    # An exit code comes from no line here; what the command said tells one kind from another.
    return f"{type(error).__name__} at {place or f'the call: {str(error)[:90]}'}"
