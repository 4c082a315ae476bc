"""What follows a search: needless moves out, a proof of smallness, and the best flips verified."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from edgeflip.oracle import checked_answers
from edgeflip.search.minimal import Reductions, without_supersets
from edgeflip.search.ranking import best_first, rate
from edgeflip.search.result import Certificate, Counterfactual, conditions_of
from edgeflip.search.selection import LOOKED_AT, NOISED, Selection, diverse, robustness
from edgeflip.search.session import Search

# Candidates of a certificate that are asked about at once.
_CERTIFIED_AT_ONCE = 4096


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


@dataclass(frozen=True, eq=False)
class _Confirmed:
    """Which flip, its edits, and the output of the really edited input."""

    index: int
    edits: Any
    output: Tensor


class Finish:
    """The answers of a search that has ended.

    Args:
        search: The search.
        selection: How many, how different and how robust. Where `selection.keep` leaves room for more
            than one, the first one found is among them.
        minimal: Whether flips that contain a smaller flip are left out; the first one found then comes
            last if it does.
    """

    def __init__(
        self, search: Search[Any, Any], selection: Selection, *, minimal: bool = False
    ) -> None:
        self._search, self._selection, self._minimal = search, selection, minimal

    def counterfactuals(self) -> tuple[list[Counterfactual], int]:
        """The best flips, best first, each re-checked on the really edited input.

        Returns:
            The counterfactuals, and how many distinct flips there were in all.
        """
        search, selection = self._search, self._selection
        if not search.found:
            return [], 0
        ranked_only, limit = selection.number is None, selection.limit
        with search.stage("rank"):
            flips = search.store.ordered()
            scores, order = flips.scores, flips.order
            if self._minimal:
                order = without_supersets(order, flips.rows, limit=self._wanted())
            redundant_first = self._minimal and ranked_only and not bool((order == 0).any())
            if ranked_only:
                order = _with_first(order, limit)
        shares: Tensor | None = None
        if selection.robust:
            order, scores, shares = self._by_robustness(order[: max(NOISED, limit)])
        if ranked_only:
            verified = self._first_verified(order, shares)
        else:
            order = order[: max(LOOKED_AT, limit)]
            verified = self._different_verified(order, scores[order], shares)
        if redundant_first:
            verified.sort(key=lambda entry: entry.found_at == int(flips.found_at[0]))
        return verified, len(flips.rows)

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
        order = order[best_first(scores[order], rows, costs)]
        if selection.number is None:
            order = _with_first(order, selection.limit)
        return order, scores, shares

    def _first_verified(self, order: Tensor, shares: Tensor | None) -> list[Counterfactual]:
        """Ask about edited inputs, best candidates first, until enough are confirmed."""
        confirmed: list[_Confirmed] = []
        limit = self._selection.limit
        for part in order.split(max(1, limit)):
            if len(confirmed) >= limit:
                break
            confirmed += self._confirmed(part)
        return self._entries(confirmed[:limit], shares)

    def _different_verified(
        self, order: Tensor, scores: Tensor, shares: Tensor | None
    ) -> list[Counterfactual]:
        """Choose different ones; when one is not confirmed, choose again without it."""
        selection, rows = self._selection, self._search.store.ordered().rows
        known: dict[int, _Confirmed | None] = {}
        while True:
            chosen = order[
                diverse(scores, rows[order], number=selection.limit, diversity=selection.diversity)
            ]
            fresh = [index for index in chosen.tolist() if index not in known]
            if not fresh:
                entries = (known[index] for index in chosen.tolist())
                return self._entries([entry for entry in entries if entry], shares)
            known |= dict.fromkeys(fresh)
            known |= {entry.index: entry for entry in self._confirmed(torch.tensor(fresh))}
            stays = torch.tensor([known.get(index, True) is not None for index in order.tolist()])
            order, scores = order[stays], scores[stays]

    def _confirmed(self, indices: Tensor) -> list[_Confirmed]:
        """Those of some flips that reach the goal on the really edited input too."""
        search = self._search
        if not indices.numel():
            return []
        with search.stage("verify"):
            rows = search.store.ordered().rows[indices]
            edited = search.space.apply(rows)
            outputs = checked_answers(search.problem.oracle, edited)
            search.clock.add_calls("verify", len(edited))
            edits = search.space.edits(rows)
            hits = search.goal.reached(outputs).tolist()
            columns = zip(indices.tolist(), edits, outputs, hits, strict=True)
            return [_Confirmed(index, each, output) for index, each, output, hit in columns if hit]

    def _entries(self, confirmed: list[_Confirmed], shares: Tensor | None) -> list[Counterfactual]:
        """Confirmed flips as counterfactuals, best first."""
        if not confirmed:
            return []
        search, flips = self._search, self._search.store.ordered()
        indices = torch.tensor([entry.index for entry in confirmed])
        outputs = torch.stack([entry.output for entry in confirmed])
        rows = flips.rows[indices]
        kept = None if shares is None else shares[indices]
        scores = rate(search.ranking, search.features(rows, outputs, kept))
        columns = zip(
            confirmed,
            outputs.tolist(),
            search.goal.fall(outputs).tolist(),
            scores.tolist(),
            flips.found_at[indices].tolist(),
            [None] * len(indices) if kept is None else kept.tolist(),
            strict=True,
        )
        entries = [
            Counterfactual(
                edits=entry.edits,
                output=tuple(after),
                fidelity=fall,
                score=score,
                found_at=found_at,
                ring=search.ring_at(found_at),
                robustness=share,
            )
            for entry, after, fall, score, found_at, share in columns
        ]
        ranks = scores if kept is None else _weighed(scores, kept)
        costs = search.space.costs(rows).sum(dim=1)
        return [entries[i] for i in best_first(ranks, rows, costs).tolist()]


def _weighed(scores: Tensor, shares: Tensor) -> Tensor:
    """Scores times robustness; a score below 0 gets no better by it."""
    return torch.where(scores > 0, scores * shares, scores)


def _with_first(order: Tensor, keep: int) -> Tensor:
    """The order with the first flip, entry 0, moved up to the last rank that is kept."""
    if keep < 2 or bool((order[:keep] == 0).any()):
        return order
    rest = order[order != 0]
    return torch.cat([rest[: keep - 1], torch.zeros(1, dtype=torch.long), rest[keep - 1 :]])
