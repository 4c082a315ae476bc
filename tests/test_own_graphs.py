"""Your own graphs: every kind of input, every mistake in one sentence, and the command line."""

import gzip
import json
import pickle
from pathlib import Path

import networkx as nx
import pytest
import torch
from safetensors.torch import save_file

from conftest import assert_sentence, make_graph
from edgeflip import bundle_from, load_graphs, read_graph
from edgeflip.cli import main
from edgeflip.datasets import stratified_split
from edgeflip.errors import DatasetError
from edgeflip.oracle.gcn import GCNClassifier

DOCS = Path(__file__).parent.parent / "docs"
RINGS = [f"C1{'C' * size}C1{tail}" for size in range(3, 9) for tail in ("", "O", "N", "C", "CC")]
CHAINS = [f"{'C' * size}{tail}" for size in range(5, 11) for tail in ("", "O", "N", "C(C)C", "CO")]


def needs_rdkit():
    pytest.importorskip("rdkit", reason="needs RDKit: pip install 'edgeflip[chem]'")


def write_csv(path, rows, header="smiles,label"):
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


def molecules_csv(path):
    rows = [f"{smiles},ring" for smiles in RINGS] + [f"{smiles},chain" for smiles in CHAINS]
    return write_csv(path, rows)


def some_graphs(count=10):
    return [make_graph(4, [(0, 1), (1, 2)], seed=seed) for seed in range(count)]


def test_pyg_graphs_with_their_own_labels():
    graphs = some_graphs()
    for place, graph in enumerate(graphs):
        graph.y = torch.tensor([place % 2])
    bundle = bundle_from(graphs, name="mine", class_names=["no", "yes"])
    assert bundle.split.sizes == (8, 1, 1)
    assert bundle.class_names == ("no", "yes")
    assert bundle.graphs[0] is not graphs[0]
    assert bundle.graphs[3].y.tolist() == [1]


def test_networkx_graphs_take_numeric_attributes_as_features():
    graphs = []
    for size in range(4, 14):
        graph = nx.path_graph(size)
        for node in graph:
            graph.nodes[node].update(mass=1.5, charge=node, name="C")
        graphs.append(graph)
    bundle = bundle_from(graphs, ["a", "b"] * 5)
    assert bundle.num_features == 2
    assert bundle.graphs[0].x[3].tolist() == [3.0, 1.5]


def test_labels_that_are_texts_become_class_names_in_the_order_asked_for():
    labels = ["toxic", "safe"] * 5
    assert bundle_from(some_graphs(), labels).class_names == ("safe", "toxic")
    bundle = bundle_from(some_graphs(), labels, class_names=["toxic", "safe"])
    assert bundle.graphs[0].y.item() == 0


def test_a_stratified_split_has_the_same_shares_of_every_class():
    labels = [0] * 90 + [1] * 10
    split = stratified_split(labels)
    assert split.sizes == (80, 10, 10)
    assert [
        sum(labels[place] for place in part) for part in (split.train, split.val, split.test)
    ] == [8, 1, 1]
    bundle = bundle_from(some_graphs(40), ["a"] * 20 + ["b"] * 20, split="stratified")
    assert sum(int(graph.y) for graph in bundle.test) == 2


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["a", None] * 5, "got none for 5 of 10"),
        (["a"] * 9 + ["b"], "1 of class 'b'"),
        (["a"] * 10, "two classes"),
        (["a", "b"], "2 labels for 10 graphs"),
    ],
)
def test_bad_labels_are_one_sentence(labels, words):
    with pytest.raises(DatasetError) as error:
        bundle_from(some_graphs(), labels)
    assert_sentence(error, words)


def test_features_of_differing_width_are_one_sentence():
    graphs = [*some_graphs(9), make_graph(4, [(0, 1)], features=5)]
    with pytest.raises(DatasetError) as error:
        bundle_from(graphs, [0, 1] * 5)
    assert_sentence(error, "5 in graph 9")


def test_a_csv_of_smiles(tmp_path):
    needs_rdkit()
    bundle = load_graphs(molecules_csv(tmp_path / "My-Molecules.csv"), stratified=True)
    assert bundle.name == "my_molecules"
    assert bundle.class_names == ("chain", "ring")
    assert bundle.split.sizes == (48, 6, 6)
    assert bundle.drawing == "molecule"
    assert bundle.constraints_for(bundle.test[0]).keep_connected
    packed = tmp_path / "packed.csv.gz"
    packed.write_bytes(gzip.compress((tmp_path / "My-Molecules.csv").read_bytes()))
    assert load_graphs(packed, chemistry=False).constraints is None
    with_bonds = load_graphs(packed, bonds=True)
    assert with_bonds.graphs[0].edge_attr.size(1) == 3
    assert with_bonds.fill.tolist() == [1, 0, 0]


def test_rows_that_are_no_molecule_are_named_and_left_out_only_when_asked(tmp_path):
    needs_rdkit()
    rows = ["CCO,1", "C1CC,0", "CC,", "CCC,0", "[Na+].[Cl-],1", "CCCC,0"]
    path = write_csv(tmp_path / "m.csv", rows)
    with pytest.raises(DatasetError) as error:
        load_graphs(path)
    assert_sentence(
        error, "2 rows", "row 2 is no molecule: 'C1CC'", "row 3 has no label", "--skip-invalid"
    )
    bundle = load_graphs(path, skip_invalid=True)
    assert len(bundle.graphs) == 4
    assert bundle.card.notes.startswith("2 of 6 rows were left out")


@pytest.mark.parametrize(
    ("header", "words"), [("mol,label", "columns mol, label"), ("smiles,y", "columns smiles, y")]
)
def test_a_csv_without_the_columns_is_one_sentence(tmp_path, header, words):
    with pytest.raises(DatasetError) as error:
        load_graphs(write_csv(tmp_path / "m.csv", ["CC,1"], header))
    assert_sentence(error, words)


def write_tu(folder, edges="1, 2\n2, 1\n3, 4\n4, 3\n5, 6\n6, 5\n7, 8\n8, 7\n"):
    folder.mkdir()
    (folder / "T_A.txt").write_text(edges)
    (folder / "T_graph_indicator.txt").write_text("1\n1\n2\n2\n3\n3\n4\n4\n")
    (folder / "T_graph_labels.txt").write_text("-1\n1\n-1\n1\n")
    (folder / "T_node_labels.txt").write_text("0\n5\n" * 4)
    return folder


def test_a_folder_in_the_format_of_the_tu_collection(tmp_path):
    bundle = load_graphs(write_tu(tmp_path / "T"))
    assert bundle.class_names == ("-1", "1")
    assert [int(graph.y) for graph in bundle.graphs] == [0, 1, 0, 1]
    assert bundle.graphs[2].x.tolist() == [[1, 0], [0, 1]]
    assert bundle.graphs[2].edge_index.tolist() == [[0, 1], [1, 0]]
    with pytest.raises(DatasetError) as error:
        load_graphs(write_tu(tmp_path / "broken", "1, 9\n9, 1\n"))
    assert_sentence(error, "node 9 of 8")


def write_folder(folder, kind):
    folder.mkdir()
    rows = []
    for size in range(4, 10):
        graph = nx.cycle_graph(size) if size % 2 else nx.path_graph(size)
        nx.set_node_attributes(graph, 0.5, "mass")
        file = folder / f"g{size}.{kind}"
        if kind == "json":
            file.write_text(json.dumps(nx.node_link_data(graph, edges="links")))
        else:
            {"graphml": nx.write_graphml, "gexf": nx.write_gexf}[kind](graph, file)
        rows.append(f"{file.name},{'ring' if size % 2 else 'path'}")
    write_csv(folder / "labels.csv", rows, "file,label")
    return folder


@pytest.mark.parametrize("kind", ["json", "graphml", "gexf"])
def test_a_folder_of_graphs_with_a_label_file(tmp_path, kind):
    bundle = load_graphs(write_folder(tmp_path / "set", kind))
    assert bundle.class_names == ("path", "ring")
    assert bundle.num_features == 1
    assert [graph.num_edges // 2 for graph in bundle.graphs] == [3, 5, 5, 7, 7, 9]
    (tmp_path / "set" / f"g4.{kind}").unlink()
    with pytest.raises(DatasetError) as error:
        load_graphs(tmp_path / "set")
    assert_sentence(error, f"no graph g4.{kind}")


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("g.json", '{"num_nodes": 2, "edges": [[0, 2]]}', "got (0, 2)"),
        (
            "g.json",
            '{"nodes": [{"id": "a"}], "links": [{"source": "a", "target": "b"}]}',
            "node 'b'",
        ),
        ("g.json", '{"num_nodes": 2, "edges": [[0, 1]], "x": [[1], [1, 2]]}', "widths [1, 2]"),
        ("g.json", '{"num_nodes": 2, "edges": [[0, 1]], "x": [["a"], ["b"]]}', "numbers"),
        ("g.json", '{"num_nodes": -1, "edges": []}', "got -1"),
        ("g.json", "[1, 2]", "other JSON"),
        ("g.json", "{", "no JSON"),
        (
            "g.graphml",
            '<graphml><graph edgedefault="undirected"><node id="a"/>'
            '<edge source="a" target="b"/></graph></graphml>',
            "node 'b'",
        ),
        ("g.graphml", '<!DOCTYPE x [<!ENTITY a "b">]><graphml/>', "DTD"),
        ("g.gexf", "<gexf", "something else"),
        ("g.txt", "", ".json, .graphml or .gexf"),
    ],
)
def test_a_graph_file_with_a_mistake_is_one_sentence(tmp_path, name, content, words):
    (tmp_path / name).write_text(content)
    with pytest.raises(DatasetError) as error:
        read_graph(tmp_path / name)
    assert_sentence(error, words)


def test_pickles_are_refused_whatever_they_are_called(tmp_path):
    (tmp_path / "graphs.pkl").write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(DatasetError) as error:
        load_graphs(tmp_path / "graphs.pkl")
    assert_sentence(error, "run code")
    (tmp_path / "g.json").write_bytes(pickle.dumps([1, 2]))
    with pytest.raises(DatasetError) as error:
        read_graph(tmp_path / "g.json")
    assert_sentence(error)


def test_links_and_bombs_are_refused(tmp_path, monkeypatch):
    folder = write_folder(tmp_path / "set", "json")
    outside = tmp_path / "outside.json"
    outside.write_text('{"num_nodes": 2, "edges": []}')
    (folder / "g4.json").unlink()
    (folder / "g4.json").symlink_to(outside)
    with pytest.raises(DatasetError) as error:
        load_graphs(folder)
    assert_sentence(error, "a link to")
    bomb = tmp_path / "b.json.gz"
    bomb.write_bytes(gzip.compress(b" " * 10_000))
    monkeypatch.setenv("EDGEFLIP_MAX_FILE_BYTES", "1000")
    with pytest.raises(DatasetError) as error:
        read_graph(bomb)
    assert_sentence(error, "1,000 bytes")


def run(*arguments):
    with pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    return end.value.code


def test_train_and_explain_own_molecules_on_the_command_line(tmp_path, capsys, monkeypatch):
    needs_rdkit()
    monkeypatch.chdir(tmp_path)
    molecules_csv(tmp_path / "my.csv")
    assert run("train", "--data", "my.csv", "--out", "o", "--profile", "smoke") == 0
    code = run(
        "explain", "--data", "my.csv", "--oracle", "o", "--index", 0, "--profile", "smoke", "--json"
    )
    out = capsys.readouterr().out.splitlines()[-1]
    assert code in (0, 1)
    assert json.loads(out)["dataset"] == "my"
    assert run("explain", "--data", "my.csv", "bbbp", "--index", 0) == 2
    assert run("explain", "--index", 0) == 2


MODEL = """
from edgeflip import GCNClassifier

def build():
    return GCNClassifier(num_features=1, num_classes=2)
"""


def test_explain_an_own_model_and_graph_on_the_command_line(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("m.py").write_text(MODEL)
    torch.manual_seed(0)
    save_file(GCNClassifier(num_features=1, num_classes=2).state_dict(), "w.safetensors")
    Path("g.json").write_text(json.dumps({"num_nodes": 4, "edges": [[0, 1], [1, 2]]}))
    own = ["explain", "--model", "m.py:build", "--weights", "w.safetensors"]
    assert run(*own, "--graph", "g.json", "--json") in (0, 1)
    assert json.loads(capsys.readouterr().out)["graph"] == "g.json"
    for wrong, words in [
        (["--graph", "none.json"], "none.json"),
        (["--index", "0"], "--data for --index"),
        ([], "expected --index, --graph, --smiles or --all, got none"),
    ]:
        assert run(*own, *wrong) == 2
        assert words in capsys.readouterr().err
    torch.save({}, "w.pt")
    assert run("explain", "--model", "m.py:build", "--weights", "w.pt", "--graph", "g.json") == 2
    assert "pickles are never read" in capsys.readouterr().err
    assert run("explain", "--model", "m.py:none", "--graph", "g.json") == 2
