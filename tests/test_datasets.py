from __future__ import annotations

import collections
import hashlib
import os
import shutil
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

import edgeflip.datasets as datasets
from edgeflip.datasets import (
    DatasetBundle,
    DatasetCard,
    Split,
    list_datasets,
    load_dataset,
    random_split,
)
from edgeflip.datasets.ba_motifs import CYCLE_REMOVABLE, HOUSE_REMOVABLE, generate_originals
from edgeflip.datasets.catalogue import catalogue
from edgeflip.datasets.stacks import DenseStack, SparseStack, check_trainable, stack_graphs
from edgeflip.errors import DatasetError, UnknownNameError
from edgeflip.oracle.gcn import GCNClassifier

NAMES = ("ba_2motifs", "ba_2motifs_3class", "ba_3motifs", "ba_4motifs")
DATA_FILE = "ba_2motifs/ba_2motifs.npz"

# Of the graphs built from the published file: sha256 of every graph's edge_index and label.
FINGERPRINTS = {
    "ba_2motifs": "458dcb186feb310e57e1ac012bccd55069c1071bea13ab9754ba57d8c293ce3a",
    "ba_2motifs_3class": "f20c4d6ab5f965b874f24506d92c5fb7e27fd337c857ff0b88717b0ce893a7fe",
    "ba_3motifs": "4ab0dd9efe35c7a69ec47c60546191d687ff15a391f3eed86f5c60ddbccd06d3",
    "ba_4motifs": "8e8eb49584a728913053e5af2a3633f06845a5c0e046dcd15dbb8496122af522",
}

# Labels in the test set. The paper's per-target validities are fractions of these, less the graphs
# its oracle got wrong: 57 of 59 houses, 30 of 36, 26 of 31, and all cliques.
TEST_LABELS = {
    "ba_2motifs": [41, 59],
    "ba_2motifs_3class": [30, 36, 34],
    "ba_3motifs": [30, 36, 34],
    "ba_4motifs": [17, 31, 28, 24],
}


@pytest.fixture(autouse=True)
def no_data_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(datasets.DATA_VARIABLE, raising=False)


# Read when the module is imported, before the fixture above hides it.
DATA_DIR = os.environ.get(datasets.DATA_VARIABLE)
needs_files = pytest.mark.skipif(
    not DATA_DIR, reason="set EDGEFLIP_DATA to the folder with the published datasets"
)


def fingerprint(bundle: DatasetBundle) -> str:
    digest = hashlib.sha256()
    for graph in bundle.graphs:
        digest.update(graph.edge_index.numpy().tobytes())
        digest.update(graph.y.numpy().tobytes())
    return digest.hexdigest()


def pairs(graph: Data) -> set[tuple[int, int]]:
    return {(u, v) for u, v in graph.edge_index.t().tolist() if u <= v}


def test_split_gives_the_published_test_graphs() -> None:
    split = random_split(1000)
    assert split.sizes == (800, 100, 100)
    assert split.test[:8] == (256, 698, 495, 640, 945, 638, 877, 479)
    assert sorted(split.train + split.val + split.test) == list(range(1000))


def test_split_sizes_are_truncated() -> None:
    assert random_split(2039).sizes == (1631, 203, 205)
    assert random_split(3).sizes == (2, 0, 1)
    assert random_split(0).sizes == (0, 0, 0)


def test_split_leaves_the_global_random_state_alone() -> None:
    before = torch.random.get_rng_state()
    random_split(10)
    assert torch.equal(before, torch.random.get_rng_state())


@pytest.mark.parametrize("shares", [(0.8, 0.3), (-0.1, 0.1)])
def test_shares_that_make_no_split_are_refused(shares: tuple[float, float]) -> None:
    with pytest.raises(DatasetError, match="shares"):
        random_split(10, shares=shares)


@needs_files
@pytest.mark.parametrize("name", NAMES)
def test_graphs_from_the_file_are_the_published_ones(name: str) -> None:
    bundle = load_dataset(name, DATA_DIR)
    counts = collections.Counter(int(graph.y) for graph in bundle.test)
    assert [counts[label] for label in range(bundle.num_classes)] == TEST_LABELS[name]
    assert fingerprint(bundle) == FINGERPRINTS[name]
    assert bundle.card.origin == "file"


@needs_files
def test_the_environment_variable_names_the_data_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(DATA_DIR))
    assert load_dataset("ba_2motifs").card.origin == "file"
    assert {entry.source for entry in list_datasets() if entry.name in NAMES} == {"file"}


@needs_files
@pytest.mark.parametrize("damage", ["truncate", "tamper", "empty"])
def test_a_damaged_file_is_one_sentence(tmp_path: Path, damage: str) -> None:
    place = tmp_path / DATA_FILE
    place.parent.mkdir()
    content = (Path(str(DATA_DIR)) / DATA_FILE).read_bytes()
    changed = {"truncate": content[:1000], "tamper": content[:-1] + b"?", "empty": b""}
    place.write_bytes(changed[damage])
    with pytest.raises(DatasetError, match=r"sha256 146d.*fetch it again\.$"):
        load_dataset("ba_3motifs", tmp_path)


def test_order_of_removable_edges_is_that_of_the_published_code() -> None:
    cycle = {(u, v) for u, v in [(20, 21), (20, 24), (21, 22), (22, 23), (23, 24)]}
    house = {(20, 21), (20, 23), (20, 24), (21, 22), (21, 24), (22, 23)}
    assert set(CYCLE_REMOVABLE) == cycle
    assert set(HOUSE_REMOVABLE) == house - {(20, 21)}


@pytest.mark.parametrize("name", NAMES)
def test_generated_graphs_have_the_published_make_up(name: str) -> None:
    bundle = load_dataset(name)
    assert len(bundle.graphs) == 1000
    assert bundle.card.origin == "generated"
    assert bundle.split.sizes == catalogue()[name].split
    for graph in bundle.graphs:
        assert graph.x.shape == (25, 10)
        assert bool((graph.x == 0.1).all())
        directed = graph.edge_index.t().tolist()
        assert directed == sorted(directed)
        assert {(v, u) for u, v in directed} == {(u, v) for u, v in directed}
        tree = {(u, v) for u, v in pairs(graph) if v < 20}
        assert len(tree) == 19
        assert sorted(v for _, v in tree) == list(range(1, 20))


def test_generated_graphs_are_the_same_every_time() -> None:
    assert fingerprint(load_dataset("ba_2motifs")) == fingerprint(load_dataset("ba_2motifs"))
    assert generate_originals(1) != generate_originals(0)


def test_forty_graphs_have_a_self_loop_in_place_of_the_link() -> None:
    for label in (0, 1):
        graphs = [graph for graph in load_dataset("ba_2motifs").graphs if int(graph.y) == label]
        loops = [(20, 20) in pairs(graph) for graph in graphs]
        assert sum(loops) == 20
        links = [(0, 20) in pairs(graph) for graph in graphs]
        assert links == [not loop for loop in loops]


def test_house_edge_20_21_is_never_removed() -> None:
    bundle = load_dataset("ba_2motifs_3class")
    incomplete = [graph for graph in bundle.graphs[500:] if int(graph.y) == 2]
    assert len(incomplete) == 166
    assert all((20, 21) in pairs(graph) for graph in incomplete)


def test_an_incomplete_motif_misses_one_edge() -> None:
    originals, derived = load_dataset("ba_2motifs").graphs, load_dataset("ba_2motifs_3class").graphs
    for before, after in zip(originals, derived, strict=True):
        missing = pairs(before) - pairs(after)
        assert pairs(after) <= pairs(before)
        assert len(missing) == (1 if int(after.y) == 2 else 0)
        assert all(20 <= u < v for u, v in missing)


def test_cliques_replace_the_motif_and_nothing_else() -> None:
    originals, derived = load_dataset("ba_2motifs").graphs, load_dataset("ba_3motifs").graphs
    for before, after in zip(originals, derived, strict=True):
        outside = {(u, v) for u, v in pairs(before) if u < 20 or u == v}
        assert {(u, v) for u, v in pairs(after) if u < 20 or u == v} == outside
        if int(after.y) == 2:
            assert len(pairs(after) - outside) == 10


def test_four_motifs_have_no_self_loops_and_the_right_edges() -> None:
    sizes = {0: 5, 1: 6, 2: 7, 3: 10}
    for graph in load_dataset("ba_4motifs").graphs:
        motif = {(u, v) for u, v in pairs(graph) if u >= 20}
        assert len(motif) == sizes[int(graph.y)]
        assert all(u < v for u, v in pairs(graph))
        if int(graph.y) == 2:
            assert {pair for pair in motif if 24 in pair} == {(20, 24)}


def test_motif_nodes_are_the_last_five() -> None:
    bundle = load_dataset("ba_2motifs")
    assert bundle.motif_nodes is not None
    assert bundle.motif_nodes(bundle.test[0]) == frozenset(range(20, 25))


def test_graphs_do_not_share_their_features() -> None:
    first, second, *_ = load_dataset("ba_2motifs").graphs
    first.x[0] = 5.0
    assert bool((second.x == 0.1).all())


@pytest.mark.parametrize("name", ["BA-2Motifs", "ba_2motifs", " Ba-2motifs "])
def test_names_are_matched_leniently(name: str) -> None:
    assert load_dataset(name).name == "ba_2motifs"


def test_an_unknown_name_suggests_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'ba_3motifs'"):
        load_dataset("ba_3motif")


def test_a_data_folder_that_does_not_exist_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match="EDGEFLIP_DATA to name a folder"):
        load_dataset("ba_2motifs")
    with pytest.raises(DatasetError, match="data_dir to name a folder"):
        list_datasets(tmp_path / "nowhere")


def test_real_data_asked_for_are_never_replaced_by_generated_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DatasetError, match=r"ba_2motifs\.npz, found none; .*leave out data_dir"):
        load_dataset("ba_2motifs", tmp_path)
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(tmp_path))
    with pytest.raises(DatasetError, match="found none"):
        load_dataset("ba_4motifs")
    assert not any(entry.at_hand for entry in list_datasets())


def test_an_argument_counts_more_than_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(datasets.DATA_VARIABLE, str(tmp_path / "nowhere"))
    with pytest.raises(DatasetError, match="found none"):
        load_dataset("ba_2motifs", tmp_path)


def test_an_empty_variable_counts_as_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(datasets.DATA_VARIABLE, "")
    assert load_dataset("ba_2motifs").card.origin == "generated"


def test_the_list_agrees_with_what_is_loaded() -> None:
    for entry in [entry for entry in list_datasets() if entry.name in NAMES]:
        bundle = load_dataset(entry.name)
        assert entry.graphs == len(bundle.graphs)
        assert entry.split == bundle.split.sizes
        assert entry.class_names == bundle.class_names
        assert entry.classes == bundle.num_classes == 1 + max(int(g.y) for g in bundle.graphs)
        assert (entry.at_hand, entry.source) == (True, "generated")


def toy_bundle(data_dir: Path | None = None) -> DatasetBundle:
    edge_index = torch.tensor([[0, 1], [1, 0]])
    graphs = [Data(x=torch.ones(25, 10), edge_index=edge_index, y=torch.tensor([0])) for _ in "abc"]
    card = DatasetCard("Toy", "none", "none", "made up", None, "generated")
    return DatasetBundle("toy", graphs, Split((0,), (1,), (2,)), ("a", "b"), None, "plain", card)


def broken_loader(data_dir: Path | None) -> DatasetBundle:
    raise KeyError("no such column")


def wrong_loader(data_dir: Path | None) -> int:
    return 7


@pytest.fixture
def plugins(monkeypatch: pytest.MonkeyPatch) -> None:
    module = __name__
    points = [
        EntryPoint("My-Toy", f"{module}:toy_bundle", datasets.ENTRY_POINT_GROUP),
        EntryPoint("unimportable", "no_such_module:load", datasets.ENTRY_POINT_GROUP),
        EntryPoint("broken", f"{module}:broken_loader", datasets.ENTRY_POINT_GROUP),
        EntryPoint("wrong", f"{module}:wrong_loader", datasets.ENTRY_POINT_GROUP),
        EntryPoint("ba_2motifs", "no_such_module:load", datasets.ENTRY_POINT_GROUP),
    ]
    monkeypatch.setattr("edgeflip.datasets.registry.entry_points", lambda group: points)


@pytest.mark.usefixtures("plugins")
def test_other_packages_can_add_datasets() -> None:
    assert load_dataset("my_toy").name == "toy"
    assert "my_toy" in [entry.name for entry in list_datasets()]


@pytest.mark.usefixtures("plugins")
def test_a_broken_plugin_does_not_break_the_list() -> None:
    entries = {entry.name: entry for entry in list_datasets()}
    assert not entries["unimportable"].at_hand
    assert "no_such_module" in entries["unimportable"].note
    assert entries["ba_2motifs"].at_hand


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("name", "message"),
    [("broken", "KeyError"), ("wrong", "got int"), ("unimportable", "ModuleNotFoundError")],
)
def test_a_plugin_that_fails_is_one_sentence(name: str, message: str) -> None:
    with pytest.raises(DatasetError, match=message):
        load_dataset(name)


def test_a_split_outside_the_graphs_is_refused() -> None:
    toy = toy_bundle()
    with pytest.raises(DatasetError, match=r"in 0\.\.2, got 3"):
        DatasetBundle("toy", toy.graphs, Split((0,), (1,), (3,)), ("a",), None, "plain", toy.card)


def test_a_graph_in_two_parts_of_the_split_is_refused() -> None:
    toy = toy_bundle()
    with pytest.raises(DatasetError, match="each graph once"):
        DatasetBundle("toy", toy.graphs, Split((0,), (1,), (0,)), ("a",), None, "plain", toy.card)


def test_dense_and_sparse_stacks_give_the_same_logits() -> None:
    graphs = load_dataset("ba_2motifs").graphs[495:505]
    varied = [Data(x=torch.rand(25, 10), edge_index=g.edge_index, y=g.y) for g in graphs]
    model = GCNClassifier(10, 2).eval()
    positions = torch.tensor([3, 0, 7])
    for some in (graphs, varied):
        dense, sparse = DenseStack(some), SparseStack(some)
        assert torch.equal(dense.labels, sparse.labels)
        logits = dense.logits(model, positions), sparse.logits(model, positions)
        assert torch.allclose(*logits, atol=1e-5)


def test_graphs_of_several_sizes_are_stacked_sparsely() -> None:
    small = Data(
        x=torch.ones(2, 10), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.tensor([0])
    )
    lonely = Data(x=torch.ones(1, 10), edge_index=torch.empty(2, 0).long(), y=torch.tensor([1]))
    stack = stack_graphs([small, lonely])
    assert isinstance(stack, SparseStack)
    model = GCNClassifier(10, 2)
    alone = torch.cat([model(graph.x, graph.edge_index) for graph in (small, lonely)])
    both = stack.logits(model, torch.tensor([0, 1]))
    assert torch.allclose(alone, both, atol=1e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"y": torch.tensor([2])}, r"label in 0\.\.1, got 2 in graph 1"),
        ({"y": torch.tensor([-1])}, "got -1"),
        ({"y": None}, "one label y, got NoneType"),
        ({"y": torch.tensor([0, 1])}, r"one label y, got \[2\]"),
        ({"x": torch.ones(25, 9)}, "10 features per node, got 9"),
        ({"x": torch.ones(0, 10)}, r"got \[0, 10\]"),
        ({"x": None}, "got NoneType"),
        ({"edge_index": None}, "edge_index, got none"),
    ],
)
def test_graphs_no_classifier_can_learn_from_are_refused(
    change: dict[str, torch.Tensor | None], message: str
) -> None:
    bundle = toy_bundle()
    for key, value in change.items():
        bundle.graphs[1][key] = value
    with pytest.raises(DatasetError, match=message):
        check_trainable(bundle)


@pytest.mark.parametrize("part", ["train", "val", "test"])
def test_an_empty_part_of_the_split_is_refused(part: str) -> None:
    toy = toy_bundle()
    split = Split(**{"train": (0,), "val": (1,), "test": (2,), part: ()})
    bundle = DatasetBundle("toy", toy.graphs, split, ("a", "b"), None, "plain", toy.card)
    with pytest.raises(DatasetError, match=f"no {part} graphs"):
        check_trainable(bundle)


@needs_files
def test_a_copied_file_is_as_good(tmp_path: Path) -> None:
    (tmp_path / "ba_2motifs").mkdir()
    shutil.copyfile(Path(str(DATA_DIR)) / DATA_FILE, tmp_path / DATA_FILE)
    assert load_dataset("ba_2motifs", tmp_path).card.checksum is not None
