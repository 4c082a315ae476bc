"""Leaps: several edits at once, where each alone leads nowhere."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

from edgeflip.core import PairEdits, first_occurrences
from edgeflip.core.graphs import pair_ids
from edgeflip.explainers.edgeflip.config import BeamConfig


def leaps(
    space: PairEdits, pool: Tensor, effects: Tensor, settings: BeamConfig, largest: int
) -> Iterator[Tensor]:
    """Sets of edits that cut nodes off, by size.

    A node loses all its edges; or two nodes lose all others and are joined.

    Args:
        space: What is edited.
        pool: Moves that are looked at, ascending [moves].
        effects: What each was found to do alone [moves, ways].
        settings: How many.
        largest: Edits of the largest set.

    Yields:
        Rows of one size each [rows, size].
    """
    pairs = space.pairs
    removals = pool[pairs.is_edge(pool)]
    if not len(removals):
        return
    at_node = _incidence(pairs.ends(removals), pairs.num_nodes)
    degree = _incidence(pairs.ends(pairs.edge_ids), pairs.num_nodes).sum(dim=1)
    # A node one of whose edges must stay cannot be cut off.
    free = at_node.sum(dim=1) == degree
    lone = _lone(at_node, removals, degree, free)
    islands = _islands(
        space, at_node, removals, degree, free, settings, min(largest, settings.leap_edits)
    )
    for size in range(2, largest + 1):
        rows = [part for part in (lone(size), islands(size)) if len(part)]
        if rows:
            yield torch.cat(rows)


def _lone(at_node, removals, degree, free):
    def of(size: int) -> Tensor:
        nodes = ((degree == size) & free).nonzero().flatten()
        which = at_node[nodes].nonzero()[:, 1].view(-1, size)
        return removals[which]

    return of


def _islands(space, at_node, removals, degree, free, settings, largest):
    pairs = space.pairs
    nodes = free.nonzero().flatten()
    kinds = _kinds(space)[nodes]
    i, j = torch.triu_indices(len(nodes), len(nodes), 1)
    u, v = nodes[i], nodes[j]
    ids = pair_ids(u, v, pairs.num_nodes)
    joined = pairs.is_edge(ids)
    size = torch.where(joined, degree[u] + degree[v] - 2, degree[u] + degree[v] + 1)
    allowed = torch.isin(ids, space.limits.additions) | joined
    fits = (size >= 2) & (size <= largest) & allowed
    u, v, ids, joined, size, i, j = (each[fits] for each in (u, v, ids, joined, size, i, j))
    # Of pairs whose nodes are alike the smallest set tells of the others.
    order = size.argsort(stable=True)
    low, high = torch.minimum(kinds[i], kinds[j]), torch.maximum(kinds[i], kinds[j])
    kind = (low * (int(kinds.max()) + 1 if len(kinds) else 1) + high)[order]
    order = order[first_occurrences(kind)]
    u, v, ids, joined, size = (each[order] for each in (u, v, ids, joined, size))

    def of(wanted: int) -> Tensor:
        which = (size == wanted).nonzero().flatten()[: settings.islands]
        rows = []
        for k in which.tolist():
            gone = removals[at_node[u[k]] | at_node[v[k]]]
            gone = gone[gone != ids[k]]
            rows.append(gone if joined[k] else torch.cat([gone, ids[k][None]]))
        return torch.stack(rows) if rows else torch.empty(0, wanted, dtype=torch.long)

    return of


def _kinds(space: PairEdits) -> Tensor:
    """A number for each node, the same where features are [nodes]."""
    x = space.input.x
    if not isinstance(x, Tensor):
        return torch.zeros(space.pairs.num_nodes, dtype=torch.long)
    return x.cpu().flatten(1).unique(dim=0, return_inverse=True)[1] if x.dim() > 1 else x.cpu().unique(return_inverse=True)[1]


def _incidence(ends: Tensor, num_nodes: int) -> Tensor:
    """Which edges end at which node [nodes, edges]."""
    found = torch.zeros(num_nodes, ends.size(1), dtype=torch.bool)
    column = torch.arange(ends.size(1))
    found[ends[0], column] = True
    found[ends[1], column] = True
    return found
