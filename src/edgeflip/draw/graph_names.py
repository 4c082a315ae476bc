"""Where names of nodes go: beside their nodes and over nothing else, shortened or as letters if need be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, product
from string import ascii_lowercase
from typing import Literal

from edgeflip.draw.labels import Box, Label, Segment, Spot, Wanted, place_labels
from edgeflip.draw.look import TEXTS, shortened, text_width
from edgeflip.draw.scene import BADGE, Point, When, Words, words
from edgeflip.draw.subject import Canvas, Move, Subject

_STYLE = "label"
_LEADS = ("In the drawing", "With other counterfactuals")
_AIR = 2.0
# How wide a name may be, and whether it may cover edges that stay; the first that has a place is taken.
_WAYS = ((160.0, False), (96.0, False), (96.0, True), (60.0, True), (36.0, True))


@dataclass(frozen=True)
class Nodes:
    """Nodes as they are drawn.

    Attributes:
        places: Their middles.
        small: Radius of a node that has no part in anything.
        large: Radius of a node that is edited or carries the prediction.
        edges: The lines that no edit changes.
        changed: The line of every edit, by its key.
        badges: Where the sign of every edit stands, by its key.
    """

    places: Mapping[int, Point]
    small: float
    large: float
    edges: Sequence[Segment]
    changed: Mapping[str, Segment]
    badges: Mapping[str, Point]


@dataclass(frozen=True)
class Tag:
    """The name of a node beside it.

    Attributes:
        text: As much of it as there is room for.
        box: Where it is.
        anchor: On which side of it its node is.
    """

    text: str
    box: Box
    anchor: Literal["start", "middle", "end"]

    def words(self, whole: str, when: When) -> Words:
        """The name as words that tell all of it when the mouse rests on them."""
        left, top, right, _ = self.box
        x = {"start": left + _AIR, "middle": (left + right) / 2, "end": right - _AIR}[self.anchor]
        at = (x, top + 0.85 * TEXTS[_STYLE].size)
        title = whole if whole != self.text else ""
        return words(at, self.text, _STYLE, self.anchor, halo=True, when=when, title=title)


class Names:
    """The names of the nodes that have any beside them.

    Args:
        subject: The graph and its edits.
        canvas: The room there is.
        nodes: What is drawn.
        named: The nodes whose names do not fit inside them.

    Attributes:
        tags: Names beside nodes.
        letters: What stands in nodes for whose names there is no room.
    """

    def __init__(
        self, subject: Subject, canvas: Canvas, nodes: Nodes, named: Collection[int]
    ) -> None:
        self._subject, self._canvas, self._nodes = subject, canvas, nodes
        self.tags: dict[int, Tag] = {}
        self.letters: dict[int, str] = {}
        shown = {end for move in subject.shown for end in move.ends}
        edited = [node for node in named if subject.touching(node)]
        first = [node for node in edited if node in shown]
        # Other counterfactuals can be chosen on a page; a name is seen with those that it is in, and
        # that of a filled node with all.
        for group in [first, *([node] for node in edited if node not in shown)]:
            always = not subject.core_nodes.isdisjoint(group)
            self._place(group, [each for each in subject.choices if always or _at(group, each)])
        # What is filled is named under every choice; without room the mouse still tells its name.
        filled = [node for node in named if not subject.touching(node)]
        self._place(filled, subject.choices)
        # Numbers would be read as those of nodes, which may be other ones.
        self._free = (letters for letters in _letters() if letters not in subject.names)
        for node in edited:
            if node not in self.tags and not canvas.small:
                self.letters[node] = next(self._free)

    def key(self, first: Names) -> str:
        """What the letters stand for, in a sentence or two; empty without any.

        Args:
            first: Names as placed for the first counterfactual; what it has no room for gets a letter, too.
        """
        for node in first.letters:
            if node not in self.letters:
                self.letters[node] = next(self._free)
        at_once = [node for node in self.letters if node in first.letters]
        later = [node for node in self.letters if node not in first.letters]
        told = [
            (lead, nodes) for lead, nodes in zip(_LEADS, (at_once, later), strict=True) if nodes
        ]
        return " ".join(f"{lead} {self._told(nodes)}." for lead, nodes in told)

    def _told(self, nodes: Iterable[int]) -> str:
        return "; ".join(f"{self.letters[node]} is {self._subject.names[node]}" for node in nodes)

    def _place(self, wanted: Sequence[int], choices: Iterable[Sequence[Move]]) -> None:
        """Find places for names that are seen under some counterfactuals."""
        moves = dict.fromkeys(move for choice in choices for move in choice)
        ends = {end for move in moves for end in move.ends} | self._subject.core_nodes
        nodes = self._nodes
        spots = {
            node: Spot(at, nodes.large if node in ends else nodes.small)
            for node, at in nodes.places.items()
        }
        badges = [Spot(nodes.badges[m.key], BADGE + 1) for m in moves if m.key in nodes.badges]
        walls = [nodes.changed[move.key] for move in moves if move.key in nodes.changed]
        seen = ends | set(wanted)
        for width, over in _WAYS:
            left = [node for node in wanted if node not in self.tags]
            if not left:
                return
            found = place_labels(
                [Wanted(((self._text(node, width),),), _STYLE, (spots[node],)) for node in left],
                (0.0, 0.0, self._canvas.width, self._canvas.height),
                [*spots.values(), *badges],
                nodes.edges if over else (),
                taken=[tag.box for node, tag in self.tags.items() if node in seen],
                walls=walls if over else [*walls, *nodes.edges],
                led=False,
            )
            owners = {spots[node]: node for node in left}
            self.tags |= {owners[each.wanted.spots[0]]: _tag(each) for each in found}

    def _text(self, node: int, width: float) -> str:
        return shortened(self._subject.names[node], TEXTS[_STYLE], width)


def split_states(
    when: When, own: frozenset[str], others: frozenset[str], first: Names, rest: Names
) -> list[tuple[Names, When]]:
    """When the names of the first counterfactual are shown, and when those that suit all.

    Args:
        when: When a node's name is shown at all: always, or with any of its edits.
        own: The edits of the first counterfactual.
        others: Those of which the first has none.
        first: Names as placed for the first.
        rest: Names as placed for all.
    """
    if not when.any:
        return [(first, When(none=others)), (rest, When(any=others))]
    mine, foreign = sorted(when.any & own), when.any - own
    found = [(first, When(any=frozenset(mine), none=others))] if mine else []
    found += [(rest, When(any=foreign))] if foreign else []
    for place, key in enumerate(mine if others - foreign else []):
        before = frozenset(mine[:place])
        found.append((rest, When(frozenset({key}), others - foreign, foreign | before)))
    return found


def _letters() -> Iterator[str]:
    """All words of a to z, the shortest first."""
    for length in count(1):
        yield from map("".join, product(ascii_lowercase, repeat=length))


def _at(nodes: Collection[int], moves: Iterable[Move]) -> bool:
    return any(end in nodes for move in moves for end in move.ends)


def _tag(label: Label) -> Tag:
    left, _, right, _ = label.box
    x = label.wanted.spots[0].at[0]
    anchor: Literal["start", "middle", "end"] = "middle"
    if not left < x < right:
        anchor = "start" if x <= left else "end"
    return Tag(label.lines[0], label.box, anchor)


def fits_inside(name: str, radius: float) -> bool:
    """Whether a name can be written in its node."""
    return text_width(name, TEXTS[_STYLE]) <= 2 * radius - 1.5
