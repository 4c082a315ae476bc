"""Arguments of public calls: checked against their annotations, refused in a sentence."""

from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from conftest import assert_sentence
from edgeflip import (
    Constraints,
    GCNClassifier,
    Mix,
    ModelOracle,
    Noise,
    SizeWeightedFidelity,
    bundle_from,
)
from edgeflip.bench.folder import write_table
from edgeflip.errors import ArtifactError, ConfigError, ConstraintError, DatasetError, GraphError
from edgeflip.metrics import wilson
from edgeflip.support import Journal, check_fields, checked_call
from edgeflip.testing import example_graphs, example_oracle


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: Noise(sigma="x"),
            "expected sigma to be a number, got 'x'; correct it.",
        ),
        (
            lambda: Noise(edges=np.ones(2)),
            "expected edges to be 'either' or 'remove', got array([1., 1.]); correct it.",
        ),
        (
            lambda: wilson(1, None),
            "expected trials to be a whole number, got None; correct it.",
        ),
        (
            lambda: ModelOracle(example_oracle().model, batch_size=2.5),
            "expected batch_size to be a whole number or None, got 2.5; correct it.",
        ),
        (
            lambda: Mix({"paper": "much"}),
            "expected weights to be a table from a text to a number, got 'much' in it; write "
            "Mix({'paper': 1.0, 'plausible': 0.5}).",
        ),
    ],
)
def test_an_argument_of_another_type_is_named_with_what_came(call, words):
    with pytest.raises(ConfigError) as error:
        call()
    assert str(error.value) == words


@pytest.mark.parametrize("flag", [1, "yes", None, np.ones(2)])
def test_a_flag_is_true_or_false(flag):
    with pytest.raises(ConstraintError, match="expected allow_additions to be True or False"):
        Constraints(allow_additions=flag)


@pytest.mark.parametrize("nodes", [[1.7], ["1"], [True], 3, {1: 2}, "12"])
def test_nodes_are_never_rounded_or_read_out_of_a_text(nodes):
    with pytest.raises(ConstraintError, match="expected frozen_nodes"):
        Constraints(frozen_nodes=nodes)


def test_numbers_and_collections_of_numpy_and_torch_are_taken():
    same = Constraints(
        max_edits=np.int64(2),
        allow_additions=np.bool_(False),
        frozen_nodes=torch.tensor([1, 2]),
        frozen_edges=np.array([[1, 0]]),
        forbidden_pairs=(pair for pair in [(4, np.int32(3))]),
        room=[(np.int64(3), torch.tensor(1))],
    )
    assert same == Constraints(
        max_edits=2,
        allow_additions=False,
        frozen_nodes={1, 2},
        frozen_edges={(0, 1)},
        forbidden_pairs={(3, 4)},
        room={3: 1},
    )
    assert type(same.max_edits) is int
    assert {type(node) for node in same.frozen_nodes} == {int}
    assert GCNClassifier(np.int64(4), 2, layers=[torch.tensor(3)]).config.layers == (3,)


def test_a_number_stays_as_it_came():
    assert repr(SizeWeightedFidelity(gamma=torch.tensor(0.25).double(), max_size=np.int8(3))) == (
        "SizeWeightedFidelity(gamma=0.25, max_size=3)"
    )
    assert repr(Noise(sigma=1).sigma) == "1"


def test_fields_of_other_types_and_defaults_are_left_alone():
    @dataclass(frozen=True)
    class Made:
        graph: Data = None
        count: int = None
        names: dict = field(default_factory=dict)

        def __post_init__(self):
            check_fields(self)

    assert Made(graph="anything").count is None
    with pytest.raises(ConfigError, match="expected count to be a whole number"):
        Made(count="x")


def test_a_checked_call_takes_its_arguments_in_every_way():
    @checked_call(GraphError, "look at it")
    def call(first: int, *rest: object, last: "str | None" = None, **more: object) -> tuple:
        return first, rest, last, more

    assert call(1, "x", last="y", odd=2) == (1, ("x",), "y", {"odd": 2})
    assert call(first=np.int64(1)) == (1, (), None, {})
    with pytest.raises(
        GraphError, match=r"expected last to be a text or None, got 3; look at it\."
    ):
        call(1, last=3)
    with pytest.raises(TypeError, match="missing"):
        call()


def test_graphs_of_too_many_nodes_or_with_sparse_features_are_refused():
    edges = torch.tensor([[0, 1], [1, 0]])
    oracle = example_oracle()
    with pytest.raises(GraphError, match="expected a graph of at most"):
        Constraints().allows(Data(edge_index=edges, num_nodes=10**10), None)
    with pytest.raises(GraphError, match="to_dense"):
        Constraints().allows(Data(edge_index=edges, x=torch.ones(2, 1).to_sparse()), None)
    with pytest.raises(GraphError, match="molecule_graph"):
        oracle.predict_proba(["CCO"])


def test_a_table_is_written_into_a_folder_with_a_colon_in_its_name(tmp_path):
    pytest.importorskip("pyarrow")
    folder = tmp_path / "model.py:12:30"
    folder.mkdir()
    write_table([{"kind": "graph", "added": [[0, 1]]}], folder / "results.parquet")
    assert [file.name for file in folder.iterdir()] == ["results.parquet"]


@pytest.mark.parametrize("name", ["\ud800", "a\0b"])
def test_a_name_that_no_file_can_have_is_refused(name, tmp_path):
    with pytest.raises(ArtifactError, match="expected a path"):
        Journal(tmp_path / name)


def test_class_names_of_a_tensor_are_refused():
    with pytest.raises(ConfigError) as error:
        ModelOracle(example_oracle().model, class_names=torch.tensor(3))
    assert_sentence(error, "class_names")


def test_sparse_features_in_a_data_set_are_refused():
    graphs = example_graphs(6, seed=0)
    graphs[2].x = graphs[2].x.to_sparse()
    with pytest.raises(DatasetError) as error:
        bundle_from(graphs, [0, 1] * 3, name="own")
    assert_sentence(error, "to_dense")
