"""Which single edits the beam looks at: all of them, or the most promising; `large` knows of large graphs."""

from __future__ import annotations

import torch
from torch import Tensor

from edgeflip.core import PairEdits, PairSpace
from edgeflip.explainers.beginning import GraphSearch
from edgeflip.oracle import SLOPE_PASSES, PairSlopes

# Steps that are told apart, and nodes up to which those between all of them are counted.
_STEPS, _MEASURED = 4, 512


def pool_of(search: GraphSearch, slopes: PairSlopes | None, limit: int) -> Tensor:
    """The edits to look at, the most promising first where they are not all [at most limit].

    Where there are more than the limit, slopes choose. Without slopes those come first whose ends have edges
    that matter, and the nearest: by how far they are from the part that carries the prediction, and how
    far apart the ends of a missing edge are.

    Args:
        search: The search.
        slopes: Where slopes come from, None for a black box.
        limit: Edits at most.
    """
    allowed = search.space.allowed
    if len(allowed) <= limit:
        return allowed
    search.note(pool=limit, allowed=len(allowed))
    if not isinstance(search.space, PairEdits):
        # Nobody knows where to look, so a share of every sort is drawn.
        order = torch.randperm(len(allowed), generator=search.generator("pool"))
        return allowed[order[:limit]]
    if slopes is None:
        return allowed[_distance(search, allowed).argsort(stable=True)[:limit]]
    search.note(rated=len(allowed))
    with search.stage("slopes"):
        search.oracle.spend(SLOPE_PASSES)
        values = slopes.of(torch.empty(1, 0, dtype=torch.long), allowed)[0]
    return allowed[values.topk(limit).indices]


def _distance(search: GraphSearch, ids: Tensor) -> Tensor:
    """How far edits are from the factual subgraph, and the ends of missing edges from each other [ids]."""
    pairs = search.space.pairs
    steps = torch.full((pairs.num_nodes,), _STEPS)
    if search.factual is not None:
        steps[list(search.factual.nodes)] = 0
    u, v = pairs.ends(pairs.edge_ids)
    both = torch.cat([u, v]), torch.cat([v, u])
    for _ in range(_STEPS - 1):
        steps = steps.scatter_reduce(0, both[0], steps[both[1]] + 1, "amin")
    one, two = pairs.ends(ids)
    near = steps[one] + steps[two] + _apart(pairs)[one, two]
    matter = _salience(search)
    return near - _STEPS * (matter[one] + matter[two])


def _salience(search: GraphSearch) -> Tensor:
    """How much the loss of its edges moves the output, for each node, 0 to 1 [n].

    Known where every edge was tried, as Occlusion does: an edge that speaks for another class matters as
    much as one that speaks for this.
    """
    pairs, goal = search.space.pairs, search.goal
    salience = torch.zeros(pairs.num_nodes)
    if not len(pairs.edge_ids):
        return salience
    outputs = search.oracle.remembered(search.space, pairs.edge_ids[:, None])
    if outputs is None:
        return salience
    moved = (goal.margins(outputs) - goal.margins(search.output[None])).abs().amax(dim=1).float()
    ends = pairs.ends(pairs.edge_ids)
    salience = salience.scatter_reduce(0, ends.flatten(), moved.repeat(2), "amax")
    return salience / salience.max().clamp(min=1e-12)


def _apart(pairs: PairSpace) -> Tensor:
    """Steps between nodes, 0 for neighbours, up to a few [n, n]; nothing is told apart in large graphs."""
    nodes = pairs.num_nodes
    if nodes > _MEASURED:
        return torch.ones(1, 1, dtype=torch.long).expand(nodes, nodes)
    reach = torch.eye(nodes)
    u, v = pairs.ends(pairs.edge_ids)
    reach[u, v] = reach[v, u] = 1.0
    within, apart = reach, torch.full((nodes, nodes), _STEPS)
    for step in range(_STEPS):
        apart = apart.where(within == 0, apart.clamp(max=step))
        within = (within @ reach).clamp(max=1.0)
    return apart
