"""Scenes: what a picture shows, as lines, discs and words, before anybody draws it.

A scene may hold several states at once: an item says by `When` under which edits it is shown. A picture
draws one state; a page draws all of them and lets the reader switch. Places are pixels, y downwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from edgeflip.draw.look import TEXTS, text_width

Point: TypeAlias = tuple[float, float]

Anchor: TypeAlias = Literal["start", "middle", "end"]


@dataclass(frozen=True)
class When:
    """Under which edits something is shown; edits are known by their keys.

    Attributes:
        all: All of these are made.
        any: At least one of these is made, where any are named.
        none: None of these is made.

    Example:
        >>> When(all=frozenset({"a"}), none=frozenset({"b"})).holds({"a", "c"})
        True
    """

    all: frozenset[str] = frozenset()
    any: frozenset[str] = frozenset()
    none: frozenset[str] = frozenset()

    def holds(self, made: Iterable[str]) -> bool:
        """Whether it is shown when these edits are made."""
        made = frozenset(made)
        return (
            self.all <= made and not (self.none & made) and (not self.any or bool(self.any & made))
        )


ALWAYS = When()


def made(key: str) -> When:
    """Shown while an edit is made."""
    return When(all=frozenset({key}))


def not_made(key: str) -> When:
    """Shown while an edit is not made."""
    return When(none=frozenset({key}))


@dataclass(frozen=True)
class Line:
    """A line through points; its style is one of `STYLES`.

    Attributes:
        rounding: Radius of its corners.
    """

    points: tuple[Point, ...]
    style: str
    rounding: float = 0.0
    when: When = ALWAYS


@dataclass(frozen=True)
class Shape:
    """A closed polygon."""

    points: tuple[Point, ...]
    style: str
    when: When = ALWAYS


@dataclass(frozen=True)
class Disc:
    """A circle.

    Attributes:
        title: What it is, told when the mouse rests on it.
    """

    at: Point
    radius: float
    style: str
    title: str = ""
    when: When = ALWAYS


@dataclass(frozen=True)
class Run:
    """Words in one style, one of `TEXTS`."""

    text: str
    style: str


@dataclass(frozen=True)
class Words:
    """Words on a line, in one or several styles; `at` is on the line they stand on.

    Attributes:
        halo: Whether a rim of paper keeps lines behind them away.
        title: What they are short for, told when the mouse rests on them.
    """

    at: Point
    runs: tuple[Run, ...]
    anchor: Anchor = "start"
    halo: bool = False
    when: When = ALWAYS
    title: str = ""

    @property
    def text(self) -> str:
        """The words without their styles."""
        return "".join(run.text for run in self.runs)

    @property
    def width(self) -> float:
        """About how wide they are."""
        return sum(text_width(run.text, TEXTS[run.style]) for run in self.runs)


Item: TypeAlias = Line | Shape | Disc | Words


def words(
    at: Point,
    text: str,
    style: str,
    anchor: Anchor = "start",
    *,
    halo: bool = False,
    when: When = ALWAYS,
    title: str = "",
) -> Words:
    """Words in one style."""
    return Words(at, (Run(text, style),), anchor, halo, when, title)


def box(x: float, y: float, width: float, height: float, style: str, when: When = ALWAYS) -> Shape:
    """A rectangle, by its upper left corner."""
    corners = ((x, y), (x + width, y), (x + width, y + height), (x, y + height))
    return Shape(corners, style, when)


BADGE = 7.5
"""Radius of the disc with a sign."""


def badge(at: Point, kind: Literal["added", "removed"], when: When = ALWAYS) -> list[Item]:
    """The disc with a plus or a minus that stands on a changed edge."""
    x, y = at
    arm = 3.5
    items: list[Item] = [
        Disc(at, BADGE, f"{kind}-badge", when=when),
        Line(((x - arm, y), (x + arm, y)), f"{kind}-sign", when=when),
    ]
    if kind == "added":
        items.append(Line(((x, y - arm), (x, y + arm)), f"{kind}-sign", when=when))
    return items


@dataclass(frozen=True)
class Scene:
    """Everything a picture shows.

    Attributes:
        width: In pixels.
        height: In pixels.
        items: What is drawn, the last on top.
        label: The picture in a few words, for those who cannot see it.
        description: The same at length.
    """

    width: float
    height: float
    items: tuple[Item, ...]
    label: str = ""
    description: str = ""

    def under(self, edits: Iterable[str]) -> Scene:
        """The scene in one state, in which every item is always shown."""
        active = frozenset(edits)
        shown = [replace(item, when=ALWAYS) for item in self.items if item.when.holds(active)]
        return replace(self, items=tuple(shown))


def placed(items: Iterable[Item], by: Point, scale: float = 1.0) -> list[Item]:
    """Items at another place and in another size; strokes and letters keep theirs."""
    dx, dy = by

    def moved(point: Point) -> Point:
        return point[0] * scale + dx, point[1] * scale + dy

    result: list[Item] = []
    for item in items:
        if isinstance(item, Line | Shape):
            result.append(replace(item, points=tuple(moved(point) for point in item.points)))
        elif isinstance(item, Disc):
            radius = item.radius * min(1.0, max(scale, 0.6))
            result.append(replace(item, at=moved(item.at), radius=radius))
        else:
            result.append(replace(item, at=moved(item.at)))
    return result


def coarse(scene: Scene) -> Scene:
    """The same at whole pixels and without what is told when the mouse rests on something: fewer bytes."""

    def whole(point: Point) -> Point:
        return float(round(point[0])), float(round(point[1]))

    items: list[Item] = []
    for item in scene.items:
        if isinstance(item, Line | Shape):
            items.append(replace(item, points=tuple(map(whole, item.points))))
        elif isinstance(item, Disc):
            items.append(replace(item, at=whole(item.at), title=""))
        else:
            items.append(item)
    return replace(scene, items=tuple(items), description="")


def without_words(items: Iterable[Item]) -> list[Item]:
    """The same without any words, for small pictures."""
    return [item for item in items if not isinstance(item, Words)]


def between(one: Point, other: Point, share: float) -> Point:
    """A point on the way from one to another."""
    return one[0] + (other[0] - one[0]) * share, one[1] + (other[1] - one[1]) * share


Corner: TypeAlias = tuple[Literal["move", "line", "curve"], tuple[Point, ...]]


def path_of(points: Sequence[Point], rounding: float = 0.0) -> list[Corner]:
    """A line as steps: to a point, or around a corner by its control point and end."""
    steps: list[Corner] = [("move", (points[0],))]
    for before, corner, after in zip(points, points[1:], points[2:], strict=False):
        if not rounding:
            steps.append(("line", (corner,)))
            continue
        start, end = (_towards(corner, other, rounding) for other in (before, after))
        steps += [("line", (start,)), ("curve", (corner, end))]
    steps.append(("line", (points[-1],)))
    return steps


def _towards(corner: Point, other: Point, distance: float) -> Point:
    length = ((other[0] - corner[0]) ** 2 + (other[1] - corner[1]) ** 2) ** 0.5
    return between(corner, other, min(0.5, distance / length) if length else 0.0)
