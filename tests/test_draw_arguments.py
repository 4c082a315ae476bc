"""What is no answer, no list of answers, no theme and no file name is refused in a sentence."""

import pytest

from edgeflip import explain
from edgeflip.draw import (
    Exhibit,
    answer_page,
    draw_answer,
    draw_graphs,
    draw_grid,
    draw_trace,
    gallery_page,
    save_answer,
    save_answers,
    save_gallery,
)
from edgeflip.errors import ConfigError
from edgeflip.testing import example_graphs, example_oracle


@pytest.fixture(scope="module")
def answer():
    return explain(example_oracle(), example_graphs(1, seed=4)[0])


ONE = [draw_trace, draw_answer, answer_page, lambda answer: save_answer(answer, "x.html")]
MANY = [draw_grid, lambda answers: save_answers(answers, "x.html")]


@pytest.mark.parametrize("call", ONE)
def test_what_is_not_one_answer_is_refused(answer, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for wrong in (None, [answer], "answer", answer.smallest):
        with pytest.raises(ConfigError, match=r"^expected one answer, got "):
            call(wrong)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("call", MANY)
def test_what_is_no_list_of_answers_is_refused(answer, call, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match="put it into a list"):
        call(answer)
    for wrong in (None, 3, "answers"):
        with pytest.raises(ConfigError, match=r"^expected a list of answers, got .*; pass a list"):
            call(wrong)
    with pytest.raises(ConfigError, match="got None at place 1 of it"):
        call([answer, None])
    assert not list(tmp_path.iterdir())


def test_a_gallery_takes_exhibits_alone(answer, tmp_path):
    for wrong in (None, [answer], Exhibit(answer, "one"), [Exhibit(answer, "one"), None]):
        with pytest.raises(ConfigError, match=r"^expected a list of exhibits, got "):
            gallery_page(wrong)
        with pytest.raises(ConfigError, match=r"^expected a list of exhibits, got "):
            save_gallery(wrong, tmp_path / "all.html", pages=True)
    with pytest.raises(ConfigError, match=r"^expected one answer, got "):
        gallery_page([Exhibit([answer], "two")])
    assert not list(tmp_path.iterdir())


def test_options_of_another_type_are_refused(answer, tmp_path):
    picture = answer.draw()
    wrong = [
        lambda: draw_grid([answer], columns="3"),
        lambda: draw_grid([answer], titles=5),
        lambda: draw_graphs([answer.graph], columns=None),
        lambda: draw_graphs(answer.graph),
        lambda: answer_page(answer, title=3),
        lambda: answer_page(answer, home=None),
        lambda: answer.draw(title=3),
        lambda: answer.save(tmp_path / "x.html", title=3),
        lambda: save_gallery([], tmp_path / "x.html", pages="no"),
        lambda: picture.save(tmp_path / "x.png", theme="blue"),
        lambda: picture.save(tmp_path / "x.svg", theme=None),
        lambda: picture.figure("blue"),
    ]
    for call in wrong:
        with pytest.raises(ConfigError, match=r"^expected "):
            call()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["x.html", "x.json"])
def test_a_counterfactual_is_chosen_for_pictures_alone(answer, tmp_path, name):
    with pytest.raises(ConfigError, match=f"got {name}, which holds all of them"):
        answer.save(tmp_path / name, counterfactual=answer.best)
    assert not list(tmp_path.iterdir())
    assert answer.save(tmp_path / "x.svg", counterfactual=answer.best).exists()


@pytest.mark.parametrize("ending", [".html", ".SVG", ".png", ".json"])
def test_an_ending_alone_is_no_name(answer, tmp_path, ending):
    with pytest.raises(ConfigError, match=f"an ending alone, {ending}; .* such as why{ending}"):
        answer.save(tmp_path / ending)
    if ending in {".SVG", ".png"}:
        with pytest.raises(ConfigError, match="an ending alone"):
            answer.draw().save(tmp_path / ending)
    if ending == ".html":
        with pytest.raises(ConfigError, match="an ending alone"):
            save_gallery([Exhibit(answer, "one")], tmp_path / ending, pages=True)


@pytest.mark.parametrize("name", ["..html", "...html", "..svg", "bad\udcff.html", "bad\udcff.svg"])
def test_a_name_of_dots_or_of_no_letters_is_refused(answer, tmp_path, name):
    told = "a name in UTF-8" if "bad" in name else "dots alone before the ending"
    calls = [lambda path: answer.save(path), lambda path: save_answers([answer, answer], path)]
    if name.endswith(".html"):
        calls.append(lambda path: save_gallery([Exhibit(answer, "one")], path, pages=True))
    else:
        calls.append(answer.draw().save)
    for call in calls:
        with pytest.raises(ConfigError, match=f"^expected .*{told}.*; .*\\.$"):
            call(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_gallery_without_an_ending_leaves_nothing_behind(answer, tmp_path):
    for name in ("gallery", "gallery.svg"):
        for pages in (False, True):
            with pytest.raises(ConfigError, match=r"a gallery to end in \.html, got gallery"):
                save_gallery([Exhibit(answer, "one")], tmp_path / name, pages=pages)
    assert not list(tmp_path.iterdir())
