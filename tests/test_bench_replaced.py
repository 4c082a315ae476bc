"""Rules of the rivals in a benchmark: columns beside the common rule, and never instead of it."""

import dataclasses
import tomllib
from importlib.resources import files

import pytest

from bench_rows import TINY, rows_of
from edgeflip.bench import run_bench
from edgeflip.bench.report.contents import replaced_tables
from edgeflip.bench.report.results import read_results
from edgeflip.bench.report.summary import summarize_run
from edgeflip.bench.report.tables import flat
from edgeflip.bench.spec import MethodSpec
from edgeflip.explainers import ReplacingExplainer
from edgeflip.metrics import METRICS, AnswerCase

RIVALS = tuple(map(MethodSpec, ("random", "gist", "gcfexplainer")))
SPEC = dataclasses.replace(TINY, methods=RIVALS, replacements=True)
PLAIN = dataclasses.replace(SPEC, replacements=False)
OWN, OTHER = "validity_own_features", "validity_other_nodes"


@pytest.fixture(scope="module")
def folder(tmp_path_factory, models):
    place = tmp_path_factory.mktemp("replaced")
    run_bench(SPEC, place / "run", models=models)
    run_bench(PLAIN, place / "plain", models=models)
    return place


def table_of(run):
    results = read_results(run)
    return replaced_tables(results, summarize_run(results))


def test_only_the_methods_that_can_are_judged_so(folder):
    for row in rows_of(folder / "run"):
        assert (row[OWN] is None) == (row["method"] != "gist")
        assert (row[OTHER] is None) == (row["method"] != "gcfexplainer")
        for rule in ("own_features", "other_nodes"):
            assert (row[f"distance_{rule}"] is None) == (not row[f"validity_{rule}"])
        assert row["error"] is None


def test_the_common_rule_is_what_it_was(folder):
    common = [name for name in METRICS if not name.endswith(("own_features", "other_nodes"))]
    timeless = [name for name in common if not name.endswith("seconds")]
    for row, plain in zip(rows_of(folder / "run"), rows_of(folder / "plain"), strict=True):
        for name in (*timeless, "found", "added", "removed"):
            assert row.get(name) == plain.get(name)
        assert plain[OWN] is None
        assert plain[OTHER] is None


def test_the_report_has_a_column_for_each_rule_beside_the_common_one(folder):
    (table,) = table_of(folder / "run")
    assert table.columns == (
        "GIST, common rule",
        "GIST, own features",
        "GCFExplainer, common rule",
        "GCFExplainer, other nodes",
    )
    (row,) = table.rows
    for column, cell in zip(table.columns, row.cells, strict=True):
        validity, distance = flat(cell)
        # Published values stand beside the rule they were made under, and there alone.
        assert (validity.paper is None) == column.endswith("common rule")
        assert (distance.paper is None) == column.endswith("common rule")
        assert validity.ours is not None
    assert table_of(folder / "plain") == []


def test_a_graph_that_is_not_replaced_counts_against_the_rule(models, monkeypatch, tmp_path):
    def broken(self, *arguments, **others):
        raise ZeroDivisionError("boom")

    monkeypatch.setattr(ReplacingExplainer, "replacements", broken)
    gist = dataclasses.replace(SPEC, methods=(MethodSpec("gist"),), graphs=1)
    run_bench(gist, tmp_path, models=models)
    (row,) = rows_of(tmp_path)
    assert row[OWN] == 0.0
    assert row["distance_own_features"] is None
    assert "boom" in row["error"]
    assert row["validity"] in (0.0, 1.0)


def test_without_such_a_method_there_is_no_value():
    for name in (OWN, OTHER, "distance_own_features", "distance_other_nodes"):
        assert METRICS[name].of(AnswerCase()) is None
    assert METRICS[OWN].of(AnswerCase(own_features=())) == 0.0


@pytest.mark.parametrize("name", ["ba", "real"])
def test_the_complete_comparisons_have_these_rules_and_the_newest_rival(name):
    file = files("edgeflip") / "bench" / "specs" / f"{name}.toml"
    spec = tomllib.loads(file.read_text("utf-8"))
    assert spec["replacements"]
    columns = [method for method in spec["methods"] if method["name"] == "xplore"]
    assert {each.get("label", "xplore"): each.get("settings", {}) for each in columns} == {
        "xplore": {},
        "xplore (code)": {"published_code": True},
        "xplore (from the input)": {"start": "input", "steps": 500, "minimal": True},
    }
