"""One cell of a benchmark: a dataset, a method and a seed; what it learns, and a row per graph."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.base import CounterfactualExplainer
from edgeflip.bench.journal import Row
from edgeflip.bench.spec import BenchSpec, MethodSpec
from edgeflip.chemistry import valid_share
from edgeflip.datasets import DatasetBundle, load_dataset
from edgeflip.edits import EdgeFill, EditSet
from edgeflip.errors import EdgeflipError
from edgeflip.explainers.dr_cfgnn import DRCFGNN
from edgeflip.explanation import CounterfactualSet
from edgeflip.fitting import data_checksum, fit_once
from edgeflip.graphs import PairSpace
from edgeflip.metering import Budget
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
from edgeflip.metrics.plausibility import Descriptors
from edgeflip.oracle import ModelOracle, one_line
from edgeflip.presets import load_preset
from edgeflip.registry import explainer_class
from edgeflip.storage import checksum, read_json, write_json
from edgeflip.training import oracle_for
from edgeflip.versions import code_version


class TooSlowError(Exception):
    """A method went on long after its deadline."""


@dataclass
class Clock:
    """Where the seconds of a run went.

    Attributes:
        training: Training oracles and fitting explainers.
        explaining: Inside the explainers.
        oracle: Inside the oracle while answers were rated.
    """

    training: float = 0.0
    explaining: float = 0.0
    oracle: float = 0.0

    @contextmanager
    def of(self, name: str) -> Iterator[None]:
        """Count the seconds of a block."""
        started = time.perf_counter()
        try:
            yield
        finally:
            setattr(self, name, getattr(self, name) + time.perf_counter() - started)


class TimedOracle:
    """An oracle whose time is counted."""

    def __init__(self, oracle: ModelOracle, clock: Clock) -> None:
        self._oracle, self._clock = oracle, clock

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return self._oracle.num_classes

    def predict_proba(self, graphs: Sequence[Data]) -> Tensor:
        """Class probabilities [len(graphs), C]."""
        with self._clock.of("oracle"):
            return self._oracle.predict_proba(graphs)

    def predict_edits(
        self, space: PairSpace, toggles: Tensor, *, fill: EdgeFill | None = None
    ) -> Tensor:
        """Class probabilities of edited graphs [candidates, C]."""
        with self._clock.of("oracle"):
            return self._oracle.predict_edits(space, toggles, fill=fill)


@dataclass(eq=False)
class Ground:
    """What the methods of one dataset and seed share: the graphs and the oracle.

    Attributes:
        spec: The benchmark.
        bundle: The dataset.
        seed: The seed.
        models: Folder of what was trained before.
        clock: Where the seconds go.
    """

    spec: BenchSpec
    bundle: DatasetBundle
    seed: int
    models: Path
    clock: Clock = field(default_factory=Clock)

    @classmethod
    def load(
        cls, spec: BenchSpec, dataset: str, seed: int, models: Path, data_dir: Path | None
    ) -> Ground:
        """Read the dataset."""
        return cls(spec, load_dataset(dataset, data_dir), seed, models)

    @cached_property
    def oracle(self) -> ModelOracle:
        """The oracle, trained if it never was."""
        settings = load_preset(self.bundle.name, self.spec.profile).oracle
        shaped_by = {
            "settings": repr(settings),
            "graphs": data_checksum([*self.bundle.train, *self.bundle.val]),
            "seed": self.seed,
            "code": code_version(),
        }
        self._place = self.models / f"oracle-{self.bundle.name}-{checksum(shaped_by)[:16]}"
        started, cpu_started = time.perf_counter(), time.process_time()
        known = (self._place / "time.json").exists()
        with self.clock.of("training"):
            oracle = oracle_for(self.bundle, self._place, profile=self.spec.profile, seed=self.seed)
        if not known:
            times = {
                "seconds": time.perf_counter() - started,
                "cpu_seconds": time.process_time() - cpu_started,
            }
            write_json(self._place / "time.json", times)
        return oracle

    @cached_property
    def predicted(self) -> list[int]:
        """The oracle's classes of the test graphs."""
        labels: list[int] = self.oracle.predict(self.bundle.test).tolist()
        return labels

    @cached_property
    def places(self) -> list[int]:
        """Which test graphs are explained."""
        truth = [_truth(graph) for graph in self.bundle.test]
        chosen = [
            place
            for place, (label, true) in enumerate(zip(self.predicted, truth, strict=True))
            if label == true or not self.spec.only_correct
        ]
        return chosen[: self.spec.graphs]

    def row(self) -> Row:
        """What is to be known of the oracle."""
        truth = [_truth(graph) for graph in self.bundle.test]
        times = read_json(self._place / "time.json")
        hits = sum(a == b for a, b in zip(self.predicted, truth, strict=True))
        return {
            "kind": "oracle",
            "dataset": self.bundle.name,
            "seed": self.seed,
            "accuracy": hits / len(truth),
            "graphs": len(self.places),
            "test_graphs": len(truth),
            "class_names": list(self.bundle.class_names),
            "origin": self.bundle.card.origin,
            "title": self.bundle.card.title,
            "has_motif": self.bundle.motif_nodes is not None,
            "seconds": times["seconds"],
            "cpu_seconds": times["cpu_seconds"],
        }

    @cached_property
    def referee(self) -> DRCFGNN:
        """A link predictor that rates edges, the same for every method."""
        profile = "smoke" if self.spec.profile == "smoke" else "cpu"
        explainer = DRCFGNN.for_dataset(
            self.bundle.name, profile=profile, overrides={"one_hot": False, "denoise": False}
        )
        with self.clock.of("training"):
            fit = fit_once(
                explainer,
                self.bundle,
                self.oracle,
                self.models,
                seed=self.seed,
                with_validation=True,
            )
        assert isinstance(fit.explainer, DRCFGNN)
        return fit.explainer

    @cached_property
    def training_graphs(self) -> Descriptors:
        """The training graphs' degrees, clustering and spectra."""
        return describe(self.bundle.train)


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
    def _fit(self) -> Any:
        ground, spec = self.ground, self.ground.spec
        explainer = explainer_class(self.method.name).for_dataset(
            ground.bundle.name,
            profile=self.method.profile or spec.profile,
            overrides=spec.overrides(self.method, ground.bundle.name),
        )
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
        fitted: CounterfactualExplainer[Any] = self._fit.explainer
        return fitted

    def fit_row(self) -> Row:
        """What fitting took."""
        report = getattr(self.explainer, "report_", None)
        return {
            "kind": "fit",
            **self._about(),
            "seconds": self._fit.seconds,
            "cpu_seconds": self._fit.cpu_seconds,
            "learns": self.explainer.learns,
            "notes": {} if report is None else {"auc": getattr(report, "auc", None)},
        }

    def graph_row(self, place: int) -> Row:
        """Explain one test graph and rate the answer; whatever goes wrong becomes part of the row."""
        graph = self.ground.bundle.test[place]
        row = self._empty_row(place)
        self.explainer  # noqa: B018 - reading it from disk is not part of explaining
        started, cpu_started = time.perf_counter(), time.process_time()
        try:
            answer = self._explained(graph)
        except Exception as error:
            return {**row, **_failure(error), **_times(started, cpu_started)}
        row |= {**_outcome(answer), **_times(started, cpu_started)}
        for part in (self._ratings, self._likelihoods, self._under_noise, self._by_target):
            try:
                row |= part(answer, graph)
            except Exception as error:
                row |= {"error": row["error"] or f"while rating, {_reason(error)}"}
        return row

    def failed_row(self, place: int, reason: str) -> Row:
        """The row of a graph that a method never got to, such as after a failed fit."""
        return {**self._empty_row(place), "error": reason, "wall_seconds": 0.0, "cpu_seconds": 0.0}

    def _empty_row(self, place: int) -> Row:
        return {
            "kind": "graph",
            **self._about(),
            "graph": place,
            "label": self.ground.predicted[place],
            "truth": _truth(self.ground.bundle.test[place]),
            **_NOTHING,
        }

    def plausibility_row(self, rows: Sequence[Row]) -> Row:
        """How like the training graphs the edited graphs are."""
        test = self.ground.bundle.test
        found = [row for row in rows if row["found"]]
        edited = [_edits(row).apply(test[row["graph"]]) for row in found]
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

    def _explained(self, graph: Data, target: int | None = None) -> CounterfactualSet:
        spec, explainer = self.ground.spec, self.explainer
        budget = explainer.default_budget()
        if spec.seconds is not None:
            own = budget.seconds if budget.seconds is not None else spec.seconds
            budget = replace(budget, seconds=min(own, spec.seconds))
        with self.ground.clock.of("explaining"), _hard_limit(budget):
            return explainer.explain(
                graph, target=target, budget=budget, keep=spec.keep, seed=self.ground.seed
            )

    def _ratings(self, answer: CounterfactualSet, graph: Data) -> Row:
        smallest = answer_minimality_of_smallest(answer, self._oracle)
        return {**self._quality(answer), "minimality_of_smallest": smallest}

    def _under_noise(self, answer: CounterfactualSet, graph: Data) -> Row:
        ground = self.ground
        if not ground.spec.noise or not answer.found:
            return {}
        noisy = add_noise(graph, Noise.for_dataset(ground.bundle.name), seed=ground.seed)
        try:
            outcome = noise_outcome(answer, self._explained(noisy)).to_dict()
        except Exception as error:
            # No answer under noise is an answer that did not stay.
            outcome = noise_outcome(answer, replace(answer, counterfactuals=())).to_dict()
            outcome["error"] = _reason(error)
        counts = {key: len(outcome[key]) for key in ("changes", "changes_kept")}
        problem = {"error": f"under noise, {outcome['error']}"} if "error" in outcome else {}
        return {"noise": {**outcome, **counts}, **problem}

    @cached_property
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

    def _by_target(self, answer: CounterfactualSet, graph: Data) -> Row:
        if not self.ground.spec.targets:
            return {}
        found: Row = {}
        problems = []
        for target in range(self.ground.bundle.num_classes):
            if target == answer.label:
                continue
            try:
                found[str(target)] = self._quality(self._explained(graph, target))
            except Exception as error:
                found[str(target)] = {"found": False}
                problems.append(f"asked for class {target}, {_reason(error)}")
        return {"targets": found, **({"error": problems[0]} if problems else {})}

    def _likelihoods(self, answer: CounterfactualSet, graph: Data) -> Row:
        if not self.ground.spec.plausibility or answer.best is None:
            return {}
        edits = answer.best.edits
        referee = self.ground.referee
        with self.ground.clock.of("oracle"):
            probability = referee.edge_probabilities(graph, edits.removed)
        added, removed = edge_likelihood(probability, edits)
        return {"added_likelihood": added, "removed_likelihood": removed}


# Seconds beyond twice its deadline after which a method is ended.
_GRACE = 10.0

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


def _truth(graph: Data) -> int:
    return int(graph.y) if isinstance(graph.y, Tensor) else -1


def _edits(row: Row) -> EditSet:
    return EditSet(
        added=frozenset((int(u), int(v)) for u, v in row["added"]),
        removed=frozenset((int(u), int(v)) for u, v in row["removed"]),
    )


def _times(started: float, cpu_started: float) -> Row:
    return {
        "wall_seconds": time.perf_counter() - started,
        "cpu_seconds": time.process_time() - cpu_started,
    }


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
        "stages": {
            name: {"seconds": stage.seconds, "oracle_calls": stage.oracle_calls}
            for name, stage in trace.stages.items()
        },
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


@contextmanager
def _hard_limit(budget: Budget) -> Iterator[None]:
    """End a method that goes on long after its deadline; only the main thread can be interrupted."""
    if budget.seconds is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    limit = 2 * budget.seconds + _GRACE

    def stop(number: int, frame: FrameType | None) -> None:
        raise TooSlowError(f"no answer after {limit:.0f} s, twice its deadline")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def one_thread_each() -> None:
    """Small matrices: several threads wait for each other more than they work."""
    torch.set_num_threads(1)
