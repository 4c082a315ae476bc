"""What a walk goes through: inputs, vertices around them, and the table of all it has seen."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from edgeflip.core import AllowedEdits, PairSpace
from edgeflip.explainers.gcfexplainer.distances import Array


@dataclass(frozen=True)
class Aim:
    """What a walk wants of the oracle.

    Attributes:
        source: The class to leave, None where inputs are of several.
        target: The class to reach, None for any other than `source`.
    """

    source: int | None
    target: int | None

    def probability(self, proba: Array) -> Array:
        """Probability of the wanted outcome [graphs]."""
        wanted: Array = proba[:, self.target] if self.target is not None else 1 - self._left(proba)
        return wanted

    def reached(self, proba: Array) -> Array:
        """Where the prediction is as wanted [graphs]."""
        labels = proba.argmax(axis=1)
        done: Array = labels == self.target if self.target is not None else labels != self.source
        return done

    def _left(self, proba: Array) -> Array:
        left: Array = proba[:, self.source]
        return left


@dataclass(frozen=True, eq=False)
class Start:
    """An input that a walk starts from.

    Attributes:
        space: The graph.
        proba: The oracle's class probabilities on it [C].
        allowed: Which edits may be made to it; None for all.
    """

    space: PairSpace
    proba: Array
    allowed: AllowedEdits | None = None


@dataclass(slots=True, eq=False)
class Options:
    """Where a walk may go from a vertex: graphs one edit away, and last the vertex itself.

    Attributes:
        edits: Pair id of each edit, `PAD` for none [options].
        keys: Keys of the vertices.
        wanted: Probability of the wanted outcome [options].
        reached: Whether each is a counterfactual [options].
        covers: Inputs near each, as packed bits [options, bytes].
        share: Share of the inputs near each [options].
    """

    edits: Array
    keys: list[int]
    wanted: Array
    reached: Array
    covers: Array
    share: Array


@dataclass(slots=True, eq=False)
class Vertex:
    """A graph that the walk has come to.

    Attributes:
        key: Tells vertices apart.
        start: The start it descends from.
        toggles: Pair ids of its edits.
        wanted: Probability of the wanted outcome.
        is_found: Whether it is a counterfactual.
        covers: Inputs near it, as packed bits.
        options: Where to go from here, once known.
        frequency: How often it counts as visited.
        place: Its place in the table, by frequency.
    """

    key: int
    start: int
    toggles: frozenset[int]
    wanted: float
    is_found: bool
    covers: Array
    options: Options | None = None
    frequency: int = 0
    place: int = -1


@dataclass(eq=False)
class VertexTable:
    """Visited vertices from the most to the least frequent one.

    Attributes:
        num_inputs: Number of inputs; as many of the most frequent vertices are the leaders.
        capacity: At most this many vertices.
        hits: How many leading counterfactuals are near each input, u [inputs].
        order: The vertices.
        by_key: The same by key.
    """

    num_inputs: int
    capacity: int
    hits: Array
    order: list[Vertex] = field(default_factory=list)
    by_key: dict[int, Vertex] = field(default_factory=dict)
    # First place of each frequency: a vertex that gains one visit only changes places with it.
    _first: dict[int, int] = field(default_factory=dict)

    def visit(self, vertex: Vertex) -> None:
        """Note a visit: a new vertex comes in, one that is known rises if it is a counterfactual."""
        if vertex.place >= 0:
            if vertex.is_found:
                self._raise(vertex)
            return
        if len(self.order) < self.capacity:
            self._append(vertex, frequency=2)
            return
        last = self.order[-1]
        self._leave(last)
        self.order.pop()
        del self.by_key[last.key]
        last.place, last.options = -1, None
        if self._first.get(last.frequency) == len(self.order):
            del self._first[last.frequency]
        self._append(vertex, frequency=last.frequency)
        self._raise(vertex)

    @property
    def newcomer_frequency(self) -> int:
        """What counts as the frequency of a vertex that was never visited."""
        return self.order[-1].frequency if len(self.order) >= self.capacity else 1

    def is_leading(self, vertex: Vertex) -> bool:
        """Whether a vertex is among the leading counterfactuals."""
        return vertex.is_found and 0 <= vertex.place < self.num_inputs

    def found(self) -> list[Vertex]:
        """The most frequent counterfactuals, as many as there are inputs."""
        return [vertex for vertex in self.order if vertex.is_found][: self.num_inputs]

    def _append(self, vertex: Vertex, *, frequency: int) -> None:
        vertex.frequency, vertex.place = frequency, len(self.order)
        self.order.append(vertex)
        self.by_key[vertex.key] = vertex
        self._first.setdefault(frequency, vertex.place)
        self._enter(vertex)

    def _raise(self, vertex: Vertex) -> None:
        old, front = vertex.frequency, self._first[vertex.frequency]
        other = self.order[front]
        if other is not vertex:
            self._leave(vertex)
            self._leave(other)
            self.order[front], self.order[vertex.place] = vertex, other
            vertex.place, other.place = front, vertex.place
            self._enter(vertex)
            self._enter(other)
        vertex.frequency = old + 1
        self._first.setdefault(old + 1, front)
        following = self.order[front + 1] if front + 1 < len(self.order) else None
        if following is not None and following.frequency == old:
            self._first[old] = front + 1
        else:
            del self._first[old]

    def _enter(self, vertex: Vertex) -> None:
        if self.is_leading(vertex):
            self.hits += unpacked(vertex.covers, self.num_inputs)

    def _leave(self, vertex: Vertex) -> None:
        if self.is_leading(vertex):
            self.hits -= unpacked(vertex.covers, self.num_inputs)


def unpacked(covers: Array, count: int) -> Array:
    """Packed bits as 0 and 1 [count]."""
    bits: Array = np.unpackbits(covers, count=count)
    return bits
