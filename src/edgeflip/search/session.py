"""One search: a method asks about candidates; what reaches the goal is kept. The same for every method."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, TypeAlias

import torch
from torch import Tensor

from edgeflip.core import Edits, FactualSubgraph, Level, padded
from edgeflip.errors import EditError
from edgeflip.oracle import Budget, MeteredOracle, SearchEnded, checked_answers
from edgeflip.search.asked import AskedLog, in_short
from edgeflip.search.flips import FlipStore, count_moves
from edgeflip.search.minimal import Reductions
from edgeflip.search.outcome import Outcome
from edgeflip.search.problem import GoalT, Problem, SpaceT
from edgeflip.search.ranking import (
    SCORE_DECIMALS,
    Flips,
    Ranking,
    SizeWeightedFidelity,
    highest_score,
    rate,
)
from edgeflip.search.selection import Selection
from edgeflip.search.timing import StageClock
from edgeflip.search.trace import Step

# Of one block's flips so many are put to rules at most, and no more when so many were accepted.
_RULES_ASKED, _RULES_WANTED = 400, 100

# So many of the best flips are looked at for needless moves together.
_REDUCED_AT_ONCE = 64

Watch: TypeAlias = Callable[[Step], object]
"""Called with every step of a search; returns False to end it."""


class Search(Generic[SpaceT, GoalT]):
    """One input, one goal, one budget: asks, keeps what reached the goal, ends.

    A method calls `ask` and looks at what came. The end is `SearchEnded`, raised by whatever asks;
    methods let it pass.

    Args:
        problem: The input and the goal.
        budget: How much may be spent.
        ranking: How flips are scored.
        selection: Which of them the call wants.
        stops_at_first: Whether as few flips as the selection wants end the search.
        minimal: Whether flips with needless moves will be left out.
        watch: Called with every step.
        until_found: What may be spent until anything is found, where that is less than the budget: the
            rest is left for another try.

    Attributes:
        problem: The input and the goal; `space`, `goal` and `output` are its parts.
        oracle: The metered oracle, for factual explainers and methods that look through it.
        clock: Time and oracle calls per stage.
        notes: What the method wants kept with the answer; see `note`.
        prepared: What the method's `_prepare` learned for this input.
        factual: The part that carries the prediction, for methods that find one.
        likelihoods: How likely each move of `space.allowed` is, for methods that know [moves].
        ring: How far from its first candidates a method that widens its search is now.
        tried: How many allowed sets of cost 1, of cost 2 and so on there are, all of them tried, for
            methods that try all of a cost; None for others.
        proposals: Candidates so far.
        rejected: Of these, how many were not allowed.
        asked: The outputs that came back, block by block.
    """

    def __init__(
        self,
        problem: Problem[SpaceT, GoalT],
        *,
        budget: Budget | None = None,
        ranking: Ranking | None = None,
        selection: Selection | None = None,
        stops_at_first: bool = False,
        minimal: bool = False,
        watch: Watch | None = None,
        until_found: Budget | None = None,
    ) -> None:
        self.problem = problem
        self.space: SpaceT = problem.space
        self.goal: GoalT = problem.goal
        self.output = problem.output
        self.oracle = MeteredOracle(problem.oracle, budget, space=problem.space, ends_search=True)
        self._budget = self.oracle.budget
        if until_found is not None:
            self.oracle.budget = until_found.over(self._budget)
        self.clock = StageClock(self.oracle)
        self.ranking: Ranking = ranking or SizeWeightedFidelity()
        self.selection = selection or Selection()
        self.minimal = minimal
        self.notes: dict[str, Any] = {}
        self.prepared: Any = None
        self.factual: FactualSubgraph | None = None
        self.likelihoods: Tensor | None = None
        self.ring: int | None = None
        self.tried: list[int] | None = None
        self.proposals = self.rejected = 0
        self.store = FlipStore(self.scores, problem.space, minimal=minimal)
        self._stop_after = self.selection.enough if stops_at_first else None
        self._watch = watch
        self.oracle.on_asked = None if watch is None else self._tell
        # From where it starts: questions before the first candidate bring it no nearer.
        self._nearest = -math.inf if watch is None else self._margin(problem.output[None])
        self._closing = False
        self._ceilings: dict[tuple[int, int | None], float] = {}
        self._reductions = Reductions()
        self._tried_alone: list[Tensor] = []
        self._rings: list[tuple[int, int | None]] = []
        self.asked = AskedLog()
        self.asks_every_rule = False

    def __repr__(self) -> str:
        """What is searched, and how far it has come."""
        return (
            f"Search({self.space.kind!r} for {self.goal.wanted}, asked={len(self.asked)}, "
            f"found={len(self.store)})"
        )

    # What a method calls.

    def ask(self, candidates: Tensor | Sequence[Edits]) -> Outcome:
        """Ask the oracle about candidates, and keep those that reach the goal.

        Args:
            candidates: Rows of move ids, padded with -1 [candidates, width], or edits.

        Raises:
            SearchEnded: When the budget is used up or enough was found; what was found is kept.
        """
        self.oracle.refuse_if_ended()
        outcome, complete = self.take(candidates)
        if self.is_finished:
            raise self.oracle.end("enough_flips" if self.wants_many else "first_flip")
        if not complete:
            raise self.oracle.exhausted()
        self.check()
        return outcome

    def probe(self, rows: Tensor, *, partly: bool = False) -> Tensor:
        """The oracle's outputs of candidates that are not meant as answers [candidates, columns].

        They are counted, for the stage at hand, and remembered, but neither checked against constraints
        nor kept.

        Args:
            rows: Rows of move ids [candidates, width].
            partly: Whether outputs may be NaN where the budget does not reach.

        Raises:
            SearchEnded: When the budget does not reach, unless `partly`.
        """
        self.oracle.refuse_if_ended()
        outputs = self.oracle.answer(self.space, self.space.normalise(rows))
        if not partly and bool(outputs.isnan().any()):
            raise self.oracle.exhausted()
        self.oracle.tell()
        return outputs

    def check(self) -> None:
        """Raise `SearchEnded` when time or calls are used up; for long work between questions."""
        self.oracle.check()

    def note(self, **notes: Any) -> None:
        """Keep figures with the answer, such as how many candidates there were."""
        self.notes.update(notes)

    def stage(self, name: str) -> AbstractContextManager[None]:
        """Count the time and calls of a block for a stage."""
        return self.clock.stage(name)

    def rng(self, name: str) -> random.Random:
        """Random numbers for one purpose; see `Problem.rng`."""
        return self.problem.rng(name)

    def generator(self, name: str) -> torch.Generator:
        """The same for torch."""
        return self.problem.generator(name)

    # What is known so far.

    @property
    def found(self) -> bool:
        """Whether anything reached the goal."""
        return len(self.store) > 0

    @property
    def best_score(self) -> float:
        """The best score among flips that will stay, as scores are compared; −∞ when there is none."""
        return self.store.leader()[1]

    @property
    def smallest(self) -> float:
        """What the smallest flip costs."""
        return self.store.smallest

    @property
    def wants_many(self) -> bool:
        """Whether flips beside the best one matter, so that a good one should not end the search."""
        return self.selection.wants_many

    def ceiling(self, least: int, largest: int | None = None) -> float:
        """What no set of this cost or more can score above; infinite where several answers are wanted.

        Args:
            least: The smallest cost.
            largest: The largest cost there will be; by default what the space allows.
        """
        if self.wants_many:
            return math.inf
        key = (least, largest)
        if key not in self._ceilings:
            last = self.space.max_cost if largest is None else largest
            sizes = torch.arange(least, max(least, last) + 1)
            falls = torch.full((len(sizes),), self.goal.ceiling)
            self._ceilings[key] = round(highest_score(self.ranking, falls, sizes), SCORE_DECIMALS)
        return self._ceilings[key]

    def ask_smaller(self) -> bool:
        """Ask about smaller versions of the best flips, so that needless moves show.

        Returns:
            Whether there were any: not when those of the best one are known.
        """
        leader, _ = self.store.leader()
        if not self.minimal or int((leader >= 0).sum()) < 2:
            return False
        flips, _ = self.store.best(_REDUCED_AT_ONCE)
        fresh = self._reductions.fresh(flips)
        if not bool(fresh[0]):
            return False
        self.ask(self._reductions.of(flips[fresh]))
        return True

    def features(self, rows: Tensor, outputs: Tensor, shares: Tensor | None = None) -> Flips:
        """What rankings may look at.

        Args:
            rows: Moves of the flips [flips, width].
            outputs: Outputs after them [flips, columns].
            shares: Share of noisy copies on which they reach the goal [flips].
        """
        likelihood = None
        if self.likelihoods is not None:
            used = rows >= 0
            indices = torch.searchsorted(self.space.allowed, rows.clamp(min=0))
            chance = self.likelihoods[indices.clamp(max=len(self.likelihoods) - 1)] * used
            likelihood = chance.sum(dim=1) / used.sum(dim=1).clamp(min=1)
        return Flips(
            fidelity=self.goal.fall(outputs),
            size=self.space.costs(rows).sum(dim=1),
            outputs=outputs,
            margin=self.goal.decidedness(outputs),
            likelihood=likelihood,
            robustness=shares,
        )

    # What runs a search and closes it.

    @property
    def is_finished(self) -> bool:
        """Whether as many flips are found as were wanted."""
        return self._stop_after is not None and len(self.store) >= self._stop_after

    @property
    def ended(self) -> SearchEnded | None:
        """The end, once the search is over."""
        return self.oracle.ended

    def follow(self, earlier: Search[SpaceT, GoalT]) -> None:
        """Go on after another search for the same input.

        What that one spent counts here, and what it was told is known.
        """
        self.oracle.follow(earlier.oracle, earlier.space, self.space)
        for name, stage in earlier.clock.stages().items():
            self.clock.add(name, stage)
        self.proposals, self.rejected = earlier.proposals, earlier.rejected
        self.asked, self._nearest = earlier.asked, earlier._nearest
        self._rings = list(earlier._rings)

    def release(self) -> None:
        """Let the whole budget be spent."""
        self.oracle.budget = self._budget

    def begin_closing(self) -> None:
        """What is asked about from now on belongs to no ring, and no end is in its way."""
        self.release()
        self._closing = True
        self._rings.append((self.proposals, None))

    def take(self, candidates: Tensor | Sequence[Edits]) -> tuple[Outcome, bool]:
        """Ask about candidates whether or not the search has ended.

        Returns:
            What became of them, and whether the budget reached all of them.
        """
        space, clock = self.space, self.clock
        if not self._closing and (not self._rings or self._rings[-1][1] != self.ring):
            self._rings.append((self.proposals, self.ring))
        with clock.stage("check"):
            rows = space.normalise(self._rows(candidates))
            allowed = space.check(rows)
            everything = bool(allowed.all())
            asked = rows if everything else rows[allowed]
            with clock.stage("oracle"):
                answers = self.oracle.answer(space, asked)
            complete = not bool(answers.isnan().any())
            outputs = answers
            if not everything:
                outputs = torch.full((len(rows), answers.size(1)), torch.nan)
                outputs[allowed] = answers
                self.rejected += int((~allowed).sum())
            if rows.size(1) == 1:
                whole = everything and complete
                known = rows if whole else rows[~outputs.isnan().any(dim=1)]
                self._tried_alone.append(known.flatten())
            reached = self._keep(rows, outputs)
            # Where the time was up among the rules, not every flip was put to them.
            complete = complete and not (space.has_rules and self.oracle.out_of() == "timeout")
            self.proposals += len(rows)
        self._record(answers)
        return Outcome(outputs, reached), complete

    def _rows(self, candidates: Tensor | Sequence[Edits]) -> Tensor:
        """Candidates as rows of ids, or a sentence why they are none."""
        if not isinstance(candidates, Tensor):
            try:
                return padded([self.space.row(edits) for edits in candidates])
            except (TypeError, AttributeError):
                pass
        elif candidates.dim() == 2 and not candidates.is_floating_point():
            return candidates
        got = (
            list(candidates.shape) if isinstance(candidates, Tensor) else type(candidates).__name__
        )
        raise EditError(
            "expected candidates as rows of move ids [candidates, width], padded with -1, or as a list of "
            f"edits, got {got}; a row for every single move is search.space.allowed[:, None]."
        )

    def ring_at(self, index: int) -> int | None:
        """The ring a candidate was proposed in."""
        begun = [ring for start, ring in self._rings if start <= index]
        return begun[-1] if begun else None

    def were_tried_alone(self, rows: Tensor) -> Tensor:
        """Which candidates are two moves that were both tried alone [candidates]."""
        if self.space.has_rules or not self._tried_alone:
            # Not every flip of a block is put to rules; asking again makes up for it.
            return torch.zeros(len(rows), dtype=torch.bool)
        used = rows >= 0
        known = torch.isin(rows, torch.cat(self._tried_alone)) | ~used
        return known.all(dim=1) & (count_moves(rows) == 2)

    def tried_all_alone(self, level: Level) -> bool:
        """Whether every set of a level of single moves was asked about, and none was refused."""
        if self.space.has_rules or not self._tried_alone:
            return False
        rows, known = level.rows(torch.arange(level.count)), torch.cat(self._tried_alone)
        return rows.size(1) == 1 and bool(torch.isin(rows, known).all())

    def steps(self) -> tuple[Step, ...]:
        """How near the search came as it went on: a step wherever that changed."""
        return self.asked.steps(self.goal, self.output)

    def _record(self, answers: Tensor) -> None:
        if not len(answers):
            return
        ring = None if self._closing else self.ring
        self.asked.add(self.oracle.calls, ring, self.smallest, answers)
        if self._watch is not None and not self._closing:
            self._nearest = max(self._nearest, self._margin(answers))
            self._tell()

    def _tell(self) -> None:
        """Let whoever watches know where the search stands; he may end it."""
        if self._watch is None or self._closing:
            return
        smallest = None if math.isinf(self.smallest) else int(self.smallest)
        if self._watch(Step(self.oracle.calls, self._nearest, smallest, self.ring)) is False:
            self.oracle.end("cancelled", told=False)

    def _margin(self, outputs: Tensor) -> float:
        """The best margin of some outputs, −∞ if there is none."""
        margins = self.goal.margins(outputs).nan_to_num(nan=-math.inf)
        return in_short(float(margins.max())) if margins.numel() else -math.inf

    def scores(self, rows: Tensor, outputs: Tensor, shares: Tensor | None = None) -> Tensor:
        """Scores of flips, see `features` [flips]."""
        if not hasattr(self.ranking, "rate"):
            # Most rankings look at two figures alone.
            return self.ranking(self.goal.fall(outputs), self.space.costs(rows).sum(dim=1))
        return rate(self.ranking, self.features(rows, outputs, shares))

    def _keep(self, rows: Tensor, outputs: Tensor) -> Tensor:
        """Store what reached the goal; where that is [candidates]."""
        reached = self.goal.reached(outputs)
        indices = reached.nonzero().flatten()
        if self.space.has_rules and indices.numel():
            reached = self._by_the_rules(rows, outputs, indices)
            indices = reached.nonzero().flatten()
        if self._stop_after == 1:
            indices = self._first_confirmed(rows, indices)
        if indices.numel():
            self.store.add(rows[indices], indices + self.proposals, outputs[indices])
            self.release()
        return reached

    def _by_the_rules(self, rows: Tensor, outputs: Tensor, indices: Tensor) -> Tensor:
        """Which flips of a block every rule accepts [candidates].

        Rules are slow Python. In a block with many flips the surest are asked about first, and those
        that are not reached count as refused.
        """
        accepted = torch.zeros(len(rows), dtype=torch.bool)
        if self._stop_after != 1:
            falls = self.goal.fall(outputs[indices])
            indices = indices[falls.argsort(descending=True, stable=True)]
        hits = 0
        for asked, index in enumerate(indices.tolist()):
            # Until there is any answer every flip is asked about.
            enough = (asked >= _RULES_ASKED or hits >= _RULES_WANTED) and (hits or self.found)
            if enough and not (self.asks_every_rule or self._stop_after == 1):
                break
            if self.oracle.out_of() == "timeout":
                self.oracle.cut_by_clock = True
                break
            if self.space.rules_allow(rows[index]):
                accepted[index] = True
                hits += 1
        return accepted

    def _first_confirmed(self, rows: Tensor, indices: Tensor) -> Tensor:
        """The first flip that also reaches the goal on the really edited input, which ends the search."""
        for index in indices.tolist():
            edited = [graph.clone() for graph in self.space.apply(rows[index][None])]
            self.clock.add_calls("verify", 1)
            if bool(self.goal.reached(checked_answers(self.problem.oracle, edited))[0]):
                return torch.tensor([index])
        return indices[:0]
