"""The denoiser: from a noisy adjacency matrix to a logit for every node pair.

It is a "powerful" graph network: every pair of nodes has a vector, and blocks multiply the matrices
that the pairs form, channel by channel, as paths over a third node. Tensors are laid out as [channels,
graphs, n, n], so that a layer is one large matrix product and a block's products need no copies.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn
from torch.nn import functional

from edgeflip.explainers.d4explainer.config import DenoiserConfig


class PairLinear(nn.Module):
    """A linear layer on [A_ij, x_j, x_i, 1[i=j] τ] that never puts these together.

    What belongs to one node is multiplied once per node and not once per pair: with hundreds of
    features that is most of the work, and nearly all of the memory.

    Args:
        num_features: Features per node F.
        width: Channels of the result.
        fan_in: Inputs of the layer that this is part of, for its first weights; its own by default.
    """

    def __init__(self, num_features: int, width: int, *, fan_in: int | None = None) -> None:
        super().__init__()
        bound = 1 / math.sqrt(fan_in or 2 * num_features + 2)
        self.sizes = [1, num_features, num_features, 1]
        self.weight = nn.Parameter(torch.empty(width, sum(self.sizes)).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(width).uniform_(-bound, bound))

    def forward(self, adjacency: Tensor, x: Tensor, noise: Tensor) -> Tensor:
        """Vectors of all pairs [width, versions · graphs, n, n].

        Args:
            adjacency: Versions of all graphs, one version of all after the other [versions · graphs, n, n].
            x: Node features, the same in all versions [graphs, n, F].
            noise: τ of each [versions · graphs].
        """
        edge, target, source, own = self.weight.split(self.sizes, dim=1)
        ends = functional.linear(x, torch.cat([target, source])).permute(2, 0, 1)
        columns, rows = (ends + torch.cat([self.bias, 0 * self.bias])[:, None, None]).chunk(2)
        nodes = columns[:, :, None, :] + rows[:, :, :, None]
        versions = adjacency.size(0) // x.size(0)
        pairs = nodes.repeat(1, versions, 1, 1).addcmul(edge[:, :, None, None], adjacency[None])
        pairs.diagonal(dim1=2, dim2=3).add_((own * noise)[:, :, None])
        return pairs


class Block(nn.Module):
    """One block: two linear maps, their product channel by channel, and a third map of both."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.both = nn.Linear(width, 2 * width)
        self.merge = nn.Linear(2 * width, width)

    def forward(self, pairs: Tensor, grid: Grid) -> Tensor:
        """Vectors of all pairs after the block [width, b, n, n]."""
        left, right = grid.masked(on_channels(self.both, pairs)).chunk(2)
        product = torch.bmm(left.flatten(0, 1), right.flatten(0, 1)).view_as(pairs)
        product = product / grid.scale
        merged = on_channels(self.merge, torch.cat([product, pairs]))
        return grid.masked(grid.normalised(merged).relu())


class Grid:
    """Which pairs are there, as graphs are padded to one size.

    Args:
        mask: Which nodes are there [b, n]; None when all are.
        nodes: Number of nodes n.
    """

    def __init__(self, mask: Tensor | None, nodes: int) -> None:
        self.pairs = None if mask is None else (mask[:, :, None] & mask[:, None, :]).float()[None]
        count = torch.tensor([float(nodes)]) if mask is None else mask.sum(dim=1).float()
        self._count = count.square()[None, :, None, None]
        # The fourth root of the number of pairs that are there.
        self.scale = count.sqrt()[None, :, None, None] + 1e-5

    def masked(self, pairs: Tensor) -> Tensor:
        """Zero where no pair is."""
        return pairs if self.pairs is None else pairs * self.pairs

    def normalised(self, pairs: Tensor) -> Tensor:
        """Every graph and channel with mean 0 and variance 1 over the pairs that are there."""
        if self.pairs is None:
            return functional.layer_norm(pairs, pairs.shape[2:])
        mean = (pairs * self.pairs).sum(dim=(2, 3), keepdim=True) / self._count
        centred = (pairs - mean) * self.pairs
        variance = centred.square().sum(dim=(2, 3), keepdim=True) / self._count
        return centred * torch.rsqrt(variance + 1e-5)


def on_channels(layer: nn.Linear, pairs: Tensor) -> Tensor:
    """A linear layer on the first axis [channels, …]."""
    flat = torch.addmm(layer.bias[:, None], layer.weight, pairs.flatten(1))
    return flat.view(-1, *pairs.shape[1:])


class Denoiser(nn.Module):
    """Logits of all node pairs from noisy graphs.

    Args:
        num_features: Features per node F.
        config: Its shape.

    Example:
        >>> denoiser = Denoiser(3, DenoiserConfig(layers=2, width=8))
        >>> x, noisy = torch.ones(1, 5, 3), torch.zeros(4, 5, 5)
        >>> denoiser(noisy, x, torch.full((4,), 0.1)).shape
        torch.Size([4, 5, 5])
    """

    def __init__(self, num_features: int, config: DenoiserConfig) -> None:
        super().__init__()
        self.num_features = num_features
        width = config.width
        self.level = nn.Sequential(nn.Linear(1, 4), nn.GELU(), nn.Linear(4, 1))
        self.first = PairLinear(num_features, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(config.layers))
        fan_in = 2 * num_features + 2 + config.layers * width
        self.raw = PairLinear(num_features, width, fan_in=fan_in)
        self.later = nn.ParameterList(
            torch.empty(width, width).uniform_(-(fan_in**-0.5), fan_in**-0.5)
            for _ in range(config.layers)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.last = nn.Linear(width, 1)

    def forward(
        self, adjacency: Tensor, x: Tensor, sigma: Tensor, mask: Tensor | None = None
    ) -> Tensor:
        """Symmetric logits, the diagonal and absent nodes without meaning [versions · graphs, n, n].

        Args:
            adjacency: Noisy versions of all graphs, 0/1, without self-loops, one version of all after
                the other [versions · graphs, n, n].
            x: Node features [graphs, n, F].
            sigma: Level of noise of each [versions · graphs].
            mask: Which nodes are there [graphs, n]; None when all are.
        """
        versions = adjacency.size(0) // x.size(0)
        grid = Grid(None if mask is None else mask.repeat(versions, 1), adjacency.size(1))
        noise = self.level(sigma[:, None]).squeeze(1)
        pairs = grid.masked(self.first(adjacency, x, noise))
        hidden = self.raw(adjacency, x, noise)
        for block, weight in zip(self.blocks, self.later, strict=True):
            pairs = block(pairs, grid)
            # Adding up what each block's output gives is one layer on all of them put together.
            hidden = hidden + (weight @ pairs.flatten(1)).view_as(hidden)
        hidden = self.dropout(grid.normalised(grid.masked(hidden.relu())))
        logits = on_channels(self.last, hidden)[0]
        return (logits + logits.transpose(1, 2)) / 2
