"""One method on one dataset with one seed: what it learns, and a row per graph."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.bench.context import Ground, truth_of
from edgeflip.bench.labels import PUBLISHED, differing_settings
from edgeflip.bench.spec import MethodSpec
from edgeflip.bench.timing import TimedOracle, TooSlowError, hard_limit
from edgeflip.core import FREE, Edge, EditSet, Noise, add_noise
from edgeflip.errors import EdgeflipError
from edgeflip.explainers import (
    CounterfactualExplainer,
    LinkExplainer,
    ReplacingExplainer,
    allowance,
    explainer_class,
)
from edgeflip.metrics import METRICS, AnswerCase, GraphSet, Learning, Metric, metrics_of
from edgeflip.oracle import embeddings_of, one_line
from edgeflip.search import CounterfactualSet
from edgeflip.support import Row
from edgeflip.training import Fit, fit_once


@dataclass(frozen=True, eq=False)
class _Attempt:
    """An answer, or why there is none, and the time it took."""

    graph: Data
    answer: CounterfactualSet | Exception
    wall_seconds: float
    cpu_seconds: float

    @property
    def found(self) -> CounterfactualSet | None:
        """The answer if it holds a counterfactual."""
        answer = self.answer
        return answer if isinstance(answer, CounterfactualSet) and answer.found else None


@dataclass(eq=False)
class Evaluation:
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
        explainer.progress = ground.progress and explainer.resumes
        oracle = ground.oracle
        with ground.clock.of("training"):
            return fit_once(
                explainer,
                ground.bundle,
                oracle,
                ground.models,
                seed=ground.seed,
                with_validation=ground.learns_from_validation,
                graphs=ground.graphs if self.method.learns_from == "explained" else None,
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
            return self.failed_fit_row(_reason(error))
        learns = fit.explainer.learns
        report = getattr(fit.explainer, "report_", None)
        notes: Row = {} if report is None else {"auc": getattr(report, "auc", None)}
        notes |= getattr(report, "notes", dict)()
        if isinstance(fit.explainer, LinkExplainer) and learns:
            row |= {"links": asdict(fit.explainer.link_settings)}
        row |= {"seconds": fit.seconds, "cpu_seconds": fit.cpu_seconds, "learns": learns}
        aucs = [getattr(report, name, None) for name in ("auc", "auc_order_free")]
        learning = Learning(fit.seconds if learns else None, *aucs)
        values = {metric.name: metric.of(learning) for metric in metrics_of("fit")}
        differs = list(differing_settings(self.label, fit.explainer, self.ground.bundle.name))
        limited = (
            ["seconds"] if self.ground.spec.seconds is not None and self.label in PUBLISHED else []
        )
        differs = list(dict.fromkeys([*differs, *limited]))
        return {**row, "notes": notes, "differs": differs, **values}

    def failed_fit_row(self, reason: str) -> Row:
        """The row of a fit that came to nothing."""
        times = {"seconds": 0.0, "cpu_seconds": 0.0}
        return {
            "kind": "fit",
            **self._about(),
            "learns": True,
            "notes": {},
            **times,
            "error": reason,
        }

    def graph_rows(self, places: Sequence[int]) -> list[Row]:
        """Explain graphs and rate the answers; whatever goes wrong becomes part of the rows."""
        rows = [self._empty_row(index) for index in places]
        attempts = self._attempts([self.ground.graphs[index] for index in places])
        for row, attempt in zip(rows, attempts, strict=True):
            row |= (
                _failure(attempt.answer)
                if isinstance(attempt.answer, Exception)
                else _outcome(attempt.answer)
            )
        answered = [
            (row, attempt)
            for row, attempt in zip(rows, attempts, strict=True)
            if not isinstance(attempt.answer, Exception)
        ]
        after: dict[int, CounterfactualSet] = {}
        with _noted(row for row, _ in answered):
            after = self._under_noise([entry for entry in answered if entry[1].found is not None])
        for row, attempt in zip(rows, attempts, strict=True):
            replaced = self._not_replaced
            with _noted([row]):
                replaced = self._replaced(attempt.graph)
            metrics = metrics_of("answer")
            row |= self._rated(row, attempt, metrics, after.get(row["graph"]), replaced)
        with _noted(row for row, _ in answered):
            self._by_target(answered)
        return rows

    def failed_row(self, place: int, reason: str) -> Row:
        """The row of a graph that a method never got to, such as after a failed fit."""
        case = AnswerCase(molecules=self._molecules, **self._not_replaced)
        values = {metric.name: metric.of(case) for metric in metrics_of("answer")}
        return {**self._empty_row(place), **values, "error": reason}

    def _empty_row(self, place: int) -> Row:
        return {
            "kind": "graph",
            **self._about(),
            "graph": place,
            "label": self.ground.predicted[place],
            "truth": truth_of(self.ground.graphs[place]),
            **_NOTHING,
        }

    def plausibility_row(self, rows: Sequence[Row]) -> Row:
        """How like the training graphs the edited graphs are, and how like the unedited ones were."""
        bundle, training = self.ground.bundle, self.ground.training_graphs
        found = [row for row in rows if row["found"]]
        before = [self.ground.graphs[row["graph"]] for row in found]
        after = [
            _edits(row).apply(graph, fill=bundle.fill)
            for row, graph in zip(found, before, strict=True)
        ]
        values = {
            f"{prefix}{metric.name}": metric.of(subject)
            for prefix, subject in (
                ("", GraphSet(after, training, self._molecules)),
                ("baseline_", GraphSet(before, training, self._molecules)),
            )
            for metric in metrics_of("graphs")
        }
        return {"kind": "plausibility", **self._about(), "graphs": len(found), **values}

    @property
    def _molecules(self) -> bool | None:
        """Whether the graphs are molecules; None if not, as metrics have it."""
        return True if self.ground.bundle.drawing == "molecule" else None

    def _about(self) -> Row:
        return {
            "dataset": self.ground.bundle.name,
            "method": self.label,
            "explainer": self.method.name,
            "seed": self.ground.seed,
            "split": self.ground.spec.split,
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
        wall = (time.perf_counter() - started) / len(graphs)
        cpu = (time.process_time() - cpu_started) / len(graphs)
        return [
            _Attempt(graph, answer, wall, cpu)
            for graph, answer in zip(graphs, answers, strict=True)
        ]

    def _explained(self, graphs: Sequence[Data], target: int | None) -> list[CounterfactualSet]:
        spec, explainer = self.ground.spec, self.explainer
        budget = allowance(explainer)
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
                # Answers within the rules or without them, as the method says, and never in a second try.
                chemistry=False,
                budget=budget,
                fill=bundle.fill,
                keep=spec.keep,
                seed=self.ground.seed,
            )

    def _rated(
        self,
        row: Row,
        attempt: _Attempt,
        metrics: Sequence[Metric],
        after_noise: CounterfactualSet | None = None,
        replaced: Mapping[str, Any] = MappingProxyType({}),
    ) -> Row:
        """The values of an attempt; what goes wrong is noted in the row."""
        case = AnswerCase(
            answer=None if isinstance(attempt.answer, Exception) else attempt.answer,
            oracle=TimedOracle(self.ground.oracle, self.ground.clock),
            motif_nodes=self.ground.bundle.motif_nodes,
            factual_nodes=self.ground.factual_nodes,
            after_noise=after_noise,
            links=self._links if self.ground.spec.plausibility else None,
            wall_seconds=attempt.wall_seconds,
            processor_seconds=attempt.cpu_seconds,
            molecules=self._molecules,
            same_kind=self.ground.other_oracles,
            real=self.ground.real_graphs,
            embed=partial(embeddings_of, self.ground.oracle) if self.ground.spec.trust else None,
            neighbour=self._neighbour(attempt) if METRICS["instability"] in metrics else None,
            **replaced,
        )
        values: Row = dict.fromkeys((metric.name for metric in metrics), None)
        for metric in metrics:
            with _noted([row]):
                values[metric.name] = metric.of(case)
        return values

    def _neighbour(self, attempt: _Attempt) -> CounterfactualSet | None:
        """The answer for the training graph that is nearest to a graph that was answered, of its class."""
        real, answer = self.ground.real_graphs, attempt.answer
        if real is None or isinstance(answer, Exception) or not answer.found:
            return None
        place = real.nearest_place(attempt.graph, truth_of(attempt.graph))
        if place is None:
            return None
        found = self._attempts([self.ground.bundle.train[place]])[0].answer
        return None if isinstance(found, Exception) else found

    @cached_property
    def _not_replaced(self) -> Mapping[str, Any]:
        """What a graph has before a method that could replace it was asked to; nothing where none is."""
        kind = explainer_class(self.method.name)
        if not (self.ground.spec.replacements and issubclass(kind, ReplacingExplainer)):
            return {}
        return {kind.replaced.replace(" ", "_"): ()}

    def _replaced(self, graph: Data) -> Mapping[str, Any]:
        """The graph that a method's own paper would put in place of a graph."""
        explainer, bundle = self.explainer, self.ground.bundle
        if not (self._not_replaced and isinstance(explainer, ReplacingExplainer)):
            return {}
        explained = self.method.learns_from == "explained"
        learned_from = self.ground.graphs if explained else [*bundle.train, *bundle.val]
        with self.ground.clock.of("explaining"):
            found = explainer.replacements(
                graph, learned_from, fill=bundle.fill, seed=self.ground.seed
            )
        return dict.fromkeys(self._not_replaced, found)

    def _links(self, graph: Data, removed: Collection[Edge]) -> Tensor:
        referee = self.ground.referee
        with self.ground.clock.of("oracle"):
            return referee.edge_probabilities(graph, removed)

    def _under_noise(
        self, answered: Sequence[tuple[Row, _Attempt]]
    ) -> dict[int, CounterfactualSet]:
        """The answers for the same graphs under noise, by the place of the graph."""
        ground = self.ground
        if not (ground.spec.noise and self.method.noise) or not answered:
            return {}
        noise = Noise.for_dataset(ground.bundle.name)
        noisy = [add_noise(entry.graph, noise, seed=ground.seed) for _, entry in answered]
        after = {}
        for (row, before), attempt in zip(answered, self._attempts(noisy), strict=True):
            answer = attempt.answer
            if isinstance(answer, Exception):
                row |= {"error": f"under noise, {_reason(answer)}"}
                assert before.found is not None
                # No answer under noise is an answer that did not stay.
                answer = replace(before.found, counterfactuals=())
            row |= {"noisy_label": answer.label}
            after[row["graph"]] = answer
        return after

    def _by_target(self, answered: Sequence[tuple[Row, _Attempt]]) -> None:
        """Ask for every other class in turn, and note in the rows what was found."""
        classes = self.ground.bundle.num_classes
        metrics = [metric for metric in METRICS.values() if "targets" in metric.also]
        if classes == 2:
            # Any other class is the other one.
            names = ["found", *(metric.name for metric in metrics)]
            for row, _ in answered:
                row |= {"targets": {str(1 - row["label"]): {key: row[key] for key in names}}}
            return
        if not (self.ground.spec.targets and self.method.targets):
            return
        for target in range(classes):
            asked = [entry for entry in answered if entry[0]["label"] != target]
            attempts = self._attempts([entry.graph for _, entry in asked], target)
            for (row, _), attempt in zip(asked, attempts, strict=True):
                if isinstance(attempt.answer, Exception):
                    reason = f"asked for class {target}, {_reason(attempt.answer)}"
                    row |= {"error": row["error"] or reason}
                values = self._rated(row, attempt, metrics)
                values["found"] = attempt.found is not None
                row |= {"targets": {**(row["targets"] or {}), str(target): values}}


_NOTHING: Row = {
    "status": "error",
    "stopped_by": None,
    "message": "",
    "error": None,
    "found": False,
    "to": None,
    "score": None,
    "flips": 0,
    "proposals": 0,
    "added": [],
    "removed": [],
    "stages": {},
    "notes": {},
    "targets": None,
}


def _edits(row: Row) -> EditSet:
    return EditSet(
        added=frozenset((int(u), int(v)) for u, v in row["added"]),
        removed=frozenset((int(u), int(v)) for u, v in row["removed"]),
    )


@contextmanager
def _noted(rows: Iterable[Row]) -> Iterator[None]:
    """Whatever goes wrong inside becomes part of the rows, unless they say worse already."""
    try:
        yield
    except Exception as error:
        for row in rows:
            row |= {"error": row["error"] or f"while rating, {_reason(error)}"}


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
        "stages": {name: asdict(stage) for name, stage in trace.stages.items()},
        "notes": dict(trace.notes),
        "found": answer.found,
        "output": list(answer.output),
    }
    best = answer.best
    if best is not None:
        row |= {
            "output_after": list(best.output),
            "to": best.label,
            "score": best.score,
            "added": [list(edge) for edge in sorted(best.edits.added)],
            "removed": [list(edge) for edge in sorted(best.edits.removed)],
        }
    return row
