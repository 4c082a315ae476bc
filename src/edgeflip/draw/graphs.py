"""The drawer of plain graphs: nodes as circles, the core dark, only the change in colour."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import Literal

from torch_geometric.data import Data

from edgeflip.core import Edge, edge_pairs
from edgeflip.draw.dot_map import map_places
from edgeflip.draw.graph_names import Names, Nodes, fits_inside, split_states
from edgeflip.draw.layout import nearby, node_places
from edgeflip.draw.scene import (
    BADGE,
    Disc,
    Item,
    Line,
    Point,
    Scene,
    When,
    badge,
    between,
    made,
    not_made,
    words,
)
from edgeflip.draw.subject import Canvas, Drawing, Move, Subject, loops_note

_SMALL, _LARGE = 5.0, 10.0
# Without a number a node that matters is no larger than this.
_MEDIUM = 6.5
# Of a larger graph only the neighbourhood of the edits is drawn.
_WHOLE, _NEAR, _STEPS = 60, 40, 2
# Of a graph that is larger still there is no map either.
_MAPPED = 1500
_MAP = 160.0
# Stubs of a node whose further neighbours are not drawn, and their length.
_STUBS, _STUB = 3, 11.0
# A changed edge of which less than this can be seen has its sign beside it.
_SHORT = 30.0

Side = Literal["before", "after"]


def draw_plain(subject: Subject, canvas: Canvas) -> Drawing:
    """Draw a graph before and after, every node at one place."""
    view = _View(subject, canvas)
    total = int(subject.graph.num_nodes or 0)
    panels = tuple(
        Scene(canvas.width, canvas.height, tuple(view.items(side)), subject.label("graph", side))
        for side in ("before", "after")
    )
    sentences = [f"Filled nodes {subject.core_words}."] if subject.core_nodes else []
    sentences += ["Every node keeps its place."] if subject.choices else []
    sentences += [note] if (note := loops_note(subject.graph)) else []
    sentences += [view.key] if view.key else []
    if view.cut:
        sentences.append("Dashed stubs lead to nodes that are not drawn.")
        count = f"{len(view.nodes)} of {total:,} nodes drawn"
        around = f"{count}, those around the edits" if subject.shown else count
        return Drawing(
            panels,
            " ".join(sentences),
            drawn=view.drawn,
            aside=whole_map(subject.graph, frozenset(view.nodes)),
            aside_title="The whole graph",
            aside_note=around,
            aside_elsewhere=f"{around} of another counterfactual" if subject.shown else "",
        )
    return Drawing(panels, " ".join(sentences))


class _View:
    """The part of a graph that is drawn, and where."""

    def __init__(self, subject: Subject, canvas: Canvas) -> None:
        self._subject, self._canvas = subject, canvas
        self._large = _LARGE if not canvas.small or canvas.edited_named else _MEDIUM
        self._edges = edge_pairs(subject.graph)
        union = self._edges | {move.ends for move in subject.shown}
        self.nodes = self._chosen(union)
        drawn = set(self.nodes)
        self.cut = len(drawn) < int(subject.graph.num_nodes or 0)
        inside = [edge for edge in union if drawn.issuperset(edge)]
        margin = 14.0 if canvas.small else 20.0
        self._places = node_places(
            self.nodes,
            inside,
            subject.core_nodes & drawn,
            (canvas.width, canvas.height),
            margin,
            changed=[move.ends for move in subject.shown],
        )
        self._moves = [move for move in subject.moves if drawn.issuperset(move.ends)]
        self._badges = self._badge_places()
        self.names = self._named(subject)
        # Before another counterfactual is chosen, its edits take no room from names.
        first = replace(subject, choices=subject.choices[:1])
        self._first = self._named(first) if len(subject.choices) > 1 else self.names
        self.key = self.names.key(self._first)

    @property
    def drawn(self) -> frozenset[str]:
        """Keys of the edits within what is drawn."""
        return frozenset(move.key for move in self._moves)

    def _chosen(self, union: Collection[Edge]) -> list[int]:
        subject = self._subject
        total = int(subject.graph.num_nodes or 0)
        if total <= _WHOLE:
            return list(range(total))
        starts = [node for move in subject.shown for node in move.ends]
        core = sorted(subject.core_nodes)
        others = [node for move in subject.moves for node in move.ends]
        # Without edits to look at, the core is the place; without a core the busiest node.
        starts = starts or core[:8] or [_busiest(union)]
        near = nearby(union, starts, [*core, *others], steps=_STEPS, limit=_NEAR)
        return sorted(near)

    def items(self, side: Side) -> list[Item]:
        """Everything of one side: edges, changed edges, nodes, signs."""
        changing = {move.ends: move for move in self._moves}
        drawn = set(self._places)
        items: list[Item] = []
        for style in ("edge", "core-edge"):
            items += [
                Line(self._ends(edge), style)
                for edge in sorted(self._edges)
                if edge not in changing and drawn.issuperset(edge) and self._style(edge) == style
            ]
        items += self._stubs
        for move in self._moves:
            items += self._changed(move, side)
        for node in self.nodes:
            items += self._node(node)
        for move in self._moves:
            if side == "after" or move.kind == "removed":
                items += badge(self._badges[move.key], move.kind, made(move.key))
        return items

    def _badge_places(self) -> dict[str, Point]:
        """Where the sign of each edit stands, before and after."""
        found: dict[str, Point] = {}
        taken: list[Point] = []
        for move in self._moves:
            found[move.key] = self._badge_place(move, taken)
            taken += [found[move.key]] if move in self._subject.shown else []
        return found

    def _style(self, edge: Edge) -> str:
        return "core-edge" if edge in self._subject.core_edges else "edge"

    def _ends(self, edge: Edge) -> tuple[Point, Point]:
        return self._places[edge[0]], self._places[edge[1]]

    def _changed(self, move: Move, side: Side) -> list[Item]:
        """An edge that an edit changes: before shows what goes, after what came and a ghost of it."""
        ends, when = self._ends(move.ends), made(move.key)
        if move.kind == "added":
            if side == "before":
                return []
            return [Line(ends, "casing", when=when), Line(ends, "added", when=when)]
        still: Item = Line(ends, self._style(move.ends), when=not_made(move.key))
        if side == "after":
            return [still, Line(ends, "ghost", when=when)]
        return [still, Line(ends, "casing", when=when), Line(ends, "removed", when=when)]

    def _node(self, node: int) -> list[Item]:
        subject, at, name = self._subject, self._places[node], self._subject.names[node]
        title = name if name != str(node) else f"node {node}"
        touching = subject.touching(node)
        if node in subject.core_nodes:
            disc: list[Item] = [Disc(at, self._radius(node), "core-node", title)]
            return disc + self._name(node, "core-label", When())
        plain: list[Item] = [Disc(at, _SMALL, "node", title, When(none=touching))]
        if not touching:
            return plain
        when = When(any=touching)
        return [
            *plain,
            Disc(at, self._radius(node), "edited-node", title, when),
            *self._name(node, "label", when),
        ]

    def _named(self, subject: Subject) -> Names:
        """Places for the names that do not fit into their nodes, with some of the counterfactuals."""
        moves = [move for move in self._moves if move in subject.moves]
        changed = {move.key: self._ends(move.ends) for move in moves}
        still = self._edges - {move.ends for move in moves}
        inside = [self._ends(edge) for edge in sorted(still) if {*edge} <= self._places.keys()]
        stubs = [(line.points[0], line.points[-1]) for line in self._stubs]
        nodes = Nodes(self._places, _SMALL, self._large, [*inside, *stubs], changed, self._badges)
        seen = [node for node in self.nodes if subject.touching(node) or node in subject.core_nodes]
        wanted = [node for node in seen if self._tells(node)]
        beside = [node for node in wanted if not fits_inside(subject.names[node], _LARGE)]
        return Names(subject, self._canvas, nodes, beside)

    def _tells(self, node: int) -> bool:
        """Whether a node has its name: edited nodes, and where there is room those that are filled."""
        edited = bool(self._subject.touching(node))
        if self._canvas.small:
            return edited and self._canvas.edited_named
        return edited or node in self._subject.core_nodes

    def _radius(self, node: int) -> float:
        return _MEDIUM if self._canvas.small and not self._tells(node) else self._large

    def _name(self, node: int, style: str, when: When) -> list[Item]:
        """The name of a node as the first counterfactual has room for it, and as all others have."""
        if not self._tells(node):
            return []
        if self._first.tags.get(node) == self.names.tags.get(node):
            return self._written(self.names, node, style, when)
        own = frozenset(move.key for move in self._subject.shown)
        others = self.drawn - own
        items: list[Item] = []
        for names, each in split_states(when, own, others, self._first, self.names):
            items += self._written(names, node, style, each)
        return items

    def _written(self, names: Names, node: int, style: str, when: When) -> list[Item]:
        """A name inside its node where it fits, otherwise beside it where there is room."""
        text, (x, y) = self._subject.names[node], self._places[node]
        if node in names.tags:
            return [names.tags[node].words(text, when)]
        text = self.names.letters.get(node, text)
        if not fits_inside(text, _LARGE):
            return []
        return [words((x, y + 4), text, style, "middle", when=when)]

    @cached_property
    def _neighbours(self) -> dict[int, list[int]]:
        """Those of each node that are drawn, by edges that are there before or after."""
        found: dict[int, list[int]] = {node: [] for node in self._places}
        for u, v in self._edges | {move.ends for move in self._moves}:
            if u != v and u in found and v in found:
                found[u].append(v)
                found[v].append(u)
        return found

    def _free_side(self, node: int) -> Point:
        """The direction in which fewest edges leave a node."""
        x, y = self._places[node]
        ways = [
            math.atan2(self._places[other][1] - y, self._places[other][0] - x)
            for other in self._neighbours[node]
        ]
        if not ways:
            return 1.0, 0.0
        sides = [angle * math.pi / 4 for angle in (0, 4, 1, 7, 3, 5, 2, 6)]

        def gap(angle: float) -> float:
            return min(abs(math.remainder(angle - way, 2 * math.pi)) for way in ways)

        angle = max(sides, key=lambda each: round(gap(each), 3))
        return round(math.cos(angle), 6), round(math.sin(angle), 6)

    def _badge_place(self, move: Move, taken: Sequence[Point]) -> Point:
        """The middle of an edge, or where the sign covers no other and no node; beside a short edge."""
        one, other = self._ends(move.ends)
        length = math.dist(one, other)
        if length - 2 * self._large < _SHORT:
            return self._beside(one, other, length, taken)
        large = self._subject.core_nodes | {end for each in self._moves for end in each.ends}
        nodes = [
            (place, self._large if node in large else _SMALL)
            for node, place in self._places.items()
            if node not in move.ends
        ]

        def room(share: float) -> float:
            place = between(one, other, share)
            return min(
                [math.dist(place, each) - 2 * BADGE for each in taken]
                + [math.dist(place, each) - BADGE - radius for each, radius in nodes]
                + [1e9]
            )

        shares = (0.5, 0.4, 0.6, 0.32, 0.68, 0.26, 0.74)
        free = next((share for share in shares if room(share) > 1), None)
        return between(one, other, free if free is not None else max(shares, key=room))

    def _beside(self, one: Point, other: Point, length: float, taken: Sequence[Point]) -> Point:
        """A place next to the middle of an edge that a sign would hide, on the emptier side."""
        x, y = between(one, other, 0.5)
        across = (-(other[1] - one[1]) / max(length, 1e-9), (other[0] - one[0]) / max(length, 1e-9))
        far = BADGE + 4
        sides = [(x + sign * across[0] * far, y + sign * across[1] * far) for sign in (1, -1)]
        others = [place for place in self._places.values() if place not in (one, other)]

        def room(place: Point) -> float:
            return min([math.dist(place, each) for each in [*others, *taken]] + [1e9])

        return max(sides, key=lambda place: round(room(place), 3))

    @cached_property
    def _stubs(self) -> list[Line]:
        """Short dashed lines from nodes that have neighbours outside the drawing."""
        if not self.cut:
            return []
        hidden: dict[int, int] = {}
        for edge in self._edges:
            inside = [node for node in edge if node in self._places]
            if len(inside) == 1:
                hidden[inside[0]] = hidden.get(inside[0], 0) + 1
        items: list[Line] = []
        for node, count in sorted(hidden.items()):
            x, y = self._places[node]
            dx, dy = self._free_side(node)
            middle = math.atan2(dy, dx)
            for place in range(min(count, _STUBS)):
                angle = middle + (place - (min(count, _STUBS) - 1) / 2) * 0.45
                ends = tuple(
                    (x + math.cos(angle) * far, y + math.sin(angle) * far)
                    for far in (_SMALL, _SMALL + _STUB)
                )
                items.append(Line(ends, "stub"))
        return items


def _busiest(edges: Collection[Edge]) -> int:
    counts: dict[int, int] = {}
    for edge in edges:
        for node in edge:
            counts[node] = counts.get(node, 0) + 1
    return max(sorted(counts), key=counts.__getitem__, default=0)


@lru_cache(maxsize=4)
def _map_places(total: int, edges: tuple[Edge, ...]) -> Sequence[Sequence[float]]:
    """Places on the map, kept for the next part of the same graph."""
    return map_places(total, edges)


def whole_map(graph: Data, near: Collection[int]) -> Scene | None:
    """A map of dots of the whole graph, those that are drawn in dark; none for very large graphs."""
    total = int(graph.num_nodes or 0)
    if total > _MAPPED:
        return None
    places = _map_places(total, tuple(sorted(edge_pairs(graph))))
    dots = sorted(range(total), key=lambda node: node in near)
    items = tuple(
        Disc(
            (
                _MAP / 2 + (_MAP / 2 - 4) * places[node][0],
                _MAP / 2 + (_MAP / 2 - 4) * places[node][1],
            ),
            1.6 if node in near else 1.0,
            "map-near" if node in near else "map-dot",
        )
        for node in dots
    )
    return Scene(_MAP, _MAP, items, "A map of the whole graph")
