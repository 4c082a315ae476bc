"""Who does the work of a benchmark: this process, or several."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import torch

from edgeflip.bench.context import Ground
from edgeflip.bench.evaluate import Evaluation
from edgeflip.bench.spec import BenchSpec, MethodSpec
from edgeflip.bench.timing import Clock
from edgeflip.support import Row, one_thread


@dataclass(frozen=True)
class Task:
    """Work for one process: prepare a method, or explain some graphs.

    Attributes:
        dataset: The dataset.
        seed: The seed.
        method: The method; None to prepare the oracle only.
        places: Test graphs to explain; none to fit the method only.
    """

    dataset: str
    seed: int
    method: MethodSpec | None = None
    places: tuple[int, ...] = ()


_grounds: dict[tuple[str, int], Ground] = {}
_evaluations: dict[tuple[str, int, str], Evaluation] = {}
_setup: tuple[BenchSpec, Path, Path | None] | None = None


def ground_of(
    spec: BenchSpec, models: Path, data_dir: Path | None, dataset: str, seed: int
) -> Ground:
    """The ground of a dataset and seed, read once per process."""
    key = (dataset, seed)
    if key not in _grounds:
        _grounds[key] = Ground.load(spec, dataset, seed, models, data_dir)
    return _grounds[key]


def _begin(spec: BenchSpec, models: Path, data_dir: Path | None) -> None:
    """Make this process ready to work on a benchmark."""
    global _setup
    _setup = (spec, models, data_dir)
    _grounds.clear()
    _evaluations.clear()


def _begin_worker(spec: BenchSpec, models: Path, data_dir: Path | None) -> None:
    """Make a process of a pool ready, and let it end with the process it works for."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # Small matrices: several threads wait for each other more than they work.
    torch.set_num_threads(1)
    _begin(spec, models, data_dir)


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
    ground.clock = Clock()
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
    """Who works: this process, or a pool of others."""

    def __init__(self, pool: ProcessPoolExecutor | None, workers: int) -> None:
        self._pool, self._workers = pool, workers

    def work(self, tasks: Sequence[Task]) -> Iterator[Result]:
        """Results of tasks as they come, one graph at a time where nobody else works."""
        if self._pool is None:
            for task in tasks:
                for part in _single(task):
                    yield _work(part)
            return
        waiting = list(reversed(tasks))
        running: set[Future[Result]] = set()
        while waiting or running:
            while waiting and len(running) < 2 * self._workers:
                running.add(self._pool.submit(_work, waiting.pop()))
            started = time.perf_counter()
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            waited = time.perf_counter() - started
            for future in finished:
                rows, clock, seconds, _ = future.result()
                yield rows, clock, seconds, waited
                waited = 0.0


def _single(task: Task) -> list[Task]:
    if len(task.places) < 2 or (task.method and task.method.explains_together):
        return [task]
    return [Task(task.dataset, task.seed, task.method, (index,)) for index in task.places]


@contextmanager
def crew(workers: int, spec: BenchSpec, models: Path, data_dir: Path | None) -> Iterator[Crew]:
    """A crew for the block; none of its processes outlives it."""
    _begin(spec, models, data_dir)
    # The caller's own number of threads comes back afterwards.
    with one_thread():
        if workers == 1:
            yield Crew(None, 1)
            return
        context = multiprocessing.get_context("spawn")
        with ProcessPoolExecutor(
            workers,
            mp_context=context,
            initializer=_begin_worker,
            initargs=(spec, models, data_dir),
        ) as pool:
            try:
                yield Crew(pool, workers)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                raise
