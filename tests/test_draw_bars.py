"""Bars of probabilities: within their column, and none for what is written as .00."""

from dataclasses import replace

import pytest

from edgeflip import explain
from edgeflip.draw import Shape, Words, draw_answer
from edgeflip.draw.one_answer import answer_page
from edgeflip.draw.page_parts import bar_share
from edgeflip.draw.story import is_nothing
from edgeflip.testing import example_graphs, example_oracle


@pytest.fixture(scope="module")
def answer():
    found = explain(example_oracle(), example_graphs(1, seed=4)[0])
    smallest = replace(found.smallest, output=(0.001, 0.999))
    return replace(found, output=(1.0, 0.0), counterfactuals=(smallest,), smallest=smallest)


def bars(scene, style):
    # Those of the key are no longer than 16 pixels.
    shapes = [item for item in scene.items if isinstance(item, Shape) and item.style == style]
    return [
        (min(x for x, _ in item.points), max(x for x, _ in item.points))
        for item in shapes
        if max(x for x, _ in item.points) - min(x for x, _ in item.points) > 20
    ]


def test_a_whole_bar_ends_with_its_column_stroke_included(answer):
    scene = draw_answer(answer).scene
    column = next(
        item.at[0] for item in scene.items if isinstance(item, Words) and item.anchor == "end"
    )
    ((left, right),) = bars(scene, "bar-before")
    assert right + 0.75 <= column + 0.01
    ((other, _),) = bars(scene, "bar-after")
    assert left - 0.75 == pytest.approx(other)


def test_what_is_written_as_nothing_has_no_bar(answer):
    scene = draw_answer(answer).scene
    written = [item.text for item in scene.items if isinstance(item, Words)]
    assert any("1.00 → .00" in text for text in written)
    assert any(".00 → 1.00" in text for text in written)
    # One bar before, one after, and the two of the key.
    shapes = [item for item in scene.items if isinstance(item, Shape)]
    assert sorted(item.style for item in shapes) == 2 * ["bar-after"] + 2 * ["bar-before"]


def test_a_page_has_no_bar_for_nothing_either(answer):
    page = answer_page(answer)
    assert page.count('--share:0"') == 2
    assert "--share:1.0000" in page
    assert bar_share(".03", 0.0312) == "0.0312"
    assert is_nothing(".00")
    assert is_nothing("0")
    assert not is_nothing(".0002")


def test_numbers_are_said_to_be_the_models(answer):
    written = [item.text for item in draw_answer(answer).scene.items if isinstance(item, Words)]
    assert "The model’s prediction" in written
    assert "The model’s prediction" in answer_page(answer)
