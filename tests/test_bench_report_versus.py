"""Our method beside each other one, and beside its aims."""

from __future__ import annotations

from pathlib import Path

from edgeflip.bench.report import read_results, summarize_run
from edgeflip.bench.report.contents import all_tables
from edgeflip.bench.report.versus import versus_table
from made_up_run import graph, noise, write_run


def test_a_method_is_compared_on_the_graphs_that_both_answered(tmp_path: Path) -> None:
    ours = [
        graph("edgeflip", 0, 1, size=1, fidelity=0.9, cpu_seconds=1.0, removed=[[0, 1]]),
        graph("edgeflip", 0, 2, size=2, fidelity=0.7, cpu_seconds=1.0),
        graph("edgeflip", 0, 3, size=9, fidelity=0.1, cpu_seconds=1.0),
    ]
    ours[0] |= {"removed_likelihood": 0.25, "noise": noise(True, 0.5, 1, 1, [0.5])}
    theirs = [
        graph("other", 0, 1, size=1, fidelity=0.9, cpu_seconds=1.05, added=[[0, 2], [0, 3]]),
        graph("other", 0, 2, size=1, fidelity=0.6, cpu_seconds=1.05),
        graph("other", 0, 3, cpu_seconds=1.05),
    ]
    theirs[0] |= {"added_likelihood": 0.5, "noise": noise(True, 1.0, 1, 1, [1.0])}
    folder = write_run(tmp_path / "run", [*ours, *theirs])
    table = versus_table(read_results(folder))
    assert table is not None
    found = {row.head[1]: row.cells[0] for row in table.rows}
    assert found["validity"] == "won by .33 (1.00 : .67)"
    assert found["size"] == "lost by .50 (1.50 : 1.00)"
    assert found["fidelity"] == "won by .05 (.80 : .75)"
    assert found["minimality"] == "tied (1.00 : 1.00)"
    assert found["VaN"] == "tied (1.00 : 1.00)"
    assert found["ECaN"] == "lost by .50 (.50 : 1.00)"
    assert found["plausibility"] == "won by .25 (.75 : .50)"
    assert found["CPU seconds"] == "tied (1.000 : 1.050)"
    assert found["won / tied / lost"] == "3 / 4 / 2"
    turned = versus_table(read_results(folder), "other")
    assert turned is not None
    assert turned.rows[-1].cells == ("2 / 4 / 3",)
    assert versus_table(read_results(folder), "nobody") is None


def test_errors_and_graphs_not_asked_about_decide_nothing(tmp_path: Path) -> None:
    ours = [graph("edgeflip", 0, n, size=1 if n < 4 else None, cpu_seconds=0.05) for n in range(5)]
    failed = [
        {**graph("failed", 0, n, cpu_seconds=None), "status": "error", "error": "no fit"}
        for n in range(5)
    ]
    begun = [graph("begun", 0, 0, size=1, fidelity=0.4951, cpu_seconds=0.05)]
    ours[0] |= {"fidelity": 0.4949}
    table = versus_table(read_results(write_run(tmp_path / "run", [*ours, *failed, *begun])))
    assert table is not None
    found = {row.head[1]: dict(zip(table.methods, row.cells, strict=True)) for row in table.rows}
    assert found["CPU seconds"]["failed"] == "–"
    assert found["validity"]["failed"] == "won by .80 (.80 : .00)"
    assert found["validity"]["begun"] == "tied (1.00 : 1.00)"
    assert found["fidelity"]["begun"] == "lost by .01 (.49 : .50)"


def test_aims_are_judged_against_methods_fixed_limits_and_the_paper(tmp_path: Path) -> None:
    rows = [
        graph("edgeflip", 0, 0, size=1, fidelity=0.9, cpu_seconds=0.05),
        graph("edgeflip", 0, 1, size=2, fidelity=0.9, cpu_seconds=0.05),
        graph("random", 0, 0, size=1, fidelity=0.95, cpu_seconds=1.0),
        graph("random", 0, 1),
    ]
    results = read_results(write_run(tmp_path, rows))
    made = {table.key: table for table in all_tables(results, summarize_run(results))}
    verdicts = {row.head[1]: row.cells for row in made["aims"].rows}
    assert verdicts["validity, best of this run"] == ("1.00", "≥ .50 (Random)", "met")
    assert verdicts["fidelity, best of this run"] == (".90", "≥ .95 (Random)", "not met by .05")
    assert verdicts["edits where Random answers too, × 1.15"] == ("1.00", "≤ 1.15", "met")
    assert verdicts["edits"] == ("1.50", "≤ 1.30", "not met by .2")
    assert verdicts["CPU seconds a graph"][2] == "met"
    assert verdicts["edits, least published of DR-CFGNN"][2].startswith("not met")
    others = all_tables(results, summarize_run(results), "random")
    assert "aims" not in {table.key for table in others}
