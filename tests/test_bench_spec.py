"""Specs of benchmarks: what they may say, and what is refused before anything runs."""

from pathlib import Path

import pytest

from bench_rows import TINY, rows_of
from conftest import assert_sentence
from edgeflip.bench.labels import MAY_DIFFER, differing_settings
from edgeflip.bench.report.causes import read_causes
from edgeflip.bench.run import run_bench
from edgeflip.bench.spec import BenchSpec, MethodSpec, list_specs, load_spec
from edgeflip.errors import ConfigError, UnknownNameError
from edgeflip.explainers import registry
from edgeflip.presets import load_preset


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


def test_every_spec_of_the_package_can_be_read():
    assert {"smoke", "ba", "real", "table1", "robustness", "by_class", "times"} <= set(list_specs())
    for name in list_specs():
        found, spec = load_spec(name)
        assert found == name
        published = load_preset("ba_2motifs", "paper").expected.methods
        labels = {spec.label(method).partition(" (")[0] for method in spec.methods}
        assert {label for label in labels if label[:10] in ("dr-cfgnn +", "dr-cfgnn -")} <= set(
            published
        )


@pytest.mark.parametrize(
    ("method", "label", "settings", "words"),
    [
        ("edgeflip", "dr-cfgnn -DeN +OH", {}, ("dr-cfgnn", "edgeflip")),
        ("random", "cf2", {}, ("cf2", "random")),
        ("dr-cfgnn", "dr-cfgnn -DeN +OH", {"denoise": True}, ("denoise",)),
        ("dr-cfgnn", "dr-cfgnn +DeN +OH", {"threshold": 0.2}, ("threshold",)),
        ("dr-cfgnn", "dr-cfgnn +DeN +OH", {"published_code": {}}, ("published_code",)),
        ("dr-cfgnn", "dr-cfgnn +DeN +OH (code)", {}, ("published_code",)),
        ("edgeflip", "dr-cfgnn", {}, ("dr-cfgnn", "edgeflip")),
        ("random", "edgeflip", {}, ("edgeflip", "random")),
        ("edgeflip", "DR-CFGNN −DeN +OH", {}, ("dr-cfgnn -DeN +OH",)),
        ("edgeflip", "CF² ", {}, ("cf2",)),
    ],
)
def test_a_published_label_runs_the_published_method_or_is_refused(method, label, settings, words):
    with pytest.raises(ConfigError) as error:
        BenchSpec("mine", ("ba_2motifs",), (MethodSpec(method, label, settings),))
    assert_sentence(error, label, *words)


def test_rules_of_chemistry_are_not_the_papers():
    method = MethodSpec("dr-cfgnn", "dr-cfgnn -DeN +OH", {"denoise": False}, chemistry=True)
    with pytest.raises(ConfigError) as error:
        BenchSpec("mine", ("bbbp",), (method,))
    assert_sentence(error, "chemistry")


def test_other_published_columns_say_what_differs():
    made = registry.make_explainer("cf2", dataset="ba_2motifs", profile="smoke")
    assert "steps" in differing_settings("cf2", made, "ba_2motifs")
    assert not differing_settings("edgeflip", made, "ba_2motifs")


def test_a_published_label_may_differ_in_predictor_training_iterations_and_seconds():
    settings = {"denoise": True, "iterations": 500, "seconds": 3.0}
    spec = BenchSpec(
        "mine", ("ba_2motifs",), (MethodSpec("dr-cfgnn", "dr-cfgnn +DeN +OH", settings),)
    )
    made = spec.make_explainer(spec.methods[0], "ba_2motifs")
    found = differing_settings("dr-cfgnn +DeN +OH", made, "ba_2motifs")
    assert set(found) == set(MAY_DIFFER)


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


def test_the_spec_and_the_cause_of_the_guide_can_be_read(tmp_path):
    guide = (Path(__file__).parents[1] / "docs" / "guides" / "compare.md").read_text("utf-8")
    found = [block.split("```")[0] for block in guide.split("```toml\n")[1:]]
    assert found
    for block in found:
        if block.startswith("[[cause]]"):
            assert read_causes(block)
        else:
            load_spec(write(tmp_path, block))


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
    made = spec.make_explainer(method, "ba_3motifs")
    paper = registry.make_explainer("dr-cfgnn", dataset="ba_3motifs", profile="paper").config
    cpu = registry.make_explainer("dr-cfgnn", dataset="ba_3motifs", profile="cpu").config
    assert (made.config.predictor, made.config.training) == (cpu.predictor, cpu.training)
    assert (made.config.threshold, made.config.factual) == (paper.threshold, "subgraphx")
    # Ours rates an edge as if it were missing, which is what it was trained on.
    assert made.config.predictor.leave_one_out
    assert not paper.predictor.leave_one_out


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
