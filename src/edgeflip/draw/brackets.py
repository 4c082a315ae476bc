"""Brackets between words in a row: at which level each runs, and where it stands on its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby


@dataclass(frozen=True)
class Span:
    """A bracket between two places of a row.

    Attributes:
        start: The earlier place.
        end: The later place.
        choices: The counterfactuals that have it, by rank; None for what is always there.
    """

    start: int
    end: int
    choices: frozenset[int] | None = None

    @property
    def leading(self) -> bool:
        """Whether it can be seen with the first counterfactual."""
        return self.choices is None or 0 in self.choices

    def meets(self, other: Span) -> bool:
        """Whether both can be seen at once."""
        if self.choices is None or other.choices is None:
            return True
        return bool(self.choices & other.choices)

    def overlaps(self, other: Span) -> bool:
        """Whether they share a way; those that end where the other begins do not."""
        return max(self.start, other.start) < min(self.end, other.end)

    def inside(self, other: Span) -> bool:
        """Whether the other one runs over it."""
        return other.start <= self.start and self.end <= other.end


def levels_of(spans: Sequence[Span]) -> list[int]:
    """The level of each bracket, from 1: above what it runs over, and alone on its way.

    Brackets of different counterfactuals are never seen together and may share a way. What the first
    counterfactual shows comes first, so that the others do not spread it.

    Example:
        >>> levels_of([Span(0, 1), Span(0, 2), Span(1, 3), Span(3, 4)])
        [1, 2, 1, 1]
    """
    order = sorted(range(len(spans)), key=lambda each: _precedence(spans[each]))
    levels: dict[int, int] = {}
    for each in order:
        span = spans[each]
        met = [
            other for other in levels if spans[other].overlaps(span) and spans[other].meets(span)
        ]
        taken = {levels[other] for other in met}
        level = 1 + max((levels[other] for other in met if spans[other].inside(span)), default=0)
        while level in taken:
            level += 1
        levels[each] = level
    return [levels[each] for each in range(len(spans))]


def _precedence(span: Span) -> tuple[bool, int, int]:
    return not span.leading, span.end - span.start, span.start


@dataclass(frozen=True)
class Feet:
    """Where brackets stand.

    Attributes:
        counts: How many feet there is room for at each place.
        starts: For each bracket, the number of its foot at its earlier place.
        ends: The same at its later place.
    """

    counts: tuple[int, ...]
    starts: tuple[int, ...]
    ends: tuple[int, ...]


def feet_of(spans: Sequence[Span], places: int) -> Feet:
    """Where brackets stand at each place, so that none crosses another without need.

    Those that come from before stand first, the shortest outermost; those that go on stand last, again
    the shortest outermost.

    Args:
        spans: The brackets.
        places: How many places the row has.
    """
    starts, ends = [0] * len(spans), [0] * len(spans)
    standing: list[list[int]] = [[] for _ in range(places)]
    for each, span in enumerate(spans):
        standing[span.start].append(each)
        standing[span.end].append(each)
    counts = []
    for place, there in enumerate(standing):
        sides = {each: spans[each].start == place for each in there}
        partners = {each: spans[each].end if sides[each] else spans[each].start for each in there}
        there.sort(key=lambda each: (sides[each], -partners[each]))
        taken = 0
        for _, run in groupby(there, key=lambda each: spans[each].leading):
            # What the first counterfactual shows meets all others, so it has feet of its own.
            numbers = _shared([*run], spans)
            for each, number in numbers.items():
                (starts if sides[each] else ends)[each] = taken + number
            taken += 1 + max(numbers.values())
        counts.append(taken)
    return Feet(tuple(counts), tuple(starts), tuple(ends))


def _shared(run: Sequence[int], spans: Sequence[Span]) -> dict[int, int]:
    """Numbers for feet beside each other; those that are never seen together share one."""
    numbers: dict[int, int] = {}
    for each in run:
        met = [number for other, number in numbers.items() if spans[other].meets(spans[each])]
        numbers[each] = 1 + max(met, default=-1)
    return numbers
