"""One path to a number: a row of the table is all that a new metric takes."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import pytest

from edgeflip.bench import run_bench, write_report
from edgeflip.bench.report.older import modern
from edgeflip.bench.spec import BenchSpec, MethodSpec
from edgeflip.cli import main
from edgeflip.metrics import METRICS, AnswerCase, GraphSet, Metric, Place, average

SPEC = BenchSpec(
    title="tiny",
    profile="smoke",
    datasets=("ba_2motifs",),
    graphs=3,
    methods=(MethodSpec("random"), MethodSpec("edgeflip")),
    plausibility=True,
)


def removals(case: AnswerCase) -> int:
    """How many of the edits are removals."""
    return len(case.best.edits.removed)


def edges_each(graphs: GraphSet) -> float:
    """How many edges the edited graphs have."""
    return sum(graph.num_edges for graph in graphs.graphs) / len(graphs.graphs)


def broken(case: AnswerCase) -> float:
    """A metric with a bug."""
    raise ZeroDivisionError("boom")


@pytest.fixture
def toys(monkeypatch: pytest.MonkeyPatch) -> None:
    for toy in (
        Metric("removals", "toy removals", removals, "down", style="number", also=("versus",)),
        Metric("toy_share", "toy share", lambda case: case.best.size < 2, "up", averaging="share"),
        Metric("toy_edges", "toy edges", edges_each, None, level="graphs", style="number"),
        Metric("placed", "toy placed", removals, "up", place=Place("quality", line=3)),
    ):
        monkeypatch.setitem(METRICS, toy.name, toy)


def test_a_new_row_of_the_table_is_measured_reported_and_listed(
    toys: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run_bench(SPEC, tmp_path)
    lines = (tmp_path / "results.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    graphs = [row for row in rows if row["kind"] == "graph"]
    assert [row["removals"] for row in graphs] == [len(row["removed"]) for row in graphs]

    place = write_report(tmp_path)
    report = (place / "report.md").read_text("utf-8")
    assert "### Other measures: toy removals ↓; toy share ↑; toy edges" in report
    assert "| BA-2Motifs | toy removals | " in report
    assert ", and below toy placed ↑" in report
    # Head to head.
    assert re.search(r"\| BA-2Motifs \| toy removals \| (won by|tied|lost by) ", report)

    with (place / "results.csv").open(encoding="utf-8") as file:
        numbers = {
            (row["table"], row["metric"]): row["ours"]
            for row in csv.DictReader(file)
            if row["method"] == "random"
        }
    own = [row["removals"] for row in graphs if row["method"] == "random"]
    mean = sum(own) / len(own)
    assert float(numbers["other", "removals"]) == pytest.approx(mean, abs=1e-5)
    assert numbers["quality", "placed"] == numbers["other", "removals"]
    assert {("other", "toy_share_low"), ("other", "toy_edges")} <= set(numbers)

    with pytest.raises(SystemExit):
        main(["metrics", "--json"])
    listed = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert list(listed) == list(METRICS)
    assert listed["removals"]["direction"] == "down"
    with pytest.raises(SystemExit):
        main(["metrics"])
    assert "toy removals" in capsys.readouterr().out


def test_a_metric_that_fails_is_part_of_the_rows_and_takes_no_other_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(METRICS, "broken", Metric("broken", "broken", broken, "up"))
    run_bench(SPEC, tmp_path, methods=["random"])
    lines = (tmp_path / "results.jsonl").read_text("utf-8").splitlines()
    graphs = [row for row in map(json.loads, lines) if row["kind"] == "graph"]
    assert all(row["error"] == "while rating, ZeroDivisionError: boom" for row in graphs)
    assert all(row["broken"] is None and row["minimality"] is not None for row in graphs)


def test_values_are_averaged_over_graphs_then_seeds_and_shares_over_all() -> None:
    # Two means, 1 and 4; as a share, 3 of 4 ones.
    assert average([[0.0, 2.0, None], [4.0]]).value == 2.5
    share = average([[1.0, 0.0], [1.0, 1.0]], "share")
    assert share.value == 0.75
    assert share.interval is not None
    assert share.interval[0] < 0.75 < share.interval[1]
    assert average([[(1.0, 0.0), (1.0,)]]).value == pytest.approx(2 / 3)
    assert average([[], [None]], "share").value is None


def test_a_row_of_today_is_read_as_it_is() -> None:
    row = {"kind": "graph", "validity": 1.0}
    assert modern(row) is row
