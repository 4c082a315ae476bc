"""Pictures: one layout before and after, only the change in colour, the sentence as the legend."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data

from edgeflip import EditSet, explain, graph_from_networkx
from edgeflip.core import FactualSubgraph
from edgeflip.draw import (
    Canvas,
    Disc,
    Drawing,
    Line,
    Picture,
    Scene,
    When,
    Words,
    draw_answer,
    draw_grid,
    draw_trace,
    drawing_of,
    register_drawer,
    subject_of,
)
from edgeflip.draw.layout import nearby, node_places
from edgeflip.draw.look import DARK, LIGHT, STYLES, TEXTS
from edgeflip.draw.subject import _DRAWERS
from edgeflip.errors import ConfigError
from edgeflip.testing import example_graphs, example_oracle

nx = pytest.importorskip("networkx")


@pytest.fixture(scope="module")
def answer():
    return explain(
        example_oracle().model, example_graphs(1, seed=4)[0], class_names=["ring", "star"]
    )


def graph_of(made):
    graph = graph_from_networkx(made)
    graph.x = torch.ones(graph.num_nodes, 2)
    return graph


def house():
    """A ring of five with a tail of three."""
    return graph_of(nx.Graph([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (0, 5), (5, 6), (6, 7)]))


def drawn(graph, edits, core=None, canvas=None):
    subject = subject_of(graph, [edits], core)
    drawing = drawing_of(subject, canvas or Canvas())
    keys = [move.key for move in subject.shown]
    return [scene.under(keys) for scene in drawing.panels], drawing


def styles(scene, kind=Line):
    return [item.style for item in scene.items if isinstance(item, kind)]


def discs(scene):
    return {item.title: item.at for item in scene.items if isinstance(item, Disc) and item.title}


def test_no_node_moves_between_before_and_after():
    (before, after), _ = drawn(house(), EditSet(added={(1, 3)}, removed={(5, 6)}))
    assert discs(before) == discs(after)
    assert len(discs(before)) == 8


def test_before_shows_what_goes_and_after_what_came_and_a_ghost():
    (before, after), _ = drawn(house(), EditSet(added={(1, 3)}, removed={(5, 6)}))
    assert styles(before).count("removed") == 1
    assert "added" not in styles(before)
    assert "ghost" not in styles(before)
    assert styles(after).count("added") == 1
    assert styles(after).count("ghost") == 1
    assert "removed" not in styles(after)
    # Never colour alone: a plus on what came, a minus on what went.
    assert styles(before, Disc).count("removed-badge") == 1
    assert styles(after, Disc).count("added-badge") == 1
    assert styles(after).count("added-sign") == 2
    assert styles(after).count("removed-sign") == 1


def test_only_the_change_is_coloured_and_removals_are_dashed():
    assert {STYLES[name].stroke for name in ("added", "added-badge", "added-sign")} == {"add"}
    assert {STYLES[name].stroke for name in ("removed", "ghost", "removed-badge")} == {"del"}
    assert STYLES["added"].dash is None
    assert STYLES["ghost"].dash is not None
    grey = [name for name, style in STYLES.items() if style.stroke in ("add", "del")]
    assert all(name.startswith(("added", "removed", "ghost", "ours", "published")) for name in grey)
    assert LIGHT["add"] == "#0b5fa5"
    assert LIGHT["del"] == "#b0420b"


@pytest.mark.parametrize("colours", [LIGHT, DARK])
def test_words_and_strokes_have_contrast_enough(colours):
    for name in ("ink", "soft", "core", "add", "del"):
        assert contrast(colours[name], colours["paper"]) >= 4.5
    for name in ("edge", "node"):
        assert contrast(colours[name], colours["paper"]) >= 3
    for name in ("ink", "soft"):
        assert contrast(colours[name], colours["field"]) >= 4.5


def contrast(one, other):
    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_core_is_dark_numbered_and_to_the_right():
    core = FactualSubgraph((0, 1, 2, 3, 4), ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4)), 1.0)
    (before, _), drawing = drawn(house(), EditSet(added={(1, 3)}), core)
    assert styles(before, Disc).count("core-node") == 5
    assert styles(before).count("core-edge") == 5
    labels = [item.text for item in before.items if isinstance(item, Words)]
    assert sorted(labels) == ["0", "1", "2", "3", "4"]
    places = discs(before)
    inside = [places[f"node {node}"][0] for node in range(5)]
    outside = [places[f"node {node}"][0] for node in (5, 6, 7)]
    assert sum(inside) / 5 > max(outside)
    assert "Filled nodes carry the prediction before the edits." in drawing.caption


def test_a_ring_in_the_core_is_a_regular_polygon():
    core = FactualSubgraph((0, 1, 2, 3, 4), ((0, 1), (1, 2), (2, 3), (3, 4), (0, 4)), 1.0)
    (before, _), _ = drawn(house(), EditSet(added={(1, 3)}), core)
    places = [discs(before)[f"node {node}"] for node in range(5)]
    sides = [math.dist(places[node], places[(node + 1) % 5]) for node in range(5)]
    assert max(sides) - min(sides) < 0.05 * max(sides)


def test_without_a_subgraph_the_motif_is_shown():
    graph = house()
    graph.motif = torch.tensor([True] * 5 + [False] * 3)
    (before, _), drawing = drawn(graph, EditSet(added={(1, 3)}))
    assert styles(before, Disc).count("core-node") == 5
    assert "Filled nodes are the motif." in drawing.caption


def test_of_a_large_graph_the_neighbourhood_is_drawn_with_a_map_of_the_whole():
    graph = graph_of(nx.barabasi_albert_graph(300, 1, seed=3))
    (before, after), drawing = drawn(graph, EditSet(added={(7, 299)}))
    assert len(discs(after)) <= 40
    assert {"node 7", "node 299"} <= set(discs(after))
    assert "stub" in styles(before)
    assert "of 300 nodes drawn" in drawing.aside_note
    assert len([item for item in drawing.aside.items if isinstance(item, Disc)]) == 300


@given(st.integers(2, 45), st.integers(0, 60), st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_nodes_stay_inside_and_apart(nodes, edges, seed):
    made = nx.gnm_random_graph(nodes, edges, seed=seed)
    places = node_places(range(nodes), sorted(made.edges), {0, 1}, (400, 340), 20)
    assert all(15 <= x <= 385 and 15 <= y <= 325 for x, y in places.values())
    points = list(places.values())
    gaps = [math.dist(a, b) for i, a in enumerate(points) for b in points[:i]]
    assert min(gaps) > 6
    assert places == node_places(range(nodes), sorted(made.edges), {0, 1}, (400, 340), 20)


def test_names_stand_beside_nodes_that_are_too_small_for_them():
    graph = graph_of(nx.Graph([(0, 1), (1, 2), (2, 3)]))
    graph.node_names = ["Alice", "Bob", "Carol and everybody else in this small town", "D"]
    (_, after), _ = drawn(graph, EditSet(added={(0, 2)}))
    texts = {item.text: item for item in after.items if isinstance(item, Words)}
    assert texts["Alice"].halo
    assert any(text.startswith("Carol") and text.endswith("…") for text in texts)


def test_a_picture_has_the_sentence_both_classes_and_the_proof(answer):
    scene = draw_answer(answer, title="graph 4").scene
    texts = [item.text for item in scene.items if isinstance(item, Words)]
    sentence = str(answer).partition(" Nothing")[0]
    assert scene.label == sentence
    assert " ".join(texts).count("Nothing smaller exists.") == 1
    assert texts[0] == "graph 4"
    before, after = (answer.class_name(each.predicted) for each in (answer, answer.smallest))
    assert any(text.startswith(f"before {before}") for text in texts)
    assert any(text.startswith(f"after {after}") for text in texts)
    marked = {run.style for item in scene.items if isinstance(item, Words) for run in item.runs}
    kinds = {"added": answer.smallest.edits.added, "removed": answer.smallest.edits.removed}
    for kind, edges in kinds.items():
        assert (f"headline-{kind}" in marked) == bool(edges)


def test_a_picture_is_written_as_svg_png_and_pdf(answer, tmp_path):
    pytest.importorskip("matplotlib")
    picture = answer.draw()
    starts = {".svg": b"<svg", ".png": b"\x89PNG", ".pdf": b"%PDF"}
    for ending, start in starts.items():
        path = answer.save(tmp_path / f"why{ending}")
        assert path.read_bytes().startswith(start)
    assert picture.svg == answer.draw().svg
    first = (tmp_path / "why.png").read_bytes()
    assert first == picture.save(tmp_path / "again.png").read_bytes()
    assert picture.figure().get_figwidth() == pytest.approx(picture.scene.width / 96)


def test_another_ending_is_refused_in_a_sentence(answer, tmp_path):
    with pytest.raises(ConfigError, match=r"\.html, \.svg, \.png, \.pdf or \.json, got why\.gif"):
        answer.save(tmp_path / "why.gif")
    with pytest.raises(ConfigError, match=r"end in \.svg, \.png or \.pdf, got why\.html"):
        answer.draw().save(tmp_path / "why.html")
    assert not list(tmp_path.iterdir())


def test_a_grid_shows_each_answer_with_its_classes():
    answers = explain(example_oracle(), example_graphs(5, seed=2))
    scene = draw_grid(answers, titles=["one", "two"], columns=2).scene
    texts = [item.text for item in scene.items if isinstance(item, Words)]
    assert {"one", "two"} <= set(texts)
    assert sum(" → " in text or "no edits" in text for text in texts) == 5
    with pytest.raises(ConfigError, match="expected something to draw"):
        draw_grid([])


def test_a_trace_marks_rings_and_where_the_goal_was_reached(answer):
    scene = draw_trace(answer).scene
    texts = [item.text for item in scene.items if isinstance(item, Words)]
    assert texts[0].startswith("Reached within ")
    rings = {step.ring for step in answer.trace.steps if step.ring is not None}
    assert ("stub" in styles(scene)) == bool(rings)
    assert any(text == "model passes" for text in texts)


class Certain:
    """An oracle that nothing changes."""

    num_classes = 2

    def predict_proba(self, graphs):
        return torch.tensor([[0.8, 0.2]] * len(graphs))


def test_an_answer_without_counterfactuals_is_drawn_as_it_was():
    nothing = explain(Certain(), example_graphs(1, seed=4)[0])
    assert not nothing.found
    scene = nothing.draw().scene
    assert scene.label.startswith("Found no edits")
    assert not {"added", "removed", "ghost"} & set(styles(scene))


def test_a_drawer_of_ones_own_is_taken_for_the_graphs_it_fits():
    def draw(subject, canvas):
        return Drawing((Scene(10, 10, ()), Scene(10, 10, ())), "mine")

    register_drawer("mine", lambda graph: "mine" in graph, draw)
    try:
        graph = Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]]), mine=True)
        assert drawing_of(subject_of(graph, [])).caption == "mine"
        assert drawing_of(subject_of(house(), [])).caption != "mine"
    finally:
        del _DRAWERS["mine"]


@given(
    st.frozensets(st.sampled_from("abc")),
    st.frozensets(st.sampled_from("abc")),
    st.frozensets(st.sampled_from("abc")),
    st.frozensets(st.sampled_from("abc")),
)
def test_when_says_the_same_as_its_words(every, some, none, made):
    expected = (
        all(key in made for key in every)
        and (not some or any(key in made for key in some))
        and not any(key in made for key in none)
    )
    assert When(every, some, none).holds(made) == expected


def test_every_style_names_colours_that_there_are():
    for style in STYLES.values():
        assert {style.stroke, style.fill} - {None} <= LIGHT.keys() & DARK.keys()
    for text in TEXTS.values():
        assert text.fill in LIGHT
        assert text.size >= 10


def test_a_notebook_shows_a_picture_that_follows_its_theme(answer):
    svg = Picture(answer.draw().scene)._repr_svg_()
    assert "prefers-color-scheme:dark" in svg
    assert "<script" not in svg


def test_neighbours_of_the_edits_are_drawn_before_a_core_elsewhere():
    ring = [(node, (node + 1) % 50) for node in range(50)]
    nodes = nearby(ring, [0, 5], list(range(20, 45)), steps=3, limit=20)
    assert nodes[:2] == [0, 5]
    assert {1, 49, 4, 6} <= set(nodes)
    assert len(nodes) == 20
    assert set(nodes[6:]) <= set(range(20, 45))
