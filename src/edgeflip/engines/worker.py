"""What runs inside a process that is there for the work alone."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from edgeflip.engines.job import Job

# Seconds between two looks whether the process that gave the work still lives.
_LOOK = 0.5

_job: Job[Any, Any] | None = None


def begin(packed: bytes, parent: int) -> None:
    """Make this process ready for a job, and let it end with the process it works for."""
    global _job
    import cloudpickle

    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    # Ctrl-C reaches all processes of a terminal; the one that gave the work calls the others off.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # Small matrices: several threads wait for each other more than they work.
    torch.set_num_threads(1)
    _job = cloudpickle.loads(packed)
    _job.begin(worker=True)


def work(packed: bytes) -> bytes:
    """Do a task, and pack what it gives."""
    import cloudpickle

    assert _job is not None
    done: bytes = cloudpickle.dumps(_job.work(cloudpickle.loads(packed)))
    return done


def alive() -> int:
    """The number of this process, once it is ready."""
    return os.getpid()


def _end_with(parent: int) -> None:
    """A killed parent cannot call its workers off, and they would wait for it forever."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(1)


@contextmanager
def deadline(seconds: float | None) -> Iterator[None]:
    """End this process if the block takes longer: a model that hangs cannot be stopped otherwise.

    It holds whatever the model does, since the clock runs outside Python.
    """
    if seconds is None:
        yield
        return
    # Where the process stood is of no use to people who read their own output.
    with open(os.devnull, "w", encoding="utf-8") as nowhere:
        faulthandler.dump_traceback_later(seconds, exit=True, file=nowhere)
        try:
            yield
        finally:
            faulthandler.cancel_dump_traceback_later()


def unpackable(error: Exception) -> str:
    """Why something cannot travel to another process, in a few words."""
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__


def packed(what: Any, name: str) -> bytes:
    """Something as bytes for another process.

    Raises:
        ConfigError: If it cannot be.
    """
    import cloudpickle

    from edgeflip.errors import ConfigError

    try:
        found: bytes = cloudpickle.dumps(what)
    except Exception as error:
        raise ConfigError(
            f"expected {name} that can travel to another process, got one that cannot ("
            f"{unpackable(error)}); use engine='inline', or leave out what holds open files, locks or "
            "connections."
        ) from error
    return found


def is_posix() -> bool:
    """Whether a parent's number tells whether it lives."""
    return sys.platform != "win32"
