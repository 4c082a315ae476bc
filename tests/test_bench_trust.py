"""Trust in a benchmark: other oracles, real graphs and embeddings, where the spec asks for them."""

import dataclasses

from bench_rows import TINY, rows_of
from edgeflip.bench import run_bench
from edgeflip.bench.report.contents import all_tables
from edgeflip.bench.report.results import read_results
from edgeflip.bench.report.summary import summarize_run
from edgeflip.bench.spec import MethodSpec
from edgeflip.metrics import METRICS

SPEC = dataclasses.replace(TINY, methods=(MethodSpec("random"),), trust=True, noise=False)


def test_a_run_measures_trust_where_it_is_asked_and_the_report_has_its_table(tmp_path, models):
    run_bench(SPEC, tmp_path / "run", models=models)
    run_bench(dataclasses.replace(SPEC, trust=False), tmp_path / "plain", models=models)
    found = [row for row in rows_of(tmp_path / "run") if row["found"]]
    assert found
    for row in found:
        assert 0 <= row["nearest_real"] <= 1
        assert -1 <= row["embedding_similarity"] <= 1
        assert row["transfer_same_kind"] in (None, 0.0, 0.5, 1.0)
        assert row["feasibility"] in (0.0, 1.0)
        assert row["transfer_other_kind"] is None
        assert row["instability"] is None or row["instability"] >= 0
    assert any(row["instability"] is not None for row in found)
    plain = [row for row in rows_of(tmp_path / "plain") if row["found"]]
    assert all(row["nearest_real"] is None for row in plain)
    results = read_results(tmp_path / "run")
    (table,) = [each for each in all_tables(results, summarize_run(results)) if each.key == "trust"]
    named = {METRICS[name].title for name in ("transfer_same_kind", "nearest_real")}
    assert named <= {row.head[1] for row in table.rows}
