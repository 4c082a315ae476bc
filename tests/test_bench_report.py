"""The report of a made-up run whose means are worked out by hand."""

from __future__ import annotations

import csv
import importlib.util
import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from edgeflip.bench.report import Results, read_results, summarize_run, write_report
from edgeflip.bench.report import drawing as report_drawing
from edgeflip.bench.report.contents import all_tables
from edgeflip.bench.report.render import (
    csv_table,
    escape_latex,
    escape_markdown,
    html_table,
    latex_table,
    markdown_table,
)
from edgeflip.bench.report.results import without_paths
from edgeflip.bench.report.summary import failures, time_shares
from edgeflip.bench.report.tables import ReportTable, write_number
from edgeflip.bench.report.versus import versus_table
from edgeflip.errors import ArtifactError, ConfigError

VARIANT = "dr-cfgnn -DeN +OH"
DENOISED = "dr-cfgnn +DeN +OH"
ODD = "a_b & <c>"

draws = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None,
    reason="matplotlib is missing: pip install 'edgeflip[bench]'",
)

Row = dict[str, Any]


def graph(method: str, seed: int, number: int, **more: Any) -> Row:
    """One line of a graph: not found, unless a size is given."""
    found = more.get("size") is not None
    row: Row = {
        "kind": "graph",
        "dataset": "ba_2motifs",
        "method": method,
        "explainer": method.split()[0],
        "seed": seed,
        "graph": number,
        "label": 0,
        "truth": 0,
        "status": "found" if found else "exhausted",
        "stopped_by": "space",
        "message": "" if found else "Searched all 12 edit sets.",
        "error": None,
        "found": found,
        "to": 1 if found else None,
        "size": None,
        "first_size": None,
        "fidelity": 0.5 if found else None,
        "score": 0.5 if found else None,
        "minimality": 1.0 if found else None,
        "minimality_of_smallest": 0.5 if found else None,
        "motif_proximity": 1.0 if found else None,
        "flips": int(found),
        "proposals": 12,
        "oracle_calls": 10,
        "added": [],
        "removed": [],
        "added_likelihood": None,
        "removed_likelihood": None,
        "wall_seconds": 1.0,
        "cpu_seconds": 2.0,
        "stages": {},
        "notes": {},
        "noise": None,
        "targets": None,
    }
    return row | more


def noise(same: bool, jaccard: float, changes: int, kept: int, each: Sequence[float]) -> Row:
    return {
        "label_kept": True,
        "found": True,
        "same_change": same,
        "jaccard": jaccard,
        "changes": changes,
        "changes_kept": kept,
        "change_jaccards": list(each),
    }


def to(size: float | None) -> Row:
    """The answer to the question for one class."""
    found = size is not None
    worth = 0.5 if found else None
    return {
        "found": found,
        "size": size,
        "fidelity": worth,
        "minimality": worth,
        "motif_proximity": worth,
    }


def random_rows() -> list[Row]:
    return [
        graph("random", 0, 0, size=1, fidelity=0.5, noise=noise(True, 1.0, 2, 2, [1.0, 0.5])),
        graph("random", 0, 1, size=2, fidelity=0.7, noise=noise(True, 0.5, 2, 1, [0.3])),
        graph("random", 0, 2, size=3, fidelity=0.9, noise=noise(False, 0.0, 1, 0, [])),
        graph("random", 0, 3, status="timeout", stopped_by="timeout"),
        graph("random", 1, 0, size=1, fidelity=0.8, noise=noise(True, 0.25, 1, 1, [0.25])),
        graph("random", 1, 1, size=1, fidelity=0.8, noise=noise(True, 0.75, 1, 1, [0.75])),
        graph("random", 1, 2),
        graph("random", 1, 3, status="error", error="the file /data/me/x.pt is\nno <model>"),
    ]


def variant_rows() -> list[Row]:
    stages = {"deconstruct": {"seconds": 0.25, "oracle_calls": 4}}
    asked = [
        (0, 1.0, {"1": to(1), "2": to(None)}),
        (0, 2.0, {"1": to(3), "2": to(None)}),
        (1, 1.0, {"0": to(2), "2": to(4)}),
        (1, None, None),
    ]
    return [
        graph(VARIANT, 0, number, label=label, size=size, targets=targets, stages=stages)
        for number, (label, size, targets) in enumerate(asked)
    ]


def denoised_rows() -> list[Row]:
    stages = {
        "denoise": {"seconds": 0.5, "oracle_calls": 1},
        "deconstruct": {"seconds": 0.125, "oracle_calls": 2},
    }
    return [
        graph(DENOISED, 0, number, size=1, stages=stages, notes={"denoised_edges": edges})
        for number, edges in enumerate((2, 5))
    ]


def plausibility(method: str, mmd: float) -> Row:
    names = ("degree_mmd", "clustering_mmd", "spectrum_mmd")
    return {
        "kind": "plausibility",
        "dataset": "ba_2motifs",
        "method": method,
        "seed": 0,
        "graphs": 4,
        **dict.fromkeys(names, mmd),
        **{f"baseline_{name}": 0.125 for name in names},
    }


def other_rows() -> list[Row]:
    oracle: Row = {"kind": "oracle", "seconds": 9.0, "cpu_seconds": 9.0, "graphs": 4}
    oracle |= {"test_graphs": 100, "origin": "file", "class_names": ["cycle", "house", "clique"]}
    names = ("BA-2Motifs", True)
    return [
        oracle
        | dict(zip(("title", "has_motif"), names, strict=True))
        | {"dataset": "ba_2motifs", "seed": seed, "accuracy": accuracy}
        for seed, accuracy in ((0, 0.9), (1, 1.0))
    ] + [
        oracle
        | {"dataset": "mine", "seed": 0, "accuracy": 0.8, "title": "Mine", "has_motif": False},
        {"kind": "fit", "dataset": "ba_2motifs", "method": "random", "seed": 0, "seconds": 0.0}
        | {"learns": False, "explainer": "random", "cpu_seconds": 0.0, "notes": {}},
        {"kind": "fit", "dataset": "ba_2motifs", "method": VARIANT, "seed": 0, "seconds": 12.0}
        | {"learns": True, "explainer": "dr-cfgnn", "cpu_seconds": 20.0, "notes": {}},
        graph(ODD, 0, 0, dataset="mine", size=1),
        graph(ODD, 0, 1, dataset="mine", size=1, motif_proximity=None),
        plausibility("random", 0.5),
        plausibility(VARIANT, 0.25),
        {"kind": "skipped", "dataset": "bbbp", "reason": "no file at /data/sets/bbbp.csv"},
    ]


META = {
    "spec": {
        "title": "Made up <here>",
        "profile": "cpu",
        "datasets": ["ba_2motifs", "mine", "bbbp"],
        "seeds": [0, 1],
        "methods": [{"name": "random", "label": name} for name in ("random", VARIANT, DENOISED)],
    },
    "spec_name": "made-up",
    "spec_checksum": "0123456789abcdef",
    "versions": {"edgeflip": "0.1.0", "torch": "2.0"},
    "command": "edgeflip bench run made-up --out /somewhere/else/runs",
    "started": "2026-11-16T00:10:00Z",
    "machine": "Linux x86_64, 2 cores",
    "sessions": [
        {"seconds": 60.0, "training": 30.0, "explaining": 20.0, "oracle": 4.0, "other": 6.0},
        {"seconds": 40.0, "training": 10.0, "explaining": 20.0, "oracle": 6.0, "other": 4.0},
    ],
}


def write_run(folder: Path, rows: Sequence[Row], tail: str = "", meta: Any = META) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    lines = "".join(f"{json.dumps(row)}\n" for row in rows)
    (folder / "results.jsonl").write_text(lines + tail, encoding="utf-8")
    return folder


def made_up() -> list[Row]:
    return [*random_rows(), *variant_rows(), *denoised_rows(), *other_rows()]


@pytest.fixture
def results(tmp_path: Path) -> Results:
    return read_results(write_run(tmp_path / "run", made_up()))


@pytest.fixture
def tables(results: Results) -> Mapping[str, ReportTable]:
    return {table.key: table for table in all_tables(results, summarize_run(results))}


def cells(table: ReportTable, *head: str) -> dict[str, str]:
    """The row with this head as Markdown, by column."""
    names, _, *rows = [line[2:-2].split(" | ") for line in markdown_table(table).splitlines()]
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
    assert row["Random"] == ".62 ± .18 (1.00) / **.75** ± .07 (.82)<br>1.50 ± .71 (1.00) / –"
    assert row["DR-CFGNN -DeN +OH"] == ".75 (.92) / .50 (.95)<br>1.33 (1.34) / –"
    assert row["DR-CFGNN +DeN +OH"] == "**1.00** (.93) / .50 (.96)<br>**1.00** (1.33) / –"
    assert row["GIST"] == "– (.57) / – (.55)<br>– (29.64) / –"
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
    assert row[escape_markdown(ODD)] == "**1.00** / **.50**<br>**1.00** / –"
    assert [line.head[0] for line in tables["motif"].rows] == ["BA-2Motifs"]


def test_noise_and_time_are_published_once_for_all_variants(
    tables: Mapping[str, ReportTable],
) -> None:
    row = cells(tables["noise"], "BA-2Motifs", "ECaN")
    assert row["Random"] == "**.625** ± .177"
    assert row["DR-CFGNN -DeN -OH"] == row["DR-CFGNN +DeN +OH"] == "– (.920)"
    van = cells(tables["noise"], "BA-2Motifs", r"VaN \[95 % interval\]")
    assert van["Random"] == r"**.80** \[.38, .96\]"
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


def test_absolute_paths_are_cut() -> None:
    assert without_paths("a/b and 1 / 2 stay") == "a/b and 1 / 2 stay"
    assert without_paths("'C:\\Users\\me\\x.pt' and ~/runs/a") == "'…/x.pt' and …/a"


# Reading.


def test_a_torn_last_line_is_left_out_with_a_note(tmp_path: Path) -> None:
    whole = read_results(write_run(tmp_path / "a", made_up()))
    torn = read_results(write_run(tmp_path / "b", made_up(), tail='{"kind": "gra'))
    assert torn.graphs == whole.graphs
    assert "last line" in torn.notes[0]
    assert not whole.notes


def test_other_damage_is_one_sentence(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", made_up())
    text = (folder / "results.jsonl").read_text(encoding="utf-8")
    (folder / "results.jsonl").write_text("no JSON\n" + text, encoding="utf-8")
    with pytest.raises(
        ArtifactError, match=r"results\.jsonl, got something else in line 1; remove"
    ):
        read_results(folder)
    (folder / "meta.json").write_text("[]", encoding="utf-8")
    with pytest.raises(ArtifactError, match=r"table of JSON in .*meta\.json"):
        read_results(folder)


def test_a_folder_without_a_run_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        ArtifactError, match=r"found no meta\.json in .*; give the folder"
    ) as caught:
        read_results(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_dataset_that_came_later_is_not_skipped(tmp_path: Path) -> None:
    skipped = {"kind": "skipped", "dataset": "ba_2motifs", "reason": "no file"}
    results = read_results(write_run(tmp_path, [skipped, *made_up()]))
    assert results.datasets == ("ba_2motifs", "mine")
    tables = {table.key: table for table in all_tables(results, summarize_run(results))}
    assert [row.head for row in tables["skipped"].rows] == [("bbbp",)]


# The report.


class _Links(HTMLParser):
    """Links, ids and tags of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        for name, value in attrs:
            if name.split(":")[-1] in ("src", "href", "srcset", "data", "action"):
                self.links.append(value or "")
            if name == "id":
                self.ids.append(value or "")


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(file.relative_to(folder)): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


@draws
def test_the_report_is_whole_closed_and_the_same_twice(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", made_up(), tail="{")
    place = write_report(folder)
    first = contents(place)
    assert place == folder / "report"
    assert contents(write_report(folder, tmp_path / "again")) == first
    assert {name for name in first if name.endswith(".svg")} == {
        f"figures/{name}.svg" for name in ("van", "size", "cost", "sampling", "score")
    }
    assert {"report.md", "report.html", "results.csv", "tables/quality.tex"} <= set(first)
    page = first["report.html"].decode()
    parser = _Links()
    parser.feed(page)
    assert all(link.startswith("#") for link in parser.links)
    assert {link[1:] for link in parser.links} <= set(parser.ids)
    assert len(parser.ids) == len(set(parser.ids))
    assert not parser.tags & {"script", "link", "iframe", "img"}
    assert not re.search(r"@import|url\((?!#)", page)
    assert "<title>Made up &lt;here&gt;</title>" in page
    assert "is incomplete: left out" in page
    assert "10.0% of the time outside oracle, training and explainer" in page
    for name, content in first.items():
        text = content.decode()
        assert str(tmp_path) not in text
        assert "/somewhere/else" not in text, name
        assert "<c>" not in text or not name.endswith((".html", ".svg", ".md"))


@draws
def test_a_run_with_nothing_but_errors_has_a_report(tmp_path: Path) -> None:
    rows = [
        graph(ODD, 0, number, dataset="mine", status="error", error="it broke", label=None)
        for number in range(3)
    ]
    place = write_report(write_run(tmp_path / "run", rows))
    text = (place / "report.md").read_text(encoding="utf-8")
    assert "**.00** / –<br>– / – |" in text
    assert "| error | 3 | it broke | 0, 1, 2 |" in text
    assert not (place / "figures" / "van.svg").exists()


@draws
def test_an_empty_run_has_a_report_and_old_pictures_go(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", made_up())
    assert (write_report(folder) / "figures" / "van.svg").exists()
    write_run(folder, [], meta={})
    place = write_report(folder)
    assert "None." in (place / "report.md").read_text(encoding="utf-8")
    assert not (place / "figures" / "van.svg").exists()


def test_without_matplotlib_the_error_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ConfigError, match=r"pip install 'edgeflip\[bench\]'"):
        write_report(write_run(tmp_path / "run", made_up()))
    assert not (tmp_path / "run" / "report").exists()
    with pytest.raises(ConfigError, match="matplotlib"):
        report_drawing.require_matplotlib()


def test_matplotlib_is_not_imported_before_something_is_drawn() -> None:
    code = "import sys, edgeflip, edgeflip.bench.report; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


# Head to head.


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


@draws
def test_a_report_without_our_method_has_no_head_to_head(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path / "run", [graph("edgeflip", 0, 1, size=1), graph("b", 0, 1, size=1)]
    )
    assert "Head to head" in (write_report(folder) / "report.md").read_text()
    place = write_report(folder, ours="nobody")
    assert "Head to head" not in (place / "report.md").read_text()
    assert not (place / "tables" / "versus.tex").exists()


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


# At a glance.


def test_the_overview_has_a_row_per_method_and_marks_the_best_of_a_column(
    tables: Mapping[str, ReportTable],
) -> None:
    random = cells(tables["overview"], "BA-2Motifs", "Random")
    assert random["validity ↑"] == ".62 ± .18 (1.00)"
    assert random["fidelity ↑"] == "**.75** ± .07 (.82)"
    assert random["VaN ↑"] == r"**.80** \[.38, .96\]"
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


def test_rows_far_from_the_published_ones_are_listed_with_the_reason(
    tables: Mapping[str, ReportTable],
) -> None:
    # Random: .62 against 1.00, 1.50 edits against 1.00. The variants: .75 against .92, 1.00 against .93.
    assert {row.head[1]: row.cells[-1] for row in tables["far"].rows} == {
        "Random": "validity",
        "DR-CFGNN -DeN +OH": "validity",
    }
    assert "2 of 3 methods" in tables["far"].note


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
    assert row.head[1] == "a"
    assert row.cells[:3] == (".25 / 1.00 / 1.00", ".25 / 1.00 / 1.00", ".50 / 2.50 / 2.50")


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
