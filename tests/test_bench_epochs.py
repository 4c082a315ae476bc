"""Columns that say for how many epochs their method was trained, from the rows of the fits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from edgeflip.bench import run_bench
from edgeflip.bench.report import read_results, summarize_run, write_report
from edgeflip.bench.report.cells import published_column
from edgeflip.bench.report.contents import all_tables
from edgeflip.bench.report.epochs import epoch_labels, relabelled_meta
from edgeflip.bench.report.render import csv_table, markdown_table
from edgeflip.bench.spec import load_spec
from edgeflip.training import fit_once
from made_up_run import META, Row, graph, write_run

OLD = "d4explainer (reduced)"


def fit(dataset: str, epochs: int | None, method: str = "d4explainer", **notes: Any) -> Row:
    told = {} if epochs is None else {"epochs": epochs, **notes}
    row: Row = {"kind": "fit", "dataset": dataset, "method": method, "seed": 0, "seconds": 5.0}
    return row | {
        "learns": True,
        "explainer": "d4explainer",
        "notes": told,
        "differs": ["training"],
    }


def write_made_up(folder: Path, fits: list[Row], label: str = "d4explainer") -> Path:
    spec = {
        **META["spec"],
        "datasets": ["ba_2motifs", "ba_3motifs"],
        "methods": [{"name": "d4explainer", "label": label}, {"name": "random"}],
    }
    graphs = [
        graph(method, 0, number, dataset=dataset, size=size)
        for dataset in ("ba_2motifs", "ba_3motifs")
        for method in (label, "random")
        for number, size in enumerate((3, 5))
    ]
    return write_run(folder, [*graphs, *fits], meta={**META, "spec": spec})


def test_a_column_says_the_epochs_of_its_fits(tmp_path: Path) -> None:
    fits = [
        fit("ba_2motifs", 231, stopped="patience"),
        fit("ba_3motifs", 118, stopped="time"),
    ]
    results = read_results(write_made_up(tmp_path / "run", fits))
    label = "d4explainer (118–231 epochs)"
    assert results.methods == (label, "random")
    tables = {table.key: table for table in all_tables(results, summarize_run(results))}
    for key in ("overview", "quality", "endings", "methods", "times"):
        assert label in markdown_table(tables[key]), key
    methods = markdown_table(tables["methods"])
    assert "2motifs: 231 epochs, until none was better" in methods
    assert "3motifs: 118 epochs, until time was up)" in methods
    # The published column stays the published one, and what was measured is held against it.
    header = markdown_table(tables["quality"]).splitlines()[0]
    assert "| D4Explainer |" in header
    assert label in markdown_table(tables["cells"])
    assert f",{label}," in csv_table([tables["quality"]])
    write_report(tmp_path / "run", tmp_path / "report")
    assert label in (tmp_path / "report" / "report.md").read_text("utf-8")
    assert "118" in (tmp_path / "report" / "tables" / "quality.tex").read_text("utf-8")


def test_older_rows_keep_the_label_that_they_were_made_under(tmp_path: Path) -> None:
    fits = [fit("ba_2motifs", None, method=OLD), fit("ba_3motifs", None, method=OLD)]
    results = read_results(write_made_up(tmp_path / "run", fits, label=OLD))
    assert results.methods == (OLD, "random")
    rows = [row for row in results.graphs if row["method"] == OLD]
    assert published_column(OLD, rows) == "d4explainer"


def test_one_epoch_and_fits_without_epochs() -> None:
    assert epoch_labels([fit("a", 1)]) == {"d4explainer": "d4explainer (1 epoch)"}
    assert epoch_labels([fit("a", 800), fit("b", 800)]) == {
        "d4explainer": "d4explainer (800 epochs)"
    }
    assert epoch_labels([fit("a", None)]) == {}
    assert relabelled_meta({"spec": None}, {"a": "b"}) == {"spec": None}
    for name in ("d4explainer (1 epoch)", "d4explainer (800 epochs)", "d4explainer"):
        assert published_column(name, [{"explainer": "d4explainer"}]) == "d4explainer"


def test_no_spec_promises_or_denies_a_length_of_training() -> None:
    for name in ("ba", "real"):
        _, spec = load_spec(name)
        (method,) = [each for each in spec.methods if each.name == "d4explainer"]
        assert spec.label(method) == "d4explainer"
        for dataset in spec.datasets:
            config: Any = spec.make_explainer(method, dataset).config
            assert not config.is_reduced
            assert config.training.max_cpu_minutes == 90


def test_a_run_shows_and_writes_down_how_long_a_denoiser_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = tmp_path / "d4.toml"
    spec.write_text(
        'title = "D4"\nprofile = "smoke"\ndatasets = ["ba_2motifs"]\ngraphs = 1\n'
        '[[methods]]\nname = "d4explainer"\n'
    )
    shown = []

    def watched(explainer: Any, *arguments: Any, **settings: Any) -> Any:
        shown.append(explainer.progress)
        return fit_once(explainer, *arguments, **settings)

    monkeypatch.setattr("edgeflip.bench.evaluate.fit_once", watched)
    models = tmp_path / "models"
    run_bench(load_spec(spec)[1], tmp_path / "run", models=models, progress=True)
    assert shown == [True]
    lines = (tmp_path / "run" / "results.jsonl").read_text("utf-8").splitlines()
    (notes,) = [row["notes"] for row in map(json.loads, lines) if row["kind"] == "fit"]
    assert (notes["epochs"], notes["stopped"], len(notes["curve"])) == (2, "finished", 1)
    assert read_results(tmp_path / "run").methods == ("d4explainer (2 epochs)",)
