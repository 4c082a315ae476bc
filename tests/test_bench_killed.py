"""Benchmarks that are killed: no row is lost, none is measured twice, and nobody is left working."""

import functools
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench_rows import TINY, rows_of, timeless
from conftest import assert_sentence
from edgeflip import fingerprint, load_dataset
from edgeflip.bench import context as context_module
from edgeflip.bench import run as run_module
from edgeflip.bench import spec as spec_module
from edgeflip.bench.report import write_report
from edgeflip.bench.run import run_bench
from edgeflip.bench.spec import BenchSpec, MethodSpec, load_spec
from edgeflip.cli import main
from edgeflip.engines import local as local_module
from edgeflip.engines import worker as worker_module
from edgeflip.errors import EdgeflipError
from edgeflip.explainers import registry
from edgeflip.explainers.random_search import RandomSearch

pytestmark = pytest.mark.serial

KILLED = """
title = "to be killed"
profile = "smoke"
datasets = ["ba_2motifs"]
graphs = 12
noise = true
targets = true
plausibility = true

[[methods]]
name = "random"

[[methods]]
name = "dr-cfgnn"
label = "paper"
"""


# Importing torch takes longer than all that is tested here. A fork has it from the start, and is safe
# because nothing in these tests runs on a second thread.
FORKS = multiprocessing.get_context("fork")


def start(spec, folder, models):
    """`edgeflip bench run` in a process of its own."""
    arguments = ["bench", "run", str(spec), "--out", str(folder), "--models", str(models)]
    process = FORKS.Process(target=main, args=(arguments,))
    process.start()
    return process


def lines_in(path):
    return path.read_bytes().count(b"\n") if path.exists() else 0


def kill_at_some_point(spec, folder, models, *, rng, rows):
    """Kill a run a random while after it has written some rows; whether it was still running."""
    process = start(spec, folder, models)
    results = folder / "results.jsonl"
    goal = lines_in(results) + rows
    deadline = time.monotonic() + 120
    while process.is_alive() and lines_in(results) < goal and time.monotonic() < deadline:
        time.sleep(0.005)
    time.sleep(rng.random() * 0.05)
    running = process.is_alive()
    process.kill()
    process.join()
    return running


def test_killed_again_and_again_a_run_ends_with_the_table_of_an_undisturbed_one(tmp_path):
    spec = tmp_path / "mine.toml"
    spec.write_text(KILLED, "utf-8")
    rng = random.Random(0)
    models, disturbed, calm = tmp_path / "models", tmp_path / "disturbed", tmp_path / "calm"
    kills = 0
    # Before anything is written, while models are trained, and between graphs.
    for rows in (0, 1, 2, 3, 1, 4):
        kills += kill_at_some_point(spec, disturbed, models, rng=rng, rows=rows)
    assert kills >= 5
    assert 0 < len(rows_of(disturbed)) < 24
    end = start(spec, disturbed, models)
    end.join(timeout=300)
    assert end.exitcode == 0
    _, wanted = load_spec(spec)
    run_bench(wanted, calm, models=models, name="mine")
    for kind in ("graph", "oracle", "fit", "plausibility"):
        one, other = (list(map(timeless, rows_of(folder, kind))) for folder in (disturbed, calm))
        assert one == other
        assert one
    tables = [
        [
            line
            for line in (write_report(folder) / "results.csv").read_text().splitlines()
            if "seconds" not in line
        ]
        for folder in (disturbed, calm)
    ]
    assert tables[0] == tables[1]
    assert len(tables[0]) > 20


# Workers that are killed.


class Deadly(RandomSearch):
    """Random, but some graphs kill whoever explains them, and fitting may too."""

    name = "deadly"
    victims = ()
    mercy = None  # A file that the first victim leaves behind, and that spares all later ones.
    fits = True

    @classmethod
    def strike(cls):
        assert multiprocessing.parent_process() is not None, "only workers may be killed"
        if cls.mercy is not None:
            try:
                cls.mercy.touch(exist_ok=False)
            except FileExistsError:
                return
        os.kill(os.getpid(), signal.SIGKILL)

    def _fit(self, graphs, oracle):
        if not self.fits:
            self.strike()

    def _search(self, search):
        if fingerprint(search.space.input) in self.victims:
            self.strike()
        return super()._search(search)


@pytest.fixture
def deadly(monkeypatch):
    """Workers that know the method, with what makes it kill left to the test."""
    monkeypatch.setitem(registry.EXPLAINERS, "deadly", f"{__name__}:Deadly")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])
    monkeypatch.setattr(local_module, "_context", lambda: FORKS)
    # Two at once and one alone, in two workers: an innocent beside the culprit, and one after it.
    monkeypatch.setattr(run_module, "_CHUNK", 2)
    # Read once: forks have what their parent has.
    known = functools.lru_cache(load_dataset)
    monkeypatch.setattr(spec_module, "load_dataset", known)
    graphs = known("ba_2motifs", None).test
    monkeypatch.setattr(Deadly, "graphs", graphs, raising=False)
    return lambda **how: [monkeypatch.setattr(Deadly, key, value) for key, value in how.items()]


def three_graphs():
    return BenchSpec(**{**vars(TINY), "methods": (MethodSpec("deadly"),)})


def answers_of(folder):
    return [(row["graph"], row["found"], row["added"], row["removed"]) for row in rows_of(folder)]


def test_a_worker_that_is_killed_once_costs_a_retry(tmp_path, models, deadly):
    calm, hit = tmp_path / "calm", tmp_path / "hit"
    run_bench(three_graphs(), calm, models=models)
    places = [row["graph"] for row in rows_of(calm)]
    deadly(victims=(fingerprint(Deadly.graphs[places[0]]),), mercy=tmp_path / "once")
    told = []
    report = run_bench(three_graphs(), hit, models=models, workers=2, tell=told.append)
    assert (report.rows, report.failures) == (3, 0)
    assert answers_of(hit) == answers_of(calm)
    assert ["tried again" in text for text in told] == [True]


def test_a_graph_that_kills_its_worker_every_time_is_a_recorded_failure(tmp_path, models, deadly):
    calm, hit = tmp_path / "calm", tmp_path / "hit"
    run_bench(three_graphs(), calm, models=models)
    place = rows_of(calm)[0]["graph"]
    deadly(victims=(fingerprint(Deadly.graphs[place]),))
    told = []
    report = run_bench(three_graphs(), hit, models=models, workers=2, tell=told.append)
    assert (report.rows, report.failures) == (3, 1)
    (lost,) = [row for row in rows_of(hit) if row["error"]]
    assert (lost["graph"], lost["status"]) == (place, "error")
    assert "worker ended" in lost["error"]
    assert f"deadly, graph {place} of ba_2motifs" in told[-1]
    others = [answer for answer in answers_of(calm) if answer[0] != place]
    assert [answer for answer in answers_of(hit) if answer[0] != place] == others
    assert run_bench(three_graphs(), hit, models=models, workers=2).measured == 0


def test_a_fit_that_kills_its_worker_fails_on_every_graph_and_the_rest_runs(
    tmp_path, models, deadly
):
    deadly(fits=False)
    methods = (MethodSpec("deadly"), MethodSpec("random"))
    spec = BenchSpec(**{**vars(TINY), "methods": methods})
    report = run_bench(spec, tmp_path, models=models, workers=2)
    assert (report.rows, report.failures) == (6, 3)
    killed = [row["method"] for row in rows_of(tmp_path) if "worker ended" in (row["error"] or "")]
    assert killed == ["deadly"] * 3


def test_an_oracle_that_kills_its_worker_costs_its_dataset(tmp_path, models, deadly, monkeypatch):
    real = context_module.oracle_for

    def struck(bundle, *arguments, **settings):
        if bundle.name == "ba_3motifs":
            Deadly.strike()
        return real(bundle, *arguments, **settings)

    monkeypatch.setattr(context_module, "oracle_for", struck)
    spec = BenchSpec(**{**vars(TINY), "datasets": ("ba_3motifs", "ba_2motifs")})
    report = run_bench(spec, tmp_path, models=models, workers=2)
    assert report.rows == 3
    assert "worker ended" in report.skipped["ba_3motifs"]


def test_workers_that_cannot_even_begin_end_the_run_in_a_sentence(tmp_path, models, deadly):
    deadly(victims=(fingerprint(Deadly.graphs[0]),))

    def killed(*arguments):
        os.kill(os.getpid(), signal.SIGKILL)

    spec = BenchSpec(**{**vars(TINY), "methods": (MethodSpec("deadly"),)})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(worker_module, "begin", killed)
        with pytest.raises(EdgeflipError) as error:
            run_bench(spec, tmp_path, models=models, workers=2)
    assert_sentence(error, "free memory", "one worker")


# Runs that are killed leave nobody behind.

LEAVE_WORKERS = """
import os, sys, time
from pathlib import Path
from edgeflip.bench.workers import crew
from edgeflip.bench.spec import BenchSpec, MethodSpec

if __name__ == "__main__":
    spec = BenchSpec("t", ("ba_2motifs",), (MethodSpec("random"),))
    with crew(2, spec, Path(sys.argv[1]), None) as team:
        futures = [team._team._pool._pool.submit(os.getpid) for _ in range(8)]
        print(*{future.result() for future in futures}, flush=True)
        time.sleep(600)
"""


def test_workers_end_with_a_run_that_was_killed(tmp_path):
    script = tmp_path / "leave.py"
    script.write_text(LEAVE_WORKERS)
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path)], stdout=subprocess.PIPE, text=True
    ) as run:
        workers = [int(word) for word in run.stdout.readline().split()]
        assert workers
        run.send_signal(signal.SIGKILL)
    for _ in range(100):
        if not any(is_alive(worker) for worker in workers):
            return
        time.sleep(0.1)
    pytest.fail("workers outlived the run they worked for")


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    # One that has ended but was not waited for yet is dead as well.
    state = Path(f"/proc/{process}/stat")
    return not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] != "Z"
