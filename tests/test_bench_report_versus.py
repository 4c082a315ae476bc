"""Our method beside each other one, and beside its aims."""

from __future__ import annotations

from pathlib import Path

from edgeflip.bench.report import read_results, summarize_run
from edgeflip.bench.report.contents import all_tables
from edgeflip.bench.report.versus import versus_table
from made_up_run import META, Row, graph, noise, write_run


def verdicts(folder: Path, rows: list[Row], ours: str = "edgeflip") -> dict[str, dict[str, str]]:
    """The verdicts of a run of one seed, by measure and method."""
    meta = {**META, "spec": {"seeds": [0]}}
    table = versus_table(read_results(write_run(folder, rows, meta=meta)), ours)
    assert table is not None
    cells = [dict(zip(table.methods, map(str, row.cells), strict=True)) for row in table.rows]
    return {row.head[1]: found for row, found in zip(table.rows, cells, strict=True)}


def test_a_method_is_compared_on_the_graphs_that_both_answered(tmp_path: Path) -> None:
    ours, theirs = [], []
    for number in range(10):
        mine = graph("edgeflip", 0, number, size=1, fidelity=0.9, cpu_seconds=1.0)
        other = graph("other", 0, number, size=2, fidelity=0.901, cpu_seconds=1.05)
        # Theirs are not answered in four cases, which count for validity alone.
        if number > 5:
            mine |= {"size": 9}
            other = graph("other", 0, number, cpu_seconds=1.05)
        ours.append({**mine, "removed_likelihood": 0.25, "removed": [[0, 1]]})
        ours[-1] |= {"noise": noise(True, 0.5 if number % 2 else 1.0, 1, 1, [0.5])}
        other |= {"added_likelihood": 0.5, "added": [[0, 2], [0, 3]]}
        theirs.append({**other, "noise": noise(True, 0.5 if number % 3 else 1.0, 1, 1, [0.5])})
    found = {name: row["other"] for name, row in verdicts(tmp_path, [*ours, *theirs]).items()}
    assert found["validity"] == "won by .40 (1.00 : .60)"
    assert found["size"] == "won by 1.00 (1.00 : 2.00)"
    # Always worse by as much, be it ever so little.
    assert found["fidelity"] == "lost by less than .01 (.90 : .90)"
    assert found["minimality"] == "tied (1.00 : 1.00)"
    assert found["VaN"] == "tied (1.00 : 1.00)"
    # Better on two of six graphs and worse on one.
    assert found["ECaN"] == "tied (.75 : .67)"
    assert found["plausibility"] == "won by .25 (.75 : .50)"
    # Surely slower, by less than clocks can be trusted.
    assert found["CPU seconds"] == "tied (1.000 : 1.050)"
    assert found["won / tied / lost"] == "3 / 5 / 1"
    turned = verdicts(tmp_path, [*ours, *theirs], "other")
    assert turned["won / tied / lost"]["edgeflip"] == "1 / 5 / 3"
    assert versus_table(read_results(tmp_path), "nobody") is None


def test_a_difference_that_a_few_graphs_make_is_a_tie(tmp_path: Path) -> None:
    ours = [graph("edgeflip", 0, n, size=1) for n in range(20)]
    # One graph of twenty is in most draws, and in a third of them it is not.
    theirs = [graph("other", 0, n, size=1 if n else None) for n in range(20)]
    lost = [graph("lost", 0, n, size=1 if n > 5 else None) for n in range(20)]
    found = verdicts(tmp_path, [*ours, *theirs, *lost])["validity"]
    assert found["other"] == "tied (1.00 : .95)"
    assert found["lost"] == "won by .30 (1.00 : .70)"


def test_graphs_are_drawn_and_not_rows_so_seeds_make_no_new_graphs(tmp_path: Path) -> None:
    rows = []
    for seed in range(20):
        for number in (0, 1):
            rows.append(graph("edgeflip", seed, number, size=1))
            rows.append(graph("other", seed, number, size=2 if number else 1))
    assert verdicts(tmp_path, rows)["size"]["other"] == "tied (1.00 : 1.50)"


def test_methods_are_compared_on_the_seeds_that_both_have(tmp_path: Path) -> None:
    rows = [graph("edgeflip", seed, n, size=1 + seed) for seed in (0, 1) for n in range(8)]
    rows += [graph("other", 1, n, size=3) for n in range(8)]
    assert verdicts(tmp_path, rows)["size"]["other"] == "won by 1.00 (2.00 : 3.00)"


def test_errors_and_graphs_not_asked_about_decide_nothing(tmp_path: Path) -> None:
    ours = [graph("edgeflip", 0, n, size=1 if n < 4 else None, cpu_seconds=0.05) for n in range(5)]
    failed = [
        {**graph("failed", 0, n, cpu_seconds=None), "status": "error", "error": "no fit"}
        for n in range(5)
    ]
    begun = [graph("begun", 0, 0, size=1, fidelity=0.4951, cpu_seconds=0.05)]
    ours[0] |= {"fidelity": 0.4949}
    found = verdicts(tmp_path, [*ours, *failed, *begun])
    assert found["CPU seconds"]["failed"] == "–"
    assert found["validity"]["failed"] == "won by .80 (.80 : .00)"
    assert found["validity"]["begun"] == "tied (1.00 : 1.00)"
    # One graph is too few to tell.
    assert found["fidelity"]["begun"] == "tied (.49 : .50)"


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
