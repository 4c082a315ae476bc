"""Data sets of PyG and OGB by name, from small files in their own formats; nothing is downloaded."""

import os
import sys
import types

import pytest
import torch
from torch_geometric.datasets import TUDataset

from conftest import assert_sentence
from edgeflip import list_datasets, load_dataset, make_explainer, train_oracle
from edgeflip.cli import main
from edgeflip.datasets import canonical_name, check_dataset, fetch_dataset
from edgeflip.errors import ConfigError, DatasetError, UnknownNameError
from raw_files import (
    small_smiles,
    write_esol,
    write_ogb,
    write_superpixels,
    write_tox21,
    write_tu,
)

MODEL = """
import torch
from torch_geometric.nn import GCN, global_mean_pool


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.gcn = GCN(9, 8, num_layers=2, out_channels=1)

    def forward(self, x, edge_index, batch):
        return global_mean_pool(self.gcn(x.float(), edge_index), batch)
"""


def needs_rdkit():
    pytest.importorskip("rdkit", reason="needs RDKit: pip install 'edgeflip[chem]'")


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """PyG and OGB download through these two."""

    def refuse(*args, **options):
        raise OSError("no network here")

    monkeypatch.setattr("urllib.request.urlopen", refuse)
    monkeypatch.setattr("torch_geometric.io.fs.cp", refuse)


def run(arguments, code=0):
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == code


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("TU:IMDB-BINARY", "tu:IMDB-BINARY"),
        ("MoleculeNet:Tox21/NR-AR", "moleculenet:tox21/NR-AR"),
        ("gnnbench:mnist", "gnnbench:MNIST"),
        ("ogb:molhiv", "ogb:ogbg-molhiv"),
        ("ogb:OGBG_molhiv", "ogb:ogbg-molhiv"),
    ],
)
def test_a_name_has_one_spelling(name, written):
    assert canonical_name(name) == written == canonical_name(written)
    check_dataset(name)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("tu:", UnknownNameError, "after 'tu:', got none"),
        ("tu:../../etc", UnknownNameError, "a name of the TU collection"),
        ("gnnbench:CSL", DatasetError, "pickles"),
        ("gnnbench:PATTERN", DatasetError, "those of nodes"),
        ("ogb:code2", DatasetError, "sequences of words"),
    ],
)
def test_names_that_cannot_be_are_one_sentence_before_anything_is_loaded(name, kind, words):
    with pytest.raises(kind) as error:
        check_dataset(name)
    assert_sentence(error, words)


@pytest.mark.parametrize(
    ("name", "near"),
    [("gnnbenhc:MNIST", "gnnbench"), ("moleculenet:tox22", "tox21"), ("ogb:molhvi", "ogbg-molhiv")],
)
def test_misspelt_names_are_answered_with_the_nearest_one(name, near):
    with pytest.raises(UnknownNameError, match=f"did you mean '{near}'"):
        load_dataset(name)


def test_a_tu_set_from_its_files(tmp_path):
    write_tu(tmp_path, parts=("node_labels", "node_attributes", "edge_labels"))
    bundle = load_dataset("tu:TINY", tmp_path)
    assert (bundle.name, bundle.folder_name) == ("tu:TINY", "tu-TINY")
    assert bundle.split.sizes == (32, 4, 4)
    assert bundle.num_features == 3
    assert bundle.fill == "mode"
    assert bundle.graphs[1].num_edges == 10
    for words in (
        "The 2 node attributes beside the node labels are left out.",
        "edges went one way",
        "An added edge gets the attributes that most edges",
    ):
        assert words in bundle.card.notes
    fitted = make_explainer("random", profile="smoke").fit(
        bundle.train, train_oracle(bundle, profile="smoke")
    )
    assert len(fitted.explain(bundle.test[0], fill=bundle.fill).output) == 2


def test_attributes_stand_in_for_labels_that_a_tu_set_does_not_have(tmp_path):
    write_tu(tmp_path, parts=("node_attributes", "edge_attributes"))
    bundle = load_dataset("tu:TINY", tmp_path)
    assert bundle.num_features == 2
    assert bundle.graphs[0].edge_attr.size(1) == 1
    assert bundle.fill == "mean"


def test_a_tu_set_of_nothing_but_edges_gets_ones_and_no_edge_attributes(tmp_path):
    write_tu(tmp_path)
    bundle = load_dataset("tu:TINY", tmp_path)
    assert bundle.graphs[0].x.tolist() == [[1.0]] * 4
    assert bundle.fill is None


def test_one_label_of_tox21(tmp_path):
    needs_rdkit()
    write_tox21(tmp_path)
    with pytest.raises(DatasetError) as error:
        load_dataset("moleculenet:Tox21", tmp_path)
    assert_sentence(error, "one of the 12 tasks", "moleculenet:tox21/NR-AR", "SR-p53")
    bundle = load_dataset("moleculenet:Tox21/SR-p53", tmp_path)
    assert len(bundle.graphs) == 32
    assert bundle.card.notes == (
        "1 of 41 rows was left out: no molecule. 8 of 40 graphs were left out: no label, or no nodes."
    )
    assert bundle.fill.tolist() == [1, 0, 0]
    assert bundle.drawing == "molecule"


def test_the_values_of_esol(tmp_path):
    needs_rdkit()
    write_esol(tmp_path)
    bundle = load_dataset("moleculenet:ESOL", tmp_path)
    assert bundle.class_names == ()
    assert bundle.graphs[2].y.tolist() == [-1.0]


def test_superpixels_come_in_their_own_three_parts(tmp_path):
    write_superpixels(tmp_path)
    bundle = load_dataset("gnnbench:mnist", tmp_path)
    assert bundle.split.sizes == (20, 4, 6)
    assert bundle.card.split == "its own"
    assert bundle.graphs[0].edge_index.size(1) == 8
    assert bundle.graphs[0].edge_attr.shape == (8,)
    assert bundle.fill == "mean"


def test_without_ogb_one_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ogb", None)
    monkeypatch.setitem(sys.modules, "ogb.graphproppred", None)
    with pytest.raises(ConfigError) as error:
        load_dataset("ogb:molhiv", tmp_path)
    assert_sentence(error, "got none installed", "pip install ogb")


def test_what_ogb_itself_lacks_is_said(tmp_path, monkeypatch):
    class Finder:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] == "ogb":
                raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

    for name in [name for name in sys.modules if name.partition(".")[0] == "ogb"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Finder(), *sys.meta_path])
    with pytest.raises(ConfigError) as error:
        load_dataset("ogb:molhiv", tmp_path)
    assert_sentence(error, "No module named 'pandas'", "pip install ogb")


def test_what_ogb_prints_and_asks_does_not_get_out(tmp_path, monkeypatch, capsys):
    def ask(name, root):
        print(f"{name} has been updated.")
        raise SystemExit(-1)

    module = types.ModuleType("ogb.graphproppred")
    module.PygGraphPropPredDataset = ask
    monkeypatch.setitem(sys.modules, "ogb", types.ModuleType("ogb"))
    monkeypatch.setitem(sys.modules, "ogb.graphproppred", module)
    with pytest.raises(DatasetError) as error:
        load_dataset("ogb:molhiv", tmp_path)
    assert_sentence(error, "download ogb:ogbg-molhiv", "ogb/ogbg_molhiv/raw")
    assert capsys.readouterr().out == ""


def test_a_data_set_of_ogb_from_its_files(tmp_path):
    needs_rdkit()
    mol = pytest.importorskip("ogb.utils.mol", reason="needs OGB: pip install ogb")
    smiles = small_smiles(30)
    labels = [["" if place % 5 == 0 else place % 2, place % 2] for place in range(30)]
    graphs = [mol.smiles2graph(text) for text in smiles]
    write_ogb(tmp_path, "molclintox", smiles, labels, ("FDA", "TOX"), graphs)
    bundle = load_dataset("ogb:molclintox/FDA", tmp_path)
    assert bundle.split.sizes == (18, 3, 3)
    assert bundle.card.split == "its own (scaffold)"
    assert bundle.graphs[0].smiles == smiles[1]
    again = bundle.from_smiles(smiles[1])
    assert torch.equal(again.x, bundle.graphs[0].x)
    assert bundle.fill.tolist() == [0, 0, 0]


def test_without_network_the_sentence_says_where_files_belong(tmp_path):
    for name, file in (("tu:PROTEINS", "PROTEINS_A.txt"), ("gnnbench:CIFAR10", "CIFAR10_v2.pt")):
        with pytest.raises(DatasetError) as error:
            load_dataset(name, tmp_path)
        raw = tmp_path / name.replace(":", os.sep) / "raw"
        assert_sentence(error, "no network here", file, str(raw))


def test_files_that_are_damaged_are_named_with_what_is_made_of_them(tmp_path):
    raw = write_tu(tmp_path)
    (raw / "TINY_A.txt").write_text("one, two\n")
    with pytest.raises(DatasetError) as error:
        load_dataset("tu:TINY", tmp_path)
    assert_sentence(error, str(raw), str(raw.with_name("processed")))


@pytest.mark.parametrize(
    ("part", "text", "words"),
    [
        ("A", None, ["TINY_A.txt among the files"]),
        ("graph_indicator", None, ["TINY_graph_indicator.txt among"]),
        ("graph_labels", None, ["TINY_graph_labels.txt among"]),
        ("graph_labels", "1\n-1\n", ["TINY_graph_labels.txt for each graph (40)", "got 2"]),
        ("node_labels", "0\n1\n", ["TINY_node_labels.txt for each node (199)", "got 2"]),
        ("node_labels", "0\n" * 198 + "1", ["a line break at the end of TINY_node_labels.txt"]),
        ("graph_indicator", "2\n1\n", ["numbers that ascend in TINY_graph_indicator.txt"]),
        ("graph_indicator", "one\n", ["number of a graph in each line", "something else"]),
        ("A", "", ["TINY_A.txt"]),
    ],
)
def test_files_of_a_tu_set_that_do_not_belong_together_are_named_before_a_cache_is_made(
    tmp_path, part, text, words
):
    raw = write_tu(tmp_path, parts=("node_labels",))
    file = raw / f"TINY_{part}.txt"
    right = file.read_text()
    if text is None:
        file.unlink()
    else:
        file.write_text(text)
    with pytest.raises(DatasetError) as error:
        load_dataset("tu:TINY", tmp_path)
    assert_sentence(error, *words, str(raw))
    # Once corrected, they are read: nothing is kept of what was wrong.
    file.write_text(right)
    assert len(load_dataset("tu:TINY", tmp_path).graphs) == 40


@pytest.mark.parametrize("edge", ["1, 50", "50, 1", "1, 99999"])
def test_edges_of_a_tu_set_between_two_graphs_are_refused(tmp_path, edge):
    raw = write_tu(tmp_path, parts=("node_labels",))
    with (raw / "TINY_A.txt").open("a") as file:
        file.write(f"{edge}\n")
    with pytest.raises(DatasetError) as error:
        load_dataset("tu:TINY", tmp_path)
    assert_sentence(error, "node numbers in 0..", "(graph ")


@pytest.mark.parametrize("parts", [(), ("node_labels", "edge_labels"), ("node_attributes",)])
def test_the_last_graphs_of_a_tu_set_are_there_though_they_have_no_edges(tmp_path, parts):
    raw = write_tu(tmp_path, parts=parts)
    rows = {"graph_indicator": "41\n41\n42\n42\n", "graph_labels": "1\n-1\n"}
    rows |= {"node_labels": "0\n1\n2\n0\n", "node_attributes": "1, 2\n" * 4}
    for part, text in rows.items():
        if part.startswith("graph") or part in parts:
            with (raw / f"TINY_{part}.txt").open("a") as file:
                file.write(text)
    for _ in range(2):  # from the files, and from the cache
        bundle = load_dataset("tu:TINY", tmp_path)
        assert [(graph.num_nodes, graph.num_edges) for graph in bundle.graphs[40:]] == [(2, 0)] * 2
        assert sum(bundle.split.sizes) == 42


def test_the_file_that_is_expected_is_named_where_there_are_others(tmp_path):
    needs_rdkit()
    raw = write_esol(tmp_path)
    (raw / "delaney-processed.csv").rename(raw / "ESOL.csv")
    with pytest.raises(DatasetError) as error:
        load_dataset("moleculenet:esol", tmp_path)
    assert_sentence(error, "(delaney-processed.csv)", str(raw))


def test_a_cache_that_would_run_code_is_refused(tmp_path):
    raw = write_tu(tmp_path)
    TUDataset(str(tmp_path / "tu"), "TINY")
    mark = tmp_path / "ran"
    torch.save(Trap(str(mark)), raw.parent / "processed" / "data.pt")
    with pytest.warns(UserWarning, match="Weights only"), pytest.raises(DatasetError) as error:
        load_dataset("tu:TINY", tmp_path)
    assert_sentence(error, "processed")
    assert not mark.exists()
    assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ


class Trap:
    def __init__(self, file):
        self.file = file

    def __reduce__(self):
        return open, (self.file, "w")


def test_without_a_data_folder_files_are_in_the_cache(tmp_path, monkeypatch):
    monkeypatch.delenv("EDGEFLIP_DATA", raising=False)
    monkeypatch.setenv("EDGEFLIP_CACHE", str(tmp_path))
    write_tu(tmp_path)
    assert len(load_dataset("tu:TINY").graphs) == 40


def test_getting_a_data_set_reads_it_and_says_where_it_is(tmp_path, capsys):
    raw = write_tu(tmp_path)
    assert fetch_dataset("tu:TINY", tmp_path) == [raw]
    run(["data", "get", "tu:TINY", "--data-dir", str(tmp_path)])
    assert capsys.readouterr().out.strip() == str(raw)


def test_train_and_explain_by_name_state_the_split(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_tu(tmp_path, parts=("node_labels",))
    data = ["tu:TINY", "--data-dir", str(tmp_path), "--profile", "smoke"]
    run(["train", *data])
    said = capsys.readouterr()
    assert (
        "Split: 80/10/10 in every class, seed 2 (32 training, 4 validation and 4 test" in said.err
    )
    assert "Oracle in runs/tu-TINY-" in said.out
    run(["explain", *data, "--index", "0", "--method", "random", "--target", "7"], code=2)
    assert "expected a target in 0..1" in capsys.readouterr().err
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_a_model_of_ones_own_is_explained_on_values(tmp_path, capsys, monkeypatch):
    needs_rdkit()
    monkeypatch.chdir(tmp_path)
    write_esol(tmp_path)
    (tmp_path / "model.py").write_text(MODEL)
    data = ["explain", "moleculenet:ESOL", "--data-dir", str(tmp_path), "--index", "0"]
    run([*data, "--model", "model.py:Model", "--task", "regression", "--target", "+0.001"])
    assert "wanted was a value of at least" in " ".join(capsys.readouterr().out.split())
    run([*data], code=2)
    assert "expected classes" in capsys.readouterr().err


def test_a_benchmark_names_them_like_any_other(tmp_path, capsys):
    write_tu(tmp_path, parts=("node_labels",))
    (tmp_path / "spec.toml").write_text(
        'title = "t"\ndatasets = ["TU:TINY"]\nprofile = "smoke"\ngraphs = 1\nseconds = 1\n'
        '[[methods]]\nname = "random"\n'
    )
    out = tmp_path / "run"
    data = ["--data-dir", str(tmp_path)]
    run(["bench", "run", str(tmp_path / "spec.toml"), "--out", str(out), *data])
    run(["bench", "report", str(out), *data])
    assert "tu:TINY" in (out / "report" / "report.md").read_text(encoding="utf-8")
    assert list((out / "report" / "figures").glob("answers-tu-TINY.svg"))


def test_the_list_of_datasets_says_what_else_has_a_name(capsys):
    run(["datasets"])
    assert "moleculenet:NAME" in capsys.readouterr().out
    assert not any(":" in entry.name for entry in list_datasets())
