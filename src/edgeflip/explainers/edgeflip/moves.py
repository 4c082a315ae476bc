"""Which single edits the beam looks at: all of them, or in large graphs the most promising."""

from __future__ import annotations

import torch
from torch import Tensor

from edgeflip.explainers.running import GraphSearch
from edgeflip.oracle import SLOPE_PASSES, PairSlopes

# Edits whose slopes are taken at once; of more than that those near the factual subgraph.
_RATED = 100_000

# Steps from the factual subgraph that are told apart.
_STEPS = 4


def pool_of(search: GraphSearch, slopes: PairSlopes | None, limit: int) -> Tensor:
    """The edits to look at, ascending [at most limit].

    Where there are more than the limit, slopes choose. Without slopes edges come first, then missing
    edges, each by how near they are to the part that carries the prediction.

    Args:
        search: The search.
        slopes: Where slopes come from, None for a black box.
        limit: Edits at most.
    """
    allowed = search.space.allowed
    if len(allowed) <= limit:
        return allowed
    search.note(pool=limit, allowed=len(allowed))
    if slopes is not None and len(allowed) <= _RATED:
        near = allowed
    else:
        order = _distance(search, allowed).argsort(stable=True)
        near = allowed[order[: limit if slopes is None else _RATED]]
    if slopes is None:
        return near.sort().values
    with search.stage("slopes"):
        search.oracle.spend(SLOPE_PASSES)
        values = slopes.of(torch.empty(1, 0, dtype=torch.long), near)[0]
    return near[values.topk(limit).indices].sort().values


def _distance(search: GraphSearch, ids: Tensor) -> Tensor:
    """How far edits are from the factual subgraph; a missing edge counts as one step more [ids]."""
    pairs = search.space.pairs
    steps = torch.full((pairs.num_nodes,), _STEPS)
    if search.factual is not None:
        steps[list(search.factual.nodes)] = 0
    u, v = pairs.ends(pairs.edge_ids)
    both = torch.cat([u, v]), torch.cat([v, u])
    for _ in range(_STEPS - 1):
        steps = steps.scatter_reduce(0, both[0], steps[both[1]] + 1, "amin")
    one, two = pairs.ends(ids)
    return steps[one] + steps[two] + (~pairs.is_edge(ids)).long()
