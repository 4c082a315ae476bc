"""Where there is room for a few words in a drawing that is half full."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from edgeflip.draw.labels import meets
from edgeflip.draw.scene import Point

# More room than this is not needed; a line that is closer than these is nearly touched, and touched.
_ENOUGH, _CLOSE, _RIM = 5.0, 3.0, 1.2
# What it costs to touch a line, nearly or really, to cover words, and to be a pixel farther away.
_NEARLY, _TOUCHED, _COVERED, _PER_PIXEL = 1.0, 8.0, 10.0, 0.12
# What it costs not to be nearer to what it names than to anything like it, by so many pixels.
_MISTAKEN, _OWN = 6.0, 4.0
# Below first, then in turn to both sides up to the top.
_ANGLES = [math.pi / 2 + (step + 1) // 2 * (-1) ** step * math.pi / 8 for step in range(16)]
_WAYS = [(math.cos(angle), math.sin(angle)) for angle in _ANGLES]


class Box(NamedTuple):
    """A rectangle by its sides."""

    left: float
    top: float
    right: float
    bottom: float

    def grown(self, by: float) -> Box:
        """The same with a rim."""
        return Box(self.left - by, self.top - by, self.right + by, self.bottom + by)

    @property
    def middle(self) -> Point:
        """Its middle."""
        return (self.left + self.right) / 2, (self.top + self.bottom) / 2


def box_around(at: Point, width: float, height: float) -> Box:
    """A rectangle by its middle."""
    x, y = at
    return Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


class Clutter:
    """What is drawn already: lines and boxes on a canvas."""

    def __init__(self, width: float, height: float) -> None:
        self._canvas = Box(0, 0, width, height)
        self._lines: list[tuple[Point, Point]] = []
        self._boxes: list[Box] = []

    def add_line(self, points: Sequence[Point]) -> None:
        """Note a line."""
        self._lines += pairwise(points)

    def add_boxes(self, boxes: Iterable[Box]) -> None:
        """Note boxes."""
        self._boxes += boxes

    def room(self, box: Box) -> float:
        """How far a box is from everything else; less than 0 where it covers something."""
        return self._room(box, self._lines, -math.inf)

    def _room(self, box: Box, lines: Sequence[tuple[Point, Point]], least: float) -> float:
        """The same with some of the lines; what is less than the least need not be exact."""
        inside = self._canvas
        room = min(
            box.left - inside.left,
            box.top - inside.top,
            inside.right - box.right,
            inside.bottom - box.bottom,
        )
        # Words that leave the canvas are worse than words that cover a line.
        room = _ENOUGH if room >= 2 else 4 * (room - 2)
        for other in self._boxes:
            apart = apart_by(box, other)
            room = min(room, apart if apart > 0 else apart - _COVERED)
        for line in lines:
            if room < least:
                break
            apart = _line_apart(line, box)
            costs = 0.0 if apart > _CLOSE else _NEARLY if apart > _RIM else _TOUCHED
            room = min(room, apart - costs)
        return room

    def place(
        self,
        at: Point,
        size: tuple[float, float],
        distances: Sequence[float],
        also: Clutter | None = None,
        rivals: Iterable[Point] = (),
    ) -> Point:
        """The middle of the best place for a box around a point, the near ones first.

        Args:
            at: What it belongs to.
            size: Its width and height.
            distances: How far its rim may be from that point, from near to far.
            also: What is there besides.
            rivals: Points it does not belong to, from which it keeps farther than from its own.
        """
        reach = distances[-1] + math.hypot(*size) + _ENOUGH
        every = self._lines + (also._lines if also is not None else [])
        lines = [line for line in every if distance_to_line(at, *line) < reach]
        others = [point for point in rivals if point != at and math.dist(at, point) < 2 * reach]
        best, most = at, -math.inf
        for distance in distances:
            cost = _PER_PIXEL * (distance - distances[0])
            if _ENOUGH - cost <= most:
                break
            for way in _WAYS:
                # Wide words are pushed out until they leave the point free.
                out = distance + min(
                    side / 2 / max(abs(part), 1e-6) for side, part in zip(size, way, strict=True)
                )
                middle = at[0] + way[0] * out, at[1] + way[1] * out
                box = box_around(middle, *size)
                worth = self._room(box, lines, most + cost) - cost
                own = _point_apart(at, box)
                if any(_point_apart(point, box) < own + _OWN for point in others):
                    worth -= _MISTAKEN
                if also is not None:
                    worth = min(worth, also._room(box, (), most + cost) - cost)
                if worth > most + 1e-6:
                    best, most = middle, worth
        return best


def _point_apart(point: Point, box: Box) -> float:
    """How far a point is from a box."""
    x, y = point
    return math.hypot(max(box.left - x, 0.0, x - box.right), max(box.top - y, 0.0, y - box.bottom))


def apart_by(one: Box, other: Box) -> float:
    """How far two boxes are from each other; less than 0 where they overlap."""
    across = max(one.left - other.right, other.left - one.right)
    along = max(one.top - other.bottom, other.top - one.bottom)
    if across > 0 and along > 0:
        return math.hypot(across, along)
    return max(across, along)


def _line_apart(line: tuple[Point, Point], box: Box) -> float:
    """How far a line is from a box; 0 where it runs through."""
    if meets(line, box):
        return 0.0
    corners = [(x, y) for x in (box.left, box.right) for y in (box.top, box.bottom)]
    ends = [_point_apart(end, box) for end in line]
    return min(*(distance_to_line(corner, *line) for corner in corners), *ends)


def distance_to_line(point: Point, one: Point, other: Point) -> float:
    """How far a point is from the line between two others."""
    dx, dy = other[0] - one[0], other[1] - one[1]
    length = dx * dx + dy * dy
    share = 0.0
    if length:
        share = ((point[0] - one[0]) * dx + (point[1] - one[1]) * dy) / length
    share = max(0.0, min(1.0, share))
    return math.dist(point, (one[0] + share * dx, one[1] + share * dy))
