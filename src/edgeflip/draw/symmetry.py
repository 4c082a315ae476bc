"""Edits that only a symmetry of the graph tells apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import EditSet, PairSpace, edge_attributes

# Larger graphs are not compared: their drawings show a part only.
_MOST_NODES = 120
# Nodes and edges that are looked at for one page; about half a second.
_PATIENCE = 600_000
# Share of the largest number up to which two outputs are the same but for rounding.
_ROUNDING = 1e-4
# What marks the node that is told apart.
_CHOSEN = -7


def alike(
    graph: Data, edits: Sequence[EditSet], outputs: Sequence[Sequence[float]] = ()
) -> list[list[int]]:
    """Places of edit sets, those together that a symmetry of the graph turns into one another.

    A symmetry keeps edges and every tensor of nodes and of edges. Where finding one takes too long, edit
    sets stay apart.

    Args:
        graph: The input.
        edits: The edit sets.
        outputs: What the oracle says after each; those with different outputs stay apart.

    Example:
        >>> path = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> alike(
        ...     path,
        ...     [EditSet(removed={(0, 1)}), EditSet(added={(0, 2)}), EditSet(removed={(1, 2)})],
        ... )
        [[0, 2], [1]]
    """
    if int(graph.num_nodes or 0) > _MOST_NODES:
        return [[place] for place in range(len(edits))]
    plain, work = _Plain(graph), _Work(_PATIENCE)
    groups: list[tuple[_Version, list[int]]] = []
    for place, each in enumerate(edits):
        version = plain.with_edits(each, work)
        for first, places in groups:
            if outputs and not _same(outputs[places[0]], outputs[place]):
                continue
            if _symmetric(first, version, work):
                places.append(place)
                break
        else:
            groups.append((version, [place]))
    return [places for _, places in groups]


def _same(one: Sequence[float], other: Sequence[float]) -> bool:
    scale = max(map(abs, (*one, *other)), default=0.0)
    return len(one) == len(other) and all(
        abs(a - b) <= _ROUNDING * scale for a, b in zip(one, other, strict=True)
    )


@dataclass
class _Work:
    """How much may still be looked at."""

    left: int


@dataclass(frozen=True)
class _Version:
    """A graph with edits marked.

    Attributes:
        nodes: What each node is like, as a number.
        around: For each node its neighbours, and what the edge to each is like.
        colours: Nodes that differ in any way that neighbours tell have different ones.
    """

    nodes: tuple[int, ...]
    around: tuple[dict[int, int], ...]
    colours: tuple[int, ...]


class _Plain:
    """A graph whose nodes and edges are numbered by what they are like."""

    def __init__(self, graph: Data) -> None:
        pairs = PairSpace.of(graph)
        edge_index = graph.edge_index.tolist() if graph.edge_index is not None else [[], []]
        ends = list(zip(*edge_index, strict=True))
        tensors = {
            name: value
            for name, value in graph.to_dict().items()
            if isinstance(value, Tensor) and value.dim() and name != "edge_index"
        }
        of_edges = set(edge_attributes(graph))
        of_edges |= {name for name, value in tensors.items() if len(value) == len(ends)}
        of_nodes = [name for name, value in tensors.items() if len(value) == pairs.num_nodes]
        self._kinds: dict[object, int] = {}
        self._nodes = tuple(
            self._kind("node", own)
            for own in _rows([tensors[name] for name in of_nodes], pairs.num_nodes)
        )
        own = _rows([tensors[name] for name in sorted(of_edges)], len(ends))
        self._edges: dict[tuple[int, int], tuple[bytes, ...]] = dict(zip(ends, own, strict=True))

    def _kind(self, *what: object) -> int:
        return self._kinds.setdefault(what, len(self._kinds))

    def with_edits(self, edits: EditSet, work: _Work) -> _Version:
        """The graph with what comes and goes marked."""
        around: list[dict[int, int]] = [{} for _ in self._nodes]
        for (u, v), own in self._edges.items():
            goes = (min(u, v), max(u, v)) in edits.removed
            way_back = self._edges.get((v, u))
            around[u][v] = self._kind("goes" if goes else "stays", own, way_back)
        for u, v in edits.added:
            around[u][v] = around[v][u] = self._kind("comes")
        colours = _refined(self._nodes, around, work)
        return _Version(self._nodes, tuple(around), colours)


def _rows(values: Sequence[Tensor], count: int) -> Iterator[tuple[bytes, ...]]:
    """What tensors hold of each node or edge."""
    dense = [value.detach().cpu().to_dense().contiguous() for value in values]
    for row in range(count):
        yield tuple(
            value[row].reshape(-1).contiguous().view(torch.uint8).numpy().tobytes()
            for value in dense
        )


def _refined(
    colours: Sequence[int], around: Sequence[dict[int, int]], work: _Work
) -> tuple[int, ...]:
    """Neighbours tell apart what looks alike, until they tell no more."""
    looks = len(colours) + sum(map(len, around))
    now, count = tuple(colours), 0
    while len(set(now)) != count and work.left > 0:
        count = len(set(now))
        work.left -= looks
        now = tuple(
            hash((own, tuple(sorted((kind, now[other]) for other, kind in each.items()))))
            for own, each in zip(now, around, strict=True)
        )
    return now


def _symmetric(first: _Version, second: _Version, work: _Work) -> bool:
    """Whether nodes of one can be matched with those of the other, so that all is kept.

    Nodes that cannot be told apart are told apart one by one: one in the first graph, each in turn in
    the second.
    """
    waiting: list[tuple[tuple[int, ...], tuple[int, ...], int | None]]
    waiting = [(first.colours, second.colours, None)]
    while waiting and work.left > 0:
        ours, theirs, tried = waiting.pop()
        if tried is not None:
            theirs = _refined(_marked(theirs, tried), second.around, work)
        sizes = Counter(ours)
        if sizes != Counter(theirs):
            continue
        work.left -= len(ours)
        if _matches(first, second, ours, theirs):
            return True
        several = [node for node, colour in enumerate(ours) if sizes[colour] > 1]
        if not several:
            continue
        chosen = min(several, key=lambda node: (sizes[ours[node]], node))
        told = _refined(_marked(ours, chosen), first.around, work)
        others = [node for node, colour in enumerate(theirs) if colour == ours[chosen]]
        waiting += [(told, theirs, node) for node in reversed(others)]
    return False


def _marked(colours: tuple[int, ...], node: int) -> tuple[int, ...]:
    return *colours[:node], hash((colours[node], _CHOSEN)), *colours[node + 1 :]


def _matches(
    first: _Version, second: _Version, ours: tuple[int, ...], theirs: tuple[int, ...]
) -> bool:
    """Whether all is kept if nodes of a colour are matched in their order."""
    image = [0] * len(ours)
    order = sorted(range(len(ours)), key=lambda node: (ours[node], node))
    other = sorted(range(len(theirs)), key=lambda node: (theirs[node], node))
    for one, two in zip(order, other, strict=True):
        image[one] = two
    return all(
        first.nodes[node] == second.nodes[image[node]]
        and {image[far]: kind for far, kind in first.around[node].items()}
        == second.around[image[node]]
        for node in range(len(ours))
    )
