"""Running a benchmark: every row is kept, and what was kept is never done again."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from edgeflip.bench.context import Ground
from edgeflip.bench.evaluate import Evaluation
from edgeflip.bench.folder import META, PARQUET, open_meta, write_table
from edgeflip.bench.part import Part, sources_of
from edgeflip.bench.shapes import check_row
from edgeflip.bench.spec import BenchSpec, Sources, Split
from edgeflip.bench.timing import Clock
from edgeflip.bench.workers import Crew, Task, crew, ground_of
from edgeflip.datasets import DatasetBundle, is_family_name
from edgeflip.engines import Engine, check_engine
from edgeflip.errors import ConfigError, DatasetError
from edgeflip.support import (
    RESULTS,
    Journal,
    Key,
    Row,
    as_path,
    checked_call,
    locked,
    progress_bar,
    write_json,
)
from edgeflip.training import data_checksum

# Graphs that a worker takes at a time, and those of a method that explains many at once.
_CHUNK, _TOGETHER = 5, 50


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


@checked_call()
def run_bench(
    spec: BenchSpec,
    folder: str | os.PathLike[str],
    *,
    name: str = "",
    workers: int = 1,
    engine: Engine | None = None,
    address: str | None = None,
    resume: bool = True,
    models: str | os.PathLike[str] | None = None,
    data_dir: Path | None = None,
    bundles: Mapping[str, DatasetBundle] | None = None,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    split: Split | None = None,
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
        engine: Who works: this process, several of this machine, or a Ray cluster whose nodes all see the
            folder of models; by the number of workers when left out.
        address: The address of the cluster.
        resume: Whether to go on where an earlier run in the folder ended; otherwise that is refused.
        models: Where trained models are kept; in the folder by default. May be shared by runs.
        data_dir: The data folder; by default the one that `EDGEFLIP_DATA` names.
        bundles: Graphs in memory, such as `bundle_from(dataset)` makes them, by their names in the spec.
        datasets: Only these of the spec's datasets for now; the rest is left for another time.
        methods: Only these of its methods for now, by their labels.
        split: Explain these graphs instead of those that the spec names: `"test"` or `"val"`.
        command: The command line, for the report.
        progress: Whether to show progress and an estimate.
        tell: Takes notes for people.

    Raises:
        ConfigError: If the folder belongs to another spec or version, or is in use.
        BenchInterrupted: On Ctrl-C.
    """
    check_engine(engine or "local", workers)
    spec = spec if split is None else replace(spec, split=split)
    sources = sources_of(spec, data_dir, bundles or {})
    part = Part.of(spec, datasets, methods)
    location = as_path(folder, ConfigError)
    if location.exists() and not location.is_dir():
        raise ConfigError(
            f"expected a folder for the results, got the file {location}; give another."
        )
    location.mkdir(parents=True, exist_ok=True)
    with locked(location, "another benchmark"):
        meta = open_meta(spec, location, name=name, command=command, resume=resume)
        journal = Journal(location / RESULTS)
        for row in journal.rows.values():
            check_row(row, location / RESULTS, spec.split)
        if journal.repaired:
            tell("a last line that a crash had cut off was dropped; it is measured again")
        home = as_path(models, ConfigError) if models is not None else location / "models"
        team = _Team(workers, engine, address)
        session = _Session(spec, part, location, meta, journal, team, home, sources, tell)
        try:
            return session.run(progress=progress)
        except KeyboardInterrupt:
            raise BenchInterrupted(
                f"{session.measured} graphs were measured; run the same command again for the rest"
            ) from None
        finally:
            session.close()


@dataclass(frozen=True)
class _Team:
    """Who works: how many processes, of which engine, of which cluster."""

    workers: int
    engine: Engine | None
    address: str | None


class _Session:
    """One process of running, from opening the folder to closing it."""

    def __init__(
        self,
        spec: BenchSpec,
        part: Part,
        folder: Path,
        meta: dict[str, Any],
        journal: Journal,
        team: _Team,
        models: Path,
        sources: Sources,
        tell: Callable[[str], None],
    ) -> None:
        self.spec, self.part, self.folder = spec, part, folder
        self.meta, self.journal = meta, journal
        self.team, self.models, self.sources, self.tell = team, models, sources, tell
        self.measured = 0
        self.clock = Clock()
        self._started = datetime.now(UTC)
        self._busy = 0.0
        self._opened = time.perf_counter()
        self._waited = 0.0

    def run(self, *, progress: bool) -> RunReport:
        """Everything that is missing, then the table of all."""
        with crew(
            self.team.workers,
            self.spec,
            self.models,
            self.sources,
            self.tell,
            progress=progress,
            engine=self.team.engine,
            address=self.team.address,
        ) as team:
            grounds = [(d, seed) for d in self._at_hand() for seed in self.part.seeds_on(d)]
            for kind, missing in (
                ("oracles", self._missing_oracles),
                ("methods", self._missing_fits),
            ):
                tasks = missing(grounds)
                with progress_bar(
                    f"training {kind}",
                    total=len(tasks),
                    unit="model",
                    shown=progress and bool(tasks),
                ) as bar:
                    self._drain(team, tasks, bar=bar)
                # Without its oracle nothing can be done on a ground.
                grounds = [(d, s) for d, s in grounds if ("oracle", d, "", s, -1) in self.journal]
            todo = list(self._missing_graphs(grounds))
            done = sum(key[0] == "graph" for key in self.journal.rows)
            left = sum(len(task.places) for task in todo)
            with progress_bar(
                "bench", total=done + left, unit="graph", shown=progress, done=done
            ) as bar:
                self._drain(team, todo, bar=bar)
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
        if self.team.workers > 1:
            # Of this process only what it did itself; the rest of the time it waited for the others.
            seconds = seconds - self._waited + self._busy
        spent = asdict(self.clock)
        session = {
            "started": self._started.isoformat(timespec="seconds"),
            "workers": self.team.workers,
            "seconds": seconds,
            **spent,
            "other": max(0.0, seconds - sum(spent.values())),
        }
        self._write_meta(rows=len(self.journal.rows), sessions=[*self.meta["sessions"], session])
        self.journal.close()

    def _write_meta(self, **changed: Any) -> None:
        kept = {key: value for key, value in self.meta.items() if key != "checksum"}
        write_json(self.folder / META, kept | changed)

    def _at_hand(self) -> list[str]:
        found = []
        for dataset in self.part.datasets:
            try:
                self._check_same(self._ground(dataset, self.spec.seeds[0]))
                found.append(dataset)
            except DatasetError as error:
                self.tell(f"{dataset} is skipped: {error}")
                row = {"kind": "skipped", "dataset": dataset, "reason": str(error)}
                if ("skipped", dataset, "", -1, -1) not in self.journal:
                    self.journal.append(row)
        return found

    def _check_same(self, ground: Ground) -> None:
        """Refuse to go on with other graphs under a name that no checksum belongs to.

        Raises:
            ConfigError: If the graphs are others than when the run was begun.
        """
        name = ground.bundle.name
        if name not in self.sources.bundles and not is_family_name(name):
            return
        now, known = data_checksum(ground.bundle.graphs), self.meta.setdefault("data", {})
        if known.setdefault(name, now) != now:
            raise ConfigError(
                f"expected the graphs of '{name}' that the run in {self.folder} was begun with, got others; "
                "give another folder."
            )
        self._write_meta()

    def _missing_oracles(self, grounds: Sequence[tuple[str, int]]) -> list[Task]:
        return [
            Task(dataset, seed)
            for dataset, seed in grounds
            if ("oracle", dataset, "", seed, -1) not in self.journal
        ]

    def _missing_fits(self, grounds: Sequence[tuple[str, int]]) -> list[Task]:
        tasks = [
            Task(dataset, seed, m)
            for dataset, seed in grounds
            for m in self.part.methods_on(dataset, seed)
        ]
        return [task for task in tasks if self._key("fit", task) not in self.journal]

    def _missing_graphs(self, grounds: Sequence[tuple[str, int]]) -> Iterator[Task]:
        for dataset, seed in grounds:
            indices = self._ground(dataset, seed).places
            for method in self.part.methods_on(dataset, seed):
                label = self.spec.label(method)
                todo = [
                    p for p in indices if ("graph", dataset, label, seed, p) not in self.journal
                ]
                reason = self.journal.rows[("fit", dataset, label, seed, -1)].get("error")
                if reason is not None:
                    evaluation = Evaluation(self._ground(dataset, seed), method)
                    for index in todo:
                        self.journal.append(evaluation.failed_row(index, reason))
                        self.measured += 1
                    continue
                chunk = _TOGETHER if method.explains_together else _CHUNK
                for start in range(0, len(todo), chunk):
                    yield Task(dataset, seed, method, tuple(todo[start : start + chunk]))

    def _ground(self, dataset: str, seed: int) -> Ground:
        return ground_of(self.spec, self.models, self.sources, dataset, seed)

    def _compare_with_training_graphs(self, grounds: Sequence[tuple[str, int]]) -> None:
        for dataset, seed in grounds:
            for method in self.part.methods_on(dataset, seed):
                if self._key("plausibility", Task(dataset, seed, method)) in self.journal:
                    continue
                label = self.spec.label(method)
                wanted = ("graph", dataset, label, seed)
                rows = [row for key, row in sorted(self.journal.rows.items()) if key[:4] == wanted]
                evaluation = Evaluation(self._ground(dataset, seed), method)
                self.journal.append(evaluation.plausibility_row(rows))

    def _key(self, kind: str, task: Task) -> Key:
        assert task.method is not None
        return (kind, task.dataset, self.spec.label(task.method), task.seed, -1)

    def _drain(self, team: Crew, tasks: Sequence[Task], *, bar: Any) -> None:
        for rows, clock, seconds, waited in team.work(tasks):
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
