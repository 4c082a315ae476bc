"""New bonds go around what is in between, and signs stand on or beside their own bond alone."""

import math
from itertools import combinations, pairwise

import pytest

pytest.importorskip("rdkit")

from edgeflip import EditSet, molecule_graph
from edgeflip.draw import Disc, Line, drawing_of, subject_of
from edgeflip.draw.bond_routes import Ground, sampled
from edgeflip.draw.free_places import Box, distance_to_line
from edgeflip.draw.look import TEXTS
from edgeflip.draw.scene import BADGE
from edgeflip.draw.smiles_lines import smiles_lines, smiles_units

# Edits that EdgeFlip found for molecules of BBBP.
FOUND = {
    "three curves": (
        "C(C1(C(NC(=O)NC1=O)=O)C(=C/CC)/C)C",
        EditSet(added={(2, 14), (3, 12), (6, 13)}, removed={(1, 2)}),
    ),
    "through a ring": (
        "NC1=NC(=O)N(C=C1)[C@H]2CC[C@@H](CO)O2",
        EditSet(added={(0, 11)}, removed={(0, 1)}),
    ),
    "past a sulphone": (
        "C2=C(C1[S](CCC(N1C)=O)(=O)=O)C=CC(=C2Cl)Cl",
        EditSet(added={(8, 10)}, removed={(3, 10)}),
    ),
    "three bonds": (
        "C1=CC=CC=C1[P](C2=CC=CC=C2)(CC(NN)=O)=O",
        EditSet(added={(0, 14), (4, 16), (13, 17)}, removed={(14, 17)}),
    ),
}


def after(case):
    smiles, edits = FOUND[case]
    subject = subject_of(molecule_graph(smiles), [edits])
    drawing = drawing_of(subject)
    keys = [move.key for move in subject.shown]
    return subject, drawing, drawing.panels[1].under(keys)


def atoms_of(subject, scene):
    by_name = {item.title: item.at for item in scene.items if isinstance(item, Disc) and item.title}
    return [by_name[name] for name in subject.names]


def lines(scene, style):
    return [item for item in scene.items if isinstance(item, Line) and item.style == style]


def ways(subject, scene):
    """New bonds as they are drawn, by their ends."""
    added = [move.ends for move in subject.shown if move.kind == "added"]
    return dict(zip(added, (sampled(line.points) for line in lines(scene, "added")), strict=True))


def signs(scene):
    return [
        item.at for item in scene.items if isinstance(item, Disc) and item.style.endswith("-badge")
    ]


@pytest.mark.parametrize("case", FOUND)
def test_new_bonds_run_through_no_other_atom(case):
    subject, _, scene = after(case)
    places = atoms_of(subject, scene)
    for ends, way in ways(subject, scene).items():
        others = [place for node, place in enumerate(places) if node not in ends]
        assert min(math.dist(place, point) for place in others for point in way) > 6


def test_new_bonds_do_not_meet_in_a_knot():
    subject, _, scene = after("three curves")
    for one, other in combinations(ways(subject, scene).values(), 2):
        assert min(math.dist(here, there) for here in one[4:-4] for there in other[4:-4]) > 5


@pytest.mark.parametrize("case", FOUND)
def test_signs_cover_no_other_bond_and_no_other_sign(case):
    subject, _, scene = after(case)
    places = atoms_of(subject, scene)
    changed = {move.ends for move in subject.shown}
    pieces = [
        (places[u], places[v])
        for u, v in subject.graph.edge_index.T.tolist()
        if u < v and (u, v) not in changed
    ]
    found = signs(scene)
    assert len(found) == len(subject.shown)
    for sign in found:
        assert min(distance_to_line(sign, *piece) for piece in pieces) > BADGE
    for one, other in combinations(found, 2):
        assert math.dist(one, other) > 2 * BADGE


@pytest.mark.parametrize("case", FOUND)
def test_a_sign_stands_at_its_own_bond_and_leaves_it_visible(case):
    subject, _, scene = after(case)
    drawn = {**ways(subject, scene)}
    gone = [move.ends for move in subject.shown if move.kind == "removed"]
    drawn |= dict(zip(gone, (line.points for line in lines(scene, "ghost")), strict=True))
    for move, sign in zip(subject.shown, signs(scene), strict=True):
        away = min(distance_to_line(sign, *piece) for piece in pairwise(drawn[move.ends]))
        assert away < 2.5 * BADGE
        length = sum(math.dist(*piece) for piece in pairwise(drawn[move.ends]))
        assert away > BADGE or length > 4 * BADGE


@pytest.mark.parametrize("case", FOUND)
def test_paper_lies_under_crossings_only_and_never_at_an_atom(case):
    subject, _, scene = after(case)
    places = atoms_of(subject, scene)
    for casing in lines(scene, "casing"):
        length = sum(math.dist(*piece) for piece in pairwise(casing.points))
        assert length < 14
        middle = casing.points[len(casing.points) // 2]
        assert min(math.dist(middle, place) for place in places) > 9


def ground(*others, letters=()):
    places = {0: (20.0, 100.0), 1: (220.0, 100.0), **{2 + n: at for n, at in enumerate(others)}}
    return Ground((240.0, 200.0), places, dict(letters), ())


def test_a_way_is_straight_where_it_hits_nothing():
    assert ground((120.0, 40.0)).best((0, 1), []) == ((20.0, 100.0), (220.0, 100.0))


@pytest.mark.parametrize("height", [96.0, 104.0])
def test_a_way_goes_around_an_atom_on_the_side_that_is_free(height):
    # The atom is a little above or below the straight way, and another one farther out.
    way = ground((120.0, height), (120.0, 100 + 8 * (height - 100))).best((0, 1), [])
    middle = sampled(way)[20]
    assert (middle[1] > 100) == (height < 100)


def test_a_way_keeps_off_letters():
    box = Box(100.0, 80.0, 140.0, 112.0)
    way = ground((120.0, 85.0), letters={2: [box]}).best((0, 1), [])
    assert not any(
        box.left <= x <= box.right and box.top <= y <= box.bottom for x, y in sampled(way)
    )


def test_a_way_keeps_off_another_new_bond():
    other = ((20.0, 104.0), (220.0, 96.0))
    way = ground().best((0, 1), [other])
    assert len(way) > 2


def test_a_diamond_is_told_of_only_where_one_is_drawn():
    # Some of these bonds alone would be too many for an atom; all of them together are not.
    subject, drawing, scene = after("three curves")
    assert not lines(scene, "faulty")
    assert "diamond" not in drawing.caption
    assert len(subject.shown) == 4


@pytest.mark.parametrize(
    ("smiles", "edge", "kind"),
    [("CC=O", (1, 2), "double"), ("CC#N", (1, 2), "triple"), ("c1ccccc1C", (0, 1), "aromatic")],
)
def test_a_removed_bond_that_was_more_than_single_is_told(smiles, edge, kind):
    subject = subject_of(molecule_graph(smiles), [EditSet(removed={edge})])
    (move,) = subject.shown
    told = [fact for fact in drawing_of(subject).facts[1] if fact.label == "Removed"]
    assert [fact.text for fact in told] == [f"{kind} bond {move.name}"]
    assert told[0].when.holds([move.key])
    assert not told[0].when.holds([])


def test_of_a_removed_single_bond_nothing_is_told():
    subject = subject_of(molecule_graph("CCO"), [EditSet(removed={(1, 2)})])
    assert "Removed" not in {fact.label for fact in drawing_of(subject).facts[1]}


SMILES = "C[C@]12CC[C@H]3[C@H]([C@@H]1CC[C@@H]2O)CCC4=CC(=O)CC[C@]34CBr"


@pytest.mark.parametrize("room", [60.0, 90.0, 150.0, 217.0, 300.0])
def test_a_smiles_is_broken_between_atoms_into_lines_alike(room):
    style = TEXTS["mono"]
    found = smiles_lines(SMILES, style, room)
    assert "".join(found) == SMILES
    units = smiles_units(SMILES)
    assert {"[C@]12", "([C@@H]1", "(=O)", "Br"} <= {*units}
    starts = {sum(map(len, units[:place])) for place in range(len(units))}
    assert {sum(map(len, found[:place])) for place in range(len(found))} <= starts
    longest = max(map(len, units))
    assert len(found) == 1 or max(map(len, found)) - len(found[-1]) <= longest * len(found)
    assert len(found[-1]) > 1


def test_a_smiles_that_cannot_be_read_is_broken_as_any_word():
    text = "not?a?smiles?" * 4
    assert "".join(smiles_lines(text, TEXTS["mono"], 80)) == text
