"""Asking within limits: budgets, counting, remembering."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final, Literal, TypeAlias, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import AnswerStore, EditSpace, PairEdits, PairSpace, candidate_keys
from edgeflip.errors import BudgetExhausted, ConfigError, EdgeflipError, OracleError, shown
from edgeflip.oracle.model import ModelOracle
from edgeflip.oracle.outputs import is_distribution, one_line
from edgeflip.oracle.protocols import EditOracle, Oracle, ValueOracle, gives_values
from edgeflip.support import is_too_large, plain_number

_Ids: TypeAlias = npt.NDArray[np.int64]

# Candidates asked about between two looks at the clock, when the oracle names no batch size.
_TURN = 1024


class Own(Enum):
    """What a limit is that nobody named; see `OWN`."""

    LIMIT = "the method's own"

    def __repr__(self) -> str:
        """What it stands for."""
        return f"<{self.value}>"


OWN: Final = Own.LIMIT
"""The limit of a budget that does not name it: what the method has in its settings."""


@dataclass(frozen=True)
class Budget:
    """How much one call to `explain` may spend. A limit that is not named is the method's own.

    Attributes:
        oracle_calls: Graphs the search may ask the oracle about, None for no limit. Reading the
            input's own label, re-checking the answers and trying them on noisy copies come on top
            and are counted apart.
        seconds: A deadline as a safety net, None for no limit. Calls are reproducible, seconds are
            not: two runs that end on the deadline may differ.

    Example:
        >>> Budget(seconds=120)
        Budget(oracle_calls=<the method's own>, seconds=120)
        >>> Budget(seconds=120).over(Budget(oracle_calls=1_000_000, seconds=60))
        Allowance(oracle_calls=1000000, seconds=120)
    """

    oracle_calls: int | Own | None = OWN
    seconds: float | Own | None = OWN

    def __post_init__(self) -> None:
        """Refuse negative limits."""
        for name in ("oracle_calls", "seconds"):
            limit = plain_number(getattr(self, name))
            if limit is OWN or limit is None:
                continue
            object.__setattr__(self, name, limit)
            kinds = int if name == "oracle_calls" else int | float
            whole = isinstance(limit, kinds) and not isinstance(limit, bool)
            # No clock and no counter can be compared with a number of more than 64 bits.
            if not (whole and 0 <= limit < float("inf")) or is_too_large(limit):
                raise ConfigError(
                    f"expected {name} of 0 or more, or None for no limit, got {shown(limit)}; write "
                    f"Budget({name}=60)."
                )

    def over(self, default: Budget) -> Allowance:
        """The limits in numbers: what this budget leaves open is the default's, then nobody's."""
        calls, seconds = self.oracle_calls, self.seconds
        calls = default.oracle_calls if isinstance(calls, Own) else calls
        seconds = default.seconds if isinstance(seconds, Own) else seconds
        return Allowance(
            None if isinstance(calls, Own) else calls,
            None if isinstance(seconds, Own) else seconds,
        )


@dataclass(frozen=True)
class Allowance(Budget):
    """A budget with every limit in numbers, None for no limit."""

    oracle_calls: int | None = None
    seconds: float | None = None


class MeteredOracle:
    """An oracle that counts, remembers, and stops at a budget.

    Args:
        oracle: The oracle to ask.
        budget: How many graphs may be asked about, and for how long; what it does not name has no limit.
        space: The space of the search, when it belongs to one; see `space_of`.
        ends_search: Whether a budget that has run out raises `SearchEnded`, which only the search
            catches, in place of `BudgetExhausted`.

    Attributes:
        calls: Graphs asked about so far; remembered answers are free.
        ended: The `SearchEnded` of the search, once it is over; every later question raises it.
        asked_late: Whether somebody was told of the end and asked all the same.
        cut_by_clock: Whether the deadline left a question without an answer.
        on_asked: Called after every question of a factual explainer or a method that looks ahead.
    """

    def __init__(
        self,
        oracle: AnyOracle,
        budget: Budget | None = None,
        *,
        space: EditSpace | None = None,
        ends_search: bool = False,
    ) -> None:
        # By hand: every graph that is explained has a meter of its own.
        if budget is not None and not isinstance(budget, Budget):
            raise ConfigError(
                f"expected a budget such as Budget(oracle_calls=5_000), got {type(budget).__name__}; import "
                "it from edgeflip."
            )
        self.oracle: Any = oracle
        wanted = Budget() if budget is None else budget
        self.budget = wanted if isinstance(wanted, Allowance) else wanted.over(Allowance())
        self.calls = 0
        self.cut_by_clock = False
        self.on_asked: Callable[[], None] | None = None
        self.space = space
        self.ended: SearchEnded | None = None
        self.asked_late = self._told = False
        self._ends_search = ends_search
        self._answers_edits = hasattr(oracle, "predict_edits")
        self._started = time.perf_counter()
        self._turn = 64 if getattr(oracle, "is_small", False) else 16
        self._stores: dict[int, tuple[EditSpace, AnswerStore]] = {}
        self._expected: tuple[EditSpace, AnswerStore] | None = None

    def __repr__(self) -> str:
        """The oracle, what was asked and what may be."""
        return f"MeteredOracle({self.oracle!r}, calls={self.calls}, {self.budget})"

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        number: int = self.oracle.num_classes
        return number

    @property
    def num_outputs(self) -> int:
        """Columns of an answer."""
        return outputs_of(self.oracle)

    @property
    def remaining(self) -> float:
        """Graphs that may still be asked about."""
        limit = self.budget.oracle_calls
        return float("inf") if limit is None else limit - self.calls

    def out_of(self) -> Literal["timeout", "out_of_calls"] | None:
        """Which part of the budget has run out, if any."""
        seconds = self.budget.seconds
        if seconds is not None and self.elapsed >= seconds:
            return "timeout"
        return "out_of_calls" if self.remaining <= 0 else None

    @property
    def elapsed(self) -> float:
        """Seconds since its clock was started."""
        return time.perf_counter() - self._started

    def expect(self, space: EditSpace, rows: Tensor, answers: Tensor) -> None:
        """Take answers that were asked for beside those of others; they count when they are asked for here.

        Args:
            space: What is edited.
            rows: Normalised candidates [rows, width].
            answers: What the oracle says of them [rows, columns].
        """
        keys = candidate_keys(rows).numpy()
        order = keys.argsort(kind="stable")
        store = AnswerStore(self.num_outputs)
        store.add(keys[order], answers.numpy()[order])
        self._expected = (space, store)

    def restart(self, spent: float = 0.0) -> None:
        """Start the deadline's clock again, as if some seconds had been spent already."""
        self._started = time.perf_counter() - spent

    def follow(self, earlier: MeteredOracle, known: EditSpace, space: EditSpace) -> None:
        """Go on after another search: its calls and its time count, and what it was told is free.

        Args:
            earlier: The oracle of that search.
            known: What it edited.
            space: What is edited now, by the same moves on the same input.
        """
        self.calls, self._started, self._turn = earlier.calls, earlier._started, earlier._turn
        late = earlier.ended is not None and earlier.ended.reason == "timeout"
        self.cut_by_clock = earlier.cut_by_clock or late
        if id(known) in earlier._stores:
            self._stores[id(space)] = (space, earlier._stores[id(known)][1])

    def end(self, reason: str, *, told: bool = True) -> SearchEnded:
        """End the search; the first reason stays.

        Args:
            reason: Why, as `Trace.stopped_by` says it.
            told: Whether the caller raises what it gets.
        """
        self.ended = self.ended or SearchEnded(reason)
        self._told = self._told or told
        return self.ended

    def refuse_if_ended(self) -> None:
        """Raise the end of the search again, if it is over."""
        if self.ended is not None:
            self.asked_late = self.asked_late or self._told
            self._told = True
            raise self.ended

    def tell(self) -> None:
        """Let whoever watches know that something was asked."""
        if self.on_asked is not None:
            self.on_asked()

    def check(self) -> None:
        """Raise when the budget has run out; for long work between questions."""
        self.refuse_if_ended()
        if self.out_of() is not None:
            raise self.exhausted()

    def spend(self, passes: int) -> None:
        """Count passes of the model that are made in another way; raises when so many are not left."""
        self.check()
        if passes > self.remaining:
            raise self.exhausted()
        self.calls += passes

    def predict_proba(self, graphs: Sequence[Data]) -> Tensor:
        """Class probabilities [len(graphs), C]; raises `BudgetExhausted` when they do not fit."""
        self.refuse_if_ended()
        if self.out_of() == "timeout" or len(graphs) > self.remaining:
            raise self.exhausted()
        self.calls += len(graphs)
        answers = checked_answers(self.oracle, graphs)
        self.tell()
        return answers

    def predict_edits(self, space: EditSpace, rows: Tensor) -> Tensor:
        """Answers about edited inputs [rows, C]; raises `BudgetExhausted` when they do not fit."""
        self.refuse_if_ended()
        answers = self.answer(space, rows)
        if bool(answers.isnan().any()):
            raise self.exhausted()
        self.tell()
        return answers

    def answer(self, space: EditSpace, rows: Tensor) -> Tensor:
        """Outputs of as many candidates, in order, as the budget allows.

        Every distinct candidate is asked about once; repeats are answered from memory.

        Args:
            space: What is edited; the same moves in another space are another question.
            rows: Normalised candidates [rows, width].

        Returns:
            Outputs [rows, C], NaN where the budget did not reach.
        """
        store = self._store_of(space)
        all_keys = candidate_keys(rows).numpy()
        # A stable order: equal keys stand together, and the first of each leads.
        order = all_keys.argsort(kind="stable")
        keys = all_keys[order]
        known, found = store.find(keys)
        answers = np.empty_like(found)
        answers[order] = found
        if known.all():
            return torch.from_numpy(answers)
        leads = np.ones(len(keys), dtype=np.bool_)
        leads[1:] = keys[1:] != keys[:-1]
        asked = np.zeros(len(keys), dtype=np.bool_)
        asked[order] = leads & ~known
        indices = asked.nonzero()[0]
        indices = indices[: int(min(self.remaining, len(indices)))]
        done = self._ask_in_turn(space, rows, indices, torch.from_numpy(answers))
        asked[:] = False
        asked[indices[:done]] = True
        fresh = order[asked[order]]
        store.add(all_keys[fresh], answers[fresh])
        repeats = ~leads & ~known
        if repeats.any():
            leader = np.maximum.accumulate(np.where(leads, np.arange(len(keys)), 0))
            answers[order[repeats]] = answers[order[leader[repeats]]]
        return torch.from_numpy(answers)

    def _store_of(self, space: EditSpace) -> AnswerStore:
        known = self._stores.get(id(space))
        if known is None:
            known = self._stores[id(space)] = (space, AnswerStore(self.num_outputs))
        return known[1]

    def remembered(self, space: EditSpace, rows: Tensor) -> Tensor | None:
        """Outputs of candidates that were all asked about before, None otherwise [rows, C]."""
        return self._store_of(space).all_of(rows) if id(space) in self._stores else None

    def _ask_in_turn(self, space: EditSpace, rows: Tensor, indices: _Ids, answers: Tensor) -> int:
        """Fill in the answers of some rows batch by batch until the deadline; how many."""
        limit, done = getattr(self.oracle, "batch_size", None) or _TURN, 0
        whole = len(indices) == len(rows)
        while done < len(indices) and self.out_of() != "timeout":
            # With a deadline turns start small: nobody knows yet how slow the oracle is.
            turn = limit if self.budget.seconds is None else min(limit, self._turn)
            last = min(done + turn, len(indices))
            part = slice(done, last) if whole else torch.from_numpy(indices[done:last])
            started = time.perf_counter()
            answers[part] = self._ask(space, rows[part])
            self.calls += last - done
            done = last
            if time.perf_counter() - started < 0.02:
                self._turn = min(4 * self._turn, _TURN)
        self.cut_by_clock = self.cut_by_clock or done < len(indices)
        return done

    def _ask(self, space: EditSpace, rows: Tensor) -> Tensor:
        if self._expected is not None and self._expected[0] is space:
            expected = self._expected[1].all_of(rows)
            if expected is not None:
                return expected
        if self._answers_edits:
            return cast(EditOracle, self.oracle).predict_edits(space, rows)
        # Copies: an oracle that works in place must not change the input.
        return checked_answers(self.oracle, [graph.clone() for graph in space.apply(rows)])

    def exhausted(self) -> BudgetExhausted | SearchEnded:
        """What to raise when the budget has run out."""
        reason = self.out_of() or "out_of_calls"
        self.cut_by_clock = self.cut_by_clock or reason == "timeout"
        if self._ends_search:
            return self.end(reason)
        return BudgetExhausted(
            f"expected the search to fit {_words(self.budget)}, got more candidates; allow more with "
            f"Budget({'seconds' if reason == 'timeout' else 'oracle_calls'}=…).",
            reason=reason,
        )


def _words(budget: Allowance) -> str:
    """A budget as it is written in a call."""
    return f"Budget(oracle_calls={budget.oracle_calls}, seconds={budget.seconds})"


class SearchEnded(BaseException):
    """A search is over; only `CounterfactualExplainer` catches it.

    No `Exception`, so that a method's own error handling does not swallow it by accident. Whoever does
    gets it again from the next question.

    Attributes:
        reason: Why, as `Trace.stopped_by` says it.
        because: What to tell people who got no answer.
    """

    def __init__(self, reason: str, because: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.because = because


def space_of(oracle: Oracle | MeteredOracle, graph: Data) -> PairEdits:
    """The moves of a graph; those of the search where it is its graph, so that answers are shared."""
    known = oracle.space if isinstance(oracle, MeteredOracle) else None
    if isinstance(known, PairEdits) and known.input is graph:
        return known
    return PairEdits(PairSpace.of(graph))


AnyOracle: TypeAlias = Oracle | ValueOracle
"""Whatever can be asked: about classes, or about values."""


def outputs_of(oracle: AnyOracle) -> int:
    """Columns of an oracle's answers."""
    if gives_values(oracle):
        return cast(ValueOracle, oracle).num_outputs
    return cast(Oracle, oracle).num_classes


def _asked(ask: Callable[[Sequence[Data]], Any], graphs: Sequence[Data]) -> Tensor:
    """What an oracle gives for graphs, as numbers on the CPU; whatever it raises in a sentence."""
    try:
        return torch.as_tensor(ask(graphs)).detach().float().cpu()
    except EdgeflipError:
        raise
    except Exception as error:
        raise OracleError(
            f"expected an answer from the oracle, got {type(error).__name__}: {one_line(error)}."
        ) from error


def checked_answers(oracle: AnyOracle, graphs: Sequence[Data]) -> Tensor:
    """What an oracle says of graphs, checked: probabilities or values [graphs, columns]."""
    if not gives_values(oracle):
        return checked_proba(cast(Oracle, oracle), graphs)
    oracle = cast(ValueOracle, oracle)
    values = _asked(oracle.predict_values, graphs)
    wanted = [len(graphs), oracle.num_outputs]
    if list(values.shape) != wanted or not bool(torch.isfinite(values).all()):
        raise OracleError(
            f"expected finite values of shape {wanted}, got others of shape {list(values.shape)}; correct "
            "the oracle."
        )
    return values


def checked_proba(oracle: Oracle, graphs: Sequence[Data]) -> Tensor:
    """`oracle.predict_proba` with its answer checked; an oracle of ours has done so [graphs, C]."""
    if type(oracle) is ModelOracle:
        return oracle.predict_proba(graphs)
    proba = _asked(oracle.predict_proba, graphs)
    # Asked for after the answer: an oracle may learn from it how many classes there are.
    wanted = [len(graphs), oracle.num_classes]
    if list(proba.shape) != wanted:
        raise OracleError(
            f"expected probabilities of shape {wanted}, got {list(proba.shape)}; correct the oracle."
        )
    if not bool(torch.isfinite(proba).all()) or not is_distribution(proba):
        raise OracleError(
            "expected probabilities (0 to 1, rows adding up to 1) from the oracle, got NaN or others."
        )
    return proba
