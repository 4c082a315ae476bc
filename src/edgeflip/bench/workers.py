"""Who does the work of a benchmark: this process, or several."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from edgeflip import engines
from edgeflip.bench.context import Ground
from edgeflip.bench.evaluate import Evaluation
from edgeflip.bench.spec import BenchSpec, MethodSpec, Sources
from edgeflip.bench.timing import Clock
from edgeflip.engines import Job
from edgeflip.support import Row, one_thread

_KILLED = "its worker ended, and again when it was tried alone; perhaps memory was short"


@dataclass(frozen=True)
class Task:
    """Work for one process: prepare a method, or explain some graphs.

    Attributes:
        dataset: The dataset.
        seed: The seed.
        method: The method; None to prepare the oracle only.
        places: Graphs to explain; none to fit the method only.
    """

    dataset: str
    seed: int
    method: MethodSpec | None = None
    places: tuple[int, ...] = ()

    def __str__(self) -> str:
        """What it is about, in words."""
        what = "the oracle" if self.method is None else self.method.label or self.method.name
        graphs = f"graph{'s'[: len(self.places) != 1]} {', '.join(map(str, self.places))} of "
        return f"{what}, {graphs if self.places else ''}{self.dataset}, seed {self.seed}"


_grounds: dict[tuple[str, int], Ground] = {}
_evaluations: dict[tuple[str, int, str], Evaluation] = {}
_setup: tuple[BenchSpec, Path, Sources] | None = None
_progress = False


def ground_of(spec: BenchSpec, models: Path, sources: Sources, dataset: str, seed: int) -> Ground:
    """The ground of a dataset and seed, read once per process."""
    key = (dataset, seed)
    if key not in _grounds:
        _grounds[key] = Ground.load(spec, dataset, seed, models, sources)
    return _grounds[key]


def _begin(spec: BenchSpec, models: Path, sources: Sources, progress: bool) -> None:
    """Make this process ready to work on a benchmark."""
    global _setup, _progress
    _setup, _progress = (spec, models, sources), progress
    _grounds.clear()
    _evaluations.clear()


Result = tuple[list[Row], Clock, float, float]


def _work(task: Task) -> Result:
    """Do a task in this process; the rows it gives, and where its seconds went."""
    assert _setup is not None
    started = time.perf_counter()
    ground = ground_of(*_setup, task.dataset, task.seed)
    ground.clock, ground.progress = Clock(), _progress
    rows = list(_rows_of(ground, task))
    return rows, ground.clock, time.perf_counter() - started, 0.0


def _rows_of(ground: Ground, task: Task) -> Iterator[Row]:
    if task.method is None:
        ground.oracle  # noqa: B018 - trains it
        yield ground.row()
        return
    label = ground.spec.label(task.method)
    key = (task.dataset, task.seed, label)
    if key not in _evaluations:
        _evaluations[key] = Evaluation(ground, task.method)
    evaluation = _evaluations[key]
    if not task.places:
        yield evaluation.fit_row()
    else:
        yield from evaluation.graph_rows(task.places)


class BenchJob(Job[Task, Result]):
    """The work of a benchmark, task by task.

    Args:
        spec: What is run.
        models: Where trained models are kept.
        sources: Where graphs come from.
        progress: Whether progress is shown.
    """

    def __init__(self, spec: BenchSpec, models: Path, sources: Sources, *, progress: bool) -> None:
        self._setup, self._progress = (spec, models, sources), progress

    def begin(self, *, worker: bool) -> None:
        """Know the benchmark in this process."""
        _begin(*self._setup, self._progress)

    def work(self, task: Task) -> Result:
        """The rows of a task."""
        return _work(task)

    def single(self, task: Task) -> list[Task]:
        """Graph by graph."""
        return [replace(task, places=(place,)) for place in task.places] or [task]

    def lost(self, task: Task, seconds: float) -> Result:
        """Rows that say that it failed."""
        return _lost(task), Clock(), 0.0, 0.0


class Crew:
    """Who works on a benchmark.

    Args:
        team: This process, or others.
        alone: Whether it is this one.
    """

    def __init__(self, team: engines.Crew[Task, Result], *, alone: bool) -> None:
        self._team, self._alone = team, alone

    def work(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """Results of tasks as they come, one graph at a time where nobody else works.

        A task whose worker ends is tried again, alone; ends another, and its rows say that it failed.
        """
        if self._alone:
            tasks = [part for task in tasks for part in _single(task)]
        found = self._team.done(tasks, ordered=False)
        started = time.perf_counter()
        for done in found:
            waited = 0.0 if self._alone else time.perf_counter() - started
            for rows, clock, seconds, _ in done.results:
                yield rows, clock, seconds, waited
                waited = 0.0
            started = time.perf_counter()


def _single(task: Task) -> list[Task]:
    if len(task.places) < 2 or (task.method and task.method.explains_together):
        return [task]
    return [Task(task.dataset, task.seed, task.method, (index,)) for index in task.places]


def _lost(task: Task) -> list[Row]:
    """The rows of a task whose worker was killed again when it was tried alone."""
    assert _setup is not None
    ground = ground_of(*_setup, task.dataset, task.seed)
    if task.method is None:
        reason = f"the oracle of seed {task.seed} was not trained: {_KILLED}"
        return [{"kind": "skipped", "dataset": task.dataset, "reason": reason}]
    evaluation = Evaluation(ground, task.method)
    if not task.places:
        return [evaluation.failed_fit_row(_KILLED)]
    return [evaluation.failed_row(place, _KILLED) for place in task.places]


@contextmanager
def crew(
    workers: int,
    spec: BenchSpec,
    models: Path,
    sources: Sources,
    tell: Callable[[str], None] = lambda text: None,
    *,
    progress: bool = False,
    engine: engines.Engine | None = None,
    address: str | None = None,
) -> Iterator[Crew]:
    """A crew for the block; none of its processes outlives it."""
    chosen = engine or ("inline" if workers == 1 else "local")
    job = BenchJob(spec, models, sources, progress=progress)
    # What is not worked on elsewhere is read here.
    _begin(spec, models, sources, progress)
    # The caller's own number of threads comes back afterwards.
    with (
        one_thread(),
        engines.crew(job, chosen, workers, address=address, tell=tell) as team,
    ):
        yield Crew(team, alone=chosen == "inline")
