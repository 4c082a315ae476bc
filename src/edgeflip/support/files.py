"""Files as bytes: regular files only, up to a limit, unpacked up to the same limit."""

from __future__ import annotations

import os
import re
import stat
import zlib
from pathlib import Path
from typing import Any

from edgeflip.errors import DatasetError, EdgeflipError, shown
from edgeflip.support.limits import check_limit, limit

_CHUNK = 2**20


def as_path(path: Any, error: type[EdgeflipError] = DatasetError) -> Path:
    """A path, or one sentence about what is none."""
    try:
        made = Path(path)
        if b"\0" in os.fsencode(made):
            raise ValueError
    except (TypeError, ValueError):
        raise error(f"expected a path, got {shown(path)}; give a text or a pathlib.Path.") from None
    return made


def check_name(path: Path, error: type[EdgeflipError] = DatasetError) -> None:
    """Refuse a name for something new that is no text, so that no page or file could mention it."""
    try:
        path.name.encode()
    except UnicodeEncodeError:
        raise error(
            f"expected a name in UTF-8 for what is written, got {shown(path.name)}; give another name."
        ) from None


def file_name(text: str) -> str:
    """A text as part of a path on every system.

    Example:
        >>> file_name("moleculenet:tox21/NR-AR")
        'moleculenet-tox21-NR-AR'
    """
    return re.sub(r"[^\w.-]+", "-", text)


def read_file(
    path: str | os.PathLike[str],
    *,
    error: type[EdgeflipError] = DatasetError,
    most: str = "file_bytes",
    inside: Path | None = None,
) -> bytes:
    """The content of a file, unpacked if its name ends in `.gz`.

    Args:
        path: The file; a folder, pipe or device is refused and never waited for.
        error: What to raise.
        most: The limit on its bytes, packed and unpacked.
        inside: The file may not be a link that leads out of this folder.
    """
    location = as_path(path, error)
    content = read_packed(location, error=error, most=most, inside=inside)
    return unpacked(content, location, error=error, most=most) if _is_packed(location) else content


def read_packed(
    path: str | os.PathLike[str],
    *,
    error: type[EdgeflipError] = DatasetError,
    most: str = "file_bytes",
    inside: Path | None = None,
) -> bytes:
    """The content of a file as it is; arguments as for `read_file`."""
    location = as_path(path, error)
    try:
        if inside is not None and not location.resolve().is_relative_to(inside.resolve()):
            raise error(
                f"expected {location} to be a file in {inside}, got a link to {location.resolve()}; "
                "put the file itself there."
            )
        # Without O_NONBLOCK, opening a pipe would wait for somebody to write to it.
        flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
        handle = os.open(location, flags)
        try:
            about = os.fstat(handle)
            _check_regular(location, about, error)
            check_limit(most, about.st_size, str(location), error)
            with os.fdopen(handle, "rb", closefd=False) as file:
                # Not up to the limit: Python would take that much memory at once.
                content = file.read(about.st_size + 1)
        finally:
            os.close(handle)
    except FileNotFoundError:
        raise error(f"expected the file {location}, got none; check the path.") from None
    except (OSError, ValueError, RuntimeError) as problem:  # a loop of links is a RuntimeError
        raise _unreadable(location, problem, error) from None
    if len(content) != about.st_size:
        raise error(
            f"expected {location} to stay as it is, got one that changed while it was read; read it "
            "again when it is written."
        )
    return content


def check_file(
    path: str | os.PathLike[str], *, error: type[EdgeflipError], most: str = "file_bytes"
) -> None:
    """Refuse what `read_file` would, for files that a library opens itself."""
    location = as_path(path, error)
    try:
        about = os.stat(location)
    except FileNotFoundError:
        raise error(f"expected the file {location}, got none; check the path.") from None
    except (OSError, ValueError) as problem:
        raise _unreadable(location, problem, error) from None
    _check_regular(location, about, error)
    check_limit(most, about.st_size, str(location), error)


def _check_regular(path: Path, about: os.stat_result, error: type[EdgeflipError]) -> None:
    if not stat.S_ISREG(about.st_mode):
        kind = "a folder" if stat.S_ISDIR(about.st_mode) else "a pipe or device"
        raise error(f"expected to read {path}, got {kind}; give a regular file.")


def _unreadable(path: Path, problem: Exception, error: type[EdgeflipError]) -> EdgeflipError:
    reason = getattr(problem, "strerror", None) or "a path that no file can have"
    return error(
        f"expected to read {path}, got '{reason}'; check that it is a file and its permissions."
    )


def unpacked(
    content: bytes,
    path: Path,
    *,
    error: type[EdgeflipError] = DatasetError,
    most: str = "file_bytes",
) -> bytes:
    """The content of a gzip file of one or more parts, refused when it would grow beyond a limit."""
    parts: list[bytes] = []
    total, allowed = 0, limit(most)
    while content or not parts:
        unpacker = zlib.decompressobj(wbits=31)
        while not unpacker.eof:
            try:
                part = unpacker.decompress(content, min(_CHUNK, allowed + 1 - total))
            except zlib.error as problem:
                raise error(
                    f"expected a gzip file at {path}, got '{problem}'; write it again."
                ) from None
            total += len(part)
            if total > allowed:
                check_limit(most, total, f"{path} when it is unpacked", error)
            content = unpacker.unconsumed_tail
            if not part and not content and not unpacker.eof:
                raise error(
                    f"expected a whole gzip file at {path}, got a part of one; write it again."
                )
            parts.append(part)
        # Padding with zeros is allowed after a part, and another part may follow.
        content = unpacker.unused_data.lstrip(b"\0")
    return b"".join(parts)


def _is_packed(path: Path) -> bool:
    return path.suffix == ".gz"
