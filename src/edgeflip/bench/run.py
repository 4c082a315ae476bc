"""Running a benchmark: every row is kept, and what was kept is never done again."""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edgeflip.bench.cell import Cell, Clock, Ground, one_thread_each
from edgeflip.bench.journal import RESULTS, Journal, Key, Row
from edgeflip.bench.spec import BenchSpec, MethodSpec
from edgeflip.datasets import list_datasets
from edgeflip.errors import (
    ArtifactError,
    ConfigError,
    DatasetError,
    EdgeflipError,
    unknown_name,
)
from edgeflip.oracle import one_line
from edgeflip.progress import progress_bar
from edgeflip.registry import explainer_class
from edgeflip.storage import read_json, write_json
from edgeflip.versions import code_version, package_version

META, PARQUET = "meta.json", "results.parquet"

# Graphs that a worker takes at a time.
_CHUNK = 5


class BenchInterrupted(KeyboardInterrupt):
    """Ctrl-C during a benchmark; all rows until then are kept."""


@dataclass(frozen=True)
class RunReport:
    """How a run went.

    Attributes:
        folder: Where the results are.
        rows: Rows for graphs, of this and earlier sessions.
        measured: How many of them this session added.
        failures: How many of all say that a method failed.
        skipped: Datasets that were not at hand, and why.
        repaired: Whether a line cut off by a crash was dropped.
    """

    folder: Path
    rows: int
    measured: int
    failures: int
    skipped: dict[str, str]
    repaired: bool


@dataclass(frozen=True)
class Task:
    """Work for one process: prepare a cell, or explain some graphs.

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


def run_bench(
    spec: BenchSpec,
    folder: str | os.PathLike[str],
    *,
    name: str = "",
    workers: int = 1,
    resume: bool = True,
    models: str | os.PathLike[str] | None = None,
    data_dir: Path | None = None,
    command: str = "",
    progress: bool = False,
    tell: Callable[[str], None] = lambda text: None,
) -> RunReport:
    """Run a benchmark, or the rest of one that was begun in the folder.

    Args:
        spec: What to run.
        folder: Where the results go.
        name: Name of the spec, for the report.
        workers: Processes to share the work; seconds are only comparable when there is a core for each.
        resume: Whether to go on where an earlier run in the folder ended; otherwise that is refused.
        models: Where trained models are kept; in the folder by default. May be shared by runs.
        data_dir: The data folder; by default the one that `EDGEFLIP_DATA` names.
        command: The command line, for the report.
        progress: Whether to show progress and an estimate.
        tell: Takes notes for people.

    Raises:
        ConfigError: If the folder belongs to another spec or version, or is in use.
        BenchInterrupted: On Ctrl-C.
    """
    if workers < 1:
        raise ConfigError(f"expected at least one worker, got {workers}.")
    _check_names(spec)
    place = Path(folder)
    if place.exists() and not place.is_dir():
        raise ConfigError(f"expected a folder for the results, got the file {place}; give another.")
    place.mkdir(parents=True, exist_ok=True)
    with _locked(place):
        meta = _open_meta(spec, place, name=name, command=command, resume=resume)
        journal = Journal(place / RESULTS)
        if journal.repaired:
            tell("a last line that a crash had cut off was dropped; it is measured again")
        home = Path(models) if models is not None else place / "models"
        session = _Session(spec, place, meta, journal, workers, home, data_dir, tell)
        try:
            return session.run(progress=progress)
        except KeyboardInterrupt:
            raise BenchInterrupted(
                f"{session.measured} graphs were measured; run the same command again for the rest"
            ) from None
        finally:
            session.close()


class _Session:
    """One process of running, from opening the folder to closing it."""

    def __init__(
        self,
        spec: BenchSpec,
        folder: Path,
        meta: dict[str, Any],
        journal: Journal,
        workers: int,
        models: Path,
        data_dir: Path | None,
        tell: Callable[[str], None],
    ) -> None:
        self.spec, self.folder, self.meta, self.journal = spec, folder, meta, journal
        self.workers, self.models, self.data_dir, self.tell = workers, models, data_dir, tell
        self.measured = 0
        self.clock = Clock()
        self._started = datetime.now(UTC)
        self._busy = 0.0
        self._opened = time.perf_counter()
        self._waited = 0.0

    def run(self, *, progress: bool) -> RunReport:
        """Everything that is missing, then the table of all."""
        with _crew(self.workers, self.spec, self.models, self.data_dir) as crew:
            grounds = [(d, seed) for d in self._at_hand() for seed in self.spec.seeds]
            for kind, tasks in (
                ("oracles", self._missing_oracles(grounds)),
                ("methods", self._missing_fits(grounds)),
            ):
                with progress_bar(
                    f"training {kind}",
                    total=len(tasks),
                    unit="model",
                    shown=progress and bool(tasks),
                ) as bar:
                    self._drain(crew, tasks, bar=bar)
            todo = list(self._missing_graphs(grounds))
            done = sum(key[0] == "graph" for key in self.journal.rows)
            left = sum(len(task.places) for task in todo)
            with progress_bar(
                "bench", total=done + left, unit="graph", shown=progress, done=done
            ) as bar:
                self._drain(crew, todo, bar=bar)
            if self.spec.plausibility:
                self._compare_with_training_graphs(grounds)
        rows = self._write_table()
        return RunReport(
            self.folder,
            rows=len(rows),
            measured=self.measured,
            failures=sum(row["error"] is not None for row in rows),
            skipped={
                row["dataset"]: row["reason"]
                for row in self.journal.rows.values()
                if row["kind"] == "skipped"
                and row["dataset"] not in {entry["dataset"] for entry in rows}
            },
            repaired=self.journal.repaired,
        )

    def close(self) -> None:
        """Write down where the time went."""
        seconds = time.perf_counter() - self._opened
        if self.workers > 1:
            # Of this process only what it did itself; the rest of the time it waited for the others.
            seconds = seconds - self._waited + self._busy
        spent = asdict(self.clock)
        session = {
            "started": self._started.isoformat(timespec="seconds"),
            "workers": self.workers,
            "seconds": seconds,
            **spent,
            "other": max(0.0, seconds - sum(spent.values())),
        }
        kept = {key: value for key, value in self.meta.items() if key != "checksum"}
        write_json(self.folder / META, {**kept, "sessions": [*self.meta["sessions"], session]})
        self.journal.close()

    def _at_hand(self) -> list[str]:
        found = []
        for dataset in self.spec.datasets:
            try:
                bundle = self._ground(dataset, self.spec.seeds[0]).bundle
                _grounds[(bundle.name, self.spec.seeds[0])] = _grounds[
                    (dataset, self.spec.seeds[0])
                ]
                found.append(bundle.name)
            except DatasetError as error:
                self.tell(f"{dataset} is skipped: {error}")
                row = {"kind": "skipped", "dataset": dataset, "reason": str(error)}
                if ("skipped", dataset, "", -1, -1) not in self.journal:
                    self.journal.append(row)
        return found

    def _missing_oracles(self, grounds: Sequence[tuple[str, int]]) -> list[Task]:
        return [
            Task(dataset, seed)
            for dataset, seed in grounds
            if ("oracle", dataset, "", seed, -1) not in self.journal
        ]

    def _missing_fits(self, grounds: Sequence[tuple[str, int]]) -> list[Task]:
        tasks = [Task(dataset, seed, m) for dataset, seed in grounds for m in self.spec.methods]
        return [task for task in tasks if self._key("fit", task) not in self.journal]

    def _missing_graphs(self, grounds: Sequence[tuple[str, int]]) -> Iterator[Task]:
        for dataset, seed in grounds:
            places = self._ground(dataset, seed).places
            for method in self.spec.methods:
                label = self.spec.label(method)
                todo = [p for p in places if ("graph", dataset, label, seed, p) not in self.journal]
                reason = self.journal.rows[("fit", dataset, label, seed, -1)].get("error")
                if reason is not None:
                    cell = Cell(self._ground(dataset, seed), method)
                    for place in todo:
                        self.journal.append(cell.failed_row(place, reason))
                        self.measured += 1
                    continue
                for start in range(0, len(todo), _CHUNK):
                    yield Task(dataset, seed, method, tuple(todo[start : start + _CHUNK]))

    def _ground(self, dataset: str, seed: int) -> Ground:
        return _ground(self.spec, self.models, self.data_dir, dataset, seed)

    def _compare_with_training_graphs(self, grounds: Sequence[tuple[str, int]]) -> None:
        for dataset, seed in grounds:
            for method in self.spec.methods:
                if self._key("plausibility", Task(dataset, seed, method)) in self.journal:
                    continue
                label = self.spec.label(method)
                wanted = ("graph", dataset, label, seed)
                rows = [row for key, row in sorted(self.journal.rows.items()) if key[:4] == wanted]
                cell = Cell(self._ground(dataset, seed), method)
                self.journal.append(cell.plausibility_row(rows))

    def _key(self, kind: str, task: Task) -> Key:
        assert task.method is not None
        return (kind, task.dataset, self.spec.label(task.method), task.seed, -1)

    def _drain(self, crew: _Crew, tasks: Sequence[Task], *, bar: Any) -> None:
        for rows, clock, seconds, waited in crew.work(tasks):
            for row in rows:
                self.journal.append(row)
                self.measured += row["kind"] == "graph"
                bar.set_postfix_str(f"{row['dataset']} {row.get('method', '')}", refresh=False)
                bar.update()
            for name, value in asdict(clock).items():
                setattr(self.clock, name, getattr(self.clock, name) + value)
            self._busy += seconds
            self._waited += waited

    def _write_table(self) -> list[Row]:
        rows = [row for key, row in sorted(self.journal.rows.items()) if key[0] == "graph"]
        if rows:
            write_table(rows, self.folder / PARQUET)
        return rows


def write_table(rows: Sequence[Row], path: Path) -> None:
    """Rows as a Parquet file; lists and tables within a row become JSON text."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise ConfigError(
            "expected pyarrow to write Parquet, got no such package; pip install 'edgeflip[bench]'."
        ) from error
    nested = {"stages", "notes", "noise", "targets", "added", "removed"}
    flat = [
        {key: json.dumps(value) if key in nested else value for key, value in row.items()}
        for row in rows
    ]
    part = path.with_suffix(".parquet.part")
    pq.write_table(pa.Table.from_pylist(flat), part)
    os.replace(part, path)


# The processes.

_grounds: dict[tuple[str, int], Ground] = {}
_cells: dict[tuple[str, int, str], Cell] = {}
_setup: tuple[BenchSpec, Path, Path | None] | None = None


def _ground(
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
    _cells.clear()
    one_thread_each()


Result = tuple[list[Row], Clock, float, float]


def _work(task: Task) -> Result:
    """Do a task in this process; the rows it gives, and where its seconds went."""
    assert _setup is not None
    started = time.perf_counter()
    ground = _ground(*_setup, task.dataset, task.seed)
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
    if key not in _cells:
        _cells[key] = Cell(ground, task.method)
    cell = _cells[key]
    if not task.places:
        yield _fit_row(cell)
    for place in task.places:
        yield cell.graph_row(place)


def _fit_row(cell: Cell) -> Row:
    try:
        if cell.ground.spec.plausibility:
            cell.ground.referee  # noqa: B018 - trains it before graphs are timed
        return cell.fit_row()
    except Exception as error:
        reason = str(error)
        if not isinstance(error, EdgeflipError):
            reason = f"{type(error).__name__}: {one_line(error)}"
        about = {"dataset": cell.ground.bundle.name, "method": cell.label}
        about |= {"explainer": cell.method.name}
        times = {"seconds": 0.0, "cpu_seconds": 0.0, "learns": True, "notes": {}}
        return {"kind": "fit", **about, "seed": cell.ground.seed, **times, "error": reason}


class _Crew:
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
    if len(task.places) < 2:
        return [task]
    return [Task(task.dataset, task.seed, task.method, (place,)) for place in task.places]


@contextmanager
def _crew(workers: int, spec: BenchSpec, models: Path, data_dir: Path | None) -> Iterator[_Crew]:
    _begin(spec, models, data_dir)
    if workers == 1:
        yield _Crew(None, 1)
        return
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(
        workers, mp_context=context, initializer=_begin, initargs=(spec, models, data_dir)
    ) as pool:
        try:
            yield _Crew(pool, workers)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise


# The folder.


def _check_names(spec: BenchSpec) -> None:
    """Refuse datasets that do not exist at all, and settings no method has, before anything runs."""
    known = [entry.name for entry in list_datasets()]
    for dataset in spec.datasets:
        if dataset.strip().lower().replace("-", "_") not in known:
            raise unknown_name("dataset", dataset, known)
        for method in spec.methods:
            explainer_class(method.name).for_dataset(
                dataset,
                profile=method.profile or spec.profile,
                overrides=spec.overrides(method, dataset),
            )


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Keep others out of the folder; the lock of a killed process is gone with it."""
    try:
        from filelock import FileLock, Timeout
    except ImportError as error:
        raise ConfigError(
            "expected filelock to guard the folder, got no such package; "
            "pip install 'edgeflip[bench]'."
        ) from error
    lock = FileLock(folder / ".lock", timeout=0)
    try:
        lock.acquire()
    except Timeout:
        raise ConfigError(
            f"expected {folder} to be free, got another benchmark running in it; wait for it or give "
            "another folder."
        ) from None
    try:
        yield
    finally:
        lock.release()


def _open_meta(
    spec: BenchSpec, folder: Path, *, name: str, command: str, resume: bool
) -> dict[str, Any]:
    path = folder / META
    if not path.exists():
        if (folder / RESULTS).exists():
            raise ArtifactError(
                f"expected {META} beside {RESULTS} in {folder}, got none; give another folder."
            )
        meta = {
            "spec": spec.to_dict(),
            "spec_name": name,
            "spec_checksum": spec.checksum(),
            "code": code_version(),
            "versions": {
                package: package_version(package)
                for package in ("edgeflip", "torch", "torch_geometric")
            }
            | {"python": platform.python_version()},
            "command": command,
            "started": datetime.now(UTC).isoformat(timespec="seconds"),
            "machine": f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
            "sessions": [],
        }
        write_json(path, meta)
        return read_json(path)
    meta = read_json(path)
    if not resume:
        raise ConfigError(
            f"expected an empty folder, got results in {folder}; leave out --no-resume to go on with "
            "them, or give another folder."
        )
    if meta.get("spec_checksum") != spec.checksum():
        raise ConfigError(
            f"expected a folder of the same spec, got one of '{meta.get('spec_name')}' in {folder} "
            "whose settings differ; give another folder."
        )
    if meta.get("code") != code_version():
        raise ConfigError(
            f"expected a folder of edgeflip {code_version()}, got one of {meta.get('code')} in "
            f"{folder}; results of two versions cannot be mixed: give another folder."
        )
    return meta
