"""What follows a search: needless moves out, a proof of smallness, and the best flips verified."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import EditSpace
from edgeflip.oracle import AnyOracle, answers_together, verified_answers
from edgeflip.search.flips import OrderedFlips
from edgeflip.search.minimal import Reductions, contain_others, forms_of, without_supersets
from edgeflip.search.ranking import best_first, rate
from edgeflip.search.result import Certificate, Counterfactual
from edgeflip.search.selection import LOOKED_AT, NOISED, Selection, diverse, robustness
from edgeflip.search.session import Search
from edgeflip.search.summary import conditions_of
from edgeflip.search.trace import Stage
from edgeflip.support import cpu_seconds

# Candidates of a certificate that are asked about at once.
_CERTIFIED_AT_ONCE = 4096

# Flips that are confirmed at once when the smallest was not.
_CONFIRMED_AT_ONCE = 16

# Of so many of the best flips, those that leave the input whole come first where they score alike.
_LOOKED_INTO = 32


def reduce_flips(search: Search[Any, Any], limit: int) -> None:
    """Ask about all smaller versions of the best flips, so that needless moves can be left out.

    When a flip is left out for a smaller one, others move up; theirs are asked about as well. It ends
    early when the budget does.
    """
    reductions, forms = Reductions(), forms_of(search.space)
    while search.store.widest > 1:
        flips = search.store.ordered()
        kept = without_supersets(flips.order, flips.rows, limit=limit, forms=forms)
        rows = flips.rows[kept]
        fresh = reductions.fresh(rows) & ~search.were_tried_alone(rows)
        if not bool(fresh.any()):
            return
        _, complete = search.take(reductions.of(rows[fresh]))
        # Where nothing smaller flips, the best are the same.
        if not complete or search.store.ordered() is flips:
            return


def certify(search: Search[Any, Any], most: int) -> None:
    """Try all sets that cost less than the smallest flip, cost by cost; `search.tried` counts them.

    What flips on the way is kept, as always.

    Args:
        search: A search that has ended.
        most: Sets to try at most; a cost whose sets do not fit is not begun. Those that were tried
            before take no time and count all the same.
    """
    space = search.space
    search.tried = tried = []
    search.asks_every_rule = True
    for cost in range(1, space.max_cost + 1):
        if cost >= search.smallest:
            break
        level = space.level(cost)
        count, refused = level.count, search.rejected
        if count > most:
            break
        most -= count
        if cost == 1 and search.tried_all_alone(level):
            tried.append(count)
            continue
        complete = True
        for ranks in torch.arange(count).split(_CERTIFIED_AT_ONCE) if count else ():
            _, complete = search.take(level.rows(ranks))
            if not complete:
                break
        if not complete:
            break
        tried.append(count - (search.rejected - refused))
    search.asks_every_rule = False


def certificate_of(search: Search[Any, Any]) -> Certificate | None:
    """Up to which cost there is nothing, None where nothing was tried that could prove it."""
    tried = search.tried
    if tried is None or not (search.found or any(tried)):
        return None
    below = int(min(len(tried) + 1, search.smallest))
    if below == 1 and search.smallest > 1:
        return None
    return Certificate(below, tuple(tried[: below - 1]), conditions_of(search.space))


@dataclass(frozen=True)
class Answers:
    """What is handed back of a search.

    Attributes:
        best: The best flips, best first.
        smallest: The one that costs least; of several the best.
        first: The one that was found first.
        flips: How many distinct flips there were in all.
        asked: What the search was told of the best flips, before they were confirmed [best, columns].
    """

    best: tuple[Counterfactual, ...] = ()
    smallest: Counterfactual | None = None
    first: Counterfactual | None = None
    flips: int = 0
    asked: Tensor | None = None


@dataclass(frozen=True, eq=False)
class Told:
    """Flips, and the inputs with their edits really made.

    Attributes:
        indices: The flips.
        edited: The edited inputs.
    """

    indices: list[int]
    edited: list[Data]

    def __len__(self) -> int:
        """How many there are."""
        return len(self.indices)


@dataclass(frozen=True, eq=False)
class _Plan:
    """How the flips of a search are looked at.

    Attributes:
        order: Indices of those that may be told, best first [some flips].
        scores: Scores of all flips, NaN where nobody looked [flips].
        shares: On what share of noisy copies each reaches the goal, where that was tried [flips].
        by_cost: Indices of all flips, those that cost least first [flips].
    """

    order: Tensor
    scores: Tensor
    shares: Tensor | None
    by_cost: Tensor


class Finish:
    """The answers of a search that has ended.

    Args:
        search: The search.
        selection: How many, how different and how robust.
        minimal: Whether flips that contain a smaller flip are left out. Where several different ones
            are wanted they always are.
    """

    def __init__(
        self, search: Search[Any, Any], selection: Selection, *, minimal: bool = False
    ) -> None:
        self._search, self._selection = search, selection
        self._minimal = minimal or selection.number is not None
        # What the really edited inputs gave, by index of the flip; those that failed are only known.
        self._outputs: dict[int, Tensor] = {}
        self._known: set[int] = set()
        self._cut: dict[int, bool] = {}

    @property
    def oracle(self) -> AnyOracle:
        """Who is asked about the edited inputs."""
        return self._search.problem.oracle

    def answers(self) -> Answers:
        """The best flips, the smallest and the first, each re-checked on the really edited input."""
        if not self._search.found:
            return Answers()
        plan, flips = self._plan, self._flips
        # One question about all that will be told, as far as one can know.
        self._confirm(self._at_first)
        if self._selection.number is None:
            chosen = self._best(plan.order)
        else:
            chosen = self._different(plan.order, plan.scores[plan.order])
        least, first = self._least(plan.by_cost), min(self._outputs, default=None)
        others = [index for index in dict.fromkeys((least, first)) if index is not None]
        told = self._entries(chosen, [index for index in others if index not in chosen])
        ranked = self._ranked(chosen, told)
        return Answers(
            best=tuple(told[index] for index in ranked),
            smallest=None if least is None else told[least],
            first=None if first is None else told[first],
            flips=len(flips.rows),
            asked=flips.outputs[ranked],
        )

    @cached_property
    def _flips(self) -> OrderedFlips:
        return self._search.store.ordered()

    @cached_property
    def _plan(self) -> _Plan:
        """In which order flips are looked at, before any is confirmed."""
        search, selection, flips = self._search, self._selection, self._flips
        with search.stage("rank"):
            scores, order = flips.scores, self._whole_first
            if selection.stable:
                order = self._by_cost(order)
            if self._minimal:
                forms = forms_of(search.space)
                order = without_supersets(order, flips.rows, limit=self._wanted(), forms=forms)
        shares: Tensor | None = None
        if selection.copies:
            order, scores, shares = self._by_robustness(order[: max(NOISED, selection.limit)])
        if selection.number is not None:
            order = order[: max(LOOKED_AT, selection.limit)]
            order = order[~contain_others(flips.rows[order])]
        # Of the smallest, the steadiest come first where that was asked.
        first = [order] if selection.stable else []
        by_cost = self._by_cost(torch.cat([*first, self._whole_first]))
        return _Plan(order, scores, shares, by_cost)

    @property
    def _at_first(self) -> list[int]:
        """The flips that will be told, where nothing goes wrong."""
        plan, limit = self._plan, self._selection.limit
        chosen = plan.order[:limit]
        if self._selection.number is not None:
            chosen = plan.order[self._diverse(plan.order, plan.scores[plan.order])]
        return [*chosen.tolist(), 0, *plan.by_cost[:1].tolist()]

    def _wanted(self) -> int:
        """How many of the flips without needless moves are looked at."""
        selection = self._selection
        limit = selection.limit
        wanted = limit + 10 if selection.number is None else max(LOOKED_AT, limit)
        return max(wanted, NOISED) if selection.copies else wanted

    def _by_robustness(self, order: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Flips tried on noisy copies: their new order, scores, and shares of copies, by index."""
        search, selection, flips = self._search, self._selection, self._flips
        rows = flips.rows[order]
        with search.stage("noise"):
            found, calls = robustness(search.problem, rows, selection)
        search.clock.add_calls("noise", calls)
        shares = torch.full((len(flips.rows),), torch.nan)
        shares[order] = found
        scores = torch.full((len(flips.rows),), torch.nan, dtype=torch.double)
        rated = rate(search.ranking, search.features(rows, flips.outputs[order], found))
        scores[order] = self._with_copies(rated, found, flips.costs[order]).double()
        cut = disconnecting(search.space, rows)
        order = order[best_first(scores[order], rows, flips.costs[order], cut)]
        return order, scores, shares

    @cached_property
    def _whole_first(self) -> Tensor:
        """Indices of all flips, best first; of those that score alike the ones that disconnect nothing."""
        flips = self._flips
        order = flips.order
        first = order[:_LOOKED_INTO]
        cut = disconnecting(self._search.space, flips.rows[first])
        self._cut = dict(zip(first.tolist(), cut.tolist(), strict=True))
        if len(set(self._cut.values())) == 1:
            return order
        better = best_first(flips.scores[first], flips.rows[first], flips.costs[first], cut)
        return torch.cat([first[better], order[len(first) :]])

    def _with_copies(self, scores: Tensor, shares: Tensor, costs: Tensor) -> Tensor:
        """Scores that count on what share of noisy copies flips reach the goal [some flips]."""
        if not self._selection.stable:
            return _weighed(scores, shares)
        # Cost first, then the share; among those that are alike in both the score.
        return 1e4 * (0.9 * shares.double() - costs) + scores.double().clamp(-4, 4)

    def _by_cost(self, order: Tensor) -> Tensor:
        """Indices of all flips, those that cost least first and of these in an order [flips]."""
        return order[self._flips.costs[order].argsort(stable=True)]

    def first_told(self) -> Told:
        """The flips that will be told where nothing goes wrong, to be asked about beside others."""
        return self._edited(self._at_first if self._search.found else [])

    def _edited(self, indices: Iterable[int]) -> Told:
        """The really edited inputs of some flips that nobody has asked about."""
        fresh = [index for index in dict.fromkeys(indices) if index not in self._known]
        if not fresh:
            return Told([], [])
        with self._search.stage("verify"):
            return Told(fresh, self._search.space.apply(self._flips.rows[fresh]))

    def _confirm(self, indices: Iterable[int]) -> None:
        """Ask about the really edited inputs of some flips, of each one once."""
        told = self._edited(indices)
        if len(told):
            with self._search.stage("verify"):
                outputs = verified_answers(self._search.problem.oracle, told.edited)
            self.take(told, outputs)

    def take(self, told: Told, outputs: Tensor, spent: Stage | None = None) -> None:
        """Note what the really edited inputs of flips gave.

        Args:
            told: The flips.
            outputs: What the oracle says of them [flips, columns].
            spent: The time it took, where nobody has counted it.
        """
        clock = self._search.clock
        clock.add("verify", Stage(oracle_calls=len(told)) + (spent or Stage()))
        self._known.update(told.indices)
        hits = self._search.goal.reached(outputs).tolist()
        columns = zip(told.indices, outputs.unbind(), hits, strict=True)
        self._outputs |= {index: output for index, output, hit in columns if hit}

    def _best(self, order: Tensor) -> list[int]:
        """The first of an order that are confirmed, as many as are wanted."""
        limit = self._selection.limit
        chosen: list[int] = []
        for part in order.split(limit):
            if len(chosen) >= limit:
                break
            self._confirm(part.tolist())
            chosen += [index for index in part.tolist() if index in self._outputs]
        return chosen[:limit]

    def _different(self, order: Tensor, scores: Tensor) -> list[int]:
        """Choose different ones; when one is not confirmed, choose again without it."""
        while True:
            chosen: list[int] = order[self._diverse(order, scores)].tolist()
            self._confirm(chosen)
            if all(index in self._outputs for index in chosen):
                return chosen
            failed = torch.tensor(sorted(self._known - self._outputs.keys()))
            stays = ~torch.isin(order, failed)
            order, scores = order[stays], scores[stays]

    def _diverse(self, order: Tensor, scores: Tensor) -> Tensor:
        """Places in an order of good and different flips."""
        selection, rows = self._selection, self._flips.rows[order]
        return diverse(scores, rows, number=selection.limit, diversity=selection.diversity)

    def _least(self, by_cost: Tensor) -> int | None:
        """The confirmed flip that costs least."""
        indices: list[int] = by_cost.tolist()
        for place, index in enumerate(indices):
            if index not in self._known:
                self._confirm(indices[place : place + _CONFIRMED_AT_ONCE])
            if index in self._outputs:
                return index
        return None

    def _entries(self, chosen: list[int], others: list[int]) -> dict[int, Counterfactual]:
        """Confirmed flips as counterfactuals; those that were not chosen were not tried on noisy copies."""
        indices = [*chosen, *others]
        if not indices:
            return {}
        search, flips, shares = self._search, self._flips, self._plan.shares
        outputs = torch.stack([self._outputs[index] for index in indices])
        rows = flips.rows[indices]
        if shares is None:
            scores, tried = search.scores(rows, outputs), [None] * len(indices)
        else:
            some, count = shares[chosen], len(chosen)
            scores = search.scores(rows[:count], outputs[:count], some)
            if others:
                scores = torch.cat([scores, search.scores(rows[count:], outputs[count:])])
            tried = [*some.tolist(), *[None] * len(others)]
        columns = zip(
            indices,
            search.space.edits(rows),
            outputs.tolist(),
            search.goal.fall(outputs).tolist(),
            scores.tolist(),
            flips.found_at[indices].tolist(),
            tried,
            self._which_cut(indices),
            strict=True,
        )
        return {
            index: Counterfactual(
                edits=edits,
                output=tuple(after),
                fidelity=fall,
                score=score,
                found_at=found_at,
                ring=search.ring_at(found_at),
                robustness=share,
                disconnects=cut,
            )
            for index, edits, after, fall, score, found_at, share, cut in columns
        }

    def _which_cut(self, indices: list[int]) -> list[bool]:
        """Which of some flips disconnect the input; most were looked at before."""
        unknown = [index for index in indices if index not in self._cut]
        if unknown:
            rows = self._flips.rows[unknown]
            found = disconnecting(self._search.space, rows).tolist()
            self._cut |= dict(zip(unknown, found, strict=True))
        return [self._cut[index] for index in indices]

    def _ranked(self, chosen: list[int], told: Mapping[int, Counterfactual]) -> list[int]:
        """The chosen ones, best first by what the really edited inputs gave."""
        if len(chosen) < 2:
            return chosen
        scores = torch.tensor([told[index].score for index in chosen])
        if self._selection.copies:
            shares = torch.tensor([told[index].robustness for index in chosen])
            scores = self._with_copies(scores, shares, self._flips.costs[chosen])
        cut = torch.tensor([told[index].disconnects for index in chosen])
        order = best_first(scores, self._flips.rows[chosen], self._flips.costs[chosen], cut)
        return [chosen[place] for place in order.tolist()]


def confirm_together(finishes: Sequence[Finish]) -> None:
    """Ask about what many searches will tell where nothing goes wrong; nothing is lost if not asked.

    Args:
        finishes: The flips of searches for one oracle.
    """
    if len(finishes) < 2 or any(each.oracle is not finishes[0].oracle for each in finishes):
        # Several models are asked about each input in a way of its own.
        return
    asked = [(each, told) for each in finishes if len(told := each.first_told())]
    if not asked:
        return
    started, cpu_started = time.perf_counter(), cpu_seconds()
    parts = answers_together(finishes[0].oracle, [told.edited for _, told in asked])
    count = sum(map(len, parts))
    seconds, cpu = time.perf_counter() - started, cpu_seconds() - cpu_started
    for (each, told), outputs in zip(asked, parts, strict=True):
        share = len(told) / count
        each.take(told, outputs, Stage(share * seconds, 0, share * cpu))


def disconnecting(space: EditSpace, rows: Tensor) -> Tensor:
    """Which sets of moves leave the input in more parts, none where a space cannot tell [rows]."""
    tells = getattr(space, "disconnects", None)
    return torch.zeros(len(rows), dtype=torch.bool) if tells is None else tells(rows)


def _weighed(scores: Tensor, shares: Tensor) -> Tensor:
    """Scores times robustness; a score below 0 gets no better by it."""
    return torch.where(scores > 0, scores * shares, scores)
