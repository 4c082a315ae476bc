"""Marks on pages: which files of a folder a gallery wrote, and may write again or remove."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from edgeflip.draw.svg import plain_text
from edgeflip.errors import ConfigError

_PAGE = '<meta name="generator" content="edgeflip page">'
# Marks stand in the first lines of a page; a link to its gallery has a few hundred letters at most.
_HEAD = 4096
_NUMBERED = re.compile(r"\d{4,}-.+\.html")


def page_mark(home: str = "") -> str:
    """What the head of an answer's page says about who wrote it, and for which gallery."""
    return _PAGE + (f'<meta name="edgeflip-gallery" content="{plain_text(home)}">' if home else "")


def check_own_pages(folder: Path, names: Iterable[str]) -> None:
    """Refuse to write pages over files that are no pages of answers, before any is written.

    Raises:
        ConfigError: If such a file is there.
    """
    for name in names:
        path = folder / name
        if (path.exists() or path.is_symlink()) and _PAGE not in _head(path):
            raise ConfigError(
                f"expected no file at {path}, or a page that edgeflip wrote, got a file of somebody else; "
                "move it, or give the gallery another name."
            )


def remove_old_pages(folder: Path, home: str, kept: Collection[str]) -> None:
    """Remove the pages that an earlier gallery of this name left and that were not written again."""
    for path in sorted(folder.glob("*.html")):
        ours = path.name not in kept and _NUMBERED.fullmatch(path.name)
        if ours and not path.is_symlink() and page_mark(home) in _head(path):
            with suppress(OSError):
                path.unlink()


def _head(path: Path) -> str:
    """The first lines of a regular file; empty where there are none to read."""
    try:
        if not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_HEAD).decode("utf-8", "replace")
    except OSError:
        return ""
