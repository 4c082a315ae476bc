"""Memory that a long computation frees and takes again is not given back to the system in between."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

# Numbers of glibc's settings: how much free memory is given back, and how large a block is mapped alone.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
_MEGABYTE = 2**20
_LARGEST_BLOCK = 32 * _MEGABYTE
"""glibc allows no more, and comes to it by itself when blocks of this size are freed."""


@contextmanager
def kept_memory(megabytes: int = 1024) -> Iterator[None]:
    """Let the C library keep up to so much free memory inside the block, where it is glibc.

    A training step frees all that it took. If that goes back to the system each time, every page is made and
    cleared anew in the next step, which can take as long as half of the arithmetic. Results do not change.

    Example:
        >>> with kept_memory():
        ...     pass
    """
    library = _glibc()
    if library is None:
        yield
        return
    library.mallopt(_MMAP_THRESHOLD, _LARGEST_BLOCK)
    library.mallopt(_TRIM_THRESHOLD, megabytes * _MEGABYTE)
    try:
        yield
    finally:
        library.mallopt(_TRIM_THRESHOLD, 2 * _LARGEST_BLOCK)
        library.malloc_trim(0)


def _glibc() -> Any:
    """The C library if it is glibc, None if not."""
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):
        return None
    names = ("gnu_get_libc_version", "mallopt", "malloc_trim")
    return library if all(hasattr(library, name) for name in names) else None
