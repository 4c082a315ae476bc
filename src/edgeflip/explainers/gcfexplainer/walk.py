"""A vertex-reinforced random walk through edited graphs.

A vertex is an input with some edits. From a vertex the walk goes to a graph one edit away, or back to
an input, and prefers graphs that are likely counterfactuals, near to many inputs, near to inputs that
nothing else is near to, and often visited. Whoever runs it asks the oracle:

    while steps are left:
        rows = walk.unasked()              # edits around the present vertex, if they are not known
        if rows is not None:
            walk.learn(probabilities of rows)
        walk.move()
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np
import torch
from torch import Tensor

from edgeflip.core import PAD, PairSpace, cancelled, candidate_keys
from edgeflip.explainers.gcfexplainer.config import GCFConfig
from edgeflip.explainers.gcfexplainer.distances import (
    Array,
    Shapes,
    assignment_edits,
    bit_places,
    count_bits,
    lower_bound,
    node_edits,
    sizes,
    within,
)
from edgeflip.explainers.gcfexplainer.vertices import (
    Aim,
    Options,
    Start,
    Vertex,
    VertexTable,
    unpacked,
)


class Walk:
    """One walk.

    Args:
        starts: Graphs to start from and jump to.
        inputs: Graphs to be near to; the starts come first among them.
        aim: What counts as a counterfactual.
        config: Settings.
        rng: Where all chance comes from.
        hits: How many counterfactuals of an earlier walk are near each input [inputs].
    """

    def __init__(
        self,
        starts: Sequence[Start],
        inputs: Shapes,
        aim: Aim,
        config: GCFConfig,
        rng: np.random.Generator,
        *,
        hits: Array | None = None,
    ) -> None:
        self.starts, self.inputs, self.aim, self.config = starts, inputs, aim, config
        self._rng = rng
        counts = np.zeros(len(inputs), dtype=np.int64) if hits is None else hits.astype(np.int64)
        self.table = VertexTable(len(inputs), config.capacity, counts)
        self._asked: Array | None = None
        self._rows: Tensor | None = None
        self._bases: dict[int, _Base] = {}
        self.current: Vertex
        self._jump()

    @property
    def space(self) -> PairSpace:
        """The input that the present vertex descends from."""
        return self.starts[self.current.start].space

    def toggles(self, vertices: Sequence[Vertex]) -> Tensor:
        """Edits of vertices as a block of proposals [vertices, width]."""
        width = max((len(vertex.toggles) for vertex in vertices), default=0)
        rows = [[*sorted(v.toggles), *[PAD] * (width - len(v.toggles))] for v in vertices]
        return torch.tensor(rows, dtype=torch.long).reshape(len(rows), width)

    def unasked(self) -> Tensor | None:
        """Candidates around the present vertex, None when the answers are known [options, width]."""
        if self.current.options is not None:
            return None
        start = self.starts[self.current.start]
        edits = self._draw(start)
        present = self.toggles([self.current])
        column = torch.from_numpy(edits)[:, None]
        toggles = cancelled(torch.cat([present.expand(len(edits), -1), column], dim=1))
        empty = (toggles == PAD).all(dim=1)
        # What the constraints refuse is no option; the input itself is one, and its answer is known.
        fits = torch.ones_like(empty) if start.allowed is None else start.allowed.check(toggles)
        self._asked = edits[(fits | empty).numpy()]
        self._rows = toggles[fits | empty]
        return self._rows[~empty[fits | empty]]

    def learn(self, proba: Tensor) -> None:
        """Take the oracle's answers to `unasked` [candidates, C]."""
        assert self._asked is not None
        assert self._rows is not None
        vertex, start = self.current, self.starts[self.current.start]
        empty = (self._rows == PAD).all(dim=1).numpy()
        answers = np.empty((len(self._asked), len(start.proba)))
        answers[~empty] = proba.double().numpy()
        answers[empty] = start.proba
        known = ~np.isnan(answers).any(axis=1)
        edits, answers = self._asked[known], answers[known]
        near = self._near(vertex, edits)
        indices = bit_places(start.space, torch.from_numpy(edits))
        keys = candidate_keys(torch.from_numpy(indices)[:, None]).numpy() ^ vertex.key
        vertex.options = Options(
            edits=np.append(edits, PAD),
            keys=[*keys.tolist(), vertex.key],
            wanted=np.append(self.aim.probability(answers), vertex.wanted),
            reached=np.append(self.aim.reached(answers), vertex.is_found),
            covers=np.packbits(near, axis=1),
            share=near.mean(axis=1) if len(self.inputs) else np.zeros(len(near)),
        )
        self._asked = self._rows = None

    def move(self) -> Vertex:
        """Go one step, and note the visit."""
        if self._rng.random() < self.config.teleport:
            self._jump()
            return self.current
        options = self.current.options
        assert options is not None
        weights = self._importance(options)
        frequencies = [self._frequency(key) for key in options.keys]
        weights = weights * np.array(frequencies, dtype=np.float64)
        total = weights.sum()
        chances = weights / total if total > 0 else np.full(len(weights), 1 / len(weights))
        choice = int(np.searchsorted(np.cumsum(chances), self._rng.random(), side="right"))
        self._arrive(options, min(choice, len(weights) - 1))
        return self.current

    def _arrive(self, options: Options, choice: int) -> None:
        key = options.keys[choice]
        vertex = self.table.by_key.get(key)
        if vertex is None and key == self.current.key:
            vertex = self.current
        if vertex is None:
            edit = int(options.edits[choice])
            vertex = Vertex(
                key,
                self.current.start,
                self.current.toggles ^ {edit},
                float(options.wanted[choice]),
                bool(options.reached[choice]),
                options.covers[choice],
            )
        self.current = vertex
        self.table.visit(vertex)

    def _jump(self) -> None:
        hits = self.table.hits[: len(self.starts)]
        weights = np.exp(-(hits - hits.min()).astype(np.float64))
        index = int(self._rng.choice(len(self.starts), p=weights / weights.sum()))
        start, key = self.starts[index], self._base(index).key
        vertex = self.table.by_key.get(key)
        if vertex is None:
            proba = start.proba[None]
            covers = np.packbits(self._near_to(index))
            vertex = Vertex(
                key,
                index,
                frozenset(),
                float(self.aim.probability(proba)[0]),
                bool(self.aim.reached(proba)[0]),
                covers,
            )
        self.current = vertex
        self.table.visit(vertex)

    def _draw(self, start: Start) -> Array:
        """Pair ids of the edits to try from the present vertex."""
        allowed = start.allowed
        if allowed is None:
            pool = np.arange(start.space.num_pairs)
        else:
            pool = torch.cat([allowed.additions, allowed.removals]).numpy()
        if self.config.keep_connected:
            pool = pool[~np.isin(pool, self._bridges(start.space))]
        count = min(self.config.sample_size, len(pool))
        drawn: Array = self._rng.choice(pool, size=count, replace=False)
        return drawn

    def _bridges(self, space: PairSpace) -> list[int]:
        """Ids of the edges that alone hold two parts of the present graph together."""
        ids = set(space.edge_ids.tolist()) ^ self.current.toggles
        graph = nx.Graph(space.edges_of(torch.tensor(sorted(ids), dtype=torch.long)))
        bridges: list[int] = space.ids_of(nx.bridges(graph)).tolist()
        return bridges

    def _importance(self, options: Options) -> Array:
        """I(v) of every option, by how likely it is a counterfactual and what it covers."""
        count = len(self.inputs)
        near = np.unpackbits(options.covers, axis=1, count=count).astype(bool)
        leads = np.array(
            [
                (known := self.table.by_key.get(key)) is not None and self.table.is_leading(known)
                for key in options.keys
            ]
        )
        # An input is new to an option if no leading counterfactual is near it but that option itself.
        fresh = self.table.hits[None] - leads[:, None] <= 0
        gain = (near & fresh).mean(axis=1) if count else np.zeros(len(near))
        coverage = self.config.alpha * options.share + (1 - self.config.alpha) * gain
        weights: Array = options.wanted * coverage if coverage.any() else options.wanted
        return weights

    def _frequency(self, key: int) -> int:
        known = self.table.by_key.get(key)
        return self.table.newcomer_frequency if known is None else known.frequency

    def _near(self, vertex: Vertex, edits: Array) -> Array:
        """Which inputs are near the graphs one edit away, and last near the vertex [options, inputs]."""
        inputs, base = self.inputs, self._base(vertex.start)
        words, edges = base.edited(vertex.toggles)
        total = count_bits(words ^ inputs.words) + base.node_edits
        indices = bit_places(base.space, torch.from_numpy(edits))
        word, bit = indices // 64, (indices % 64).astype(np.uint64)
        here, there = ((each[..., word] >> bit) & _ONE for each in (words, inputs.words))
        # One edit more or less, as the pair was like the input's before or not.
        change = np.where(there == here, 1, -1).T
        size = base.nodes + edges + inputs.nodes + inputs.edges
        grown = size + np.where(here == 0, 1, -1)[:, None]
        near = within(total + change, grown, self.config.theta)
        if self.config.distance == "assignment":
            for row, own in enumerate(edits.tolist()):
                self._match(base, vertex.toggles ^ {own}, near[row])
        return np.concatenate([near, unpacked(vertex.covers, len(inputs)).astype(bool)[None]])

    def _near_to(self, place: int) -> Array:
        """Which inputs are near a start."""
        inputs, base = self.inputs, self._base(place)
        total = count_bits(base.words ^ inputs.words) + base.node_edits
        size = base.nodes + base.edges + inputs.nodes + inputs.edges
        near = within(total, size, self.config.theta)
        if self.config.distance == "assignment":
            self._match(base, frozenset(), near)
        return near

    def _match(self, base: _Base, toggles: frozenset[int], near: Array) -> None:
        """Mend what the aligned bound calls far, where matching nodes shows it to be near [inputs]."""
        own = edited_shape(base.space, toggles, base.labels)
        limits = self.config.theta * sizes(own, self.inputs)[0]
        for column in np.flatnonzero(~near).tolist():
            if lower_bound(own, 0, self.inputs, column) <= limits[column]:
                edits = assignment_edits(own, 0, self.inputs, column)
                near[column] = edits <= limits[column]

    def _base(self, place: int) -> _Base:
        if place not in self._bases:
            self._bases[place] = _Base.of(self.starts[place].space, self.inputs)
        return self._bases[place]


_ONE = np.uint64(1)


@dataclass(frozen=True, eq=False)
class _Base:
    """A start, as far as all graphs that descend from it share it.

    Attributes:
        space: The graph.
        key: The key of its vertex.
        labels: Kinds of its nodes [n].
        words: Its edges as packed bits [words].
        nodes: Number of nodes.
        edges: Number of edges.
        node_edits: Edits of nodes between it and each input [inputs].
    """

    space: PairSpace
    key: int
    labels: Array
    words: Array
    nodes: int
    edges: int
    node_edits: Array

    @classmethod
    def of(cls, space: PairSpace, inputs: Shapes) -> _Base:
        own = Shapes.of([space])
        words = np.zeros(inputs.words.shape[1], dtype=np.uint64)
        # Starts are among the inputs, so none is wider than those.
        words[: own.words.shape[1]] = own.words[0]
        return cls(
            space,
            _vertex_key(space),
            own.own_labels(0),
            words,
            space.num_nodes,
            space.edge_ids.numel(),
            node_edits(own, inputs)[0],
        )

    def edited(self, toggles: frozenset[int]) -> tuple[Array, int]:
        """Packed edges and their number after edits."""
        if not toggles:
            return self.words, self.edges
        ids = torch.tensor(sorted(toggles))
        indices = bit_places(self.space, ids)
        words = self.words.copy()
        np.bitwise_xor.at(words, indices // 64, _ONE << (indices % 64).astype(np.uint64))
        removed = int(self.space.is_edge(ids).sum())
        return words, self.edges + len(toggles) - 2 * removed


def edited_shape(space: PairSpace, toggles: frozenset[int], labels: Array) -> Shapes:
    """The shape of a graph after edits."""
    ids = sorted(set(space.edge_ids.tolist()) ^ toggles)
    indices = bit_places(space, torch.tensor(ids, dtype=torch.long))
    return Shapes.build([indices], [labels])


def _vertex_key(space: PairSpace) -> int:
    """A key of nodes, features and edges; edits change it as `candidate_keys` of their bits say."""
    x = space.graph.x
    features = x.detach().cpu().contiguous().numpy().tobytes() if isinstance(x, Tensor) else b""
    digest = hashlib.blake2b(features, digest_size=8, salt=str(space.num_nodes).encode()[:16])
    indices = torch.from_numpy(bit_places(space, space.edge_ids))
    key = int(candidate_keys(indices[None])[0])
    return key ^ int.from_bytes(digest.digest(), "little", signed=True)
