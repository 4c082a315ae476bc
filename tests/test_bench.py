"""Benchmarks: what a spec may say, that no result is ever lost, and that failures become rows."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from bench_rows import rows_of, timeless
from conftest import assert_sentence
from edgeflip.bench import context as ground_module
from edgeflip.bench import evaluate as evaluate_module
from edgeflip.bench import folder as folder_module
from edgeflip.bench import timing as timing_module
from edgeflip.bench.context import Ground
from edgeflip.bench.report import write_report
from edgeflip.bench.run import BenchInterrupted, run_bench
from edgeflip.bench.spec import BenchSpec, MethodSpec, list_specs, load_spec
from edgeflip.cli import main
from edgeflip.core.constraints import Constraints
from edgeflip.datasets import DatasetBundle
from edgeflip.errors import ArtifactError, ConfigError, DatasetError, UnknownNameError
from edgeflip.explainers import registry
from edgeflip.explainers.random_search import RandomSearch
from edgeflip.presets import load_preset
from edgeflip.support import versions
from edgeflip.support.journal import Journal

TINY = BenchSpec(
    title="tiny",
    profile="smoke",
    datasets=("ba_2motifs",),
    graphs=3,
    methods=(MethodSpec("random"),),
)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """One place for trained models, so that they are trained once for all tests here."""
    return tmp_path_factory.mktemp("models")


# Specs.


def test_methods_may_keep_to_some_datasets_and_datasets_to_some_graphs(tmp_path, models):
    spec = BenchSpec(
        title="two sets",
        datasets=("ba_2motifs", "ba_3motifs"),
        methods=(MethodSpec("random"), MethodSpec("random", "elsewhere", datasets=("BA-3Motifs",))),
        profile="smoke",
        graphs={"ba-2motifs": 1, "ba_3motifs": 2},
        only_correct=False,
    )
    assert [spec.most_graphs(name) for name in spec.datasets] == [1, 2]
    assert len(spec.methods_on("ba_2motifs")) == 1
    run_bench(spec, tmp_path, models=models)
    found = [(row["dataset"], row["method"]) for row in rows_of(tmp_path)]
    assert found == [("ba_2motifs", "random")] + [
        ("ba_3motifs", label) for label in ("elsewhere", "elsewhere", "random", "random")
    ]


@pytest.mark.parametrize("graphs", [{"BA-2Motifs": 0}, {"mutag0": 5}])
def test_limits_of_graphs_are_checked_by_dataset(graphs):
    with pytest.raises(ConfigError, match="graphs"):
        BenchSpec(
            title="none", datasets=("BA-2Motifs",), methods=(MethodSpec("random"),), graphs=graphs
        )


@pytest.mark.parametrize("datasets", [(), ("ba_4motifs",)])
def test_a_method_on_no_dataset_of_the_benchmark_is_refused(datasets):
    with pytest.raises(ConfigError, match="to run on some of the benchmark's datasets"):
        BenchSpec(
            title="nowhere",
            datasets=("ba_2motifs",),
            methods=(MethodSpec("random", datasets=datasets),),
        )


def test_chemistry_reaches_the_methods_that_ask_for_it(tmp_path, models, monkeypatch):
    only = Constraints(allow_removals=False)
    monkeypatch.setattr(DatasetBundle, "constraints_for", lambda self, graph: only)
    methods = (MethodSpec("random"), MethodSpec("random", "chemistry", chemistry=True))
    spec = BenchSpec(**{**vars(TINY), "methods": methods, "graphs": 3})
    run_bench(spec, tmp_path, models=models)
    rows = [row for row in rows_of(tmp_path) if row["method"] == "chemistry" and row["found"]]
    assert rows
    assert not any(row["removed"] for row in rows)


def test_of_two_classes_the_other_is_the_target_without_asking_again(tmp_path, models):
    spec = BenchSpec(**{**vars(TINY), "methods": (MethodSpec("random"),), "graphs": 2})
    run_bench(spec, tmp_path, models=models)
    for row in rows_of(tmp_path):
        assert list(row["targets"]) == [str(1 - row["label"])]
        assert row["targets"][str(1 - row["label"])]["found"] == row["found"]


def test_every_spec_of_the_package_can_be_read():
    assert {"smoke", "ba", "real", "table1", "robustness", "by_class", "times"} <= set(list_specs())
    for name in list_specs():
        found, spec = load_spec(name)
        assert found == name
        published = load_preset("ba_2motifs", "paper").expected.methods
        labels = {spec.label(method) for method in spec.methods}
        assert {label for label in labels if label[:10] in ("dr-cfgnn +", "dr-cfgnn -")} <= set(
            published
        )


def write(folder, text, name="mine.toml"):
    path = folder / name
    path.write_text(text, "utf-8")
    return path


MINE = 'title = "mine"\ndatasets = ["ba_2motifs"]\n[[methods]]\nname = "random"\n'


def test_a_spec_of_ones_own_is_a_path(tmp_path):
    name, spec = load_spec(write(tmp_path, MINE))
    assert (name, spec.datasets, spec.label(spec.methods[0])) == ("mine", ("ba_2motifs",), "random")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("graph = 3\n" + MINE, ["'graph'", "graphs"]),
        (MINE + "setings = {}\n", ["'setings'", "settings"]),
        (MINE + '[[methods]]\nname = "random"\n', ["label", "'random'"]),
        (MINE.replace('["ba_2motifs"]', "[]"), ["datasets"]),
        (MINE + 'profile = "gpu"\n', ["'gpu'"]),
        ("graphs = 0\n" + MINE, ["graphs"]),
        ("seeds = [-1]\n" + MINE, ["seeds"]),
        ("seeds = [0, 0]\n" + MINE, ["once"]),
        (MINE.replace('["ba_2motifs"]', '["ba_2motifs", "BA-2Motifs"]'), ["once"]),
        ("seconds = -1\n" + MINE, ["seconds"]),
        ("seconds = nan\n" + MINE, ["seconds"]),
        ("title = \n", ["TOML"]),
        ('title = "t"\ndatasets = ["ba_2motifs"]\nmethods = [3]\n', ["methods"]),
    ],
)
def test_a_spec_that_cannot_be_run_says_which_key_is_wrong(tmp_path, text, words):
    with pytest.raises(ConfigError) as error:
        load_spec(write(tmp_path, text))
    assert_sentence(error, *words)


def test_unknown_specs_and_methods_are_named(tmp_path):
    with pytest.raises(UnknownNameError, match="smoke"):
        load_spec("smok")
    with pytest.raises(ConfigError) as error:
        load_spec(tmp_path / "nowhere.toml")
    assert_sentence(error, "nowhere.toml")
    with pytest.raises(UnknownNameError, match="random"):
        load_spec(write(tmp_path, MINE.replace('"random"', '"rnadom"')))


def test_the_papers_search_can_use_a_predictor_that_a_cpu_can_train():
    _, spec = load_spec("ba")
    method = next(method for method in spec.methods if method.name == "dr-cfgnn")
    made = registry.make_explainer(
        "dr-cfgnn",
        dataset="ba_3motifs",
        profile="paper",
        overrides=spec.overrides(method, "ba_3motifs"),
    )
    paper = registry.make_explainer("dr-cfgnn", dataset="ba_3motifs", profile="paper").config
    cpu = registry.make_explainer("dr-cfgnn", dataset="ba_3motifs", profile="cpu").config
    assert (made.config.predictor, made.config.training) == (cpu.predictor, cpu.training)
    assert (made.config.threshold, made.config.factual) == (paper.threshold, "subgraphx")
    assert made.config.denoising.leave_one_out


# The journal.


def row(graph):
    return {"kind": "graph", "dataset": "d", "method": "m", "seed": 0, "graph": graph}


@pytest.mark.parametrize("rest", [b'{"kind": "gra', b"\x00\x00\x00", b'{"kind": 1}\n', b"[]\n"])
def test_a_last_line_cut_off_by_a_crash_is_dropped(tmp_path, rest):
    path = tmp_path / "results.jsonl"
    journal = Journal(path)
    for graph in range(3):
        journal.append(row(graph))
    journal.close()
    whole = path.read_bytes()
    path.write_bytes(whole + rest)
    repaired = Journal(path)
    assert repaired.repaired
    assert path.read_bytes() == whole
    repaired.append(row(3))
    repaired.close()
    assert [entry["graph"] for entry in Journal(path).rows.values()] == [0, 1, 2, 3]


def test_a_broken_line_further_up_is_not_passed_over(tmp_path):
    path = tmp_path / "results.jsonl"
    path.write_bytes(b'{"kind": "gra\n' + json.dumps(row(0)).encode() + b"\n")
    with pytest.raises(ArtifactError) as error:
        Journal(path)
    assert_sentence(error, "line 1")


def test_a_row_is_on_the_disk_when_append_returns(tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", lambda number: synced.append(number))
    journal = Journal(tmp_path / "results.jsonl")
    journal.append(row(0))
    assert len(synced) == 1
    assert json.loads((tmp_path / "results.jsonl").read_text()) == row(0)


# Running.


def test_a_run_gives_a_row_per_graph_and_method_and_a_table(tmp_path, models):
    pq = pytest.importorskip("pyarrow.parquet")
    report = run_bench(TINY, tmp_path, name="tiny", models=models)
    rows = rows_of(tmp_path)
    assert (report.rows, report.measured, report.failures) == (3, 3, 0)
    assert [(entry["method"], entry["seed"]) for entry in rows] == [("random", 0)] * 3
    assert all(entry["label"] == entry["truth"] for entry in rows)
    assert all(entry["found"] for entry in rows)
    assert all(entry["size"] == len(entry["added"] + entry["removed"]) >= 1 for entry in rows)
    assert all(entry["seconds"] > 0 and entry["cpu_seconds"] > 0 for entry in rows)
    for entry in rows:
        stages = entry["stages"].values()
        assert "oracle" in entry["stages"]
        assert all(set(stage) == {"seconds", "cpu_seconds", "oracle_calls"} for stage in stages)
        assert 0 < sum(stage["cpu_seconds"] for stage in stages) <= entry["cpu_seconds"]
        assert sum(stage["oracle_calls"] for stage in stages) == entry["oracle_calls"]
    table = pq.read_table(tmp_path / "results.parquet").to_pylist()
    assert [entry["fidelity"] for entry in table] == [entry["fidelity"] for entry in rows]
    (oracle,) = rows_of(tmp_path, "oracle")
    assert oracle["accuracy"] > 0.5
    assert oracle["graphs"] == 3
    meta = json.loads((tmp_path / "meta.json").read_text())
    assert meta["sessions"][0]["explaining"] > 0


def test_a_run_leaves_the_callers_threads_alone(tmp_path, models):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(2)
        run_bench(TINY, tmp_path, models=models)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)


def test_a_second_run_measures_nothing_again(tmp_path, models):
    run_bench(TINY, tmp_path, models=models)
    before = (tmp_path / "results.jsonl").read_bytes()
    assert run_bench(TINY, tmp_path, models=models).measured == 0
    assert (tmp_path / "results.jsonl").read_bytes() == before
    with pytest.raises(ConfigError) as error:
        run_bench(TINY, tmp_path, models=models, resume=False)
    assert_sentence(error, "--no-resume")


def test_missing_rows_are_measured_again_and_are_the_same(tmp_path, models):
    run_bench(TINY, tmp_path, models=models)
    path = tmp_path / "results.jsonl"
    before = [timeless(entry) for entry in rows_of(tmp_path)]
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-2]) + b'{"kind"')
    told = []
    report = run_bench(TINY, tmp_path, models=models, tell=told.append)
    assert report.repaired
    assert report.measured == 2
    assert "crash" in told[0]
    assert [timeless(entry) for entry in rows_of(tmp_path)] == before


def test_two_processes_give_the_rows_of_one(tmp_path, models):
    one, two = tmp_path / "one", tmp_path / "two"
    spec = BenchSpec(**{**vars(TINY), "graphs": 7, "noise": True, "targets": True})
    run_bench(spec, one, models=models)
    run_bench(spec, two, models=models, workers=2)
    assert [timeless(r) for r in rows_of(one)] == [timeless(r) for r in rows_of(two)]


def test_noise_and_targets_are_measured_when_asked_for(tmp_path, models):
    spec = BenchSpec(**{**vars(TINY), "noise": True, "targets": True})
    run_bench(spec, tmp_path, models=models)
    for entry in rows_of(tmp_path):
        assert len(entry["van_by_change"]) == 1
        assert set(entry["targets"]) == {str(1 - entry["label"])}
        assert entry["targets"][str(1 - entry["label"])]["found"]


def test_a_folder_of_another_spec_or_version_is_refused(tmp_path, models, monkeypatch):
    run_bench(TINY, tmp_path, name="tiny", models=models)
    with pytest.raises(ConfigError) as error:
        run_bench(BenchSpec(**{**vars(TINY), "keep": 3}), tmp_path, models=models)
    assert_sentence(error, "'tiny'")
    renamed = BenchSpec(**{**vars(TINY), "title": "another title changes nothing"})
    assert run_bench(renamed, tmp_path, models=models).measured == 0
    monkeypatch.setattr(folder_module, "code_version", lambda: "0.0.1+other")
    with pytest.raises(ConfigError) as error:
        run_bench(TINY, tmp_path, models=models)
    assert_sentence(error, "0.0.1+other")


def test_results_without_their_description_are_refused(tmp_path):
    (tmp_path / "results.jsonl").write_text("")
    with pytest.raises(ArtifactError) as error:
        run_bench(TINY, tmp_path)
    assert_sentence(error, "meta.json")


def test_a_folder_in_use_is_refused(tmp_path, models):
    run_bench(TINY, tmp_path, models=models)
    program = (
        "import sys, time\nfrom filelock import FileLock\n"
        f"lock = FileLock({str(tmp_path / '.lock')!r})\nlock.acquire()\nprint('held', flush=True)\n"
        "time.sleep(60)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(ConfigError) as error:
            run_bench(TINY, tmp_path, models=models)
        assert_sentence(error, "another benchmark")
        holder.kill()
    assert run_bench(TINY, tmp_path, models=models).measured == 0


def test_a_dataset_that_is_not_at_hand_is_skipped_and_the_rest_runs(tmp_path, models, monkeypatch):
    real = ground_module.load_dataset

    def without(name, folder=None):
        if name == "ba_3motifs":
            raise DatasetError("expected ba_3motifs.npz, got no such file; put it there.")
        return real(name, folder)

    monkeypatch.setattr(ground_module, "load_dataset", without)
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

    def _propose(self, problem):
        Moody.seen += 1
        if Moody.seen == 1:
            raise ZeroDivisionError("of no\nuse")
        if Moody.seen == 2:
            while True:
                time.sleep(0.01)
        yield from super()._propose(problem)


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

    def _propose(self, problem):
        Fragile.seen += 1
        if Fragile.seen % 2 == 0 or problem.target is not None:
            raise ZeroDivisionError("boom")
        yield from super()._propose(problem)


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


def test_a_preset_is_part_of_the_version(monkeypatch, tmp_path):
    root = Path(versions.__file__).parents[1]
    copied = shutil.copytree(root, tmp_path / "edgeflip", ignore=shutil.ignore_patterns("*.pyc"))
    seen = []
    changes = ("", "presets/smoke/ba_2motifs.toml", "bench/evaluate.py", "cli/bench.py")
    for change in changes:
        if change:
            with (copied / change).open("a") as file:
                file.write("# changed")
        monkeypatch.setattr(versions, "__file__", str(copied / "support" / "versions.py"))
        versions.code_version.cache_clear()
        seen.append(versions.code_version())
    monkeypatch.undo()
    versions.code_version.cache_clear()
    assert len(set(seen[:3])) == 3
    assert seen[3] == seen[2]


def test_a_setting_that_a_method_does_not_have_is_refused_at_once(tmp_path):
    methods = (MethodSpec("dr-cfgnn", settings={"denois": False}),)
    with pytest.raises(ConfigError) as error:
        run_bench(BenchSpec(**{**vars(TINY), "methods": methods}), tmp_path / "run")
    assert_sentence(error, "'denois'", "denoise")
    assert not (tmp_path / "run").exists()


def test_a_dataset_that_does_not_exist_leaves_nothing_behind(tmp_path):
    spec = BenchSpec(**{**vars(TINY), "datasets": ("ba_2motif",)})
    with pytest.raises(UnknownNameError, match="ba_2motifs"):
        run_bench(spec, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError) as error:
        run_bench(TINY, tmp_path / "file")
    assert_sentence(error, "file")


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


def test_a_part_of_a_spec_can_be_run_first(tmp_path, models):
    methods = (MethodSpec("random"), MethodSpec("random", "other", {"max_added": 1}))
    spec = BenchSpec(**{**vars(TINY), "methods": methods})
    assert run_bench(spec, tmp_path, models=models, methods=["other"]).measured == 3
    assert {row["method"] for row in rows_of(tmp_path)} == {"other"}
    assert "other" in (write_report(tmp_path) / "report.md").read_text()
    assert run_bench(spec, tmp_path, models=models, datasets=["BA_2Motifs"]).measured == 3
    assert run_bench(spec, tmp_path, models=models).measured == 0
    with pytest.raises(UnknownNameError, match="method of the spec 'othe', did you mean 'other'"):
        run_bench(spec, tmp_path, models=models, methods=["othe"])
    with pytest.raises(UnknownNameError, match="dataset of the spec"):
        run_bench(spec, tmp_path, models=models, datasets=["ba_3motifs"])


def test_a_method_that_explains_many_at_once_gives_the_answers_it_gives_for_each(tmp_path, models):
    spec = BenchSpec(**{**vars(TINY), "methods": (MethodSpec("cf2"),), "noise": True})
    run_bench(spec, tmp_path / "one", models=models)
    rows = rows_of(tmp_path / "one")
    assert len(rows) == 3
    assert len({row["cpu_seconds"] for row in rows}) == 1
    ground = Ground.load(spec, "ba_2motifs", 0, models, None)
    evaluation = evaluate_module.Evaluation(ground, spec.methods[0])
    for row in rows:
        (alone,) = evaluation.graph_rows([row["graph"]])
        for key in ("found", "added", "removed", "van", "ecan", "status"):
            assert row[key] == alone[key]


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


def test_what_was_learnt_is_shared_by_variants_that_differ_in_the_search_only(tmp_path, models):
    methods = tuple(
        MethodSpec("dr-cfgnn", label, {"denoise": denoise})
        for label, denoise in (("with", True), ("without", False))
    )
    spec = BenchSpec(**{**vars(TINY), "graphs": 1, "methods": methods})
    home = tmp_path / "models"
    run_bench(spec, tmp_path / "run", models=home)
    assert len(list(home.glob("dr-cfgnn-*"))) == 1
    one, other = rows_of(tmp_path / "run", "fit")
    assert one["seconds"] == other["seconds"] > 0
    assert "denoised_edges" in rows_of(tmp_path / "run")[0]["notes"]


# The command line.


def test_the_command_line_runs_resumes_and_reports(tmp_path, models, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("tiny.toml").write_text(
        'title = "tiny"\nprofile = "smoke"\ndatasets = ["ba_2motifs"]\ngraphs = 2\n'
        '[[methods]]\nname = "random"\n'
    )
    command = ["bench", "run", "tiny.toml", "--out", "run", "--models", str(models)]
    for words in ("2 of them new", "0 of them new"):
        with pytest.raises(SystemExit) as end:
            main(command)
        assert end.value.code in (0, None)
        assert words in capsys.readouterr().out
    with pytest.raises(SystemExit) as end:
        main(["bench", "report", "run"])
    assert end.value.code in (0, None)
    assert (tmp_path / "run" / "report" / "report.html").exists()
    with pytest.raises(SystemExit) as end:
        main(["bench", "run", "tiny.toml", "--out", "run", "--no-resume"])
    assert end.value.code == 2
    assert "--no-resume" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["bench", "specs"])
    assert "smoke" in capsys.readouterr().out
