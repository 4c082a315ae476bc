"""How many threads: for small matrices several of them wait for each other more than they work."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

_lock = threading.Lock()
_inside = threading.local()


class _Outside:
    """How many threads torch used before anybody asked for one, and how many ask now."""

    users = 0
    threads = 1


@contextmanager
def one_thread(*, when: bool = True) -> Iterator[None]:
    """Let torch use one thread inside the block, if the condition holds.

    Blocks may overlap in several Python threads: each one puts back what was before all of them, since
    what a later one found was the 1 of an earlier one.

    Example:
        >>> with one_thread():
        ...     torch.get_num_threads()
        1
    """
    if not when or getattr(_inside, "yes", False):
        yield
        return
    with _lock:
        if not _Outside.users:
            _Outside.threads = torch.get_num_threads()
        _Outside.users += 1
        before = _Outside.threads
        torch.set_num_threads(1)
    _inside.yes = True
    try:
        yield
    finally:
        _inside.yes = False
        with _lock:
            _Outside.users -= 1
            torch.set_num_threads(before)
