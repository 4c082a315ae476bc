"""What a fair comparison records: factual subgraphs, noise that keeps the class, who learned from what."""

from dataclasses import replace

import pytest

from bench_rows import TINY, rows_of
from conftest import assert_sentence
from edgeflip.bench.context import Ground
from edgeflip.bench.evaluate import Evaluation
from edgeflip.bench.report import read_results, write_report
from edgeflip.bench.run import run_bench
from edgeflip.bench.spec import BenchSpec, MethodSpec, Sources, load_spec
from edgeflip.core import EditSet
from edgeflip.datasets import load_dataset
from edgeflip.errors import ConfigError
from edgeflip.metrics import METRICS, AnswerCase
from edgeflip.presets import load_preset
from test_metrics_robustness import make_answer


def test_where_no_motif_is_known_edits_are_held_against_the_factual_subgraph(models):
    spec = replace(TINY, factual_proximity=True)
    ground = Ground.load(spec, "ba_2motifs", 0, models, Sources())
    ground.bundle = replace(ground.bundle, motif_nodes=None)
    rows = Evaluation(ground, MethodSpec("random")).graph_rows(ground.places)
    assert all(row["found"] for row in rows)
    assert ground.factual_nodes is not None
    for row in rows:
        nodes = ground.factual_nodes(ground.graphs[row["graph"]])
        edits = row["added"] + row["removed"]
        near = sum(bool(nodes & set(edge)) for edge in edits)
        assert row["factual_proximity"] == pytest.approx(near / len(edits))
        assert row["motif_proximity"] is None


def test_with_a_motif_or_unasked_no_factual_subgraph_is_sought(tmp_path, models):
    for asked, folder in ((True, "asked"), (False, "not")):
        run_bench(replace(TINY, factual_proximity=asked), tmp_path / folder, models=models)
        assert {row["factual_proximity"] for row in rows_of(tmp_path / folder)} == {None}


def test_noise_that_changes_the_class_does_not_count_in_van():
    def answer(label):
        return make_answer(label, (1 - label, EditSet(added=[(0, 3)])))

    same, other = (
        AnswerCase(answer(0), after_noise=answer(0)),
        AnswerCase(answer(0), after_noise=answer(1)),
    )
    names = ("van", "van_any_label", "van_by_change")
    assert [METRICS[name].of(same) for name in names] == [1.0, 1.0, [1.0]]
    assert [METRICS[name].of(other) for name in names] == [None, 0.0, []]


def test_a_method_may_learn_from_the_graphs_that_are_explained(tmp_path, models, monkeypatch):
    seen = []

    def watched(explainer, *args, graphs=None, **kwargs):
        seen.append(graphs)
        raise ConfigError("expected nothing, got a call; leave it.")

    monkeypatch.setattr("edgeflip.bench.evaluate.fit_once", watched)
    ground = Ground.load(TINY, "ba_2motifs", 0, models, Sources())
    for where in ("training", "explained"):
        row = Evaluation(ground, MethodSpec("gcfexplainer", learns_from=where)).fit_row()
        assert row["error"]
    assert seen[0] is None
    assert seen[1] is ground.graphs


def test_an_oracle_can_be_given_other_settings_by_the_spec(tmp_path):
    spec = replace(TINY, oracle={"epochs": 3})
    assert spec.oracle_settings("ba_2motifs") == replace(
        load_preset("ba_2motifs", "smoke").oracle, epochs=3
    )
    assert spec.checksum() != TINY.checksum()
    with pytest.raises(ConfigError) as caught:
        replace(TINY, oracle={"epoch": 3})
    assert_sentence(caught)


def test_one_column_may_be_another_method_on_other_datasets_only():
    methods = (
        MethodSpec("random", "mine", datasets=("ba_2motifs",)),
        MethodSpec("cf2", "mine", datasets=("ba_3motifs",)),
    )
    spec = BenchSpec("two", ("ba_2motifs", "ba_3motifs"), methods)
    assert [method.name for method in spec.methods_on("ba_3motifs")] == ["cf2"]
    with pytest.raises(ConfigError, match="more than once on ba_2motifs"):
        BenchSpec("two", ("ba_2motifs",), (MethodSpec("random"), MethodSpec("random")))


def test_the_reproduction_has_the_published_settings_and_says_where_it_differs():
    _, spec = load_spec("reproduction")
    assert spec.profile == "paper"
    for dataset in spec.datasets:
        assert spec.oracle_settings(dataset) == load_preset(dataset, "paper").oracle
        labels = [spec.label(method) for method in spec.methods_on(dataset)]
        assert {"random", "gcfexplainer", "cf2", "rsgg-ce", "gist"} <= set(labels)
        # The paper has no figures of it there.
        assert ("d4explainer" in labels) == (dataset != "mutag0")
        assert "dr-cfgnn -DeN +OH" in labels


def test_the_report_has_the_datasets_in_numbers_and_the_link_predictors(tmp_path, models):
    spec = replace(TINY, methods=(MethodSpec("edgeflip"),))
    run_bench(spec, tmp_path, models=models)
    report = (write_report(tmp_path) / "report.md").read_text("utf-8")
    bundle = load_dataset("ba_2motifs")
    assert f"| BA-2Motifs | {bundle.num_classes} (2) | 10 (10) | 25.00 (25.00) |" in report
    (fit,) = read_results(tmp_path).fits
    assert fit["auc"] == pytest.approx(fit["notes"]["auc"])
    assert f"{fit['auc']:.3f}".removeprefix("0") in report
