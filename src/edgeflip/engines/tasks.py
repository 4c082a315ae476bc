"""Tasks and who does them: one way to ask, whoever works."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Generic, Literal, Protocol, TypeAlias, TypeVar, get_args

from edgeflip.engines.job import Done, Job, ResultT, TaskT, in_order
from edgeflip.engines.local import Pool
from edgeflip.errors import ConfigError, shown, unknown_name
from edgeflip.support import one_thread

Engine: TypeAlias = Literal["inline", "local", "ray"]
TaskT_contra = TypeVar("TaskT_contra", contravariant=True)
ResultT_co = TypeVar("ResultT_co", covariant=True)

ENGINES: tuple[str, ...] = get_args(Engine)

_MOST_WORKERS = 1_024


def check_engine(engine: str, workers: int | None) -> None:
    """Refuse an engine that does not exist, and a number of workers that cannot be.

    Raises:
        ConfigError: With what would work.
    """
    if engine not in ENGINES:
        raise unknown_name("engine", engine, ENGINES)
    if workers is None:
        return
    whole = isinstance(workers, int) and not isinstance(workers, bool)
    if not whole or not 1 <= workers <= _MOST_WORKERS:
        raise ConfigError(
            f"expected from 1 to {_MOST_WORKERS:,} workers, got {shown(workers)}; give one for each core "
            "at most."
        )
    if engine == "inline" and workers > 1:
        raise ConfigError(
            f"expected one worker with engine='inline', which is this process, got {workers}; use "
            "engine='local'."
        )


class Workers(Protocol[TaskT_contra, ResultT_co]):
    """Other processes that know a job."""

    def done(self, tasks: Iterable[TaskT_contra]) -> Iterator[Done[ResultT_co]]:
        """Results of tasks as they come."""


class Crew(Generic[TaskT, ResultT]):
    """Who works on a job.

    Args:
        job: What is done with each task.
        pool: Other processes; None for this one.
    """

    def __init__(self, job: Job[TaskT, ResultT], pool: Workers[TaskT, ResultT] | None) -> None:
        self._job, self._pool = job, pool

    def done(self, tasks: Iterable[TaskT], *, ordered: bool = True) -> Iterator[Done[ResultT]]:
        """Results of tasks, in their order or as they come."""
        if self._pool is None:
            return (Done(index, [self._job.work(task)]) for index, task in enumerate(tasks))
        found = self._pool.done(tasks)
        return in_order(found) if ordered else found


@contextmanager
def crew(
    job: Job[TaskT, ResultT],
    engine: Engine,
    workers: int | None = None,
    *,
    address: str | None = None,
    tell: Callable[[str], None] = lambda text: None,
) -> Iterator[Crew[TaskT, ResultT]]:
    """Whoever works on a job for the block; no process outlives it.

    Args:
        job: What is done with each task.
        engine: This process, several of this machine, or a Ray cluster.
        workers: How many; a core each when left out.
        address: The address of the cluster.
        tell: Takes notes for people.
    """
    check_engine(engine, workers)
    if engine == "ray":
        from edgeflip.engines.cluster import ray_pool

        with ray_pool(job, workers, address, tell) as cluster:
            yield Crew(job, cluster)
        return
    # The caller's own number of threads comes back afterwards.
    with one_thread(when=engine == "local"):
        if engine == "inline":
            job.begin(worker=False)
            yield Crew(job, None)
            return
        pool = Pool(job, workers or max(1, _cores()), tell)
        try:
            yield Crew(job, pool)
        except BaseException:
            pool.close(wait=False)
            raise
        pool.close(wait=True)


def _cores() -> int:
    """Cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
