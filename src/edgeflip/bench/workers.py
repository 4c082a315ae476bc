"""Who does the work of a benchmark: this process, or several."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from edgeflip.bench.context import Ground
from edgeflip.bench.evaluate import Evaluation
from edgeflip.bench.spec import BenchSpec, MethodSpec, Sources
from edgeflip.bench.timing import Clock
from edgeflip.errors import EdgeflipError
from edgeflip.support import Row, one_thread

_KILLED = "its worker was killed, and again when it was tried alone; perhaps memory was short"


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


def _begin_worker(spec: BenchSpec, models: Path, sources: Sources, progress: bool) -> None:
    """Make a process of a pool ready, and let it end with the process it works for."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Small matrices: several threads wait for each other more than they work.
    torch.set_num_threads(1)
    _begin(spec, models, sources, progress)


def _end_with_parent() -> None:
    """A killed parent cannot call its workers off, and they would wait for it forever."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


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


class Crew:
    """Who works: this process, or a pool of others.

    Args:
        workers: How many processes; 1 for this one.
        hire: Makes a pool of that many.
        tell: Takes notes for people.
    """

    def __init__(
        self,
        workers: int,
        hire: Callable[[], ProcessPoolExecutor],
        tell: Callable[[str], None],
    ) -> None:
        self._workers, self._hire, self._tell = workers, hire, tell
        self._pool = None if workers == 1 else hire()

    def work(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """Results of tasks as they come, one graph at a time where nobody else works.

        A task whose worker is killed is tried again, alone; killed again, its rows say that it failed.
        """
        if self._pool is None:
            for task in tasks:
                for part in _single(task):
                    yield _work(part)
            return
        waiting = list(reversed(tasks))
        while waiting:
            suspects: list[Task] = []
            yield from self._together(waiting, suspects)
            if suspects:
                self._renew()
                self._tell(
                    "a worker was killed, perhaps for want of memory; what was being done is tried again"
                )
                for task in suspects:
                    yield from self._alone(task)

    def close(self, *, wait: bool) -> None:
        """Let the workers go."""
        if self._pool is not None:
            self._pool.shutdown(wait=wait, cancel_futures=not wait)

    def _together(self, waiting: list[Task], suspects: list[Task]) -> Iterator[Result]:
        """Work until all is done or a worker is killed; what was being done then are the suspects."""
        assert self._pool is not None
        running: dict[Future[Result], Task] = {}
        while (waiting and not suspects) or running:
            while waiting and not suspects and len(running) < 2 * self._workers:
                task = waiting.pop()
                try:
                    running[self._pool.submit(_work, task)] = task
                except BrokenProcessPool:
                    suspects.append(task)
            started = time.perf_counter()
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            waited = time.perf_counter() - started
            for future in finished:
                task = running.pop(future)
                try:
                    rows, clock, seconds, _ = future.result()
                except BrokenProcessPool:
                    suspects.append(task)
                    continue
                yield rows, clock, seconds, waited
                waited = 0.0

    def _alone(self, task: Task) -> Iterator[Result]:
        """A task whose worker was killed, done with nobody beside it, so that it is clear who is to blame.

        Killed again, it is taken apart, and what cannot be taken apart has failed.
        """
        assert self._pool is not None
        try:
            result = self._pool.submit(_work, task).result()
        except BrokenProcessPool:
            self._renew()
        else:
            yield result
            return
        parts = [replace(task, places=(place,)) for place in task.places]
        if len(parts) > 1:
            for part in parts:
                yield from self._alone(part)
            return
        self._tell(f"a worker was killed again; a failure is written down for {task}")
        yield _lost(task), Clock(), 0.0, 0.0

    def _renew(self) -> None:
        """New workers in place of those that were killed; they must at least begin."""
        self.close(wait=False)
        self._pool = self._hire()
        try:
            self._pool.submit(os.getpid).result()
        except BrokenProcessPool:
            raise EdgeflipError(
                "expected workers that begin, got one that was killed before it did anything; free "
                "memory and run the same command again, or with one worker."
            ) from None


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
) -> Iterator[Crew]:
    """A crew for the block; none of its processes outlives it."""
    _begin(spec, models, sources, progress)

    def hire() -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            workers,
            mp_context=multiprocessing.get_context("spawn"),
            initializer=_begin_worker,
            initargs=(spec, models, sources, progress),
        )

    # The caller's own number of threads comes back afterwards.
    with one_thread():
        team = Crew(workers, hire, tell)
        try:
            yield team
        except BaseException:
            team.close(wait=False)
            raise
        team.close(wait=True)
