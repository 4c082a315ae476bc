"""The drawer of sentences: words once, in reading order, links before on one side, after on the other."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from edgeflip.core import edge_pairs
from edgeflip.draw.brackets import Span
from edgeflip.draw.characters import clean_word, reads_leftwards
from edgeflip.draw.layout import nearby
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
from edgeflip.draw.sentence_row import LEAST_GAP, MARGIN, Link, Row, Side
from edgeflip.draw.subject import Canvas, Drawing, Subject, loops_note

# Of a longer sentence only the words around the edits are drawn.
_WHOLE, _NEAR, _STEPS, _BESIDE = 60, 40, 2, 3
# A narrow page is this wide.
_NARROW = 358.0
# Words are cut at this width, in narrow and in small drawings earlier.
_LONGEST, _LONGEST_NARROW, _LONGEST_SMALL = 140.0, 118.0, (92.0, 64.0, 40.0)
# Between words, and between brackets.
_GAP, _LEVEL = 26.0, 17.0
# Heights of a line of words and of a row of a column, and what a dense sentence may take beside them.
_ABOVE, _BELOW, _ROW, _DEEPEST = 19.0, 9.0, 28.0, 300.0
_ROUNDING = 9.0
# From a link of a column to its word, and how far the links of a word may spread without a stem.
_NEAR_WORD, _TALL = 7.5, 9.0


def draw_sentence(subject: Subject, canvas: Canvas) -> Drawing:
    """Draw a sentence once, with its links before and after; a long one as a column."""
    if canvas.small:
        return Drawing((_small(subject, canvas),), _caption(subject, "above", "below"))
    total = len(subject.graph.tokens)
    nodes = chosen_words(subject)
    places = with_gaps(nodes, total)
    room = 2 * canvas.width + 40
    tall = _column(Row(subject, places, _LONGEST_NARROW), _NARROW)
    line = Row(subject, _as_read(places, subject), _LONGEST)
    beside = line.least_width > room
    panel = _column(Row(subject, places, _LONGEST), room) if beside else _line(line, room)
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
    core = f" Heavy links {subject.core_words}." if subject.core_edges else ""
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


def _small(subject: Subject, canvas: Canvas) -> Scene:
    """The words of the edits and as many of their neighbours as fit, in one line."""
    total = len(subject.graph.tokens)

    def row_of(nodes: Collection[int], longest: float) -> Row:
        places = with_gaps(sorted(nodes), total)
        return Row(subject, _as_read(places, subject), longest)

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
        insets: How far from there the word of each place is.
        lead: How far the first level is from there, less one level.
        step: From level to level.
    """

    centres: Sequence[float]
    upright: bool
    edges: tuple[float, float]
    lead: float
    step: float
    insets: Sequence[float] = ()

    def inset(self, place: int) -> float:
        """How far from the others a link goes on to its word."""
        return self.insets[place] if self.insets else 0.0

    def away(self, level: int) -> float:
        """How far a level is from the words."""
        return self.lead + level * self.step

    def point(self, along: float, away: float, side: Side) -> Point:
        """A point by its place along the row and its distance from the words."""
        across = self.edges[0] - away if side == "before" else self.edges[1] + away
        return (across, along) if self.upright else (along, across)


def _line(row: Row, width: float, height: float | None = None) -> Scene:
    """A sentence as a line, links before above and links after below."""
    count = len(row.slots)
    free = width - 2 * MARGIN - sum(row.slots)
    gap = min(_GAP, free / (count - 1)) if count > 1 else 0.0
    x = (width - sum(row.slots) - gap * (count - 1)) / 2
    centres = []
    for slot in row.slots:
        centres.append(x + slot / 2)
        x += slot + gap
    spread = row.spread(centres)
    wider = spread[-1] - centres[-1] if centres else 0.0
    if height is None and row.slots and x + wider / 2 - gap + MARGIN <= width:
        centres = [centre - wider / 2 for centre in spread]
    above, below = row.depth("before"), row.depth("after")
    lead = 8.0
    deepest = _DEEPEST
    if height is not None:
        deepest = (height - _ABOVE - _BELOW) / len(row.sides) - MARGIN
    step = _step(deepest - lead - BADGE, max(above, below))
    tops, bottoms = (lead + depth * step + BADGE + 2 if depth else 0.0 for depth in (above, below))
    top = MARGIN / 2 + tops
    whole = top + _ABOVE + _BELOW + bottoms + MARGIN / 2
    if height is not None:
        top += (height - whole) / 2
    frame = _Frame(centres, False, (top, top + _ABOVE + _BELOW), lead, step)
    places = [(centre, top + _ABOVE) for centre in centres]
    label = _label(row, "The words with the links before above and the links after below")
    return _scene(row, frame, places, (width, height or whole), label)


def _column(row: Row, width: float) -> Scene:
    """A sentence as a column, links before on the left and links after on the right."""
    y, centres = MARGIN, []
    for size in row.sizes:
        tall = max(_ROW, size + LEAST_GAP)
        centres.append(y + tall / 2)
        y += tall
    spread = row.spread(centres)
    y += spread[-1] - centres[-1] if centres else 0.0
    centres = spread
    half = max(row.widths, default=0.0) / 2 + 8
    lead = 4.0
    beside = (width - 2 * half) / len(row.sides)
    deepest = max(row.depth("before"), row.depth("after"))
    step = _step(beside - lead - BADGE - 2, deepest)
    middle = width / 2
    if len(row.sides) == 1:
        # Words and links together stand in the middle.
        middle += (lead + deepest * step) / 2
    insets = [half - _NEAR_WORD - width / 2 for width in row.widths]
    frame = _Frame(centres, True, (middle - half, middle + half), lead, step, insets)
    places = [(middle, centre + 5) for centre in centres]
    label = "The words with the links before on the left and the links after on the right"
    label = _label(row, label)
    return _scene(row, frame, places, (width, y + MARGIN), label)


def _label(row: Row, both: str) -> str:
    return both if len(row.sides) > 1 else "The words with their links"


def _step(room: float, levels: int) -> float:
    return min(_LEVEL, room / max(levels, 1))


def _scene(
    row: Row, frame: _Frame, places: Sequence[Point], size: tuple[float, float], label: str
) -> Scene:
    feet = row.feet(frame.centres)
    items: list[Item] = []
    for side in row.sides:
        for link, level, ends in zip(row.links, row.levels, feet, strict=True):
            items += _lines(link, _path(frame, link, ends, level, side), side)
        items += _stems(row, frame, side)
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


def _stems(row: Row, frame: _Frame, side: Side) -> list[Item]:
    """Thin lines that hold together the links of a word, where they are spread wider than it."""
    items: list[Item] = []
    for place, (first, last) in row.stems(frame.centres, side).items():
        if last - first > (_TALL if frame.upright else row.widths[place]):
            near = -frame.inset(place)
            ends = frame.point(first, near, side), frame.point(last, near, side)
            items.append(Line(ends, "leader"))
    return items


def _path(
    frame: _Frame, link: Link, ends: tuple[float, float], level: int, side: Side
) -> tuple[Point, ...]:
    one, other = ends
    far = frame.away(level)
    near = [-frame.inset(place) for place in (link.span.start, link.span.end)]
    corners = ((one, near[0]), (one, far), (other, far), (other, near[1]))
    return tuple(frame.point(along, away, side) for along, away in corners)


def _lines(link: Link, path: tuple[Point, ...], side: Side) -> list[Item]:
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


def _badge_places(row: Row, frame: _Frame, feet: Sequence[tuple[float, float]]) -> list[float]:
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
