"""How chemists draw atoms and bonds: letters with their hydrogens, double bonds, wedges."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edgeflip.draw.free_places import Box
from edgeflip.draw.look import TEXTS, text_width
from edgeflip.draw.molecule_sketch import Atom, Bond, Scale, Sketch
from edgeflip.draw.scene import ALWAYS, Item, Line, Point, Shape, When, between, words

Segment: TypeAlias = tuple[Point, Point]
Side: TypeAlias = Literal["right", "left", "up", "down"]

_LOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_HIGH = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
_WAYS: dict[Side, Point] = {"right": (1, 0), "left": (-1, 0), "up": (0, -1), "down": (0, 1)}
# Letters beside an atom read more easily than letters above it, unless a bond is nearer than this.
_BESIDE = math.radians(80)
# Alone, these are written after their hydrogens: H₂O, HCl.
_HYDROGENS_FIRST = frozenset({"O", "S", "Se", "F", "Cl", "Br", "I"})
# Heights in parts of the size of letters: of a capital, and from one line to the next.
_CAPITAL, _NEXT_LINE = 0.72, 0.86


@dataclass(frozen=True)
class Letters:
    """What is written at an atom.

    Attributes:
        items: The words.
        boxes: The room that they take.
    """

    items: tuple[Item, ...] = ()
    boxes: tuple[Box, ...] = ()


def letters_of(
    atom: Atom,
    at: Point,
    ways: Sequence[Point],
    style: str,
    when: When = ALWAYS,
    *,
    alone: bool = False,
) -> Letters:
    """The symbol of an atom with its hydrogens on the side that is free.

    Args:
        atom: The atom.
        at: Its place, on which the letter of its element stands.
        ways: Where its neighbours are.
        style: Of the words.
        when: When they are shown.
        alone: Whether it has no neighbours any more, and is water rather than a hydroxyl group.
    """
    look, (x, y) = TEXTS[style], at
    isotope, charge = _isotope(atom), _charge(atom)
    middle = text_width(atom.symbol, look) / 2
    before, after = text_width(isotope, look), text_width(charge, look)
    count = str(atom.hydrogens).translate(_LOW) if atom.hydrogens > 1 else ""
    hydrogens = f"H{count}" if atom.hydrogens else ""
    more = text_width(hydrogens, look)
    half = _CAPITAL * look.size / 2
    base = y + half
    own = Box(x - middle - before, y - half, x + middle + after, y + half)
    side = _hydrogen_side(atom, at, ways)
    if not hydrogens or side == "right":
        text = f"{isotope}{atom.symbol}{hydrogens}{charge}"
        if alone and atom.symbol in _HYDROGENS_FIRST:
            # The ghost of a bond is on the other side, so the whole word keeps clear of it.
            text = f"{hydrogens}{isotope}{atom.symbol}{charge}"
        item = words((own.left, base), text, style, halo=True, when=when)
        return Letters((item,), (own._replace(right=own.right + more),))
    if side == "left":
        text = f"{hydrogens}{isotope}{atom.symbol}{charge}"
        item = words((own.right, base), text, style, "end", halo=True, when=when)
        return Letters((item,), (own._replace(left=own.left - more),))
    shift = _NEXT_LINE * look.size * (-1 if side == "up" else 1)
    start = x - text_width("H", look) / 2
    symbol = words((own.left, base), f"{isotope}{atom.symbol}{charge}", style, halo=True, when=when)
    # Without a rim of their own, or one line of letters would cut into the other.
    other = words((start, base + shift), hydrogens, style, when=when)
    box = Box(start, y - half + shift, start + more, y + half + shift)
    return Letters((symbol, other), (own, box))


def _isotope(atom: Atom) -> str:
    return str(atom.isotope).translate(_HIGH) if atom.isotope else ""


def _charge(atom: Atom) -> str:
    size = str(abs(atom.charge)) if abs(atom.charge) > 1 else ""
    sign = "+" if atom.charge > 0 else "-"
    return (f"{size}{sign}".translate(_HIGH) if atom.charge else "") + "•" * atom.radicals


def _hydrogen_side(atom: Atom, at: Point, ways: Sequence[Point]) -> Side:
    if not ways:
        return "left" if atom.symbol in _HYDROGENS_FIRST else "right"

    def gap(side: Side) -> float:
        beyond = at[0] + _WAYS[side][0], at[1] + _WAYS[side][1]
        return round(min(angle_at(at, way, beyond) for way in ways), 3)

    beside: tuple[Side, ...] = ("right", "left")
    best = max(beside, key=gap)
    return best if gap(best) > _BESIDE else max(_WAYS, key=gap)


def angle_at(corner: Point, one: Point, other: Point) -> float:
    """The angle at a corner between the ways to two other points, from 0 to π."""
    first, second = (math.atan2(to[1] - corner[1], to[0] - corner[0]) for to in (one, other))
    return abs(math.remainder(first - second, 2 * math.pi))


class Pen:
    """Draws the bonds of a molecule so that they stop short of letters.

    Args:
        sketch: The molecule.
        scale: Where its atoms are.
        boxes: The letters of atoms that have some.
    """

    def __init__(self, sketch: Sketch, scale: Scale, boxes: dict[int, Collection[Box]]) -> None:
        self._sketch, self._places, self._boxes = sketch, scale.places, boxes
        self._gap = min(5.5, max(3.6, 0.15 * scale.length))
        self._spread = min(3.4, max(2.4, 0.1 * scale.length))

    def bond(self, bond: Bond, style: str = "bond", when: When = ALWAYS) -> list[Item]:
        """A bond as it is in the input, wedges included."""
        if bond.wedge and bond.order == 1:
            return self._wedge(bond, when)
        return [Line(line, style, when=when) for line in self.lines(bond)]

    def lines(self, bond: Bond) -> list[Segment]:
        """The lines of a bond, as many as its order."""
        one, other = (self._places[end] for end in bond.ends)
        if bond.order == 1 or one == other:
            return [self.cut((one, other), bond.ends)]
        if bond.order == 3:
            gap = 0.85 * self._gap
            return [self.cut(_beside((one, other), by), bond.ends) for by in (0, gap, -gap)]
        side = self._second_side(bond)
        if side == 0:
            return [self._parallel(bond, by * self._gap / 2, inner=False) for by in (1, -1)]
        second = self._parallel(bond, side * self._gap, inner=True)
        return [self.cut((one, other), bond.ends), second]

    def cut(self, line: Segment, ends: tuple[int, int]) -> Segment:
        """A line between two atoms without what would run into their letters."""
        start = _leaves(line, self._boxes.get(ends[0], ()))
        end = _leaves((line[1], line[0]), self._boxes.get(ends[1], ()))
        return between(*line, start), between(line[1], line[0], end)

    def _second_side(self, bond: Bond) -> int:
        """On which side the second line of a double bond lies; 0 for one line on each side."""
        one, other = (self._places[end] for end in bond.ends)
        if bond.ring:
            ring = [self._places[node] for node in bond.ring if node in self._places]
            middle = tuple(sum(axis) / len(ring) for axis in zip(*ring, strict=True))
            return _side_of((one, other), (middle[0], middle[1]))
        near = [len(self._sketch.neighbours[end]) for end in bond.ends]
        lettered = [bool(self._boxes.get(end)) for end in bond.ends]
        if min(near) == 1 and (max(near) != 2 or all(lettered)):
            return 0
        sides = [_side_of((one, other), self._places[node]) for node in self._around(bond)]
        return 1 if sum(sides) >= 0 and any(sides) else -1 if any(sides) else 0

    def _around(self, bond: Bond) -> list[int]:
        return [
            node
            for end in bond.ends
            for node in self._sketch.neighbours[end]
            if node not in bond.ends
        ]

    def _parallel(self, bond: Bond, by: float, *, inner: bool) -> Segment:
        """A line beside the axis of a double bond that meets the bonds next to it, or ends inside."""
        u, v = bond.ends
        line = (self._places[u], self._places[v])
        shares = []
        for end, other in ((u, v), (v, u)):
            at, towards = self._places[end], self._places[other]
            side = 1 if by > 0 else -1
            angles = [
                angle_at(at, self._places[node], towards)
                for node in self._sketch.neighbours[end]
                if node != other and _side_of(line, self._places[node]) == side
            ]
            length = math.dist(at, towards)
            share = 0.0
            if angles and not self._boxes.get(end):
                turn = min(angles) / 2 if inner else min(angles)
                share = abs(by) / math.tan(max(turn, 0.3)) / length
            elif inner and len(self._sketch.neighbours[end]) > 1 and not self._boxes.get(end):
                share = 0.1
            shares.append(max(-0.12, min(0.35, share)))
        moved = _beside(line, by)
        shortened = between(*moved, shares[0]), between(moved[1], moved[0], shares[1])
        return self.cut(shortened, bond.ends)

    def _wedge(self, bond: Bond, when: When) -> list[Item]:
        wide = next(end for end in bond.ends if end != bond.narrow)
        ends = (bond.narrow, wide)
        tip, foot = self.cut((self._places[bond.narrow], self._places[wide]), ends)
        left, right = (_beside((tip, foot), by)[1] for by in (self._spread, -self._spread))
        if bond.wedge == "wedge":
            return [Shape((tip, left, right), "wedge", when)]
        steps = max(4, round(math.dist(tip, foot) / 3.4))
        return [
            Line((between(tip, left, share), between(tip, right, share)), "hash", when=when)
            for share in ((step + 1) / steps for step in range(steps))
        ]


def _side_of(line: Segment, point: Point) -> int:
    """On which side of a line a point is: 1, -1, or 0 on the line."""
    (ax, ay), (bx, by) = line
    cross = (bx - ax) * (point[1] - ay) - (by - ay) * (point[0] - ax)
    return 0 if abs(cross) < 1e-6 else 1 if cross > 0 else -1


def _beside(line: Segment, by: float) -> Segment:
    """A line moved sideways, to the side that counts as 1 where `by` is positive."""
    (ax, ay), (bx, by_) = line
    length = math.dist(*line) or 1.0
    dx, dy = -(by_ - ay) / length * by, (bx - ax) / length * by
    return (ax + dx, ay + dy), (bx + dx, by_ + dy)


def _leaves(line: Segment, boxes: Iterable[Box]) -> float:
    """The share of a line at which it has left the boxes it starts in, at most a good third."""
    spans = sorted(span for box in boxes if (span := _inside(line, box)) is not None)
    left = 0.0
    for enters, leaves in spans:
        if enters <= left + 0.05:
            left = max(left, leaves)
    return min(left, 0.42)


def _inside(line: Segment, box: Box) -> tuple[float, float] | None:
    """The shares of a line between which it is in a box."""
    (ax, ay), (bx, by) = line
    low, high = 0.0, 1.0
    for start, way, least, most in (
        (ax, bx - ax, box.left, box.right),
        (ay, by - ay, box.top, box.bottom),
    ):
        if abs(way) < 1e-9:
            if not least <= start <= most:
                return None
            continue
        one, other = sorted(((least - start) / way, (most - start) / way))
        low, high = max(low, one), min(high, other)
    return (low, high) if low < high else None
