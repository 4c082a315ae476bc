"""What people pass to be drawn and saved: refused in a sentence where it is something else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from edgeflip.errors import ConfigError, shown
from edgeflip.search import CounterfactualSet
from edgeflip.support import check_name

T = TypeVar("T")


def check_answer(value: Any, advice: str) -> None:
    """Refuse what is not one answer.

    Args:
        value: What was passed.
        advice: What to do with several, as the end of a sentence.
    """
    if not isinstance(value, CounterfactualSet):
        raise ConfigError(f"expected one answer, got {shown(value)}; {advice}.")


def check_texts(**texts: Any) -> None:
    """Refuse arguments that should be texts and are not, by their names."""
    for name, text in texts.items():
        if not isinstance(text, str):
            raise ConfigError(
                f"expected a text as {name}, got {shown(text)}; pass one, or leave it out."
            )


def checked_all(values: Any, kind: type[T], noun: str) -> list[T]:
    """Several things of a kind as a list.

    Args:
        values: What was passed.
        kind: What each should be.
        noun: What several are called, such as `answers`.

    Raises:
        ConfigError: If it is a single one, no list, or something else is in it.
    """
    if isinstance(values, kind):
        raise ConfigError(f"expected a list of {noun}, got {shown(values)}; put it into a list.")
    if not isinstance(values, Iterable) or isinstance(values, str | bytes):
        raise ConfigError(f"expected a list of {noun}, got {shown(values)}; pass a list.")
    listed = list(values)
    for place, value in enumerate(listed):
        if not isinstance(value, kind):
            raise ConfigError(
                f"expected a list of {noun}, got {shown(value)} at place {place} of it; each must be of "
                f"type {kind.__name__}."
            )
    return listed


def ending_of(path: Path, endings: Sequence[str], noun: str = "a file") -> str:
    """The ending of a file in small letters.

    Args:
        path: The file.
        endings: Those that can be written.
        noun: What is to be written.

    Raises:
        ConfigError: If it is another, or there is no name before it, or one that is not UTF-8.
    """
    check_name(path, ConfigError)
    ending = path.suffix.lower()
    if not path.stem.strip("."):
        # A folder of pages that is named like the file would be the one it is in, or that above.
        raise ConfigError(
            f"expected a file with a name, got dots alone before the ending, {path.name}; put a name before "
            f"it, such as why{ending}."
        )
    if ending in endings:
        return ending
    # A second way to write an ending is taken, not told.
    told = [each for each in endings if each != ".htm"]
    known = f"{', '.join(told[:-1])} or {told[-1]}" if len(told) > 1 else told[0]
    if path.name.lower() in endings:
        raise ConfigError(
            f"expected a file with a name, got an ending alone, {path.name}; put a name before it, such as "
            f"why{path.name}."
        )
    raise ConfigError(
        f"expected {noun} to end in {known}, got {path.name}; give it "
        f"{'one of these endings' if len(told) > 1 else 'this ending'}."
    )
