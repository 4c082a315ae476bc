"""The report of a made-up run: what it reads, what it writes, and the same twice."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from edgeflip.bench.report import drawing as report_drawing
from edgeflip.bench.report import read_results, summarize_run, write_report
from edgeflip.bench.report.contents import all_tables
from edgeflip.bench.report.results import without_paths
from edgeflip.errors import ArtifactError, ConfigError, UnknownNameError
from made_up_run import ODD, graph, made_up, write_run

draws = pytest.mark.skipif(
    importlib.util.find_spec("matplotlib") is None,
    reason="matplotlib is missing: pip install 'edgeflip[bench]'",
)


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


@draws
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
