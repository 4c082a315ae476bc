"""Dataset objects of PyG and OGB in `bundle_from`, `fit` and benchmarks."""

import gzip
import re
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data, InMemoryDataset
from torch_geometric.datasets import MoleculeNet, TUDataset
from torch_geometric.loader import DataLoader

from conftest import assert_sentence, make_graph
from edgeflip import bundle_from, make_explainer, train_oracle
from edgeflip.bench import run_bench
from edgeflip.bench.spec import BenchSpec, MethodSpec
from edgeflip.core import edge_pairs
from edgeflip.datasets.directions import way_back
from edgeflip.errors import ConfigError, DatasetError
from raw_files import write_esol, write_tox21, write_tu

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    root = tmp_path_factory.mktemp("files")
    write_tu(root, both_ways=True, parts=("node_labels", "edge_labels"))
    return root


@pytest.fixture(scope="module")
def rings(files):
    return TUDataset(str(files / "tu"), "TINY")


@pytest.fixture(scope="module")
def tox21(tmp_path_factory):
    pytest.importorskip("rdkit", reason="needs RDKit: pip install 'edgeflip[chem]'")
    root = tmp_path_factory.mktemp("tox21")
    write_tox21(root)
    with pytest.warns(UserWarning, match="zero atoms"):
        return MoleculeNet(str(root / "moleculenet"), "Tox21")


class Made(InMemoryDataset):
    """Any data set of PyG, of graphs in memory."""

    def __init__(self, graphs):
        super().__init__(None)
        self.data, self.slices = self.collate(graphs)


class MadeByOGB(Made):
    """What OGB's data sets have beside PyG's: a split, and a description of themselves."""

    def __init__(self, graphs, root, name="ogbg-molmade"):
        super().__init__(graphs)
        self.root, self.name = str(root), name
        self.meta_info = {"split": "scaffold", "task type": "binary classification"}

    def get_idx_split(self):
        places = torch.arange(len(self))
        return {"train": places[6:], "valid": places[:3], "test": places[3:6]}


def labelled(count=10, **options):
    graphs = [make_graph(4, [(0, 1), (1, 2)], seed=seed, **options) for seed in range(count)]
    for place, graph in enumerate(graphs):
        graph.y = torch.tensor([[float(place % 2)]])
    return graphs


def test_a_dataset_object_keeps_its_name_and_is_split_alike_in_every_class(rings):
    bundle = bundle_from(rings)
    assert (bundle.name, bundle.split.sizes) == ("tu:TINY", (32, 4, 4))
    assert sum(int(graph.y) for graph in bundle.test) == 2
    assert bundle.card.split == "80/10/10 in every class, seed 2"
    assert bundle.graphs[0].x.shape == (4, 3)
    assert bundle_from(rings, split="random", name="mine").card.split.startswith(
        "80/10/10 at random"
    )


def test_views_of_a_dataset_have_the_graphs_that_the_view_shows(rings):
    for view in (
        rings[5:25],
        rings[torch.arange(5, 25)],
        torch.utils.data.Subset(rings, range(5, 25)),
        torch.utils.data.Subset(rings[5:], range(20)),
    ):
        bundle = bundle_from(view)
        assert len(bundle.graphs) == 20
        assert edge_pairs(bundle.graphs[0]) == edge_pairs(rings[5])


def test_the_transform_of_a_dataset_is_kept_in_its_views(files):
    def double(graph):
        graph.x = 2 * graph.x
        return graph

    doubled = TUDataset(str(files / "tu"), "TINY", transform=double)
    assert bundle_from(doubled[:20]).graphs[0].x.max() == 2


def test_three_parts_with_a_graph_in_common_are_refused(rings):
    whole, subset = rings, torch.utils.data.Subset
    for parts in (
        [whole, whole, whole],
        [whole[:30], whole[30:35], whole[25:]],
        [subset(whole, range(30)), subset(whole, range(30, 35)), whole[29:]],
        [subset(whole[10:], [0, 1]), whole[:5], whole[11:12]],
    ):
        with pytest.raises(DatasetError) as error:
            bundle_from(parts, both_ways=True)
        assert_sentence(error, "in common", "apart")
    apart = [subset(whole[10:], [*range(20)]), whole[:5], whole[5:10]]
    assert bundle_from(apart).split.sizes == (20, 5, 5)


def test_a_data_set_of_torch_is_read_to_its_length(rings):
    class Endless(torch.utils.data.Dataset):
        def __len__(self):
            return 40

        def __getitem__(self, place):
            assert place < 40, "nobody says where it ends"
            return rings[place]

    bundle = bundle_from(Endless(), both_ways=True)
    assert [graph.num_nodes for graph in bundle.graphs] == [graph.num_nodes for graph in rings]


def test_a_loader_of_batches_is_refused(rings):
    with pytest.raises(DatasetError) as error:
        bundle_from(DataLoader(rings, batch_size=4))
    assert_sentence(error, "a batch of 4", "DataLoader")


def test_three_datasets_are_training_validation_and_test(rings):
    bundle = bundle_from([rings[:20], rings[20:26], rings[26:]])
    assert bundle.split.sizes == (20, 6, 14)
    assert edge_pairs(bundle.val[0]) == edge_pairs(rings[20])
    assert bundle.card.split == "as given"
    with pytest.raises(DatasetError) as error:
        bundle_from([rings[:20], rings[20:]])
    assert_sentence(error, "three data sets", "got 2 parts")


def test_a_dataset_goes_into_fit_as_it_is(rings):
    bundle = bundle_from(rings)
    oracle = train_oracle(bundle, profile="smoke")
    explainer = make_explainer("random", profile="smoke").fit(rings[:20], oracle)
    assert explainer.num_features_ == 3
    assert explainer.explain(rings[0], fill="mode").graph.num_nodes == 4


def test_several_labels_need_a_choice_and_graphs_without_it_are_left_out(tox21):
    with pytest.raises(DatasetError) as error:
        bundle_from(tox21)
    assert_sentence(error, "12 in y", "label_column='NR-AR'")
    bundle = bundle_from(tox21, label_column="nr-ahr")
    assert bundle.name == "moleculenet:tox21/NR-AhR"
    assert len(bundle.graphs) == 32
    assert bundle.card.notes.startswith("8 of 40 graphs were left out")
    assert [int(graph.y) for graph in bundle.graphs[:3]] == [0, 1, 0]
    assert len(bundle_from(tox21[:20], label_column=2).graphs) == 16
    with pytest.raises(DatasetError) as error:
        bundle_from(tox21, label_column="NR-AhX")
    assert_sentence(error, "write 'NR-AhR' if that is meant")
    with pytest.raises(DatasetError) as error:
        bundle_from(tox21, [0] * 40, label_column=1)
    assert_sentence(error, "labels or label_column, got both")
    with pytest.raises(DatasetError) as error:
        bundle_from(tox21, label_column=12)
    assert_sentence(error, "column 12", "12 columns")


def test_molecules_are_drawn_as_such_stay_molecules_and_get_single_bonds(tox21):
    bundle = bundle_from(tox21, label_column=0)
    graph = bundle.graphs[0]
    assert bundle.drawing == "molecule"
    assert bundle.constraints_for(graph).keep_connected
    assert bundle.fill.tolist() == [1, 0, 0]
    again = bundle.from_smiles(graph.smiles)
    assert torch.equal(again.x, graph.x)
    assert again.x.dtype == graph.x.dtype == torch.long
    assert torch.equal(again.edge_attr, graph.edge_attr)
    assert bundle_from(tox21, label_column=0, drawing="plain").constraints is None
    assert bundle_from(bundle.graphs).drawing == "plain"


def test_smiles_of_other_atoms_than_the_nodes_make_no_molecules():
    pytest.importorskip("rdkit", reason="needs RDKit: pip install 'edgeflip[chem]'")
    graphs = labelled()
    for graph in graphs:
        graph.smiles = "CC"
    bundle = bundle_from(Made(graphs))
    assert (bundle.drawing, bundle.constraints) == ("plain", None)


def test_whole_numbers_as_features_train_an_oracle_and_can_be_explained(tox21):
    bundle = bundle_from(tox21, label_column=0)
    oracle = train_oracle(bundle, profile="smoke")
    answer = make_explainer("random", profile="smoke").fit(bundle.train, oracle)
    found = answer.explain(bundle.test[0], fill=bundle.fill)
    assert found.graph.x.dtype == torch.long
    assert found.output == pytest.approx(oracle.predict_proba([bundle.test[0]])[0].tolist())


def test_values_are_labels_only_when_asked_for(tmp_path):
    pytest.importorskip("rdkit", reason="needs RDKit: pip install 'edgeflip[chem]'")
    write_esol(tmp_path)
    esol = MoleculeNet(str(tmp_path / "moleculenet"), "ESOL")
    with pytest.raises(DatasetError) as error:
        bundle_from(esol)
    assert_sentence(error, "got -0.5", "task='regression'")
    bundle = bundle_from(esol, task="regression")
    assert bundle.graphs[3].y.tolist() == [-1.5]
    assert (bundle.num_classes, bundle.split.sizes) == (0, (16, 2, 2))
    assert "values" in repr(bundle)
    with pytest.raises(DatasetError) as error:
        train_oracle(bundle, profile="smoke")
    assert_sentence(error, "expected classes", "got values")
    with pytest.raises(DatasetError) as error:
        bundle_from(esol, task="regression", split="stratified")
    assert_sentence(error, "values have no classes")


def test_graphs_without_features_get_the_number_one_and_that_is_said(tmp_path):
    write_tu(tmp_path, both_ways=True)
    bundle = bundle_from(TUDataset(str(tmp_path / "tu"), "TINY"))
    assert bundle.graphs[1].x.tolist() == [[1.0]] * 5
    assert "each gets the number 1" in bundle.card.notes


def test_graphs_without_nodes_or_label_leave_the_split_in_order(tmp_path):
    graphs = labelled(12)
    graphs[0].y = torch.tensor([[float("nan")]])
    graphs[7] = Data(
        x=torch.empty(0, 3),
        edge_index=torch.empty(2, 0, dtype=torch.long),
        y=torch.ones(1, 1),
        num_nodes=0,
    )
    bundle = bundle_from(MadeByOGB(graphs, tmp_path))
    assert bundle.split.sizes == (5, 2, 3)
    assert bundle.card.split == "its own (scaffold)"
    assert torch.equal(bundle.val[0].x, graphs[1].x)
    assert torch.equal(bundle.train[1].x, graphs[8].x)
    assert bundle.card.notes.startswith("2 of 12 graphs were left out")
    assert bundle_from(MadeByOGB(graphs, tmp_path)[1:7]).card.split.startswith("80/10/10")


def test_files_of_a_split_that_are_missing_are_named(tmp_path):
    class Torn(MadeByOGB):
        def get_idx_split(self):
            return {"train": (tmp_path / "train.csv.gz").read_bytes()}

    with pytest.raises(DatasetError) as error:
        bundle_from(Torn(labelled(), tmp_path))
    assert_sentence(error, "train.csv.gz", "a split of your own")
    assert bundle_from(Torn(labelled(), tmp_path), split="random").split.sizes == (8, 1, 1)


def test_the_table_beside_the_graphs_of_ogb_names_labels_and_molecules(tmp_path):
    pytest.importorskip("rdkit", reason="needs RDKit: pip install 'edgeflip[chem]'")
    smiles = ["CCO", "CCN"] * 5
    graphs = [make_graph(3, [(0, 1), (1, 2)], edge_attr=3, seed=seed) for seed in range(10)]
    for place, graph in enumerate(graphs):
        graph.y = torch.tensor([[float(place % 2), float("nan")]])
    (tmp_path / "mapping").mkdir()
    rows = "\n".join(["one,two,smiles,mol_id", *(f"0,,{text},m" for text in smiles)])
    (tmp_path / "mapping" / "mol.csv.gz").write_bytes(gzip.compress(rows.encode()))
    made = MadeByOGB(graphs, tmp_path)
    bundle = bundle_from(made, label_column="one")
    assert bundle.graphs[1].smiles == "CCN"
    assert bundle.drawing == "molecule"
    assert bundle.fill.tolist() == [0, 0, 0]
    assert bundle.name == "ogb:ogbg-molmade/one"
    assert bundle_from(made[4:], label_column="one").graphs[0].smiles == "CCO"
    with pytest.raises(DatasetError) as error:
        bundle_from(made, label_column="two")
    assert_sentence(error, "got none for 10 graphs")


@pytest.mark.parametrize(
    ("y", "words"),
    [
        (torch.zeros(4), ("a label for each node",)),
        (["a", "b"], ("a number as the label", "['a', 'b']")),
        (None, ("expected labels in the data set", "pass labels")),
    ],
)
def test_labels_that_are_none_of_graphs_are_one_sentence(y, words):
    graphs = labelled()
    for graph in graphs:
        graph.y = y
    with pytest.raises(DatasetError) as error:
        bundle_from(Made(graphs))
    assert_sentence(error, *words)


def test_edges_of_one_direction_get_their_way_back_with_the_same_attributes():
    one_way = Data(
        x=torch.ones(4, 1),
        edge_index=torch.tensor([[0, 1, 2, 2, 0], [1, 0, 2, 3, 1]]),
        edge_attr=torch.tensor([[1.0], [2.0], [3.0], [4.0], [1.0]]),
        edge_weight=torch.tensor([0.1, 0.2, 0.3, 0.4, 0.1]),
    )
    both = way_back(one_way, "graph 0")
    columns = dict(
        zip(
            map(tuple, both.edge_index.t().tolist()), both.edge_attr.flatten().tolist(), strict=True
        )
    )
    assert columns == {(0, 1): 1.0, (1, 0): 2.0, (2, 2): 3.0, (2, 3): 4.0, (3, 2): 4.0}
    assert both.edge_weight.numel() == 5
    assert one_way.edge_index.size(1) == 5
    assert way_back(both, "graph 0") is None
    one_way.edge_attr[4] = 9.0
    with pytest.raises(DatasetError) as error:
        way_back(one_way, "graph 7")
    assert_sentence(error, "graph 7", "twice with differing edge_attr")


def test_graphs_without_an_edge_index_have_no_directions():
    single = [Data(x=torch.ones(2, 1), y=place % 2) for place in range(20)]
    assert len(bundle_from(single, both_ways=True).graphs) == 20
    sparse = [
        Data(x=torch.ones(2, 1), adj_t=torch.eye(2).to_sparse(), y=place % 2) for place in range(20)
    ]
    with pytest.raises(DatasetError) as error:
        bundle_from(sparse, both_ways=True)
    assert_sentence(error, "adj_t", "to_dense")


@pytest.mark.parametrize("node", [-2, 5])
@pytest.mark.parametrize("both_ways", [False, True])
def test_edges_to_nodes_that_are_not_there_are_refused_before_anything_is_trained(node, both_ways):
    graphs = labelled()
    graphs[3].edge_index = torch.tensor([[0, node], [node, 0]])
    with pytest.raises(DatasetError) as error:
        bundle_from(graphs, both_ways=both_ways)
    assert_sentence(error, "0..3", "graph 3")


def test_directions_are_left_as_they_are_unless_asked_for(tmp_path):
    write_tu(tmp_path)
    arrows = TUDataset(str(tmp_path / "tu"), "TINY")
    assert bundle_from(arrows).graphs[1].num_edges == 5
    bundle = bundle_from(arrows, both_ways=True)
    assert bundle.graphs[1].num_edges == 10
    assert "40 of 40 graphs edges went one way" in bundle.card.notes


def test_a_list_of_graphs_is_split_at_random_as_before():
    bundle = bundle_from(labelled(20))
    assert (bundle.name, bundle.card.licence) == ("own", "yours")
    assert bundle.card.split == "80/10/10 at random, seed 2"


def test_graphs_in_memory_are_a_dataset_of_a_benchmark(rings, tmp_path, models):
    bundle = bundle_from(rings, fill="mode")
    spec = BenchSpec("t", ("mine",), (MethodSpec("random"),), profile="smoke", graphs=1, seconds=1)
    options = {"models": models, "bundles": {"mine": bundle}}
    assert run_bench(spec, tmp_path / "run", **options).rows == 1
    assert run_bench(spec, tmp_path / "run", **options).measured == 0
    options["bundles"] = {"mine": bundle_from(rings[2:], fill="mode")}
    with pytest.raises(ConfigError) as error:
        run_bench(spec, tmp_path / "run", **options)
    assert_sentence(error, "the graphs of 'mine'", "got others")
    options["bundles"] = {"other": bundle}
    with pytest.raises(ConfigError) as error:
        run_bench(spec, tmp_path / "other", **options)
    assert_sentence(error, "got 'other'")


def test_the_example_of_the_docs_runs_as_it_stands(capsys):
    text = (DOCS / "guides" / "datasets.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    exec(compile(block, "datasets.md", "exec"), {"__name__": "example"})
    told = capsys.readouterr().out
    assert "80/10/10 in every class, seed 2" in told
    assert "turns class" in told
