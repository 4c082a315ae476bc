"""The drawer of sentences: words once, in reading order, links before on one side, after on the other."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from edgeflip.core import Edge, edge_pairs
from edgeflip.draw.brackets import Feet, Span, feet_of, levels_of
from edgeflip.draw.characters import clean_word, reads_leftwards
from edgeflip.draw.layout import nearby
from edgeflip.draw.look import TEXTS, shortened, text_width
from edgeflip.draw.scene import (
    ALWAYS,
    BADGE,
    Item,
    Line,
    Point,
    Scene,
    When,
    badge,
    made,
    not_made,
    words,
)
from edgeflip.draw.subject import Canvas, Drawing, Move, Subject, loops_note

# Of a longer sentence only the words around the edits are drawn.
_WHOLE, _NEAR, _STEPS, _BESIDE = 60, 40, 2, 3
# A narrow page is this wide.
_NARROW = 358.0
# Words are cut at this width, in narrow and in small drawings earlier.
_LONGEST, _LONGEST_NARROW, _LONGEST_SMALL = 140.0, 118.0, (92.0, 64.0, 40.0)
# Between two feet of brackets on a word, between words, and between brackets.
_FOOT, _LEAST_GAP, _GAP, _LEVEL = 6.0, 10.0, 26.0, 17.0
# What the feet of a word may take before they move together.
_CROWD = 120.0
# Heights of a line of words and of a row of a column, and what a dense sentence may take beside them.
_ABOVE, _BELOW, _ROW, _DEEPEST = 19.0, 9.0, 28.0, 300.0
_MARGIN = 10.0
_ROUNDING = 9.0
_LEFT_OUT = "…"

Side = Literal["before", "after"]
_SIDES: tuple[Side, Side] = ("before", "after")


def draw_sentence(subject: Subject, canvas: Canvas) -> Drawing:
    """Draw a sentence once, with its links before and after; a long one as a column."""
    if canvas.small:
        return Drawing((_small(subject, canvas),), _caption(subject, "above", "below"))
    total = len(subject.graph.tokens)
    nodes = chosen_words(subject)
    places = with_gaps(nodes, total)
    room = 2 * canvas.width + 40
    tall = _column(_Row(subject, places, _LONGEST_NARROW), _NARROW)
    line = _Row(subject, _as_read(places, subject), _LONGEST)
    beside = line.least_width > room
    panel = _column(_Row(subject, places, _LONGEST), room) if beside else _line(line, room)
    left_out, note, drawn = "", "", None
    if len(nodes) < total:
        within = set(nodes)
        drawn = frozenset(move.key for move in subject.moves if within.issuperset(move.ends))
        left_out = " Words that are not drawn, and their links, are left out at each ellipsis."
        note = f"{len(nodes)} of {total:,} words drawn"
    tall_caption = _caption(subject, "on the left", "on the right") + left_out
    caption = tall_caption if beside else _caption(subject, "above", "below") + left_out
    return Drawing((panel,), caption, tall, tall_caption, beside, drawn=drawn, aside_note=note)


def _caption(subject: Subject, before: str, after: str) -> str:
    sides = f" Links {before} are before, links {after} after." if subject.choices else ""
    core = " Dark links carry the prediction." if subject.core_edges else ""
    loops = f" {note}" if (note := loops_note(subject.graph)) else ""
    return f"A link joins a word to the word it depends on.{sides}{core}{loops}"


def chosen_words(subject: Subject) -> list[int]:
    """The words that are drawn: all, or of a long sentence those around the edits."""
    total = len(subject.graph.tokens)
    if total <= _WHOLE:
        return list(range(total))
    starts = _looked_at(subject) or [0]
    beside = [
        node + step
        for far in range(1, _BESIDE + 1)
        for node in starts
        for step in (-far, far)
        if 0 <= node + step < total
    ]
    union = edge_pairs(subject.graph) | {move.ends for move in subject.shown}
    # Other counterfactuals can be chosen on a page, so their words are wanted too.
    others = [node for move in subject.moves for node in move.ends]
    near = nearby(union, starts, [*beside, *others], steps=_STEPS, limit=_NEAR)
    # What room is left goes to the words that are nearest in reading order.
    rest = sorted(set(range(total)) - set(near), key=lambda node: _distance(node, near))
    return sorted([*near, *rest[: max(0, _NEAR - len(near))]])


def _looked_at(subject: Subject) -> list[int]:
    """The words of the edits, or where there are none the first of those that carry the prediction."""
    ends = dict.fromkeys(node for move in subject.shown for node in move.ends)
    return list(ends) or sorted(subject.core_nodes)[:8]


def _distance(node: int, others: Sequence[int]) -> tuple[int, int]:
    return min((abs(node - other) for other in others), default=node), node


def with_gaps(nodes: Sequence[int], total: int) -> list[int | None]:
    """Words in reading order, with None where some are left out."""
    places: list[int | None] = []
    last = -1
    for node in nodes:
        places += [None, node] if node != last + 1 else [node]
        last = node
    return [*places, None] if last != total - 1 else places


def _as_read(places: list[int | None], subject: Subject) -> list[int | None]:
    """Places of a line: a script that is read from right to left begins at the right."""
    return places[::-1] if reads_leftwards([*map(str, subject.graph.tokens)]) else places


@dataclass(frozen=True)
class _Link:
    """A link that is drawn.

    Attributes:
        span: Its places in the row.
        style: How it looks while no edit changes it.
        move: The edit that changes it.
    """

    span: Span
    style: str
    move: Move | None


class _Row:
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
    def links(self) -> list[_Link]:
        """Links between the words that are drawn, those that edits change last."""
        subject = self.subject
        changing = {move.ends: move for move in subject.moves}
        pairs = sorted(edge_pairs(subject.graph) | changing.keys())
        drawn = [pair for pair in pairs if self._where.keys() >= {*pair}]
        drawn.sort(key=lambda pair: (pair in changing, pair in subject.core_edges))
        return [self._link(pair, changing.get(pair)) for pair in drawn]

    def _link(self, pair: Edge, move: Move | None) -> _Link:
        start, end = sorted(self._where[node] for node in pair)
        choices = None
        if move is not None and move.kind == "added":
            listed = enumerate(self.subject.choices)
            choices = frozenset(rank for rank, choice in listed if move in choice)
        style = "core-edge" if pair in self.subject.core_edges else "arc"
        return _Link(Span(start, end, choices), style, move)

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
        return sum(self.slots) + _LEAST_GAP * (len(self.slots) - 1) + 2 * _MARGIN

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


def _small(subject: Subject, canvas: Canvas) -> Scene:
    """The words of the edits and as many of their neighbours as fit, in one line."""
    total = len(subject.graph.tokens)

    def row_of(nodes: Collection[int], longest: float) -> _Row:
        places = with_gaps(sorted(nodes), total)
        return _Row(subject, _as_read(places, subject), longest)

    longest = next(
        (
            each
            for each in _LONGEST_SMALL
            if row_of(_looked_at(subject), each).least_width <= canvas.width
        ),
        _LONGEST_SMALL[-1],
    )
    nodes: frozenset[int] = frozenset()
    # A link is drawn with both of its words or not at all.
    for move in subject.shown:
        more = nodes.union(move.ends)
        nodes = more if row_of(more, longest).least_width <= canvas.width else nodes
    around = sorted(nodes) or _looked_at(subject)
    for node in sorted(range(total), key=lambda each: _distance(each, around)):
        more = nodes | {node}
        if row_of(more, longest).least_width > canvas.width:
            break
        nodes = more
    return _line(row_of(nodes, longest), canvas.width, canvas.height)


@dataclass(frozen=True)
class _Frame:
    """Where a row lies in a picture.

    Attributes:
        centres: The middles of its places, along the row.
        upright: Whether the row is a column.
        edges: Where links before and links after stand, across the row.
        lead: How far the first level is from there, less one level.
        step: From level to level.
    """

    centres: Sequence[float]
    upright: bool
    edges: tuple[float, float]
    lead: float
    step: float

    def away(self, level: int) -> float:
        """How far a level is from the words."""
        return self.lead + level * self.step

    def point(self, along: float, away: float, side: Side) -> Point:
        """A point by its place along the row and its distance from the words."""
        across = self.edges[0] - away if side == "before" else self.edges[1] + away
        return (across, along) if self.upright else (along, across)


def _line(row: _Row, width: float, height: float | None = None) -> Scene:
    """A sentence as a line, links before above and links after below."""
    count = len(row.slots)
    free = width - 2 * _MARGIN - sum(row.slots)
    gap = min(_GAP, free / (count - 1)) if count > 1 else 0.0
    x = (width - sum(row.slots) - gap * (count - 1)) / 2
    centres = []
    for slot in row.slots:
        centres.append(x + slot / 2)
        x += slot + gap
    above, below = row.depth("before"), row.depth("after")
    lead = 8.0
    deepest = _DEEPEST
    if height is not None:
        deepest = (height - _ABOVE - _BELOW) / len(row.sides) - _MARGIN
    step = _step(deepest - lead - BADGE, max(above, below))
    tops, bottoms = (lead + depth * step + BADGE + 2 if depth else 0.0 for depth in (above, below))
    top = _MARGIN / 2 + tops
    whole = top + _ABOVE + _BELOW + bottoms + _MARGIN / 2
    if height is not None:
        top += (height - whole) / 2
    frame = _Frame(centres, False, (top, top + _ABOVE + _BELOW), lead, step)
    places = [(centre, top + _ABOVE) for centre in centres]
    label = _label(row, "The words with the links before above and the links after below")
    return _scene(row, frame, places, (width, height or whole), label)


def _column(row: _Row, width: float) -> Scene:
    """A sentence as a column, links before on the left and links after on the right."""
    y, centres = _MARGIN, []
    for size in row.sizes:
        tall = max(_ROW, size + _LEAST_GAP)
        centres.append(y + tall / 2)
        y += tall
    half = max(row.widths, default=0.0) / 2 + 8
    lead = 4.0
    beside = (width - 2 * half) / len(row.sides)
    deepest = max(row.depth("before"), row.depth("after"))
    step = _step(beside - lead - BADGE - 2, deepest)
    middle = width / 2
    if len(row.sides) == 1:
        # Words and links together stand in the middle.
        middle += (lead + deepest * step) / 2
    frame = _Frame(centres, True, (middle - half, middle + half), lead, step)
    places = [(middle, centre + 5) for centre in centres]
    label = "The words with the links before on the left and the links after on the right"
    label = _label(row, label)
    return _scene(row, frame, places, (width, y + _MARGIN), label)


def _label(row: _Row, both: str) -> str:
    return both if len(row.sides) > 1 else "The words with their links"


def _step(room: float, levels: int) -> float:
    return min(_LEVEL, room / max(levels, 1))


def _scene(
    row: _Row, frame: _Frame, places: Sequence[Point], size: tuple[float, float], label: str
) -> Scene:
    feet = row.feet(frame.centres)
    items: list[Item] = []
    for side in row.sides:
        for link, level, ends in zip(row.links, row.levels, feet, strict=True):
            items += _lines(link, _path(frame, ends, level, side), side)
    for at, text, node in zip(places, row.texts, row.places, strict=True):
        items += _word(row.subject, at, text, node)
    signs = _badge_places(row, frame, feet)
    for side in row.sides:
        for link, level, along in zip(row.links, row.levels, signs, strict=True):
            if link.move is not None and (side == "after" or link.move.kind == "removed"):
                at = frame.point(along, frame.away(level), side)
                items += badge(at, link.move.kind, made(link.move.key))
    description = " ".join(clean_word(str(token)) for token in row.subject.graph.tokens)
    return Scene(*size, tuple(items), label, description)


def _path(frame: _Frame, ends: tuple[float, float], level: int, side: Side) -> tuple[Point, ...]:
    one, other = ends
    far = frame.away(level)
    corners = ((one, 0.0), (one, far), (other, far), (other, 0.0))
    return tuple(frame.point(along, away, side) for along, away in corners)


def _lines(link: _Link, path: tuple[Point, ...], side: Side) -> list[Item]:
    """A link: before shows what goes, after what came and a ghost of what went."""

    def line(style: str, when: When = ALWAYS) -> Item:
        return Line(path, style, _ROUNDING, when)

    move = link.move
    if move is None:
        return [line(link.style)]
    now = made(move.key)
    if move.kind == "added":
        return [] if side == "before" else [line("casing", now), line("added", now)]
    still = line(link.style, not_made(move.key))
    if side == "after":
        return [still, line("ghost", now)]
    return [still, line("casing", now), line("removed", now)]


def _word(subject: Subject, at: Point, text: str, node: int | None) -> list[Item]:
    if node is None:
        return [words(at, text, "faded-word", "middle")]
    touching = subject.touching(node)
    plain: list[Item] = [words(at, text, "word", "middle", when=When(none=touching))]
    if not touching:
        return plain
    return [*plain, words(at, text, "edited-word", "middle", when=When(any=touching))]


def _badge_places(row: _Row, frame: _Frame, feet: Sequence[tuple[float, float]]) -> list[float]:
    """Where along its bracket each sign stands; brackets without one have any place."""
    taken: list[tuple[Span, Point]] = []
    places = []
    for link, level, ends in zip(row.links, row.levels, feet, strict=True):
        if link.move is None:
            places.append(ends[0])
            continue
        span, away = link.span, frame.away(level)
        passing = [
            foot
            for each, height, others in zip(row.links, row.levels, feet, strict=True)
            for foot in others
            if height > level and each.span.meets(span)
        ]
        signs = [at for each, at in taken if each.meets(span)]
        places.append(_free_place(ends, away, passing, signs))
        taken.append((span, (places[-1], away)))
    return places


def _free_place(
    ends: tuple[float, float], away: float, passing: Sequence[float], signs: Sequence[Point]
) -> float:
    """The middle of a bracket, or where the sign covers no other and nothing that passes."""

    def room(along: float) -> float:
        beside = [abs(along - foot) - BADGE - 2 for foot in passing]
        apart = [math.dist((along, away), sign) - 2 * BADGE - 4 for sign in signs]
        return min([*beside, *apart, math.inf])

    one, other = ends
    tried = [one + (other - one) * share for share in (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)]
    return next((along for along in tried if room(along) > 0), max(tried, key=room))
