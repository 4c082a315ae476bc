"""Into how many parts a graph falls, for many edited versions at once."""

from __future__ import annotations

import torch
from torch import Tensor

from edgeflip.core.candidates import PAD
from edgeflip.core.graphs import PairSpace


def more_parts(space: PairSpace, rows: Tensor) -> Tensor:
    """Which sets of toggled pairs leave a graph in more parts than it has [rows].

    Args:
        space: The graph.
        rows: Pair ids, padded [rows, width].

    Example:
        >>> from torch_geometric.data import Data
        >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> more_parts(PairSpace.of(path), torch.tensor([[0, PAD], [0, 1]])).tolist()
        [True, False]
    """
    found = torch.zeros(len(rows), dtype=torch.bool)
    # Only what goes can cut.
    cuts = (space.is_edge(rows.clamp(min=0)) & (rows != PAD)).any(dim=1).nonzero().flatten()
    if len(cuts):
        own = torch.full((1, rows.size(1)), PAD)
        parts = _count_parts(space, torch.cat([own, rows[cuts]]))
        found[cuts] = parts[1:] > parts[0]
    return found


def _count_parts(space: PairSpace, rows: Tensor) -> Tensor:
    """Number of connected parts after each set of toggled pairs [rows].

    Every node takes the smallest number among its neighbours' until nothing changes, and then that of
    the node it points to, so that long paths take few rounds.
    """
    count, nodes = len(rows), space.num_nodes
    kept = ~(rows[:, :, None] == space.edge_ids).any(dim=1)
    owner, edge = kept.nonzero(as_tuple=True)
    new_owner, column = ((rows != PAD) & ~space.is_edge(rows.clamp(min=0))).nonzero(as_tuple=True)
    ids = torch.cat([space.edge_ids[edge], rows[new_owner, column]])
    u, v = space.ends(ids) + torch.cat([owner, new_owner]) * nodes
    source, target = torch.cat([u, v]), torch.cat([v, u])
    lowest = torch.arange(count * nodes)
    while True:
        lower = lowest.scatter_reduce(0, target, lowest[source], "amin")
        lower = lower[lower]
        if torch.equal(lower, lowest):
            break
        lowest = lower
    roots = lowest == torch.arange(count * nodes)
    return roots.view(count, nodes).sum(dim=1)
