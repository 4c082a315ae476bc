"""Every error edgeflip raises on purpose: one sentence saying what was expected, what came, what to do."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

_MOST_OF_A_WORD = 300
_MOST_OF_A_MESSAGE = 1500


class EdgeflipError(Exception):
    """Base of all errors that edgeflip raises on purpose; the command line turns it into exit code 2.

    A message is one line that every terminal can print, whatever the input that it quotes: line breaks
    become spaces, text that is no Unicode is escaped, and what is very long is shortened.
    """

    def __init__(self, message: object = "", *rest: object) -> None:
        super().__init__(one_line(message), *rest)


class GraphError(EdgeflipError):
    """A graph that cannot be explained: empty, directed, with NaN features or duplicate edges."""


class EditError(EdgeflipError):
    """Edits that do not fit the graph, such as removing an edge that is not there."""


class ConstraintError(EdgeflipError):
    """Constraints that contradict themselves, or that leave nothing to edit."""


class TargetError(EdgeflipError):
    """A target class that does not exist or is predicted already."""


class OracleError(EdgeflipError):
    """A model that raised, or answered with NaN or with the wrong shape."""


class NotApplicableError(EdgeflipError):
    """A method that cannot work with this oracle or graph, such as a soft mask on a hard model."""


class CertificateError(EdgeflipError):
    """A proof of smallness that is missing, was changed, or is not so."""


class NotFittedError(EdgeflipError):
    """An explainer that was asked before `fit`."""


class TrainingError(EdgeflipError):
    """A training that went astray, such as a loss that is not a number."""


class ConfigError(EdgeflipError):
    """A setting, preset or profile that is unknown or out of range."""


class UnknownNameError(ConfigError):
    """A dataset, method, class or profile that does not exist; the nearest name is suggested."""


class DatasetError(EdgeflipError):
    """Dataset files that are missing, damaged or not what their checksum says."""


class ArtifactError(EdgeflipError):
    """A saved model, explainer or answer that cannot be read or written."""


class BudgetExhausted(EdgeflipError):  # noqa: N818 - an end, not a mistake
    """The oracle-call budget or the deadline ran out.

    Raised by `MeteredOracle` and caught by the search, so users only see it when they meter by hand.

    Attributes:
        reason: `"out_of_calls"` or `"timeout"`.
        advice: What to tell people who got no answer, for limits that are not the budget's.
    """

    def __init__(self, message: str, *, reason: str, advice: str = "") -> None:
        super().__init__(message)
        self.reason = reason
        self.advice = advice


def one_line(message: object) -> str:
    """A message on one line, long words and long middles left out.

    Example:
        >>> one_line("two" + chr(10) + "lines"), len(one_line("x" * 5000))
        ('two lines', 201)
    """
    text = str(message).encode("utf-8", "backslashreplace").decode()
    text = "".join(letter if letter.isprintable() else " " for letter in text[: 2**20])
    words = (
        word if len(word) <= _MOST_OF_A_WORD else f"{word[:100]}…{word[-100:]}"
        for word in text.split()
    )
    text = " ".join(words)
    if len(text) > _MOST_OF_A_MESSAGE:
        text = f"{text[: _MOST_OF_A_MESSAGE - 400]} … {text[-400:]}"
    return text


def shown(value: Any, most: int = 60) -> str:
    """A value as it is written in Python, shortened for a message.

    Example:
        >>> shown([1.5, "a"]), shown("x" * 100, 8)
        ("[1.5, 'a']", "'xxxxxxx…")
    """
    try:
        # A long text or list is cut before it is written out.
        text = repr(value[:most] if isinstance(value, str | bytes | list | tuple) else value)
        cut = isinstance(value, str | bytes | list | tuple) and len(value) > most
    except (ValueError, RecursionError):  # a number of thousands of digits, a list in itself
        return f"a {type(value).__name__}"
    return text if len(text) <= most and not cut else f"{text[:most]}…"


def unknown_name(kind: str, name: str, known: Iterable[str]) -> UnknownNameError:
    """The error for a name that does not exist, with the nearest one that does.

    Example:
        >>> print(unknown_name("dataset", "ba_2motif", ["ba_2motifs", "ba_3motifs"]))
        unknown dataset 'ba_2motif', did you mean 'ba_2motifs'? Known: ba_2motifs, ba_3motifs.
    """
    names = sorted(known)
    name = str(name)
    near = nearest(name, names)
    hint = "." if near is None else f", did you mean '{near}'?"
    return UnknownNameError(
        f"unknown {kind} '{name[:100]}'{hint} Known: {', '.join(names) or 'none'}."
    )


def nearest(name: str, known: Iterable[str], cutoff: float = 0.4) -> str | None:
    """The known name that a misspelt one is nearest to; none if nothing is near."""
    # Names are short: comparing thousands of letters would take seconds and find nothing.
    return next(iter(difflib.get_close_matches(name[:100].lower(), list(known), 1, cutoff)), None)
