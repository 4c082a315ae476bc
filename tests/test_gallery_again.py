"""A gallery that is written again: its own old pages go, what others wrote stays."""

from dataclasses import replace

import pytest

from edgeflip import explain
from edgeflip.draw import Exhibit, gallery_page, save_gallery
from edgeflip.draw.subject import drawing_of
from edgeflip.errors import ConfigError
from edgeflip.testing import example_graphs, example_oracle


@pytest.fixture(scope="module")
def answer():
    return explain(example_oracle(), example_graphs(1, seed=4)[0])


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_pages_that_are_not_written_again_are_removed(answer, tmp_path):
    first = [Exhibit(answer, title) for title in ("one", "two", "three")]
    save_gallery(first, tmp_path / "why not?.html", pages=True)
    folder = tmp_path / "why not?"
    assert names(folder) == ["0000-one.html", "0001-two.html", "0002-three.html"]
    save_gallery([Exhibit(answer, "two")], tmp_path / "why not?.html", pages=True)
    assert names(folder) == ["0000-two.html"]


def test_files_of_others_stay(answer, tmp_path):
    page = save_gallery([Exhibit(answer, "one")], tmp_path / "why.html", pages=True)
    folder = tmp_path / "why"
    own = (folder / "0000-one.html").read_text(encoding="utf-8")
    (folder / "notes.html").write_text(own, encoding="utf-8")
    (folder / "0007-mine.html").write_text("<p>mine</p>")
    other = own.replace("../why.html", "../other.html")
    (folder / "0008-other.html").write_text(other, encoding="utf-8")
    (folder / "0009-link.html").symlink_to(folder / "notes.html")
    save_gallery([Exhibit(answer, "two")], page, pages=True)
    assert names(folder) == [
        *("0000-two.html", "0007-mine.html", "0008-other.html", "0009-link.html", "notes.html"),
    ]


def test_a_page_does_not_replace_a_file_of_somebody_else(answer, tmp_path):
    folder = tmp_path / "why"
    folder.mkdir()
    (folder / "0001-two.html").write_text("<p>mine</p>")
    exhibits = [Exhibit(answer, "one"), Exhibit(answer, "two")]
    with pytest.raises(
        ConfigError, match=r"^expected no file at .*0001-two\.html, .*; move it, .*\.$"
    ):
        save_gallery(exhibits, tmp_path / "why.html", pages=True)
    assert names(folder) == ["0001-two.html"]
    assert (folder / "0001-two.html").read_text() == "<p>mine</p>"
    assert not (tmp_path / "why.html").exists()
    (folder / "0001-two.html").unlink()
    for _ in range(2):
        save_gallery(exhibits, tmp_path / "why.html", pages=True)
    assert len(names(folder)) == 2


def test_a_card_is_drawn_once(answer, monkeypatch):
    drawn = []

    def counted(*arguments):
        drawn.append(arguments)
        return drawing_of(*arguments)

    monkeypatch.setattr("edgeflip.draw.gallery.drawing_of", counted)
    assert "<svg" in gallery_page([Exhibit(answer, "one"), Exhibit(answer, "two")])
    assert len(drawn) == 2


def test_the_parts_of_many_counterfactuals_are_asked_about_together():
    oracle = example_oracle()
    answer = explain(oracle, example_graphs(1, seed=4)[0], number=20)
    assert len(answer) > 8
    calls, ask = [], oracle.predict_proba

    def counted(graphs):
        calls.append(len(graphs))
        return ask(graphs)

    alone = {entry: replace(answer, counterfactuals=(entry,)) for entry in answer.counterfactuals}
    wanted = {entry: each.with_effects().best.effects for entry, each in alone.items()}
    oracle.predict_proba = counted
    told = answer.with_effects(oracle)
    # One call about the outputs that the answer has, then rounds that grow.
    assert len(calls) <= 2 + len(answer).bit_length()
    for entry in told.counterfactuals:
        known = replace(entry, effects=None, forbidden=None)
        flat = [number for output in wanted[known] for number in output]
        found = [number for output in entry.effects for number in output]
        assert found == pytest.approx(flat, abs=1e-5)
