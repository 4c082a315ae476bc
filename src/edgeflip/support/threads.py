"""How many threads: for small matrices several of them wait for each other more than they work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_thread(*, when: bool = True) -> Iterator[None]:
    """Let torch use one thread inside the block, if the condition holds.

    Example:
        >>> with one_thread():
        ...     torch.get_num_threads()
        1
    """
    before = torch.get_num_threads()
    if when:
        torch.set_num_threads(1)
    try:
        yield
    finally:
        if when:
            torch.set_num_threads(before)
