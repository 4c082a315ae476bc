"""The denoiser: from a noisy adjacency matrix to a logit for every node pair.

It is a "powerful" graph network: every pair of nodes has a vector, and blocks multiply the matrices
that the pairs form, channel by channel, as paths over a third node. Tensors are laid out as [channels,
graphs, n, n], so that a layer is one large matrix product and a block's products need no copies. All
graphs of a stack have the same number of nodes: padding would cost more than a stack of its own.
"""

from __future__ import annotations

import math
from typing import Any, cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from edgeflip.explainers.d4explainer.blocks import EPSILON, BlockStep
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
        pairs = (edge @ adjacency.view(1, -1)).view(-1, *adjacency.shape)
        pairs.view(len(edge), -1, *nodes.shape[1:]).add_(nodes[:, None])
        pairs.diagonal(dim1=2, dim2=3).add_((own * noise)[:, :, None])
        found: Tensor = pairs
        return found


class Block(nn.Module):
    """One block: two linear maps, their product channel by channel, and a third map of both.

    The third map has no bias, which the norm after it would take away again.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.both = nn.Linear(width, 2 * width)
        self.merge = nn.Linear(2 * width, width, bias=False)

    def forward(self, pairs: Tensor, hidden: Tensor, later: Tensor) -> tuple[Tensor, Tensor]:
        """Vectors of all pairs after the block, and `hidden` with their share; see `BlockStep`."""
        step: Any = BlockStep.apply
        return cast(
            tuple[Tensor, Tensor],
            step(pairs, hidden, self.both.weight, self.both.bias, self.merge.weight, later),
        )


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
        self.dropout = config.dropout
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
        self.last = nn.Linear(width, 1)

    def forward(
        self,
        adjacency: Tensor,
        x: Tensor,
        sigma: Tensor,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """Symmetric logits, the diagonal without meaning [versions · graphs, n, n].

        Args:
            adjacency: Noisy versions of all graphs, 0/1, without self-loops, one version of all after
                the other [versions · graphs, n, n].
            x: Node features [graphs, n, F].
            sigma: Level of noise of each [versions · graphs].
            generator: Where the chance of dropout comes from while training; torch's own if left out.
        """
        noise = self.level(sigma[:, None]).squeeze(1)
        pairs, hidden = self.first(adjacency, x, noise), self.raw(adjacency, x, noise)
        for block, later in zip(self.blocks, self.later, strict=True):
            # Adding up what each block's output gives is one layer on all of them put together.
            pairs, hidden = block(pairs, hidden, later)
        hidden = functional.layer_norm(hidden.relu(), hidden.shape[2:], eps=EPSILON)
        weight = self.last.weight
        if self.training and self.dropout:
            cells = dropped_cells(hidden.numel(), self.dropout, generator)
            hidden = hidden.flatten().index_fill(0, cells, 0.0).view_as(hidden)
            weight = weight / (1 - self.dropout)
        flat = weight @ hidden.flatten(1) + self.last.bias
        logits = flat.view_as(adjacency)
        return (logits + logits.transpose(1, 2)) / 2


def dropped_cells(count: int, share: float, generator: torch.Generator | None = None) -> Tensor:
    """Places that are dropped, each with the same probability, drawn by the gaps between them.

    Where few are dropped this takes a small part of the time of a draw for every place.

    Args:
        count: Number of places.
        share: Probability of each, between 0 and 1.
        generator: Where the chance comes from.

    Example:
        >>> bool((dropped_cells(1_000, 0.5) < 1_000).all())
        True
    """
    last, found = -1, [torch.empty(0, dtype=torch.long)]
    while last < count:
        # A little more than are needed on average.
        draws = int(1.2 * count * share) + 16
        chance = torch.rand(draws, generator=generator, dtype=torch.double)
        gaps = 1 + ((1 - chance).log() / math.log1p(-share)).floor().long()
        found.append(last + gaps.cumsum(0))
        last = int(found[-1][-1])
    cells = torch.cat(found)
    return cells[cells < count]
