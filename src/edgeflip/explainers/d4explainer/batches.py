"""Graphs to denoise together, in stacks of graphs of one size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import PairSpace, stacked_adjacency
from edgeflip.errors import NotApplicableError
from edgeflip.oracle import Oracle, SoftGraphs


@dataclass(frozen=True, eq=False)
class Stack:
    """Graphs of one size.

    Attributes:
        members: Which graphs of the batch [b].
        x: Node features [b, n, F].
        adjacency: 0/1 without self-loops [b, n, n].
        cells: Where the unordered pairs are in a flattened matrix, u < v [pairs of a graph].
        labels: What the oracle predicts [b].
        soft: The graphs with weights on all pairs.
    """

    members: Tensor
    x: Tensor
    adjacency: Tensor
    cells: Tensor
    labels: Tensor
    soft: SoftGraphs

    def on_pairs(self, matrices: Tensor) -> Tensor:
        """Values of unordered pairs, graph after graph, from versions of matrices [versions, pairs]."""
        found = matrices.flatten(1).index_select(1, self.cells)
        return found.view(-1, len(self.members) * len(self.cells))


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """Graphs of one step.

    Attributes:
        stacks: The graphs, each in one of them.
        count: Number of graphs.
        pairs: Number of unordered pairs of all graphs.
    """

    stacks: tuple[Stack, ...]
    count: int
    pairs: int


def stacked(
    spaces: Sequence[PairSpace], labels: Tensor, oracle: Oracle, *, cells: int | None = None
) -> GraphBatch:
    """A batch of graphs.

    Args:
        spaces: The graphs.
        labels: What the oracle predicts [graphs].
        oracle: The oracle.
        cells: At most this many cells of adjacency matrices in a stack, unless a graph alone has more.

    Raises:
        NotApplicableError: If the oracle takes no edge weights, or the graphs have no features.
    """
    groups: list[list[int]] = []
    for index in sorted(range(len(spaces)), key=lambda index: spaces[index].num_nodes):
        nodes = spaces[index].num_nodes
        same = bool(groups) and spaces[groups[-1][0]].num_nodes == nodes
        if same and (cells is None or (len(groups[-1]) + 1) * nodes**2 <= cells):
            groups[-1].append(index)
        else:
            groups.append([index])
    stacks = tuple(
        _stack([spaces[index] for index in group], torch.tensor(group), labels, oracle)
        for group in groups
    )
    return GraphBatch(stacks, len(spaces), sum(space.num_pairs for space in spaces))


def _stack(spaces: Sequence[PairSpace], members: Tensor, labels: Tensor, oracle: Oracle) -> Stack:
    every = torch.arange(spaces[0].num_pairs)
    u, v = spaces[0].ends(every)
    x = torch.stack([features_of(space.graph) for space in spaces])
    adjacency, _ = stacked_adjacency([space.graph for space in spaces])
    soft = SoftGraphs(oracle, spaces, [every] * len(spaces))
    return Stack(members, x, adjacency, u * spaces[0].num_nodes + v, labels[members], soft)


def features_of(graph: Data) -> Tensor:
    """Node features in single precision [n, F]."""
    if not isinstance(graph.x, Tensor):
        raise NotApplicableError(
            "expected graphs with node features x to learn from, got one without; add features, such "
            "as ones."
        )
    return graph.x.detach().cpu().reshape(graph.x.size(0), -1).float()


def flip_pairs(adjacency: Tensor, sigma: Tensor, generator: torch.Generator) -> Tensor:
    """Every unordered pair flipped with its graph's probability [b, n, n].

    Args:
        adjacency: 0/1, symmetric, without self-loops [b, n, n].
        sigma: Probability of a flip [b].
        generator: Where all chance comes from.
    """
    draws = torch.rand(adjacency.shape, generator=generator).triu(1)
    flips = (draws > 0) & (draws < sigma[:, None, None])
    both = (flips | flips.transpose(1, 2)).float()
    return (adjacency - both).abs()
