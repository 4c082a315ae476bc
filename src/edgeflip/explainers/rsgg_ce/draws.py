"""The partial-order sampler: which edges stay, and in what order missing pairs come."""

from __future__ import annotations

import torch
from torch import Tensor

from edgeflip.core import PAD


def draw_removals(weights: Tensor, generator: torch.Generator) -> Tensor:
    """Places of the edges that go when the edges that stay are drawn.

    Both directions of an edge are in the urn, and as many are drawn as there are edges, without
    replacement; an edge stays if either direction is drawn. With equal weights a quarter goes.

    Args:
        weights: How likely each edge is drawn, above 0 [m].
        generator: Where randomness comes from.

    Returns:
        Places in `weights`, the one furthest from being drawn first.
    """
    count = weights.numel()
    keys = weights.log().unsqueeze(1) + _gumbel((count, 2), generator)
    drawn = torch.zeros(2 * count, dtype=torch.bool)
    drawn[keys.flatten().topk(count).indices] = True
    gone = (~drawn.view(count, 2).any(dim=1)).nonzero().flatten()
    return gone[keys.amax(dim=1)[gone].argsort()]


def draw_order(weights: Tensor, generator: torch.Generator) -> Tensor:
    """Places in the order in which they come when drawn one by one with weights, all at once [k].

    The largest of weights in logarithm plus Gumbel noise is a weighted draw, the next largest one
    from what is left, and so on.
    """
    keys = weights.log() + _gumbel((weights.numel(),), generator)
    return keys.argsort(descending=True)


def _gumbel(shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    # Uniform numbers may be exactly 0, whose logarithm is not a number to go on with.
    uniform = torch.rand(shape, generator=generator, dtype=torch.float64).clamp(min=1e-300)
    return -(-uniform.log()).log()


def prefixes(removed: Tensor, order: Tensor, start: int, stop: int) -> Tensor:
    """Candidates that remove edges and add the first start + 1, …, stop pairs of an order.

    Args:
        removed: Ids of the edges that went; where one comes again, it is no edit [r].
        order: Ids of the pairs that come, in their order.
        start: Number of pairs in the first candidate, less one.
        stop: Number of pairs in the last.

    Example:
        >>> prefixes(torch.tensor([7]), torch.tensor([3, 7, 5]), 0, 3).tolist()
        [[7, 3, -1, -1], [-1, 3, -1, -1], [-1, 3, -1, 5]]
    """
    last = torch.arange(start, stop).unsqueeze(1)
    index = torch.arange(stop)
    same = removed.unsqueeze(1) == order[:stop]
    comes_back = torch.where(same, index, stop).amin(dim=1) if removed.numel() else removed
    gone = torch.where(comes_back > last, removed, PAD)
    is_new = ~same.any(dim=0) if removed.numel() else torch.ones(stop, dtype=torch.bool)
    added = torch.where(is_new & (index <= last), order[:stop], PAD)
    return torch.cat([gone, added], dim=1)
