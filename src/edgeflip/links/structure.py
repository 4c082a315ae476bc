"""What the message-passing graph itself says of its nodes and pairs, before any learning.

A plain GCN sees degrees and little more on graphs whose features are constant. These few features are
cheap (some matrix products per graph) and say what a link predictor needs: how far apart two nodes
are, how many neighbours they share, whether short cycles close nearby, how large their parts are.
"""

from __future__ import annotations

import torch
from torch import Tensor

NODE_FEATURES = 13
PAIR_FEATURES = 15

_HOPS = 5


def structural_features(adjacency: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Features of nodes [b, n, NODE_FEATURES] and of pairs [b, n, n, PAIR_FEATURES], symmetric.

    Args:
        adjacency: 0/1, symmetric, without self-loops [b, n, n].
        mask: Which nodes are there, as graphs are padded to one size [b, n].
    """
    degree = adjacency.sum(dim=2)
    walk = adjacency / degree.clamp(min=1).unsqueeze(2)
    steps = [walk]
    for _ in range(6):
        steps.append(steps[-1] @ walk)
    reached, part = _reachability(adjacency, mask)
    returns = [step.diagonal(dim1=1, dim2=2) for step in steps[1:]]
    logs = torch.log1p(degree)
    count = mask.sum(dim=1, keepdim=True).clamp(min=1)
    # How many parts and edges the whole graph has tells how much is missing.
    parts = (mask / (part * count).clamp(min=1)).sum(dim=1, keepdim=True) / count
    density = degree.sum(dim=1, keepdim=True) / count
    heaviest = (adjacency * logs.unsqueeze(1)).amax(dim=2)
    node = torch.stack(
        [
            logs,
            part,
            (degree == 0).float(),
            torch.log1p(part * count),
            parts.expand_as(logs),
            density.expand_as(logs),
            heaviest,
            *returns,
        ],
        dim=2,
    )
    common = adjacency @ adjacency
    adamic = adjacency @ (adjacency / torch.log(degree + 1.7).unsqueeze(2))
    both = [logs.unsqueeze(1) + logs.unsqueeze(2), logs.unsqueeze(1) * logs.unsqueeze(2)]
    between = [step + step.transpose(1, 2) for step in steps[1:4]]
    near = [reached[hop] - reached[hop - 1] for hop in range(2, _HOPS)]
    apart = 1.0 - reached[-1]
    sizes = torch.log1p(part * count)
    alike = [
        part.unsqueeze(1) + part.unsqueeze(2),
        torch.minimum(sizes.unsqueeze(1), sizes.unsqueeze(2)) * apart,
        apart * parts.unsqueeze(2),
        torch.maximum(logs.unsqueeze(1), logs.unsqueeze(2)),
    ]
    pair = torch.stack([torch.log1p(common), adamic, *both, *between, *near, apart, *alike], dim=3)
    return node * mask.unsqueeze(2), pair


def _reachability(adjacency: Tensor, mask: Tensor) -> tuple[list[Tensor], Tensor]:
    """Who reaches whom within 0, 1, … hops and at all, and the share of nodes in each node's part."""
    size = adjacency.size(1)
    eye = torch.eye(size).expand_as(adjacency)
    steps = adjacency + eye
    reached = [eye, (steps > 0).float()]
    for _ in range(2, _HOPS):
        reached.append(((reached[-1] @ steps) > 0).float())
    whole = reached[-1]
    hops = _HOPS - 1
    while hops < size:
        whole = ((whole @ whole) > 0).float()
        hops *= 2
    reached.append(whole)
    count = mask.sum(dim=1, keepdim=True).clamp(min=1)
    return reached, (whole * mask.unsqueeze(1)).sum(dim=2) / count
