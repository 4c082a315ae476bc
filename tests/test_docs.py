"""The pages of the site keep what they say: examples run, links lead somewhere, pictures are there."""

import itertools
import re
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pages
import pytest

from edgeflip.cli import main

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
REPORTS = sorted(DOCS.glob("results/*/report.md"))
SITE = sorted({*DOCS.rglob("*.md")} - {*REPORTS, *DOCS.glob("_build/**/*.md")})
# Beside the pages: what links into them, or is shown as one of them.
BESIDE = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")]
# These pages list or tell; they answer no question by an example.
WITHOUT_EXAMPLE = {"changelog", "contributing", "results/aims", "results/reading"}


def named(path):
    return path.relative_to(DOCS).with_suffix("").as_posix()


@cache
def text_of(path):
    return path.read_text(encoding="utf-8")


def blocks(path, kind):
    return [piece for piece in pages.pieces(text_of(path)) if piece.kind == kind]


def an_example_is_run(path):
    return any(not piece.mark for piece in blocks(path, "python")) or blocks(path, "figure")


@pytest.mark.parametrize("path", [*filter(an_example_is_run, SITE)], ids=named)
def test_every_example_of_a_page_runs_and_prints_what_the_page_says(path, tmp_path):
    with pages.as_anywhere():
        for picture in pages.run(path, tmp_path):
            assert picture.stat().st_size < 100_000
            assert (pages.FIGURES / picture.name).exists(), "python docs/pages.py draw makes it"
            assert f"figures/{picture.name})" in text_of(path), (
                "a picture is shown where it is made"
            )


@pytest.mark.parametrize("path", SITE, ids=named)
def test_a_page_opens_with_an_example_and_a_picture(path):
    if named(path) in WITHOUT_EXAMPLE or named(path).startswith("api/"):
        pytest.skip("this page has no example")
    opening = re.split(r"^## ", text_of(path), maxsplit=2, flags=re.MULTILINE)[:2]
    shown = [
        piece for piece in pages.pieces("## ".join(opening)) if piece.kind in ("python", "console")
    ]
    assert shown, "expected a code block before the second section"
    assert re.search(r"^!\[[^]]{15,}\]\(", "".join(opening), re.MULTILINE), "expected a picture"


@pytest.mark.parametrize("path", [*SITE, *REPORTS, *BESIDE], ids=lambda path: path.stem)
def test_every_link_leads_somewhere(path):
    for target in pages.links(text_of(path)):
        if "://" in target or target.startswith("mailto:"):
            assert re.fullmatch(r"https://[\w.-]+\.\w+(/[\w./~%#?=&+:,@-]*)?", target), target
            continue
        name, _, anchor = unquote(target).partition("#")
        file = (path.parent / name).resolve() if name else path
        assert file.exists(), f"{target} leads nowhere"
        if anchor and file.suffix == ".md":
            assert anchor in pages.anchors(text_of(file)), f"{target} names no heading"


def test_a_page_links_to_pages_and_not_to_files_that_the_site_leaves_out():
    for path in SITE:
        for target in pages.links(text_of(path)):
            if "://" not in target and target.partition("#")[0]:
                file = (path.parent / target.partition("#")[0]).resolve()
                assert file.is_relative_to(DOCS), f"{named(path)} links to {target}"


def test_every_block_that_is_not_run_says_why():
    for path in SITE:
        for note in re.findall(r"<!-- not run.*?-->", text_of(path), re.DOTALL):
            assert re.fullmatch(r"<!-- not run: \w.{8,}-->", note), f"{named(path)}: {note}"
        fences = len(re.findall(r"^```python", text_of(path), re.MULTILINE))
        assert len(blocks(path, "python")) == fences, f"{named(path)}: a block is not seen"
        assert text_of(path).count("<!-- not run") == sum(
            piece.mark.startswith("not run") for piece in blocks(path, "python")
        ), f"{named(path)}: a note stands above no block"
        assert text_of(path).count("<!-- prints -->") == sum(
            piece.mark == "prints" for piece in blocks(path, "text")
        ), f"{named(path)}: a note stands above no text"


def test_every_command_and_option_of_the_pages_exists(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    told = {}
    for path in SITE:
        for piece in blocks(path, "console"):
            for line in re.sub(r"\\\n\s*", " ", piece.text).splitlines():
                words = re.split(r"\s+#\s", line)[0].removeprefix("$ ").split()
                if words[:1] != ["edgeflip"]:
                    continue
                command = tuple(
                    itertools.takewhile(lambda word: re.fullmatch(r"[a-z]+", word), words[1:3])
                )
                command = command if command[:1] in {("bench",), ("data",)} else command[:1]
                if command not in told:
                    with pytest.raises(SystemExit) as end:
                        main([*command, "--help"])
                    assert end.value.code == 0, f"{named(path)}: {line}"
                    told[command] = capsys.readouterr().out
                for option in re.findall(r"(?<=\s)--[a-z-]+", line.split(" #")[0]):
                    assert option in told[command], f"{named(path)}: {line}"
    assert {("explain",), ("train",), ("bench", "run")} <= set(told)


def test_every_picture_in_the_folder_is_shown_somewhere():
    shown = "".join(text_of(path) for path in [*SITE, *BESIDE])
    for picture in pages.FIGURES.iterdir():
        assert f"figures/{picture.name})" in shown, picture.name


def test_what_a_page_says_is_compared_with_what_its_example_prints(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "```python\nprint('one  two', 3)\n```\n\n<!-- prints -->\n```text\none two …\n```\n"
    )
    assert pages.run(page, tmp_path) == []
    page.write_text(page.read_text().replace("one two …", "one three"))
    with pytest.raises(AssertionError, match="one three"):
        pages.run(page, tmp_path)


def test_notes_are_left_out_of_the_site_and_lines_stay_where_they_are():
    page = "# A\n<!-- setup\nx = 1\n-->\n\n<!-- not run: needs a GPU -->\n```python\ny\n```\n"
    shown = pages.without_notes(page)
    assert "x = 1" not in shown
    assert "needs" not in shown
    assert shown.splitlines().index("```python") == page.splitlines().index("```python")
