"""Every edit set of a size, written apart from the search: the long way, for whoever checks it.

Node pairs are combined by `itertools` and limits are compared one by one. Nothing here is shared with
the tensors that the search works with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations

import networkx as nx
from torch_geometric.data import Data

from edgeflip.core.constraints import Constraints
from edgeflip.core.edits import EditSet
from edgeflip.core.graphs import Edge, edge_pairs


def keeps_limits_plainly(graph: Data, constraints: Constraints, edits: EditSet) -> bool:
    """Whether one edit set fits a graph and keeps the limits; rules are not asked."""
    edges = edge_pairs(graph)
    fits = edits.removed <= edges and not edits.added & edges
    return fits and _keeps_limits(
        constraints, edits.added, edits.removed, _bridges(edges, constraints)
    )


def edit_sets_plainly(graph: Data, constraints: Constraints, size: int) -> Iterator[EditSet]:
    """All edit sets of a size that keep the limits, in no special order; rules are not asked."""
    edges = edge_pairs(graph)
    pairs = list(combinations(range(int(graph.num_nodes or 0)), 2))
    bridges = _bridges(edges, constraints)
    for chosen in combinations(pairs, size):
        removed = frozenset(chosen) & edges
        added = frozenset(chosen) - edges
        if _keeps_limits(constraints, added, removed, bridges):
            yield EditSet(added=added, removed=removed)


def _bridges(edges: frozenset[Edge], constraints: Constraints) -> set[Edge]:
    """Edges that alone hold two parts together, where parts must stay together."""
    if not constraints.keep_connected:
        return set()
    return {(min(u, v), max(u, v)) for u, v in nx.bridges(nx.Graph(list(edges)))}


def _keeps_limits(
    limits: Constraints, added: frozenset[Edge], removed: frozenset[Edge], bridges: set[Edge]
) -> bool:
    counts = ((limits.max_added, added), (limits.max_removed, removed))
    if any(limit is not None and len(edits) > limit for limit, edits in counts):
        return False
    if limits.max_edits is not None and len(added) + len(removed) > limits.max_edits:
        return False
    if (added and not limits.allow_additions) or (removed and not limits.allow_removals):
        return False
    touched = {node for edge in added | removed for node in edge}
    if touched & limits.frozen_nodes:
        return False
    if removed & limits.frozen_edges or added & limits.forbidden_pairs:
        return False
    if len(removed & bridges) > len(added):
        return False
    gained = Counter(node for edge in added for node in edge)
    gained.subtract(node for edge in removed for node in edge)
    return all(gained[node] <= room for node, room in limits.room.items())
