"""How many graphs a model is asked about at a time."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.oracle.calling import count_edges, count_nodes

DENSE_NODE_LIMIT = 128
"""Up to this many nodes the dense path is the faster one (see `benchmarks/engine.py --paths`)."""

SPARSE_BATCH = 256
"""Larger batches share fixed costs better, but block-diagonal graphs soon outgrow the cache."""

_DENSE_BATCH = 1024

# Of large graphs so many nodes at once stay in the cache: a half to a quarter of the time.
_CACHED_NODES = 10_000


def graphs_per_call(graph: Data, asked: int | None, *, memory: int, dense: bool) -> int:
    """Graphs of this size for one call: as many as were asked for, or what is fastest, and fit.

    Args:
        graph: One of them.
        asked: At most so many; None for what is fastest.
        memory: Bytes that inputs and activations may take, by a rough estimate.
        dense: Whether they go through the dense path.
    """
    nodes, edges = max(1, count_nodes(graph)), count_edges(graph)
    width = max(1, graph.x.numel() // nodes) if isinstance(graph.x, Tensor) else 1
    # Four activations of the wider of features and 256 units, plus indices and messages per edge.
    per_graph = 4 * nodes * (width + 4 * max(width, 256)) + edges * (16 + 4 * min(width, 256))
    if dense:
        per_graph += 8 * nodes * nodes
    limit = asked or (_DENSE_BATCH if dense else SPARSE_BATCH)
    if asked is None and nodes > DENSE_NODE_LIMIT:
        limit = min(limit, max(1, _CACHED_NODES // nodes))
    return max(1, min(limit, memory // per_graph))
