"""A scene as SVG: for files, notebooks and pages."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from itertools import groupby

from edgeflip.draw.look import (
    DARK,
    LIGHT,
    STYLES,
    TEXTS,
    font_family,
    style_rule,
    text_rule,
    variables,
)
from edgeflip.draw.scene import ALWAYS, Disc, Item, Line, Point, Scene, Shape, When, Words, path_of
from edgeflip.support import TURNING

# What XML has no place for, however it is written, and marks that turn the words around them.
_FORBIDDEN = re.compile(f"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[{TURNING}]")

# Discs up to this radius may be dots.
_DOT = 2.0


def visible(text: str) -> str:
    """A text with a sign in place of every character that a page cannot show."""
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def plain_text(text: str) -> str:
    """A text that stays text in SVG and HTML, in attributes too."""
    return escape(visible(text), quote=True)


def svg_file(scene: Scene) -> str:
    """A whole SVG that needs nothing else, readable in a light and in a dark theme."""
    names = {item.style for item in scene.items if not isinstance(item, Words)}
    texts = {run.style for item in scene.items if isinstance(item, Words) for run in item.runs}
    own = "svg.edgeflip"
    rules = [
        f"{own}{{{variables(LIGHT)}}}",
        f"@media (prefers-color-scheme:dark){{{own}{{{variables(DARK)}}}}}",
        f"{own} text{{font-family:{font_family()};white-space:pre}}",
        *(style_rules(own, names, texts)),
    ]
    background = f'<rect class="s-paper" width="{_n(scene.width)}" height="{_n(scene.height)}"/>'
    rules.append(f"{own} .s-paper{{{style_rule(STYLES['paper'])}}}")
    style = "".join(rules)
    return _element(scene, f"<style>{style}</style>{background}{''.join(svg_items(scene.items))}")


def svg_part(scene: Scene, made: Iterable[str] = (), css: str = "") -> str:
    """An SVG for a page that has the styles, with every state of the scene; one of them is shown.

    Args:
        scene: What is drawn.
        made: The edits of the state that is shown.
        css: Further classes of the element.
    """
    return _element(scene, "".join(svg_items(scene.items, frozenset(made))), css, sized=False)


def svg_views(scenes: Sequence[Scene], groups: Sequence[str], made: Iterable[str]) -> str:
    """An SVG of several scenes of one size, of which a page shows one; groups say for which choices."""
    state = frozenset(made)
    parts = [
        f'<g data-view="{group}"{" hidden" if place else ""}>{"".join(svg_items(scene.items, state))}</g>'
        for place, (scene, group) in enumerate(zip(scenes, groups, strict=True))
    ]
    return _element(scenes[0], "".join(parts), sized=False)


def style_rules(own: str, names: Iterable[str], texts: Iterable[str]) -> list[str]:
    """The rules of CSS for some styles, below a selector."""
    return [
        *(f"{own} .s-{name}{{{style_rule(STYLES[name])}}}" for name in sorted(names)),
        *(f"{own} .t-{name}{{{text_rule(TEXTS[name])}}}" for name in sorted(texts)),
        f"{own} .halo{{paint-order:stroke;stroke:var(--paper);stroke-width:5px;stroke-linejoin:round}}",
    ]


def all_style_rules(own: str) -> str:
    """The rules of CSS for all styles there are."""
    return "\n".join(style_rules(own, STYLES, TEXTS))


def svg_items(items: Iterable[Item], state: frozenset[str] | None = None) -> list[str]:
    """Items as SVG; lines of one kind that follow each other become one path.

    Args:
        items: What is drawn.
        state: The edits that are made; with them every item says when it is shown.
    """
    parts = []
    for (kind, style, when), group in groupby(items, key=_likeness):
        together = list(group)
        shown = _shown(when, state)
        if kind == "line":
            path = "".join(_path(item) for item in together if isinstance(item, Line))
            parts.append(f'<path class="s-{style}"{shown} d="{path}"/>')
            continue
        if kind == "dots":
            parts.append(_dots(together, style, shown))
            continue
        parts += [_one(item, shown) for item in together]
    return parts


def _likeness(item: Item) -> tuple[str, str, When]:
    if isinstance(item, Line):
        return "line", item.style, item.when
    if isinstance(item, Disc) and _is_dot(item):
        return "dots", f"{item.style} {item.radius}", item.when
    return type(item).__name__, "", item.when


def _is_dot(disc: Disc) -> bool:
    """Whether a disc is one of many that nobody points at, such as those of a map."""
    style = STYLES[disc.style]
    return disc.radius <= _DOT and not disc.title and style.stroke is None and bool(style.fill)


def _dots(discs: Sequence[Item], style: str, shown: str) -> str:
    """Dots of one look as a path without length whose ends are round: a tenth of the bytes."""
    name, radius = style.split()
    colour = f"fill:none;stroke:var(--{STYLES[name].fill});stroke-width:{2 * float(radius):g}"
    path = "".join(f"M{_pair(disc.at)}h0" for disc in discs if isinstance(disc, Disc))
    return f'<path class="s-{name}"{shown} style="{colour};stroke-linecap:round" d="{path}"/>'


def _shown(when: When, state: frozenset[str] | None) -> str:
    if state is None or when == ALWAYS:
        return ""
    named = {"all": when.all, "any": when.any, "none": when.none}
    parts = [
        f' data-{name}="{plain_text(" ".join(sorted(keys)))}"'
        for name, keys in named.items()
        if keys
    ]
    return "".join(parts) + ("" if when.holds(state) else " hidden")


def _one(item: Item, shown: str) -> str:
    if isinstance(item, Disc):
        x, y = item.at
        title = f"<title>{plain_text(item.title)}</title>" if item.title else ""
        return (
            f'<circle class="s-{item.style}"{shown} cx="{_n(x)}" cy="{_n(y)}" '
            f'r="{_n(item.radius)}">{title}</circle>'
        )
    if isinstance(item, Shape):
        points = " ".join(f"{_n(x)},{_n(y)}" for x, y in item.points)
        return f'<polygon class="s-{item.style}"{shown} points="{points}"/>'
    assert isinstance(item, Words)
    x, y = item.at
    anchor = "" if item.anchor == "start" else f' text-anchor="{item.anchor}"'
    halo = "halo" if item.halo else ""
    if len(item.runs) == 1:
        (run,) = item.runs
        names, inside = f"t-{run.style} {halo}".strip(), plain_text(run.text)
    else:
        names = halo
        inside = "".join(
            f'<tspan class="t-{run.style}">{plain_text(run.text)}</tspan>' for run in item.runs
        )
    if item.title:
        inside = f"<title>{plain_text(item.title)}</title>{inside}"
    css = f' class="{names}"' if names else ""
    return f'<text{css}{shown} x="{_n(x)}" y="{_n(y)}"{anchor}>{inside}</text>'


def _path(line: Line) -> str:
    letters = {"move": "M", "line": "L", "curve": "Q"}
    return "".join(
        letters[step] + " ".join(_pair(point) for point in points)
        for step, points in path_of(line.points, line.rounding)
    )


def _element(scene: Scene, inside: str, css: str = "", *, sized: bool = True) -> str:
    # A picture that is wider than its reader's window is made smaller.
    fits = 'style="max-width:100%;height:auto"'
    size = f' width="{_n(scene.width)}" height="{_n(scene.height)}" {fits}' if sized else ""
    label = f"<title>{plain_text(scene.label)}</title>" if scene.label and sized else ""
    described = (
        f"<desc>{plain_text(scene.description)}</desc>" if scene.description and sized else ""
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="{f"edgeflip {css}".strip()}" '
        f'viewBox="0 0 {_n(scene.width)} {_n(scene.height)}"{size} role="img" '
        f'aria-label="{plain_text(scene.label)}">{label}{described}{inside}</svg>'
    )


def _pair(point: Point) -> str:
    return f"{_n(point[0])} {_n(point[1])}"


def _n(value: float) -> str:
    text = f"{value:.1f}"
    return text.removesuffix(".0") if text != "-0.0" else "0"
