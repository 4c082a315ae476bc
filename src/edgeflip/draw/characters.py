"""Words as they can be shown anywhere: without control characters, and how many columns they take."""

from __future__ import annotations

import unicodedata

from edgeflip.support import TURNING

# Controls, halves of characters, breaks of lines: nothing of them can be seen.
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})
_EMOJI_SIGN = "\ufe0f"


def clean(text: str) -> str:
    r"""A text with a sign in place of every character that cannot be shown.

    Example:
        >>> clean("tab\tand\x00")
        'tab�and�'
    """
    return "".join(
        "\N{REPLACEMENT CHARACTER}"
        if unicodedata.category(letter) in _UNSEEN or letter in TURNING
        else letter
        for letter in text
    )


def clean_word(text: str) -> str:
    """A word that can be seen: quotation marks stand around one that is empty.

    Example:
        >>> clean_word("so"), clean_word("")
        ('so', '“”')
    """
    cleaned = clean(text)
    return cleaned if cleaned.strip() and columns(cleaned) else f"“{cleaned}”"


def columns(text: str) -> int:
    """How many columns a text takes in a terminal, at most.

    Example:
        >>> columns("né"), columns("犬"), columns("🐕")
        (2, 2, 2)
    """
    total, last = 0, 0
    for letter in text:
        if letter == _EMOJI_SIGN:
            # It makes a narrow sign before it a wide one.
            last = 1 if last == 1 else 0
        elif unicodedata.category(letter) in ("Mn", "Me", "Cf"):
            last = 0
        else:
            last = 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        total += last
    return total


def cut(text: str, room: int, mark: str = "…") -> str:
    """A text cut at its end so that it takes no more columns than there are.

    Example:
        >>> cut("counterfactual", 8)
        'counter…'
    """
    if columns(text) <= room:
        return text
    if room < columns(mark):
        return mark[: max(room, 0)]
    while text and columns(text) + columns(mark) > room:
        text = text[:-1]
    return f"{text.rstrip()}{mark}"


def reads_leftwards(texts: list[str] | tuple[str, ...]) -> bool:
    """Whether most words are of a script that is read from right to left."""
    ways = [
        way
        for text in texts
        for way in map(unicodedata.bidirectional, text)
        if way in ("L", "R", "AL")
    ]
    return sum(way != "L" for way in ways) * 2 > len(ways)
