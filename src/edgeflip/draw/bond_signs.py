"""Where the signs of changed bonds stand: on their bond or beside it, and on nothing else."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from edgeflip.draw.bond_routes import Ground, Way, along, coarse_pieces, way_length
from edgeflip.draw.free_places import apart_by, box_around, distance_to_line
from edgeflip.draw.scene import BADGE, Point

# On a bond that is shorter than this a sign would hide what it stands for.
_SHORT = 2 * BADGE + 17
# Shares of a bond at which a sign may stand, the middle first, and how far beside it.
_SHARES = tuple(0.5 + (step + 1) // 2 * (-1) ** step * 0.035 for step in range(19))
_BESIDE, _SHARES_BESIDE = (BADGE + 4.5, BADGE + 9), (0.5, 0.35, 0.65, 0.2, 0.8)
# More room than this is not needed; what it costs to be beside, to be off the middle, and to hide a bond.
_ENOUGH, _ASIDE, _OFF, _HIDES = 3.0, 2.0, 2.0, 9.0


@dataclass(frozen=True)
class Changed:
    """A bond that changes.

    Attributes:
        ends: Its atoms.
        way: Its way as it is drawn, without what would run into letters.
    """

    ends: tuple[int, int]
    way: Way


class Signs:
    """The signs on a ground.

    Args:
        ground: Atoms, letters and bonds.
    """

    def __init__(self, ground: Ground) -> None:
        self._ground = ground

    def place(
        self, bond: Changed, others: Sequence[Changed], taken: Sequence[Point]
    ) -> tuple[Point, float]:
        """The best place for a sign, and how much room it has there.

        Args:
            bond: What it stands for.
            others: Changed bonds that are seen with it.
            taken: Where their signs are.
        """
        lines = self._lines(bond, others)
        best, most, room = along(bond.way, 0.5), -math.inf, 0.0
        for at, cost, away in _tries(bond.way):
            if _ENOUGH - cost <= most:
                continue
            free = self._room(at, bond, lines, taken, away)
            if min(free, _ENOUGH) - cost > most + 1e-6:
                best, most, room = at, min(free, _ENOUGH) - cost, free
        return best, room

    def _lines(self, bond: Changed, others: Sequence[Changed]) -> list[tuple[Point, Point]]:
        """What a sign must not cover."""
        places = self._ground.places
        lines = [(places[u], places[v]) for u, v in self._ground.bonds if (u, v) != bond.ends]
        for other in others:
            if other.ends != bond.ends:
                lines += coarse_pieces(other.way)
        return lines

    def _room(
        self,
        at: Point,
        bond: Changed,
        lines: Sequence[tuple[Point, Point]],
        taken: Sequence[Point],
        away: float,
    ) -> float:
        sign = box_around(at, 2 * BADGE, 2 * BADGE)
        near = [math.dist(at, other) - 2 * BADGE - 3 for other in taken]
        # Beside its bond a sign is nearer to it than to any other.
        near += [
            distance_to_line(at, *line) - max(BADGE + 1.5, away + 2 if away else 0.0)
            for line in lines
        ]
        for node, place in self._ground.places.items():
            if node not in bond.ends:
                near.append(math.dist(at, place) - BADGE - 4)
            near += [apart_by(sign, box) for box in self._ground.letters.get(node, ())]
        width, height = self._ground.size
        near.append(min(at[0], at[1], width - at[0], height - at[1]) - BADGE - 1)
        return round(min(near, default=_ENOUGH), 2)


def _tries(way: Way) -> Iterator[tuple[Point, float, float]]:
    """Places with what they cost, and how far they are from the bond."""
    hides = _HIDES if way_length(way) < _SHORT else 0.0
    for share in _SHARES:
        yield along(way, share), hides + _OFF * abs(share - 0.5), 0.0
    for away in _BESIDE:
        for share in _SHARES_BESIDE:
            x, y = along(way, share)
            (ax, ay), (bx, by) = along(way, max(0, share - 0.02)), along(way, share + 0.02)
            step = math.dist((ax, ay), (bx, by)) or 1.0
            dx, dy = (ay - by) / step * away, (bx - ax) / step * away
            cost = _ASIDE + _OFF * abs(share - 0.5) + 0.2 * (away - _BESIDE[0])
            for side in (1, -1):
                yield (x + side * dx, y + side * dy), cost, away


def sign_places(
    ground: Ground,
    bonds: Mapping[str, Changed],
    together: Mapping[str, Sequence[str]],
    first: Sequence[str],
) -> dict[str, Point]:
    """Where the sign of each changed bond stands.

    Args:
        ground: Atoms, letters and bonds.
        bonds: The changed bonds by the keys of their edits.
        together: For each edit those that are seen with it.
        first: The edits of the headline, whose signs choose first.
    """
    signs = Signs(ground)
    found: dict[str, Point] = {}
    # What has least room of its own chooses first.
    rooms = {
        key: signs.place(bond, [bonds[other] for other in together[key]], ())[1]
        for key, bond in bonds.items()
    }
    for key in sorted(bonds, key=lambda each: (each not in first, rooms[each])):
        others = together[key]
        taken = [found[other] for other in others if other in found]
        found[key], _ = signs.place(bonds[key], [bonds[other] for other in others], taken)
    return found
