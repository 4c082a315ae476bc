"""Beginning a search: what one call wants, and a search for every graph of it."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import EditSpace, PairEdits
from edgeflip.errors import EdgeflipError
from edgeflip.explainers.checking import posed
from edgeflip.explainers.options import ExplainOptions
from edgeflip.explainers.preferring import preferred, until_found
from edgeflip.explainers.spaces import space_of, stream_of
from edgeflip.oracle import (
    Allowance,
    AnyOracle,
    ClassGoal,
    ValueGoal,
    answers_together,
    edits_together,
)
from edgeflip.search import Problem, Ranking, Search, Selection, Stage, Watch, needs_of
from edgeflip.support import cpu_seconds

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer

# Noisy copies for a ranking that needs some, in a call that names no number.
_COPIES = 8


PairProblem: TypeAlias = Problem[PairEdits, ClassGoal]
"""A graph whose edges are edited until its class changes."""

PairSearch: TypeAlias = Search[PairEdits, ClassGoal]
"""The search for that."""

GraphSearch: TypeAlias = Search[PairEdits, ClassGoal | ValueGoal]
"""The same for methods that need no classes."""

Check: TypeAlias = Callable[[], None]
"""Raises `SearchEnded` when the time is up."""


@dataclass(frozen=True)
class Call:
    """What one call wants, beside the problem itself.

    Attributes:
        budget: How much may be spent on each input, in numbers.
        selection: Which of the flips are wanted.
        watch: Called with every step.
        seed: The seed of the call.
        ranking: What counts as best.
        agree: Of several models, how many must change their mind; None for all.
        check: Other models, asked about what was found; None where nobody wants to know.
    """

    budget: Allowance
    selection: Selection
    watch: Watch | None
    seed: int
    ranking: Ranking
    agree: int | None = None
    check: tuple[AnyOracle, ...] | None = None


def begin(
    explainer: CounterfactualExplainer[Any], problem: Problem[Any, Any], call: Call
) -> Search[Any, Any]:
    """A search for a problem, as the method and the call want it."""
    return Search(
        problem,
        budget=call.budget,
        ranking=call.ranking,
        selection=call.selection,
        stops_at_first=explainer._stops_at_first(),
        minimal=explainer._wants_minimal(),
        watch=call.watch,
        until_found=until_found(call.budget) if problem.keeps_preference else None,
    )


def begin_graphs(
    explainer: CounterfactualExplainer[Any],
    graphs: Sequence[Data],
    given: ExplainOptions,
    call: Call,
) -> list[GraphSearch]:
    """A search for each graph, with the labels read and the call's wishes checked."""
    started, cpu_started = time.perf_counter(), cpu_seconds()
    # Shallow copies: PyG notes on a graph what it looked up, and the caller's stays untouched.
    copies = [copy.copy(graph) for graph in graphs]
    spaces = [space_of(explainer, graph, given) for graph in copies]
    outputs = answers_together(explainer.oracle_, [[graph] for graph in copies])
    searches = [
        begin_graph(explainer, space, output[0], given, call)
        for space, output in zip(spaces, outputs, strict=True)
    ]
    share = Stage(
        seconds=(time.perf_counter() - started) / len(graphs),
        oracle_calls=1,
        cpu_seconds=(cpu_seconds() - cpu_started) / len(graphs),
    )
    for search in searches:
        search.clock.add("predict", share)
    return searches


def ask_first_together(
    explainer: CounterfactualExplainer[Any], searches: Sequence[GraphSearch]
) -> None:
    """Ask at once what many searches ask first; it counts for each when it comes to that.

    Where that fails nothing is said of it: the search that asks again alone meets the error.
    """
    started, cpu_started = time.perf_counter(), cpu_seconds()
    first = [explainer._first_edits(search) for search in searches] if len(searches) > 1 else []
    asked = [(search, rows) for search, rows in zip(searches, first, strict=False) if len(rows)]
    if len(asked) < 2:
        return
    try:
        parts = [(search.space, rows) for search, rows in asked]
        found = edits_together(explainer.oracle_, parts)
    except EdgeflipError:
        return
    seconds, cpu = time.perf_counter() - started, cpu_seconds() - cpu_started
    for place, answers in found.items():
        search, rows = asked[place]
        search.oracle.expect(search.space, rows, answers)
        search.clock.add("predict", Stage(seconds / len(found), 0, cpu / len(found)))


def begin_graph(
    explainer: CounterfactualExplainer[Any],
    space: EditSpace,
    output: Tensor,
    given: ExplainOptions,
    call: Call,
) -> GraphSearch:
    """A search for one graph, of which the oracle says this."""
    first = preferred(explainer, space, given)
    oracle, output, goal = posed(explainer.oracle_, space.input, output, given)
    stream = stream_of(space, call.seed)
    # Searched as edges are by methods that can make nothing else.
    problem: Problem[Any, ClassGoal | ValueGoal] = Problem(
        first.space, goal, output, oracle, stream, first.preference
    )
    search = begin(explainer, problem, call)
    search.note(**first.notes)
    return search


def selection_of(given: ExplainOptions, ranking: Ranking) -> Selection:
    """Which of the flips a call wants, checked; a ranking by robustness looks at some copies."""
    selection = Selection(
        given["keep"],
        given["number"],
        given["diversity"],
        given["robust"],
        Selection.noise if given["noise"] is None else given["noise"],
        given["seed"],
        given["stable"],
    )
    if not selection.copies and "robustness" in needs_of(ranking):
        selection = replace(selection, robust=_COPIES)
    return selection
