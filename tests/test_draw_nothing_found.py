"""Answers without a counterfactual: the input alone is drawn, in every kind of picture."""

import re

import pytest
import torch

from edgeflip import explain, molecule_graph
from edgeflip.draw import (
    Canvas,
    Exhibit,
    Line,
    Words,
    answer_html,
    answer_page,
    answers_html,
    draw_answer,
    draw_grid,
    drawing_of,
    gallery_page,
    subject_of,
)
from edgeflip.testing import example_graphs
from made_up_sentences import LINKS, TWEET, chain, sentence


class Certain:
    """An oracle that nothing changes."""

    num_classes = 2

    def predict_proba(self, graphs):
        return torch.tensor([[0.8, 0.2]] * len(graphs))


def unanswered(graph):
    answer = explain(Certain(), graph)
    assert not answer.found
    return answer


@pytest.fixture(scope="module")
def tweet():
    return unanswered(sentence(TWEET[:6], [(0, 1), (0, 2), (3, 4), (2, 4), (0, 5)]))


def links(scene):
    return [
        item
        for item in scene.items
        if isinstance(item, Line) and item.style in ("arc", "core-edge") and len(item.points) == 4
    ]


def texts(scene):
    return " ".join(item.text for item in scene.items if isinstance(item, Words))


@pytest.mark.parametrize("canvas", [Canvas(), Canvas(260, 190, small=True), Canvas(400, 270, True)])
def test_links_of_a_sentence_without_edits_are_above_its_words_only(canvas):
    subject = subject_of(sentence(TWEET, LINKS), [])
    drawing = drawing_of(subject, canvas)
    (panel,) = drawing.panels
    base = next(item.at[1] for item in panel.items if isinstance(item, Words))
    assert links(panel)
    assert all(y < base for link in links(panel) for _, y in link.points)
    assert "after" not in drawing.caption + panel.label


def test_a_column_of_words_without_edits_has_links_on_the_left_only():
    drawing = drawing_of(subject_of(chain([f"word{place}" for place in range(40)]), []))
    for column in (drawing.panels[0], drawing.tall):
        written = [item for item in column.items if isinstance(item, Words)]
        left = min(item.at[0] - item.width / 2 for item in written)
        right = max(item.at[0] + item.width / 2 for item in written)
        assert len(links(column)) == 39
        assert all(x < left for link in links(column) for x, _ in link.points)
        first = min(x for link in links(column) for x, _ in link.points)
        assert abs((first + right) / 2 - column.width / 2) < 12, "not in the middle"
        assert first >= 0
        assert right <= column.width


def test_no_picture_of_a_sentence_has_an_after_without_an_answer(tweet):
    for scene in (draw_answer(tweet).scene, draw_grid([tweet]).scene):
        assert len(links(scene)) == len({link.points for link in links(scene)}) <= 5
        assert not re.search(r"\b(before|after)\b", texts(scene) + scene.description)


def test_no_page_or_notebook_has_an_after_without_an_answer(tweet):
    pages = [
        answer_page(tweet).split("<main")[1],
        gallery_page([Exhibit(tweet, "one")]).split("<main")[1],
        answer_html(tweet).split("</style>")[-1],
    ]
    for page in pages:
        seen = re.sub(r"<script.*?</script>|class=\"[^\"]*\"", "", page, flags=re.DOTALL)
        assert not re.search(r"\b(before|after)\b", seen), seen
    svg = answers_html([tweet]).split("<table>")[0]
    assert not re.search(r"\b(before|after)\b", svg.split("</style>")[-1])


@pytest.mark.parametrize(
    "graph",
    [example_graphs(1, seed=4)[0], molecule_graph("CC(=O)O"), chain(["so"] * 70)],
    ids=["graph", "molecule", "words"],
)
def test_a_graph_without_an_answer_is_drawn_once_and_nothing_keeps_its_place(graph):
    scene = draw_answer(unanswered(graph)).scene
    assert not re.search(r"\b(before|after|keeps|around the edits)\b", texts(scene))
    # One column beside the drawing, so one upright line.
    upright = [
        item
        for item in scene.items
        if isinstance(item, Line)
        and item.style == "rule"
        and item.points[0][0] == item.points[1][0]
    ]
    assert len(upright) == 1
