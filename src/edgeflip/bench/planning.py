"""What a benchmark would run and about what it would cost, told before anything is trained or explained."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from edgeflip.bench.context import asks_referee
from edgeflip.bench.costs import ORACLE, Cost, Costs, costs_of_run, known_costs
from edgeflip.bench.folder import META, check_same_run, read_meta
from edgeflip.bench.part import Part, sources_of
from edgeflip.bench.spec import BenchSpec, MethodSpec, Sources, Split, graphs_of
from edgeflip.datasets import DatasetBundle
from edgeflip.errors import ConfigError, DatasetError
from edgeflip.explainers import CounterfactualExplainer, EdgeFlip, LinkExplainer
from edgeflip.presets import PROFILES
from edgeflip.support import RESULTS, Key, Row, as_path, checked_call, checksum, key_of, read_rows

REFEREE = "link predictor"
"""Stands for the link predictor by which plausibility is rated."""

_HOUR = 3600.0
_SHORT = "smoke"


@dataclass(frozen=True)
class PlannedWork:
    """What is to be done for one column on one dataset, or for its oracles.

    Attributes:
        dataset: The dataset.
        method: The column; `oracle` for the oracles, `link predictor` for the one that rates plausibility.
        seeds: How many seeds.
        graphs: How many graphs, every seed counted.
        done: How many of them are in the folder already.
        at_most: Whether there may be fewer graphs, since only those that an oracle gets right are
            explained and it is not trained yet.
        questions: Questions about each graph: the plain one, under noise, for every other class.
        graph_seconds: Measured CPU seconds of one question; None if unknown.
        training_seconds: Measured seconds of all the learning that is left; None if unknown.
    """

    dataset: str
    method: str
    seeds: int
    graphs: int = 0
    done: int = 0
    at_most: bool = False
    questions: int = 1
    graph_seconds: float | None = None
    training_seconds: float | None = 0.0

    @property
    def hours(self) -> float | None:
        """CPU hours of what is left; None if unknown."""
        left = (self.graphs - self.done) * self.questions
        if (left and self.graph_seconds is None) or self.training_seconds is None:
            return None
        return (left * (self.graph_seconds or 0.0) + self.training_seconds) / _HOUR


@dataclass(frozen=True)
class Plan:
    """What a benchmark would run.

    Attributes:
        work: By dataset and column.
        skipped: Datasets that are not at hand, and why.
    """

    work: tuple[PlannedWork, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def hours(self) -> float:
        """CPU hours of all whose cost is known."""
        return sum(entry.hours or 0.0 for entry in self.work)

    @property
    def unknown(self) -> tuple[PlannedWork, ...]:
        """What has no estimate."""
        return tuple(entry for entry in self.work if entry.hours is None)

    def to_dict(self) -> dict[str, Any]:
        """The plan as plain values."""
        return {
            "work": [{**asdict(entry), "hours": entry.hours} for entry in self.work],
            "skipped": dict(self.skipped),
            "hours": self.hours,
            "unknown": len(self.unknown),
        }


@checked_call()
def plan_bench(
    spec: BenchSpec,
    folder: str | os.PathLike[str] | None = None,
    *,
    costs: str | os.PathLike[str] | None = None,
    data_dir: Path | None = None,
    bundles: Mapping[str, DatasetBundle] | None = None,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    split: Split | None = None,
) -> Plan:
    """Tell what `run_bench` would do with the same arguments; nothing is trained, explained or written.

    Costs come from the rows in the folder, then from those of an earlier run, then from the tables that
    come with the package. They go by dataset, column and profile. A column that was never measured costs
    what its explainer did on the same dataset in another profile or under its plain name, and is unknown
    otherwise.
    Models that another run left in a folder for models count as not trained.

    Args:
        spec: What to run.
        folder: Where the results would go; what is done there already is left out.
        costs: Folder of an earlier run to estimate by.
        data_dir: The data folder; by default the one that `EDGEFLIP_DATA` names.
        bundles: Graphs in memory, by their names in the spec.
        datasets: Only these of the spec's datasets.
        methods: Only these of its methods, by their labels.
        split: These graphs instead of those that the spec names.

    Raises:
        ConfigError: If the folder belongs to another spec or version.

    Example:
        >>> from edgeflip.bench import load_spec
        >>> _, spec = load_spec("table1")
        >>> plan = plan_bench(spec, datasets=["ba_2motifs"], methods=["random"])
        >>> [(entry.method, entry.graphs) for entry in plan.work]
        [('oracle', 0), ('random', 100)]
    """
    spec = spec if split is None else replace(spec, split=split)
    sources = sources_of(spec, data_dir, bundles or {})
    part = Part.of(spec, datasets, methods)
    rows: dict[Key, Row] = {}
    known = known_costs()
    if costs is not None:
        known |= _given(costs_of_run(costs))
    if folder is not None and ((location := as_path(folder, ConfigError)) / META).exists():
        check_same_run(read_meta(location), spec, location)
        read = read_rows(location / RESULTS, all_signed=True)
        rows = {key_of(row): row for row in read.rows}
        known |= _given(costs_of_run(location))
    return _Planner(part, sources, rows, known).plan()


def _given(costs: Costs) -> dict[Any, Cost]:
    """Costs without those that say nothing, which would hide others."""
    return {key: cost for key, cost in costs.items() if cost != Cost()}


class _Planner:
    def __init__(self, part: Part, sources: Sources, rows: Mapping[Key, Row], costs: Costs) -> None:
        self.part, self.spec, self.sources = part, part.spec, sources
        self.rows, self.costs = rows, costs

    def plan(self) -> Plan:
        work: list[PlannedWork] = []
        skipped: dict[str, str] = {}
        for dataset in self.part.datasets:
            try:
                bundle = self.sources.load(self.spec, dataset)
                graphs = len(graphs_of(bundle, self.spec.split))
            except DatasetError as error:
                skipped[dataset] = str(error)
                continue
            work += self._on(dataset, graphs, bundle.num_classes)
        return Plan(tuple(work), skipped)

    def _on(self, dataset: str, graphs: int, classes: int) -> Iterator[PlannedWork]:
        seeds = self.part.seeds_on(dataset)
        cost = self._cost(dataset, self.spec.profile, ORACLE).training
        left = sum(("oracle", dataset, "", seed, -1) not in self.rows for seed in seeds)
        yield PlannedWork(dataset, ORACLE, len(seeds), training_seconds=_times(left, cost))
        learning = _Learning(self, dataset)
        if self.spec.plausibility:
            yield PlannedWork(
                dataset, REFEREE, len(seeds), training_seconds=learning.seconds_of_referee()
            )
        limit = self.spec.most_graphs(dataset)
        at_most = graphs if limit is None else min(graphs, limit)
        for method in self.part.methods_on(dataset):
            label = self.spec.label(method)
            own = self.spec.seeds_of(method)
            counts = {
                seed: self.rows.get(("oracle", dataset, "", seed, -1), {}).get("graphs")
                for seed in own
            }
            done = sum(key[:3] == ("graph", dataset, label) and key[3] in own for key in self.rows)
            yield PlannedWork(
                dataset,
                label,
                len(own),
                graphs=sum(at_most if count is None else count for count in counts.values()),
                done=done,
                at_most=self.spec.only_correct and None in counts.values(),
                questions=self._questions(method, classes),
                graph_seconds=self.cost(dataset, method).graph,
                training_seconds=learning.seconds(method),
            )

    def _questions(self, method: MethodSpec, classes: int) -> int:
        noise = self.spec.noise and method.noise
        # Of two classes any other one is the other one, and nothing is asked again.
        targets = self.spec.targets and method.targets and classes > 2
        return 1 + noise + (classes - 1 if targets else 0)

    def profile(self, method: MethodSpec) -> str:
        return method.profile or self.spec.profile

    def cost(self, dataset: str, method: MethodSpec) -> Cost:
        """What a column costs, or what is nearest to it."""
        label = self.spec.label(method)
        names = dict.fromkeys((label, label.partition(" (")[0], method.name))
        return self._cost(dataset, self.profile(method), *names)

    def _cost(self, dataset: str, profile: str, *names: str) -> Cost:
        # What is cut short for tests costs nothing like the others.
        others = () if profile == _SHORT else [each for each in PROFILES if each != _SHORT]
        known = (
            self.costs.get((dataset, name, each))
            for name in names
            for each in dict.fromkeys((profile, *others))
        )
        return next((cost for cost in known if cost is not None), Cost())


class _Learning:
    """What is left to learn on a dataset; methods that learn the same share it."""

    def __init__(self, planner: _Planner, dataset: str) -> None:
        self.planner, self.dataset = planner, dataset
        self.learned: set[tuple[str, int]] = set()
        self.costs: dict[str, float] = {}
        for method in planner.part.methods_on(dataset):
            what = self._what(method)
            cost = planner.cost(dataset, method).training
            if what is not None and cost is not None:
                self.costs.setdefault(what, cost)
            for seed in planner.spec.seeds_of(method):
                key = ("fit", dataset, planner.spec.label(method), seed, -1)
                if what is not None and key in planner.rows:
                    self.learned.add((what, seed))

    def seconds(self, method: MethodSpec) -> float | None:
        """What a method has to learn that no earlier one did; None if that is unknown."""
        return self._left(self._what(method), self.planner.spec.seeds_of(method))

    def seconds_of_referee(self) -> float | None:
        """The same for the link predictor that rates edges, which is trained before any method."""
        what = _learned_by(asks_referee(self.planner.spec, self.dataset))
        rows = self.planner.rows
        seeds = self.planner.part.seeds_on(self.dataset)
        fitted = {key[3] for key in rows if key[:2] == ("fit", self.dataset)}
        self.learned |= {(str(what), seed) for seed in fitted & set(seeds)}
        # Our own method's is of the same size, whatever it learns of classes.
        usual = self.planner.cost(self.dataset, MethodSpec(EdgeFlip.name)).training
        if usual is not None:
            self.costs.setdefault(str(what), usual)
        return self._left(what, seeds)

    def _left(self, what: str | None, seeds: Sequence[int]) -> float | None:
        if what is None:
            return 0.0
        left = [seed for seed in seeds if (what, seed) not in self.learned]
        self.learned |= {(what, seed) for seed in left}
        return _times(len(left), self.costs.get(what))

    def _what(self, method: MethodSpec) -> str | None:
        return _learned_by(self.planner.spec.make_explainer(method, self.dataset))


def _learned_by(explainer: CounterfactualExplainer[Any]) -> str | None:
    """What a method learns, the same text for the same; None for nothing."""
    if not explainer.learns:
        return None
    name = "links" if isinstance(explainer, LinkExplainer) else explainer.name
    return checksum({"name": name, "settings": repr(explainer.fit_settings())})


def _times(count: int, seconds: float | None) -> float | None:
    """So many times some seconds; of nothing none."""
    if not count:
        return 0.0
    return None if seconds is None else count * seconds
