"""Every edit set of a size, written apart from the search: the long way, for whoever checks it.

Node pairs are combined by `itertools` and limits are compared one by one. Nothing here is shared with
the tensors that the search works with.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
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
    whole = _Whole.of(graph, edges, constraints)
    return fits and _keeps_limits(constraints, edits.added, edits.removed, whole)


def edit_sets_plainly(graph: Data, constraints: Constraints, size: int) -> Iterator[EditSet]:
    """All edit sets of a size that keep the limits, in no special order; rules are not asked."""
    edges = edge_pairs(graph)
    region = constraints.within
    nodes = range(int(graph.num_nodes or 0)) if region is None else sorted(region)
    pairs = list(combinations(nodes, 2))
    whole = _Whole.of(graph, edges, constraints)
    for chosen in combinations(pairs, size):
        removed = frozenset(chosen) & edges
        added = frozenset(chosen) - edges
        if _keeps_limits(constraints, added, removed, whole):
            yield EditSet(added=added, removed=removed)


@dataclass(frozen=True)
class _Whole:
    """Whether a graph falls into more parts than it has, where that is forbidden."""

    nodes: int
    edges: frozenset[Edge]
    bridges: frozenset[Edge]
    parts: int

    @classmethod
    def of(cls, graph: Data, edges: frozenset[Edge], constraints: Constraints) -> _Whole | None:
        """For a graph; none where it may fall apart."""
        if not constraints.keep_connected:
            return None
        whole = nx.empty_graph(int(graph.num_nodes or 0))
        whole.add_edges_from(edges)
        bridges = frozenset((min(u, v), max(u, v)) for u, v in nx.bridges(whole))
        return cls(len(whole), edges, bridges, nx.number_connected_components(whole))

    def is_cut(self, added: frozenset[Edge], removed: frozenset[Edge]) -> bool:
        """Whether edits leave it in more parts."""
        if len(removed) < 2 and not removed & self.bridges:
            # One edge that others stand in for.
            return False
        after = nx.empty_graph(self.nodes)
        after.add_edges_from((self.edges - removed) | added)
        return int(nx.number_connected_components(after)) > self.parts


def _keeps_limits(
    limits: Constraints, added: frozenset[Edge], removed: frozenset[Edge], whole: _Whole | None
) -> bool:
    counts = ((limits.max_added, added), (limits.max_removed, removed))
    if any(limit is not None and len(edits) > limit for limit, edits in counts):
        return False
    if limits.max_edits is not None and len(added) + len(removed) > limits.max_edits:
        return False
    if (added and not limits.allow_additions) or (removed and not limits.allow_removals):
        return False
    touched = {node for edge in added | removed for node in edge}
    if limits.within is not None and not touched <= limits.within:
        return False
    if touched & limits.frozen_nodes:
        return False
    if removed & limits.frozen_edges or added & limits.forbidden_pairs:
        return False
    gained = Counter(node for edge in added for node in edge)
    gained.subtract(node for edge in removed for node in edge)
    if any(gained[node] > room for node, room in limits.room.items()):
        return False
    return whole is None or not whole.is_cut(added, removed)
