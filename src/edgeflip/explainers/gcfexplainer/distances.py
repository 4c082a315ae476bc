"""How many edits lie between two graphs: bounds that are cheap, and true ones.

The edit distance of graphs counts nodes and edges that come or go, and nodes that change their label.
It is costly to know exactly. The *aligned* bound keeps every node at its number, the *assignment*
bound matches nodes first; both are the cost of one legal way from a graph to the other and so never
below the distance. The *lower* bound compares degrees.

Edge sets are packed into bits. A pair u < v stands at bit v(v-1)/2 + u whatever the size of the graph,
so that graphs of any sizes can be compared.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import PairSpace

Array: TypeAlias = npt.NDArray[Any]

# Words compared at once; bounds the memory of comparing many graphs with many to some 64 MB.
_WORDS_AT_ONCE = 4_000_000

_TOLERANCE = 1e-9


def bit_places(space: PairSpace, ids: Tensor) -> Array:
    """Bits of pair ids of a graph, the same in graphs of all sizes."""
    u, v = space.ends(ids).numpy()
    indices: Array = v * (v - 1) // 2 + u
    return indices


def place_ends(places: Array) -> tuple[Array, Array]:
    """Both ends `(u, v)`, `u < v`, of bits; the inverse of `bit_places`.

    Example:
        >>> u, v = place_ends(np.array([0, 5]))
        >>> list(zip(u.tolist(), v.tolist()))
        [(0, 1), (2, 3)]
    """
    v = ((1 + np.sqrt(1 + 8 * places.astype(np.float64))) / 2).astype(np.int64)
    # The root can be one unit off where it should be whole.
    v = np.where(v * (v - 1) // 2 > places, v - 1, v)
    v = np.where((v + 1) * v // 2 <= places, v + 1, v)
    return places - v * (v - 1) // 2, v


def pack(places: Sequence[Array], words: int) -> Array:
    """Sets of bits as rows of 64-bit words [sets, words]."""
    bits = np.zeros((len(places), words * 64), dtype=np.uint8)
    for row, own in enumerate(places):
        bits[row, own] = 1
    packed: Array = np.packbits(bits, axis=1, bitorder="little").view(np.uint64)
    return packed


def unpacked_bits(words: Array, places: Array) -> Array:
    """Whether chosen bits are set; a bit beyond the last word is not [sets, places]."""
    bits = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(bool)
    inside = places < bits.shape[1]
    result = np.zeros((len(words), len(places)), dtype=bool)
    result[:, inside] = bits[:, places[inside]]
    return result


def words_for(num_nodes: int) -> int:
    """Words that hold the pairs of so many nodes."""
    return max(1, -(-num_nodes * (num_nodes - 1) // 2 // 64))


def count_bits(words: Array) -> Array:
    """Bits set per row, summed over the last axis."""
    if hasattr(np, "bitwise_count"):
        counts: Array = np.bitwise_count(words)
    else:
        counts = _BYTE_COUNTS[words.view(np.uint8)]
    total: Array = counts.sum(axis=-1, dtype=np.int64)
    return total


_BYTE_COUNTS = np.array([bin(byte).count("1") for byte in range(256)], dtype=np.uint8)


def node_labels(graph: Data) -> Array:
    """A number per node that tells kinds of nodes apart; all 0 where features are no kinds [n].

    Features of whole numbers, such as the one-hot kinds of atoms, are kinds; continuous ones are not.
    """
    count = int(graph.num_nodes or 0)
    x = graph.x
    if not isinstance(x, Tensor) or bool((x != x.round()).any()):
        return np.zeros(count, dtype=np.int64)
    rows = x.detach().cpu().reshape(count, -1).long()
    # Weights that no two different rows of small whole numbers are likely to share.
    weights = torch.arange(1, rows.size(1) + 1) * 0x2545F4914F6CDD1D
    mixed = (rows + 1) * (weights ^ (weights >> 29))
    return (mixed.sum(dim=1) & (2**62 - 1)).numpy()


@dataclass(frozen=True, eq=False)
class Shapes:
    """Graphs as far as distances look at them.

    Attributes:
        places: Bits of the edges of each graph.
        words: The same, packed [graphs, words].
        nodes: Number of nodes [graphs].
        edges: Number of edges [graphs].
        labels: Kinds of nodes, -1 where a graph has no such node [graphs, largest].
    """

    places: tuple[Array, ...]
    words: Array
    nodes: Array
    edges: Array
    labels: Array

    @classmethod
    def build(cls, places: Sequence[Array], labels: Sequence[Array]) -> Shapes:
        """Shapes from the edges and node labels of graphs."""
        largest = max((len(own) for own in labels), default=1)
        padded = np.full((len(labels), largest), -1, dtype=np.int64)
        for row, own in enumerate(labels):
            padded[row, : len(own)] = own
        return cls(
            tuple(places),
            pack(places, words_for(largest)),
            np.array([len(own) for own in labels], dtype=np.int64),
            np.array([len(own) for own in places], dtype=np.int64),
            padded,
        )

    @classmethod
    def of(cls, spaces: Sequence[PairSpace]) -> Shapes:
        """Shapes of graphs."""
        indices = [bit_places(space, space.edge_ids) for space in spaces]
        return cls.build(indices, [node_labels(space.graph) for space in spaces])

    def __len__(self) -> int:
        """Number of graphs."""
        return len(self.places)

    def own_labels(self, row: int) -> Array:
        """Labels of the nodes of one graph."""
        own: Array = self.labels[row, : self.nodes[row]]
        return own

    def joined(self, other: Shapes) -> Shapes:
        """These graphs and then others."""
        labels = [each.own_labels(row) for each in (self, other) for row in range(len(each))]
        return Shapes.build([*self.places, *other.places], labels)

    def state(self, prefix: str) -> dict[str, Tensor]:
        """Everything as tensors, to be saved."""
        flat = np.concatenate([np.empty(0, dtype=np.int64), *self.places])
        arrays = {"edges": flat, "counts": self.edges, "nodes": self.nodes, "labels": self.labels}
        return {f"{prefix}{key}": torch.from_numpy(value.copy()) for key, value in arrays.items()}

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], prefix: str) -> Shapes:
        """The inverse of `state`."""
        flat, counts, nodes, labels = (
            tensors[f"{prefix}{key}"].numpy() for key in ("edges", "counts", "nodes", "labels")
        )
        indices = np.split(flat, np.cumsum(counts)[:-1]) if len(counts) else []
        return cls.build(indices, [row[:size] for row, size in zip(labels, nodes, strict=True)])


def aligned_edits(one: Shapes, other: Shapes) -> Array:
    """Edits between graphs when every node keeps its number [graphs of one, graphs of other].

    Changed pairs (edges at nodes that the other lacks among them), nodes that come or go, and nodes
    of another label.
    """
    wide = max(one.words.shape[1], other.words.shape[1])
    first, second = (_widened(each.words, wide) for each in (one, other))
    step = max(1, _WORDS_AT_ONCE // max(1, second.size))
    parts = [
        count_bits(first[start : start + step, None] ^ second[None])
        for start in range(0, len(first), step)
    ]
    edges = np.concatenate([np.empty((0, len(second)), dtype=np.int64), *parts])
    total: Array = edges + node_edits(one, other)
    return total


def node_edits(one: Shapes, other: Shapes) -> Array:
    """The part of `aligned_edits` that edits of edges never change [graphs of one, graphs of other]."""
    both = min(one.labels.shape[1], other.labels.shape[1])
    result: Array = np.abs(one.nodes[:, None] - other.nodes[None])
    second = other.labels[:, :both]
    for row, own in enumerate(one.labels[:, :both]):
        result[row] += ((own != second) & (own >= 0) & (second >= 0)).sum(axis=1)
    return result


def sizes(one: Shapes, other: Shapes) -> Array:
    """Nodes and edges of both graphs together, what edits are put in relation to."""
    total: Array = (one.nodes + one.edges)[:, None] + (other.nodes + other.edges)[None]
    return total


def within(edits: Array, size: Array, theta: float) -> Array:
    """Whether so many edits are at most a share θ of the sizes."""
    near: Array = edits <= theta * size + _TOLERANCE
    return near


def lower_bound(one: Shapes, row: int, other: Shapes, column: int) -> float:
    """Edits that are needed at least between two graphs: an edge moves two degrees by one."""
    first, second = _degrees(one, row), _degrees(other, column)
    wide = max(len(first), len(second))
    gaps = np.abs(_sorted_to(first, wide) - _sorted_to(second, wide)).sum() / 2
    nodes = abs(int(one.nodes[row]) - int(other.nodes[column]))
    edges = abs(int(one.edges[row]) - int(other.edges[column]))
    return float(nodes + max(edges, gaps))


def assignment_edits(one: Shapes, row: int, other: Shapes, column: int) -> int:
    """Edits between two graphs when nodes of like label and neighbourhood are matched first."""
    nodes = max(int(one.nodes[row]), int(other.nodes[column]))
    labels, profiles, matrices = zip(
        *(_prepared(each, index, nodes) for each, index in ((one, row), (other, column))),
        strict=True,
    )
    wide = max(profile.shape[1] for profile in profiles)
    first, second = (np.pad(each, ((0, 0), (0, wide - each.shape[1]))) for each in profiles)
    unlike = labels[0][:, None] != labels[1][None]
    cost = unlike + np.abs(first[:, None] - second[None]).sum(axis=2) / 2
    rows, columns = linear_sum_assignment(cost)
    changed = matrices[0][np.ix_(rows, rows)] ^ matrices[1][np.ix_(columns, columns)]
    # A node that is matched with none comes or goes, which costs one as another label does.
    return int(changed.sum() // 2 + unlike[rows, columns].sum())


def _prepared(shapes: Shapes, row: int, nodes: int) -> tuple[Array, Array, Array]:
    """Labels, sorted degrees of neighbours and adjacency of a graph padded to so many nodes."""
    labels = np.full(nodes, -1, dtype=np.int64)
    labels[: shapes.nodes[row]] = shapes.own_labels(row)
    u, v = place_ends(shapes.places[row])
    matrix = np.zeros((nodes, nodes), dtype=bool)
    matrix[u, v] = matrix[v, u] = True
    degree = matrix.sum(axis=1)
    profile = -np.sort(-(matrix * degree[None]), axis=1)
    return labels, profile[:, : max(1, int(degree.max(initial=0)))], matrix


def _degrees(shapes: Shapes, row: int) -> Array:
    u, v = place_ends(shapes.places[row])
    degrees: Array = np.bincount(np.concatenate([u, v]), minlength=int(shapes.nodes[row]))
    return degrees


def _sorted_to(degrees: Array, wide: int) -> Array:
    return np.pad(-np.sort(-degrees), (0, wide - len(degrees)))


def _widened(words: Array, wide: int) -> Array:
    return np.pad(words, ((0, 0), (0, wide - words.shape[1])))
