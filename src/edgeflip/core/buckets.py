"""Graphs of unlike sizes in a few dense stacks, so that little is spent on padding."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


def size_buckets(sizes: Sequence[int], *, cells: int | None = None) -> list[list[int]]:
    """Places of graphs that are best stacked together: many at once, but of similar size.

    Args:
        sizes: Nodes of each graph.
        cells: At most so many cells of adjacency matrices in one stack, unless a graph alone has more.

    Example:
        >>> size_buckets([4, 30, 5, 5])
        [[0, 2, 3], [1]]
    """
    groups: list[list[int]] = []
    smallest = 0
    for index in sorted(range(len(sizes)), key=sizes.__getitem__):
        nodes = sizes[index]
        # Padding by a quarter costs less than a stack of its own.
        similar = bool(groups) and nodes <= 1.25 * smallest + 2
        if similar and (cells is None or (len(groups[-1]) + 1) * nodes * nodes <= cells):
            groups[-1].append(index)
        else:
            groups.append([index])
            smallest = nodes
    return groups


@dataclass(frozen=True, eq=False)
class Bucket:
    """Graphs of similar size.

    Attributes:
        members: Which of the graphs [b].
        places: The place of each graph in the stack, -1 for those that are not in it [graphs].
        mask: Which nodes are there, as graphs are padded to the largest of the bucket [b, n].
    """

    members: Tensor
    places: Tensor
    mask: Tensor


class Buckets:
    """How graphs of unlike sizes become dense stacks of similar ones, and how these become rows again.

    Rows are those of all nodes, graph after graph.

    Args:
        sizes: Nodes of each graph.
        groups: Which graphs share a stack; by default those of similar size.

    Attributes:
        sizes: Nodes of each graph [graphs].
        starts: The row of each graph's first node [graphs].
        parts: The buckets.

    Example:
        >>> buckets = Buckets([2, 30, 3])
        >>> [tuple(part.mask.shape) for part in buckets.parts]
        [(2, 3), (1, 30)]
        >>> [tuple(stack.shape) for stack in buckets.stacks(torch.zeros(35, 7))]
        [(2, 3, 7), (1, 30, 7)]
    """

    def __init__(self, sizes: Sequence[int], groups: Iterable[Sequence[int]] | None = None) -> None:
        self.sizes = torch.tensor(sizes, dtype=torch.long)
        self.starts = self.sizes.cumsum(0) - self.sizes
        chosen = size_buckets(sizes) if groups is None else groups
        self.parts = tuple(self._bucket(torch.tensor(group)) for group in chosen)
        # All stacks laid one behind the other: of each graph its width, its first row and first cell.
        self._widths, first_rows, self._first_cells = torch.zeros(3, len(sizes)).long()
        self._rows: list[int] = []
        self._cells: list[int] = []
        for part in self.parts:
            count, width = part.mask.shape
            places = torch.arange(count)
            self._widths[part.members] = width
            first_rows[part.members] = sum(self._rows) + places * width
            self._first_cells[part.members] = sum(self._cells) + places * width**2
            self._rows.append(count * width)
            self._cells.append(count * width**2)
        shift = (first_rows - self.starts).repeat_interleave(self.sizes)
        self._laid = torch.arange(len(shift)) + shift
        # One stack of graphs of one size, in their order, is what the rows are already.
        self._plain = len(self.parts) == 1 and not bool(shift.any()) and len(shift) == self._rows[0]

    def _bucket(self, members: Tensor) -> Bucket:
        sizes = self.sizes[members]
        places = torch.full_like(self.sizes, -1)
        places[members] = torch.arange(len(members))
        return Bucket(members, places, torch.arange(int(sizes.max())) < sizes[:, None])

    def stacks(self, rows: Tensor) -> list[Tensor]:
        """Rows of all nodes [nodes, …] as a stack per bucket, padded with zeros [b, n, …] each."""
        if not self._plain:
            laid = rows.new_zeros(sum(self._rows), *rows.shape[1:])
            rows = laid.index_copy(0, self._laid, rows)
        parts = zip(rows.split(self._rows), self.parts, strict=True)
        return [each.unflatten(0, part.mask.shape) for each, part in parts]

    def rows(self, stacks: Sequence[Tensor]) -> Tensor:
        """What belongs to nodes in stacks [b, n, …] as rows again [nodes, …]."""
        laid = torch.cat([stack.flatten(0, 1) for stack in stacks])
        return laid if self._plain else laid.index_select(0, self._laid)

    def spread(self, values: Tensor) -> Tensor:
        """Values of graphs [graphs, w] for each of their nodes [nodes, w]."""
        widths = [(part.members, part.mask.size(1)) for part in self.parts]
        return self.rows([values[members, None].expand(-1, n, -1) for members, n in widths])

    def adjacency(self, edges: Tensor) -> list[Tensor]:
        """Symmetric 0/1 matrices of edges, a stack per bucket [b, n, n] each.

        Args:
            edges: Graph, first and second node of each edge [3, edges].
        """
        graph, u, v = edges
        first, width = self._first_cells[graph], self._widths[graph]
        cells = torch.zeros(sum(self._cells))
        cells[first + u * width + v] = 1.0
        cells[first + v * width + u] = 1.0
        parts = zip(cells.split(self._cells), self.parts, strict=True)
        return [each.view(*part.mask.shape, -1) for each, part in parts]
