"""What a benchmark would run and cost, told without running it."""

import json
from pathlib import Path

import pytest

from bench_rows import TINY, rows_of
from conftest import assert_sentence
from edgeflip.bench import costs_table, plan_bench
from edgeflip.bench.costs import Cost, costs_of_run, known_costs
from edgeflip.bench.run import run_bench
from edgeflip.bench.spec import BenchSpec, MethodSpec
from edgeflip.cli import main
from edgeflip.datasets import load_dataset
from edgeflip.errors import ArtifactError, ConfigError

ROOT = Path(__file__).parents[1]
METHODS = (
    MethodSpec("random"),
    MethodSpec("dr-cfgnn", "dr-cfgnn -DeN -OH", {"denoise": False, "one_hot": False}),
    MethodSpec("dr-cfgnn", "dr-cfgnn +DeN -OH", {"denoise": True, "one_hot": False}),
)


def spec_of(**changed):
    return BenchSpec(**{**vars(TINY), "methods": METHODS, "profile": "cpu", **changed})


@pytest.fixture
def told(monkeypatch):
    """Estimates by costs that are easy to add up; nothing may be trained or explained."""
    costs = {
        ("ba_2motifs", "oracle", "cpu"): Cost(training=7.0),
        ("ba_2motifs", "random", "cpu"): Cost(graph=2.0),
        ("ba_2motifs", "dr-cfgnn -DeN -OH", "cpu"): Cost(3.0, 100.0),
    }
    monkeypatch.setattr("edgeflip.bench.planning.known_costs", lambda: dict(costs))

    def never(*arguments, **options):
        raise AssertionError("a plan must not train or explain")

    for name in ("training.oracles.fit_classifier", "training.fitting.fit_links"):
        monkeypatch.setattr(f"edgeflip.{name}", never)
    monkeypatch.setattr("edgeflip.explainers.CounterfactualExplainer.explain_many", never)


def work_of(plan):
    return {entry.method: entry for entry in plan.work}


@pytest.mark.usefixtures("told")
def test_a_plan_counts_graphs_seeds_and_questions_and_shares_training(tmp_path):
    plan = plan_bench(spec_of(seeds=(0, 1), noise=True), tmp_path / "none")
    work = work_of(plan)
    assert list(work) == ["oracle", "random", "dr-cfgnn -DeN -OH", "dr-cfgnn +DeN -OH"]
    assert work["oracle"].hours == pytest.approx(2 * 7 / 3600)
    # Three graphs, two seeds, with and without noise.
    assert (work["random"].graphs, work["random"].questions) == (6, 2)
    assert work["random"].at_most
    assert work["random"].hours == pytest.approx(6 * 2 * 2.0 / 3600)
    variant = work["dr-cfgnn -DeN -OH"]
    assert variant.training_seconds == 200.0
    assert variant.hours == pytest.approx((200 + 6 * 2 * 3.0) / 3600)
    # It learns nothing of its own, and what it takes to explain was never measured.
    assert work["dr-cfgnn +DeN -OH"].training_seconds == 0.0
    assert work["dr-cfgnn +DeN -OH"].hours is None
    assert plan.unknown == (work["dr-cfgnn +DeN -OH"],)
    assert plan.hours == pytest.approx(sum(entry.hours or 0 for entry in plan.work))
    assert not (tmp_path / "none").exists()


@pytest.mark.usefixtures("told")
def test_an_unknown_column_costs_what_its_explainer_does_and_on_another_dataset_nothing_is_known():
    assert (
        work_of(plan_bench(spec_of(profile="smoke", methods=METHODS[:1])))["random"].hours is None
    )
    assert work_of(plan_bench(spec_of(datasets=("ba_3motifs",))))["random"].hours is None
    renamed = (MethodSpec("random", "mine"),)
    three_graphs = pytest.approx(3 * 2.0 / 3600)
    assert work_of(plan_bench(spec_of(methods=renamed)))["mine"].hours == three_graphs
    paper = work_of(plan_bench(spec_of(profile="paper", methods=METHODS[:1])))
    assert paper["random"].hours == three_graphs


@pytest.mark.usefixtures("told")
def test_other_classes_are_asked_for_where_there_are_more_than_two():
    spec = spec_of(datasets=("ba_2motifs", "ba_4motifs"), targets=True, methods=METHODS[:1])
    found = {entry.dataset: entry.questions for entry in plan_bench(spec).work if entry.graphs}
    assert found == {"ba_2motifs": 1, "ba_4motifs": 4}
    spec = spec_of(
        datasets=("ba_4motifs",), targets=True, methods=(MethodSpec("random", targets=False),)
    )
    assert plan_bench(spec).work[-1].questions == 1


@pytest.mark.usefixtures("told")
def test_the_split_says_how_many_graphs_there_are():
    spec = spec_of(graphs=None, only_correct=False)
    bundle = load_dataset("ba_2motifs")
    for split, graphs in (("test", bundle.test), ("val", bundle.val)):
        entry = work_of(plan_bench(spec, split=split))["random"]
        assert (entry.graphs, entry.at_most) == (len(graphs), False)


@pytest.mark.usefixtures("told")
def test_the_link_predictor_that_rates_plausibility_is_trained_once():
    work = work_of(plan_bench(spec_of(plausibility=True)))
    assert work["link predictor"].training_seconds == 100.0
    assert work["dr-cfgnn -DeN -OH"].training_seconds == 0.0


def test_what_is_done_is_left_out_and_its_times_count(tmp_path, models):
    run_bench(TINY, tmp_path, models=models, progress=False)
    path = tmp_path / "results.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    before = path.read_bytes()
    work = work_of(plan_bench(TINY, tmp_path))
    assert work["oracle"].hours == 0
    assert (work["random"].graphs, work["random"].done, work["random"].at_most) == (3, 2, False)
    rows = rows_of(tmp_path)
    assert work["random"].graph_seconds == pytest.approx(sum(r["cpu_seconds"] for r in rows) / 2)
    assert path.read_bytes() == before
    # An earlier run tells what another one takes.
    other = BenchSpec(**{**vars(TINY), "graphs": 9})
    assert work_of(plan_bench(other))["random"].hours is None
    assert work_of(plan_bench(other, costs=tmp_path))["random"].hours > 0
    with pytest.raises(ConfigError) as error:
        plan_bench(other, tmp_path)
    assert_sentence(error, "another folder")
    with pytest.raises(ArtifactError, match=r"found no meta\.json"):
        plan_bench(other, costs=tmp_path / "nothing")
    assert costs_of_run(tmp_path)["ba_2motifs", "oracle", "smoke"].training > 0


def test_the_table_of_the_package_is_that_of_the_committed_reports():
    reports = sorted(path.parent for path in (ROOT / "docs" / "results").glob("*/results.csv"))
    kept = (ROOT / "src" / "edgeflip" / "bench" / "costs.csv").read_text("utf-8")
    assert costs_table(reports) == kept, "benchmarks/costs.py docs/results/*/ --out writes it again"
    assert known_costs()["ba_2motifs", "oracle", "cpu"].training > 1
    assert known_costs()["ba_2motifs", "random", "cpu"].training is None


def test_a_folder_without_a_report_has_no_costs(tmp_path):
    with pytest.raises(ArtifactError) as error:
        costs_table([tmp_path])
    assert_sentence(error, "report.md", "bench report")


def test_the_command_line_prints_the_plan_and_runs_nothing(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.toml").write_text(
        'title = "tiny"\ndatasets = ["ba_2motifs"]\ngraphs = 2\n'
        '[[methods]]\nname = "random"\n[[methods]]\nname = "dr-cfgnn"\nlabel = "mine"\n'
    )
    command = ["bench", "run", "tiny.toml", "--out", "run", "--dry-run"]
    with pytest.raises(SystemExit) as end:
        main(command)
    assert end.value.code in (0, None)
    printed = capsys.readouterr().out
    assert "at most 4" in printed
    assert "what is not known (?) of 1" in printed
    assert "Nothing was trained or explained" in printed
    with pytest.raises(SystemExit):
        main([*command, "--json"])
    found = json.loads(capsys.readouterr().out)
    assert [entry["method"] for entry in found["work"]] == ["oracle", "random", "mine"]
    assert found["unknown"] == 1
    assert not (tmp_path / "run").exists()
    with pytest.raises(SystemExit) as end:
        main([*command[:-1], "--costs", "runs"])
    assert end.value.code == 2
    assert "--dry-run" in capsys.readouterr().err
