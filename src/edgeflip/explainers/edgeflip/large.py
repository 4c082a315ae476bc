"""Large graphs: where to look when nobody can look at every edit.

Edges whose loss moves the output show which nodes matter; the edits between these nodes, and between nodes
that share a neighbour, are rated; and neighbourhoods are closed, many of them in one question. Each takes
some hundred questions at most, whatever the size of the graph.
"""

from __future__ import annotations

import math
from functools import cached_property

import torch
from torch import Tensor

from edgeflip.core import (
    PAD,
    TABLE_LIMIT,
    FactualSubgraph,
    PairEdits,
    candidate_keys,
    first_occurrences,
    pair_ids,
)
from edgeflip.explainers.beginning import GraphSearch
from edgeflip.explainers.edgeflip.parts import by_parts
from edgeflip.factual import grow
from edgeflip.oracle import SLOPE_PASSES, PairSlopes

# Of graphs with more edges not every edge is taken away once.
_MOST_EDGES = 1_000

# Edges that slopes find most promising and that are really taken away.
_EDGES_ASKED = 64

# Nodes of the factual subgraph; nodes that matter most, among which all pairs are rated.
_FACTUAL_NODES, _SALIENT = 20, 300

# Neighbours of a node whose neighbourhood is closed, or leads from one node to another.
_MOST_NEIGHBOURS = 16

# Missing edges whose ends share several neighbours, and pairs of these that are tried.
_TIGHT, _TIGHT_PAIRS = 512, 256

# Closed neighbourhoods that are taken apart, and how: parts that are drawn, the share of the edits in each,
# pairs that are tried, so many at once, and edits of the largest set that is tried where no pair will do.
_TAKEN_APART = 3
_DRAWN, _SHARE, _PAIRED, _AT_ONCE, _LARGEST = 96, 0.4, 128, 64, 6

# Pairs whose slopes are taken at once.
_RATED = 50_000

_ROOT = torch.empty(1, 0, dtype=torch.long)


def is_large(space: PairEdits) -> bool:
    """Whether a graph has too many allowed edits, or too many edges, to ask about each."""
    return space.is_large or space.pairs.edge_ids.numel() > _MOST_EDGES


class LargeGraph:
    """What is found out about a large graph before its edits are searched.

    Args:
        search: The search.
        slopes: Where slopes come from, None for a black box.
    """

    def __init__(self, search: GraphSearch, slopes: PairSlopes | None) -> None:
        self._search, self._slopes = search, slopes
        self._space, self._pairs = search.space, search.space.pairs
        self._start = float(search.goal.margins(search.output[None]).max())
        self._seen: Tensor = self._pairs.edge_ids[:0]

    @cached_property
    def effects(self) -> Tensor:
        """By how much the loss of each edge raises the margin; a guess or 0 where nobody asked [m]."""
        search, pairs = self._search, self._pairs
        edges = self._inside(pairs.edge_ids).nonzero().flatten()
        effects = torch.zeros(pairs.edge_ids.numel())
        if not len(edges):
            return effects
        if self._slopes is not None:
            effects[edges] = self._rated(pairs.edge_ids[edges])
            self._look_at(pairs.edge_ids[edges])
            most = min(_EDGES_ASKED, len(edges))
            asked = edges[effects[edges].abs().topk(most).indices]
        elif len(edges) <= _MOST_EDGES:
            asked = edges
        else:
            sets = [pairs.edge_ids[edge][None] for edge in edges]
            found = by_parts(
                search, sets, lambda margins: (margins - self._start).abs(), parts=64, kept=8
            )
            asked = edges[found.places]
        self._look_at(pairs.edge_ids[asked])
        margins = search.goal.margins(search.probe(pairs.edge_ids[asked][:, None]))
        effects[asked] = (margins.amax(dim=1) - self._start).float()
        return effects

    @cached_property
    def salience(self) -> Tensor:
        """How much the loss of its edges moves the output, either way, for each node, 0 to 1 [n]."""
        salience = torch.zeros(self._pairs.num_nodes)
        ends = self._pairs.ends(self._pairs.edge_ids).flatten()
        salience = salience.scatter_reduce(0, ends, self.effects.abs().repeat(2), "amax")
        return salience / salience.max().clamp(min=1e-12)

    def factual(self, max_nodes: int) -> FactualSubgraph:
        """A connected subgraph around the edges whose loss leads nearest to the goal."""
        return grow(self._pairs, self.effects, min(max_nodes, _FACTUAL_NODES))

    def pool(self, limit: int) -> Tensor:
        """The edits to look at, the most promising first [at most limit].

        Slopes rate them, and what they rate far below 0 is as promising as what they rate far above:
        where two edits must come together, each alone may lead away. Without slopes those come first
        whose ends matter and are near each other.
        """
        candidates = self._candidates()
        if self._slopes is None:
            order = self._promise(candidates).argsort(descending=True, stable=True)
        else:
            values = self._rated(candidates)
            self._look_at(candidates)
            both = values.argsort(descending=True), values.abs().argsort(descending=True)
            order = torch.stack(both, dim=1).flatten()
            order = order[first_occurrences(order)]
        chosen = candidates[order[:limit]]
        self._look_at(chosen)
        return chosen

    def close(self) -> None:
        """Let all neighbours of a node be joined, of many nodes in one question; take apart what helps.

        What completes a dense part may be several edits of which none helps alone. Where there is such a
        part, the ends of its missing edges share several neighbours, and so these come first.
        """
        search = self._search
        limits = search.space.limits
        if min(limits.max_added, limits.max_edits) < 2:
            return
        for part in self._tight_pairs().split(_AT_ONCE):
            self._look_at(part.flatten().unique())
            if bool(search.ask(part).reached.any()):
                return
        sets = self._closings()
        if not sets:
            return
        self._look_at(torch.cat(sets))
        found = by_parts(search, sets, lambda margins: margins, parts=32, kept=4)
        # Outputs end where margins cannot grow, and then the smaller set says more.
        sizes = torch.tensor([len(sets[place]) for place in found.places.tolist()])
        order = sizes.argsort(stable=True)
        order = order[found.margins[order].round().argsort(descending=True, stable=True)]
        reached = [
            sets[int(found.places[index])]
            for index in order[:_TAKEN_APART]
            if found.margins[index] > 0
        ]
        needed = []
        for moves in reached:
            needed.append(self._take_apart(moves))
            if search.found:
                return
        for moves in needed:
            for size in range(3, min(_LARGEST, len(moves), search.space.max_cost) + 1):
                if bool(search.ask(moves[None, :size]).reached.any()):
                    break

    def _take_apart(self, moves: Tensor) -> Tensor:
        """Ask about those pairs of moves of a set whose company was nearest to the goal.

        Parts of the set are drawn for it. A whole set may reach the goal for more than one reason, and
        then it does so without any single move.

        Returns:
            The moves, those first whose company was nearest.
        """
        search = self._search
        generator = search.generator("parts of a closed neighbourhood")
        kept = torch.rand(_DRAWN, len(moves), generator=generator) < _SHARE
        margins = search.goal.margins(search.probe(torch.where(kept, moves, PAD))).amax(dim=1)
        held = kept.double()
        together = held.t() @ held
        mean = held.t() @ (held * margins[:, None]) / together.clamp(min=1)
        mean = mean.masked_fill(together == 0, -math.inf)
        one, two = torch.triu_indices(len(moves), len(moves), 1)
        order = mean[one, two].argsort(descending=True, stable=True)[:_PAIRED]
        for part in torch.stack([moves[one], moves[two]], dim=1)[order].split(_AT_ONCE):
            if bool(search.ask(part).reached.any()):
                break
        return moves[mean.diagonal().argsort(descending=True, stable=True)]

    # What is looked at.

    def _candidates(self) -> Tensor:
        """The edits that are rated: all where there are not too many, else those where something matters."""
        space, pairs, limits = self._space, self._pairs, self._space.limits
        if not space.is_large:
            return space.allowed
        matters = self.salience.topk(min(_SALIENT, pairs.num_nodes)).indices.sort().values
        among = torch.combinations(matters, 2)
        added = torch.cat([pair_ids(among[:, 0], among[:, 1], pairs.num_nodes), self._near])
        groups = [limits.removals] if limits.max_removed else []
        groups += [added[limits.missing.contain(added)].unique()] if limits.max_added else []
        both = torch.cat(groups)
        if len(both) > TABLE_LIMIT:
            ends = self.salience[pairs.ends(both)].sum(dim=0)
            both = both[ends.topk(TABLE_LIMIT).indices]
        return both.sort().values

    @cached_property
    def _near(self) -> Tensor:
        """Pairs of nodes that share a neighbour, ascending; hubs lead nowhere [pairs]."""
        low, high, _ = self._wedges
        near: Tensor = pair_ids(low, high, self._pairs.num_nodes).unique()
        return near

    @cached_property
    def _wedges(self) -> tuple[Tensor, Tensor, Tensor]:
        """Two neighbours of a node, the smaller first, and the node; hubs left out [3, wedges]."""
        pairs = self._pairs
        u, v = pairs.ends(pairs.edge_ids)
        source, order = torch.cat([u, v]).sort(stable=True)
        target = torch.cat([v, u])[order]
        degree = torch.bincount(source, minlength=pairs.num_nodes)
        few = (degree <= _MOST_NEIGHBOURS)[source]
        source, target = source[few], target[few]
        degree = torch.where(degree <= _MOST_NEIGHBOURS, degree, 0)
        first = degree.cumsum(dim=0) - degree
        # Every edge out of a node with each of the node's edges.
        one = torch.arange(len(source)).repeat_interleave(degree[source])
        begin = (degree[source].cumsum(dim=0) - degree[source])[one]
        two = first[source[one]] + torch.arange(len(one)) - begin
        ordered = target[one] < target[two]
        return target[one[ordered]], target[two[ordered]], source[one[ordered]]

    def _closings(self) -> list[Tensor]:
        """For every node the allowed edges that its neighbours miss, where there are several."""
        return [part for part in self._missing_around() if len(part) > 1]

    def _tight_pairs(self) -> Tensor:
        """Two missing edges around one node, those first whose ends share most neighbours [rows, 2]."""
        around = self._missing_around()
        if not around:
            return torch.empty(0, 2, dtype=torch.long)
        ids, shared = torch.cat(around).unique(return_counts=True)
        several = (shared > 1).nonzero().flatten()
        promise = shared + self.salience[self._pairs.ends(ids)].mean(dim=0)
        tight = several[promise[several].topk(min(_TIGHT, len(several))).indices]
        promise[tight] += len(ids)
        rows, values = [], []
        for part in around:
            places = torch.searchsorted(ids, part)
            places = places[promise[places] >= len(ids)]
            rows.append(torch.combinations(places, 2))
            values.append(torch.combinations(promise[places], 2).sum(dim=1))
        both = torch.cat(rows)[torch.cat(values).argsort(descending=True, stable=True)]
        both = ids[both].sort(dim=1).values
        pairs: Tensor = both[first_occurrences(candidate_keys(both))][:_TIGHT_PAIRS]
        return pairs

    def _missing_around(self) -> list[Tensor]:
        """For every node that has any the allowed edges that its neighbours miss."""
        low, high, node = self._wedges
        ids = pair_ids(low, high, self._pairs.num_nodes)
        missing = self._space.limits.missing.contain(ids)
        ids, node = ids[missing], node[missing]
        counts = torch.bincount(node, minlength=self._pairs.num_nodes)
        order = node.argsort(stable=True)
        return [part for part in ids[order].split(counts.tolist()) if len(part)]

    def _inside(self, ids: Tensor) -> Tensor:
        """Which pairs lie in the region where edits may be [ids]."""
        region = self._space.constraints.within
        if region is None:
            return torch.ones_like(ids, dtype=torch.bool)
        nodes = torch.zeros(self._pairs.num_nodes, dtype=torch.bool)
        nodes[list(region)] = True
        inside: Tensor = nodes[self._pairs.ends(ids)].all(dim=0)
        return inside

    def _look_at(self, ids: Tensor) -> None:
        """Note how many of the edits that may be made were looked at so far."""
        self._seen = torch.cat([self._seen, ids[self._space.limits.are_open(ids)]]).unique()
        self._search.note(pool=len(self._seen), allowed=self._space.num_allowed)

    # How it is rated.

    def _rated(self, ids: Tensor) -> Tensor:
        """The slopes of single edits [ids]."""
        assert self._slopes is not None
        search = self._search
        with search.stage("slopes"):
            parts = []
            for part in ids.split(_RATED):
                search.oracle.spend(SLOPE_PASSES)
                parts.append(self._slopes.of(_ROOT, part)[0])
        return torch.cat(parts)

    def _promise(self, ids: Tensor) -> Tensor:
        """How much the ends of pairs matter, the more so where they share a neighbour [ids]."""
        one, two = self.salience[self._pairs.ends(ids)]
        near = torch.isin(ids, self._near) | self._pairs.is_edge(ids)
        ends = one + two + 2 * (one * two).sqrt()
        promise: Tensor = ends * torch.where(near, 2.0, 1.0) + near
        return promise
