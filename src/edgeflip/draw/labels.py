"""Where labels go: beside what they name, over nothing else, and nowhere if there is no room."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from edgeflip.draw.look import TEXTS, text_width
from edgeflip.draw.scene import Item, Line, Point, words

Box: TypeAlias = tuple[float, float, float, float]
"""Left, top, right, bottom."""

Segment: TypeAlias = tuple[Point, Point]

# Room kept around a label, and from where on a line has to lead to its dot.
_AIR, _NEAR = 2.0, 8.0
# How far from its dot a label may be: with a line to it, and without.
_FAR, _NEAR_BY = range(2, 132, 7), range(2, 9, 3)
_LINE = 1.2
# What is to be avoided, in pixels of distance that avoiding it is worth.
_LEADER, _BREAK, _CROSSING, _TAKEN_FOR, _BESIDE = 8.0, 5.0, 45.0, 14.0, 60.0
# From here on it is worth asking another label to move.
_COSTLY = 14.0


@dataclass(frozen=True)
class Spot:
    """A dot: its middle and radius."""

    at: Point
    radius: float

    def touches(self, other: Spot) -> bool:
        """Whether two dots touch."""
        return math.dist(self.at, other.at) <= self.radius + other.radius + 1


@dataclass(frozen=True)
class Wanted:
    """A label that is to be placed.

    Attributes:
        ways: The lines of the label, in every way it may be broken, the best first.
        style: One of `TEXTS`.
        spots: The dots it names.
        rank: Who chooses first; labels of a higher rank never cost one of a lower its place.
    """

    ways: tuple[tuple[str, ...], ...]
    style: str
    spots: tuple[Spot, ...]
    rank: int = 1


@dataclass(frozen=True)
class Label:
    """A label that has a place.

    Attributes:
        wanted: What was asked for.
        lines: Its words.
        box: Where they are.
        leader: The line to its dot, if that is not beside it.
    """

    wanted: Wanted
    lines: tuple[str, ...]
    box: Box
    leader: Segment | None = None

    def items(self) -> list[Item]:
        """The label and the line to its dot."""
        size = TEXTS[self.wanted.style].size
        left, top, right, _ = self.box
        middle = sum(spot.at[0] for spot in self.wanted.spots) / len(self.wanted.spots)
        end = middle > right
        items: list[Item] = [Line(self.leader, "leader")] if self.leader else []
        for index, line in enumerate(self.lines):
            base = top + size * (0.8 + _LINE * index)
            at = (right - _AIR if end else left + _AIR, base)
            items.append(words(at, line, self.wanted.style, "end" if end else "start"))
        return items


def broken(parts: Sequence[str], style: str, room: float = 190.0) -> tuple[tuple[str, ...], ...]:
    """The ways to write a list: on one line, and on several if that is long."""
    whole = ", ".join(parts)
    ways: list[tuple[str, ...]] = [(whole,)] if text_width(whole, TEXTS[style]) <= 2 * room else []
    if text_width(whole, TEXTS[style]) > room and len(parts) > 1:
        lines = [parts[0]]
        for part in parts[1:]:
            if text_width(f"{lines[-1]}, {part}", TEXTS[style]) <= room:
                lines[-1] += f", {part}"
            else:
                lines[-1] += ","
                lines.append(part)
        ways.append(tuple(lines))
    return tuple(ways) or ((whole,),)


def place_labels(
    wanted: Sequence[Wanted],
    inside: Box,
    dots: Sequence[Spot],
    lines: Sequence[Segment] = (),
    *,
    taken: Sequence[Box] = (),
    walls: Sequence[Segment] = (),
    led: bool = True,
) -> list[Label]:
    """Find places for as many labels as possible, near their dots.

    Labels overlap neither each other nor a dot and stay inside; no leader crosses a label, another
    leader or a foreign dot.

    Args:
        wanted: The labels.
        inside: The room there is.
        dots: Everything that must stay visible.
        lines: Lines that labels had better not cover.
        taken: Room that labels must not cover.
        walls: Lines that they must not cover.
        led: Whether a label may be so far from its dot that a line has to lead to it.
    """
    orders = [
        lambda label: (label.rank, min(spot.at[1] for spot in label.spots)),
        lambda label: (label.rank, -max(spot.at[0] for spot in label.spots)),
        lambda label: (label.rank, min(spot.at[0] for spot in label.spots)),
        lambda label: (label.rank, -_crowd(label, dots)),
    ]
    best: list[Label] = []
    best_worth: tuple[float, ...] = ()
    tries = {
        label: [
            (cost, place)
            for cost, place in _ranked(label, inside, dots, led=led)
            if not any(_overlap(place.box, box) for box in taken)
            and not any(meets(wall, place.box) for wall in walls)
        ]
        for label in wanted
    }
    known: dict[int, float] = {}
    for order in orders:
        room = _Room(tries, dots, lines, known)
        for label in sorted(wanted, key=order):
            room.place(label)
        room.improve()
        ranks = sorted({label.rank for label in wanted})
        counts = [sum(label.wanted.rank == rank for label in room.labels) for rank in ranks]
        worth = (*map(float, counts), -sum(room.cost(label) for label in room.labels))
        if not best_worth or worth > best_worth:
            best, best_worth = room.labels, worth
    return best


def _crowd(label: Wanted, dots: Sequence[Spot]) -> int:
    first = label.spots[0]
    return sum(math.dist(first.at, dot.at) < 60 for dot in dots)


def _ranked(
    wanted: Wanted, inside: Box, dots: Sequence[Spot], *, led: bool
) -> list[tuple[float, Label]]:
    """The places of a label that are inside and cover no dot, the nearest first."""
    found = [
        (_distance_cost(label), label)
        for label in _tries(wanted, _FAR if led else _NEAR_BY)
        if (led or label.leader is None)
        and inside[0] <= label.box[0]
        and inside[1] <= label.box[1]
        and label.box[2] <= inside[2]
        and label.box[3] <= inside[3]
        and all(_gap(dot, label.box) >= 0.5 for dot in dots)
    ]
    return sorted(found, key=lambda pair: pair[0])


def _distance_cost(label: Label) -> float:
    """How far a label is from the best place for it, whatever else is there."""
    left, top, _, bottom = label.box
    nearest = min(label.wanted.spots, key=lambda spot: _gap(spot, label.box))
    aside = 0.0 if left >= nearest.at[0] else 1.5
    middle = abs((top + bottom) / 2 - nearest.at[1]) / 8
    cost = _gap(nearest, label.box) + aside + middle + _BREAK * (len(label.lines) - 1)
    return cost + (_LEADER if label.leader else 0.0)


class _Room:
    """What is taken in a panel."""

    def __init__(
        self,
        tries: Mapping[Wanted, Sequence[tuple[float, Label]]],
        dots: Sequence[Spot],
        lines: Sequence[Segment],
        known: dict[int, float],
    ) -> None:
        self._tries, self._dots, self._lines = tries, dots, lines
        # What each of the tries costs and whether it is struck, by its id: they outlive the room.
        self._known = known
        self._struck: dict[int, bool] = {}
        self.labels: list[Label] = []

    def place(self, wanted: Wanted) -> bool:
        """Give a label the best place that is left, if there is one."""
        found: Label | None = None
        least = math.inf
        for cost, label in self._tries[wanted]:
            if cost >= least:
                break
            if not self._free(label):
                continue
            whole = self.cost(label)
            if whole < least:
                found, least = label, whole
        if found is not None:
            self.labels.append(found)
        return found is not None

    def improve(self) -> None:
        """Place labels again now that the others have their places, alone and in pairs."""
        for _ in range(2):
            for label in list(self.labels):
                self.labels.remove(label)
                self.place(label.wanted)
            placed = {label.wanted for label in self.labels}
            for wanted in self._tries:
                if wanted not in placed:
                    self._trade(wanted, None)
            for label in list(self.labels):
                if label in self.labels and self.cost(label) > _COSTLY:
                    self._trade(label.wanted, label)

    def _trade(self, wanted: Wanted, label: Label | None) -> None:
        """Let a label choose before one of the others, if that is better for both together."""
        for other in list(self.labels):
            if other is label:
                continue
            before = list(self.labels)
            paid = self.cost(other) + (math.inf if label is None else self.cost(label))
            self.labels = [one for one in before if one is not other and one is not label]
            both = self.place(wanted) and self.place(other.wanted)
            if both and sum(map(self.cost, self.labels[-2:])) < paid - 0.5:
                return
            self.labels = before

    def cost(self, label: Label) -> float:
        """How far a label is from the best place for it, and what it covers there."""
        if id(label) not in self._known:
            self._known[id(label)] = self._cost(label)
        return self._known[id(label)]

    def _cost(self, label: Label) -> float:
        cost = _distance_cost(label) + _CROSSING * sum(
            meets(line, label.box) for line in self._lines
        )
        # A dot about as near as its own, or one that the words begin or end at, would be taken for it.
        distance = min(_gap(spot, label.box) for spot in label.wanted.spots)
        others = [dot for dot in self._dots if dot not in label.wanted.spots]
        cost += _TAKEN_FOR * any(_gap(dot, label.box) < distance + 1.5 for dot in others)
        return cost + _BESIDE * any(
            label.box[1] < dot.at[1] < label.box[3] and _gap(dot, label.box) < _NEAR
            for dot in others
        )

    def _free(self, label: Label) -> bool:
        for other in self.labels:
            if _overlap(label.box, other.box):
                return False
            if other.leader and meets(other.leader, label.box):
                return False
            if label.leader and meets(label.leader, other.box):
                return False
            if label.leader and other.leader and _cross(label.leader, other.leader):
                return False
        if id(label) not in self._struck:
            self._struck[id(label)] = label.leader is not None and self._strikes(label)
        return not self._struck[id(label)]

    def _strikes(self, label: Label) -> bool:
        """Whether the leader runs over a dot that is not its own."""
        assert label.leader is not None
        own = label.wanted.spots
        return any(
            _distance(dot.at, label.leader) < dot.radius + 1.5
            for dot in self._dots
            if not any(dot.touches(spot) for spot in own)
        )


def _tries(wanted: Wanted, far: range) -> Iterator[Label]:
    """Every place that a label may have, beside or around each of its dots."""
    style = TEXTS[wanted.style]
    for lines in wanted.ways:
        width = max(text_width(line, style) for line in lines) + 2 * _AIR
        height = style.size * (1 + _LINE * (len(lines) - 1)) + _AIR
        # Of many dots that share a label its ends will do.
        for spot in (*wanted.spots[:1], *wanted.spots[1:][-2:]):
            for left, top in _corners(spot, width, height, far):
                box = (left, top, left + width, top + height)
                yield Label(wanted, lines, box, _leader(spot, box))


def _corners(spot: Spot, width: float, height: float, far: range) -> Iterator[Point]:
    x, y = spot.at
    for distance in far:
        reach = spot.radius + distance
        for degrees in range(0, 360, 15):
            turn = math.radians(degrees)
            across, down = math.cos(turn), math.sin(turn)
            # The label begins, ends or is centred where the ray from the dot meets it.
            left = (
                x + reach * across - (0 if across > 0.1 else width if across < -0.1 else width / 2)
            )
            yield left, y + reach * down - height * (1 - down) / 2


def _leader(spot: Spot, box: Box) -> Segment | None:
    gap = _gap(spot, box)
    if gap <= _NEAR:
        return None
    x, y = spot.at
    left, top, right, bottom = box
    inset = min(4.0, (right - left) / 2)
    end = (min(max(x, left + inset), right - inset), min(max(y, top), bottom))
    # Beside its dot a label is met at the middle of its height.
    if end[0] != x and top <= y <= bottom:
        end = (left if x < left else right, y)
    elif x < left or x > right:
        end = (left if x < left else right, min(max(y, top + 3), bottom - 3))
    length = math.dist(spot.at, end)
    share = (spot.radius + 0.5) / length if length else 0.0
    return (x + (end[0] - x) * share, y + (end[1] - y) * share), end


def _gap(spot: Spot, box: Box) -> float:
    """Distance from the rim of a dot to a box; negative if it reaches into it."""
    x, y = spot.at
    across = max(box[0] - x, 0.0, x - box[2])
    down = max(box[1] - y, 0.0, y - box[3])
    return math.hypot(across, down) - spot.radius


def _overlap(one: Box, other: Box) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def meets(line: Segment, box: Box) -> bool:
    """Whether a line runs through a box: what is left of it after each side cuts it off."""
    (x, y), (end_x, end_y) = line
    if max(x, end_x) <= box[0] or min(x, end_x) >= box[2]:
        return False
    if max(y, end_y) <= box[1] or min(y, end_y) >= box[3]:
        return False
    start, end = 0.0, 1.0
    for begin, way, low, high in (
        (x, end_x - x, box[0], box[2]),
        (y, end_y - y, box[1], box[3]),
    ):
        if way == 0:
            if not low < begin < high:
                return False
            continue
        near, far = sorted(((low - begin) / way, (high - begin) / way))
        start, end = max(start, near), min(end, far)
    return start < end


def _cross(one: Segment, other: Segment) -> bool:
    def side(line: Segment, point: Point) -> float:
        (a, b), (c, d) = line
        return (c - a) * (point[1] - b) - (d - b) * (point[0] - a)

    apart = side(one, other[0]) * side(one, other[1])
    return apart < 0 and side(other, one[0]) * side(other, one[1]) < 0


def _distance(point: Point, line: Segment) -> float:
    (x, y), (end_x, end_y) = line
    way = (end_x - x, end_y - y)
    length = way[0] ** 2 + way[1] ** 2
    share = ((point[0] - x) * way[0] + (point[1] - y) * way[1]) / length if length else 0.0
    share = min(1.0, max(0.0, share))
    return math.hypot(point[0] - x - share * way[0], point[1] - y - share * way[1])
