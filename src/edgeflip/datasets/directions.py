"""Edges that go both ways: edgeflip edits unordered pairs, and many published graphs list one direction."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import edge_attributes
from edgeflip.errors import DatasetError


def way_back(graph: Data, where: str) -> Data | None:
    """The graph with each edge once in both directions; none if it is so already.

    The attributes of a direction that is added are those of the other one.

    Args:
        graph: left as it is.
        where: the graph in words, for errors.

    Raises:
        DatasetError: If an edge stands there twice with differing attributes.

    Example:
        >>> arrow = Data(edge_index=torch.tensor([[0], [1]]), num_nodes=2)
        >>> way_back(arrow, "graph 0").edge_index.tolist()
        [[0, 1], [1, 0]]
    """
    if graph.edge_index is None:  # no edges, or in another form, which others refuse
        return None
    edges: Tensor = graph.edge_index
    source, target = edges.numpy()
    # An edge to a node that is not there is for others to refuse.
    nodes = max(int(graph.num_nodes or 0), int(edges.max()) + 1 if edges.numel() else 1)
    ids, back = source * nodes + target, target * nodes + source
    distinct, first, inverse = np.unique(ids, return_index=True, return_inverse=True)
    missing = np.flatnonzero(~np.isin(back[first], distinct))
    if len(distinct) == len(ids) and not len(missing):
        return None
    names = edge_attributes(graph)
    for name in names:
        if not torch.equal(graph[name], graph[name][torch.from_numpy(first[inverse])]):
            raise DatasetError(
                f"expected every edge once in {where}, got one twice with differing {name}; merge such "
                "edges with torch_geometric.utils.coalesce."
            )
    columns = torch.from_numpy(np.concatenate([first, first[missing]]))
    changed = graph.clone()
    changed.edge_index = edges[:, columns].contiguous()
    turned = slice(len(first), None)
    changed.edge_index[:, turned] = changed.edge_index[:, turned].flip(0)
    for name in names:
        changed[name] = graph[name][columns]
    return changed
