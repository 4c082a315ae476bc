"""One writer per folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from edgeflip.errors import ArtifactError, ConfigError


@contextmanager
def locked(folder: Path, what: str) -> Iterator[None]:
    """Keep others out of the folder; the lock of a killed process is gone with it.

    Args:
        folder: The folder, which is there.
        what: What may be running in it, in a few words.
    """
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise ConfigError(
            "expected filelock to guard the folder, got no such package; "
            "pip install 'edgeflip[bench]'."
        ) from error
    lock = FileLock(folder / ".lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise ConfigError(
            f"expected {folder} to be free, got {what} running in it; wait for it or give "
            "another folder."
        ) from None
    except OSError as error:
        raise ArtifactError(
            f"expected to write in {folder}, got '{error.strerror or error}'; check free space and "
            "permissions."
        ) from error
    try:
        yield
    finally:
        lock.release()
