"""Several seeds: each with an oracle and a link predictor of its own, and what the tables make of them."""

import pytest

from bench_rows import TINY, rows_of
from conftest import assert_sentence
from edgeflip.bench import plan_bench
from edgeflip.bench.report import read_results, summarize_run, write_report
from edgeflip.bench.report.contents import all_tables
from edgeflip.bench.report.render import markdown_table
from edgeflip.bench.run import run_bench
from edgeflip.bench.spec import BenchSpec, MethodSpec
from edgeflip.errors import ConfigError
from edgeflip.links import LinkModel
from edgeflip.training import load_oracle
from made_up_run import META, graph, plausibility, write_run

METHODS = (MethodSpec("random"), MethodSpec("dr-cfgnn"), MethodSpec("edgeflip", seeds=(1,)))


def spec_of(**changed):
    return BenchSpec(**{**vars(TINY), "methods": METHODS, "seeds": (0, 1), "graphs": 2, **changed})


def test_every_seed_trains_its_own_oracle_and_link_predictor(tmp_path):
    run_bench(spec_of(), tmp_path)
    oracles = [load_oracle(path) for path in (tmp_path / "models").glob("oracle-*")]
    links = [LinkModel.load(path) for path in (tmp_path / "models").glob("links-*")]
    for found in (oracles, links):
        assert len(found) == 2
        assert len({model.fingerprint() for model in found}) == 2
    found = {(row["method"], row["seed"]) for row in rows_of(tmp_path)}
    assert found == {
        ("random", 0),
        ("random", 1),
        ("dr-cfgnn", 0),
        ("dr-cfgnn", 1),
        ("edgeflip", 1),
    }
    assert {(row["method"], row["seed"]) for row in rows_of(tmp_path, "fit")} == found
    assert run_bench(spec_of(), tmp_path).measured == 0
    page = (write_report(tmp_path) / "report.md").read_text("utf-8")
    assert "edgeflip (1 of 2 seeds)" in page
    assert "dr-cfgnn (1 of" not in page


def test_a_method_with_fewer_seeds_trains_no_oracle_for_the_others(tmp_path, models):
    run_bench(spec_of(), tmp_path, models=models, methods=["edgeflip"])
    assert [row["seed"] for row in rows_of(tmp_path, "oracle")] == [1]
    # The rest comes later, as of any part.
    work = {entry.method: entry for entry in plan_bench(spec_of(), tmp_path).work}
    assert (work["edgeflip"].seeds, work["edgeflip"].graphs, work["edgeflip"].done) == (1, 2, 2)
    assert (work["random"].seeds, work["random"].graphs, work["random"].done) == (2, 4, 0)


@pytest.mark.parametrize("seeds", [(), (2,), (0, 0), (0, 5)])
def test_seeds_of_a_method_are_some_of_the_benchmarks(seeds):
    with pytest.raises(ConfigError) as error:
        spec_of(methods=(MethodSpec("random", seeds=seeds),))
    assert_sentence(error, "seeds of 'random'", "[0, 1]")


def test_every_cell_of_several_seeds_has_a_deviation_and_of_one_none(tmp_path):
    rows = [
        graph(
            "random",
            seed,
            number,
            size=1 + seed,
            van=float(number < 3 - seed),
            validity=1.0,
            added=[[0, 2]],
            validity_connected=1.0,
        )
        for seed in (0, 1)
        for number in range(4)
    ]
    rows += [
        plausibility("random", 0.5) | {"seed": seed, "baseline_degree_mmd": 0.1 + seed / 10}
        for seed in (0, 1)
    ]
    for seeds in ((0, 1), (0,)):
        own = [row for row in rows if row["seed"] in seeds]
        meta = {**META, "spec": {"seeds": list(seeds), "methods": [{"name": "random"}]}}
        results = read_results(write_run(tmp_path / str(len(seeds)), own, meta=meta))
        tables = {table.key: table for table in all_tables(results, summarize_run(results))}
        several = len(seeds) > 1
        for table in tables.values():
            for _, _, entry in table.entries():
                assert entry.ours is None or (entry.sd is not None) == several, entry
        noise = markdown_table(tables["noise"])
        # Three of four and two of four.
        assert ("**.62** ± .18" if several else "**.75** \\[") in noise
        few = tables["additions"].rows[0].cells[-1]
        expected = "1.00 ± .00 / 1.50 ± .71 / 1.50 ± .71" if several else "1.00 / 1.00 / 1.00"
        assert few == expected
        unedited = markdown_table(tables["plausibility"])
        assert (".150 ± .071" in unedited) == several
