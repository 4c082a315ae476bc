"""From scores of edges to one connected set of nodes."""

from __future__ import annotations

from collections import defaultdict

from torch import Tensor

from edgeflip.core import FactualSubgraph, PairSpace
from edgeflip.factual.coalitions import subgraph_of

# Scores that differ by less are equal: edges that a model cannot tell apart differ in their last digits,
# by where they stand in a batch.
_ALIKE = 1e-4


def grow(space: PairSpace, scores: Tensor, max_nodes: int) -> FactualSubgraph:
    """A connected subgraph of at most so many nodes around the best edge.

    Starting from the best edge, the neighbour whose edges into the set have the highest total score
    joins until the set is full or has no neighbours left. Of equals, the smaller edge or node wins.

    Args:
        space: The graph.
        scores: How important each edge is, in the order of `space.edge_ids` [m].
        max_nodes: Most nodes of the subgraph.
    """
    if max_nodes < 2 or not space.edge_ids.numel():
        return subgraph_of(space, _one_node(space, scores), 0.0)
    u, v = space.ends(space.edge_ids).tolist()
    values = scores.double().tolist()
    near: dict[int, list[tuple[int, float]]] = defaultdict(list)
    for one, other, value in zip(u, v, values, strict=True):
        near[one].append((other, value))
        near[other].append((one, value))
    best = max(values) - _ALIKE
    start = next(edge for edge, value in enumerate(values) if value >= best)
    inside: set[int] = set()
    # What each neighbour's edges into the set add up to.
    gain: dict[int, float] = {}
    joining = [u[start], v[start]]
    while True:
        for node in joining:
            inside.add(node)
            gain.pop(node, None)
            for other, value in near[node]:
                if other not in inside:
                    gain[other] = gain.get(other, 0.0) + value
        if len(inside) >= max_nodes or not gain:
            break
        best = max(gain.values()) - _ALIKE
        joining = [min(node for node in gain if gain[node] >= best)]
    kept = [
        (one, other, value)
        for one, other, value in zip(u, v, values, strict=True)
        if one in inside and other in inside
    ]
    return FactualSubgraph(
        nodes=tuple(sorted(inside)),
        edges=tuple((one, other) for one, other, _ in kept),
        score=sum(value for *_, value in kept),
    )


def _one_node(space: PairSpace, scores: Tensor) -> list[int]:
    """The node for a subgraph without edges: the smaller end of the best edge, or the first node."""
    if not space.edge_ids.numel():
        return [0]
    return [int(space.ends(space.edge_ids)[0, int(scores.argmax())])]
