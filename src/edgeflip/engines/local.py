"""Several processes of this machine, one thread each."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any, Generic

from edgeflip.engines import worker
from edgeflip.engines.job import Done, Job, ResultT, TaskT
from edgeflip.errors import EdgeflipError

# Tasks that are handed out before they are needed, for each worker, and how far results may run ahead
# of the first that is missing.
_AHEAD, _EARLY = 2, 8


class Pool(Generic[TaskT, ResultT]):
    """Processes that know a job.

    A task whose worker ends is tried again alone, in its smallest pieces; a piece whose worker ends once
    more is lost, and the job says what that means. None of the processes outlives this one.

    Args:
        job: What is done with each task.
        workers: How many processes.
        tell: Takes notes for people.
    """

    def __init__(self, job: Job[TaskT, ResultT], workers: int, tell: Callable[[str], None]) -> None:
        self._job, self._workers, self._tell = job, workers, tell
        self._packed = worker.packed(job, "a model and settings")
        self._pool = self._hire()

    def done(self, tasks: Iterable[TaskT]) -> Iterator[Done[ResultT]]:
        """Results of tasks as they come. Tasks are drawn when there is room for them."""
        waiting = enumerate(tasks)
        running: dict[Future[bytes], tuple[int, TaskT]] = {}
        missing: set[int] = set()
        left = True
        while left or running:
            suspects: list[tuple[int, TaskT]] = []
            while left and not suspects and len(running) < _AHEAD * self._workers:
                if missing and max(missing) - min(missing) >= _EARLY * self._workers:
                    break
                following = next(waiting, None)
                left = following is not None
                if following is not None:
                    missing.add(following[0])
                    self._submit(following, running, suspects)
            for index, results in self._finished(running, suspects):
                missing.discard(index)
                yield Done(index, results)
            if suspects:
                for index, results in self._again(sorted(suspects, key=lambda each: each[0])):
                    missing.discard(index)
                    yield Done(index, results)

    def close(self, *, wait: bool) -> None:
        """Let the processes go; those that still work are killed."""
        self._pool.shutdown(wait=wait, kill_workers=not wait)

    def _submit(
        self,
        each: tuple[int, TaskT],
        running: dict[Future[bytes], tuple[int, TaskT]],
        suspects: list[tuple[int, TaskT]],
    ) -> None:
        try:
            running[self._pool.submit(worker.work, worker.packed(each[1], "graphs"))] = each
        except BrokenProcessPool:
            suspects.append(each)

    def _finished(
        self,
        running: dict[Future[bytes], tuple[int, TaskT]],
        suspects: list[tuple[int, TaskT]],
    ) -> Iterator[tuple[int, list[ResultT]]]:
        """What is done by now, at least one; all that was running when a worker ended is suspect."""
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        if suspects or any(isinstance(each.exception(), BrokenProcessPool) for each in finished):
            finished, _ = wait(running)
        for future in sorted(finished, key=lambda each: running[each][0]):
            index, task = running.pop(future)
            try:
                yield index, [_unpacked(future.result())]
            except BrokenProcessPool:
                suspects.append((index, task))

    def _again(self, suspects: list[tuple[int, TaskT]]) -> Iterator[tuple[int, list[ResultT]]]:
        self._renew()
        self._tell(
            "a worker ended before its time, perhaps for want of memory; what was being done is tried again"
        )
        for index, task in suspects:
            yield index, list(self._alone(task))

    def _alone(self, task: TaskT) -> Iterator[ResultT]:
        """A task with nobody beside it, piece by piece, so that it is clear which one is to blame."""
        for piece in self._job.single(task):
            started = time.perf_counter()
            try:
                future = self._pool.submit(worker.work, worker.packed(piece, "graphs"))
                yield _unpacked(future.result())
            except BrokenProcessPool:
                seconds = time.perf_counter() - started
                self._renew()
                self._tell(
                    f"a worker ended again; a failure is written down for {self._job.named(piece)}"
                )
                yield self._job.lost(piece, seconds)

    def _hire(self) -> Any:
        return hired(self._workers, self._packed)

    def _renew(self) -> None:
        """New processes in place of those that ended; they must at least begin."""
        self.close(wait=False)
        self._pool = self._hire()
        try:
            self._pool.submit(worker.alive).result()
        except BrokenProcessPool:
            raise EdgeflipError(
                "expected workers that begin, got one that ended before it did anything; free "
                "memory and run the same again, or with one worker."
            ) from None


def hired(workers: int, job: bytes) -> Any:
    """A pool of processes that begin with a job."""
    from joblib.externals.loky import ProcessPoolExecutor

    return ProcessPoolExecutor(
        workers,
        context=_context(),
        initializer=worker.begin,
        initargs=(job, os.getpid()),
        # They stay for as long as there may be work.
        timeout=None,
    )


def _context() -> Any:
    """How processes are started: anew, and without running the caller's script again."""
    from joblib.externals.loky.backend.context import get_context

    return get_context("loky")


def _unpacked(result: bytes) -> Any:
    import cloudpickle

    return cloudpickle.loads(result)
