"""Benchmarks on validation graphs, by which settings are chosen: never beside test graphs."""

import copy
import csv

import pytest

from bench_rows import TINY, rows_of
from conftest import assert_sentence
from edgeflip.bench import redraw
from edgeflip.bench import run as run_module
from edgeflip.bench.context import Ground
from edgeflip.bench.evaluate import Evaluation
from edgeflip.bench.report import read_results, write_report
from edgeflip.bench.report.exhibits import run_exhibits
from edgeflip.bench.run import run_bench
from edgeflip.bench.spec import BenchSpec, MethodSpec, Sources, load_spec
from edgeflip.cli import main
from edgeflip.datasets import load_dataset
from edgeflip.errors import ArtifactError, ConfigError, DatasetError
from edgeflip.training import data_checksum
from made_up_run import META, made_up, write_run


def test_validation_graphs_are_explained_and_every_row_says_so(tmp_path, models):
    run_bench(TINY, tmp_path, models=models, split="val")
    bundle = load_dataset("ba_2motifs")
    rows = rows_of(tmp_path)
    assert len(rows) == 3
    for row in rows:
        assert row["split"] == "val"
        assert row["truth"] == int(bundle.val[row["graph"]].y)
    (oracle,) = rows_of(tmp_path, "oracle")
    assert (oracle["split"], oracle["val_graphs"]) == ("val", len(bundle.val))
    assert rows_of(tmp_path, "fit")[0]["split"] == "val"
    # Pictures of answers are of the same graphs.
    for exhibit in run_exhibits(tmp_path)[0]:
        assert exhibit.title.startswith("BA-2Motifs val ")
        number = int(exhibit.title.split()[-1])
        assert data_checksum([exhibit.answer.space.input]) == data_checksum([bundle.val[number]])


def test_the_split_is_a_key_of_the_spec_too(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'title = "t"\nsplit = "val"\ndatasets = ["ba_2motifs"]\n[[methods]]\nname = "random"\n'
    )
    assert load_spec(path)[1].split == "val"
    path.write_text(path.read_text().replace('"val"', '"train"'))
    with pytest.raises(ConfigError) as error:
        load_spec(path)
    assert_sentence(error, "split", "'train'")
    with pytest.raises(ConfigError) as error:
        run_bench(TINY, tmp_path / "run", split="validation")
    assert_sentence(error, "split", "'validation'")


def test_two_splits_are_never_in_one_folder(tmp_path, models):
    run_bench(TINY, tmp_path, models=models, split="val")
    with pytest.raises(ConfigError) as error:
        run_bench(TINY, tmp_path, models=models)
    assert_sentence(error, "test graphs", "validation graphs", "another folder")
    assert run_bench(TINY, tmp_path, models=models, split="val").measured == 0


def test_a_row_of_the_other_split_is_refused(tmp_path):
    rows = [{**row, "split": "val"} if row["kind"] == "graph" else row for row in made_up()]
    with pytest.raises(ArtifactError) as error:
        read_results(write_run(tmp_path, rows))
    assert_sentence(error, "test", "val", "two folders")


def test_methods_do_not_learn_from_the_graphs_they_are_asked_about(models):
    seen = []
    for split in ("test", "val"):
        methods = (MethodSpec("dr-cfgnn"),)
        spec = BenchSpec(**{**vars(TINY), "methods": methods, "split": split})
        ground = Ground.load(spec, "ba_2motifs", 0, models, Sources())
        evaluation = Evaluation(ground, spec.methods[0])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(
                "edgeflip.bench.evaluate.fit_once",
                lambda *_, with_validation, **__: seen.append(with_validation),
            )
            _ = evaluation._fit
    assert seen == [True, False]


def test_a_dataset_without_validation_graphs_is_skipped_with_the_reason(
    tmp_path, models, monkeypatch
):
    def none(bundle, split):
        raise DatasetError("expected validation graphs in 'x', got none; explain another split.")

    monkeypatch.setattr("edgeflip.bench.context.graphs_of", none)
    run_module.ground_of.__globals__["_grounds"].clear()
    report = run_bench(TINY, tmp_path, models=models, split="val")
    assert "validation graphs" in report.skipped["ba_2motifs"]


def test_the_report_of_validation_graphs_shows_nothing_that_was_published(tmp_path):
    meta = copy.deepcopy(META)
    meta["spec"]["split"] = "val"
    rows = [
        {**row, "split": "val"} if row["kind"] in ("graph", "fit", "plausibility") else row
        for row in made_up()
    ]
    place = write_report(write_run(tmp_path / "val", rows, meta=meta))
    page = (place / "report.md").read_text("utf-8")
    assert "- Graphs: validation graphs" in page
    assert "cannot be compared" in page
    with (place / "results.csv").open(encoding="utf-8") as file:
        assert not [row for row in csv.DictReader(file) if row["paper"]]
    assert "Cell by cell" not in page
    assert "set out to reach" not in page
    assert "the paper." not in (place / "tables" / "overview.tex").read_text("utf-8")
    pictures = {path.name: path.read_text("utf-8") for path in (place / "figures").glob("*.svg")}
    assert "hollow ones" not in pictures["size.svg"]
    # Nor do the pictures that are drawn anew from the table alone.
    redraw(place)
    assert "hollow ones" not in (place / "figures" / "size.svg").read_text("utf-8")
    test = write_report(write_run(tmp_path / "test", made_up()))
    assert "- Graphs: test graphs" in (test / "report.md").read_text("utf-8")
    assert "hollow ones" in (test / "figures" / "size.svg").read_text("utf-8")


def test_the_command_line_takes_a_split(tmp_path, models, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(
        'title = "tiny"\nprofile = "smoke"\ndatasets = ["ba_2motifs"]\ngraphs = 1\n'
        '[[methods]]\nname = "random"\n'
    )
    command = ["bench", "run", "tiny.toml", "--out", "run", "--models", str(models), "--split"]
    with pytest.raises(SystemExit) as end:
        main([*command, "val"])
    assert end.value.code in (0, None)
    assert read_results("run").split == "val"
    assert read_results("run").meta["command"].endswith("--split val")
    capsys.readouterr()
    with pytest.raises(SystemExit) as end:
        main([*command, "vall"])
    assert end.value.code == 2
    assert "did you mean 'val'" in capsys.readouterr().err
