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
        features = [node_features(graph) for graph in graphs]
        size = max(rows.size(0) for rows in features)
        x = torch.zeros(len(graphs), size, features[0].size(1))
        adjacency = torch.zeros(len(graphs), size, size)
        mask = torch.zeros(len(graphs), size, dtype=torch.bool)
        for place, (graph, rows) in enumerate(zip(graphs, features, strict=True)):
            x[place, : rows.size(0)] = rows
            mask[place, : rows.size(0)] = True
            source, target = graph.edge_index.cpu()
            adjacency[place, source, target] = 1.0
        adjacency.diagonal(dim1=1, dim2=2).zero_()
        return cls(x, adjacency, mask)

    @property
    def pairs(self) -> Tensor:
        """Which ordered pairs of different nodes are there [b, n, n]."""
        there = self.mask.unsqueeze(1) & self.mask.unsqueeze(2)
        return there & ~torch.eye(self.mask.size(1), dtype=torch.bool)


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
