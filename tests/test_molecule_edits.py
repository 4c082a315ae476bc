"""Typed edits of molecules: what may be done, what comes of it, and that nothing smaller is overlooked."""

import json
import random
import subprocess
import sys

import pytest
import torch
from torch_geometric.data import Data

from conftest import assert_sentence

Chem = pytest.importorskip("rdkit.Chem", reason="needs RDKit: pip install 'edgeflip[chem]'")

from edgeflip import (  # noqa: E402
    ClassGoal,
    Constraints,
    CounterfactualSet,
    EdgeFlip,
    EdgeFlipConfig,
    MoleculeEdits,
    MoleculeMoves,
    Problem,
    explain,
    molecule_graph,
    to_smiles,
    verify_certificate,
)
from edgeflip.core import PAD  # noqa: E402
from edgeflip.datasets import accessibility, molecule_similarity  # noqa: E402
from edgeflip.errors import (  # noqa: E402
    ArtifactError,
    ConfigError,
    ConstraintError,
    EditError,
    GraphError,
    NotApplicableError,
)
from edgeflip.explainers import make_explainer  # noqa: E402
from edgeflip.explainers.random_search import RandomConfig, RandomSearch  # noqa: E402
from small_molecules import all_moves, made_anew, random_oracle, small_smiles  # noqa: E402

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"
DRUGS = (
    ASPIRIN,
    "CN1C=NC2=C1C(=O)N(C(=O)N2C)C",
    "C[C@H](N)C(=O)O",
    "O=S(=O)(N)c1ccc(Cl)cc1",
    "C[N+](C)(C)CC(=O)[O-]",
    "c1ccc2[nH]ccc2c1",
    "O=[N+]([O-])c1ccccc1",
    "CC(C)Cc1ccc(cc1)[C@@H](C)C(O)=O",
    "F/C=C/Cl",
    "CP(=O)(O)OC",
    "C1CC2CCC1C2",
    "[Na+].CC(=O)[O-]",
    "N#Cc1ccsc1",
    "C1C[C@@H](C)CC[C@H]1O",
)


def drawn_sets(space, rng, number):
    """Random sets of one to four moves that the space allows."""
    rows = []
    for size in (1, 2, 3, 4):
        for _ in range(number):
            chosen = rng.sample(space.allowed.tolist(), min(size, len(space.allowed)))
            rows.append(chosen + [PAD] * (4 - len(chosen)))
    rows = space.normalise(torch.tensor(rows))
    return rows[space.check(rows)]


@pytest.mark.parametrize("rings", [None, 1])
def test_features_of_edited_molecules_are_what_their_smiles_would_give(rings):
    rng, seen = random.Random(3), 0
    for smiles in (*DRUGS, *small_smiles(40)):
        space = MoleculeEdits.of(molecule_graph(smiles), MoleculeMoves(rings=rings, charge=rings))
        rows = drawn_sets(space, rng, 10)
        for row, graph in zip(rows, space.apply(rows), strict=True):
            mol = space.molecule(space.edits(row[None])[0])
            text = Chem.MolToSmiles(mol)
            order = list(mol.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])
            anew = molecule_graph(text)
            own = graph.x[order]
            assert torch.equal(own[:, 2:], anew.x[:, 2:]), (smiles, text)
            assert torch.equal(own[:, 0], anew.x[:, 0])
            # Which way a stereocentre turns depends on the order of atoms, that it is one does not.
            assert torch.equal(own[:, 1] > 0, anew.x[:, 1] > 0), (smiles, text)
            place = {node: index for index, node in enumerate(order)}
            bonds = {(place[u], place[v]) for u, v in graph.edge_index.T.tolist()}
            assert bonds == set(map(tuple, anew.edge_index.T.tolist()))
            seen += 1
    assert seen > 500


def test_a_batch_holds_the_graphs_that_are_made_one_by_one():
    space = MoleculeEdits.of(molecule_graph(ASPIRIN))
    rows = drawn_sets(space, random.Random(1), 5)
    batch, start = space.batch(rows), 0
    for number, graph in enumerate(space.apply(rows)):
        own = batch.batch == number
        assert torch.equal(batch.x[own], graph.x)
        edges = batch.edge_index[:, own[batch.edge_index[0]]] - start
        assert torch.equal(edges, graph.edge_index)
        start += len(graph.x)


def test_symmetric_edits_are_made_once():
    def singles(smiles):
        space = MoleculeEdits.of(molecule_graph(smiles), MoleculeMoves(elements=("F",)))
        level = space.level(1)
        rows = level.rows(torch.arange(level.count))
        return {space.smiles(each) for each in space.edits(rows[space.check(rows)])}, int(
            space.check(rows).sum()
        )

    made, count = singles("c1ccccc1")
    assert made == {"Fc1ccccc1", "C1=CCCC=C1"}
    assert count == 2
    space = MoleculeEdits.of(molecule_graph("c1ccccc1"), MoleculeMoves(bond=None, elements=("F",)))
    pairs = space.level(2).rows(torch.arange(space.level(2).count))
    assert len({space.smiles(e) for e in space.edits(pairs[space.check(pairs)])}) == 3
    assert int(space.check(pairs).sum()) == 3


@pytest.mark.parametrize("smiles", ["CC(C)(C)F", "c1ccncc1", "OCCO", "C1CC1C", "CC(F)=O", "NC=O"])
def test_levels_and_what_is_written_apart_agree(smiles):
    for seed in range(4):
        moves = all_moves(seed) if seed else MoleculeMoves()
        space = MoleculeEdits.of(molecule_graph(smiles), moves)
        for cost in (1, 2):
            level = space.level(cost)
            rows = level.rows(torch.arange(level.count))
            found = set(space.edits(rows[space.check(rows)]))
            apart = list(space.plainly(cost))
            assert len(apart) == int(space.check(rows).sum())
            forms = {tuple(space.normalise(space.row(each)[None])[0].tolist()) for each in apart}
            assert forms == {
                tuple(space.normalise(space.row(each)[None])[0].tolist()) for each in found
            }


# The other molecules are gone through by `benchmarks/typed_edits.py brute`.
@pytest.mark.parametrize("start", [0, 10])
def test_brute_force_agrees_with_every_claim_that_nothing_is_smaller(start):
    oracle = random_oracle(1)
    explainer = EdgeFlip(EdgeFlipConfig(certify=1500)).fit([], oracle)
    for place, smiles in list(enumerate(small_smiles(40)))[start : start + 10]:
        check_claim(explainer, oracle, smiles, all_moves(place) if place % 2 else None)


def check_claim(explainer, oracle, smiles, moves):
    """What an answer says of smaller sets, against every molecule that they make."""
    graph = molecule_graph(smiles)
    try:
        space = MoleculeEdits.of(graph, moves)
    except ConstraintError:
        return
    output = oracle.predict_proba([graph])[0]
    goal = ClassGoal(tuple(output.tolist()))
    answer = explainer.solve(Problem(space, goal, output, oracle))
    for cost in range(1, answer.certificate.below):
        made = [each for _, each in made_anew(space, cost)]
        assert len(made) == answer.certificate.tried[cost - 1]
        if made:
            proba = oracle.predict_proba(made)
            sure = (proba[:, 0] - proba[:, 1]).abs() > 1e-4
            assert not bool((goal.reached(proba) & sure).any()), (smiles, cost)
    for entry in answer.counterfactuals:
        again = oracle.predict_proba([molecule_graph(space.smiles(entry.edits))])[0]
        assert torch.allclose(again, torch.tensor(entry.output), atol=1e-4)
        assert entry.cost >= answer.certificate.below


def answered(smiles=ASPIRIN, **options):
    oracle = random_oracle(1)
    return explain(oracle, molecule_graph(smiles), **options), oracle


def test_molecules_are_explained_by_typed_edits_and_others_by_name():
    answer, _ = answered("CC(F)=O")
    assert answer.space.kind == "molecule"
    assert answer.best.possible
    assert answered("CC(F)=O", edits="edges")[0].space.kind == "pairs"
    assert answered("CC(F)=O", chemistry=False)[0].space.kind == "pairs"
    assert answered("CC(F)=O", method="random")[0].space.kind == "molecule"


def test_methods_of_papers_say_which_moves_they_can_make():
    oracle = random_oracle(1)
    explainer = make_explainer("xplore").fit([], oracle)
    with pytest.raises(NotApplicableError) as caught:
        explainer.explain(molecule_graph(ASPIRIN), edits="typed")
    assert_sentence(caught)
    assert explainer.explain(molecule_graph(ASPIRIN), chemistry=True).space.kind == "pairs"


def test_answers_survive_files_and_a_fresh_process(tmp_path):
    answer, oracle = answered("CC(F)=O")
    assert answer.found
    path = answer.save_json(tmp_path / "answer.json")
    script = (
        "import sys; from edgeflip import CounterfactualSet, to_smiles;"
        "answer = CounterfactualSet.load_json(sys.argv[1]); print(to_smiles(answer))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == to_smiles(answer)
    again = CounterfactualSet.from_dict(json.loads(path.read_text()))
    assert again.summary() == answer.summary()
    assert verify_certificate(again, oracle) >= 1


def test_limits_are_kept():
    graph = molecule_graph("CC(=O)Oc1ccccc1C(=O)O")
    rng = random.Random(5)
    base = MoleculeEdits.of(graph).molecule()

    def made(constraints=None, **moves):
        space = MoleculeEdits.of(graph, MoleculeMoves(**moves), constraints or Constraints())
        rows = drawn_sets(space, rng, 15)
        rows = [row for row in rows if space.rules_allow(row)]
        assert rows
        return [space.edits(row[None])[0] for row in rows], [
            space.molecule(space.edits(row[None])[0]) for row in rows
        ]

    from rdkit.Chem.Descriptors import MolWt
    from rdkit.Chem.Scaffolds.MurckoScaffold import MurckoScaffoldSmiles

    _, mols = made(keep_scaffold=True)
    wanted = MurckoScaffoldSmiles(mol=base)
    assert {MurckoScaffoldSmiles(mol=mol) for mol in mols} == {wanted}
    _, mols = made(max_weight=190.0)
    assert max(map(MolWt, mols)) <= 190.0
    _, mols = made(min_similarity=0.4)
    assert min(molecule_similarity(base, mol) for mol in mols) >= 0.4
    _, mols = made(max_accessibility=2.0)
    assert max(map(accessibility, mols)) <= 2.0
    edits, _ = made(elements=("C", "N"))
    assert {
        move.to.removeprefix("=") for each in edits for move in each.moves if move.kind == "attach"
    } <= {"C", "N"}
    edits, _ = made(Constraints(frozen_nodes={0, 1}, frozen_edges={(3, 4)}, max_edits=2))
    for each in edits:
        assert each.cost <= 2
        assert not {0, 1} & {node for move in each.moves for node in move.atoms}
        assert (3, 4) not in {move.atoms for move in each.moves}
    for name in ("bond", "replace", "attach", "drop"):
        edits, _ = made(**{name: None})
        assert name not in {move.kind for each in edits for move in each.moves}


def test_costs_count_and_several_answers_differ():
    answer, _ = answered("CC(F)=O", edits=MoleculeMoves(replace=3), number=3)
    for entry in answer.counterfactuals:
        assert entry.cost == sum(3 if move.kind == "replace" else 1 for move in entry.edits.moves)
    made = [to_smiles(answer, entry) for entry in answer.counterfactuals]
    assert len(set(made)) == len(made)


def test_a_function_makes_the_features_too():
    def counted(mol):
        x = torch.tensor([[a.GetAtomicNum(), a.GetTotalNumHs()] for a in mol.GetAtoms()]).float()
        ends = [[b.GetBeginAtomIdx(), b.GetEndAtomIdx()] for b in mol.GetBonds()]
        both = sorted([*ends, *([v, u] for u, v in ends)])
        return Data(x=x, edge_index=torch.tensor(both).T.contiguous())

    graph = counted(Chem.MolFromSmiles("CCO"))
    graph.smiles = "CCO"

    def has_oxygen(graphs):
        found = torch.tensor([float((each.x[:, 0] == 8).any()) for each in graphs])
        return torch.stack([1 - found, found], dim=1)

    from edgeflip import ModelOracle

    oracle = ModelOracle(has_oxygen, returns="probabilities", num_classes=2)
    answer = explain(oracle, graph, edits=MoleculeMoves(features=counted))
    assert answer.best.cost == 1
    with pytest.raises(ArtifactError) as caught:
        answer.to_dict()
    assert_sentence(caught)
    with pytest.raises(GraphError) as wrong:
        explain(oracle, graph, edits="typed")
    assert_sentence(wrong)


def test_values_are_goals_of_typed_edits():
    from edgeflip import ModelOracle

    class Weight(torch.nn.Module):
        def forward(self, x, edge_index, batch):
            total = torch.zeros(int(batch.max()) + 1).index_add_(0, batch, x[:, 0] + x[:, 4])
            return total[:, None]

    oracle = ModelOracle(Weight(), task="regression")
    answer = explain(oracle, molecule_graph("CCCC"), target="+10", task="regression")
    assert answer.best.output[0] > answer.output[0] + 10


def test_senseless_wishes_are_sentences():
    graph = molecule_graph(ASPIRIN)
    oracle = random_oracle(1)
    for error, call in (
        (ConfigError, lambda: MoleculeMoves(bond=0)),
        (ConfigError, lambda: MoleculeMoves(elements=("Xx",))),
        (ConfigError, lambda: MoleculeMoves(min_similarity=2)),
        (ConfigError, lambda: MoleculeMoves(features="mine")),
        (ConfigError, lambda: explain(oracle, graph, edits="both")),
        (GraphError, lambda: MoleculeEdits.of(Data(x=torch.ones(2, 9), num_nodes=2))),
        (ConstraintError, lambda: MoleculeEdits.of(graph, None, Constraints(max_added=1))),
        (ConstraintError, lambda: MoleculeEdits.of(graph, None, Constraints(frozen_nodes={99}))),
        (EditError, lambda: MoleculeEdits.of(graph).row(None)),
    ):
        with pytest.raises(error) as caught:
            call()
        assert_sentence(caught)


def test_random_search_tries_all_of_a_cost_and_says_so():
    oracle = random_oracle(1)
    explainer = RandomSearch(RandomConfig(max_removed=1, max_added=0)).fit([], oracle)
    for smiles in small_smiles(12):
        answer = explainer.explain(molecule_graph(smiles), chemistry=True)
        if not answer.found:
            space = answer.space
            assert answer.certificate.tried == (len(list(space.plainly(1))),)


def test_noise_on_the_input_is_noise_on_edited_molecules():
    answer, _ = answered("CC(F)=O", robust=4)
    assert 0 <= answer.best.robustness <= 1


def test_hydrogens_that_are_nodes_come_and_go_with_the_atoms():
    from collections import Counter

    from edgeflip.datasets.molecules import mutag0_graph

    def seen(graph):
        kinds = graph.x.argmax(dim=1).tolist()
        near = {node: [] for node in range(len(kinds))}
        for u, v in graph.edge_index.T.tolist():
            near[u].append(kinds[v])
        return Counter((kinds[node], tuple(sorted(near[node]))) for node in near)

    rng = random.Random(7)
    for smiles in ("CCO", "c1ccccc1[N+](=O)[O-]", "CC(Cl)=O", "NCCS"):
        space = MoleculeEdits.of(mutag0_graph(smiles))
        rows = drawn_sets(space, rng, 8)
        for row, graph in zip(rows, space.apply(rows), strict=True):
            text = space.smiles(space.edits(row[None])[0])
            assert seen(graph) == seen(mutag0_graph(text)), text


def test_bond_orders_are_inferred_only_where_they_follow():
    from edgeflip.datasets.molecules import mutag0_graph

    for smiles, follows in (("CC(=O)N", True), ("c1ccccc1[N+](=O)[O-]", True), ("C=CC=C", True)):
        graph = mutag0_graph(smiles)
        del graph.read_from
        space = MoleculeEdits.of(graph)
        assert follows
        assert space.smiles() == to_smiles(molecule_graph(smiles))
    # Two ways to place the double bonds of an eight-ring, which is not aromatic.
    graph = mutag0_graph("C1=CC=CC=CC=C1")
    del graph.read_from
    with pytest.raises(GraphError) as caught:
        MoleculeEdits.of(graph)
    assert_sentence(caught)
