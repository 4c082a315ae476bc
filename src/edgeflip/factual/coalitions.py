"""Sets of nodes as whole numbers: node `v` is in the coalition when bit `v` is set.

A tree search asks thousands of times which part of a graph stays connected when a node goes. With
bits for sets, growing by all neighbours is an `or`, and a coalition is its own key in a dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from edgeflip.core import FactualSubgraph, PairSpace


def as_bits(nodes: Iterable[int]) -> int:
    """The coalition of some nodes.

    Example:
        >>> as_bits([0, 3])
        9
    """
    bits = 0
    for node in nodes:
        bits |= 1 << node
    return bits


def members(bits: int) -> Iterator[int]:
    """The nodes of a coalition, ascending.

    Example:
        >>> list(members(9))
        [0, 3]
    """
    while bits:
        low = bits & -bits
        yield low.bit_length() - 1
        bits ^= low


def as_masks(coalitions: Sequence[int], num_nodes: int) -> Tensor:
    """Coalitions as boolean rows [coalitions, n].

    Example:
        >>> as_masks([9, 2], num_nodes=4).long().tolist()
        [[1, 0, 0, 1], [0, 1, 0, 0]]
    """
    width = (num_nodes + 7) // 8
    packed = b"".join(bits.to_bytes(width, "little") for bits in coalitions)
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(len(coalitions), width)
    unpacked = np.unpackbits(rows, axis=1, count=num_nodes, bitorder="little")
    return torch.from_numpy(unpacked).bool()


@dataclass(frozen=True, eq=False)
class Topology:
    """Who is whose neighbour in a graph; self-loops do not count.

    Attributes:
        num_nodes: Number of nodes n.
        neighbours: The neighbours of each node, as a coalition [n].
    """

    num_nodes: int
    neighbours: tuple[int, ...]

    @classmethod
    def of(cls, space: PairSpace) -> Topology:
        """The topology of a graph."""
        neighbours = [0] * space.num_nodes
        for u, v in space.edges_of(space.edge_ids):
            neighbours[u] |= 1 << v
            neighbours[v] |= 1 << u
        return cls(space.num_nodes, tuple(neighbours))

    @property
    def everything(self) -> int:
        """The coalition of all nodes."""
        return (1 << self.num_nodes) - 1

    def degree(self, node: int, within: int) -> int:
        """How many neighbours a node has in a coalition."""
        return (self.neighbours[node] & within).bit_count()

    def around(self, coalition: int) -> int:
        """The neighbours of a coalition."""
        near = 0
        for node in members(coalition):
            near |= self.neighbours[node]
        return near & ~coalition

    def component(self, node: int, within: int) -> int:
        """The connected part of a coalition that holds a node."""
        reached = fresh = 1 << node
        neighbours = self.neighbours
        while fresh:
            around = 0
            while fresh:
                low = fresh & -fresh
                around |= neighbours[low.bit_length() - 1]
                fresh ^= low
            fresh = around & within & ~reached
            reached |= fresh
        return reached

    def largest_component(self, within: int) -> int:
        """The largest connected part of a coalition; of equals, that with the smallest node."""
        largest, rest = 0, within
        while rest.bit_count() > largest.bit_count():
            part = self.component((rest & -rest).bit_length() - 1, rest)
            if part.bit_count() > largest.bit_count():
                largest = part
            rest &= ~part
        return largest

    def reach(self, hops: int) -> Tensor:
        """Which nodes can be reached from which in so many steps, themselves included [n, n]."""
        balls = [1 << node for node in range(self.num_nodes)]
        for _ in range(hops):
            grown = [ball | self.around(ball) for ball in balls]
            if grown == balls:
                break
            balls = grown
        return as_masks(balls, self.num_nodes)


def subgraph_of(space: PairSpace, nodes: Iterable[int], score: float) -> FactualSubgraph:
    """The factual subgraph of some nodes, with all of the graph's edges between them."""
    chosen = sorted(nodes)
    inside = torch.zeros(space.num_nodes, dtype=torch.bool)
    inside[chosen] = True
    u, v = space.ends(space.edge_ids)
    edges = space.edges_of(space.edge_ids[inside[u] & inside[v]])
    return FactualSubgraph(nodes=tuple(chosen), edges=tuple(edges), score=score)
