"""Names as they can be shown in a sentence, whoever chose them."""

from __future__ import annotations

import re

TURNING = "\u200e\u200f\u061c\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Marks that turn the direction of what follows, beyond the name they are in."""

_TURNS = re.compile(f"[{TURNING}]")
# Nobody reads a longer name to its end.
_LONGEST = 200


def shown_name(name: str) -> str:
    """A name without marks that would turn the words around it, cut where it is very long.

    Example:
        >>> shown_name("house"), len(shown_name("x" * 5000))
        ('house', 200)
    """
    cut = name if len(name) <= _LONGEST else f"{name[: _LONGEST - 1]}…"
    return without_turns(cut)


def without_turns(text: str) -> str:
    """A text with a sign in place of every mark that would turn the words around it."""
    return _TURNS.sub("\N{REPLACEMENT CHARACTER}", text)
