"""One search: proposals in, verified and ranked counterfactuals out. The same for every method."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import (
    PAD,
    AllowedEdits,
    Constraints,
    EdgeFill,
    EditSet,
    Level,
    PairSpace,
    ProposalBlock,
    apply_edits,
    candidate_keys,
    first_occurrences,
    toggle_pairs,
    widened,
)
from edgeflip.errors import BudgetExhausted, EdgeflipError
from edgeflip.oracle import MeteredOracle, checked_proba
from edgeflip.search.minimal import Reductions, without_supersets
from edgeflip.search.ranking import Flips, Ranking, best_first, rate
from edgeflip.search.result import (
    Certificate,
    Counterfactual,
    FactualSubgraph,
    Stage,
    StopReason,
)
from edgeflip.search.selection import LOOKED_AT, NOISED, Choice, diverse, robustness

Proposal: TypeAlias = EditSet | ProposalBlock
"""What `_propose` yields: one edit set, or a block of many."""


class StageClock:
    """Seconds and oracle calls per stage; a stage inside another is not counted twice.

    Asking the system for CPU seconds takes long on some machines, longer than many a stage. So that is done
    twice per search, and stages share the CPU seconds as they share the wall-clock ones.
    """

    def __init__(self, oracle: MeteredOracle) -> None:
        self._oracle = oracle
        self._names: list[str] = []
        self._timed: dict[str, Stage] = {}
        self._added: dict[str, Stage] = {}
        self._started, self._cpu_started = time.perf_counter(), time.process_time()
        self._mark = self._now()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Count the time and calls of the block for a stage."""
        self._book()
        self._names.append(name)
        self._timed.setdefault(name, Stage())
        try:
            yield
        finally:
            self._book()
            self._names.pop()

    def add_calls(self, name: str, calls: int) -> None:
        """Count oracle calls made outside the metered oracle."""
        self.add(name, Stage(oracle_calls=calls))

    def add(self, name: str, more: Stage) -> None:
        """Count time and calls spent elsewhere, such as a share of what many graphs did together."""
        self._timed.setdefault(name, Stage())
        self._added[name] = self._added.get(name, Stage()) + more

    def stages(self) -> dict[str, Stage]:
        """Totals so far, in order of first use."""
        elapsed = time.perf_counter() - self._started
        load = (time.process_time() - self._cpu_started) / elapsed if elapsed > 0 else 1.0
        return {
            name: replace(timed, cpu_seconds=load * timed.seconds) + self._added.get(name, Stage())
            for name, timed in self._timed.items()
        }

    def _now(self) -> Stage:
        return Stage(time.perf_counter(), self._oracle.calls)

    def _book(self) -> None:
        before, self._mark = self._mark, self._now()
        if self._names:
            name = self._names[-1]
            self._timed[name] = self._timed[name] + (self._mark - before)


@dataclass(eq=False)
class Problem:
    """One graph to explain, as a method sees it.

    Attributes:
        space: The graph and its node pairs.
        allowed: Which pairs may come and go.
        constraints: The constraints of the call.
        oracle: The metered oracle; what a method asks it itself is counted too.
        proba: The oracle's class probabilities on the graph [C].
        label: The predicted class.
        target: The wanted class, None for any other.
        fill: The attributes of added edges.
        stream: What the method's random numbers come from, see `rng`.
        clock: Time and oracle calls per stage.
        factual: Set by methods that find a factual subgraph, to be kept with the answer.
        message: What to tell people when nothing is found.
        ended_by: Why the method ended, when it ends of its own accord.
        notes: Figures a method wants kept with the answer, such as how many edges it left out.
        ring: How far from its first candidates a method that widens its search is now.
        likelihood: How likely each node pair is an edge, set by methods that know [pairs].
        wide: Whether several or robust answers are asked for, so that a search should not end just
            because nothing can score higher than the best flip so far.
    """

    space: PairSpace
    allowed: AllowedEdits
    constraints: Constraints
    oracle: MeteredOracle
    proba: Tensor
    label: int
    target: int | None
    fill: EdgeFill | None
    stream: str
    clock: StageClock
    factual: FactualSubgraph | None = field(default=None)
    notes: dict[str, Any] = field(default_factory=dict)
    message: str = ""
    ended_by: StopReason = "exhausted"
    ring: int | None = None
    likelihood: Tensor | None = None
    wide: bool = False

    @property
    def graph(self) -> Data:
        """The input graph; never change it."""
        return self.space.graph

    def rng(self, name: str) -> random.Random:
        """Random numbers for one purpose, from their beginning at every call.

        Each name has a stream of its own, so that what one stage draws never depends on what another
        drew before.
        """
        return random.Random(f"{self.stream} {name}")

    def generator(self, name: str) -> torch.Generator:
        """The same for torch."""
        return torch.Generator().manual_seed(self.rng(name).getrandbits(63))

    @property
    def aims_at_one_class(self) -> bool:
        """Whether only one class can be the new one."""
        return self.target is not None or len(self.proba) == 2

    @property
    def wants_one_of_many(self) -> bool:
        """Whether a class is asked for where there are others to change to."""
        return self.target is not None and len(self.proba) > 2

    def flips(self, proba: Tensor) -> Tensor:
        """Where probabilities [candidates, C] are a change of class as asked [candidates]."""
        labels = proba.argmax(dim=1)
        changed = labels != self.label if self.target is None else labels == self.target
        return changed & ~proba.isnan().any(dim=1)

    def described(self, toggles: Tensor, proba: Tensor, robustness: Tensor | None = None) -> Flips:
        """What rankings may look at.

        Args:
            toggles: Pair ids of the flips [flips, width].
            proba: Class probabilities after them [flips, C].
            robustness: Share of noisy copies on which they flip [flips].
        """
        used = toggles != PAD
        likelihood = None
        if self.likelihood is not None:
            ids = toggles.clamp(min=0)
            chance = self.likelihood[ids]
            chance = torch.where(self.space.is_edge(ids), 1 - chance, chance) * used
            likelihood = chance.sum(dim=1) / used.sum(dim=1).clamp(min=1)
        fidelity = self.proba[self.label] - proba[:, self.label]
        return Flips(fidelity, used.sum(dim=1), proba, likelihood, robustness)


@dataclass(frozen=True, eq=False)
class Outcome:
    """What became of a block, sent back to the generator that proposed it.

    Attributes:
        proba: Class probabilities, NaN where a candidate was refused [candidates, C].
        flipped: Where the prediction changed as asked [candidates].
    """

    proba: Tensor
    flipped: Tensor


class Search:
    """Takes proposals, asks the oracle about them, and keeps the flips.

    Args:
        problem: The graph to explain.
        stop_after: So many flips end the search, None for no such end.
    """

    def __init__(self, problem: Problem, *, stop_after: int | None) -> None:
        self.problem = problem
        self.proposals = 0
        self.rejected = 0
        self._stop_after = stop_after
        self._stop_at_first = stop_after == 1
        self._toggles: list[Tensor] = []
        self._places: list[Tensor] = []
        self._proba: list[Tensor] = []
        self._rings: list[tuple[int, int | None]] = []
        self._asks_every_rule = False
        self._ordered: _Ordered | None = None
        self._tried_alone: list[Tensor] = []

    @property
    def is_finished(self) -> bool:
        """Whether as many flips are found as were wanted."""
        return self._stop_after is not None and sum(map(len, self._toggles)) >= self._stop_after

    def run(self, proposals: Iterable[Proposal]) -> None:
        """Take proposals until they end or the first flip suffices.

        Raises:
            BudgetExhausted: When the budget ends the search.
        """
        clock = self.problem.clock
        stream = iter(proposals)
        answer: Outcome | None = None
        problem = self.problem
        while not self.is_finished:
            reason = self.problem.oracle.out_of()
            if reason is not None:
                raise BudgetExhausted("the budget has run out.", reason=reason)
            with clock.stage("propose"):
                try:
                    proposal = _advance(stream, answer)
                except StopIteration:
                    return
            if not self._rings or self._rings[-1][1] != problem.ring:
                self._rings.append((self.proposals, problem.ring))
            answer = self.offer(proposal)

    def leave_rings(self) -> None:
        """What is asked about from now on belongs to no ring of the method's search."""
        self._rings.append((self.proposals, None))

    def _ring_at(self, place: int) -> int | None:
        """The ring a proposal was made in."""
        begun = [ring for start, ring in self._rings if start <= place]
        return begun[-1] if begun else None

    def offer(self, proposal: Proposal) -> Outcome:
        """Check a proposal against the constraints, ask the oracle, and note the flips.

        Raises:
            BudgetExhausted: When not every candidate could be asked about; what could is noted.
        """
        problem = self.problem
        with problem.clock.stage("check"):
            if isinstance(proposal, EditSet):
                proposal = ProposalBlock.from_edits([proposal], problem.space)
            toggles = proposal.normalised().toggles
            allowed = problem.allowed.check(toggles)
            everything = bool(allowed.all())
            asked = toggles if everything else toggles[allowed]
        with problem.clock.stage("oracle"):
            answers = problem.oracle.answer(problem.space, asked, fill=problem.fill)
        with problem.clock.stage("check"):
            if everything:
                proba = answers
            else:
                proba = torch.full((len(toggles), answers.size(1)), torch.nan)
                proba[allowed] = answers
            if toggles.size(1) == 1:
                self._tried_alone.append(toggles[~proba.isnan().any(dim=1)].flatten())
            flipped = self._note(toggles, proba)
            self.rejected += int((~allowed).sum())
            self.proposals += len(toggles)
        if bool(answers.isnan().any()) and not self.is_finished:
            raise problem.oracle.exhausted()
        return Outcome(proba, flipped)

    def _note(self, toggles: Tensor, proba: Tensor) -> Tensor:
        problem = self.problem
        flipped = problem.flips(proba)
        rows = flipped.nonzero().flatten()
        if problem.constraints.rules and rows.numel():
            flipped = self._by_the_rules(toggles, proba, rows)
            rows = flipped.nonzero().flatten()
        if self._stop_at_first:
            rows = self._first_confirmed(toggles, rows)
        if rows.numel():
            self._toggles.append(toggles[rows])
            self._places.append(rows + self.proposals)
            self._proba.append(proba[rows])
            self._ordered = None
        return flipped

    def _by_the_rules(self, toggles: Tensor, proba: Tensor, rows: Tensor) -> Tensor:
        """Which flips of a block every rule accepts [candidates].

        Rules are slow Python. In a block with many flips the surest are asked about first, and those
        that are not reached count as refused.
        """
        problem, block = self.problem, ProposalBlock(toggles)
        accepted = torch.zeros(len(toggles), dtype=torch.bool)
        if not self._stop_at_first:
            rows = rows[proba[rows, problem.label].argsort(stable=True)]
        hits = 0
        for asked, row in enumerate(rows.tolist()):
            # Until there is any answer every flip is asked about.
            enough = (asked >= _RULES_ASKED or hits >= _RULES_WANTED) and (hits or self._toggles)
            if enough and not (self._asks_every_rule or self._stop_at_first):
                break
            edits = block.edit_set(row, problem.space)
            if problem.constraints.rules_allow(problem.graph, edits):
                accepted[row] = True
                hits += 1
        return accepted

    def offer_subsets(self, policy: Ranking, *, most: int) -> None:
        """Ask about all smaller versions of the best flips, so that needless edits can be left out.

        When a flip is left out for a smaller one, others move up; theirs are asked about as well.

        Raises:
            BudgetExhausted: When the budget ends here; what was asked is noted.
        """
        reductions = Reductions()
        while any(part.size(1) > 1 for part in self._toggles):
            flips = self._in_order(policy)
            rows = flips.toggles[without_supersets(flips.order, flips.toggles, most=most)]
            fresh = reductions.fresh(rows) & ~self._are_known_pairs(rows)
            if not bool(fresh.any()):
                return
            self.offer(ProposalBlock(reductions.of(rows[fresh])))
            if self._ordered is flips:
                # Nothing smaller flips, so the best are the same.
                return

    def _are_known_pairs(self, rows: Tensor) -> Tensor:
        """Which candidates are pairs of edits that were both tried alone [candidates]."""
        if self.problem.constraints.rules or not self._tried_alone:
            # Not every flip of a block is put to rules; asking again makes up for it.
            return torch.zeros(len(rows), dtype=torch.bool)
        used = rows != PAD
        known = torch.isin(rows, torch.cat(self._tried_alone)) | ~used
        return known.all(dim=1) & (used.sum(dim=1) == 2)

    def certify(self, most: int) -> Certificate | None:
        """Try all edit sets that are smaller than the smallest flip, size by size.

        Args:
            most: Edit sets to try at most; a size that does not fit is not begun. Those that were
                tried before cost nothing and count all the same.

        Returns:
            Up to which size there is nothing, None if not even that of one edit could be tried. What
            flips on the way is noted, as always.
        """
        allowed, tried = self.problem.allowed, []
        self._asks_every_rule = True
        with suppress(BudgetExhausted):
            for size in range(1, allowed.max_edits + 1):
                if size >= self._smallest():
                    break
                level = Level.of(
                    size,
                    allowed.removals,
                    allowed.additions,
                    max_removed=allowed.max_removed,
                    max_added=allowed.max_added,
                )
                count, refused = sum(level.counts), self.rejected
                if count > most:
                    break
                most -= count
                for ranks in torch.arange(count).split(_CERTIFIED_AT_ONCE):
                    self.offer(ProposalBlock(level.toggles(ranks)))
                tried.append(count - (self.rejected - refused))
        self._asks_every_rule = False
        below = int(min(len(tried) + 1, self._smallest()))
        if below == 1 and self._smallest() > 1:
            return None
        return Certificate(below, tuple(tried[: below - 1]))

    def _smallest(self) -> float:
        """Edits of the smallest flip so far."""
        sizes = [int((part != PAD).sum(dim=1).min()) for part in self._toggles]
        return min(sizes, default=math.inf)

    def _in_order(self, policy: Ranking) -> _Ordered:
        """Flips without repeats and their order; worked out again only when there are more."""
        if self._ordered is None or self._ordered.policy is not policy:
            width = max(part.size(1) for part in self._toggles)
            toggles = torch.cat([widened(part, width) for part in self._toggles])
            distinct = first_occurrences(candidate_keys(toggles))
            toggles = toggles[distinct]
            places, proba = torch.cat(self._places)[distinct], torch.cat(self._proba)[distinct]
            scores = self._scores(policy, toggles, proba)
            order = best_first(scores, toggles)
            self._ordered = _Ordered(policy, toggles, places, proba, scores, order)
        return self._ordered

    def _first_confirmed(self, toggles: Tensor, rows: Tensor) -> Tensor:
        """The first flip that also flips on the really edited graph, which ends the search."""
        problem, block = self.problem, ProposalBlock(toggles)
        for row in rows.tolist():
            edits = block.edit_set(row, problem.space)
            edited = apply_edits(problem.space, edits, fill=problem.fill)
            problem.clock.add_calls("verify", 1)
            if bool(problem.flips(checked_proba(problem.oracle.oracle, [edited]))[0]):
                return torch.tensor([row])
        return rows[:0]

    def counterfactuals(
        self, policy: Ranking, choice: Choice, *, minimal: bool = False
    ) -> tuple[list[Counterfactual], int]:
        """The best flips, best first, each re-checked on the really edited graph.

        Args:
            policy: How flips are scored.
            choice: How many, how different and how robust. Where `choice.keep` leaves room for more
                than one, the first one found is among them.
            minimal: Whether flips that contain a smaller flip are left out; the first one found then
                comes last if it does.

        Returns:
            The counterfactuals, and how many distinct flips there were in all.
        """
        if not self._toggles:
            return [], 0
        problem, ranked_only, most = self.problem, choice.number is None, choice.most
        with problem.clock.stage("rank"):
            ordered = self._in_order(policy)
            toggles, places, proba = ordered.toggles, ordered.places, ordered.proba
            scores, order = ordered.scores, ordered.order
            if minimal:
                wanted = most + 10 if ranked_only else max(LOOKED_AT, most)
                wanted = max(wanted, NOISED) if choice.robust else wanted
                order = without_supersets(order, toggles, most=wanted)
            wordy_first = minimal and ranked_only and not bool((order == 0).any())
            if ranked_only:
                order = _with_first(order, most)
        shares: Tensor | None = None
        if choice.robust:
            order = order[: max(NOISED, most)]
            shares = torch.full((len(toggles),), torch.nan)
            shares[order] = self._robustness(toggles[order], choice)
            scores = torch.full((len(toggles),), torch.nan)
            scores[order] = _weighed(
                self._scores(policy, toggles[order], proba[order], shares[order]), shares[order]
            )
            order = order[best_first(scores[order], toggles[order])]
            order = _with_first(order, most) if ranked_only else order
        flips = _Flipped(toggles, places, shares)
        if ranked_only:
            verified = self._first_verified(policy, flips, order, most)
        else:
            order = order[: max(LOOKED_AT, most)]
            verified = self._different_verified(policy, flips, order, scores[order], choice)
        if wordy_first:
            verified.sort(key=lambda entry: entry.found_at == int(places[0]))
        return verified, len(toggles)

    def _scores(
        self, policy: Ranking, toggles: Tensor, proba: Tensor, shares: Tensor | None = None
    ) -> Tensor:
        return rate(policy, self.problem.described(toggles, proba, shares))

    def _robustness(self, toggles: Tensor, choice: Choice) -> Tensor:
        """On what share of noisy copies flips still flip [flips]."""
        problem = self.problem
        with problem.clock.stage("noise"):
            shares, calls = robustness(
                problem.oracle.oracle,
                problem.space,
                toggles,
                choice,
                flips=problem.flips,
                fill=problem.fill,
            )
        problem.clock.add_calls("noise", calls)
        return shares

    def _first_verified(
        self, policy: Ranking, flips: _Flipped, order: Tensor, keep: int
    ) -> list[Counterfactual]:
        """Ask about hard graphs, best candidates first, until enough are confirmed."""
        confirmed: list[_Confirmed] = []
        for part in order.split(max(1, keep)):
            if len(confirmed) >= keep:
                break
            confirmed += self._confirmed(flips, part)
        return self._entries(policy, flips, confirmed[:keep])

    def _different_verified(
        self, policy: Ranking, flips: _Flipped, order: Tensor, scores: Tensor, choice: Choice
    ) -> list[Counterfactual]:
        """Choose different ones; when one is not confirmed, choose again without it."""
        known: dict[int, _Confirmed | None] = {}
        while True:
            chosen = order[
                diverse(
                    scores, flips.toggles[order], number=choice.most, diversity=choice.diversity
                )
            ]
            fresh = [row for row in chosen.tolist() if row not in known]
            if not fresh:
                entries = (known[row] for row in chosen.tolist())
                return self._entries(policy, flips, [entry for entry in entries if entry])
            known |= dict.fromkeys(fresh)
            known |= {entry[0]: entry for entry in self._confirmed(flips, torch.tensor(fresh))}
            stays = torch.tensor([known.get(row, True) is not None for row in order.tolist()])
            order, scores = order[stays], scores[stays]

    def _confirmed(self, flips: _Flipped, rows: Tensor) -> list[_Confirmed]:
        """Those of some flips that flip on the really edited graph too."""
        problem = self.problem
        if not rows.numel():
            return []
        with problem.clock.stage("verify"):
            toggles = flips.toggles[rows]
            graphs = toggle_pairs(problem.space, toggles, fill=problem.fill)
            proba = checked_proba(problem.oracle.oracle, graphs)
            problem.clock.add_calls("verify", len(graphs))
            edits = ProposalBlock(toggles).edit_sets(problem.space)
            hits = zip(rows.tolist(), edits, proba, problem.flips(proba).tolist(), strict=True)
            return [(row, edits, probs) for row, edits, probs, hit in hits if hit]

    def _entries(
        self, policy: Ranking, flips: _Flipped, confirmed: list[_Confirmed]
    ) -> list[Counterfactual]:
        """Confirmed flips as counterfactuals, best first."""
        if not confirmed:
            return []
        problem = self.problem
        rows = torch.tensor([row for row, _, _ in confirmed])
        proba = torch.stack([probs for _, _, probs in confirmed])
        shares = None if flips.shares is None else flips.shares[rows]
        scores = self._scores(policy, flips.toggles[rows], proba, shares)
        fidelity = (problem.proba[problem.label] - proba[:, problem.label]).tolist()
        places = flips.places[rows].tolist()
        shown = [None] * len(rows) if shares is None else shares.tolist()
        columns = zip(
            confirmed, proba.tolist(), fidelity, scores.tolist(), places, shown, strict=True
        )
        entries = [
            Counterfactual(
                edits=edits,
                proba=tuple(after),
                fidelity=fall,
                score=score,
                found_at=place,
                ring=self._ring_at(place),
                robustness=share,
            )
            for (_, edits, _), after, fall, score, place, share in columns
        ]
        ranks = scores if shares is None else _weighed(scores, shares)
        return [entries[i] for i in best_first(ranks, flips.toggles[rows]).tolist()]


_Confirmed: TypeAlias = tuple[int, EditSet, Tensor]
"""Which flip, its edits, and the probabilities of the really edited graph."""


@dataclass(frozen=True, eq=False)
class _Ordered:
    """Distinct flips in the order found, their scores by a policy, and which comes first by them."""

    policy: Ranking
    toggles: Tensor
    places: Tensor
    proba: Tensor
    scores: Tensor
    order: Tensor


@dataclass(frozen=True, eq=False)
class _Flipped:
    """Distinct flips: pair ids, when they were proposed, and their robustness where looked at."""

    toggles: Tensor
    places: Tensor
    shares: Tensor | None


def _weighed(scores: Tensor, shares: Tensor) -> Tensor:
    """Scores times robustness; a score below 0 gets no better by it."""
    return torch.where(scores > 0, scores * shares, scores)


def _advance(stream: Iterator[Proposal], answer: Outcome | None) -> Proposal:
    """The next proposal; a generator is told what became of its last one."""
    if answer is not None and isinstance(stream, Generator):
        proposal: Proposal = stream.send(answer)
        return proposal
    return next(stream)


# Candidates of a certificate that are asked about at once.
_CERTIFIED_AT_ONCE = 4096

# Of one block's flips so many are put to rules at most, and no more when so many were accepted.
_RULES_ASKED, _RULES_WANTED = 400, 100


def _with_first(order: Tensor, keep: int) -> Tensor:
    """The order with the first flip, entry 0, moved up to the last place that is kept."""
    if keep < 2 or bool((order[:keep] == 0).any()):
        return order
    rest = order[order != 0]
    return torch.cat([rest[: keep - 1], torch.zeros(1, dtype=torch.long), rest[keep - 1 :]])


def frozen(oracle: Any) -> Any:
    """The oracle's own context for evaluation mode, when it has one."""
    return oracle.frozen() if hasattr(oracle, "frozen") else nullcontext()


def check_proposals(proposals: object, method: str) -> Iterable[Proposal]:
    """Refuse a `_propose` that forgot to yield."""
    if not isinstance(proposals, Iterable):
        raise EdgeflipError(
            f"expected _propose of '{method}' to yield edit sets or blocks, got {type(proposals).__name__}."
        )
    return proposals
