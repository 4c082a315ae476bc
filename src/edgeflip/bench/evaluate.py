"""One cell of a benchmark: a dataset, a method and a seed; what it learns, and a row per graph."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

from torch_geometric.data import Data

from edgeflip.bench.context import Ground, truth_of
from edgeflip.bench.spec import MethodSpec
from edgeflip.bench.timing import TimedOracle, TooSlowError, hard_limit
from edgeflip.core import FREE, EditSet
from edgeflip.datasets import valid_share
from edgeflip.errors import EdgeflipError
from edgeflip.explainers import CounterfactualExplainer
from edgeflip.metrics import (
    Noise,
    add_noise,
    answer_minimality,
    answer_minimality_of_smallest,
    answer_motif_proximity,
    describe,
    edge_likelihood,
    mmd,
    noise_outcome,
)
from edgeflip.oracle import one_line
from edgeflip.search import CounterfactualSet
from edgeflip.support import Row
from edgeflip.training import Fit, fit_once


@dataclass(frozen=True, eq=False)
class _Attempt:
    """An answer, or why there is none, and the time it took."""

    answer: CounterfactualSet | Exception
    times: Row


_Answered: TypeAlias = tuple[Row, Data, CounterfactualSet]
"""A row to be filled, its graph and the answer."""


@dataclass(eq=False)
class Cell:
    """A method on a dataset with a seed.

    Attributes:
        ground: What it shares with other methods.
        method: The method.
    """

    ground: Ground
    method: MethodSpec

    @property
    def label(self) -> str:
        """The column of the tables."""
        return self.ground.spec.label(self.method)

    @cached_property
    def _fit(self) -> Fit:
        ground, spec = self.ground, self.ground.spec
        explainer = spec.make_explainer(self.method, ground.bundle.name)
        oracle = ground.oracle
        with ground.clock.of("training"):
            return fit_once(
                explainer,
                ground.bundle,
                oracle,
                ground.models,
                seed=ground.seed,
                with_validation=True,
            )

    @property
    def explainer(self) -> CounterfactualExplainer[Any]:
        """The fitted explainer."""
        return self._fit.explainer

    def fit_row(self) -> Row:
        """What fitting took, or why it failed."""
        row: Row = {"kind": "fit", **self._about(), "learns": True, "notes": {}}
        try:
            if self.ground.spec.plausibility:
                self.ground.referee  # noqa: B018 - trains it before graphs are timed
            fit = self._fit
        except Exception as error:
            return {**row, "seconds": 0.0, "cpu_seconds": 0.0, "error": _reason(error)}
        report = getattr(fit.explainer, "report_", None)
        notes = {} if report is None else {"auc": getattr(report, "auc", None)}
        times = {"seconds": fit.seconds, "cpu_seconds": fit.cpu_seconds}
        return {**row, **times, "learns": fit.explainer.learns, "notes": notes}

    def graph_rows(self, places: Sequence[int]) -> list[Row]:
        """Explain test graphs and rate the answers; whatever goes wrong becomes part of the rows."""
        graphs = [self.ground.bundle.test[place] for place in places]
        rows = [self._empty_row(place) for place in places]
        attempts = self._attempts(graphs)
        for row, attempt in zip(rows, attempts, strict=True):
            row |= attempt.times
            row |= (
                _failure(attempt.answer)
                if isinstance(attempt.answer, Exception)
                else _outcome(attempt.answer)
            )
        answered = [
            (row, graph, attempt.answer)
            for row, graph, attempt in zip(rows, graphs, attempts, strict=True)
            if not isinstance(attempt.answer, Exception)
        ]
        for row, graph, answer in answered:
            for part in (self._ratings, self._likelihoods):
                try:
                    row |= part(answer, graph)
                except Exception as error:
                    row |= {"error": row["error"] or f"while rating, {_reason(error)}"}
        for more in (self._under_noise, self._by_target):
            try:
                more(answered)
            except Exception as error:
                for row, _, _ in answered:
                    row |= {"error": row["error"] or f"while rating, {_reason(error)}"}
        return rows

    def failed_row(self, place: int, reason: str) -> Row:
        """The row of a graph that a method never got to, such as after a failed fit."""
        return {
            **self._empty_row(place),
            "error": reason,
            "wall_seconds": None,
            "cpu_seconds": None,
        }

    def _empty_row(self, place: int) -> Row:
        return {
            "kind": "graph",
            **self._about(),
            "graph": place,
            "label": self.ground.predicted[place],
            "truth": truth_of(self.ground.bundle.test[place]),
            **_NOTHING,
        }

    def plausibility_row(self, rows: Sequence[Row]) -> Row:
        """How like the training graphs the edited graphs are."""
        test = self.ground.bundle.test
        found = [row for row in rows if row["found"]]
        fill = self.ground.bundle.fill
        edited = [_edits(row).apply(test[row["graph"]], fill=fill) for row in found]
        values: dict[str, float | None] = {}
        for prefix, graphs in (("", edited), ("baseline_", [test[row["graph"]] for row in found])):
            distances = mmd(describe(graphs), self.ground.training_graphs)
            values |= {
                f"{prefix}{name}": None if math.isnan(value) else value
                for name, value in distances.items()
            }
            is_chemistry = self.ground.bundle.drawing == "molecule"
            values[f"{prefix}valid_molecules"] = valid_share(graphs) if is_chemistry else None
        return {"kind": "plausibility", **self._about(), "graphs": len(found), **values}

    def _about(self) -> Row:
        return {
            "dataset": self.ground.bundle.name,
            "method": self.label,
            "explainer": self.method.name,
            "seed": self.ground.seed,
        }

    def _attempts(self, graphs: Sequence[Data], target: int | None = None) -> list[_Attempt]:
        """The method's answers, all at once where it can and otherwise one by one."""
        self.explainer  # noqa: B018 - reading it from disk is not part of explaining
        together = self.method.explains_together and not self.method.chemistry
        parts = [graphs] if together and graphs else [[graph] for graph in graphs]
        return [attempt for part in parts for attempt in self._attempt(part, target)]

    def _attempt(self, graphs: Sequence[Data], target: int | None) -> list[_Attempt]:
        started, cpu_started = time.perf_counter(), time.process_time()
        answers: list[CounterfactualSet | Exception]
        try:
            answers = [*self._explained(graphs, target)]
        except Exception as error:
            if len(graphs) > 1:
                # One bad graph must not take the others with it.
                return [one for graph in graphs for one in self._attempt([graph], target)]
            answers = [error]
        times = {
            "wall_seconds": (time.perf_counter() - started) / len(graphs),
            "cpu_seconds": (time.process_time() - cpu_started) / len(graphs),
        }
        return [_Attempt(answer, times) for answer in answers]

    def _explained(self, graphs: Sequence[Data], target: int | None) -> list[CounterfactualSet]:
        spec, explainer = self.ground.spec, self.explainer
        budget = explainer.default_budget()
        if spec.seconds is not None:
            own = budget.seconds if budget.seconds is not None else spec.seconds
            budget = replace(budget, seconds=min(own, spec.seconds))
        bundle = self.ground.bundle
        constraints = bundle.constraints_for(graphs[0]) if self.method.chemistry else FREE
        with self.ground.clock.of("explaining"), hard_limit(budget, graphs=len(graphs)):
            return explainer.explain_many(
                graphs,
                target=target,
                constraints=constraints,
                budget=budget,
                fill=bundle.fill,
                keep=spec.keep,
                seed=self.ground.seed,
            )

    def _ratings(self, answer: CounterfactualSet, graph: Data) -> Row:
        smallest = answer_minimality_of_smallest(answer, self._oracle)
        return {**self._quality(answer), "minimality_of_smallest": smallest}

    def _under_noise(self, answered: Sequence[_Answered]) -> None:
        """Explain the answered graphs again under noise, and note in their rows what became of it."""
        ground = self.ground
        found = [entry for entry in answered if entry[2].found]
        if not (ground.spec.noise and self.method.noise) or not found:
            return
        noise = Noise.for_dataset(ground.bundle.name)
        noisy = [add_noise(graph, noise, seed=ground.seed) for _, graph, _ in found]
        for (row, _, before), attempt in zip(found, self._attempts(noisy), strict=True):
            failed = isinstance(attempt.answer, Exception)
            # No answer under noise is an answer that did not stay.
            after = replace(before, counterfactuals=()) if failed else attempt.answer
            assert isinstance(after, CounterfactualSet)
            outcome = noise_outcome(before, after).to_dict()
            counts = {key: len(outcome[key]) for key in ("changes", "changes_kept")}
            if isinstance(attempt.answer, Exception):
                row |= {"error": f"under noise, {_reason(attempt.answer)}"}
            row |= {"noise": {**outcome, **counts}}

    @property
    def _oracle(self) -> TimedOracle:
        return TimedOracle(self.ground.oracle, self.ground.clock)

    def _quality(self, answer: CounterfactualSet) -> Row:
        motif = self.ground.bundle.motif_nodes
        best = answer.best
        return {
            "found": answer.found,
            "size": None if best is None else best.size,
            "fidelity": None if best is None else best.fidelity,
            "minimality": answer_minimality(answer, self._oracle),
            "motif_proximity": None if motif is None else answer_motif_proximity(answer, motif),
        }

    def _by_target(self, answered: Sequence[_Answered]) -> None:
        """Ask for every other class in turn, and note in the rows what was found."""
        classes = self.ground.bundle.num_classes
        if classes == 2:
            # Any other class is the other one.
            for row, _, answer in answered:
                row |= {"targets": {str(1 - answer.label): {key: row[key] for key in _QUALITY}}}
            return
        if not (self.ground.spec.targets and self.method.targets):
            return
        for target in range(classes):
            asked = [entry for entry in answered if entry[2].label != target]
            attempts = self._attempts([graph for _, graph, _ in asked], target)
            for (row, _, _), attempt in zip(asked, attempts, strict=True):
                found: Row = {"found": False}
                try:
                    if isinstance(attempt.answer, Exception):
                        raise attempt.answer
                    found = self._quality(attempt.answer)
                except Exception as error:
                    reason = f"asked for class {target}, {_reason(error)}"
                    row |= {"error": row["error"] or reason}
                row |= {"targets": {**(row["targets"] or {}), str(target): found}}

    def _likelihoods(self, answer: CounterfactualSet, graph: Data) -> Row:
        if not self.ground.spec.plausibility or answer.best is None:
            return {}
        edits = answer.best.edits
        referee = self.ground.referee
        with self.ground.clock.of("oracle"):
            probability = referee.edge_probabilities(graph, edits.removed)
        added, removed = edge_likelihood(probability, edits)
        return {"added_likelihood": added, "removed_likelihood": removed}


_QUALITY = ("found", "size", "fidelity", "minimality", "motif_proximity")

_NOTHING: Row = {
    "status": "error",
    "stopped_by": None,
    "message": "",
    "error": None,
    "found": False,
    "to": None,
    "size": None,
    "first_size": None,
    "fidelity": None,
    "score": None,
    "minimality": None,
    "minimality_of_smallest": None,
    "motif_proximity": None,
    "flips": 0,
    "proposals": 0,
    "oracle_calls": 0,
    "added": [],
    "removed": [],
    "added_likelihood": None,
    "removed_likelihood": None,
    "stages": {},
    "notes": {},
    "noise": None,
    "targets": None,
}


def _edits(row: Row) -> EditSet:
    return EditSet(
        added=frozenset((int(u), int(v)) for u, v in row["added"]),
        removed=frozenset((int(u), int(v)) for u, v in row["removed"]),
    )


def _failure(error: Exception) -> Row:
    status = "timeout" if isinstance(error, TooSlowError) else "error"
    return {"status": status, "error": _reason(error)}


def _reason(error: Exception) -> str:
    text = one_line(error)
    known = isinstance(error, EdgeflipError | TooSlowError)
    return text if known else f"{type(error).__name__}: {text}"


def _outcome(answer: CounterfactualSet) -> Row:
    trace = answer.trace
    row: Row = {
        "status": trace.status,
        "stopped_by": trace.stopped_by,
        "message": trace.message,
        "flips": trace.flips,
        "proposals": trace.proposals,
        "oracle_calls": trace.oracle_calls,
        "stages": {name: asdict(stage) for name, stage in trace.stages.items()},
        "notes": dict(trace.notes),
        "found": answer.found,
    }
    best, first = answer.best, answer.first
    if best is not None and first is not None:
        row |= {
            "to": best.label,
            "size": best.size,
            "first_size": first.size,
            "fidelity": best.fidelity,
            "score": best.score,
            "added": [list(edge) for edge in sorted(best.edits.added)],
            "removed": [list(edge) for edge in sorted(best.edits.removed)],
        }
    return row
