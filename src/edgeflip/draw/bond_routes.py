"""The ways of new bonds: straight where that hits nothing, otherwise around what is in between."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise, product
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from edgeflip.draw.free_places import Box
from edgeflip.draw.scene import Point, between

Way: TypeAlias = tuple[Point, ...]
"""Start, corners and end of a line whose corners are rounded as far as they can be."""

Floats: TypeAlias = NDArray[np.float64]

_SAMPLES = 41
# Every so many of these points are enough to keep away from a line.
_COARSE = 4
# How high an arc is, as a share of the distance of its ends, and where along it the corner is.
_HEIGHTS, _CORNERS = (0.16, 0.28, 0.42, 0.6, 0.85, 1.15), (0.5, 0.3, 0.7, 0.1, 0.9)
# Arcs with two corners go around whole rings.
_HIGH = (0.15, 0.3, 0.5, 0.75, 1.05)
# How far a way keeps from atoms and letters, from bonds, and from other new bonds.
_FROM_ATOM, _FROM_LETTERS, _FROM_BOND, _FROM_NEW = 11.0, 5.0, 5.5, 8.0
# What it costs to run through an atom or its letters, to leave the panel by a pixel, to run along another
# line by a pixel, to cross one, to be longer by a pixel, and to turn on the spot.
_THROUGH, _OUTSIDE, _ALONG, _CROSSED, _LONGER, _SHARP = 90.0, 6.0, 1.5, 5.0, 0.22, 90.0
# A turn of at least this radius is no corner.
_ROUND = 26.0
# Near its own atoms a way may be close to their bonds.
_FREE_END = 9.0
# A straight way that costs no more than this needs no other.
_LITTLE = 2.0
_RIM = 5.0


@dataclass(frozen=True)
class Ground:
    """What new bonds are drawn on.

    Attributes:
        size: Width and height of the panel.
        places: The atoms.
        letters: What is written at atoms.
        bonds: The bonds that are there, from atom to atom.
    """

    size: Point
    places: Mapping[int, Point]
    letters: Mapping[int, Sequence[Box]]
    bonds: Sequence[tuple[int, int]]

    def best(self, ends: tuple[int, int], others: Sequence[Way]) -> Way:
        """The way between two atoms that costs least.

        Args:
            ends: The atoms.
            others: Ways of new bonds that are seen with it.
        """
        straight = self.places[ends[0]], self.places[ends[1]]
        if self._costs([straight], ends, others)[0] < _LITTLE:
            return straight
        ways = list(_candidates(*straight))
        costs = self._costs(ways, ends, others)
        return ways[int(np.argmin(np.round(costs, 3)))]

    def _costs(self, ways: Sequence[Way], ends: tuple[int, int], others: Sequence[Way]) -> Floats:
        paths = np.array([_weights(len(way)) @ np.array(way) for way in ways])
        steps = np.linalg.norm(np.diff(paths, axis=1), axis=2)
        lengths = steps.sum(axis=1)
        run = np.concatenate([np.zeros((len(ways), 1)), steps.cumsum(axis=1)], axis=1)
        inside = np.minimum(run, lengths[:, None] - run) > _FREE_END
        step = (lengths / (_SAMPLES - 1))[:, None]
        cost = _LONGER * (lengths - lengths.min())
        cost += _SHARP * _sharpness(paths)
        cost += self._outside(paths)
        cost += self._through(paths, ends)
        straight = [(self.places[u], self.places[v]) for u, v in self.bonds]
        close = _near(paths, straight, _FROM_BOND) & inside[:, :, None]
        cost += _ALONG * (close.any(axis=2) * step).sum(axis=1)
        cost += _CROSSED * close.any(axis=1).sum(axis=1)
        for other in others:
            met = _near(paths, coarse_pieces(other), _FROM_NEW).any(axis=2) & inside
            cost += 2 * _ALONG * (met * step).sum(axis=1) + 2 * _CROSSED * met.any(axis=1)
        result: Floats = cost
        return result

    def _outside(self, paths: Floats) -> Floats:
        over = np.maximum(_RIM - paths, paths - (np.array(self.size) - _RIM)).max(axis=(1, 2))
        result: Floats = _OUTSIDE * np.maximum(over, 0.0)
        return result

    def _through(self, paths: Floats, ends: tuple[int, int]) -> Floats:
        """What it costs to come near atoms that a bond does not belong to, and near their letters."""
        cost = np.zeros(len(paths))
        # Axes apart: a large molecule is walked through some ten thousand points at a time.
        x, y = (np.ascontiguousarray(paths[..., axis]) for axis in (0, 1))
        for node, place in self.places.items():
            if node in ends:
                continue
            apart = np.sqrt(((x - place[0]) ** 2 + (y - place[1]) ** 2).min(axis=1))
            cost += _THROUGH * np.maximum(0.0, 1 - apart / _FROM_ATOM) ** 1.5
            for box in self.letters.get(node, ()):
                across = np.maximum(np.maximum(box.left - x, x - box.right), 0.0)
                down = np.maximum(np.maximum(box.top - y, y - box.bottom), 0.0)
                apart = np.sqrt((across**2 + down**2).min(axis=1))
                cost += _THROUGH * np.maximum(0.0, 1 - apart / _FROM_LETTERS)
        return cost


def _sharpness(paths: Floats) -> Floats:
    """How sharp the sharpest turn of each path is: 0 for a gentle one, 1 for a corner."""
    steps = np.diff(paths, axis=1)
    lengths = np.maximum(np.linalg.norm(steps, axis=2), 1e-9)
    headings = np.arctan2(steps[..., 1], steps[..., 0])
    turns = np.abs((np.diff(headings, axis=1) + np.pi) % (2 * np.pi) - np.pi)
    radii = (lengths[:, 1:] + lengths[:, :-1]) / 2 / np.maximum(turns, 1e-6)
    result: Floats = np.maximum(0.0, 1 - radii.min(axis=1) / _ROUND) ** 2
    return result


def _candidates(one: Point, other: Point) -> Iterator[Way]:
    yield one, other
    length = math.dist(one, other) or 1.0
    across = (one[1] - other[1]) / length, (other[0] - one[0]) / length

    def corner(share: float, height: float) -> Point:
        x, y = between(one, other, share)
        return x + across[0] * height * length, y + across[1] * height * length

    for side in (1, -1):
        for height in _HEIGHTS:
            for share in _CORNERS:
                yield one, corner(share, side * height), other
        # A control point beyond the ends makes room around what is next to them.
        for first, second in product(_HIGH, _HIGH):
            for start, end in ((0.15, 0.85), (-0.1, 1.1), (0.15, 1.1), (-0.1, 0.85)):
                yield one, corner(start, side * first), corner(end, side * second), other


def sampled(way: Sequence[Point]) -> list[Point]:
    """Points along a way, as it is drawn."""
    points = (_weights(len(way)) @ np.array(way)).tolist()
    return [(x, y) for x, y in points]


def coarse_pieces(way: Sequence[Point]) -> list[tuple[Point, Point]]:
    """A way as a few straight pieces."""
    return list(pairwise(sampled(way)[::_COARSE]))


@cache
def _weights(count: int) -> Floats:
    """How much each of so many corners counts at each point of a way [points, corners]."""
    columns = []
    for own in range(count):
        unit = [(float(place == own), 0.0) for place in range(count)]
        columns.append([along(unit, step / (_SAMPLES - 1))[0] for step in range(_SAMPLES)])
    return np.array(columns).T


def way_length(way: Sequence[Point]) -> float:
    """How long a way is, as it is drawn."""
    return sum(math.dist(one, other) for one, other in pairwise(sampled(way)))


def along(way: Sequence[Point], share: float) -> Point:
    """A point of a way by its share: 0 is its start, 1 its end."""
    if len(way) == 2:
        return between(way[0], way[1], share)
    # Corners are rounded from the middle of one stretch to the middle of the next.
    middles = [between(one, other, 0.5) for one, other in pairwise(way)]
    parts = len(way)
    part = min(int(share * parts), parts - 1)
    inside = share * parts - part
    if part == 0:
        return between(way[0], middles[0], inside)
    if part == parts - 1:
        return between(middles[-1], way[-1], inside)
    start, corner, end = middles[part - 1], way[part], middles[part]
    return between(between(start, corner, inside), between(corner, end, inside), inside)


def _near(paths: Floats, lines: Sequence[tuple[Point, Point]], within: float) -> NDArray[np.bool_]:
    """Which points of which paths are near which lines [paths, points, lines]."""
    if not lines:
        return np.zeros((*paths.shape[:2], 0), dtype=bool)
    ends = np.array(lines)
    start, way = ends[:, 0], ends[:, 1] - ends[:, 0]
    length = np.maximum((way**2).sum(axis=1), 1e-9)
    x, y = (paths[:, :, None, axis] - start[:, axis] for axis in (0, 1))
    share = np.clip((x * way[:, 0] + y * way[:, 1]) / length, 0.0, 1.0)
    apart = (x - share * way[:, 0]) ** 2 + (y - share * way[:, 1]) ** 2
    result: NDArray[np.bool_] = apart < within**2
    return result


def crossings(way: Sequence[Point], line: Sequence[Point]) -> list[float]:
    """Where along a way, as shares, it crosses another line."""
    points = sampled(way)
    found = []
    for place, (one, other) in enumerate(pairwise(points)):
        for start, end in pairwise(line):
            inside = _crossing(one, other, start, end)
            if inside is not None:
                found.append((place + inside) / (_SAMPLES - 1))
    return found


def _crossing(one: Point, other: Point, start: Point, end: Point) -> float | None:
    """The share of one line at which it crosses another."""
    ax, ay = other[0] - one[0], other[1] - one[1]
    bx, by = end[0] - start[0], end[1] - start[1]
    turn = ax * by - ay * bx
    if abs(turn) < 1e-9:
        return None
    dx, dy = start[0] - one[0], start[1] - one[1]
    first, second = (dx * by - dy * bx) / turn, (dx * ay - dy * ax) / turn
    return first if 0 <= first < 1 and 0 <= second <= 1 else None
