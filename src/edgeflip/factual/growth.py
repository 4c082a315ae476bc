"""From scores of edges to one connected set of nodes."""

from __future__ import annotations

import torch
from torch import Tensor

from edgeflip.explanation import FactualSubgraph
from edgeflip.factual.coalitions import subgraph_of
from edgeflip.graphs import PairSpace


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
    weights = torch.zeros(space.num_nodes, space.num_nodes, dtype=torch.double)
    near = torch.zeros(space.num_nodes, space.num_nodes, dtype=torch.bool)
    u, v = space.ends(space.edge_ids)
    for one, other in ((u, v), (v, u)):
        weights[one, other] = scores.double()
        near[one, other] = True
    start = int(scores.argmax())
    chosen = [int(u[start]), int(v[start])]
    while len(chosen) < max_nodes:
        outside = near[chosen].any(dim=0)
        outside[chosen] = False
        if not bool(outside.any()):
            break
        gain = weights[chosen].sum(dim=0).masked_fill(~outside, -torch.inf)
        chosen.append(int(gain.argmax()))
    inside = torch.zeros(space.num_nodes, dtype=torch.bool)
    inside[chosen] = True
    return subgraph_of(space, chosen, float(scores[inside[u] & inside[v]].sum()))


def _one_node(space: PairSpace, scores: Tensor) -> list[int]:
    """The node for a subgraph without edges: the smaller end of the best edge, or the first node."""
    if not space.edge_ids.numel():
        return [0]
    return [int(space.ends(space.edge_ids)[0, int(scores.argmax())])]
