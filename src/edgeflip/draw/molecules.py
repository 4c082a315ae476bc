"""The drawer of molecules: as chemists draw them, in black and white, only the change in colour."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Literal

from edgeflip.datasets import molecule
from edgeflip.draw.bond_routes import Ground, Way, along, crossings, sampled, way_length
from edgeflip.draw.bond_signs import Changed, sign_places
from edgeflip.draw.free_places import Box, Clutter, box_around
from edgeflip.draw.graphs import draw_plain
from edgeflip.draw.look import TEXTS, shortened, text_width
from edgeflip.draw.molecule_sketch import Atom, Bond, Sketch, scaled, sketch_of
from edgeflip.draw.molecule_states import Keys, States, crowd_words
from edgeflip.draw.molecule_strokes import Letters, Pen, letters_of
from edgeflip.draw.scene import (
    BADGE,
    Disc,
    Item,
    Line,
    Point,
    Scene,
    Shape,
    When,
    badge,
    between,
    made,
    not_made,
    words,
)
from edgeflip.draw.subject import Canvas, Drawing, Move, Subject
from edgeflip.errors import ConfigError, GraphError

Side = Literal["before", "after"]

# Of more atoms than this nobody can read letters in one panel.
_MOST = 300
_DIAMOND = 15.0
_NAME = 60.0
# How far the number of an atom may be from it, the nearest place that is free first.
_CLOSE_TO_ATOM = (3.0, 5.0, 7.0, 9.0, 11.0, 12.5, 14.0, 15.5)
# How far paper under a crossing reaches along a new bond, and how far it keeps from atoms.
_CASING, _CLEAR = 5.0, 10.0


def draw_molecule(subject: Subject, canvas: Canvas) -> Drawing:
    """Draw a molecule before and after, every atom at one place.

    What RDKit cannot read, and what is too large for a panel, is drawn as a plain graph.
    """
    count = int(subject.graph.num_nodes or 0)
    try:
        base = molecule(subject.graph) if 0 < count <= _MOST else None
    except (ConfigError, GraphError):
        base = None
    if base is None:
        return draw_plain(subject, canvas)
    view = _View(subject, canvas, base)
    panels = tuple(
        Scene(canvas.width, canvas.height, tuple(view.items(side)), subject.label("molecule", side))
        for side in ("before", "after")
    )
    faults = view.states.faults()
    shown = frozenset(move.key for move in subject.shown)
    sentences = ["Every atom keeps its place."] if subject.choices else []
    if any(move.kind == "added" for move in subject.moves):
        sentences = ["Every atom keeps its place, so new bonds can look long."]
    if any(edge in subject.core_edges for edge in view.sketch.bonds):
        sentences.insert(0, f"Heavy bonds {subject.core_words}.")
    if any(view.states.shown_at(node, keys).holds(shown) for node, keys, _ in view.crowded):
        sentences.append("A diamond marks an atom with more bonds than it has room for.")
    return Drawing(panels, " ".join(sentences), facts=view.states.facts(), faults=faults)


class _View:
    """A molecule on a canvas."""

    def __init__(self, subject: Subject, canvas: Canvas, base: Any) -> None:
        self._subject, self._canvas = subject, canvas
        self._touched = {end for move in subject.moves for end in move.ends}
        known = subject.graph.to_dict()
        # A SMILES leaves out the hydrogens that nobody draws; atomic numbers alone have them all.
        fold = not any(isinstance(known.get(key), str) for key in ("smiles", "edited_from"))
        self.sketch: Sketch = sketch_of(base, self._touched, fold_hydrogens=fold)
        self.states = States(subject, base, self.sketch)
        room, margins = (canvas.width, canvas.height), ((38.0, 26.0) if canvas.small else (34, 30))
        self._scale = scaled(self.sketch, room, margins)
        self._places = self._scale.places
        self._style = self._letter_style()
        self._pen = Pen(self.sketch, self._scale, self._fixed_boxes())
        self._together = self._seen_together()
        self._ground = Ground(room, self._places, self._all_letters(), tuple(self.sketch.bonds))
        self._routes = self._routed()
        self._badges = self._badge_places()
        self.crowded = [
            (node, keys, atom)
            for node in sorted(self._touched)
            for keys in self.states.at(node)
            if (atom := self.states.crowd(node, keys)) is not None
        ]
        self._clutter = self._drawn()
        self._numbers = self._number_places()

    def _letter_style(self) -> str:
        length = self._scale.length
        sizes = ("atom-tiny", "atom-small", "atom", "atom-large")
        place = (length >= 19) + (length >= 26)
        return sizes[place + self._canvas.small]

    def items(self, side: Side) -> list[Item]:
        """Everything of one side, the last on top."""
        changing = {move.ends: move for move in self._subject.moves}
        items: list[Item] = []
        if not self._canvas.small:
            # Below everything else, so that the mouse finds the name of an atom.
            items += [
                Disc(place, 9, "paper", self._subject.names[node])
                for node, place in self._places.items()
            ]
        for ends, bond in sorted(self.sketch.bonds.items()):
            if ends not in changing:
                items += self._bond(bond, side)
        for move in self._subject.moves:
            items += self._changed(move, side)
        for node in self.sketch.atoms:
            items += self._letters(node, side)
        if side == "after":
            items += [
                Shape(_diamond(self._places[node]), "faulty", self.states.shown_at(node, keys))
                for node, keys, _ in self.crowded
            ]
        for move in self._subject.moves:
            if side == "after" or move.kind == "removed":
                items += badge(self._badges[move.key], move.kind, made(move.key))
        if not self._canvas.small or self._canvas.edited_named:
            items += self._numbers
        if not self._canvas.small:
            items += self._fault_words() if side == "after" else []
        return items

    def _bond(self, bond: Bond, side: Side, when: When | None = None) -> list[Item]:
        """A bond that stays; a wedge ends with the stereo centre that it belongs to."""
        core = bond.ends in self._subject.core_edges
        style = "core-bond" if core else "bond"
        touching = self._subject.touching(bond.narrow) if bond.wedge else frozenset[str]()
        if when is not None or side == "before" or not touching:
            return self._pen.bond(bond, style, when or When())
        return [
            *self._pen.bond(bond, style, When(none=touching)),
            *self._pen.bond(replace(bond, wedge=""), style, When(any=touching)),
        ]

    def _changed(self, move: Move, side: Side) -> list[Item]:
        """A bond that an edit changes: before shows what goes, after what came and a ghost of it."""
        when, route = made(move.key), self._routes[move.key]
        if move.kind == "added":
            if side == "before":
                return []
            rounding = way_length(route) if len(route) > 2 else 0.0
            return [*self._casing(move), Line(route, "added", rounding, when)]
        bond = self.sketch.bonds[move.ends]
        still = self._bond(bond, side, not_made(move.key))
        if side == "after":
            return [*still, Line(route, "ghost", when=when)]
        lines = self._pen.lines(bond)
        return [*still, *(Line(line, "removed", when=when) for line in lines)]

    def _casing(self, move: Move) -> list[Item]:
        """Paper under a new bond where it crosses others, and nowhere near an atom."""
        way = self._routes[move.key]
        others = [(self._places[u], self._places[v]) for u, v in self.sketch.bonds]
        order = [each.key for each in self._subject.moves]
        below = order[: order.index(move.key)]
        met = [key for key in self._together[move.key] if key in below]
        lines = [*others, *(sampled(self._routes[key]) for key in met)]
        pieces: list[Item] = []
        for share in (share for line in lines for share in crossings(way, line)):
            at = along(way, share)
            near = along(way, max(0.0, share - 0.01)), along(way, min(1.0, share + 0.01))
            # A way is not as fast everywhere.
            half = 0.02 * _CASING / max(math.dist(*near), 1e-6)
            if all(math.dist(at, place) > _CLEAR for place in self._places.values()):
                steps = (share - half, share - half / 2, share, share + half / 2, share + half)
                piece = tuple(along(way, min(1.0, max(0.0, step))) for step in steps)
                pieces.append(Line(piece, "casing", when=made(move.key)))
        return pieces

    def _letters(self, node: int, side: Side) -> list[Item]:
        if side == "before" or node not in self._touched:
            return list(self._written(node, frozenset(), When()).items)
        if not self.states.countable(node):
            plain = replace(self.sketch.atoms[node], hydrogens=0)
            return list(self._letters_of(node, plain, self.sketch.neighbours[node], When()).items)
        return [
            item
            for keys in self.states.at(node)
            for item in self._written(node, keys, self.states.shown_at(node, keys)).items
        ]

    def _written(self, node: int, keys: Keys, when: When) -> Letters:
        """The letters of an atom while some of the edits at it are made."""
        near = self.states.neighbours(node, keys)
        atom = replace(self.sketch.atoms[node], hydrogens=self.states.hydrogens(node, keys))
        return self._letters_of(node, atom, near, when)

    def _letters_of(self, node: int, atom: Atom, near: Collection[int], when: When) -> Letters:
        if not self._lettered(node, atom, near):
            return Letters()
        # A bond that went leaves its ghost, which hydrogens keep away from as from a bond.
        around = {*near, *self.sketch.neighbours[node]}
        ways = [self._places[other] for other in sorted(around)]
        return letters_of(atom, self._places[node], ways, self._style, when, alone=not near)

    def _lettered(self, node: int, atom: Atom, near: Collection[int]) -> bool:
        """Whether an atom has letters: all but carbons that their bonds tell."""
        if atom.symbol != "C" or atom.charge or atom.isotope or atom.radicals or not near:
            return True
        orders = [bond.order for ends, bond in self.sketch.bonds.items() if node in ends]
        # Two double bonds in a line would look like one long one.
        return orders == [2, 2]

    def _fixed_boxes(self) -> dict[int, Collection[Box]]:
        """Letters that are there in every state; hydrogens that come and go make way for bonds."""
        boxes: dict[int, Collection[Box]] = {}
        for node, atom in self.sketch.atoms.items():
            near = self.sketch.neighbours[node]
            if node in self._touched:
                atom = replace(atom, hydrogens=0)
            if near:
                found = self._letters_of(node, atom, near, When()).boxes
                boxes[node] = tuple(box.grown(2) for box in found)
        return boxes

    def _all_letters(self) -> dict[int, tuple[Box, ...]]:
        """What is written at atoms, in the input and after the edits of the headline."""
        shown = frozenset(move.key for move in self._subject.shown)
        return {
            node: tuple(
                box
                for keys in {frozenset[str](), shown & self._subject.touching(node)}
                for box in self._written(node, keys, When()).boxes
            )
            for node in self.sketch.atoms
        }

    def _routed(self) -> dict[str, Way]:
        """The ways of the changed bonds: those that go straight, new ones around what is in between."""
        whole: dict[str, Way] = {}
        new = [move for move in self._subject.moves if move.kind == "added"]
        # Those of the headline first and once again, when they know of each other.
        shown = [move for move in self._subject.shown if move.kind == "added"]
        for move in [*shown, *shown, *(move for move in new if move not in shown)]:
            others = [whole[key] for key in self._together[move.key] if key in whole]
            whole[move.key] = self._ground.best(move.ends, others)
        straight = {
            move.key: (self._places[move.ends[0]], self._places[move.ends[1]])
            for move in self._subject.moves
        }
        return {
            move.key: self._clear_of_letters(move.ends, whole.get(move.key, straight[move.key]))
            for move in self._subject.moves
        }

    def _clear_of_letters(self, ends: tuple[int, int], way: Way) -> Way:
        """A way without what would run into the letters of its atoms."""
        if len(way) == 2:
            return self._pen.cut((way[0], way[1]), ends)
        start, _ = self._pen.cut((way[0], way[1]), (ends[0], -1))
        end, _ = self._pen.cut((way[-1], way[-2]), (ends[1], -1))
        return (start, *way[1:-1], end)

    def _seen_together(self) -> dict[str, list[str]]:
        """For each edit the others of its counterfactuals; for one of the headline those of the headline."""
        found: dict[str, list[str]] = {}
        for choice in self._subject.choices:
            for move in choice:
                if move not in self._subject.shown or choice == self._subject.shown:
                    others = [other.key for other in choice if other != move]
                    known = found.setdefault(move.key, [])
                    known += [key for key in others if key not in known]
        return found

    def _badge_places(self) -> dict[str, Point]:
        bonds = {
            move.key: Changed(move.ends, self._routes[move.key]) for move in self._subject.moves
        }
        first = [move.key for move in self._subject.shown]
        return sign_places(self._ground, bonds, self._together, first)

    def _drawn(self) -> Clutter:
        """What numbers and words must not cover: the input and the edits of the headline."""
        clutter = Clutter(self._canvas.width, self._canvas.height)
        for bond in self.sketch.bonds.values():
            for line in self._pen.lines(bond):
                clutter.add_line(line)
        shown = frozenset(move.key for move in self._subject.shown)
        for move in self._subject.shown:
            clutter.add_line(self._routes[move.key])
            clutter.add_boxes([box_around(self._badges[move.key], 2 * BADGE, 2 * BADGE)])
        for node in self.sketch.atoms:
            here = shown & self._subject.touching(node)
            for keys in {frozenset[str](), here}:
                clutter.add_boxes(self._written(node, keys, When()).boxes)
        return clutter

    def _number_places(self) -> list[Item]:
        look = TEXTS["atom-number"]
        shown = {end for move in self._subject.shown for end in move.ends}
        crowded = {node for node, _, _ in self.crowded}
        for node in crowded:
            corners = _diamond(self._places[node])
            self._clutter.add_line([*corners, corners[0]])
        items: list[Item] = []
        taken: dict[int, Box] = {}
        for node in sorted(self._touched, key=lambda node: (node not in shown, node)):
            text = shortened(self._number(node), look, _NAME)
            size = text_width(text, look), look.size * 0.75
            beside = self._seen_with(node, taken)
            middle = self._clutter.place(
                self._places[node], size, _CLOSE_TO_ATOM, beside, self._places.values()
            )
            taken[node] = box_around(middle, *size)
            if node in shown:
                self._clutter.add_boxes([taken[node]])
            at = middle[0], middle[1] + size[1] / 2
            when = When(any=self._subject.touching(node))
            items.append(words(at, text, "atom-number", "middle", halo=True, when=when))
        return items

    def _seen_with(self, node: int, numbers: Mapping[int, Box]) -> Clutter:
        """What else is there when a number is: edits and numbers of counterfactuals that have it too."""
        more = Clutter(self._canvas.width, self._canvas.height)
        for choice in self._subject.choices[1:]:
            ends = {end for move in choice for end in move.ends}
            if node in ends:
                more.add_boxes(numbers[other] for other in ends & numbers.keys())
                for move in choice:
                    more.add_line(self._routes[move.key])
                    more.add_boxes([box_around(self._badges[move.key], 2 * BADGE, 2 * BADGE)])
        return more

    def _number(self, node: int) -> str:
        name = self._subject.names[node]
        return str(node) if name.endswith(f"({node})") else name

    def _fault_words(self) -> list[Item]:
        look = TEXTS["fault"]
        boxes: dict[int, Box] = {}
        items: list[Item] = []
        for node, keys, atom in self.crowded:
            at, text = self._places[node], crowd_words(atom)
            if node not in boxes:
                size = text_width(text, look), look.size * 0.75
                middle = self._clutter.place(at, size, (16, 20, 26, 34, 44, 56, 70))
                boxes[node] = box_around(middle, *size)
                self._clutter.add_boxes([boxes[node]])
            box, when = boxes[node], self.states.shown_at(node, keys)
            items += self._leader(at, box, when)
            foot = box.middle[0], box.bottom
            items.append(words(foot, text, "fault", "middle", halo=True, when=when))
        return items

    def _leader(self, at: Point, box: Box, when: When) -> list[Item]:
        """A thin line from a diamond to its words where they had to be put far away."""
        x = min(max(at[0], box.left), box.right)
        near = x, min(max(at[1], box.top - 3), box.bottom + 3)
        far = math.dist(at, near)
        if far < 2 * _DIAMOND:
            return []
        return [Line((between(at, near, _DIAMOND / far), near), "leader", when=when)]


def _diamond(at: Point) -> tuple[Point, ...]:
    x, y = at
    return (x, y - _DIAMOND), (x + _DIAMOND, y), (x, y + _DIAMOND), (x - _DIAMOND, y)
