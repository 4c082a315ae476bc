"""Means and tables of a made-up run, which are worked out by hand."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from edgeflip.bench.report import Results, read_results, summarize_run
from edgeflip.bench.report.contents import all_tables
from edgeflip.bench.report.render import (
    csv_table,
    escape_latex,
    escape_markdown,
    html_table,
    latex_table,
    markdown_table,
)
from edgeflip.bench.report.summary import failures, time_shares
from edgeflip.bench.report.tables import ReportTable, write_number
from made_up_run import DENOISED, ODD, VARIANT, graph, made_up, write_run


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return read_results(write_run(tmp_path / "run", made_up()))


@pytest.fixture
def tables(results: Results) -> Mapping[str, ReportTable]:
    return {table.key: table for table in all_tables(results, summarize_run(results))}


# Of the two seeds all but random were run with one.
FEWER = " (1 of 2 seeds)"


def cells(table: ReportTable, *head: str) -> dict[str, str]:
    """The row with this head as Markdown, by column."""
    text = markdown_table(table).replace(FEWER, "")
    names, _, *rows = [line[2:-2].split(" | ") for line in text.splitlines()]
    (row,) = [row for row in rows if row[: len(head)] == list(head)]
    return dict(zip(names, row, strict=True))


# Means.


def test_means_are_over_graphs_then_over_seeds(results: Results) -> None:
    summary = summarize_run(results)["ba_2motifs", "random"]
    # Found 3 of 4 and 2 of 4: .75 and .5; mean .625, sd sqrt(2 * .125²).
    assert summary["validity"].value == pytest.approx(0.625)
    assert summary["validity"].sd == pytest.approx(0.1767767)
    # Sizes 1, 2, 3 and 1, 1: 2 and 1; sd sqrt(2 * .5²).
    assert summary["size"].value == pytest.approx(1.5)
    assert summary["size"].sd == pytest.approx(0.7071068)
    # Fidelities .5, .7, .9 and .8, .8: .7 and .8.
    assert summary["fidelity"].value == pytest.approx(0.75)
    assert summary["minimality_of_smallest"].value == 0.5
    assert summary["first_size"].value is None
    assert summary.graphs == 8
    assert summary.statuses == {"found": 5, "timeout": 1, "exhausted": 1, "error": 1}


def test_one_seed_has_no_deviation(results: Results) -> None:
    summary = summarize_run(results)["ba_2motifs", VARIANT]
    assert (summary["validity"].value, summary["validity"].sd) == (0.75, None)


def test_noise_counts_answered_graphs(results: Results) -> None:
    summary = summarize_run(results)["ba_2motifs", "random"]
    # Same change in 2 of 3 and 2 of 2, together 4 of 5. Wilson with z² = 3.8415: centre
    # (.8 + z²/10) / (1 + z²/5) = .66966, half width z sqrt(.032 + z²/100) / 1.76829 = .29412.
    assert summary["van"].value == pytest.approx(0.8)
    assert summary["van"].interval == pytest.approx((0.37554, 0.96378), abs=1e-4)
    # Jaccards where the change is the same: 1, .5 and .25, .75, so .75 and .5.
    assert summary["ecan"].value == pytest.approx(0.625)
    # Changes kept: 3 of 5 and 2 of 2.
    assert summary["van_by_change"].value == pytest.approx(0.8)
    # Jaccards of changes: 1, .5, .3 and .25, .75, so .6 and .5.
    assert summary["ecan_by_change"].value == pytest.approx(0.55)
    assert summarize_run(results)["ba_2motifs", VARIANT]["van"].interval is None


def test_classes_count_graphs_of_other_classes(results: Results) -> None:
    classes = summarize_run(results)["ba_2motifs", VARIANT].classes
    # Labels 0, 0, 1, 1, and the last graph had no answer at all.
    assert {number: means["validity"].value for number, means in classes.items()} == {
        0: 0.5,  # of the two graphs of class 1, the first
        1: 1.0,  # both graphs of class 0
        2: 0.25,  # of all four, the third
    }
    assert classes[1]["size"].value == 2.0
    assert classes[2]["size"].value == 4.0
    assert classes[0]["fidelity"].value == 0.5


def test_times_and_dropped_edges(results: Results) -> None:
    summaries = summarize_run(results)
    variant, random = summaries["ba_2motifs", VARIANT], summaries["ba_2motifs", "random"]
    assert variant["training_seconds"].value == 12.0
    assert random["training_seconds"].value is None
    assert (random["seconds"].value, random["cpu_seconds"].value) == (1.0, 2.0)
    assert (random["search_seconds"].value, variant["search_seconds"].value) == (1.0, 0.75)
    denoised = summaries["ba_2motifs", DENOISED]
    assert denoised["dropped_edges"].value == 3.5
    assert denoised["factual_seconds"].value == 0.125
    assert variant["dropped_edges"].value is None


def test_failures_are_grouped_and_carry_no_paths(results: Results) -> None:
    found = {(entry.method, entry.status): entry for entry in failures(results)}
    assert found["random", "timeout"].graphs == (3,)
    assert found["random", "error"].reason == "the file …/x.pt is no <model>"
    assert (VARIANT, "exhausted") in found


def test_the_overhead_is_what_is_left_of_all_sessions(results: Results) -> None:
    # 6 + 4 of 60 + 40 seconds.
    assert time_shares(results)["other"] == (10.0, 0.1)
    assert time_shares(results)["training"] == (40.0, 0.4)
    assert time_shares(Results(meta={})) == {}


# Tables.


def test_ours_stands_beside_the_paper_and_the_best_is_bold(
    tables: Mapping[str, ReportTable],
) -> None:
    row = cells(tables["quality"], "BA-2Motifs")
    assert row["Random"] == ".62 ± .18 (1.00) / **.75** ± .07 (.82)<br>1.50 ± .71 (1.00) / –<br>–"
    assert row["DR-CFGNN -DeN +OH"] == ".75 (.92) / .50 (.95)<br>1.33 (1.34) / –<br>–"
    assert row["DR-CFGNN +DeN +OH"] == "**1.00** (.93) / .50 (.96)<br>**1.00** (1.33) / –<br>–"
    assert row["GIST"] == "– (.57) / – (.55)<br>– (29.64) / –<br>–"
    assert list(row)[1:7] == ["Random", "GCFExplainer", "CF²", "D4Explainer", "RSGG-CE", "GIST"]
    assert list(row)[-1] == escape_markdown(ODD)


def test_ties_are_all_bold_as_rounded(tables: Mapping[str, ReportTable]) -> None:
    row = cells(tables["minimality"], "BA-2Motifs", "of the best")
    assert row["Random"] == "**1.00** ± .00 (1.00)"
    assert row["DR-CFGNN -DeN +OH"] == "**1.00** (1.00)"
    smallest = cells(tables["minimality"], "BA-2Motifs", "of the smallest (authors' code)")
    assert smallest["DR-CFGNN -DeN +OH"] == "**.50** (1.00)"


def test_a_dataset_without_a_preset_has_no_published_values(
    tables: Mapping[str, ReportTable],
) -> None:
    row = cells(tables["quality"], "Mine")
    assert row["Random"] == "–"
    assert row[escape_markdown(ODD)] == "**1.00** / **.50**<br>**1.00** / –<br>–"
    assert [line.head[0] for line in tables["motif"].rows] == ["BA-2Motifs"]


def test_noise_and_time_are_published_once_for_all_variants(
    tables: Mapping[str, ReportTable],
) -> None:
    row = cells(tables["noise"], "BA-2Motifs", "ECaN")
    assert row["Random"] == "**.625** ± .177"
    assert row["DR-CFGNN -DeN -OH"] == row["DR-CFGNN +DeN +OH"] == "– (.920)"
    van = cells(tables["noise"], "BA-2Motifs", r"VaN \[95 % interval\]")
    assert van["Random"] == r"**.80** ± .24 \[.38, .96\]"
    times = cells(tables["times"], "BA-2Motifs", "training / per graph")
    assert times["DR-CFGNN -DeN +OH"] == "**12.00** (74.11) / **.750** (.096)"
    assert times["Random"] == "– / 1.000 ± .000 (.197)"


def test_factual_classes_and_plausibility(tables: Mapping[str, ReportTable]) -> None:
    factual = cells(tables["factual"], "BA-2Motifs")
    assert factual["without denoising (-DeN)"] == ".250 (32.69)"
    assert factual["with denoising (+DeN)"] == "**.125** (25.51) / 3.50 (3.55) / .500"
    house = cells(tables["classes"], "BA-2Motifs", "1 (house)")
    assert house["DR-CFGNN -DeN +OH"] == (
        "**1.00** (1.00) / **.50** (.95)<br>**2.00** (1.22) / **.50** (1.00) / **.50** (.96)"
    )
    assert house["DR-CFGNN +DeN +OH"].startswith("– (1.00) / – (.95)<br>– (1.24)")
    assert cells(tables["classes"], "BA-2Motifs", "any")["DR-CFGNN -DeN +OH"].startswith(
        ".75 (.92)"
    )
    plausible = cells(tables["plausibility"], "BA-2Motifs")
    assert plausible["unedited graphs"] == ".125 / .125 / .125"
    assert plausible["DR-CFGNN -DeN +OH"] == "– / – / –<br>**.250** / **.250** / **.250**"


def test_the_facts_of_the_run(tables: Mapping[str, ReportTable]) -> None:
    oracle = cells(tables["oracles"], "BA-2Motifs")
    assert oracle["accuracy"] == ".95 ± .07 (.98)"
    assert oracle["explained"] == "8"
    assert cells(tables["endings"], "BA-2Motifs", "Random")["timeout"] == "1"
    assert cells(tables["skipped"], "bbbp")["reason"] == "no file at …/bbbp.csv"
    assert "| 10.00 | 10.0% |" in markdown_table(tables["overhead"])


def test_the_long_form_has_every_number(tables: Mapping[str, ReportTable]) -> None:
    rows = list(csv.DictReader(csv_table(list(tables.values())).splitlines()))
    assert list(rows[0]) == ["table", "dataset", "method", "metric", "ours", "ours_sd", "paper"]
    found = {(row["table"], row["dataset"], row["method"], row["metric"]): row for row in rows}
    row = found["quality", "ba_2motifs", "random", "validity"]
    assert (row["ours"], row["ours_sd"], row["paper"]) == ("0.625", "0.176777", "1")
    assert found["noise", "ba_2motifs", "random", "van_low"]["ours"] == "0.375535"
    assert found["classes", "ba_2motifs", VARIANT, "validity to 0"]["paper"] == "0.86"
    assert found["quality", "mine", ODD, "size"]["paper"] == ""
    assert found["quality", "ba_2motifs", "cf2", "size"]["ours"] == ""
    assert len(found) == len(rows)


def test_what_comes_from_data_is_escaped(tables: Mapping[str, ReportTable]) -> None:
    table = tables["quality"]
    assert r"a\_b & <c>" not in latex_table(table)
    assert r"a\_b \& \textless{}c\textgreater{}" in latex_table(table)
    assert "a_b &amp; &lt;c&gt;" in html_table(table)
    assert r"a\_b &amp; &lt;c&gt;" in markdown_table(table)
    assert r"\textbf{.75}" in latex_table(table)
    assert "<strong>.75</strong>" in html_table(table)
    assert escape_latex("50 % of $x_1^{2}$ ~ #\\") == (
        r"50 \% of \$x\_1\textasciicircum{}\{2\}\$ \textasciitilde{} \#\textbackslash{}"
    )
    assert escape_markdown("a|b *c* [d](e)") == r"a\|b \*c\* \[d\](e)"


def test_latex_has_as_many_cells_as_columns(tables: Mapping[str, ReportTable]) -> None:
    for table in tables.values():
        lines = latex_table(table).splitlines()
        start, end = lines.index(r"\toprule"), lines.index(r"\bottomrule")
        width = len(table.head) + len(table.columns)
        for line in lines[start + 1 : end]:
            if line != r"\midrule":
                assert len(re.findall(r"(?<!\\)&", line)) == width - 1


def test_numbers_are_written_short() -> None:
    assert write_number(-0.001, "share") == ".00"
    assert write_number(-0.25, "share") == "-.25"
    assert write_number(10.5, "number") == "10.50"
    assert write_number(12345.6, "count") == "12346"
    assert write_number(0.0304, "seconds") == ".030"


# At a glance.


def test_the_overview_has_a_row_per_method_and_marks_the_best_of_a_column(
    tables: Mapping[str, ReportTable],
) -> None:
    random = cells(tables["overview"], "BA-2Motifs", "Random")
    assert random["validity ↑"] == ".62 ± .18 (1.00)"
    assert random["fidelity ↑"] == "**.75** ± .07 (.82)"
    assert random["VaN ↑"] == r"**.80** ± .24 \[.38, .96\]"
    assert cells(tables["overview"], "BA-2Motifs", "DR-CFGNN +DeN +OH")["validity ↑"].startswith(
        "**"
    )


def test_by_predicted_class_only_its_graphs_count(tables: Mapping[str, ReportTable]) -> None:
    # Of the variant's graphs two are predicted 0, both answered, and two 1, one of them answered.
    first = cells(tables["labels"], "BA-2Motifs", "0 (cycle)", "DR-CFGNN -DeN +OH")
    second = cells(tables["labels"], "BA-2Motifs", "1 (house)", "DR-CFGNN -DeN +OH")
    assert (first["validity ↑"], second["validity ↑"]) == ("**1.00**", "**.50**")
    assert first["size ↓"] == "1.50"
    # The other dataset has one class only.
    assert {row.head[0] for row in tables["labels"].rows} == {"BA-2Motifs"}


def test_answers_are_counted_by_their_additions(tmp_path: Path) -> None:
    rows = [
        graph("a", 0, 0, size=1, removed=[[0, 1]]),
        graph("a", 0, 1, size=4, added=[[0, 2], [0, 3]], removed=[[0, 1], [1, 2]]),
        graph("a", 0, 2),
        graph("a", 0, 3),
        graph("b", 0, 0, size=1, removed=[[0, 1]]),
    ]
    results = read_results(write_run(tmp_path, rows))
    made = {table.key: table for table in all_tables(results, summarize_run(results))}
    (row,) = made["additions"].rows
    assert row.head[1] == f"a{FEWER}"
    assert row.cells[:3] == (".25 / 1.00 / 1.00", ".25 / 1.00 / 1.00", ".50 / 2.50 / 2.50")


def test_validity_of_possible_molecules_stands_where_there_are_some(tmp_path: Path) -> None:
    plain = [graph("a", 0, number, size=1, validity_connected=1.0) for number in range(2)]
    molecules = [
        graph("a", 0, number, size=1, validity_connected=1.0, validity_possible=float(number))
        | {"dataset": "mine"}
        for number in range(2)
    ]
    for name, rows in (("plain", plain), ("both", [*plain, *molecules])):
        results = read_results(write_run(tmp_path / name, rows))
        made = {table.key: table for table in all_tables(results, summarize_run(results))}
        overview = made["overview"]
        assert ("validity, possible ↑" in overview.columns) == (name == "both")
        assert cells(overview, r"ba\_2motifs", "a")["validity, connected ↑"] == "**1.00**"
        last = {row.dataset: row.cells[0][-1] for row in made["quality"].rows}
        assert [entry.name for entry in last["ba_2motifs"]] == ["validity_connected"]
    assert cells(overview, "mine", "a")["validity, possible ↑"] == "**.50**"
    assert [entry.name for entry in last["mine"]] == ["validity_connected", "validity_possible"]
