"""Fonts for the words of a matplotlib figure: every letter from one that has it, or a sign in its place.

Matplotlib takes each letter from the first font of a list that has it, and warns where none does.
"""

from __future__ import annotations

import importlib
import logging
import re
import unicodedata
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Any

from edgeflip.draw.look import TextStyle

_SANS = ("Liberation Sans", "Arial", "Helvetica", "DejaVu Sans")
_MONO = ("Liberation Mono", "Menlo", "Consolas", "DejaVu Sans Mono")
# Families that have what those lack, by parts of their names; the first that is installed comes first.
_FURTHER = (
    "DejaVu Sans",
    "Noto Sans CJK",
    "Source Han Sans",
    "PingFang",
    "Hiragino Sans",
    "Hiragino Kaku",
    "Yu Gothic",
    "Microsoft YaHei",
    "Malgun Gothic",
    "Apple SD Gothic",
    "WenQuanYi",
    "IPAGothic",
    "IPAexGothic",
    "Nanum",
    "SimHei",
    "Arial Unicode",
    "Noto Sans",
    "Segoe UI",
    "Noto Emoji",
    "Symbola",
    "Emoji",
    "Unifont",
)
# What stands for a letter that no font has, the first that can be drawn.
_MISSING = "□?"
_VARIANT = re.compile("Condensed|Display|Light|Mono|Serif|Thin|Black|Medium")


class Typesetter:
    """Finds fonts for words, and makes words that they can write.

    Args:
        size_of_pixel: How many points a pixel has.
    """

    def __init__(self, size_of_pixel: float) -> None:
        self._fonts = importlib.import_module("matplotlib.font_manager")
        self._pixel = size_of_pixel
        self._known = sorted(set(self._fonts.get_font_names()))
        self._first = {
            False: [name for name in _SANS if name in self._known] or ["DejaVu Sans"],
            True: [name for name in _MONO if name in self._known] or ["DejaVu Sans Mono"],
        }
        self._needed: list[str] = []
        self._letters: dict[tuple[str, bool, bool], frozenset[int]] = {}

    def writable(self, text: str, style: TextStyle) -> str:
        """A text whose every letter can be drawn: from further fonts, or by a sign in its place."""
        return "".join(
            letter if self._can_write(letter, style) else self._stand_in(letter, style)
            for letter in text
        )

    def font(self, style: TextStyle) -> Any:
        """The fonts of a style, those first that it is meant to have."""
        return self._properties([*self._first[style.mono], *self._needed], style)

    def borrows(self, text: str, style: TextStyle) -> bool:
        """Whether some of a text's letters come from further fonts."""
        first = self._first[style.mono]
        return not all(any(self._has(name, letter, style) for name in first) for letter in text)

    def _can_write(self, letter: str, style: TextStyle) -> bool:
        families = [*self._first[style.mono], *self._needed]
        if any(self._has(family, letter, style) for family in families):
            return True
        # A font is asked for by name only if something needs it: opening all takes seconds.
        for family in self._further:
            if family not in families and self._has(family, letter, style):
                self._needed.append(family)
                return True
        return False

    def _stand_in(self, letter: str, style: TextStyle) -> str:
        # What joins or varies other letters cannot be seen itself.
        if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
            return ""
        return next(sign for sign in _MISSING if sign == "?" or self._can_write(sign, style))

    @cached_property
    def _further(self) -> Sequence[str]:
        found = [name for part in _FURTHER for name in self._known if part in name]
        return [name for name in dict.fromkeys(found) if not _VARIANT.search(name)]

    def _has(self, family: str, letter: str, style: TextStyle) -> bool:
        key = (family, style.weight > 500, style.italic)
        if key not in self._letters:
            self._letters[key] = self._letters_of(self._properties([family], style))
        return ord(letter) in self._letters[key]

    def _letters_of(self, properties: Any) -> frozenset[int]:
        # A family without a bold face is fine, and no reason to tell the user.
        told = logging.getLogger("matplotlib.font_manager")
        level = told.level
        told.setLevel(logging.ERROR)
        try:
            return _letters_in(self._fonts.findfont(properties, fallback_to_default=False))
        except ValueError:
            return frozenset()
        finally:
            told.setLevel(level)

    def _properties(self, families: Sequence[str], style: TextStyle) -> Any:
        return self._fonts.FontProperties(
            family=list(families),
            size=style.size * self._pixel,
            weight="bold" if style.weight > 500 else "normal",
            style="italic" if style.italic else "normal",
        )


@cache
def _letters_in(path: Any) -> frozenset[int]:
    """The letters that a font file has as outlines; none if they are pictures, as of some emoji."""
    try:
        font = importlib.import_module("matplotlib.font_manager").get_font(path)
        return frozenset(font.get_charmap()) if font.scalable else frozenset()
    except (OSError, RuntimeError):
        return frozenset()
