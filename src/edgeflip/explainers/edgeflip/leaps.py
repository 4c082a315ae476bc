"""Leaps: several edits at once that cut nodes off, where each edit alone leads nowhere."""

from __future__ import annotations

import torch
from torch import Tensor

from edgeflip.core import PAD, PairEdits, candidate_keys, first_occurrences, pair_ids, widened

# Nodes that are looked at in large graphs: those whose edges did most alone.
_MOST_NODES = 200


def leaps(
    space: PairEdits, pool: Tensor, effects: Tensor, *, largest: int, joined: int, each: int
) -> Tensor:
    """A node loses all its edges; or two nodes lose all others and are joined.

    Args:
        space: What is edited.
        pool: Moves whose effects are known, ascending [moves].
        effects: What each was found to do alone [moves].
        largest: Edits of the largest leap of one node.
        joined: Edits of the largest leap of two.
        each: Leaps of two nodes of each size.

    Returns:
        Rows, padded [leaps, width].
    """
    removals = space.groups["remove"]
    if not len(removals) or largest < 2:
        return torch.empty(0, 1, dtype=torch.long)
    index = torch.searchsorted(pool, removals).clamp(max=len(pool) - 1)
    known = torch.where(pool[index] == removals, effects[index], 0.0)
    nodes = _Nodes(space, removals, known.float())
    parts = [nodes.alone(largest), nodes.in_twos(min(joined, largest), each)]
    width = max(part.size(1) for part in parts)
    rows = torch.cat([widened(part, width) for part in parts])
    return rows[first_occurrences(candidate_keys(rows))]


class _Nodes:
    """The nodes that can be cut off, and the edges they would lose."""

    def __init__(self, space: PairEdits, removals: Tensor, effects: Tensor) -> None:
        self._space, self._removals = space, removals
        pairs = space.pairs
        degree = torch.bincount(pairs.ends(pairs.edge_ids).flatten(), minlength=pairs.num_nodes)
        ends = pairs.ends(removals)
        loose = torch.bincount(ends.flatten(), minlength=pairs.num_nodes)
        # A node one of whose edges must stay cannot be cut off.
        nodes = ((degree == loose) & (degree > 0)).nonzero().flatten()
        if len(nodes) > _MOST_NODES:
            promise = torch.zeros(pairs.num_nodes).index_add(0, ends.flatten(), effects.repeat(2))
            best = promise[nodes].topk(_MOST_NODES).indices
            nodes = nodes[best.sort().values]
        self.nodes, self.degree = nodes, degree[nodes]
        self._edges = (ends[None] == nodes[:, None, None]).any(dim=1)
        self._promise = self._edges.float() @ effects

    def alone(self, largest: int) -> Tensor:
        """Each node without its edges."""
        fits = (self.degree >= 2) & (self.degree <= largest)
        return self._rows(self._edges[fits])

    def in_twos(self, largest: int, each: int) -> Tensor:
        """Two nodes by themselves, joined; of pairs that are alike the smallest set, the most promising."""
        pairs = self._space.pairs
        one, two = torch.triu_indices(len(self.nodes), len(self.nodes), 1)
        ids = pair_ids(self.nodes[one], self.nodes[two], pairs.num_nodes)
        present = pairs.is_edge(ids)
        size = self.degree[one] + self.degree[two] + torch.where(present, -2, 1)
        fits = ((size >= 2) & (size <= largest)).nonzero().flatten()
        new = fits[~present[fits]]
        forbidden = new[~self._space.limits.missing.contain(ids[new])]
        fits = fits[~torch.isin(fits, forbidden)] if len(forbidden) else fits
        promise = self._promise[one[fits]] + self._promise[two[fits]]
        fits = fits[promise.argsort(descending=True, stable=True)]
        fits = fits[size[fits].argsort(stable=True)]
        kinds = _kinds(self._space)[self.nodes]
        low, high = kinds[one[fits]], kinds[two[fits]]
        kind = torch.minimum(low, high) * len(kinds.unique()) + torch.maximum(low, high)
        fits = fits[first_occurrences(kind)]
        # Sizes ascend, so a size's first place tells how many of it came before.
        sizes = size[fits].contiguous()
        fits = fits[torch.arange(len(fits)) - torch.searchsorted(sizes, sizes) < each]
        one, two, ids, present = one[fits], two[fits], ids[fits], present[fits]
        lost = self._edges[one] | self._edges[two]
        lost &= self._removals != ids[:, None]
        new = torch.where(present, PAD, ids)[:, None]
        return torch.cat([self._rows(lost), new], dim=1)

    def _rows(self, lost: Tensor) -> Tensor:
        """The edges of each leap as a row [leaps, most]."""
        width = int(lost.sum(dim=1).max()) if len(lost) else 1
        return torch.where(lost, self._removals, PAD).topk(width, dim=1).values


def _kinds(space: PairEdits) -> Tensor:
    """A number for each node, the same where features are [nodes]."""
    x = space.input.x
    if not isinstance(x, Tensor):
        return torch.zeros(space.pairs.num_nodes, dtype=torch.long)
    # Comparing rows number by number takes long; two that differ have the same sum for no weights drawn.
    flat = x.cpu().reshape(len(x), -1).double()
    weights = torch.rand(flat.size(1), generator=torch.Generator().manual_seed(0)).double()
    kinds: Tensor = (flat @ weights).unique(return_inverse=True)[1]
    return kinds
