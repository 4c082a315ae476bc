"""Molecules are drawn as chemists do: letters, orders, wedges, hydrogens that edits leave, faults."""

import math
import re
import sys
from itertools import combinations

import pytest
import torch
from torch_geometric.data import Data

from conftest import make_graph
from edgeflip import EditSet
from edgeflip.datasets import (
    CrowdedAtom,
    edited_molecule,
    molecule,
    molecule_graph,
    molecule_similarity,
    to_smiles,
)
from edgeflip.datasets.chemistry import ImpossibleError
from edgeflip.draw import (
    Canvas,
    Disc,
    Line,
    Picture,
    Shape,
    Words,
    draw_molecule,
    draw_plain,
    drawing_of,
)
from edgeflip.draw.subject import Subject, drawer_name, subject_of
from edgeflip.draw.svg import svg_part

Chem = pytest.importorskip("rdkit.Chem", reason="needs RDKit: pip install 'edgeflip[chem]'")

BENZOIC_ACID = "OC(=O)c1ccccc1"
CHLORIDE = "CCCCl"
TOO_MANY = EditSet(added={(0, 3), (1, 3)})


def drawn(smiles, *edit_sets, canvas=None):
    subject = subject_of(molecule_graph(smiles), list(edit_sets))
    return drawing_of(subject, canvas or Canvas())


def keys_of(edits):
    return [f"{u}-{v}" for u, v in edits.edges]


def shown(scene, kind, style=None, keys=()):
    return [
        item
        for item in scene.under(keys).items
        if isinstance(item, kind) and (style is None or item.style == style)
    ]


def letters(scene, keys=()):
    styles = ("atom", "atom-large", "atom-small", "atom-tiny")
    return sorted(
        item.text for item in shown(scene, Words, keys=keys) if item.runs[0].style in styles
    )


def numbers(scene, keys=()):
    return sorted(
        item.text for item in shown(scene, Words, keys=keys) if item.runs[0].style == "atom-number"
    )


def facts_of(drawing, keys=()):
    return {fact.label: fact.text for fact in drawing.facts[1] if fact.when.holds(keys)}


@pytest.mark.parametrize(
    ("smiles", "expected"),
    [
        ("CCO", ["OH"]),
        ("CCN", ["NH₂"]),
        ("C", ["CH₄"]),
        ("O", ["H₂O"]),
        ("Cl", ["HCl"]),
        ("c1ccccc1", []),
        ("CC(C)=O", ["O"]),
        ("C[N+](C)(C)C", ["N⁺"]),
        ("CC(=O)[O-]", ["O", "O⁻"]),
        ("[Ca+2]", ["Ca²⁺"]),
        ("[13CH3]C", ["¹³CH₃"]),
        ("CC=C=CC", ["C"]),
        ("C[CH2]", ["CH₂•"]),
    ],
)
def test_atoms_have_the_letters_that_chemists_write(smiles, expected):
    found = letters(drawn(smiles).panels[0])
    # Hydrogens stand on the side that is free, which may be the left one.
    turned = {"H₂N": "NH₂", "HO": "OH", "H₃¹³C": "¹³CH₃", "H₂C•": "CH₂•"}
    assert [turned.get(text, text) for text in found] == expected


def test_hydrogens_stand_on_the_side_away_from_neighbours():
    drawing = drawn("NCCO")
    scene = drawing.panels[0]
    words = {item.text: item for item in shown(scene, Words)}
    left, right = sorted(words.values(), key=lambda item: item.at[0])
    assert (left.anchor, right.anchor) == ("end", "start")
    assert {left.text, right.text} in ({"H₂N", "OH"}, {"HO", "NH₂"})


@pytest.mark.parametrize(("smiles", "lines"), [("CC", 1), ("C=C", 2), ("C#C", 3), ("c1ccccc1", 9)])
def test_a_bond_has_as_many_lines_as_its_order(smiles, lines):
    assert len(shown(drawn(smiles).panels[0], Line, "bond")) == lines


def test_the_second_line_of_a_ring_bond_is_shorter_and_inside():
    lines = [line.points for line in shown(drawn("c1ccccc1").panels[0], Line, "bond")]
    outer = [line for line in lines if math.dist(*line) > 40]
    inner = [line for line in lines if math.dist(*line) <= 40]
    assert (len(outer), len(inner)) == (6, 3)
    middle = [sum(point[axis] for line in outer for point in line) / 12 for axis in (0, 1)]
    reach = min(math.dist(point, middle) for line in outer for point in line)
    assert all(math.dist(point, middle) < reach - 2 for line in inner for point in line)


def test_bonds_stop_short_of_letters():
    scene = drawn("CO").panels[0]
    (line,) = shown(scene, Line, "bond")
    places = [disc.at for disc in shown(scene, Disc, "paper")]
    carbon, oxygen = (min(math.dist(place, end) for end in line.points) for place in places)
    assert carbon == pytest.approx(0)
    assert oxygen > 6


def test_stereo_centres_have_wedges_until_an_edit_takes_them():
    edits = EditSet(removed={(1, 2)})
    before, after = drawn("N[C@@H](C)C(=O)O", edits).panels
    keys = keys_of(edits)

    def wedges(scene, keys=()):
        return len(shown(scene, Shape, "wedge", keys)) + bool(shown(scene, Line, "hash", keys))

    assert wedges(before) == wedges(after) == 1
    assert wedges(after, keys) == 0


def test_a_removed_bond_is_marked_before_and_a_ghost_after_and_leaves_hydrogens():
    edits = EditSet(removed={(1, 2)})
    before, after = drawn(BENZOIC_ACID, edits).panels
    keys = keys_of(edits)
    assert letters(before, keys) == ["HO", "O"] or letters(before, keys) == ["O", "OH"]
    assert len(shown(before, Line, "removed", keys)) == 2
    assert len(shown(after, Line, "ghost", keys)) == 1
    assert not shown(after, Line, "removed", keys)
    assert "H₂O" in letters(after, keys)
    assert "H₂O" not in letters(after)
    for panel in (before, after):
        assert len(shown(panel, Disc, "removed-badge", keys)) == 1
        assert not shown(panel, Disc, "removed-badge")
        assert numbers(panel, keys) == ["1", "2"]
        assert numbers(panel) == []


def test_an_added_bond_takes_a_hydrogen_and_is_only_in_the_picture_after():
    edits = EditSet(added={(0, 4)})
    before, after = drawn("OCCCN", edits).panels
    keys = keys_of(edits)
    assert not shown(before, Line, "added", keys)
    assert len(shown(after, Line, "added", keys)) == 1
    assert [sorted(re.sub("[H₂]", "", text)) for text in letters(after, keys)] == [["N"], ["O"]]
    assert sum(text.count("H") for text in letters(after, keys)) == 1
    assert sum("₂" in text for text in letters(after)) == 1


def test_hydrogens_are_right_in_every_state_of_every_counterfactual():
    choices = [EditSet(removed={(0, 1), (1, 2)}, added={(0, 3)}), EditSet(removed={(1, 3), (1, 2)})]
    graph = molecule_graph(BENZOIC_ACID)
    after = drawing_of(subject_of(graph, choices)).panels[1]
    base = molecule(graph)
    for edits in choices:
        for size in range(len(edits) + 1):
            for some in combinations(sorted(edits.edges), size):
                part = EditSet(edits.added & set(some), edits.removed & set(some))
                found = edited_molecule(base, part)
                if found.mol is None:
                    continue
                oxygens = [atom for atom in found.mol.GetAtoms() if atom.GetSymbol() == "O"]
                expected = sorted(atom.GetTotalNumHs() for atom in oxygens)
                texts = [text for text in letters(after, keys_of(part)) if "O" in text]
                counts = sorted(2 if "₂" in text else text.count("H") for text in texts)
                assert counts == expected


def test_nothing_moves_between_before_and_after():
    edits = EditSet(added={(0, 6)}, removed={(1, 3)})
    before, after = drawn(BENZOIC_ACID, edits).panels
    places = [[disc.at for disc in shown(panel, Disc, "paper")] for panel in (before, after)]
    assert places[0] == places[1]
    lines = [set(shown(panel, Line, "bond", keys_of(edits))) for panel in (before, after)]
    assert lines[0] == lines[1]


def test_everything_stays_on_the_canvas():
    for smiles in (BENZOIC_ACID, "C" * 60, "OCC(O)C(O)C(O)C(O)CO"):
        for panel in drawn(smiles, EditSet(removed={(0, 1)})).panels:
            for item in panel.items:
                points = item.points if isinstance(item, Line | Shape) else [item.at]
                assert all(0 <= x <= panel.width and 0 <= y <= panel.height for x, y in points)


def test_an_impossible_molecule_is_drawn_with_a_diamond_and_words():
    drawing, keys = drawn(CHLORIDE, TOO_MANY), keys_of(TOO_MANY)
    before, after = drawing.panels
    assert len(shown(after, Shape, "faulty", keys)) == 1
    assert "3 bonds, room for 1" in [item.text for item in shown(after, Words, keys=keys)]
    assert "2 bonds, room for 1" in [item.text for item in shown(after, Words, keys=keys[:1])]
    assert not shown(after, Shape, "faulty")
    assert not shown(before, Shape, "faulty", keys)
    (fault,) = [fault for fault in drawing.faults if fault.when.holds(keys)]
    assert fault.title == "Not a possible molecule"
    assert fault.text.startswith("atom Cl (3) would have 3 bonds and has room for 1. The model")
    assert not [fault for fault in drawing.faults if fault.when.holds(())]
    assert "diamond" in drawing.caption
    assert facts_of(drawing, keys) == {
        "SMILES": "none: atom Cl (3) would have 3 bonds and has room for 1"
    }


def test_what_rdkit_says_against_a_molecule_is_told(monkeypatch):
    def refuse(base, edits):
        if len(edits):
            raise ImpossibleError("RDKit says 'no'")
        return base

    monkeypatch.setattr("edgeflip.datasets.edited_molecules.with_edits", refuse)
    edits = EditSet(removed={(0, 1)})
    drawing = drawn("CCO", edits)
    assert facts_of(drawing, keys_of(edits)) == {"SMILES": "none: RDKit says 'no'"}
    (fault,) = drawing.faults
    assert fault.text.startswith("RDKit says 'no'. The model was asked")
    assert not shown(drawing.panels[1], Shape, "faulty", keys_of(edits))


def test_an_edited_molecule_names_its_crowded_atoms_and_parts():
    base = molecule(molecule_graph(CHLORIDE))
    crowded = edited_molecule(base, TOO_MANY)
    assert (crowded.mol, crowded.smiles, crowded.parts) == (None, None, None)
    assert crowded.crowded == (CrowdedAtom(3, 3, 1),)
    apart = edited_molecule(base, EditSet(removed={(2, 3)}))
    assert (apart.smiles, apart.parts, apart.crowded) == ("CCC.Cl", 2, ())


def test_facts_are_those_of_every_subset_of_the_edits():
    edits = EditSet(removed={(1, 3), (0, 1)})
    graph = molecule_graph(BENZOIC_ACID)
    drawing = drawing_of(subject_of(graph, [edits]))
    assert [fact.text for fact in drawing.facts[0]] == [to_smiles(graph)]
    for size in range(3):
        for some in combinations(sorted(edits.removed), size):
            part = EditSet(removed=set(some))
            found = facts_of(drawing, keys_of(part))
            edited = part.apply(graph)
            assert found["SMILES"] == to_smiles(edited)
            assert found.get("Parts") == (f"falls into {size + 1} parts" if size else None)
            if size:
                alike = molecule_similarity(molecule(graph), molecule(edited))
                assert found["Similarity"] == f"Tanimoto {alike:.2f} (ECFP4)".replace("0.", ".")


def test_only_one_fact_of_a_kind_is_shown_whichever_counterfactual_is_chosen():
    choices = [EditSet(removed={(0, 1)}), EditSet(removed={(0, 1), (1, 3)})]
    drawing = drawn(BENZOIC_ACID, *choices)
    for edits in choices:
        keys = keys_of(edits)
        labels = [fact.label for fact in drawing.facts[1] if fact.when.holds(keys)]
        assert sorted(labels) == ["Parts", "SMILES", "Similarity"]


def test_of_many_edits_only_the_whole_is_told():
    edits = EditSet(removed={(node, node + 1) for node in range(5)})
    drawing, keys = drawn("CCCCCC", edits), keys_of(edits)
    assert facts_of(drawing, keys)["SMILES"] == "C.C.C.C.C.C"
    assert facts_of(drawing, keys[:2]) == {}


def test_similarity_is_that_of_morgan_fingerprints():
    from rdkit import DataStructs
    from rdkit.Chem import AllChem

    one, other = (Chem.MolFromSmiles(smiles) for smiles in (BENZOIC_ACID, "c1ccccc1"))
    prints = [AllChem.GetMorganFingerprintAsBitVect(mol, 2, 2048) for mol in (one, other)]
    expected = DataStructs.TanimotoSimilarity(*prints)
    assert molecule_similarity(one, other) == pytest.approx(expected)
    assert molecule_similarity(one, one) == 1


def test_hydrogens_that_are_nodes_are_folded_unless_an_edit_is_near():
    methanol = Data(
        z=torch.tensor([6, 8, 1, 1, 1, 1]),
        num_nodes=6,
        edge_index=torch.tensor([[0, 0, 0, 0, 1, 1, 2, 3, 4, 5], [1, 2, 3, 4, 0, 5, 0, 0, 0, 1]]),
    )
    plain = drawing_of(subject_of(methanol, [])).panels[0]
    assert letters(plain) in (["OH"], ["HO"])
    assert len(shown(plain, Line, "bond")) == 1
    edited = drawing_of(subject_of(methanol, [EditSet(removed={(1, 5)})])).panels[0]
    assert letters(edited) == ["H", "O"]
    assert drawing_of(subject_of(methanol, [])).facts[0][0].text == "CO"


def test_the_core_has_heavier_bonds():
    graph = molecule_graph(BENZOIC_ACID)
    subject = Subject(graph, (), frozenset({0, 1}), frozenset({(0, 1)}))
    drawing = drawing_of(subject)
    assert len(shown(drawing.panels[0], Line, "core-bond")) == 1
    assert drawing.caption.startswith("Heavy bonds")


def test_small_pictures_have_no_numbers_and_no_words_about_faults():
    drawing = drawn(CHLORIDE, TOO_MANY, canvas=Canvas(240, 180, small=True))
    after, keys = drawing.panels[1], keys_of(TOO_MANY)
    assert numbers(after, keys) == []
    assert [item.runs[0].style for item in shown(after, Words, keys=keys)] == ["atom-large"]
    assert len(shown(after, Shape, "faulty", keys)) == 1


def test_large_molecules_are_drawn_whole_in_smaller_letters():
    scene = drawn("OCCN" * 18).panels[0]
    assert len(shown(scene, Disc, "paper")) == 72
    assert {item.runs[0].style for item in shown(scene, Words)} <= {"atom-tiny", "atom-small"}


def test_molecules_have_their_own_drawer_and_other_graphs_do_not():
    assert drawer_name(molecule_graph("CC")) == "molecule"
    assert drawer_name(EditSet(removed={(0, 1)}).apply(molecule_graph("CC"))) == "molecule"
    assert drawer_name(Data(z=torch.tensor([6]), num_nodes=1)) == "molecule"
    assert drawer_name(make_graph(3, [(0, 1)])) == "graph"


def impossible_graph():
    graph = make_graph(6, [(0, node) for node in range(1, 6)])
    graph.z = torch.tensor([6, 17, 17, 17, 17, 17])
    return graph


@pytest.mark.parametrize("graph", [impossible_graph(), Data(smiles="no molecule", num_nodes=2)])
def test_what_is_no_molecule_is_drawn_as_a_plain_graph(graph):
    if graph.edge_index is None:
        graph.edge_index = torch.tensor([[0, 1], [1, 0]])
    subject = subject_of(graph, [])
    assert drawing_of(subject) == draw_plain(subject, Canvas())


def test_without_rdkit_molecules_are_plain_graphs(monkeypatch):
    subject = subject_of(molecule_graph("CCO"), [])
    monkeypatch.setitem(sys.modules, "rdkit", None)
    assert draw_molecule(subject, Canvas()) == draw_plain(subject, Canvas())


def test_names_from_data_stay_text():
    graph = molecule_graph("CCO")
    del graph.z
    graph.node_names = ["<script>", "&", "\x00"]
    subject = subject_of(graph, [EditSet(added={(0, 2)})])
    drawing = drawing_of(subject)
    for panel in drawing.panels:
        svg = svg_part(panel, ["0-2"])
        assert "<script>" not in svg
        assert "&lt;script&gt;" in svg
        assert "\x00" not in svg


def test_the_same_molecule_is_drawn_the_same_way():
    edits = EditSet(added={(0, 6)}, removed={(1, 3)})
    assert drawn(BENZOIC_ACID, edits) == drawn(BENZOIC_ACID, edits)


def test_a_molecule_can_be_saved_as_a_picture(tmp_path):
    pytest.importorskip("matplotlib")
    scene = drawn(CHLORIDE, TOO_MANY).panels[1].under(keys_of(TOO_MANY))
    assert Picture(scene).save(tmp_path / "after.png").stat().st_size > 1000
    assert "3 bonds, room for 1" in Picture(scene).svg


@pytest.mark.parametrize("smiles", ["[H][H]", "[2H][2H]", "[H][H].[H][H]", "[2H]O[2H]"])
def test_molecules_without_a_bond_between_heavy_atoms_are_drawn(smiles):
    drawing = drawn(smiles, EditSet(removed={(0, 1)}))
    assert len(shown(drawing.panels[0], Line, "removed", ["0-1"])) == 1
    places = [disc.at for disc in shown(drawing.panels[0], Disc, "paper")]
    assert math.dist(*places[:2]) > 10
    assert all(math.isfinite(part) for place in places for part in place)
