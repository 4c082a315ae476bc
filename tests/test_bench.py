"""Benchmarks that run: a row per graph and method, none lost, none measured twice."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from bench_rows import TINY, rows_of, timeless
from conftest import assert_sentence
from edgeflip.bench import evaluate as evaluate_module
from edgeflip.bench import folder as folder_module
from edgeflip.bench.context import Ground
from edgeflip.bench.report import read_results, write_report
from edgeflip.bench.run import run_bench
from edgeflip.bench.spec import BenchSpec, MethodSpec, Sources
from edgeflip.cli import main
from edgeflip.core.constraints import Constraints
from edgeflip.datasets import DatasetBundle
from edgeflip.errors import ArtifactError, ConfigError, UnknownNameError
from edgeflip.support import read_json, versions, write_json


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
    (tmp_path / "results.jsonl").write_text("{}\n")
    with pytest.raises(ArtifactError) as error:
        run_bench(TINY, tmp_path)
    assert_sentence(error, "meta.json")


@pytest.mark.parametrize("how", ["deleted", "emptied"])
def test_deleted_rows_are_an_error_and_no_new_beginning(tmp_path, models, how):
    run_bench(TINY, tmp_path, models=models)
    path = tmp_path / "results.jsonl"
    path.unlink() if how == "deleted" else path.write_bytes(b"")
    for again in (lambda: run_bench(TINY, tmp_path, models=models), lambda: read_results(tmp_path)):
        with pytest.raises(ArtifactError) as error:
            again()
        assert_sentence(error, "results.jsonl", "deleted", "another folder")


def test_a_run_that_was_killed_before_its_first_row_begins_again(tmp_path, models, monkeypatch):
    def killed(*arguments, **options):
        raise SystemExit

    monkeypatch.setattr(folder_module, "write_json", killed)
    with pytest.raises(SystemExit):
        run_bench(TINY, tmp_path, models=models)
    monkeypatch.undo()
    assert run_bench(TINY, tmp_path, models=models).measured == 3


def test_an_edited_description_is_refused_by_the_run_and_by_the_report(tmp_path, models):
    run_bench(TINY, tmp_path, models=models)
    path = tmp_path / "meta.json"
    text = path.read_text()
    path.write_text(text.replace('"tiny"', '"mine"', 1))
    assert path.read_text() != text
    for again in (
        lambda: run_bench(TINY, tmp_path, models=models),
        lambda: write_report(tmp_path),
    ):
        with pytest.raises(ArtifactError) as error:
            again()
        assert_sentence(error, "meta.json", "changed")
    assert not (tmp_path / "report").exists()


def test_an_edited_row_is_refused_by_the_run_and_by_the_report(tmp_path, models):
    run_bench(TINY, tmp_path, models=models)
    path = tmp_path / "results.jsonl"
    text = path.read_text("utf-8")
    path.write_text(text.replace('"found": true', '"found": false', 1), "utf-8")
    assert path.read_text("utf-8") != text
    for again in (
        lambda: run_bench(TINY, tmp_path, models=models),
        lambda: write_report(tmp_path),
    ):
        with pytest.raises(ArtifactError) as error:
            again()
        assert_sentence(error, "results.jsonl", "ba_2motifs, random, seed 0", "remove it")


def test_a_row_that_lost_its_checksum_counts_as_edited_unless_the_run_is_older(tmp_path, models):
    run_bench(TINY, tmp_path, models=models)
    path, meta_path = tmp_path / "results.jsonl", tmp_path / "meta.json"
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    bare = [{key: row[key] for key in row if key != "checksum"} for row in rows]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in bare), "utf-8")
    with pytest.raises(ArtifactError, match="line 1"):
        read_results(tmp_path)
    older = ("checksum", "row_checksums", "rows")
    meta = {key: value for key, value in read_json(meta_path).items() if key not in older}
    write_json(meta_path, meta)
    results = read_results(tmp_path)
    assert len(results.graphs) == 3
    assert (
        f"{len(rows)} rows of results.jsonl are from before rows had checksums" in results.notes[0]
    )
    assert "checksums" in (write_report(tmp_path) / "report.md").read_text()


def test_a_report_says_how_many_rows_were_taken_out(tmp_path, models):
    run_bench(TINY, tmp_path, models=models)
    assert read_results(tmp_path).notes == ()
    path = tmp_path / "results.jsonl"
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    (note,) = read_results(tmp_path).notes
    assert note.startswith("1 row that the run wrote is no longer")


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
    ground = Ground.load(spec, "ba_2motifs", 0, models, Sources())
    evaluation = evaluate_module.Evaluation(ground, spec.methods[0])
    for row in rows:
        (alone,) = evaluation.graph_rows([row["graph"]])
        for key in ("found", "added", "removed", "van", "ecan", "status"):
            assert row[key] == alone[key]


def test_one_link_model_serves_all_methods_that_ask_for_the_same(tmp_path, models):
    methods = (
        MethodSpec("dr-cfgnn", "with", {"denoise": True}),
        MethodSpec("dr-cfgnn", "without", {"denoise": False}),
        MethodSpec("edgeflip"),
    )
    spec = BenchSpec(**{**vars(TINY), "graphs": 1, "methods": methods})
    home = tmp_path / "models"
    run_bench(spec, tmp_path / "run", models=home)
    assert len(list(home.glob("links-*"))) == 1
    assert len({row["seconds"] for row in rows_of(tmp_path / "run", "fit")}) == 1
    notes = {row["method"]: row["notes"] for row in rows_of(tmp_path / "run")}
    assert ["denoised_edges" in notes[name] for name in ("with", "without")] == [True, False]


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
