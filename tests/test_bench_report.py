"""The report of a made-up run: what it reads, what it writes, and the same twice."""

from __future__ import annotations

import copy
import csv
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from edgeflip.bench import redraw
from edgeflip.bench.report import read_results, summarize_run, write_report
from edgeflip.bench.report.board import board_of, read_board
from edgeflip.bench.report.contents import all_tables
from edgeflip.bench.report.figures import all_pictures
from edgeflip.bench.report.results import without_paths
from edgeflip.draw import Disc, Words
from edgeflip.errors import ArtifactError, UnknownNameError
from made_up_run import META, ODD, VARIANT, graph, made_up, write_run

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
    with pytest.raises(ArtifactError, match=r"meta\.json as .* got one that was changed or cut"):
        read_results(folder)


def test_a_folder_without_a_run_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(
        ArtifactError, match=r"found no meta\.json in .*; give the folder"
    ) as caught:
        read_results(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_name_does_not_turn_the_words_around_it(tmp_path: Path) -> None:
    label = "\u202eevil"
    rows = [{**row, "method": label} if row.get("method") == VARIANT else row for row in made_up()]
    meta = copy.deepcopy(META)
    meta["spec"]["methods"][1]["label"] = meta["spec"]["title"] = label
    report = write_report(write_run(tmp_path / "run", rows, meta=meta))
    written = [
        path for path in report.rglob("*") if path.suffix in {".html", ".md", ".tex", ".svg"}
    ]
    assert {path.suffix for path in written} == {".html", ".md", ".tex", ".svg"}
    assert "\ufffdevil" in (report / "report.html").read_text(encoding="utf-8")
    for path in written:
        assert "\u202e" not in path.read_text(encoding="utf-8"), path.name


def test_a_dataset_that_came_later_is_not_skipped(tmp_path: Path) -> None:
    skipped = {"kind": "skipped", "dataset": "ba_2motifs", "reason": "no file"}
    results = read_results(write_run(tmp_path, [skipped, *made_up()]))
    assert results.datasets == ("ba_2motifs", "mine")
    tables = {table.key: table for table in all_tables(results, summarize_run(results))}
    assert [row.head for row in tables["skipped"].rows] == [("bbbp",)]


def test_absolute_paths_are_cut() -> None:
    assert without_paths("a/b and 1 / 2 stay") == "a/b and 1 / 2 stay"
    assert without_paths("'C:\\Users\\me\\x.pt' and ~/runs/a") == "'…/x.pt' and …/a"


# The report.

SCRIPT = "<img src=x onerror=alert(1)>&\"' </script>"


class _Links(HTMLParser):
    """Links, ids, tags and headings of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.ids: list[str] = []
        self.tags: set[str] = set()
        self.levels: list[int] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        if re.fullmatch("h[1-6]", tag):
            self.levels.append(int(tag[1]))
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
    # Headings begin with one and skip no level; there is one landmark.
    assert parser.levels[0] == 1
    assert parser.levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(parser.levels))
    assert page.count("<main") == 1
    assert '<html lang="en">' in page
    assert "<title>Made up &lt;here&gt;</title>" in page
    assert "is incomplete: left out" in page
    assert "10.0% of the time outside oracle, training and explainer" in page
    for name, content in first.items():
        text = content.decode()
        assert str(tmp_path) not in text
        assert "/somewhere/else" not in text, name
        assert "<c>" not in text or not name.endswith((".html", ".svg", ".md"))


def test_a_run_with_nothing_but_errors_has_a_report(tmp_path: Path) -> None:
    rows = [
        graph(ODD, 0, number, dataset="mine", status="error", error="it broke", label=None)
        for number in range(3)
    ]
    place = write_report(write_run(tmp_path / "run", rows))
    text = (place / "report.md").read_text(encoding="utf-8")
    assert "**.00** / –<br>– / –<br>– |" in text
    assert "| error | 3 | it broke | 0, 1, 2 |" in text
    assert not (place / "figures" / "van.svg").exists()


def test_an_empty_run_has_a_report_and_old_pictures_go(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", made_up())
    assert (write_report(folder) / "figures" / "van.svg").exists()
    write_run(folder, [], meta={})
    place = write_report(folder)
    assert "None." in (place / "report.md").read_text(encoding="utf-8")
    assert not (place / "figures" / "van.svg").exists()


def test_a_report_needs_no_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    place = write_report(write_run(tmp_path / "run", made_up()))
    assert (place / "figures" / "size.svg").read_text(encoding="utf-8").startswith("<svg")


def test_matplotlib_is_not_imported_before_something_is_drawn() -> None:
    code = "import sys, edgeflip, edgeflip.bench.report; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_a_report_without_our_method_has_no_head_to_head(tmp_path: Path) -> None:
    folder = write_run(
        tmp_path / "run", [graph("edgeflip", 0, 1, size=1), graph("b", 0, 1, size=1)]
    )
    assert "Head to head" in (write_report(folder) / "report.md").read_text()
    others = [graph("a", 0, 1, size=1), graph("b", 0, 1, size=1)]
    place = write_report(write_run(tmp_path / "others", others), folder / "report")
    assert "Head to head" not in (place / "report.md").read_text()
    # What an earlier report left there goes.
    assert not (place / "tables" / "versus.tex").exists()
    assert "Head to head" in (write_report(folder, ours="b") / "report.md").read_text()


def test_a_column_that_does_not_exist_is_named(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "run", [graph("edgeflip", 0, 1, size=1)])
    with pytest.raises(UnknownNameError, match="edgeflip"):
        write_report(folder, ours="edgeflp")


# The pictures.


def test_a_script_in_a_label_stays_text_everywhere(tmp_path: Path) -> None:
    rows = [
        {
            "kind": "oracle",
            "dataset": "mine",
            "seed": 0,
            "accuracy": 0.8,
            "title": SCRIPT,
            "has_motif": False,
            "seconds": 1.0,
            "cpu_seconds": 1.0,
            "graphs": 2,
            "test_graphs": 2,
            "origin": "file",
            "class_names": [SCRIPT, "b"],
        },
        *(graph(SCRIPT, 0, number, dataset="mine", size=2) for number in range(2)),
        *(graph("edgeflip", 0, number, dataset="mine", size=1) for number in range(2)),
    ]
    place = write_report(write_run(tmp_path / "run", rows))
    for name, content in contents(place).items():
        text = content.decode()
        if name.endswith(".csv"):
            found = {row["method"] for row in csv.DictReader(text.splitlines())}
            assert SCRIPT in found
            continue
        assert "<img src" not in text, name
        assert "</script>" not in text, name
    svg = (place / "figures" / "size.svg").read_text(encoding="utf-8")
    assert "&lt;img src=x onerror" in svg


def test_our_method_is_blue_in_every_picture_and_the_headline_says_how_it_did(
    tmp_path: Path,
) -> None:
    rows = [graph("edgeflip", 0, number, size=1) for number in range(4)]
    rows += [graph("b", 0, number, size=3 if number else None) for number in range(4)]
    results = read_results(write_run(tmp_path / "run", rows))
    board = board_of(results, summarize_run(results))
    pictures = {picture.name: picture.scene for picture in all_pictures(board)}
    for name in ("size", "cost"):
        blue = [
            item.title
            for item in pictures[name].items
            if isinstance(item, Disc) and item.style == "ours"
        ]
        assert [title.split(":")[0] for title in blue] == ["edgeflip"]
    assert pictures["size"].label == (
        "Of the methods measured, edgeflip changes the most predictions on ba_2motifs, with a single edit"
    )
    other = {picture.name: picture.scene for picture in all_pictures(board, "c")}
    assert other["size"].label.startswith("How many predictions each method changes")


def test_a_method_that_answers_nothing_counts_and_is_named_below(tmp_path: Path) -> None:
    rows = [graph("edgeflip", 0, 0, size=1), graph("b", 0, 0)]
    results = read_results(write_run(tmp_path / "run", rows))
    board = board_of(results, summarize_run(results))
    (size,) = [picture for picture in all_pictures(board) if picture.name == "size"]
    assert "edgeflip changes the most predictions" in size.scene.label
    assert any(
        isinstance(item, Words) and "without a dot: b on ba_2motifs" in item.text
        for item in size.scene.items
    )


def test_pictures_are_drawn_anew_from_the_csv_file(tmp_path: Path) -> None:
    place = write_report(write_run(tmp_path / "run", made_up()))
    before = {name: text for name, text in contents(place).items() if name.startswith("figures/")}
    for path in (place / "figures").glob("*.svg"):
        path.unlink()
    drawn = redraw(place)
    assert {f"figures/{path.name}" for path in drawn} == set(before)
    for path in drawn:
        found, wanted = path.read_text(encoding="utf-8"), before[f"figures/{path.name}"].decode()
        # The file has no titles of datasets and six digits; all else is the same.
        named = set(re.findall(r">([^<>]+)</t", wanted)) - {"Mine"}
        assert named <= set(re.findall(r">([^<>]+)</t", found)), path.name


def test_a_csv_file_of_something_else_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ArtifactError, match=r"expected the results\.csv of a report"):
        redraw(tmp_path)
    (tmp_path / "results.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ArtifactError, match="begin with the columns"):
        redraw(tmp_path)
    head = "table,dataset,method,metric,ours,ours_sd,paper\n"
    (tmp_path / "results.csv").write_text(f"{head}quality,a,b,size,much,,\n", encoding="utf-8")
    with pytest.raises(ArtifactError, match="seven columns with numbers"):
        redraw(tmp_path)


def test_committed_pictures_are_those_of_their_csv_files() -> None:
    results = Path(__file__).parents[1] / "docs" / "results"
    for table in sorted(results.glob("*/results.csv")):
        for picture in all_pictures(read_board(table)):
            kept = table.parent / "figures" / f"{picture.name}.svg"
            assert kept.read_text(encoding="utf-8").rstrip("\n") == picture.svg, kept.name


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"output_after": [0.2, 0.3, 0.5]}, "2 classes"),
        ({"output": [0.2]}, "2 classes"),
        ({"graph": 10**6}, "test graphs"),
        ({"added": [[0, 10**6]]}, "node"),
        ({"added": [[3, 3]]}, "(3, 3)"),
        ({"status": "odd"}, "status"),
        ({"explainer": None}, "explainer"),
    ],
)
def test_a_row_that_cannot_be_drawn_is_a_note_and_no_end(
    tmp_path: Path, change: dict[str, object], words: str
) -> None:
    sound = graph("edgeflip", 0, 0, size=1, output=[0.9, 0.1], output_after=[0.2, 0.8])
    place = write_report(write_run(tmp_path / "sound", [sound]))
    assert "is not shown" not in (place / "report.md").read_text("utf-8")
    place = write_report(write_run(tmp_path / "run", [sound | change]))
    page = (place / "report.md").read_text("utf-8")
    assert "is not shown" in page
    assert words in page


@pytest.mark.parametrize("key", ["stopped_by", "added", "removed", "found", "status", "score"])
def test_a_row_without_a_part_is_drawn_or_noted(tmp_path: Path, key: str) -> None:
    row = graph("edgeflip", 0, 0, size=1, output=[0.9, 0.1], output_after=[0.2, 0.8])
    del row[key]
    assert (write_report(write_run(tmp_path / "run", [row])) / "report.html").exists()


def test_own_data_of_a_run_that_is_no_table_is_one_sentence(tmp_path: Path) -> None:
    spec = META["spec"] | {"data": "0"}  # type: ignore[operator]
    with pytest.raises(ArtifactError, match="data"):
        write_report(write_run(tmp_path / "run", made_up(), meta=META | {"spec": spec}))
