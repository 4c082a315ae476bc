"""Whether edits leave a graph in more parts than it has, for many of them at once.

A spanning tree of the graph makes it algebra. Every edge outside the tree has a label of its own, and a
tree edge has the labels of those that bridge it, added up bit by bit. Edges whose labels add up to nothing
cut the graph, so of edges that go as many cut as their labels are linearly dependent. An edge that comes is
one more outside the tree. What this takes depends on the number of edits, not on the size of the graph.
Where so many edges go that labels of this length could be dependent by chance, the parts are counted.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from edgeflip.core.candidates import PAD

if TYPE_CHECKING:
    from edgeflip.core.graphs import Edge, PairSpace

# Bits of a label. With one for each edge outside the tree, and some for edges that come, nothing is left to
# chance; where there are more of them labels are drawn, and one sum is nothing by chance once in 2**62.
_BITS, _NEW_BITS = 62, 14

# Of more edges that go there are too many sums: more than 62 labels of 62 bits are always dependent.
_MOST_GONE = 30


def more_parts(space: PairSpace, rows: Tensor) -> Tensor:
    """Which sets of toggled pairs leave a graph in more parts than it has [rows].

    Args:
        space: The graph.
        rows: Pair ids, padded [rows, width].

    Example:
        >>> from torch_geometric.data import Data
        >>> from edgeflip.core import PairSpace
        >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> more_parts(PairSpace.of(path), torch.tensor([[0, PAD], [0, 1]])).tolist()
        [True, False]
    """
    slots = torch.where(rows == PAD, PAD, space.slots(rows.clamp(min=0)))
    gone = slots >= 0
    # Only what goes can cut.
    count = gone.sum(dim=1)
    some = ((count > 0) & (count <= _MOST_GONE)).nonzero().flatten()
    found = torch.zeros(len(rows), dtype=torch.bool)
    if len(some):
        found[some] = space.tree.cut(slots[some], rows[some], space.ends(rows[some].clamp(min=0)))
    many = (count > _MOST_GONE).nonzero().flatten()
    if len(many):
        found[many] = _counted(space, rows[many])
    return found


def _counted(space: PairSpace, rows: Tensor) -> Tensor:
    """The same, one set after the other [rows]."""
    nodes, own = space.num_nodes, set(space.edge_ids.tolist())
    before = count_parts(nodes, space.edges_of(space.edge_ids))
    after = [own.symmetric_difference(row) - {PAD} for row in rows.tolist()]
    parts = [count_parts(nodes, space.edges_of(torch.tensor(sorted(ids)).long())) for ids in after]
    return torch.tensor(parts) > before


@dataclass(frozen=True, eq=False)
class SpanningTree:
    """A spanning tree of a graph, with the labels of its edges; of several parts a tree each.

    What stands for edges has one entry more, the last, for what is no edge.

    Attributes:
        labels: Of each edge, outside the tree or in it, 0 for none [m + 1].
        first: When the first node below each edge of the tree was come upon [m + 1].
        last: When the last one was, plus one; not after the first for edges outside the tree [m + 1].
        at: When each node was come upon [n].
        part: The part of each node, None where there is but one [n].
        new: Labels for edges that come, by their column in a row [columns].
    """

    labels: Tensor
    first: Tensor
    last: Tensor
    at: Tensor
    part: Tensor | None
    new: Tensor

    @classmethod
    def of(cls, space: PairSpace) -> SpanningTree:
        """The tree of a graph, from its first node on."""
        nodes, edges = space.num_nodes, space.ends(space.edge_ids).t().tolist()
        near: list[list[tuple[int, int]]] = [[] for _ in range(nodes)]
        for edge, (u, v) in enumerate(edges):
            near[u].append((v, edge))
            near[v].append((u, edge))
        order, above, part = _walk(near)
        inside = {edge for _, edge in above if edge >= 0}
        outside = [edge for edge in range(len(edges)) if edge not in inside]
        draw = random.Random(0).getrandbits
        exact = len(outside) <= _BITS - _NEW_BITS
        labels = [0] * (len(edges) + 1)
        below = [0] * nodes
        for bit, edge in enumerate(outside):
            labels[edge] = 1 << bit if exact else draw(_BITS)
            for node in edges[edge]:
                below[node] ^= labels[edge]
        first, last = [0] * len(labels), [0] * len(labels)
        size, at = [1] * nodes, [0] * nodes
        for place in reversed(range(nodes)):
            node = order[place]
            at[node] = place
            parent, edge = above[node]
            if edge >= 0:
                labels[edge], first[edge], last[edge] = below[node], place, place + size[node]
                below[parent] ^= below[node]
                size[parent] += size[node]
        bits = range(_BITS - _NEW_BITS, _BITS)
        new = [1 << bit for bit in bits] if exact else [draw(_BITS) for _ in bits]
        return cls(
            torch.tensor(labels),
            torch.tensor(first),
            torch.tensor(last),
            torch.tensor(at),
            torch.tensor(part) if any(part) else None,
            torch.tensor(new),
        )

    def cut(self, slots: Tensor, rows: Tensor, ends: Tensor) -> Tensor:
        """Which sets of toggled pairs cut more than they join [rows].

        Args:
            slots: Places of the pairs among the edges, -1 where they are none [rows, width].
            rows: Pair ids, padded [rows, width].
            ends: Ends of the pairs [2, rows, width].
        """
        labels = self.labels[slots]
        new = (slots < 0) & (rows != PAD)
        if bool(new.any()):
            comes = torch.where(new, self._labels_of_new(rows.size(1)), 0)
            at = self.at[ends][..., None]
            below = (self.first[slots][:, None] <= at) & (at < self.last[slots][:, None])
            labels = labels ^ _added_up(below[0] ^ below[1], comes)
            if self.part is not None:
                labels = torch.cat([labels, *self._joined(self.part[ends], comes)], dim=1)
        return _rank(labels) < (slots >= 0).sum(dim=1)

    def _labels_of_new(self, width: int) -> Tensor:
        """A label for every column [width]."""
        if width <= len(self.new):
            return self.new[:width]
        draw = random.Random(1).getrandbits
        more = [draw(_BITS) for _ in range(width - len(self.new))]
        return torch.cat([self.new, torch.tensor(more)])

    @staticmethod
    def _joined(part: Tensor, comes: Tensor) -> list[Tensor]:
        """What joins the parts at both ends of edges that come, as labels added up [rows, width]."""
        across = torch.where(part[0] != part[1], comes, 0)
        found = []
        for own in part:
            touches = (own[:, None] == part[0][..., None]) ^ (own[:, None] == part[1][..., None])
            found.append(_added_up(touches, across) * (across != 0))
        return found


def _walk(near: list[list[tuple[int, int]]]) -> tuple[list[int], list[tuple[int, int]], list[int]]:
    """A walk through a graph, depth first.

    Returns:
        The nodes in the order they are come upon; for each the node before it and the edge in between, -1
        where there is none; and the number of its part.
    """
    order: list[int] = []
    above, part = [(-1, -1)] * len(near), [-1] * len(near)
    for start in range(len(near)):
        if part[start] >= 0:
            continue
        waiting = [(start, -1, -1)]
        while waiting:
            node, parent, edge = waiting.pop()
            if part[node] >= 0:
                continue
            order.append(node)
            above[node], part[node] = (parent, edge), start
            waiting += [(other, node, way) for other, way in near[node] if part[other] < 0]
    return order, above, part


def _added_up(chosen: Tensor, labels: Tensor) -> Tensor:
    """Labels added up bit by bit, those chosen for each column [rows, columns].

    Args:
        chosen: Whether a label counts for a column [rows, labels, columns].
        labels: The labels [rows, labels].
    """
    total = torch.zeros_like(chosen[:, 0], dtype=torch.long)
    for place in range(labels.size(1)):
        total ^= torch.where(chosen[:, place], labels[:, place, None], 0)
    return total


def _rank(labels: Tensor) -> Tensor:
    """How many labels of each row are linearly independent, added up bit by bit [rows]."""
    left = labels.clone()
    for column in range(left.size(1) - 1):
        lead, rest = left[:, column : column + 1], left[:, column + 1 :]
        rest ^= torch.where((rest & (lead & -lead)) != 0, lead, 0)
    return (left != 0).sum(dim=1)


def count_parts(num_nodes: int, edges: Iterable[Edge]) -> int:
    """Number of connected parts; written without tensors, for one graph at a time.

    Example:
        >>> count_parts(4, [(0, 1), (1, 2)])
        2
    """
    # Each node points to another of its part, the last of them to itself.
    towards = list(range(num_nodes))
    parts = num_nodes
    for u, v in edges:
        while towards[u] != u:
            towards[u] = u = towards[towards[u]]
        while towards[v] != v:
            towards[v] = v = towards[towards[v]]
        if u != v:
            towards[u] = v
            parts -= 1
    return parts
