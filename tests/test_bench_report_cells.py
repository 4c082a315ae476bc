"""Published values beside ours, with an interval and a verdict for each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from conftest import assert_sentence
from edgeflip.bench.report import read_results, write_report
from edgeflip.bench.report.causes import Cause, cause_tables, known_causes, read_causes
from edgeflip.bench.report.cells import (
    PublishedCell,
    cell_tables,
    published_cells,
    published_column,
)
from edgeflip.errors import ConfigError
from edgeflip.metrics import METRICS, Average
from made_up_run import DENOISED, META, ODD, VARIANT, graph, made_up, noise, to, write_run

Row = dict[str, Any]


def cells_of(folder: Path, rows: list[Row], **meta: Any) -> dict[tuple[str, str], PublishedCell]:
    meta = {**META, "spec": {"seeds": [0], **meta}}
    found = published_cells(read_results(write_run(folder, rows, meta=meta)))
    return {
        (cell.method, cell.metric.name + ("" if cell.target is None else f" {cell.target}")): cell
        for cell in found
    }


def rows_of_variant(found: int = 92, **more: Any) -> list[Row]:
    return [
        graph(VARIANT, 0, number, **({"size": 1} | more if number < found else {}))
        for number in range(100)
    ]


def test_shares_have_wilsons_interval_and_means_that_of_a_bootstrap(tmp_path: Path) -> None:
    rows = rows_of_variant()
    for number, row in enumerate(rows[:92]):
        row["size"] = 1 + number % 2
    cells = cells_of(tmp_path, rows)
    validity = cells[VARIANT, "validity"]
    assert (validity.ours.value, validity.paper, validity.verdict) == (0.92, 0.92, "within")
    # Wilson of 92 of 100.
    assert validity.interval == pytest.approx((0.8500, 0.9589), abs=1e-4)
    size = cells[VARIANT, "size"]
    # Half of them have one edit: 1.5 ± 1.96 · .5 / √92; published are 1.34.
    assert size.interval == pytest.approx((1.398, 1.602), abs=0.02)
    assert (size.ours.value, size.paper, size.verdict, size.far) == (1.5, 1.34, "worse", False)
    # Other measures stand in tables of their own, and every cell has one.
    assert "minimality_of_smallest" not in {name for _, name in cells}
    assert (VARIANT, "validity_connected") not in cells


def test_better_and_worse_go_by_what_is_better(tmp_path: Path) -> None:
    cells = cells_of(tmp_path, rows_of_variant(100, fidelity=0.5))
    assert cells[VARIANT, "validity"].verdict == "better"
    assert cells[VARIANT, "fidelity"].verdict == "worse"
    # Fewer edits are better.
    assert cells[VARIANT, "size"].verdict == "better"
    assert cells[VARIANT, "minimality"].verdict == "within"


def test_far_is_a_validity_off_by_more_than_15_and_a_size_off_by_a_factor_of_two(
    tmp_path: Path,
) -> None:
    cells = cells_of(tmp_path, rows_of_variant(70, size=3))
    assert (cells[VARIANT, "validity"].verdict, cells[VARIANT, "validity"].far) == ("worse", True)
    assert (cells[VARIANT, "size"].verdict, cells[VARIANT, "size"].far) == ("worse", True)
    assert not cells[VARIANT, "fidelity"].far


@pytest.mark.parametrize(
    ("paper", "interval", "verdict"),
    [
        (0.92, (0.925, 0.93), "within"),
        (0.92, (0.9251, 0.93), "better"),
        (0.92, (0.91, 0.915), "within"),
        (0.92, (0.90, 0.9149), "worse"),
        # A file does not keep the zero of .90.
        (0.9, (0.9049, 0.91), "within"),
        (0.9, (0.906, 0.91), "better"),
        # Three decimals were printed.
        (0.877, (0.878, 0.89), "better"),
        (0.92, None, "not judged"),
    ],
)
def test_a_published_value_stands_for_all_that_are_rounded_to_it(
    paper: float, interval: tuple[float, float] | None, verdict: str
) -> None:
    middle = Average(sum(interval) / 2 if interval else 0.5)
    cell = PublishedCell("a", "b", METRICS["fidelity"], None, middle, interval, paper)
    assert cell.verdict == verdict


def test_seconds_of_another_machine_are_not_judged_and_dropped_edges_only_differ(
    tmp_path: Path,
) -> None:
    rows = [
        graph(DENOISED, 0, number, size=1, dropped_edges=1 + number % 2, validity=1.0)
        for number in range(50)
    ]
    rows = [{**row, "search_seconds": 0.1, "factual_seconds": 0.1} for row in rows]
    fit = {"kind": "fit", "dataset": "ba_2motifs", "method": DENOISED, "seed": 0}
    fit |= {"seconds": 3.0, "learns": True}
    cells = cells_of(tmp_path, [*rows, fit])
    assert cells[DENOISED, "dropped_edges"].verdict == "differs"
    for name in ("search_seconds", "factual_seconds", "training_seconds"):
        assert cells[DENOISED, name].verdict == "not judged"
    assert cells[DENOISED, "training_seconds"].paper == 74.11


def test_classes_and_the_oracle_have_cells_too(tmp_path: Path) -> None:
    rows = [
        graph(VARIANT, 0, number, label=number % 2, size=1, targets={str(1 - number % 2): to(1)})
        for number in range(40)
    ]
    # A graph that was never asked counts as one without an answer.
    rows.append(graph(VARIANT, 0, 40, label=0, status="error", error="it broke"))
    oracle = {"kind": "oracle", "dataset": "ba_2motifs", "seed": 0, "accuracy": 0.9}
    cells = cells_of(tmp_path, [*rows, oracle | {"test_graphs": 100, "seconds": 1.0}])
    to_zero, to_one = cells[VARIANT, "validity 0"], cells[VARIANT, "validity 1"]
    assert (to_zero.ours.value, to_zero.paper, to_zero.verdict) == (1.0, 0.86, "within")
    assert (to_one.ours.value, to_one.paper) == (pytest.approx(20 / 21), 1.0)
    accuracy = cells["oracle", "oracle_accuracy"]
    assert (accuracy.ours.value, accuracy.paper, accuracy.verdict) == (0.9, 0.98, "worse")


def test_seeds_of_a_graph_make_no_new_graphs(tmp_path: Path) -> None:
    one = [graph("random", 0, n, size=1 + n % 3, validity=float(n > 1)) for n in range(20)]
    many = [{**row, "seed": seed} for row in one for seed in range(9)]
    alone, together = cells_of(tmp_path / "a", one), cells_of(tmp_path / "b", many)
    for name in ("validity", "size"):
        assert together["random", name].interval == pytest.approx(alone["random", name].interval)
        assert together["random", name].ours.sd == 0


def test_what_a_column_stands_for_is_what_it_runs() -> None:
    ours = [{"explainer": "dr-cfgnn"}]
    assert published_column(VARIANT, ours) == VARIANT
    assert published_column(f"{VARIANT} (code)", ours) == VARIANT
    assert published_column(f"{VARIANT} (wider)", ours) is None
    assert published_column(VARIANT, [{"explainer": "edgeflip"}]) is None
    assert published_column("gist (own features)", [{"explainer": "gist"}]) == "gist"
    assert published_column("edgeflip", [{"explainer": "edgeflip"}]) is None
    assert published_column("gist2", [{"explainer": "gist"}]) is None


def test_the_report_has_a_section_with_every_cell_and_their_number(tmp_path: Path) -> None:
    ecan = [noise(True, 0.92, 1, 1, [0.92])] * 92
    rows = rows_of_variant()
    for row, after in zip(rows, ecan, strict=False):
        row["noise"] = after
    meta = {**META, "spec": {"seeds": [0], "datasets": ["ba_2motifs"]}}
    folder = write_run(tmp_path / "run", rows, meta=meta)
    results = read_results(folder)
    counts, cells = cell_tables(results, published_cells(results))
    verdicts = {row.head[2]: row.cells for row in cells.rows}
    assert verdicts["validity ↑"][1:] == (".85 to .96", ".92", "within")
    assert verdicts["ECaN ↑"][1:] == (".920 to .920", ".920", "within")
    assert verdicts["fidelity ↑"][-1] == "worse"
    last = dict(zip(counts.columns, counts.rows[-1].cells, strict=True))
    # Validity, ECaN and minimality; size and motif proximity; fidelity; the seconds of a graph.
    numbers = [last[name] for name in ("within", "better", "worse", "differs", "not judged")]
    assert numbers == ["3", "2", "1", "0", "1"]
    assert int(last["not measured"]) > 50
    assert "3 of 6 judged cells" in counts.note
    assert "GIST 8" in counts.note
    page = (write_report(folder) / "report.md").read_text("utf-8")
    assert "## Cell by cell" in page
    assert (folder / "report" / "tables" / "cells.tex").exists()


def test_without_published_values_there_is_no_such_section(tmp_path: Path) -> None:
    rows = [graph(ODD, 0, number, dataset="mine", size=1) for number in range(3)]
    place = write_report(write_run(tmp_path / "mine", rows))
    assert "Cell by cell" not in (place / "report.md").read_text("utf-8")
    assert not (place / "tables" / "cells.tex").exists()


def test_cells_of_a_run_of_several_seeds_have_deviations(tmp_path: Path) -> None:
    results = read_results(write_run(tmp_path, made_up()))
    _, cells = cell_tables(results, published_cells(results))
    (random,) = [row for row in cells.rows if row.head[1:] == ("Random", "validity ↑")]
    (entry,) = random.cells[0][0]
    assert (entry.text, entry.detail) == (".62", "± .18")


def causes_of(folder: Path, *causes: Cause, spec: str = "made-up") -> tuple[Any, list[Any]]:
    """The table of causes of a run whose fidelity is worse than published, and its rows on fidelity."""
    meta = {**META, "spec_name": spec, "spec": {"seeds": [0], "datasets": ["ba_2motifs"]}}
    results = read_results(write_run(folder, rows_of_variant(), meta=meta))
    (table,) = cause_tables(results, published_cells(results), causes)
    return table, [row for row in table.rows if row.head[2] == "fidelity ↑"]


def test_every_worse_cell_has_its_cause_or_says_that_it_is_open(tmp_path: Path) -> None:
    table, (row,) = causes_of(tmp_path / "open")
    assert "open" in row.cells[4]
    assert row.cells[-1] == "–"
    assert "is open for 1" in table.note
    told: dict[str, Any] = {"spec": "made-up", "methods": (VARIANT,), "measures": ("fidelity",)}
    tried = Cause("three seeds were tried.", found=False, command="edgeflip bench run a", **told)
    table, (row,) = causes_of(tmp_path / "tried", tried)
    assert row.cells[4:] == ("not found: three seeds were tried.", "edgeflip bench run a")
    found = Cause("It is the oracle.", True, moved=".95", command="edgeflip bench run b", **told)
    table, (row,) = causes_of(tmp_path / "found", tried, found)
    assert row.cells[4:] == ("It is the oracle. Without it: .95.", "edgeflip bench run b")
    assert "a cause is found for 1" in table.note
    # Of another spec, class or dataset it says nothing.
    for other in (
        Cause("No.", False, command="x", **{**told, "spec": "ba"}),
        Cause("No.", False, command="x", targets=(0,), **told),
        Cause("No.", False, command="x", datasets=("bbbp",), **told),
    ):
        _, (row,) = causes_of(tmp_path / f"{other}"[:60].replace("/", ""), other)
        assert "open" in row.cells[4]


def test_a_cause_without_a_command_or_without_what_it_moves_is_refused() -> None:
    assert all(cause.command for cause in known_causes())
    for text in ('why = "Chance."\nfound = false', 'why = "Chance."\nfound = true\ncommand = "x"'):
        with pytest.raises(ConfigError) as caught:
            read_causes(f"[[cause]]\n{text}")
        assert_sentence(caught)
