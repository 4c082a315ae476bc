"""Molecules stay molecules: valences, connectedness, rings, and the way back to SMILES."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from torch_geometric.data import Data

from conftest import assert_sentence, make_graph
from edgeflip import Constraints, EditSet, ModelOracle, PairEdits, PairSpace, make_explainer
from edgeflip.datasets import chemist_for, load_dataset
from edgeflip.datasets.catalogue import catalogue
from edgeflip.datasets.chemistry import (
    NoSmallRing,
    molecule,
    molecule_constraints,
    molecule_graph,
    to_smiles,
    valid_share,
)
from edgeflip.datasets.edited_molecules import edited_molecule
from edgeflip.errors import GraphError
from edgeflip.oracle.gcn import GCNClassifier
from edgeflip.search import Certificate, proof_in_words

Chem = pytest.importorskip("rdkit.Chem", reason="needs RDKit: pip install 'edgeflip[chem]'")

DATA_DIR = os.environ.get("EDGEFLIP_DATA")


def canonical(smiles):
    return Chem.MolToSmiles(Chem.MolFromSmiles(smiles))


def edited(smiles, added=(), removed=()):
    return EditSet(added, removed).apply(molecule_graph(smiles))


@pytest.mark.parametrize(
    "smiles",
    [
        "CCO",
        "c1ccccc1C(=O)[O-]",
        "C[C@H](N)C(=O)O",
        "F/C=C/F",
        "[Na+].[Cl-]",
        "c1cc[nH]c1",
        "C[N+](C)(C)C",
    ],
)
def test_a_molecule_comes_back_as_it_was(smiles):
    assert to_smiles(molecule_graph(smiles)) == canonical(smiles)


@pytest.mark.parametrize(
    ("smiles", "reason"),
    [("C1CC", "ring"), ("", "empty"), ("C(C)(C)(C)(C)C", "valence"), ("not a molecule", "parse")],
)
def test_what_is_no_molecule_is_refused_with_the_reason(smiles, reason, capfd):
    with pytest.raises(GraphError) as error:
        molecule_graph(smiles)
    assert_sentence(error, smiles, reason)
    assert capfd.readouterr().err == ""


def test_an_edited_molecule_has_no_stale_smiles():
    graph = molecule_graph("OC(=O)c1ccccc1")
    cut = EditSet(removed={(1, 3)})
    for edited in (
        cut.apply(graph),
        PairEdits.of(graph).apply(PairEdits.of(graph).row(cut)[None])[0],
    ):
        assert "smiles" not in edited
        assert edited.edited_from == "OC(=O)c1ccccc1"
        assert to_smiles(edited) == "O=CO.c1ccccc1"
    batch = PairEdits.of(graph).batch(PairEdits.of(graph).row(cut)[None])
    assert "smiles" not in batch
    assert graph.smiles == "OC(=O)c1ccccc1"


@pytest.mark.parametrize(
    ("smiles", "added", "removed", "after"),
    [
        ("CCCCC", [(0, 4)], [], "C1CCCC1"),
        ("C1CCCC1", [], [(0, 4)], "CCCCC"),
        ("CC=O", [], [(1, 2)], "CC.O"),
        ("OCCCCC", [(0, 4)], [], "CC1CCCO1"),
        ("Cc1ccccc1", [], [(0, 1)], "C.c1ccccc1"),
        ("c1cc[nH]c1CCC", [(3, 7)], [], "c1cc2n(c1)CCC2"),
        ("C[C@H](N)C(=O)O", [], [(1, 2)], "CCC(=O)O.N"),
    ],
)
def test_edits_leave_and_take_hydrogens(smiles, added, removed, after):
    assert to_smiles(edited(smiles, added, removed)) == canonical(after)


def test_a_broken_aromatic_ring_is_still_a_molecule():
    assert Chem.MolFromSmiles(to_smiles(edited("c1ccccc1", removed=[(0, 1)]))) is not None


def test_an_impossible_molecule_is_one_sentence():
    with pytest.raises(GraphError) as error:
        to_smiles(edited("CC(C)(C)C.F", added=[(1, 5)]))
    assert_sentence(error, "valence")


def test_a_graph_that_is_no_molecule_is_one_sentence():
    with pytest.raises(GraphError) as error:
        molecule_constraints(make_graph(3, [(0, 1)]))
    assert_sentence(error, "smiles")


def test_no_bond_to_an_atom_without_a_free_valence():
    graph = molecule_graph("FC(F)(F)CCCCCO")
    constraints = molecule_constraints(graph)
    assert constraints.room[0] == constraints.room[1] == 0
    assert constraints.room[9] == 1
    assert not constraints.allows(graph, EditSet(added={(1, 8)}))
    assert constraints.allows(graph, EditSet(added={(4, 9)}))
    assert not constraints.allows(graph, EditSet(added={(4, 9), (5, 9)}))
    # The oxygen's own bond may move, since the one that goes leaves a place.
    assert constraints.allows(graph, EditSet(added={(4, 9)}, removed={(8, 9)}))


def test_impossible_candidates_are_refused_before_the_oracle_is_asked():
    graph = molecule_graph("FC(F)(F)CCCCCO")
    space = PairSpace.of(graph)
    allowed = molecule_constraints(graph).on(space)
    rows = space.ids_of([(1, 8), (4, 9), (0, 1)])[:, None]
    assert allowed.check(rows).tolist() == [False, True, False]


def test_molecules_stay_in_one_piece_unless_told_otherwise():
    graph = molecule_graph("CCCCCC")
    cut = EditSet(removed={(2, 3)})
    assert not molecule_constraints(graph).allows(graph, cut)
    assert molecule_constraints(graph, keep_connected=False).allows(graph, cut)
    several = molecule_graph("[Cl-].CC[NH3+]")
    assert not molecule_constraints(several).allows(several, EditSet(removed={(1, 2)}))


def test_small_rings_and_aromatic_rings_can_be_ruled_out():
    graph = molecule_graph("CCCCCC")
    triangle = EditSet(added={(0, 2)})
    assert not molecule_constraints(graph).allows(graph, triangle)
    assert molecule_constraints(graph, smallest_ring=3).allows(graph, triangle)
    assert NoSmallRing(5)(graph, EditSet(added={(0, 4)}))
    benzene = molecule_graph("c1ccccc1")
    opened = EditSet(removed={(0, 1)})
    assert molecule_constraints(benzene).allows(benzene, opened)
    assert not molecule_constraints(benzene, keep_aromatic=True).allows(benzene, opened)


def nitrobenzene():
    """As Mutag0 has it: hydrogens are nodes and no bond has an order."""
    mol = Chem.AddHs(Chem.MolFromSmiles("[O-][N+](=O)c1ccccc1"))
    edges = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds()]
    graph = make_graph(mol.GetNumAtoms(), edges)
    graph.z = torch.tensor([atom.GetAtomicNum() for atom in mol.GetAtoms()])
    return graph


def test_bond_orders_are_inferred_where_hydrogens_are_nodes():
    assert to_smiles(nitrobenzene()) == canonical("[O-][N+](=O)c1ccccc1")


@pytest.mark.parametrize(
    "smiles", ["CC#N", "CS(=O)(=O)C", "CN=[N+]=[N-]", "O=C=O", "COP(=O)(OC)OC"]
)
def test_inferred_orders_of_other_groups(smiles):
    mol = Chem.AddHs(Chem.MolFromSmiles(smiles))
    edges = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in mol.GetBonds()]
    graph = make_graph(mol.GetNumAtoms(), edges)
    graph.z = torch.tensor([atom.GetAtomicNum() for atom in mol.GetAtoms()])
    assert to_smiles(graph) == canonical(smiles)


def test_hydrogens_that_are_nodes_stay_and_nothing_has_a_free_valence():
    graph = nitrobenzene()
    constraints = molecule_constraints(graph, keep_connected=False)
    hydrogens = {node for node in range(graph.num_nodes) if int(graph.z[node]) == 1}
    assert constraints.frozen_nodes == hydrogens
    assert set(constraints.room.values()) == {0}
    assert constraints.allows(graph, EditSet(removed={(1, 3)}))
    assert not constraints.allows(graph, EditSet(added={(0, 4)}))
    assert to_smiles(EditSet(removed={(1, 3)}).apply(graph)).split(".")[1] == "c1ccccc1"


def test_where_hydrogens_are_no_nodes_their_places_are_free_with_atomic_numbers_alone_too():
    ether = make_graph(3, [(0, 1), (1, 2)])
    ether.z = torch.tensor([6, 8, 6])
    constraints = molecule_constraints(ether)
    assert constraints.room == {0: 3, 1: 0, 2: 3}
    moved = EditSet(added={(0, 2)}, removed={(0, 1)})
    assert constraints.allows(ether, moved)
    assert chemist_for(ether).fault(moved) == ""
    assert edited_molecule(molecule(ether), moved).smiles == canonical("CCO")


class RingModel(torch.nn.Module):
    """Class 1 for a graph with a cycle: as many edges as nodes."""

    def forward(self, x, edge_index, batch):
        nodes = torch.bincount(batch)
        edges = torch.bincount(batch[edge_index[0]], minlength=len(nodes)) / 2
        return torch.stack([nodes - edges - 0.5, edges - nodes + 0.5], dim=1)


def test_every_counterfactual_is_a_molecule_and_survives_json(tmp_path):
    graph = molecule_graph("CC(C)CCCCO")
    explainer = make_explainer("random", overrides={"stop_at_first": False, "max_removed": 1})
    explainer = explainer.fit([], ModelOracle(RingModel()))
    answer = explainer.explain(graph, constraints=molecule_constraints(graph), keep=50)
    assert answer.found
    for entry in answer.counterfactuals:
        mol = Chem.MolFromSmiles(to_smiles(answer, entry))
        assert mol.GetNumAtoms() == graph.num_nodes
        assert mol.GetRingInfo().NumRings() >= 1
    back = type(answer).load_json(answer.save_json(tmp_path / "a.json"))
    assert to_smiles(back) == to_smiles(answer)
    assert back.space.constraints.keep_connected


@pytest.mark.skipif(
    not DATA_DIR or bool(catalogue()["mutag0"].missing(Path(DATA_DIR))),
    reason="set EDGEFLIP_DATA to a folder with mutag0/; see docs/guides/data.md",
)
def test_most_of_mutag0_has_possible_bond_orders():
    graphs = load_dataset("mutag0", DATA_DIR).graphs[::20]
    possible = 0
    for graph in graphs:
        try:
            molecule(graph)
            possible += 1
        except GraphError:
            pass
    assert possible > 0.93 * len(graphs)


def test_both_constraints_hold_at_once():
    graph = molecule_graph("CCCCCC")
    both = molecule_constraints(graph) & Constraints(max_edits=1, allow_removals=False)
    assert both.max_edits == 1
    assert both.keep_connected
    assert len(both.rules) == 3
    assert not both.allow_removals


def test_the_oracle_ignores_the_smiles():
    graph = molecule_graph("CCO")
    bare = Data(x=graph.x, edge_index=graph.edge_index)
    oracle = ModelOracle(GCNClassifier(num_features=9, num_classes=2))
    assert torch.equal(oracle.predict_proba([graph]), oracle.predict_proba([bare]))


def test_the_share_of_possible_molecules_is_counted():
    benzene = molecule_graph("c1ccccc1")
    neopentane = molecule_graph("CC(C)(C)C")
    # The middle carbon of neopentane has four bonds already; a fifth is impossible.
    with_methane = molecule_graph("CC(C)(C)C.C")
    impossible = EditSet(added={(1, 5)}).apply(with_methane)
    assert valid_share([]) is None
    assert valid_share([benzene, neopentane]) == 1.0
    assert valid_share([benzene, impossible]) == 0.5


def test_a_proof_under_chemistry_is_told_in_plain_words_and_kept_exactly():
    graph = molecule_graph("NC1=NC(=O)N(C=C1)CCO")
    limits = molecule_constraints(graph)
    space = PairEdits.of(graph, limits)
    assert space.conditions_in_short == "under the rules of chemistry"
    assert space.conditions.startswith("limited room for new edges at nodes 0–")
    entry = SimpleNamespace(cost=3)
    proof = Certificate(2, (31,), space.conditions)
    answer = SimpleNamespace(space=space, certificate=proof, smallest=entry)
    told = proof_in_words(answer, entry)
    assert told == (
        "No single edit does under the rules of chemistry: all 31 were tried. "
        "Larger sets were tried only in part."
    )
    # A proof under other constraints than the answer's is told as it says itself.
    answer.certificate = Certificate(2, (31,), "at most 9 edits")
    assert proof_in_words(answer, entry).startswith("No single edit does (with at most 9 edits):")
