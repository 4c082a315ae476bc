"""JSON from outside: numbers that are numbers, text that is text, and no more of it than allowed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from edgeflip.errors import DatasetError, EdgeflipError, one_line
from edgeflip.support.limits import check_limit, limit

# Only where one of these stands can a number be infinite, or a text hold half a letter.
_LONG_NUMBER = re.compile(r"\d{300}|[eE]\+?0*\d{3}")
_HALF_LETTER = re.compile(r"\\u[dD][89a-fA-F]")


@contextmanager
def reading(what: str, *, advice: str, error: type[EdgeflipError] = DatasetError) -> Iterator[None]:
    """Turn whatever a reader of a format raises into one sentence.

    Readers check what they know of; this is for what libraries raise about input that nobody thought of.

    Args:
        what: What was expected and where, such as `"GraphML in g.graphml"`.
        advice: What to do, as the end of a sentence.
        error: What to raise.
    """
    try:
        yield
    except EdgeflipError:
        raise
    except MemoryError:
        raise error(f"expected {what}, got more than fits into memory; {advice}.") from None
    except RecursionError:
        raise error(f"expected {what}, got something nested too deeply; {advice}.") from None
    except Exception as problem:
        reason = one_line(problem)[:200] or type(problem).__name__
        raise error(f"expected {what}, got something else ({reason}); {advice}.") from problem


def parse_json(
    content: bytes | str,
    *,
    where: str,
    advice: str = "correct it",
    error: type[EdgeflipError] = DatasetError,
) -> Any:
    """JSON as plain values, all of whose numbers are finite and all of whose texts are Unicode.

    Args:
        content: The JSON, in UTF-8.
        where: Of what, for messages.
        advice: What to do if it is no JSON, as the end of a sentence.
        error: What to raise.
    """
    commas = content.count(b",") if isinstance(content, bytes) else content.count(",")
    opened = sum(
        content.count(sign.encode()) if isinstance(content, bytes) else content.count(sign)
        for sign in "[{"
    )
    check_limit("values", commas + opened, where, error)
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        # The hook is slow, and hardly any file needs it.
        value = json.loads(
            text,
            parse_float=_finite if _LONG_NUMBER.search(text) else None,
            parse_constant=_no_number,
            object_pairs_hook=_no_key_twice,
        )
    except _RefusedError as refusal:
        raise error(f"expected plain JSON in {where}, got {refusal}; {advice}.") from None
    except (ValueError, RecursionError, MemoryError):
        raise error(f"expected JSON in {where}, got no JSON or a part of it; {advice}.") from None
    _check_depth(value, where, error)
    if _HALF_LETTER.search(text) and _has_half_letter(value):
        raise error(f"expected Unicode text in {where}, got half a letter; {advice}.")
    return value


class _RefusedError(ValueError):
    """JSON that Python reads and others do not, or read otherwise."""


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise _RefusedError(f"the number {text[:40]}, which is too large")
    return number


def _no_number(word: str) -> float:
    raise _RefusedError(f"{word}, which is no number in JSON")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _RefusedError(f"the key '{key[:60]}' twice in one table")
            seen.add(key)
    return table


def _check_depth(value: Any, where: str, error: type[EdgeflipError]) -> None:
    """Refuse what is nested too deeply, without going there by recursion."""
    level: list[Any] = [value]
    for depth in range(limit("nesting") + 1):
        inner: list[Any] = []
        for entry in level:
            if isinstance(entry, dict):
                inner.extend(child for child in entry.values() if isinstance(child, dict | list))
            elif isinstance(entry, list):
                inner.extend(child for child in entry if isinstance(child, dict | list))
        if not inner:
            return
        level = inner
        check_limit("nesting", depth + 1, where, error)


def _has_half_letter(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    return False
