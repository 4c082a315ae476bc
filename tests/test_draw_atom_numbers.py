"""Numbers of edited atoms: close to their atoms, and never on a bond, a sign or each other."""

import math
from itertools import combinations

import pytest

pytest.importorskip("rdkit")
from rdkit import Chem

from edgeflip import molecule_graph
from edgeflip.core import EditSet, edge_pairs
from edgeflip.draw import Canvas, Disc, Line, Shape, Words, drawing_of, subject_of
from edgeflip.draw.labels import meets
from edgeflip.draw.look import TEXTS

MOLECULES = {
    "aspirin": "CC(=O)Oc1ccccc1C(=O)O",
    "caffeine": "Cn1cnc2c1c(=O)n(C)c(=O)n2C",
    "testosterone": "C[C@]12CC[C@H]3[C@H]([C@@H]1CC[C@@H]2O)CCC4=CC(=O)CC[C@]34C",
    "cholesterol": "C[C@H](CCCC(C)C)[C@H]1CC[C@@H]2[C@@]1(CC[C@H]3[C@H]2CC=C4[C@@]3(CC[C@@H](C4)O)C)C",
    "morphine": "CN1CC[C@]23[C@@H]4[C@H]1CC5=C2C(=C(C=C5)O)O[C@H]3[C@H](C=C4)O",
    "strychnine": "C1CN2CC3=CCO[C@H]4CC(=O)N5[C@H]6[C@H]4[C@H]3C[C@H]2[C@@]61C7=CC=CC=C75",
    "pyrene": "c1cc2ccc3cccc4ccc(c1)c2c34",
    "penicillin G": "CC1([C@@H](N2[C@H](S1)[C@@H](C2=O)NC(=O)CC3=CC=CC=C3)C(=O)O)C",
    "diazepam": "CN1C(=O)CN=C(c2ccccc2)c2cc(Cl)ccc12",
    "dexamethasone": "C[C@@H]1C[C@H]2[C@@H]3CCC4=CC(=O)C=C[C@@]4([C@]3([C@H](C[C@@]2([C@]1(C(=O)CO)O)C)O)F)C",
    "indoramin": "c1ccc(cc1)C(=O)NC2CCN(CC2)CCc3c[nH]c4ccccc34",
}
# One and a half times the height of the numbers.
CLOSE = 1.5 * TEXTS["atom-number"].size


def inner_edits(smiles):
    """Edits at the atoms that most rings meet at: a bond goes, and one comes."""
    mol, graph = Chem.MolFromSmiles(smiles), molecule_graph(smiles)
    rings = mol.GetRingInfo()
    order = sorted(
        range(graph.num_nodes),
        key=lambda node: (-rings.NumAtomRings(node), -mol.GetAtomWithIdx(node).GetDegree(), node),
    )
    edges = edge_pairs(graph)
    gone = min(edge for edge in edges if order[0] in edge)
    new = [(min(order[1], other), max(order[1], other)) for other in order[3:]]
    come = [pair for pair in new if pair not in edges]
    return graph, gone, come


def number_boxes(scene):
    boxes = {}
    for item in scene.items:
        if isinstance(item, Words) and item.runs[0].style == "atom-number":
            x, y = item.at
            height = 0.75 * TEXTS["atom-number"].size
            boxes[item.text] = (x - item.width / 2, y - height, x + item.width / 2, y)
    return boxes


def strokes(scene):
    for item in scene.items:
        if isinstance(item, Line) and item.style not in ("leader", "casing"):
            yield from zip(item.points, item.points[1:], strict=False)
        elif isinstance(item, Shape):
            yield from zip(item.points, item.points[1:] + item.points[:1], strict=True)


def gap(box, at):
    across = max(box[0] - at[0], 0.0, at[0] - box[2])
    return math.hypot(across, max(box[1] - at[1], 0.0, at[1] - box[3]))


def overlap(one, other):
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]


def check_numbers(scene, subject, edits):
    boxes = number_boxes(scene)
    assert set(boxes) == {str(end) for edge in edits.edges for end in edge}
    places = {item.title: item.at for item in scene.items if isinstance(item, Disc) and item.title}
    for number, box in boxes.items():
        assert gap(box, places[subject.names[int(number)]]) <= CLOSE, number
        assert not any(meets(stroke, box) for stroke in strokes(scene)), number
        signs = [item for item in scene.items if isinstance(item, Disc) and "badge" in item.style]
        assert all(gap(box, sign.at) > sign.radius for sign in signs), number
    for one, other in combinations(boxes.values(), 2):
        assert not overlap(one, other)


@pytest.mark.parametrize("canvas", [Canvas(334, 300), Canvas()], ids=["picture", "page"])
@pytest.mark.parametrize("name", MOLECULES)
def test_a_number_is_close_to_its_atom_and_on_nothing(name, canvas):
    graph, gone, come = inner_edits(MOLECULES[name])
    edits = EditSet(added={come[0]}, removed={gone})
    subject = subject_of(graph, [edits])
    for panel in drawing_of(subject, canvas).panels:
        check_numbers(panel.under(move.key for move in subject.shown), subject, edits)


@pytest.mark.parametrize("name", ["testosterone", "cholesterol", "dexamethasone"])
def test_numbers_of_every_counterfactual_on_a_page_are_on_nothing(name):
    graph, gone, come = inner_edits(MOLECULES[name])
    choices = [EditSet(removed={gone}), EditSet(added={come[0]}), EditSet(added={come[4]})]
    subject = subject_of(graph, choices)
    for panel in drawing_of(subject).panels:
        for edits, moves in zip(choices, subject.choices, strict=True):
            check_numbers(panel.under(move.key for move in moves), subject, edits)
