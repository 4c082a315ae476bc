"""GIST's network: attention makes new node features, a small head makes edges of pairs of them."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from edgeflip.core import DenseGraphs

EIGENVALUES = 5
"""How many eigenvalues of the adjacency matrix the published style compares."""


class GraphAttention(nn.Module):
    """A transformer convolution on dense stacks: nodes attend to their neighbours.

    Args:
        width: Features per node.
        out: Features per node and head.
        heads: Heads, whose results stand side by side.
        dropout: Share of attention left out in training.
    """

    def __init__(self, width: int, out: int, *, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.out = heads, out
        self.query, self.key, self.value, self.skip = (
            nn.Linear(width, heads * out) for _ in range(4)
        )
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, adjacency: Tensor) -> Tensor:
        """Features [b, n, F] and 0/1 edges [b, n, n] to new features [b, n, heads · out]."""
        query, key, value = (
            layer(x).unflatten(2, (self.heads, self.out)).transpose(1, 2)
            for layer in (self.query, self.key, self.value)
        )
        edges = adjacency.unsqueeze(1)
        scores = query @ key.transpose(2, 3) / math.sqrt(self.out)
        attention = scores.masked_fill(edges == 0, -1e9).softmax(dim=3)
        # A node without neighbours attends to nobody, where the softmax alone would take everybody.
        gathered = self.dropout(attention * edges) @ value
        result: Tensor = self.skip(x) + gathered.transpose(1, 2).flatten(2)
        return result


@dataclass(frozen=True, eq=False)
class Styled:
    """What the network makes of graphs.

    Attributes:
        x: New node features [b, n, F].
        low: The edge head's first layer for the first node of a pair [b, n, w].
        high: The same for the second node [b, n, w].
    """

    x: Tensor
    low: Tensor
    high: Tensor


class StyleNetwork(nn.Module):
    """Two attention layers, F to hidden and back, and an edge head on ordered pairs.

    The head's first layer is kept apart for the two nodes of a pair: pairs are never laid out with
    all their features, which for sentences would be the largest thing in memory.

    Args:
        num_features: Features per node F.
        hidden: Width between the attention layers, shared by the heads.
        heads: Heads of the first layer.
        edge_width: Hidden width of the edge head.
        dropout: Share of attention left out in training.
    """

    def __init__(
        self, num_features: int, *, hidden: int, heads: int, edge_width: int, dropout: float
    ) -> None:
        super().__init__()
        self.num_features, self.edge_width = num_features, edge_width
        self.first = GraphAttention(num_features, hidden // heads, heads=heads, dropout=dropout)
        self.second = GraphAttention(hidden, num_features, heads=1, dropout=dropout)
        self.low = nn.Linear(num_features, edge_width)
        self.high = nn.Linear(num_features, edge_width, bias=False)
        self.edge = nn.Linear(edge_width, 1)

    def forward(self, graphs: DenseGraphs) -> Styled:
        """New features, and the edge head's first layer."""
        hidden = self.first(graphs.x, graphs.adjacency).relu()
        x = self.second(hidden, graphs.adjacency)
        return Styled(x, self.low(x), self.high(x))

    def logits(self, low: Tensor, high: Tensor) -> Tensor:
        """Edge logits of all ordered pairs [..., n, n] from the two halves [..., n, w] each."""
        return self.score(low.unsqueeze(-2), high.unsqueeze(-3))

    def score(self, low: Tensor, high: Tensor) -> Tensor:
        """Edge logits of pairs [...] from the halves of their nodes [..., w] each."""
        result: Tensor = self.edge((low + high).relu())
        return result.squeeze(-1)


def relaxed(logits: Tensor, temperature: float, generator: torch.Generator | None) -> Tensor:
    """Logits of relaxed edge samples, (logit + noise) / temperature, of any shape.

    The noise is the difference of two Gumbel draws, which makes the sample of two options relaxed.
    """
    uniform = torch.rand(logits.shape, generator=generator).clamp(1e-6, 1 - 1e-6)
    return (logits + uniform.logit()) / temperature


def symmetric(samples: Tensor) -> Tensor:
    """One probability per unordered pair: the mean of both directions [..., n, n]."""
    return (samples + samples.transpose(-1, -2)) / 2


def adjacency_spectrum(adjacency: Tensor) -> Tensor:
    """The eigenvalues of largest magnitude, largest first; zeros where there are fewer [b, 5]."""
    values = _eigenvalues(adjacency)
    order = values.abs().argsort(dim=1, descending=True, stable=True)[:, :EIGENVALUES]
    chosen = values.gather(1, order)
    return torch.nn.functional.pad(chosen, (0, EIGENVALUES - chosen.size(1)))


def laplacian_spectrum(adjacency: Tensor) -> Tensor:
    """All eigenvalues of D − A, ascending and differentiable in the weights [b, n]."""
    laplacian = torch.diag_embed(adjacency.sum(dim=2)) - adjacency
    # A little on the diagonal keeps equal eigenvalues, and so their gradients, apart.
    apart = 1e-6 * torch.arange(adjacency.size(1), dtype=adjacency.dtype)
    return _eigenvalues(laplacian + torch.diag(apart))


def _eigenvalues(matrices: Tensor) -> Tensor:
    """Eigenvalues of symmetric matrices, ascending [b, n].

    In double precision: with single, LAPACK gives up on some sparse graphs, whose matrices have many
    eigenvalues of zero.
    """
    values: Tensor = torch.linalg.eigvalsh(matrices.double())
    return values.to(matrices.dtype)
