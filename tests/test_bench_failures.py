"""Benchmarks in which something fails: failures become rows, and the rest runs."""

import sys
import time

import pytest

from bench_rows import TINY, rows_of
from edgeflip.bench import evaluate as evaluate_module
from edgeflip.bench import spec as spec_module
from edgeflip.bench import timing as timing_module
from edgeflip.bench.report import write_report
from edgeflip.bench.run import BenchInterrupted, run_bench
from edgeflip.bench.spec import BenchSpec, MethodSpec
from edgeflip.errors import ConfigError, DatasetError
from edgeflip.explainers import registry
from edgeflip.explainers.random_search import RandomSearch


def test_a_dataset_that_is_not_at_hand_is_skipped_and_the_rest_runs(tmp_path, models, monkeypatch):
    real = spec_module.load_dataset

    def without(name, folder=None):
        if name == "ba_3motifs":
            raise DatasetError("expected ba_3motifs.npz, got no such file; put it there.")
        return real(name, folder)

    monkeypatch.setattr(spec_module, "load_dataset", without)
    told = []
    spec = BenchSpec(**{**vars(TINY), "datasets": ("ba_3motifs", "ba_2motifs")})
    report = run_bench(spec, tmp_path, models=models, tell=told.append)
    assert report.rows == 3
    assert "put it there" in report.skipped["ba_3motifs"]
    assert "ba_3motifs" in told[0]
    assert "put it there" in (write_report(tmp_path) / "report.md").read_text()


class Moody(RandomSearch):
    """Fails on the first graph, is slow on the second."""

    name = "moody"
    seen = 0

    def _search(self, search):
        Moody.seen += 1
        if Moody.seen == 1:
            raise ZeroDivisionError("of no\nuse")
        if Moody.seen == 2:
            while True:
                time.sleep(0.01)
        return super()._search(search)


class Unlearned(RandomSearch):
    """Cannot be fitted."""

    name = "unlearned"
    learns = True

    def _fit(self, graphs, oracle):
        raise ConfigError("expected easier graphs, got these; try others.")


@pytest.fixture
def odd_methods(monkeypatch):
    for kind in (Moody, Unlearned):
        monkeypatch.setitem(registry.EXPLAINERS, kind.name, f"{__name__}:{kind.__name__}")
    monkeypatch.setitem(sys.modules, __name__, sys.modules[__name__])


@pytest.mark.serial
def test_failures_and_endless_searches_become_rows(tmp_path, models, odd_methods, monkeypatch):
    monkeypatch.setattr(Moody, "seen", 0)
    monkeypatch.setattr(timing_module, "_GRACE", 0.2)
    spec = BenchSpec(**{**vars(TINY), "methods": (MethodSpec("moody"),), "seconds": 0.2})
    report = run_bench(spec, tmp_path, models=models)
    first, second, third = rows_of(tmp_path)
    assert report.failures == 2
    assert first["status"] == "error"
    assert first["error"] == "ZeroDivisionError: of no use"
    assert second["status"] == "timeout"
    assert "deadline" in second["error"]
    assert third["found"]
    assert run_bench(spec, tmp_path, models=models).measured == 0


class Fragile(RandomSearch):
    """Works on the first question about a graph and fails on every second one."""

    name = "fragile"
    seen = 0

    def _search(self, search):
        Fragile.seen += 1
        if Fragile.seen % 2 == 0 or search.goal.target is not None:
            raise ZeroDivisionError("boom")
        return super()._search(search)


@pytest.mark.parametrize("asked", ["noise", "targets"])
def test_what_fails_under_noise_or_for_a_target_counts_against_it(
    tmp_path, models, monkeypatch, asked
):
    monkeypatch.setitem(registry.EXPLAINERS, "fragile", f"{__name__}:Fragile")
    monkeypatch.setattr(Fragile, "seen", 0)
    changed = {"methods": (MethodSpec("fragile"),), asked: True}
    if asked == "targets":
        # Every second graph fails of its own accord; of two classes no other would be asked for.
        changed |= {"datasets": ("ba_2motifs_3class",)}
        monkeypatch.setattr(Fragile, "seen", -1000.5)
    spec = BenchSpec(**{**vars(TINY), **changed})
    report = run_bench(spec, tmp_path, models=models)
    rows = rows_of(tmp_path)
    assert report.failures == 3
    assert all(row["found"] and row["minimality"] == 1.0 for row in rows)
    assert all("boom" in row["error"] for row in rows)
    text = (write_report(tmp_path) / "report.md").read_text()
    assert "boom" in text
    if asked == "noise":
        # Three answers before, none after: 0 of 3.
        assert [row["van"] for row in rows] == [0.0] * 3
        lines = (tmp_path / "report" / "results.csv").read_text().splitlines()
        (line,) = [line for line in lines if line.startswith("noise,ba_2motifs,fragile,van,")]
        assert float(line.split(",")[4]) == 0.0
    else:
        assert all(not entry["found"] for row in rows for entry in row["targets"].values())


def test_a_method_that_cannot_be_fitted_has_failed_on_every_graph(tmp_path, models, odd_methods):
    methods = (MethodSpec("unlearned"), MethodSpec("random"))
    spec = BenchSpec(**{**vars(TINY), "methods": methods})
    report = run_bench(spec, tmp_path, models=models)
    assert (report.rows, report.failures) == (6, 3)
    failed = [entry for entry in rows_of(tmp_path) if entry["method"] == "unlearned"]
    assert all("easier graphs" in entry["error"] for entry in failed)
    assert "easier graphs" in (write_report(tmp_path) / "report.md").read_text()


def test_ctrl_c_says_how_to_go_on(tmp_path, models, monkeypatch):
    real, seen = evaluate_module.Evaluation.graph_rows, []

    def interrupted(cell, places):
        if len(seen) == 1:
            raise KeyboardInterrupt
        seen.append(places)
        return real(cell, places)

    monkeypatch.setattr(evaluate_module.Evaluation, "graph_rows", interrupted)
    with pytest.raises(BenchInterrupted, match="same command"):
        run_bench(TINY, tmp_path, models=models)
    assert len(rows_of(tmp_path)) == 1
    monkeypatch.undo()
    assert run_bench(TINY, tmp_path, models=models).measured == 2


def test_what_goes_wrong_with_the_noise_is_part_of_the_rows(tmp_path, models, monkeypatch):
    def broken(*arguments, **settings):
        raise ValueError("boom")

    monkeypatch.setattr(evaluate_module, "add_noise", broken)
    spec = BenchSpec(**{**vars(TINY), "noise": True})
    run_bench(spec, tmp_path, models=models)
    rows = rows_of(tmp_path)
    assert all(row["found"] and "while rating, ValueError: boom" in row["error"] for row in rows)


def test_one_bad_graph_does_not_take_others_with_it(tmp_path, models, monkeypatch):
    methods = (MethodSpec("cf2"),)
    spec = BenchSpec(**{**vars(TINY), "methods": methods})
    from edgeflip.explainers import cf2

    real = cf2.CF2.explain_many

    def fussy(self, graphs, **settings):
        if len(graphs) > 1:
            raise ZeroDivisionError("boom")
        return real(self, graphs, **settings)

    monkeypatch.setattr(cf2.CF2, "explain_many", fussy)
    assert run_bench(spec, tmp_path, models=models).failures == 0
