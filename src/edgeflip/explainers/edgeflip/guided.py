"""Ring 2: a narrow beam over edit sets, led by what single edits were found to do.

Every allowed edit is tried alone, exactly. What it changed is a table that all larger sets inherit: the
most promising edits of a set are those whose known effects, added to what the oracle said of the set,
come nearest to the goal. What is asked at a set corrects its table, and the sets that grow from it
inherit the correction. This needs no gradient, so it serves any oracle; where there is one, a few further
edits are chosen by their slopes.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property

import torch
from torch import Tensor

from edgeflip.core import PAD, PairEdits, candidate_keys, first_occurrences
from edgeflip.explainers.beginning import GraphSearch
from edgeflip.explainers.edgeflip.config import BeamConfig
from edgeflip.explainers.edgeflip.leaps import leaps
from edgeflip.explainers.edgeflip.waiting import States, Waiting
from edgeflip.oracle import SLOPE_PASSES, PairSlopes

_BLOCK = 4096

# Of each state of the wide beam so many leaps of a further node are tried.
_LEAPS_ON = 8

# With rules the beam has so many times the states and children.
_MORE_WITH_RULES = 2

# Of the input so many times the rewirings of a state are tried: nothing else moves a leaf of a tree.
_MORE_AT_FIRST = 4

# Pairs of moves of large graphs that are asked about at once, and moves that slopes choose beside each.
_COUPLED, _PARTNERS = 64, 4


class GuidedBeam:
    """The beam.

    Args:
        search: The search.
        settings: Widths and limits.
        pool: Moves to grow by, the most promising first where they are too many to try all [moves].
        slopes: Where they come from, None for a black box.
        apart: Whether the pool is a small part of a large graph: its order decides which moves are
            tried alone, and those that moved the output either way are tried beside others.
    """

    def __init__(
        self,
        search: GraphSearch,
        settings: BeamConfig,
        pool: Tensor,
        slopes: PairSlopes | None,
        *,
        apart: bool = False,
    ) -> None:
        self._search, self._settings = search, settings
        self._pool, self._slopes = pool.sort().values, slopes
        self._by_promise, self._is_apart = pool, apart
        # Leaps and rewirings are sets of edges.
        self._has_edges = isinstance(search.space, PairEdits)
        self._largest = min(settings.max_edits, search.space.max_cost)
        self._start = _margins(search, search.output[None])[0]
        # Rules refuse much of what is promising, and what they take is little beside what they cost.
        more = _MORE_WITH_RULES if search.space.has_rules else 1
        self._width, self._rewired = more * settings.width, more * settings.moves
        # Where there are no slopes, more questions make up for them.
        self._moves = more * settings.moves + (0 if slopes else 2 * settings.slope_moves)
        self._singles_tried = settings.singles if slopes else 2 * settings.singles
        if apart and (slopes or search.found):
            # Slopes rate more of the graph than could be asked about, and an answer needs less company.
            self._singles_tried = max(1, settings.singles // 4)
        self._chance = search.generator("ties of the beam")
        self._known_rules: dict[tuple[int, ...], bool] = {}
        self._wide = False
        lawful = self._lawful_first if search.space.has_rules else None
        self._waiting = Waiting(self._largest, settings.leap_seats, self._levelled, lawful)

    def grow(self, enough: Callable[[int], bool]) -> None:
        """Single edits, leaps, a narrow beam, and a wide one where that came near.

        Args:
            enough: Whether sets of so many edits are no longer worth a look.
        """
        settings = self._settings
        singles = self._singles()
        if not enough(2) and self._has_edges:
            if not (self._is_apart and self._search.found):
                self._leap(singles)
            if not self._search.space.combines_freely:
                start, leapt = self._start[None], torch.zeros(1, dtype=torch.bool)
                nothing = torch.empty(1, 0, dtype=torch.long)
                self._rewire(States(nothing, start, singles[None], leapt), 0)
            if self._is_apart:
                self._couple()
        nearest = self._beam(self._width, enough)
        # Both are below 0 while nothing has reached the goal.
        near = settings.wide_share * float(self._start.max())
        if self._search.best_score <= 0 and nearest > near:
            self._search.note(widened=True)
            self._wide = True
            self._beam(max(self._width, settings.wide_width), enough)

    def best_singles(self, limit: int) -> Tensor:
        """The moves that came nearest to the goal alone, best first [at most limit]."""
        order = self._alone.amax(dim=1).argsort(descending=True, stable=True)[:limit]
        return self._pool[order]

    def _singles(self) -> Tensor:
        """Try single edits; what each was found to do [moves, ways]."""
        search, pool = self._search, self._pool
        tried = pool
        effects = torch.zeros(len(pool), self._start.numel())
        if len(pool) > self._singles_tried:
            slopes = None if self._is_apart else self._slope(torch.empty(1, 0, dtype=torch.long))
            if slopes is None:
                tried = self._by_promise[: self._singles_tried].sort().values
            else:
                best = slopes[0].topk(self._singles_tried).indices
                tried = pool[best.sort().values]
        outputs = search.ask(tried[:, None]).outputs
        margins = _margins(search, outputs)
        places = torch.searchsorted(pool, tried)
        effects[places] = (margins - self._start).nan_to_num(nan=0.0)
        refused = margins.isnan().any(dim=1)
        if self._has_edges and not search.space.combines_freely and bool(refused.any()):
            # What is not allowed alone may be beside another.
            probed = _margins(search, search.probe(tried[refused][:, None]))
            effects[places[refused]] = probed - self._start
        self._alone = effects
        self._waiting.add(
            1, tried[:, None], margins, effects[None], torch.zeros(1, dtype=torch.bool)
        )
        return effects

    def _leap(self, effects: Tensor) -> None:
        """Several edits at once, which single steps do not reach."""
        search, settings = self._search, self._settings
        rows = leaps(
            search.space,
            self._pool,
            effects.amax(dim=1),
            largest=self._largest,
            joined=settings.leap_edits,
            each=settings.islands,
        )
        if not len(rows):
            return
        rows = search.space.normalise(rows)
        margins = _margins(search, search.ask(rows).outputs)
        self._waiting.add_by_size(rows, margins, effects[None], torch.ones(1, dtype=torch.bool))

    def _couple(self) -> None:
        """Try moves beside others, however they did alone."""
        settings, search, pool = self._settings, self._search, self._pool
        first = torch.searchsorted(pool, self._by_promise[: settings.couples])
        if self._largest < 2 or search.smallest <= 2 or not len(first):
            return
        if self._slopes is None:
            moved = self._alone.abs().amax(dim=1).topk(min(settings.couples, len(pool))).indices
            one, two = torch.combinations(moved, 2).unbind(dim=1)
        else:
            values, others = [], min(_PARTNERS, len(pool) - 1)
            for part in first.split(8):
                slopes = self._slope(pool[part][:, None])
                assert slopes is not None
                values.append(slopes.scatter(1, part[:, None], -math.inf).topk(others, dim=1))
            best = torch.cat([each.values for each in values]).flatten()
            partners = torch.cat([each.indices for each in values]).flatten()
            chosen = best.topk(min(2 * settings.couples, len(best))).indices
            one, two = first[chosen // others], partners[chosen]
        rows = torch.stack([pool[one], pool[two]], dim=1)
        rows = search.space.normalise(rows)
        rows = rows[first_occurrences(candidate_keys(rows))]
        effects = self._alone[None]
        for part in rows.split(_COUPLED):
            margins = _margins(search, search.ask(part).outputs)
            self._waiting.add(2, part, margins, effects, torch.zeros(1, dtype=torch.bool))
            if search.smallest <= 2:
                return

    def _beam(self, width: int, enough: Callable[[int], bool]) -> float:
        """Level by level; the nearest it came to the goal."""
        trail = [float(self._start.max())]
        for size in range(1, self._largest):
            if enough(size + 1):
                break
            if size not in self._waiting:
                continue
            states = self._waiting.best(size, width)
            if not len(states):
                continue
            trail.append(float(states.margins.max()))
            if self._is_hopeless(trail, size):
                break
            self._expand(states, size)
        return max(trail)

    def _lawful_first(self, rows: Tensor, order: Tensor, width: int) -> Tensor:
        """Indices of the best that every rule accepts, and of a few that may still come to be accepted."""
        space = self._search.space
        lawful: list[int] = []
        others: list[int] = []
        for place in order.tolist():
            if len(lawful) >= width:
                break
            key = tuple(sorted(rows[place].tolist()))
            if key not in self._known_rules:
                self._known_rules[key] = space.rules_allow(rows[place])
            (lawful if self._known_rules[key] else others).append(place)
        seats = max(width - len(lawful), width // 4, 2)
        return torch.tensor(lawful + others[:seats], dtype=torch.long)

    def _is_hopeless(self, trail: list[float], size: int) -> bool:
        """Whether the recent strides, taken at all levels left, would not reach the goal."""
        # Without any stride the oracle tells nothing about the way.
        if self._search.found or len(trail) < 4 or max(trail) <= trail[0]:
            return False
        stride = max(trail[-1] - trail[-2], trail[-2] - trail[-3], 0.0)
        return -trail[-1] > self._settings.reach_factor * stride * (self._largest - size)

    def _expand(self, states: States, size: int) -> None:
        """Ask about the most promising children of states, which inherit what is found out."""
        pool, search, settings = self._pool, self._search, self._settings
        done = (states.rows[:, :, None] == pool).any(dim=1)
        if not search.space.combines_freely:
            done |= ~self._allowed(states.rows, pool[:, None])
            if self._has_edges:
                self._rewire(states, size)
        if self._wide and self._has_edges:
            self._leap_on(states, size)
        left = max(0, int((~done).sum(dim=1).max()))
        guess = self._levelled((states.margins[:, None] + states.effects).amax(dim=2))
        guess = guess.masked_fill(done, -math.inf)
        chosen = self._most_promising(guess, left)
        further = min(settings.slope_moves, left - chosen.size(1))
        if further > 0 and (slopes := self._slope(states.rows)) is not None:
            slopes = slopes.masked_fill(done, -math.inf).scatter(1, chosen, -math.inf)
            chosen = torch.cat([chosen, slopes.topk(further, dim=1).indices], dim=1)
        if not chosen.numel():
            return
        parents = torch.arange(len(states)).repeat_interleave(chosen.size(1))
        places = chosen.flatten()
        open_ = ~done[parents, places]
        parents, places = parents[open_], places[open_]
        rows = torch.cat([states.rows[parents], pool[places][:, None]], dim=1)
        distinct = first_occurrences(candidate_keys(rows))
        rows, parents, places = rows[distinct], parents[distinct], places[distinct]
        margins = _margins(search, _ask(search, rows))
        effects = states.effects.clone()
        found = margins - states.margins[parents]
        known = ~found.isnan().any(dim=1)
        effects[parents[known], places[known]] = found[known]
        self._waiting.add(size + 1, rows, margins, effects, states.leapt, parents)

    def _levelled(self, margins: Tensor) -> Tensor:
        """Margins to compare by.

        What reaches the goal and still waits was refused by a rule. No margin says what the rule wants,
        so all of these are worth the same, and chance decides between them.
        """
        if not self._search.space.has_rules:
            return margins
        chance = torch.rand(margins.shape, generator=self._chance)
        return torch.where(margins > 0, chance, margins)

    def _most_promising(self, guess: Tensor, left: int) -> Tensor:
        """Places of the moves with the best guesses [states, moves].

        Rules may want more of one sort, so with rules every sort has its share.
        """
        if not self._search.space.has_rules:
            return guess.topk(min(self._moves, left), dim=1).indices
        groups = [torch.isin(self._pool, ids) for ids in self._search.space.groups.values()]
        groups = [group for group in groups if bool(group.any())]
        share = max(1, self._moves // len(groups))
        return torch.cat(
            [
                guess.masked_fill(~group, -math.inf)
                .topk(min(share, int(group.sum()), left), dim=1)
                .indices
                for group in groups
            ],
            dim=1,
        )

    def _allowed(self, rows: Tensor, moves: Tensor) -> Tensor:
        """Which states may grow by which moves [states, moves].

        Args:
            rows: The states [states, size].
            moves: Sets of moves [moves, width].
        """
        grown = torch.cat(
            [rows.repeat_interleave(len(moves), dim=0), moves.repeat(len(rows), 1)], dim=1
        )
        return self._fits(grown).view(len(rows), len(moves))

    def _fits(self, rows: Tensor) -> Tensor:
        """Which sets keep every limit, none of their moves taken back by another [rows]."""
        whole = self._search.space.normalise(rows)
        return self._search.space.check(whole) & (whole[:, -1] != PAD)

    def _rewire(self, states: States, size: int) -> None:
        """Ask about an edge that goes for one that comes at one of its ends, where neither may alone."""
        search, pool = self._search, self._pool
        gone, new = self._rewirings
        if size + 2 > self._largest or not len(gone):
            return
        guess = states.margins[:, None] + states.effects[:, gone] + states.effects[:, new]
        most = self._rewired if size else _MORE_AT_FIRST * self._rewired
        limit = min(4 * most, len(gone))
        best = guess.amax(dim=2).topk(limit, dim=1).indices
        parents = torch.arange(len(states)).repeat_interleave(limit)
        pairs = best.flatten()
        rows = torch.cat(
            [states.rows[parents], pool[gone[pairs]][:, None], pool[new[pairs]][:, None]], dim=1
        )
        fits = self._fits(rows).nonzero().flatten()
        fits = fits[first_occurrences(candidate_keys(rows[fits]))]
        # As many of each state as it has other children; states stand one after the other.
        owner = parents[fits]
        chosen = fits[torch.arange(len(fits)) - torch.searchsorted(owner, owner) < most]
        if len(chosen):
            margins = _margins(search, _ask(search, rows[chosen]))
            self._waiting.add(
                size + 2, rows[chosen], margins, states.effects, states.leapt, parents[chosen]
            )

    def _leap_on(self, states: States, size: int) -> None:
        """Ask about states in which one node more loses all its edges."""
        search, pool = self._search, self._pool
        places, incident = self._edges_of_nodes
        there = (states.rows[:, :, None] != pool[places]).all(dim=1)
        count = size + there.float() @ incident.T
        fits = (count >= size + 2) & (count <= min(self._largest, search.smallest - 1))
        lost = states.effects[:, places] * there[:, :, None]
        guess = (states.margins[:, None] + incident @ lost).amax(dim=2)
        best = guess.masked_fill(~fits, -math.inf).topk(min(_LEAPS_ON, len(incident)), dim=1)
        parents, column = torch.isfinite(best.values).nonzero(as_tuple=True)
        if not len(parents):
            return
        nodes = best.indices[parents, column]
        gone = there[parents] & (incident[nodes] > 0)
        more = torch.where(gone, pool[places], PAD).topk(int(gone.sum(dim=1).max()), dim=1).values
        rows = search.space.normalise(torch.cat([states.rows[parents], more], dim=1))
        distinct = first_occurrences(candidate_keys(rows))
        rows, parents = rows[distinct], parents[distinct]
        margins = _margins(search, _ask(search, rows))
        leapt = torch.ones(len(states), dtype=torch.bool)
        self._waiting.add_by_size(rows, margins, states.effects, leapt, parents)

    @cached_property
    def _edges_of_nodes(self) -> tuple[Tensor, Tensor]:
        """Places in the pool of edges that may go, and at which nodes they end [nodes, edges]."""
        pairs, pool = self._search.space.pairs, self._pool
        places = pairs.is_edge(pool).nonzero().flatten()
        ends = pairs.ends(pool[places])
        nodes = torch.arange(pairs.num_nodes)[:, None]
        return places, ((ends[0] == nodes) | (ends[1] == nodes)).float()

    @cached_property
    def _rewirings(self) -> tuple[Tensor, Tensor]:
        """Places in the pool of edges that go, and of ones that come at one of their ends."""
        pairs, pool = self._search.space.pairs, self._pool
        present = pairs.is_edge(pool)
        gone, new = present.nonzero().flatten(), (~present).nonzero().flatten()
        one, two = pairs.ends(pool[gone]), pairs.ends(pool[new])
        shared = (one[:, None, :, None] == two[None, :, None, :]).any(dim=0).any(dim=0)
        row, column = shared.nonzero(as_tuple=True)
        return gone[row], new[column]

    def _slope(self, rows: Tensor) -> Tensor | None:
        if self._slopes is None:
            return None
        with self._search.stage("slopes"):
            self._search.oracle.spend(SLOPE_PASSES * len(rows))
            return self._slopes.of(rows, self._pool)


def _margins(search: GraphSearch, outputs: Tensor) -> Tensor:
    return search.goal.margins(outputs).float()


def _ask(search: GraphSearch, rows: Tensor) -> Tensor:
    """The oracle's outputs of candidates, NaN where they were refused."""
    return torch.cat([search.ask(part).outputs for part in rows.split(_BLOCK)])
