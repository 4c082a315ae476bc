"""One panel of a comparison: dots, the region that is worse than ours, and labels beside the dots."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from edgeflip.draw.axes import Frame
from edgeflip.draw.labels import Label, Segment, Spot, Wanted, broken, meets, place_labels
from edgeflip.draw.scene import Disc, Item, Line, box
from edgeflip.draw.wording import percent, quantity

_RADII = {"ours": 7.5, "variant": 4.5, "rival": 4.5}
_PUBLISHED = 4.25
# A published dot this near to the measured one is joined to it and needs no name.
_JOINED = 64.0
# Published dots of one family need not touch to share a name.
_KIN = 30.0


@dataclass(frozen=True)
class Dot:
    """A method on a dataset.

    Attributes:
        method: The same for what was measured and what was published.
        name: How it is called.
        x: On the axis of factors, above 0.
        y: On the axis of shares.
        kind: Ours, a variant of ours, or somebody else's.
        published: Whether it was printed elsewhere and not measured.
        family: What several methods are together, such as the variants of one; may be empty.
    """

    method: str
    name: str
    x: float
    y: float
    kind: Literal["ours", "variant", "rival"] = "rival"
    published: bool = False
    family: str = ""


def draw_panel(
    dots: Sequence[Dot], frame: Frame, axes: Sequence[Item], unit: tuple[str, str]
) -> list[Item]:
    """Dots with their labels.

    Args:
        dots: The methods.
        frame: Where they are drawn.
        axes: The axes of the frame.
        unit: Of the lower axis, of several and of one.
    """
    return _Panel(dots, frame, unit).items(axes)


class _Panel:
    def __init__(self, dots: Sequence[Dot], frame: Frame, unit: tuple[str, str]) -> None:
        self._dots, self._frame, self._unit = dots, frame, unit
        self._spots = {dot: self._spot(dot) for dot in dots}
        measured = {dot.method: dot for dot in dots if not dot.published}
        self._partner = {
            dot: measured[dot.method] for dot in dots if dot.published and dot.method in measured
        }
        self._names = [dot.family for dot in dots if dot.family and not dot.published]

    def _spot(self, dot: Dot) -> Spot:
        return Spot(self._frame.at(dot.x, dot.y), _PUBLISHED if dot.published else _RADII[dot.kind])

    def items(self, axes: Sequence[Item]) -> list[Item]:
        """Tint, lines, dots and labels, in the order in which they are drawn."""
        frame = self._frame
        joined = [dot for dot in self._partner if self._length(dot) <= _JOINED]
        room = (frame.left + 3, frame.top - 4, frame.right + 8, frame.bottom - 3)
        named: dict[int, list[Dot]] = {}
        wanted = []
        for group in self._groups(joined):
            label = self._wanted(group)
            wanted.append(label)
            named[id(label)] = group
        joins = [self._join(dot) for dot in joined]
        labels = place_labels(wanted, room, list(self._spots.values()), joins)
        # What has no room for its name is at least joined to the dot that has one, if nothing is in the way.
        told = {dot for label in labels for dot in named[id(label.wanted)]}
        joins += [
            self._join(dot)
            for dot in self._partner
            if dot not in told
            and dot not in joined
            and not any(meets(self._join(dot), label.box) for label in labels)
        ]
        lines = [Line(join, "join") for join in joins]
        return [*self._tint(), *axes, *lines, *self._discs(labels)]

    def _tint(self) -> list[Item]:
        """Where everything is worse than ours on both axes."""
        ours = [dot for dot in self._dots if dot.kind == "ours" and not dot.published]
        if not ours:
            return []
        x, y = self._spots[ours[0]].at
        frame = self._frame
        return [box(x, y, frame.right - x, frame.bottom - y, "tint")]

    def _discs(self, labels: Sequence[Label]) -> list[Item]:
        leaders: list[Item] = []
        texts: list[Item] = []
        for label in labels:
            for item in label.items():
                (leaders if isinstance(item, Line) else texts).append(item)
        # Ours is the largest, so others stay visible on top of it.
        order = {"ours": 1, "variant": 2, "rival": 3}
        dots = sorted(self._dots, key=lambda dot: 0 if dot.published else order[dot.kind])
        return [*leaders, *(self._disc(dot) for dot in dots), *texts]

    def _disc(self, dot: Dot) -> Item:
        spot = self._spots[dot]
        own = dot.kind != "rival"
        style = "ours" if own else "rival"
        if dot.published:
            style = "published-ours" if own else "published"
        title = f"{dot.name}{', published' if dot.published else ''}: {self._values(dot)}"
        return Disc(spot.at, spot.radius, style, title)

    def _values(self, dot: Dot) -> str:
        return f"{percent(dot.y)}, {quantity(dot.x, *self._unit)}"

    def _length(self, dot: Dot) -> float:
        return math.dist(self._spots[dot].at, self._spots[self._partner[dot]].at)

    def _join(self, dot: Dot) -> Segment:
        return self._spots[dot].at, self._spots[self._partner[dot]].at

    def _groups(self, joined: Sequence[Dot]) -> list[list[Dot]]:
        """Dots that share a label: those of others that touch, measured and published apart."""
        groups: list[list[Dot]] = []
        for dot in self._dots:
            if dot in joined:
                continue
            touching = [group for group in groups if any(self._alike(dot, one) for one in group)]
            groups = [group for group in groups if group not in touching]
            groups.append([*(one for group in touching for one in group), dot])
        return groups

    def _alike(self, one: Dot, other: Dot) -> bool:
        if one.published != other.published or "rival" not in (one.kind, other.kind):
            return False
        if one.kind != other.kind:
            return False
        spots = self._spots[one], self._spots[other]
        if one.published and one.family and one.family == other.family:
            return math.dist(spots[0].at, spots[1].at) <= _KIN
        return spots[0].touches(spots[1])

    def _wanted(self, group: Sequence[Dot]) -> Wanted:
        first = group[0]
        spots = tuple(self._spots[dot] for dot in group)
        if first.published:
            parts = self._parts(group, counted=False)
            own = "published" if first.kind == "rival" else "ours-small"
            return Wanted(broken([*parts, "published"], own), own, spots, rank=2)
        if first.kind == "ours":
            return Wanted(((f"{first.name}  {self._values(first)}",),), "ours", spots, rank=0)
        style = "rival" if first.kind == "rival" else "ours-small"
        return Wanted(broken(self._parts(group, counted=True), style), style, spots)

    def _parts(self, group: Sequence[Dot], *, counted: bool) -> list[str]:
        """The names of dots; several of a family are one name."""
        families = [dot.family for dot in group]
        parts: dict[str, None] = {}
        for dot in group:
            count = families.count(dot.family)
            if not dot.family or count == 1:
                parts[dot.name] = None
            elif counted:
                all_of_them = count == self._names.count(dot.family)
                total = "" if all_of_them else f"of {self._names.count(dot.family)} "
                parts[f"{dot.family} ({count} {total}variants)"] = None
            else:
                parts[dot.family] = None
        return list(parts)
