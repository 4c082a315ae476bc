"""What is to be drawn of an answer, and what a drawer makes of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import (
    Edge,
    EditSet,
    FactualSubgraph,
    check_names,
    edge_noun,
    edge_pairs,
    node_names,
)
from edgeflip.draw.scene import ALWAYS, Scene, When
from edgeflip.errors import ConfigError, EdgeflipError, shown

Change: TypeAlias = Literal["added", "removed"]


@dataclass(frozen=True)
class Move:
    """One edit: a node pair that comes or goes.

    Attributes:
        key: What it is known by in scenes and on pages.
        kind: Whether the edge comes or goes.
        ends: Its nodes, the smaller first.
        name: What people call it, such as `20–22`.
    """

    key: str
    kind: Change
    ends: Edge
    name: str


@dataclass(frozen=True)
class Subject:
    """A graph, and edits of it of which one set is shown and others can be.

    Attributes:
        graph: The input.
        choices: The edits of each counterfactual, that of the headline first; may be none.
        core_nodes: The nodes that carry the prediction.
        core_edges: The edges between them that do.
        core_words: What such nodes do, to end the sentence "Filled nodes …".
    """

    graph: Data
    choices: tuple[tuple[Move, ...], ...] = ()
    core_nodes: frozenset[int] = frozenset()
    core_edges: frozenset[Edge] = frozenset()
    core_words: str = "carry the prediction"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """What the nodes are called."""
        return node_names(self.graph)

    @property
    def noun(self) -> str:
        """What an edge is called."""
        return edge_noun(self.graph)

    @property
    def shown(self) -> tuple[Move, ...]:
        """The edits of the headline."""
        return self.choices[0] if self.choices else ()

    @cached_property
    def moves(self) -> tuple[Move, ...]:
        """All edits of all counterfactuals, each once."""
        return tuple(dict.fromkeys(move for choice in self.choices for move in choice))

    def label(self, what: str, side: str) -> str:
        """What a panel shows; without edits there is neither before nor after."""
        return f"The {what} {side}" if self.choices else f"The {what}"

    def touching(self, node: int) -> frozenset[str]:
        """Keys of the edits with an end at a node."""
        return frozenset(move.key for move in self.moves if node in move.ends)


def subject_of(
    graph: Data, edit_sets: Sequence[EditSet], core: FactualSubgraph | None = None
) -> Subject:
    """What is to be drawn of edit sets of a graph, the one to be shown first.

    Without a subgraph that carries the prediction the motif is shown in its place, where a graph has one.

    Raises:
        GraphError: If the graph has more or fewer names than nodes.
    """
    check_names(graph)
    names = node_names(graph)
    choices = tuple(moves_of(edits, names) for edits in edit_sets)
    if core is not None:
        edges = frozenset((min(u, v), max(u, v)) for u, v in core.edges)
        words = "carry the prediction before the edits" if choices else "carry the prediction"
        return Subject(graph, choices, frozenset(core.nodes), edges, words)
    nodes = _motif(graph)
    inside = frozenset(edge for edge in edge_pairs(graph) if nodes.issuperset(edge))
    return Subject(graph, choices, nodes, inside, "are the motif")


def _motif(graph: Data) -> frozenset[int]:
    """The nodes that made a graph's class, where it says so by a truth per node."""
    marks = graph.to_dict().get("motif")
    if (
        not isinstance(marks, Tensor)
        or marks.shape != (graph.num_nodes,)
        or marks.dtype != torch.bool
    ):
        return frozenset()
    return frozenset(int(node) for node in marks.nonzero().flatten())


def loops_note(graph: Data) -> str:
    """A sentence about edges from nodes to themselves, which no edit changes; empty where there are none."""
    ends = graph.edge_index
    count = 0 if ends is None else int((ends[0] == ends[1]).sum())
    if not count:
        return ""
    return "A self-loop is not drawn." if count == 1 else f"{count:,} self-loops are not drawn."


def moves_of(edits: EditSet, names: tuple[str, ...]) -> tuple[Move, ...]:
    """An edit set as moves: additions first, then removals, by their nodes."""
    parts: tuple[tuple[Change, frozenset[Edge]], ...] = (
        ("added", edits.added),
        ("removed", edits.removed),
    )
    return tuple(
        Move(f"{u}-{v}", kind, (u, v), f"{names[u]}–{names[v]}")
        for kind, edges in parts
        for u, v in sorted(edges)
    )


@dataclass(frozen=True)
class Fact:
    """Something written beneath a drawing, such as a SMILES.

    Attributes:
        label: What it is.
        text: The thing itself.
        mono: Whether it is something to copy.
        when: Under which edits it is so.
    """

    label: str
    text: str
    mono: bool = False
    when: When = ALWAYS


@dataclass(frozen=True)
class Fault:
    """Why an edited input cannot exist, such as an atom with too many bonds.

    Attributes:
        title: What it cannot be, such as `Not a possible molecule`.
        text: Why.
        when: Under which edits that is so.
    """

    title: str
    text: str
    when: When = ALWAYS


@dataclass(frozen=True)
class Drawing:
    """A subject, drawn.

    Attributes:
        panels: The input before and after, or one scene that shows both.
        caption: How to read it.
        tall: For one scene that shows both, the same for narrow pages, before on its left.
        tall_caption: How to read that.
        beside: Whether one scene that shows both has before on its left and after on its right, in
            place of above and below.
        facts: What is written beneath each panel.
        faults: Why edited inputs cannot exist.
        drawn: Keys of the edits that are within what is drawn; None if everything is.
        aside: A small picture beside it, such as a map of the whole graph.
        aside_title: What that is.
        aside_note: How to read it.
        aside_elsewhere: The same over edits that are not within what is drawn, where that differs.
    """

    panels: tuple[Scene, ...]
    caption: str = ""
    tall: Scene | None = None
    tall_caption: str = ""
    beside: bool = False
    facts: tuple[tuple[Fact, ...], ...] = ()
    faults: tuple[Fault, ...] = ()
    drawn: frozenset[str] | None = None
    aside: Scene | None = None
    aside_title: str = ""
    aside_note: str = ""
    aside_elsewhere: str = ""


@dataclass(frozen=True)
class Canvas:
    """Room for a drawing.

    Attributes:
        width: Of one panel, in pixels.
        height: Of one panel.
        small: Whether it is so small that numbers and names cannot be read.
        edited_named: Whether a small drawing has the names of edited nodes all the same.
    """

    width: float = 400
    height: float = 340
    small: bool = False
    edited_named: bool = False


Drawer: TypeAlias = Callable[[Subject, Canvas], Drawing]
"""Draws a subject on a canvas."""

Fits: TypeAlias = Callable[[Data], bool]
"""Whether a drawer is for a graph."""

_DRAWERS: dict[str, tuple[Fits, Drawer]] = {}


def register_drawer(name: str, fits: Fits, draw: Drawer) -> None:
    """Tell how some graphs are drawn; the drawer that was registered last and fits is taken.

    A name that is registered again is replaced, and counts as registered last. Graphs that no other
    drawer fits are drawn as plain graphs. A drawer that fails is not skipped: what is wrong is said.

    Args:
        name: What it is called.
        fits: Whether it is for a graph: something true, or not.
        draw: Draws it: a `Drawing` with a panel before and one after, or with one that shows both.

    Raises:
        ConfigError: If the name is no text, or the others cannot be called.

    Example:
        >>> from edgeflip.draw import draw_plain
        >>> register_drawer("flows", lambda graph: "flow" in graph, draw_plain)
    """
    if not isinstance(name, str) or not name:
        raise ConfigError(
            f"expected the name of a drawer, got {shown(name)}; pass a text, such as 'flows'."
        )
    for what, call in (("fits", fits), ("draw", draw)):
        if not callable(call):
            raise ConfigError(
                f"expected a function as {what} of the drawer '{name}', got {shown(call)}; see "
                "help(register_drawer)."
            )
    _DRAWERS.pop(name, None)
    _DRAWERS[name] = (fits, draw)


def drawer_name(graph: Data) -> str:
    """Name of the drawer for a graph."""
    for name, (fits, _) in reversed(_DRAWERS.items()):
        with _told(f"the drawer '{name}' to say whether it fits a graph", fits):
            if fits(graph):
                return name
    raise ConfigError(
        "expected a drawer for this graph, got none that fits; call register_drawer, or save the "
        "answer as JSON."
    )


def drawing_of(subject: Subject, canvas: Canvas | None = None) -> Drawing:
    """A subject, drawn by the drawer for its graph.

    Raises:
        ConfigError: If that drawer fails, or gives no drawing.
    """
    name = drawer_name(subject.graph)
    _, draw = _DRAWERS[name]
    with _told(f"the drawer '{name}' to draw a graph", draw):
        drawing = draw(subject, canvas or Canvas())
    panels = getattr(drawing, "panels", None)
    if not isinstance(drawing, Drawing) or not isinstance(panels, tuple):
        got = shown(drawing)
    elif len(panels) not in (1, 2) or not all(isinstance(panel, Scene) for panel in panels):
        got = f"one with {shown(panels)} as panels"
    else:
        return drawing
    raise ConfigError(
        f"expected a Drawing with one or two scenes from the drawer '{name}', got {got}; correct its "
        "draw."
    )


@contextmanager
def _told(what: str, call: Callable[..., object]) -> Iterator[None]:
    """Say in a sentence what went wrong in somebody else's function; our own are not excused."""
    try:
        yield
    except EdgeflipError:
        raise
    except Exception as error:
        if str(getattr(call, "__module__", "")).startswith("edgeflip."):
            raise
        raise ConfigError(
            f"expected {what}, got {type(error).__name__}: {error}; correct it, or register another of "
            "that name."
        ) from error
