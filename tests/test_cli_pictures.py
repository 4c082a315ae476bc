"""Pictures and pages on the command line."""

import json
import re
from urllib.parse import unquote

import pytest

from edgeflip.cli import main
from edgeflip.testing import example_graphs


@pytest.fixture(scope="module")
def oracle_files(tmp_path_factory):
    """A model of one's own and two graphs, as files."""
    folder = tmp_path_factory.mktemp("own")
    (folder / "mine.py").write_text(
        "from edgeflip.testing import example_oracle\n\n\ndef build():\n    return example_oracle().model\n"
    )
    for place, graph in enumerate(example_graphs(2, seed=4)):
        columns = graph.edge_index.t().tolist()
        payload = {"num_nodes": graph.num_nodes, "edges": columns, "x": graph.x.tolist()}
        (folder / f"g{place}.json").write_text(json.dumps(payload))
    return folder


def run(folder, *words, graphs=1):
    """Explain graphs with one's own model; the exit code."""
    chosen = [
        word for place in range(graphs) for word in ("--graph", str(folder / f"g{place}.json"))
    ]
    line = ["explain", "--model", f"{folder / 'mine.py'}:build", *chosen, *map(str, words)]
    return code(line)


def code(line):
    with pytest.raises(SystemExit) as end:
        main(line)
    return end.value.code or 0


@pytest.mark.parametrize(
    ("ending", "start"),
    [("svg", b"<svg"), ("html", b"<!doctype html>"), ("json", b"{"), ("png", b"\x89PNG")],
)
def test_the_ending_of_out_says_what_is_written(oracle_files, tmp_path, capsys, ending, start):
    if ending == "png":
        pytest.importorskip("matplotlib")
    path = tmp_path / f"why.{ending}"
    assert run(oracle_files, "--out", path) == 0
    assert path.read_bytes().startswith(start)
    assert str(path) in capsys.readouterr().out


def test_several_answers_become_a_gallery(oracle_files, tmp_path, capsys):
    path = tmp_path / "why.html"
    assert run(oracle_files, "--html", path, graphs=2) == 0
    page = path.read_text(encoding="utf-8")
    assert page.count('class="card"') == 2
    out = capsys.readouterr().out
    assert f"Gallery in {path}, with a page for each answer in {tmp_path / 'why'}/" in out


@pytest.mark.parametrize("option", ["--html", "--out"])
def test_a_gallery_leads_to_a_page_for_each_answer_and_back(oracle_files, tmp_path, option):
    path = tmp_path / "why not?.html"
    assert run(oracle_files, option, path, graphs=2) == 0
    links = re.findall(r'<h2><a href="([^"]*)">', path.read_text(encoding="utf-8"))
    assert len(links) == 2
    for link in links:
        page = tmp_path / unquote(link)
        text = page.read_text(encoding="utf-8")
        (home,) = re.findall(r'<a class="tools" href="([^"]*)">All answers', text)
        assert (page.parent / unquote(home)).resolve() == path.resolve()
        # The model was at hand, so the edits can be switched.
        assert " disabled" not in text.partition("<script")[0]
        assert len(text.encode()) < 300_000


def test_a_file_in_place_of_the_folder_of_pages_is_refused_before_any_work(
    oracle_files, tmp_path, capsys
):
    (tmp_path / "why").write_text("mine")
    assert run(oracle_files, "--html", tmp_path / "why.html", graphs=2) == 2
    assert "expected a folder at" in capsys.readouterr().err
    assert (tmp_path / "why").read_text() == "mine"
    assert run(oracle_files, "--html", tmp_path / "why.html", graphs=1) == 0


def test_a_folder_of_answers_becomes_a_gallery_whose_pages_answer(oracle_files, tmp_path, capsys):
    folder = tmp_path / "answers"
    assert run(oracle_files, "--out", folder, graphs=2) == 0
    assert code(["gallery", str(folder)]) == 0
    pages = sorted((folder / "gallery").iterdir())
    assert len(pages) == 2
    # The table travelled in the JSON, so the edits can be switched without the model.
    assert " disabled" not in pages[0].read_text(encoding="utf-8").partition("<script")[0]
    out = capsys.readouterr().out
    assert f"Gallery of 2 answers in {folder / 'gallery.html'}, with a page for each in" in out


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--html", "why.svg"], "expected --html to name a file that ends in .html"),
        (["--out", "why.json"], "expected a folder for the JSON of several answers"),
        (["--html", "..html"], "got dots alone before the ending, ..html"),
        (["--html", "bad\udcff.html"], "expected a name in UTF-8"),
        (["--out", "bad\udcff.svg"], "expected a name in UTF-8"),
        (["--out", "bad\udcff"], "expected a name in UTF-8"),
    ],
)
def test_a_wrong_file_is_refused_before_any_work(
    oracle_files, tmp_path, capsys, monkeypatch, words, told
):
    monkeypatch.chdir(tmp_path)
    assert run(oracle_files, *words, graphs=2) == 2
    assert told in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["..html", "bad\udcff.html", ".html"])
def test_a_gallery_of_no_name_is_refused_before_answers_are_read(tmp_path, capsys, name):
    (tmp_path / "answers.json").write_text("no answer")
    assert code(["gallery", str(tmp_path), "--out", str(tmp_path / name)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: expected a ")
    assert "name" in error
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("content", "told"),
    [(None, "expected a folder or file of answers"), ({}, "expected answers in")],
)
def test_a_gallery_of_nothing_is_one_sentence(tmp_path, capsys, content, told):
    folder = tmp_path / "nothing"
    if content is not None:
        folder.mkdir()
    assert code(["gallery", str(folder)]) == 2
    error = capsys.readouterr().err
    assert told in error
    assert "Traceback" not in error


def test_words_and_atoms_are_drawn_in_the_terminal(oracle_files, tmp_path, capsys):
    payload = json.loads((oracle_files / "g0.json").read_text())
    payload["tokens"] = [f"word{node}" for node in range(payload["num_nodes"])]
    (oracle_files / "g0.json").rename(tmp_path / "plain.json")
    (oracle_files / "g0.json").write_text(json.dumps(payload))
    try:
        assert run(oracle_files) == 0
    finally:
        (tmp_path / "plain.json").replace(oracle_files / "g0.json")
    out = capsys.readouterr().out
    assert "word0 word1" in out
    assert "╰" in out


@pytest.mark.parametrize("ending", ["jpg", "txt"])
def test_an_ending_that_nobody_writes_is_refused(oracle_files, tmp_path, capsys, ending):
    path = tmp_path / f"why.{ending}"
    assert run(oracle_files, "--out", path) == 2
    assert "change the ending" in capsys.readouterr().err
    assert not path.exists()
