"""Graphs of any sizes as dense stacks, for methods that learn from batches of small graphs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Data


@dataclass(frozen=True, eq=False)
class DenseGraphs:
    """Graphs padded to the largest of them.

    Attributes:
        x: Node features, zero where no node is [b, n, F].
        adjacency: 0/1, symmetric, without self-loops [b, n, n].
        mask: Which nodes are there [b, n].
    """

    x: Tensor
    adjacency: Tensor
    mask: Tensor

    @classmethod
    def of(cls, graphs: Sequence[Data]) -> DenseGraphs:
        """Stack graphs.

        Example:
            >>> path = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]))
            >>> dot = Data(x=torch.ones(3, 1), edge_index=torch.empty(2, 0, dtype=torch.long))
            >>> DenseGraphs.of([path, dot]).mask.sum(dim=1).tolist()
            [2, 3]
        """
        adjacency, mask = stacked_adjacency(graphs)
        return cls(stacked_rows([node_features(graph) for graph in graphs]), adjacency, mask)

    @property
    def pairs(self) -> Tensor:
        """Which ordered pairs of different nodes are there [b, n, n]."""
        there = self.mask.unsqueeze(1) & self.mask.unsqueeze(2)
        return there & ~torch.eye(self.mask.size(1), dtype=torch.bool)


def stacked_adjacency(graphs: Sequence[Data]) -> tuple[Tensor, Tensor]:
    """Adjacency matrices of graphs of any sizes, padded to the largest, and which nodes are there.

    Returns:
        0/1, symmetric, without self-loops [b, n, n], and a mask of nodes [b, n].
    """
    sizes = torch.tensor([int(graph.num_nodes or 0) for graph in graphs])
    limit = int(sizes.max())
    adjacency = torch.zeros(len(graphs), limit, limit)
    for index, graph in enumerate(graphs):
        source, target = graph.edge_index.cpu()
        adjacency[index, source, target] = 1.0
    adjacency.diagonal(dim1=1, dim2=2).zero_()
    return adjacency, torch.arange(limit) < sizes[:, None]


def stacked_rows(rows: Sequence[Tensor]) -> Tensor:
    """Rows of nodes of several graphs, padded with zeros [b, n, F]."""
    return torch.nn.utils.rnn.pad_sequence(list(rows), batch_first=True)


def plain_adjacency(graph: Data) -> Tensor:
    """The adjacency matrix of one graph, without self-loops [n, n]."""
    return stacked_adjacency([graph])[0][0]


def node_features(graph: Data) -> Tensor:
    """Node features as floats, one constant column for graphs that have none [n, F]."""
    if graph.x is None:
        return torch.ones(int(graph.num_nodes or 0), 1)
    x: Tensor = graph.x.float().reshape(graph.x.size(0), -1)
    return x


def gcn_normalised(adjacency: Tensor) -> Tensor:
    """D^-1/2 (A + I) D^-1/2, weights entering before the degrees [b, n, n]."""
    messages = adjacency + torch.eye(adjacency.size(1))
    scale = messages.sum(dim=2, keepdim=True).rsqrt()
    return messages * scale * scale.transpose(1, 2)
