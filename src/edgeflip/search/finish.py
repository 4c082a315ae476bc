"""What follows a search: needless moves out, a proof of smallness, and the best flips verified."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from edgeflip.core import EditSpace
from edgeflip.oracle import checked_answers
from edgeflip.search.minimal import Reductions, contain_others, without_supersets
from edgeflip.search.ranking import best_first, rate
from edgeflip.search.result import Certificate, Counterfactual
from edgeflip.search.selection import LOOKED_AT, NOISED, Selection, diverse, robustness
from edgeflip.search.session import Search
from edgeflip.search.summary import conditions_of

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
    reductions = Reductions()
    while search.store.widest > 1:
        flips = search.store.ordered()
        rows = flips.rows[without_supersets(flips.order, flips.rows, limit=limit)]
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
    """

    best: tuple[Counterfactual, ...] = ()
    smallest: Counterfactual | None = None
    first: Counterfactual | None = None
    flips: int = 0


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

    def answers(self) -> Answers:
        """The best flips, the smallest and the first, each re-checked on the really edited input."""
        search, selection = self._search, self._selection
        if not search.found:
            return Answers()
        with search.stage("rank"):
            flips = search.store.ordered()
            scores, order = flips.scores, self._whole_first
            if self._minimal:
                order = without_supersets(order, flips.rows, limit=self._wanted())
        shares: Tensor | None = None
        if selection.robust:
            order, scores, shares = self._by_robustness(order[: max(NOISED, selection.limit)])
        by_cost = self._by_cost(self._whole_first)
        if selection.number is None:
            # One question about all that will be told, as far as one can know.
            self._confirm([*order[: selection.limit].tolist(), 0, *by_cost[:1].tolist()])
            chosen = self._best(order)
        else:
            order = order[: max(LOOKED_AT, selection.limit)]
            order = order[~contain_others(flips.rows[order])]
            chosen = self._different(order, scores[order])
            self._confirm([0])
        told = self._entries(chosen, None if shares is None else shares[chosen])
        least, first = self._least(by_cost), min(self._outputs, default=None)
        told |= self._entries([i for i in (least, first) if i is not None and i not in told], None)
        return Answers(
            best=tuple(told[index] for index in self._ranked(chosen, told)),
            smallest=None if least is None else told[least],
            first=None if first is None else told[first],
            flips=len(flips.rows),
        )

    def _wanted(self) -> int:
        """How many of the flips without needless moves are looked at."""
        selection = self._selection
        limit = selection.limit
        wanted = limit + 10 if selection.number is None else max(LOOKED_AT, limit)
        return max(wanted, NOISED) if selection.robust else wanted

    def _by_robustness(self, order: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Flips tried on noisy copies: their new order, scores, and shares of copies, by index."""
        search, selection = self._search, self._selection
        flips = search.store.ordered()
        rows = flips.rows[order]
        with search.stage("noise"):
            found, calls = robustness(search.problem, rows, selection)
        search.clock.add_calls("noise", calls)
        shares = torch.full((len(flips.rows),), torch.nan)
        shares[order] = found
        scores = torch.full((len(flips.rows),), torch.nan)
        rated = rate(search.ranking, search.features(rows, flips.outputs[order], found))
        scores[order] = _weighed(rated, found)
        costs = search.space.costs(rows).sum(dim=1)
        cut = disconnecting(search.space, rows)
        order = order[best_first(scores[order], rows, costs, cut)]
        return order, scores, shares

    @cached_property
    def _whole_first(self) -> Tensor:
        """Indices of all flips, best first; of those that score alike the ones that disconnect nothing."""
        flips = self._search.store.ordered()
        order = flips.order
        first = order[:_LOOKED_INTO]
        cut = disconnecting(self._search.space, flips.rows[first])
        self._cut = dict(zip(first.tolist(), cut.tolist(), strict=True))
        if not bool(cut.any()) or bool(cut.all()):
            return order
        rows, scores = flips.rows[first], flips.scores[first]
        costs = self._search.space.costs(rows).sum(dim=1)
        return torch.cat([first[best_first(scores, rows, costs, cut)], order[len(first) :]])

    def _by_cost(self, order: Tensor) -> Tensor:
        """Indices of all flips, those that cost least first and of these in an order [flips]."""
        flips = self._search.store.ordered()
        costs = self._search.space.costs(flips.rows).sum(dim=1)
        return order[costs[order].argsort(stable=True)]

    def _confirm(self, indices: Iterable[int]) -> None:
        """Ask about the really edited inputs of some flips, of each one once."""
        fresh = [index for index in dict.fromkeys(indices) if index not in self._known]
        if not fresh:
            return
        search = self._search
        with search.stage("verify"):
            edited = search.space.apply(search.store.ordered().rows[fresh])
            outputs = checked_answers(search.problem.oracle, edited)
            search.clock.add_calls("verify", len(edited))
            hits = search.goal.reached(outputs).tolist()
        self._known.update(fresh)
        columns = zip(fresh, outputs, hits, strict=True)
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
        selection, rows = self._selection, self._search.store.ordered().rows
        while True:
            chosen: list[int] = order[
                diverse(scores, rows[order], number=selection.limit, diversity=selection.diversity)
            ].tolist()
            self._confirm(chosen)
            if all(index in self._outputs for index in chosen):
                return chosen
            failed = torch.tensor(sorted(self._known - self._outputs.keys()))
            stays = ~torch.isin(order, failed)
            order, scores = order[stays], scores[stays]

    def _least(self, by_cost: Tensor) -> int | None:
        """The confirmed flip that costs least."""
        indices: list[int] = by_cost.tolist()
        for place, index in enumerate(indices):
            if index not in self._known:
                self._confirm(indices[place : place + _CONFIRMED_AT_ONCE])
            if index in self._outputs:
                return index
        return None

    def _entries(self, indices: list[int], shares: Tensor | None) -> dict[int, Counterfactual]:
        """Confirmed flips as counterfactuals."""
        if not indices:
            return {}
        search, flips = self._search, self._search.store.ordered()
        outputs = torch.stack([self._outputs[index] for index in indices])
        rows = flips.rows[indices]
        scores = rate(search.ranking, search.features(rows, outputs, shares))
        columns = zip(
            indices,
            search.space.edits(rows),
            outputs.tolist(),
            search.goal.fall(outputs).tolist(),
            scores.tolist(),
            flips.found_at[indices].tolist(),
            [None] * len(indices) if shares is None else shares.tolist(),
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
            rows = self._search.store.ordered().rows[unknown]
            found = disconnecting(self._search.space, rows).tolist()
            self._cut |= dict(zip(unknown, found, strict=True))
        return [self._cut[index] for index in indices]

    def _ranked(self, chosen: list[int], told: Mapping[int, Counterfactual]) -> list[int]:
        """The chosen ones, best first by what the really edited inputs gave."""
        if not chosen:
            return []
        rows = self._search.store.ordered().rows[chosen]
        scores = torch.tensor([told[index].score for index in chosen])
        if self._selection.robust:
            scores = _weighed(scores, torch.tensor([told[index].robustness for index in chosen]))
        costs = self._search.space.costs(rows).sum(dim=1)
        cut = torch.tensor([told[index].disconnects for index in chosen])
        return [chosen[place] for place in best_first(scores, rows, costs, cut).tolist()]


def disconnecting(space: EditSpace, rows: Tensor) -> Tensor:
    """Which sets of moves leave the input in more parts, none where a space cannot tell [rows]."""
    tells = getattr(space, "disconnects", None)
    return torch.zeros(len(rows), dtype=torch.bool) if tells is None else tells(rows)


def _weighed(scores: Tensor, shares: Tensor) -> Tensor:
    """Scores times robustness; a score below 0 gets no better by it."""
    return torch.where(scores > 0, scores * shares, scores)
