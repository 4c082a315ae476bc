"""Drawers of users: which is taken, and what is said of one that fails."""

import pytest
import torch

from edgeflip import explain
from edgeflip.draw import Drawing, Scene, draw_plain, register_drawer
from edgeflip.draw.subject import _DRAWERS, drawer_name
from edgeflip.errors import ConfigError
from edgeflip.testing import example_graphs, example_oracle


@pytest.fixture(scope="module")
def answer():
    return explain(example_oracle(), example_graphs(1, seed=4)[0])


@pytest.fixture(autouse=True)
def drawers():
    """Drawers are as before afterwards."""
    before = dict(_DRAWERS)
    yield
    _DRAWERS.clear()
    _DRAWERS.update(before)


def fails(*_):
    raise ZeroDivisionError("one by\nnone")


def test_a_name_that_is_registered_again_counts_as_registered_last(answer):
    for name in ("mine", "other", "mine"):
        register_drawer(name, lambda graph: True, draw_plain)
    assert drawer_name(answer.graph) == "mine"
    register_drawer("mine", lambda graph: False, draw_plain)
    assert drawer_name(answer.graph) == "other"


@pytest.mark.parametrize(
    ("name", "fits", "draw", "said"),
    [
        (3, bool, draw_plain, "the name of a drawer, got 3"),
        ("", bool, draw_plain, "the name of a drawer, got ''"),
        ("x", None, draw_plain, "a function as fits of the drawer 'x', got None"),
        ("x", bool, "no", "a function as draw of the drawer 'x', got 'no'"),
    ],
)
def test_what_is_no_drawer_is_refused(name, fits, draw, said):
    before = dict(_DRAWERS)
    with pytest.raises(ConfigError, match=said):
        register_drawer(name, fits, draw)
    assert before == _DRAWERS


LOOKS = [
    lambda answer, folder: answer.draw(),
    lambda answer, folder: answer._repr_html_(),
    lambda answer, folder: answer.save(folder / "x.html"),
]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize(
    ("fits", "draw", "said"),
    [
        (fails, draw_plain, "'mine' to say whether it fits .* got ZeroDivisionError: one by none;"),
        (bool, fails, "'mine' to draw a graph, got ZeroDivisionError: one by none; correct it"),
        (bool, lambda *_: None, "a Drawing with one or two scenes .* 'mine', got None"),
        (bool, lambda *_: Drawing(()), r"got one with \(\) as panels"),
        (bool, lambda *_: Drawing((None,)), r"got one with \(None,\) as panels"),
        (bool, lambda *_: Drawing(None), r"got Drawing\(panels=None"),
        (bool, lambda *_: Drawing((Scene(9, 9, ()),) * 3), "got one with "),
    ],
)
def test_a_drawer_that_fails_is_named_in_a_sentence(answer, tmp_path, look, fits, draw, said):
    register_drawer("mine", lambda graph: fits(graph) or graph is not None, draw)
    with pytest.raises(ConfigError, match=said):
        look(answer, tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_drawer_may_say_no_by_none_and_speak_for_itself(answer):
    def refuses(*_):
        raise ConfigError("expected a flow, got none; add one.")

    register_drawer("mine", lambda graph: None, fails)
    assert drawer_name(answer.graph) == "graph"
    register_drawer("mine", lambda graph: torch.tensor(1), refuses)
    with pytest.raises(ConfigError, match=r"^expected a flow, got none; add one\.$"):
        answer.draw()
