"""SMILES on the command line: in as text, out as text, with an oracle or a model of one's own."""

import json
import re
import sys

import pytest

from edgeflip.cli import main

pytest.importorskip("rdkit", reason="pip install 'edgeflip[chem]'")

ASPIRIN = "CC(=O)Oc1ccccc1C(=O)O"


def run(capsys, *arguments):
    """Exit code, stdout and stderr of one command."""
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return end.value.code or 0, captured.out, captured.err


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A CSV of molecules, an oracle that was trained on it, one of other graphs, and two models."""
    place = tmp_path_factory.mktemp("molecules")
    texts = [text for size in range(3, 23) for text in ("C" * size, "C" * size + "O")]
    lines = [f"{text},{'alcohol' if 'O' in text else 'alkane'}" for text in texts]
    (place / "mols.csv").write_text("smiles,label\n" + "\n".join(lines))
    (place / "mine.py").write_text(MODELS)
    for source, out in ((["--data", place / "mols.csv"], "oracle"), (["ba_2motifs"], "ba")):
        with pytest.raises(SystemExit) as end:
            main(["train", *map(str, source), "--profile", "smoke", "--out", str(place / out)])
        assert not end.value.code
    return place


MODELS = """
import torch


class Oxygens(torch.nn.Module):
    '''Class 0 where oxygens have many bonds.'''

    def __init__(self):
        super().__init__()
        self.shift = torch.nn.Parameter(torch.tensor(0.0))

    def score(self, x, edge_index, batch):
        oxygen = (x[edge_index[0], 0] == 8).float()
        bonds = torch.zeros(int(batch.max()) + 1).index_add_(0, batch[edge_index[0]], oxygen)
        return torch.stack([bonds - self.shift, self.shift - bonds], dim=1)

    def forward(self, x, edge_index, batch):
        return self.score(x, edge_index, batch)


class Bonds(Oxygens):
    def forward(self, x, edge_index, edge_attr, batch):
        assert edge_attr.size(1) == 3
        return self.score(x, edge_index, batch)


def build():
    return Oxygens()


def bonds():
    return Bonds()


def broken():
    return torch.nn.Linear(2, 2)
"""


@pytest.fixture(scope="module")
def weights(folder):
    """Weights without which the model finds nothing to flip."""
    import torch
    from safetensors.torch import save_file

    save_file({"shift": torch.tensor(4.5)}, folder / "w.safetensors")
    return folder / "w.safetensors"


def test_a_smiles_goes_in_and_a_sentence_two_smiles_and_a_similarity_come_out(
    capsys, folder, weights, tmp_path
):
    from rdkit import Chem

    from edgeflip.datasets import molecule_similarity

    model = ("--model", f"{folder / 'mine.py'}:build", "--weights", weights)
    page = tmp_path / "why.html"
    code, out, _ = run(capsys, "explain", "--smiles", ASPIRIN, *model, "--edges", "--out", page)
    assert code == 0
    assert out.startswith(f"{ASPIRIN}: ")
    assert "turns" in out
    # The table names atoms as the sentence does.
    first = next(line for line in out.splitlines() if line.split()[:1] == ["1"])
    assert re.search(r"[CO] \(\d+\)–[CO] \(\d+\)", first)
    labels = ("SMILES", "becomes", "Tanimoto")
    lines = dict(line.split(maxsplit=1) for line in out.splitlines() if line.startswith(labels))
    assert lines["SMILES"] == ASPIRIN
    before, after = (Chem.MolFromSmiles(lines[word]) for word in ("SMILES", "becomes"))
    assert after is not None
    assert float(lines["Tanimoto"].split()[0]) == pytest.approx(
        molecule_similarity(before, after), abs=0.00501
    )
    # Between atoms the page may break the line.
    assert lines["becomes"] in page.read_text(encoding="utf-8").replace("<wbr>", "")


def test_typed_edits_are_the_default_and_told_as_a_chemist_would(capsys, folder, weights, tmp_path):
    model = ("--model", f"{folder / 'mine.py'}:build", "--weights", weights)
    page = tmp_path / "why.html"
    code, out, _ = run(capsys, "explain", "--smiles", ASPIRIN, *model, "--out", page)
    assert code == 0
    assert re.search(r"^(Adding|Replacing|Dropping|Making) ", out.removeprefix(f"{ASPIRIN}: "))
    labels = ("SMILES", "becomes", "Tanimoto", "SA score")
    assert all(any(line.startswith(label) for line in out.splitlines()) for label in labels)
    assert page.read_text(encoding="utf-8").count("<svg") >= 1
    code, out, _ = run(capsys, "explain", "--smiles", ASPIRIN, *model, "--json")
    told = json.loads(out)
    assert told["answer"]["space"]["kind"] == "molecule"
    assert len(told["accessibility"]) == 2


def test_in_80_columns_no_word_is_broken(capsys, monkeypatch):
    from rich.console import Console

    from edgeflip import Constraints, explain
    from edgeflip.cli import console
    from edgeflip.cli.explain import _show_counterfactuals
    from edgeflip.testing import example_graphs, example_oracle

    def many(graph, edits):
        return len(edits.added) >= 2 and len(edits.removed) >= 3

    answer = explain(
        example_oracle().model,
        example_graphs(1, seed=4)[0],
        class_names=["permeable", "not permeable"],
        constraints=Constraints(rules=(many,)),
    )
    assert answer.smallest.size >= 5
    monkeypatch.setattr(console, "_stdout", lambda: Console(width=80, highlight=False))
    _show_counterfactuals(answer, 5)
    out = capsys.readouterr().out
    assert re.search(r"smallest\b", out)
    assert re.search(r"\bpermeable\b", out)
    assert max(map(len, out.splitlines())) <= 80
    assert not re.search(r"permeabl\b|smalles\b", out)


@pytest.mark.parametrize(
    ("ending", "start"), [("svg", b"<svg"), ("png", b"\x89PNG"), ("json", b"{")]
)
def test_an_oracle_of_molecules_needs_no_data(capsys, folder, tmp_path, ending, start):
    if ending == "png":
        pytest.importorskip("matplotlib")
    path = tmp_path / f"why.{ending}"
    oracle = ("--oracle", folder / "oracle", "--no-chemistry")
    code, out, _ = run(capsys, "explain", "--smiles", "CCCCO", *oracle, "--out", path)
    assert code in (0, 1)  # a smoke oracle may be one that nothing flips
    assert "SMILES    CCCCO" in out
    assert "alcohol" in out or "alkane" in out
    assert path.read_bytes().startswith(start)


def test_the_graph_is_that_of_the_dataset(capsys, folder):
    from edgeflip import CounterfactualSet, load_graphs

    bundle = load_graphs(folder / "mols.csv")
    options = ("--oracle", folder / "oracle", "--json", "--calls", 1)
    _, out, _ = run(capsys, "explain", "--smiles", "CCCO", *options)
    explained = CounterfactualSet.from_dict(json.loads(out)["answer"])
    (same,) = [graph for graph in bundle.graphs if graph.smiles == "CCCO"]
    assert explained.graph.x.equal(same.x)
    assert explained.graph.edge_index.equal(same.edge_index)
    assert json.loads(out)["molecule"] == "CCCO"
    # Named data and its oracle alone ask the same model about the same graph.
    _, out, _ = run(capsys, "explain", "--data", folder / "mols.csv", "--smiles", "CCCO", *options)
    again = CounterfactualSet.from_dict(json.loads(out)["answer"])
    assert again.output == explained.output


def test_a_class_is_wanted_by_its_name(capsys, folder):
    options = ("--oracle", folder / "oracle", "--json", "--no-chemistry")
    _, out, _ = run(capsys, "explain", "--smiles", "CCCO", *options)
    predicted = json.loads(out)["answer"]["output"]
    other = ("alcohol", "alkane")[predicted.index(min(predicted))]
    code, out, _ = run(capsys, "explain", "--smiles", "CCCO", *options, "--target", other)
    assert code in (0, 1)
    assert json.loads(out)["answer"]["goal"]["target"] == predicted.index(min(predicted))


def test_several_molecules_become_a_gallery_and_files_of_their_own(
    capsys, folder, weights, tmp_path
):
    model = ("--model", f"{folder / 'mine.py'}:build", "--weights", weights)
    both = ("--smiles", ASPIRIN, "--smiles", "OCCOCCO", *model)
    where = ("--out", tmp_path / "answers", "--html", tmp_path / "why.html")
    code, out, _ = run(capsys, "explain", *both, *where)
    assert code == 0
    assert out.count("becomes   ") == 2
    assert len(list((tmp_path / "answers").glob("*.json"))) == 2
    assert len(list((tmp_path / "why").glob("*.html"))) == 2


def test_a_model_that_wants_attributes_of_bonds_gets_them(capsys, folder, weights):
    model = ("--model", f"{folder / 'mine.py'}:bonds", "--weights", weights)
    code, out, _ = run(capsys, "explain", "--smiles", ASPIRIN, *model)
    assert code == 0
    assert "becomes   " in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--smiles", "C1CC"], "expected a SMILES that is a molecule, got 'C1CC'"),
        (["--smiles", ""], "it is empty"),
        (["--smiles", "CCO ethanol"], "drop the text after its first space"),
        (["--smiles", "CC\tfoo"], "drop the text after its first space"),
        (["--smiles", "CCO", "--index", "0"], "expected --smiles or --index, got both"),
        (["--smiles", "CCO", "--graph", "g.json"], "expected --smiles or --graph, got both"),
        ([], "expected --index, --graph, --smiles or --all, got none"),
        (["--smiles", "CCO", "--target", "ketone"], "classes are 0 alcohol, 1 alkane"),
        (["--smiles", "C"], "at least two nodes"),
    ],
)
def test_a_mistake_with_a_molecule_is_one_sentence(capsys, folder, arguments, told):
    code, out, error = run(capsys, "explain", "--oracle", folder / "oracle", *arguments)
    assert code == 2
    assert out == ""
    assert told in error
    assert re.fullmatch(r"error: .*expected .+ got .+\.\n", error), error


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ([], "expected a model to ask about --smiles, got none"),
        (
            ["--oracle", "{}/ba"],
            "expected an oracle of molecules for --smiles, got one of 'ba_2motifs'",
        ),
        (["ba_2motifs", "--oracle", "{}/ba"], "expected a dataset of molecules for --smiles"),
        (["--model", "{}/mine.py:broken"], "--model and --smiles: "),
    ],
)
def test_who_cannot_be_asked_about_a_molecule_is_told_in_one_sentence(
    capsys, folder, arguments, told
):
    words = [word.format(folder) for word in arguments]
    code, out, error = run(capsys, "explain", "--smiles", "CCO", *words)
    assert code == 2
    assert out == ""
    assert told in error
    assert "Traceback" not in error


def test_an_oracle_of_other_graphs_with_as_many_features_is_refused(capsys, folder, tmp_path):
    from edgeflip import bundle_from
    from edgeflip.datasets import load_graphs
    from edgeflip.training import train_and_save

    molecules = load_graphs(folder / "mols.csv")
    train_and_save(
        bundle_from(molecules.graphs, class_names=["a", "b"]), tmp_path / "plain", profile="smoke"
    )
    code, _, error = run(capsys, "explain", "--smiles", "CCO", "--oracle", tmp_path / "plain")
    assert code == 2
    assert "expected an oracle of molecules" in error


def test_mutag0_gets_hydrogens_as_nodes_and_its_ten_atoms():
    from edgeflip.datasets import smiles_reader, to_smiles
    from edgeflip.errors import GraphError

    reader = smiles_reader("mutag0")
    graph = reader("Nc1ccccc1[N+](=O)[O-]")
    assert graph.x.shape == (16, 10)
    assert graph.num_edges == 32
    assert sorted(graph.z.tolist()).count(1) == 6
    assert bool((graph.x.sum(dim=1) == 1).all())
    assert to_smiles(graph) == "Nc1ccccc1[N+](=O)[O-]"
    with pytest.raises(GraphError, match="got Na in"):
        reader("[Na+].[Cl-]")


@pytest.mark.parametrize(
    "smiles",
    ["CC(=O)[O-]", "C[n+]1ccccc1", "[C-]#[N+]C", "C[NH3+].[Cl-]", "[CH2]C", "N#[N+]c1ccccc1"],
)
def test_mutag0_keeps_the_molecule_that_was_given(smiles):
    from rdkit import Chem

    from edgeflip import EditSet
    from edgeflip.core.graph_json import graph_from_dict, graph_to_dict
    from edgeflip.datasets import edited_molecule, molecule, smiles_reader, to_smiles

    def charge(mol):
        return sum(atom.GetFormalCharge() for atom in mol.GetAtoms())

    given = Chem.MolFromSmiles(smiles)
    graph = graph_from_dict(graph_to_dict(smiles_reader("mutag0")(smiles)))
    assert to_smiles(graph) == Chem.MolToSmiles(given)
    edits = EditSet(removed={(0, 1)})
    edited = edits.apply(graph)
    assert edited.num_edges == graph.num_edges - 2
    assert charge(molecule(edited)) == charge(given)
    assert to_smiles(edited) == edited_molecule(molecule(graph), edits).smiles


def test_what_to_try_next_names_the_molecule(capsys, folder):
    options = ("--oracle", folder / "oracle", "--calls", 1)
    code, _, error = run(capsys, "explain", "--smiles", "CCCO", "--smiles", "CCO", *options)
    assert code == 1
    commands = [line for line in error.splitlines() if line.startswith("  edgeflip explain")]
    assert commands
    assert all(line.count("--smiles") == 1 for line in commands)


def test_rdkit_is_named_where_it_is_missing(capsys, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "rdkit", None)
    code, _, error = run(capsys, "explain", "--smiles", "CCO", "--oracle", folder / "oracle")
    assert code == 2
    assert "edgeflip[chem]" in error
