"""Names of nodes: over no other name, sign or node, shortened or lettered where there is no room."""

import math
import random
from itertools import combinations
from string import ascii_lowercase

import networkx as nx
import pytest
import torch

from edgeflip import explain, graph_from_networkx, molecule_graph
from edgeflip.core import EditSet, FactualSubgraph, edge_pairs
from edgeflip.draw import Canvas, Disc, Picture, Words, draw_grid, drawing_of, subject_of
from edgeflip.draw.graph_names import fits_inside
from edgeflip.draw.look import TEXTS
from edgeflip.testing import example_graphs, example_oracle

GRAPHS = {
    "ring": nx.cycle_graph(9),
    "clique": nx.complete_graph(8),
    "star": nx.star_graph(12),
    "club": nx.karate_club_graph(),
    "tree": nx.balanced_tree(2, 4),
    "large": nx.barabasi_albert_graph(80, 3, seed=2),
}


def made_up_name(draw):
    """A name of 1 to 25 letters, some of East Asia."""
    letters = draw.choice(["abcdefghijklmnopqrstuvwxyz ", "東京都国立研究"])
    return "".join(draw.choice(letters) for _ in range(draw.randint(1, 25))).strip() or "Ann"


def named(made, names):
    graph = graph_from_networkx(nx.convert_node_labels_to_integers(made))
    graph.x = torch.ones(graph.num_nodes, 2)
    graph.node_names = [names[node % len(names)] for node in range(graph.num_nodes)]
    return graph


def labels(scene):
    return [
        item
        for item in scene.items
        if isinstance(item, Words) and item.runs[0].style in ("label", "core-label")
    ]


def box(item):
    size, (x, y) = TEXTS["label"].size, item.at
    left = x - {"start": 0, "middle": 0.5, "end": 1}[item.anchor] * item.width
    return left, y - 0.75 * size, left + item.width, y + 0.15 * size


def gap(area, at):
    across = max(area[0] - at[0], 0.0, at[0] - area[2])
    return math.hypot(across, max(area[1] - at[1], 0.0, at[1] - area[3]))


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def check_names(scene):
    boxes = {item: box(item) for item in labels(scene)}
    for one, other in combinations(boxes, 2):
        assert not overlap(boxes[one], boxes[other]), (one.text, other.text)
    for item, area in boxes.items():
        assert area[0] >= 0
        assert area[1] >= 0
        assert area[2] <= scene.width
        assert area[3] <= scene.height
        discs = [each for each in scene.items if isinstance(each, Disc)]
        if any(math.dist(disc.at, item.at) < 5 for disc in discs):
            continue  # in its node
        for disc in discs:
            assert gap(area, disc.at) >= disc.radius, (item.text, disc)


def told(item):
    return item.title or item.text


@pytest.mark.parametrize("filled", [False, True])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", GRAPHS)
def test_names_lie_on_nothing_and_every_edited_node_has_one(kind, seed, filled):
    draw = random.Random(f"{kind} {seed}")
    names = list(dict.fromkeys(made_up_name(draw) for _ in range(40)))
    picks = [draw.sample(range(28), draw.randint(1, 6)) for _ in range(3)]
    graph = named(GRAPHS[kind], names)
    edges = edge_pairs(graph)
    # Pairs of the first eight nodes, which are neighbours more often than not.
    pairs = list(combinations(range(8), 2))
    choices = [
        EditSet(
            added={pairs[pick] for pick in picked if pairs[pick] not in edges},
            removed={pairs[pick] for pick in picked if pairs[pick] in edges},
        )
        for picked in picks
    ]
    core = FactualSubgraph(tuple(range(5)), (), 1.0) if filled else None
    subject = subject_of(graph, choices, core)
    drawing = drawing_of(subject, Canvas(334, 300))
    for panel in drawing.panels:
        for choice in subject.choices:
            scene = panel.under(move.key for move in choice)
            check_names(scene)
            seen = {told(item) for item in labels(scene)}
            for node in {end for move in choice for end in move.ends}:
                name = subject.names[node]
                assert name in seen or f" is {name}" in drawing.caption, name


def test_a_name_that_is_cut_is_told_in_full():
    graph = named(
        nx.complete_graph(7), ["glyceraldehyde-3-phosphate dehydrogenase " + c for c in "abcdefg"]
    )
    subject = subject_of(graph, [EditSet(removed={(0, 1)})])
    panel = drawing_of(subject).panels[0].under(["0-1"])
    cut = [item for item in labels(panel) if item.text.endswith("…")]
    assert {item.title for item in cut} == set(subject.names[:2])
    svg = Picture(panel).svg
    assert f"<title>{subject.names[0]}</title>{cut[0].text[:8]}" in svg


def test_names_without_room_are_lettered_with_a_key_and_never_get_a_number_of_another_node():
    graph = named(
        nx.complete_graph(30),
        [f"participant {letter * 3}" for letter in "abcdefghijklmnopqrstuvwxyzäöüß"],
    )
    removed = {(node, node + 1) for node in range(14)}
    subject = subject_of(graph, [EditSet(removed=removed)])
    drawing = drawing_of(subject, Canvas(150, 120))
    scene = drawing.panels[0].under(move.key for move in subject.shown)
    assert not [item.text for item in labels(scene) if item.text.isdigit()]
    letters = [item for item in labels(scene) if item.text in ascii_lowercase]
    assert letters
    for item in letters:
        assert f"{item.text} is participant" in drawing.caption
        assert any(isinstance(d, Disc) and math.dist(d.at, item.at) < 5 for d in scene.items)


@pytest.mark.parametrize("name", ["123", "Eve", "東京", "a"])
def test_a_name_in_a_node_does_not_touch_its_rim(name):
    assert fits_inside(name, 10) == (name in ("123", "a"))


def test_a_grid_shows_every_node_that_its_lines_name():
    answers = explain(example_oracle(), example_graphs(5, seed=2))
    assert any(answer.found for answer in answers)
    for answer in answers:
        if answer.found:
            scene = draw_grid([answer]).scene
            seen = {item.text for item in labels(scene)}
            assert seen == {str(end) for edge in answer.smallest.edits.edges for end in edge}


def test_a_grid_shows_the_numbers_of_edited_atoms():
    graph = molecule_graph("CC(=O)Oc1ccccc1C(=O)O")
    subject = subject_of(graph, [EditSet(removed={(3, 4)})])
    for named_too in (False, True):
        canvas = Canvas(260, 190, small=True, edited_named=named_too)
        scene = drawing_of(subject, canvas).panels[-1].under(["3-4"])
        numbers = {
            item.text
            for item in scene.items
            if isinstance(item, Words) and item.runs[0].style == "atom-number"
        }
        assert numbers == ({"3", "4"} if named_too else set())


@pytest.mark.parametrize("seed", range(6))
def test_other_counterfactuals_take_no_room_from_the_names_of_the_first(seed):
    people = [
        "Ann",
        "Hypatia",
        "Chandrasekhar",
        "Grace",
        "Ramanujan",
        "Lovelace",
        "Kovalevskaya",
        "Noether",
        "Mandelbrot",
        "Shannon",
        "Turing",
        "Dijkstra",
        "Hopper",
        "Meitner",
    ]
    draws = random.Random(seed)
    plain = nx.gnm_random_graph(14, 20, seed=seed)
    graph = named(plain, people)
    missing = sorted(nx.complement(plain).edges)
    choices = [
        EditSet(
            added=set(draws.sample(missing, 1)), removed=set(draws.sample(sorted(plain.edges), 1))
        )
        for _ in range(20)
    ]
    core = FactualSubgraph((0, 1, 2, 3), (), 1.0)
    alone, among = subject_of(graph, choices[:1], core), subject_of(graph, choices, core)
    ends = {among.names[end] for move in among.shown for end in move.ends}
    keys = [move.key for move in among.shown]
    whole = [
        {item.text for item in labels(drawing_of(each, Canvas()).panels[1].under(keys))} & ends
        for each in (alone, among)
    ]
    assert whole[0] == whole[1]
    # Whatever is chosen or taken back, each name is there once and over nothing else.
    for panel in drawing_of(among, Canvas()).panels:
        for choice in among.choices:
            for count in range(len(choice) + 1):
                for part in combinations([move.key for move in choice], count):
                    scene = panel.under(part)
                    check_names(scene)
                    seen = [told(item) for item in labels(scene)]
                    assert len(seen) == len(set(seen))
