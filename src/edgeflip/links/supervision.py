"""What a link predictor learns from: graphs without padding, and which of their edges it must find again.

Per graph the edges are parted into message-passing edges, which the encoder sees, and supervision
edges, which the decoder must find again among sampled non-edges.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import index
from typing import TypeAlias

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import Edge, PairSpace, id_pairs, node_features
from edgeflip.errors import ConfigError
from edgeflip.support import reading

# Random numbers drawn at once.
_DRAWN_AT_ONCE = 5_000_000

Knowledge: TypeAlias = Callable[[Data], Iterable[Edge]] | Iterable[Edge] | None
"""Pairs of a graph, as a function of the graph or as one list for all graphs."""


@dataclass(frozen=True, eq=False)
class LinkGraphs:
    """Graphs to learn links from, each as it is: nothing is padded.

    Attributes:
        features: Node features of each graph, not copied [nodes, F] each.
        marks: Of every node pair, by its id: whether it is an edge, must be one, and must not be one
            [3, pairs] each.
        labels: Classes [graphs].
    """

    features: tuple[Tensor, ...]
    marks: tuple[Tensor, ...]
    labels: Tensor

    @classmethod
    def of(
        cls,
        spaces: Sequence[PairSpace],
        labels: Sequence[int],
        *,
        required: Knowledge = None,
        forbidden: Knowledge = None,
    ) -> LinkGraphs:
        """Graphs of any sizes.

        Raises:
            ConfigError: If a pair is both required and forbidden.
        """
        marks = []
        for space in spaces:
            own = torch.zeros(3, space.num_pairs, dtype=torch.bool)
            own[0, space.edge_ids] = True
            for known, row in ((required, own[1]), (forbidden, own[2])):
                if known is not None:
                    row[_known_ids(space, known)] = True
            if bool((own[1] & own[2]).any()):
                raise ConfigError(
                    "expected required edges and forbidden pairs to be disjoint, got a pair in both; "
                    "drop it from one."
                )
            marks.append(own)
        features = tuple(node_features(space.graph) for space in spaces)
        return cls(features, tuple(marks), torch.tensor(labels))

    @property
    def x(self) -> Tensor:
        """Node features, graph after graph [nodes, F]."""
        return torch.cat(self.features)

    @property
    def sizes(self) -> list[int]:
        """Nodes of each graph."""
        return [len(x) for x in self.features]

    def take(self, places: Tensor) -> LinkGraphs:
        """Some of the graphs."""
        chosen = places.tolist()
        features = tuple(self.features[place] for place in chosen)
        return LinkGraphs(
            features, tuple(self.marks[place] for place in chosen), self.labels[places]
        )

    def part(self, first: int, end: int) -> LinkGraphs:
        """Some that follow each other."""
        part = slice(first, end)
        return LinkGraphs(self.features[part], self.marks[part], self.labels[part])

    def __len__(self) -> int:
        """Number of graphs."""
        return len(self.features)


@dataclass(frozen=True, eq=False)
class Supervision:
    """What the decoder must tell apart, and what the encoder may see.

    Attributes:
        messages: Message-passing edges as graph, first and second node [3, edges].
        pairs: Pairs, likewise [3, pairs].
        targets: 1 for edges, 0 for sampled non-edges [pairs].
    """

    messages: Tensor
    pairs: Tensor
    targets: Tensor


def known_pairs(known: Knowledge) -> Knowledge:
    """Domain knowledge that can be read again for every graph."""
    if known is None or callable(known):
        return known
    with reading("pairs of nodes", advice="write [(0, 1), (2, 3)]", error=ConfigError):
        return [(index(u), index(v)) for u, v in known]


def _known_ids(
    space: PairSpace, known: Callable[[Data], Iterable[Edge]] | Iterable[Edge]
) -> Tensor:
    if callable(known):
        with reading("pairs from a function of a graph", advice="correct it", error=ConfigError):
            pairs = [(index(u), index(v)) for u, v in known(space.graph) or ()]
    else:  # One list for graphs of all sizes: a pair means nothing to a graph without its nodes.
        pairs = [pair for pair in known if max(pair) < space.num_nodes]
    return space.ids_of(pairs)


def draw_supervision(
    graphs: LinkGraphs,
    *,
    low: float,
    high: float,
    negative_ratio: float,
    order_leak: bool,
    generator: torch.Generator,
) -> Supervision:
    """Part the edges of every graph and sample non-edges.

    Required pairs are always positives and forbidden ones always negatives, whatever is drawn.
    """
    draws = Draws(graphs)
    draws.draw(0, len(graphs), generator)
    drawn = draws.supervision(low=low, high=high, negative_ratio=negative_ratio)
    if not order_leak:
        return drawn
    graph, u, v = drawn.pairs
    turned = drawn.targets == 0
    turned[turned.clone()] = torch.rand(int(turned.sum()), generator=generator) < 0.5
    pairs = torch.stack([graph, torch.where(turned, v, u), torch.where(turned, u, v)])
    return Supervision(drawn.messages, pairs, drawn.targets)


class Draws:
    """The random numbers that part the edges of graphs, and the supervision that they make.

    Batches can be drawn one after the other and worked off together, which is much faster.

    Args:
        graphs: Graphs of all batches, batch after batch.
    """

    def __init__(self, graphs: LinkGraphs) -> None:
        self._graphs = graphs
        sizes = torch.tensor(graphs.sizes)
        counts = sizes * (sizes - 1) // 2
        self._sizes, self._ends = sizes, [0, *counts.cumsum(0).tolist()]
        self._graph = torch.arange(len(sizes)).repeat_interleave(counts)
        ids = torch.arange(len(self._graph)) - (counts.cumsum(0) - counts)[self._graph]
        self._u, self._v = id_pairs(ids, sizes[self._graph])
        self._shares = torch.empty(len(sizes))
        self._keys = torch.empty(2, len(ids), dtype=torch.float64)

    def draw(self, first: int, end: int, generator: torch.Generator) -> None:
        """The numbers of a batch: one for each graph, and two for each of its pairs."""
        self._shares[first:end] = torch.rand(end - first, generator=generator)
        for keys in self._keys:
            self._draw_keys(keys, first, end, generator)

    def _draw_keys(self, keys: Tensor, first: int, end: int, generator: torch.Generator) -> None:
        """A number below 1 for each pair.

        They are drawn as cells of matrices as large as the batch's largest, a few graphs at a time: a
        seed gives the supervision that it gave when graphs were padded.
        """
        width = int(self._sizes[first:end].max())
        step = max(1, _DRAWN_AT_ONCE // width**2)
        for start in range(first, end, step):
            stop = min(end, start + step)
            drawn = torch.rand(stop - start, width * width, generator=generator)
            part = slice(self._ends[start], self._ends[stop])
            keys[part] = drawn[self._graph[part] - start, self._u[part] * width + self._v[part]]

    def supervision(self, *, low: float, high: float, negative_ratio: float) -> Supervision:
        """What comes of the numbers drawn; pairs are ordered."""
        is_edge, required, forbidden = torch.cat(self._graphs.marks, dim=1)
        edges = is_edge & ~forbidden
        number = self._per_graph(edges)
        share = low + (high - low) * self._shares
        # At least one edge to find, and at least one left to see.
        wanted = torch.minimum((share * number).round().clamp(min=1), (number - 1).clamp(min=0))
        drawn = self._lowest(edges, wanted, self._keys[0])
        positives = drawn | required
        free = ~edges & ~required
        ratio = (self._per_graph(positives) * negative_ratio).round()
        negatives = self._lowest(free, ratio, self._keys[1]) | (forbidden & free)
        messages = edges & ~positives
        # Where every edge is required, those that were not drawn are seen, or nothing would be.
        blind = self._per_graph(messages) == 0
        messages |= edges & ~drawn & blind[self._graph]
        found, missing = self._rows(positives), self._rows(negatives)
        targets = torch.cat([torch.ones(found.size(1)), torch.zeros(missing.size(1))])
        return Supervision(self._rows(messages), torch.cat([found, missing], dim=1), targets)

    def _per_graph(self, chosen: Tensor) -> Tensor:
        """How many pairs of each graph are chosen [graphs]."""
        return self._graph[chosen].bincount(minlength=len(self._sizes))

    def _rows(self, chosen: Tensor) -> Tensor:
        """Graph, first and second node of chosen pairs [3, chosen]."""
        places = chosen.nonzero().flatten()
        return torch.stack([self._graph[places], self._u[places], self._v[places]])

    def _lowest(self, options: Tensor, number: Tensor, keys: Tensor) -> Tensor:
        """The options of every graph with the lowest keys, so many of each graph [pairs]."""
        places = options.nonzero().flatten()
        graph = self._graph[places]
        order = (2 * graph + keys[places]).argsort()
        counts = graph.bincount(minlength=len(number))
        rank = torch.arange(len(places)) - (counts.cumsum(0) - counts)[graph]
        chosen = torch.zeros_like(options)
        chosen[places[order[rank < number[graph]]]] = True
        return chosen
