"""The look of every picture and page: colours, type and strokes, written once.

Colours are named by what they mean. A style names colours, so that a picture can be shown in a light or a
dark theme; SVG and pages get them as CSS variables, matplotlib as values.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

LIGHT: Mapping[str, str] = {
    "paper": "#ffffff",
    "ink": "#1b1f24",
    "soft": "#59616b",
    "rule": "#d5d9de",
    "field": "#f5f6f7",
    "edge": "#868e98",
    "node": "#6a727c",
    "core": "#3d454f",
    "add": "#0b5fa5",
    "add-wash": "#e8f1f9",
    "del": "#b0420b",
    "del-wash": "#fbeee6",
}
DARK: Mapping[str, str] = {
    "paper": "#15181b",
    "ink": "#e9ebee",
    "soft": "#a5adb7",
    "rule": "#363c43",
    "field": "#1d2125",
    "edge": "#757e89",
    "node": "#98a1ac",
    "core": "#ccd2d9",
    "add": "#76baf3",
    "add-wash": "#172b3d",
    "del": "#f59c66",
    "del-wash": "#3a2517",
}
"""Colours on paper; text has a contrast of at least 4.5 to it, strokes that carry meaning of at least 3."""

FONTS = (
    "-apple-system",
    "BlinkMacSystemFont",
    "Segoe UI",
    "Roboto",
    "Helvetica Neue",
    "Noto Sans",
    "Liberation Sans",
    "Arial",
    "sans-serif",
)
MONO_FONTS = (
    "ui-monospace",
    "SFMono-Regular",
    "Menlo",
    "Consolas",
    "Liberation Mono",
    "monospace",
)

Underline = Literal["solid", "dashed"]


@dataclass(frozen=True)
class Style:
    """How a line or a shape looks: names of colours, and pixels.

    Attributes:
        stroke: Colour of the line, none for no line.
        width: Width of the line.
        dash: Lengths of dash and gap.
        fill: Colour inside, none for nothing.
        round: Whether the line ends in a half circle.
    """

    stroke: str | None = None
    width: float = 1.0
    dash: tuple[float, float] | None = None
    fill: str | None = None
    round: bool = False


@dataclass(frozen=True)
class TextStyle:
    """How words look.

    Attributes:
        size: Height of the letters in pixels.
        weight: 400 or 600.
        fill: Colour.
        italic: Whether they lean.
        mono: Whether all letters are as wide.
        underline: The stroke of the drawing that they stand for.
    """

    size: float = 13
    weight: int = 400
    fill: str = "ink"
    italic: bool = False
    mono: bool = False
    underline: Underline | None = None


STYLES: Mapping[str, Style] = {
    # graphs
    "edge": Style("edge", 1.25),
    "core-edge": Style("core", 1.75),
    "stub": Style("edge", 1.0, (2, 3)),
    "casing": Style("paper", 7.5),
    "added": Style("add", 3.5, round=True),
    "removed": Style("del", 3.5, round=True),
    "ghost": Style("del", 1.75, (2.5, 4)),
    "node": Style("node", 1.25, fill="paper"),
    "core-node": Style("core", 1.25, fill="core"),
    "edited-node": Style("ink", 2.0, fill="paper"),
    "added-badge": Style("add", 1.5, fill="paper"),
    "removed-badge": Style("del", 1.5, fill="paper"),
    "added-sign": Style("add", 2.0),
    "removed-sign": Style("del", 2.0),
    # what may come, three widths by how likely it is, and what may go
    "added-likely": Style("add", 0.75),
    "added-likelier": Style("add", 1.25),
    "added-likeliest": Style("add", 2.25),
    "removed-perhaps": Style("del", 2.0, (5, 3)),
    "map-dot": Style(fill="edge"),
    "map-near": Style(fill="ink"),
    # molecules
    "bond": Style("ink", 1.75, round=True),
    "core-bond": Style("ink", 2.5, round=True),
    "wedge": Style(fill="ink"),
    "hash": Style("ink", 1.25),
    "faulty": Style("ink", 2.0),
    # sentences
    "arc": Style("edge", 1.25),
    # figures
    "paper": Style(fill="paper"),
    "rule": Style("rule", 1.0),
    "axis": Style("edge", 1.25),
    "leader": Style("edge", 1.0),
    "tint": Style(fill="add-wash"),
    "bar-before": Style("edge", 1.5),
    "bar-after": Style(fill="ink"),
    "ours": Style("paper", 1.0, fill="add"),
    "ours-line": Style("add", 2.25, round=True),
    "rival": Style("paper", 1.0, fill="edge"),
    "rival-line": Style("edge", 1.75, round=True),
    "published": Style("edge", 1.75, fill="paper"),
    "published-ours": Style("add", 1.75, fill="paper"),
    "join": Style("edge", 1.0),
    "curve": Style("ink", 2.0, round=True),
    "curve-dot": Style("paper", 1.0, fill="ink"),
}
"""Every stroke there is; a stroke means one thing wherever it stands."""

TEXTS: Mapping[str, TextStyle] = {
    "headline": TextStyle(20, 600),
    "headline-soft": TextStyle(20, 400, "soft"),
    "headline-added": TextStyle(20, 600, "add", underline="solid"),
    "headline-removed": TextStyle(20, 600, "del", underline="dashed"),
    "figure-title": TextStyle(18, 600),
    "title": TextStyle(15, 600),
    "body": TextStyle(14),
    "strong": TextStyle(13, 600),
    "note": TextStyle(13, 400, "soft"),
    "note-added": TextStyle(13, 600, "add", underline="solid"),
    "note-removed": TextStyle(13, 600, "del", underline="dashed"),
    "small": TextStyle(12, 400, "soft"),
    "value": TextStyle(13),
    "mono": TextStyle(12, mono=True),
    "label": TextStyle(11),
    "core-label": TextStyle(11, fill="paper"),
    "atom": TextStyle(15),
    "atom-large": TextStyle(19),
    "atom-small": TextStyle(12),
    "atom-tiny": TextStyle(10),
    "atom-number": TextStyle(11, 400, "soft"),
    "fault": TextStyle(12, 600),
    "word": TextStyle(15),
    "edited-word": TextStyle(15, 600),
    "faded-word": TextStyle(15, 400, "soft"),
    "ours": TextStyle(13, 600, "add"),
    "ours-small": TextStyle(12, 400, "add"),
    "rival": TextStyle(12, 400, "soft"),
    "published": TextStyle(12, 400, "soft", italic=True),
    "tick": TextStyle(12, 400, "soft"),
}
"""Every kind of words there is."""

# Widths of letters in thousandths of their height, as in Helvetica; others are taken for wide.
_WIDTHS = {
    **dict.fromkeys("ijl'|", 222),
    **dict.fromkeys("I !.,:;/\\ft[]", 278),
    **dict.fromkeys("r()-`{}°", 333),
    **dict.fromkeys('"*', 370),
    **dict.fromkeys("ckvxsyzJ", 500),
    **dict.fromkeys("abdeghnopquL0123456789?_$#–", 556),
    **dict.fromkeys("FTZ+<>=~−", 600),
    **dict.fromkeys("ABEKPSVXY&", 667),
    **dict.fromkeys("wCDHNRU", 722),
    **dict.fromkeys("GOQ", 778),
    **dict.fromkeys("mM", 833),
    **dict.fromkeys("W%", 910),
    **dict.fromkeys("@→—…\N{REPLACEMENT CHARACTER}", 1000),
    **dict.fromkeys("₀₁₂₃₄₅₆₇₈₉⁺⁻²³¹", 333),
}
_WIDE, _MONO, _BOLD = 620, 600, 1.08


def text_width(text: str, style: TextStyle) -> float:
    """About how many pixels wide a text is, in whatever sans-serif is at hand.

    Example:
        >>> round(text_width("house", TEXTS["title"]))
        44
    """
    units = sum(_units(letter, mono=style.mono) for letter in text)
    return units * style.size / 1000 * (_BOLD if style.weight > 500 else 1)


def _units(letter: str, *, mono: bool) -> int:
    if letter in _WIDTHS:
        return _MONO if mono else _WIDTHS[letter]
    # Accents stand on other letters; characters of East Asia and emoji are as wide as they are high.
    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    wide = unicodedata.east_asian_width(letter) in "WF"
    return 1000 if wide else _MONO if mono else _WIDE


def shortened(text: str, style: TextStyle, room: float) -> str:
    """A text cut at its end so that it fits, with an ellipsis where something is missing."""
    if text_width(text, style) <= room:
        return text
    # Letter by letter from the start, for a text may have thousands that do not fit.
    used, end = text_width("…", style), 0
    for letter in text:
        used += text_width(letter, style)
        if used > room:
            break
        end += 1
    return f"{text[:end].rstrip()}…"


def lines_of(text: str, style: TextStyle, room: float) -> list[str]:
    """A text broken into lines that fit; a word that is too long is broken too."""
    lines: list[str] = []
    for word in text.split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(joined, style) <= room:
            lines[-1] = joined
            continue
        while text_width(word, style) > room and len(word) > 1:
            cut = next(
                end
                for end in range(len(word) - 1, 0, -1)
                if end == 1 or text_width(word[:end], style) <= room
            )
            lines.append(word[:cut])
            word = word[cut:]
        lines.append(word)
    return lines


def variables(colours: Mapping[str, str]) -> str:
    """Colours as CSS variables."""
    return ";".join(f"--{name}:{value}" for name, value in colours.items())


def font_family(names: Iterable[str] = FONTS) -> str:
    """Fonts as CSS writes them."""
    return ",".join(f'"{name}"' if " " in name else name for name in names)


def style_rule(style: Style) -> str:
    """A style as CSS."""
    parts = [f"fill:{_variable(style.fill)}", f"stroke:{_variable(style.stroke)}"]
    if style.stroke is not None:
        parts.append(f"stroke-width:{style.width:g}")
    if style.dash is not None:
        parts.append(f"stroke-dasharray:{style.dash[0]:g} {style.dash[1]:g}")
    if style.round:
        parts.append("stroke-linecap:round")
    return ";".join(parts)


def text_rule(style: TextStyle) -> str:
    """A style of words as CSS for SVG."""
    parts = [f"font-size:{style.size:g}px", f"fill:{_variable(style.fill)}"]
    if style.weight != 400:
        parts.append(f"font-weight:{style.weight}")
    if style.italic:
        parts.append("font-style:italic")
    if style.mono:
        parts.append(f"font-family:{font_family(MONO_FONTS)}")
    if style.underline is not None:
        parts.append(f"text-decoration:underline {style.underline} 2px;text-underline-offset:.2em")
    return ";".join(parts)


def _variable(name: str | None) -> str:
    return "none" if name is None else f"var(--{name})"
