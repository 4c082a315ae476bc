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
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from edgeflip.core import PAD, candidate_keys, first_occurrences
from edgeflip.explainers.edgeflip.config import BeamConfig
from edgeflip.explainers.edgeflip.leaps import leaps
from edgeflip.explainers.running import GraphSearch
from edgeflip.oracle import SLOPE_PASSES, PairSlopes

_BLOCK = 4096


@dataclass(frozen=True, eq=False)
class States:
    """Edit sets of one size from which the beam may go on.

    Attributes:
        rows: Their moves [states, size].
        margins: How far each is along every way to the goal [states, ways].
        effects: By how much each move of the pool is expected to raise them [states, moves, ways].
        leapt: Whether it began with a leap [states].
    """

    rows: Tensor
    margins: Tensor
    effects: Tensor
    leapt: Tensor

    def __len__(self) -> int:
        """Number of states."""
        return len(self.rows)

    def at(self, index: Tensor) -> States:
        """Some of them."""
        return States(self.rows[index], self.margins[index], self.effects[index], self.leapt[index])


class GuidedBeam:
    """The beam.

    Args:
        search: The search.
        settings: Widths and limits.
        pool: Moves to grow by, the most promising first where they are too many to try all [moves].
        slopes: Where they come from, None for a black box.
    """

    def __init__(
        self,
        search: GraphSearch,
        settings: BeamConfig,
        pool: Tensor,
        slopes: PairSlopes | None,
    ) -> None:
        self._search, self._settings = search, settings
        self._pool, self._slopes = pool.sort().values, slopes
        self._by_promise = pool
        self._largest = min(settings.max_edits, search.space.max_cost)
        self._waiting: dict[int, list[States]] = {}
        self._start = _margins(search, search.output[None])[0]
        self._keep = max(settings.width, settings.wide_width)
        # Where there are no slopes, more questions make up for them.
        self._moves = settings.moves if slopes else settings.moves + 2 * settings.slope_moves
        self._singles_tried = settings.singles if slopes else 2 * settings.singles
        self._chance = search.generator("ties of the beam")
        self._known_rules: dict[tuple[int, ...], bool] = {}

    def grow(self, enough: Callable[[int], bool]) -> None:
        """Single edits, leaps, a narrow beam, and a wide one where that came near.

        Args:
            enough: Whether sets of so many edits are no longer worth a look.
        """
        settings = self._settings
        singles = self._singles()
        if not enough(2):
            self._leap(singles)
        nearest = self._beam(settings.width, enough)
        # Both are below 0 while nothing has reached the goal.
        near = settings.wide_share * float(self._start.max())
        if not self._search.found and nearest > near:
            self._search.note(widened=True)
            self._beam(settings.wide_width, enough)

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
            slopes = self._slope(torch.empty(1, 0, dtype=torch.long))
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
        if not search.space.combines_freely and bool(refused.any()):
            # What is not allowed alone may be beside another.
            probed = _margins(search, search.probe(tried[refused][:, None]))
            effects[places[refused]] = probed - self._start
        self._alone = effects
        self._take(1, tried[:, None], margins, effects[None], torch.zeros(1, dtype=torch.bool))
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
        sizes = (rows != PAD).sum(dim=1)
        leapt = torch.ones(1, dtype=torch.bool)
        for size in sizes.unique().tolist():
            own = sizes == size
            self._take(size, rows[own, :size], margins[own], effects[None], leapt)

    def _take(
        self,
        size: int,
        rows: Tensor,
        margins: Tensor,
        effects: Tensor,
        leapt: Tensor,
        parents: Tensor | None = None,
    ) -> None:
        """Let the best of a block wait for their level."""
        if size >= self._largest or not len(rows):
            return
        parents = torch.zeros(len(rows), dtype=torch.long) if parents is None else parents
        best = self._seated(margins, leapt[parents], self._keep)
        owner = parents[best]
        states = States(rows[best], margins[best], effects[owner], leapt[owner])
        self._waiting.setdefault(size, []).append(states)

    def _seated(self, margins: Tensor, leapt: Tensor, width: int) -> Tensor:
        """Indices of the best, with some seats for those that began with a leap."""
        best = self._chosen(margins, width)
        seats = self._settings.leap_seats
        where = leapt.nonzero().flatten()
        if not seats or not len(where):
            return best
        together = torch.cat([best, where[self._chosen(margins[where], seats)]])
        return together[first_occurrences(together)]

    def _beam(self, width: int, enough: Callable[[int], bool]) -> float:
        """Level by level; the nearest it came to the goal."""
        trail = [float(self._start.max())]
        for size in range(1, self._largest):
            if enough(size + 1):
                break
            if size not in self._waiting:
                continue
            states = self._joined(size, width)
            if not len(states):
                continue
            trail.append(float(states.margins.max()))
            if self._is_hopeless(trail, size):
                break
            self._expand(states, size)
        return max(trail)

    def _joined(self, size: int, width: int) -> States:
        """The best distinct states that wait at a size."""
        waiting = self._waiting[size]
        states = States(
            torch.cat([each.rows for each in waiting]),
            torch.cat([each.margins for each in waiting]),
            torch.cat([each.effects for each in waiting]),
            torch.cat([each.leapt for each in waiting]),
        )
        self._waiting[size] = [states]
        distinct = first_occurrences(candidate_keys(states.rows)).nonzero().flatten()
        states = states.at(distinct)
        if self._search.space.has_rules:
            return self._lawful_first(states, width)
        return states.at(self._seated(states.margins, states.leapt, width))

    def _lawful_first(self, states: States, width: int) -> States:
        """The best states that every rule accepts, and a few that may still come to be accepted."""
        order = self._seated(states.margins, states.leapt, 3 * width).tolist()
        space = self._search.space
        lawful: list[int] = []
        others: list[int] = []
        for place in order:
            if len(lawful) >= width:
                break
            key = tuple(sorted(states.rows[place].tolist()))
            if key not in self._known_rules:
                self._known_rules[key] = space.rules_allow(states.rows[place])
            (lawful if self._known_rules[key] else others).append(place)
        seats = max(width - len(lawful), width // 4, 2)
        return states.at(torch.tensor(lawful + others[:seats], dtype=torch.long))

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
            self._rewire(states, size)
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
        self._take(size + 1, rows, margins, effects, states.leapt, parents)

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
        limit = min(4 * self._settings.moves, len(gone))
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
        chosen = fits[
            torch.arange(len(fits)) - torch.searchsorted(owner, owner) < self._settings.moves
        ]
        if len(chosen):
            margins = _margins(search, _ask(search, rows[chosen]))
            self._take(
                size + 2, rows[chosen], margins, states.effects, states.leapt, parents[chosen]
            )

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

    def _chosen(self, margins: Tensor, width: int) -> Tensor:
        """Indices of the best: half by their best way, half with a share for every way."""
        margins = self._levelled(margins)
        ways = margins.size(1)
        best = margins.amax(dim=1).nan_to_num(nan=-math.inf)
        if ways == 1:
            order = best.argsort(descending=True, stable=True)[:width]
            return order[torch.isfinite(best[order])]
        order = best.argsort(descending=True, stable=True)[: width - width // 2]
        share = max(1, width // 2 // ways)
        each = margins.nan_to_num(nan=-math.inf).argsort(dim=0, descending=True, stable=True)[
            :share
        ]
        together = torch.cat([order, each.flatten()])
        together = together[first_occurrences(together)]
        return together[torch.isfinite(best[together])]

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
