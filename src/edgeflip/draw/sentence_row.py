"""The places of a sentence in reading order, words and gaps, and the links between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from edgeflip.core import Edge, edge_pairs
from edgeflip.draw.brackets import Feet, Span, feet_of, levels_of
from edgeflip.draw.characters import clean_word
from edgeflip.draw.look import TEXTS, shortened, text_width
from edgeflip.draw.scene import BADGE
from edgeflip.draw.subject import Move, Subject

Side = Literal["before", "after"]
_SIDES: tuple[Side, Side] = ("before", "after")

MARGIN, LEAST_GAP = 10.0, 10.0
"""What stays free around a sentence, and between its words."""

# Between two feet of brackets on a word, and what the feet of a word may take before they move together.
_FOOT, _CROWD = 6.0, 120.0
# A changed link is at least so long between its words that its sign does not hide it.
_SIGNED = 2 * BADGE + 18
_LEFT_OUT = "…"


@dataclass(frozen=True)
class Link:
    """A link that is drawn.

    Attributes:
        span: Its places in the row.
        style: How it looks while no edit changes it.
        move: The edit that changes it.
    """

    span: Span
    style: str
    move: Move | None


class Row:
    """The places of a row, words and gaps, and the brackets between them."""

    def __init__(self, subject: Subject, places: Sequence[int | None], longest: float) -> None:
        self.subject, self.places = subject, places
        self._longest = longest
        self._where = {node: place for place, node in enumerate(self.places) if node is not None}
        self.texts = [self._text(node) for node in self.places]
        self.widths = [
            text_width(text, TEXTS[self._widest(node)])
            for text, node in zip(self.texts, self.places, strict=True)
        ]

    def _widest(self, node: int | None) -> str:
        if node is None:
            return "faded-word"
        return "edited-word" if self.subject.touching(node) else "word"

    def _text(self, node: int | None) -> str:
        if node is None:
            return _LEFT_OUT
        word = clean_word(str(self.subject.graph.tokens[node]))
        return shortened(word, TEXTS[self._widest(node)], self._longest)

    @property
    def sides(self) -> tuple[Side, ...]:
        """The sides that have links: where no edits were found there is nothing after them."""
        return _SIDES if self.subject.choices else _SIDES[:1]

    @cached_property
    def links(self) -> list[Link]:
        """Links between the words that are drawn, those that edits change last."""
        subject = self.subject
        changing = {move.ends: move for move in subject.moves}
        pairs = sorted(edge_pairs(subject.graph) | changing.keys())
        drawn = [pair for pair in pairs if self._where.keys() >= {*pair}]
        drawn.sort(key=lambda pair: (pair in changing, pair in subject.core_edges))
        return [self._link(pair, changing.get(pair)) for pair in drawn]

    def _link(self, pair: Edge, move: Move | None) -> Link:
        start, end = sorted(self._where[node] for node in pair)
        choices = None
        if move is not None and move.kind == "added":
            listed = enumerate(self.subject.choices)
            choices = frozenset(rank for rank, choice in listed if move in choice)
        style = "core-edge" if pair in self.subject.core_edges else "arc"
        return Link(Span(start, end, choices), style, move)

    @cached_property
    def levels(self) -> list[int]:
        """At which level each link runs."""
        return levels_of([link.span for link in self.links])

    def depth(self, side: Side) -> int:
        """How many levels a side has; before, nothing was added yet."""
        if side not in self.sides:
            return 0
        return max(
            (
                level
                for link, level in zip(self.links, self.levels, strict=True)
                if side == "after" or link.span.choices is None
            ),
            default=0,
        )

    @cached_property
    def sizes(self) -> list[float]:
        """What the feet of the links at each place need."""
        return [self._between(place) * count for place, count in enumerate(self._feet.counts)]

    def _between(self, place: int) -> float:
        """From foot to foot; where very many stand, closer than usual."""
        return min(_FOOT, _CROWD / max(self._feet.counts[place], 1))

    @cached_property
    def _feet(self) -> Feet:
        return feet_of([link.span for link in self.links], len(self.places))

    @cached_property
    def slots(self) -> list[float]:
        """How wide each place is in a line."""
        return [max(pair) for pair in zip(self.widths, self.sizes, strict=True)]

    @property
    def least_width(self) -> float:
        """How wide the sentence is as a line at least."""
        return sum(self.slots) + LEAST_GAP * (len(self.slots) - 1) + 2 * MARGIN

    def feet(self, centres: Sequence[float]) -> list[tuple[float, float]]:
        """Where the links stand, from the middles of the places."""
        feet = self._feet

        def foot(place: int, number: int) -> float:
            offset = number - (feet.counts[place] - 1) / 2
            return centres[place] + offset * self._between(place)

        return [
            (foot(link.span.start, start), foot(link.span.end, end))
            for link, start, end in zip(self.links, feet.starts, feet.ends, strict=True)
        ]

    def spread(self, centres: Sequence[float]) -> list[float]:
        """The middles of the places, farther apart where a link would be hidden by its sign."""
        spread = list(centres)
        for place in range(1, len(spread)):
            ends = [
                feet
                for link, feet in zip(self.links, self.feet(spread), strict=True)
                if link.move is not None and link.span.end == place
            ]
            more = max((_SIGNED - (end - start) for start, end in ends), default=0.0)
            if more > 0:
                spread[place:] = [centre + more for centre in spread[place:]]
        return spread

    def stems(self, centres: Sequence[float], side: Side) -> dict[int, tuple[float, float]]:
        """The first and the last foot at each place on one side, of what the headline shows."""
        found: dict[int, list[float]] = {}
        for link, feet in zip(self.links, self.feet(centres), strict=True):
            seen = link.span.choices is None or (side == "after" and link.span.leading)
            for place, foot in zip((link.span.start, link.span.end), feet, strict=True):
                if seen:
                    found.setdefault(place, []).append(foot)
        return {place: (min(feet), max(feet)) for place, feet in found.items()}
