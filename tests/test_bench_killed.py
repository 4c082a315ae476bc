"""Benchmarks that are killed: no row is lost, none is measured twice, and nobody is left working."""

import multiprocessing
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bench_rows import rows_of, timeless
from edgeflip.bench.report import write_report
from edgeflip.bench.run import run_bench
from edgeflip.bench.spec import load_spec
from edgeflip.cli import main

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


LEAVE_WORKERS = """
import os, sys, time
from pathlib import Path
from edgeflip.bench.workers import crew
from edgeflip.bench.spec import BenchSpec, MethodSpec

if __name__ == "__main__":
    spec = BenchSpec("t", ("ba_2motifs",), (MethodSpec("random"),))
    with crew(2, spec, Path(sys.argv[1]), None) as team:
        futures = [team._pool.submit(os.getpid) for _ in range(8)]
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
