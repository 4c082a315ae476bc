"""A Ray cluster: Ray Data hands tasks to actors, each of which made itself ready once.

Ray Data does what is hard: it places the actors, holds tasks back while results wait, starts actors again
whose node is gone, and does again what was lost with them. It would do so for ever for a task that ends
every actor that takes it, so each try is noted, and a piece that was tried twice alone is lost.
"""

from __future__ import annotations

import itertools
import logging
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Generic

from edgeflip.engines import worker
from edgeflip.engines.job import Done, Job, ResultT, TaskT
from edgeflip.errors import ConfigError, EdgeflipError, one_line

# Share of a CPU that an actor takes: what is left over on every node is for Ray Data's own tasks, which
# would wait for ever where actors took all.
_CPU = 0.9

# Tasks of one dataset: as many as may wait in the memory of the cluster at once.
_WINDOW = 2_000

# Seconds to wait for a cluster to answer.
_PATIENCE = 10.0

# How often a piece is tried alone.
_TRIES = 2


class RayPool(Generic[TaskT, ResultT]):
    """Actors of a cluster that know a job.

    Args:
        job: What is done with each task.
        workers: How many actors.
        tell: Takes notes for people.
    """

    def __init__(self, job: Job[TaskT, ResultT], workers: int, tell: Callable[[str], None]) -> None:
        self._workers, self._tell = workers, tell
        self._desk = _desk(worker.packed(job, "a model and settings"))

    def done(self, tasks: Iterable[TaskT]) -> Iterator[Done[ResultT]]:
        """Results of tasks, in their order."""
        drawn = enumerate(tasks)
        while window := list(itertools.islice(drawn, _WINDOW)):
            yield from self._window(window)

    def _window(self, window: list[tuple[int, TaskT]]) -> Iterator[Done[ResultT]]:
        import cloudpickle
        import ray.data

        # It would tell of each window.
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        rows = [{"index": index, "task": worker.packed(task, "graphs")} for index, task in window]
        # A block for each task, so that a lost actor costs one task.
        found = ray.data.from_items(rows, override_num_blocks=len(rows))
        found.context.execution_options.preserve_order = True
        found.context.enable_progress_bars = False
        mapped = found.map_batches(
            TaskActor,
            fn_constructor_args=(self._desk,),
            batch_size=1,
            batch_format="numpy",
            num_cpus=_CPU,
            compute=ray.data.ActorPoolStrategy(
                size=min(self._workers, len(rows)), max_tasks_in_flight_per_actor=2
            ),
        )
        for batch in mapped.iter_batches(batch_size=None, batch_format="numpy", prefetch_batches=0):
            for index, results in zip(batch["index"], batch["results"], strict=True):
                yield Done(int(index), cloudpickle.loads(results))


class TaskActor:
    """What works: made once in each process of the cluster, then called for a task at a time.

    Args:
        desk: The actor that has the job, and notes who tried what.
    """

    def __init__(self, desk: Any) -> None:
        import cloudpickle
        import ray
        import torch

        torch.set_num_threads(1)
        # Not from the memory of the cluster: what is there may be lost with a node.
        self._job: Job[Any, Any] = cloudpickle.loads(ray.get(desk.job.remote()))
        self._job.begin(worker=True)
        self._desk = desk

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """The results of one task."""
        import cloudpickle
        import numpy as np

        index, task = int(batch["index"][0]), cloudpickle.loads(batch["task"][0])
        packed = cloudpickle.dumps(self._results(index, task))
        return {"index": np.array([index]), "results": np.array([packed], dtype=object)}

    def _results(self, index: int, task: Any) -> list[Any]:
        """At first all at once; where that ended an actor, piece by piece."""
        import ray

        if ray.get(self._desk.begin.remote((index,))) == 1:
            results = [self._job.work(task)]
        else:
            results = [
                self._piece((index, number), piece)
                for number, piece in enumerate(self._job.single(task))
            ]
        # What is done may be done again, when its result is lost with a node.
        self._desk.end.remote((index,))
        return results

    def _piece(self, key: tuple[int, int], piece: Any) -> Any:
        import ray

        tries, seconds = ray.get(self._desk.begin_timed.remote(key))
        if tries > _TRIES:
            return self._job.lost(piece, seconds)
        result = self._job.work(piece)
        self._desk.end.remote(key)
        return result


def _desk(job: bytes) -> Any:
    """An actor beside the one who asks, so that it lives as long as he does."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(num_cpus=0)(_Desk).options(scheduling_strategy=here).remote(job)


class _Desk:
    """Has the job, and knows how often a task or piece was begun and not ended."""

    def __init__(self, job: bytes) -> None:
        self._job = job
        self._begun: dict[tuple[int, ...], tuple[int, float]] = {}

    def job(self) -> bytes:
        """The job, for an actor that begins."""
        return self._job

    def begin(self, key: tuple[int, ...]) -> int:
        """Note a beginning; how many there were."""
        return self.begin_timed(key)[0]

    def begin_timed(self, key: tuple[int, ...]) -> tuple[int, float]:
        """Note a beginning; how many there were, and seconds since the one before."""
        before, when = self._begun.get(key, (0, time.monotonic()))
        now = time.monotonic()
        self._begun[key] = (before + 1, now)
        return before + 1, now - when

    def end(self, key: tuple[int, ...]) -> None:
        """Forget the beginnings of what was done."""
        self._begun.pop(key, None)


@contextmanager
def ray_pool(
    job: Job[TaskT, ResultT],
    workers: int | None,
    address: str | None,
    tell: Callable[[str], None],
) -> Iterator[RayPool[TaskT, ResultT]]:
    """Actors of a cluster for the block.

    Raises:
        ConfigError: If Ray is not installed, the cluster is not there, or is too small.
    """
    try:
        import ray
        import ray.data
    except ImportError as error:
        raise ConfigError(
            "expected Ray for engine='ray', got no such package; pip install 'edgeflip[cluster]'."
        ) from error
    ours = not ray.is_initialized()
    if ours:
        _connect(ray, address)
    try:
        yield RayPool(job, _checked_workers(ray, workers), tell)
    except ray.exceptions.RayError as error:
        raise EdgeflipError(
            f"expected the cluster to go on, got {one_line(error)}; run the same again, what is done stays."
        ) from error
    finally:
        if ours:
            ray.shutdown()


def _connect(ray: Any, address: str | None) -> None:
    """Join a cluster: the named one, the one that `RAY_ADDRESS` names, or one of this machine alone."""
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = f"at {address}" if address else "here"
        raise ConfigError(
            f"expected a Ray cluster {where}, got {one_line(error)}; start one with 'ray start --head', or "
            "give its address."
        ) from error


def _knock(address: str | None) -> None:
    """See that somebody answers at an address; Ray itself would wait there for minutes."""
    host, colon, port = (address or "").removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=_PATIENCE).close()


def _checked_workers(ray: Any, workers: int | None) -> int:
    """How many actors, as far as there is room for them and for Ray Data's own tasks.

    Raises:
        ConfigError: If there is too little room.
    """
    nodes = [node for node in ray.nodes() if node["Alive"]]
    cpus = [float(node["Resources"].get("CPU", 0.0)) for node in nodes]
    # The largest number of actors that still leaves a tenth of a CPU somewhere.
    room = sum(int(each / _CPU + 1e-9) for each in cpus)
    if not room:
        raise ConfigError(
            f"expected a cluster with a CPU on one of its nodes, got {sum(cpus):g} CPUs on {len(nodes)} "
            "nodes; give it larger nodes."
        )
    if workers is not None and workers > room:
        raise ConfigError(
            f"expected a cluster with room for {workers} workers, got {sum(cpus):g} CPUs on {len(nodes)} "
            f"nodes, which is room for {room}; ask for fewer workers or add nodes."
        )
    return workers or room
