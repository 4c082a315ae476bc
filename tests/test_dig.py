"""Folders of DIG become bundles, unless they contradict themselves."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import numpy as np
import pytest

from conftest import assert_sentence
from edgeflip.datasets.dig import load_dig
from edgeflip.errors import DatasetError


def dig_folder(folder: Path, **changes: str) -> Path:
    texts = {
        "_edge_index.txt": "0 1\n2 1\n4 3\n3 4\n",
        "_node_indicator.txt": "1\n1\n1\n2\n2\n",
        "_graph_labels.txt": "1\n0\n",
        "_split_indices.txt": "0\n2\n",
        "_sentence_tokens.json": json.dumps({"0": ["not", "so", "good"], "1": ["a", "b", "c"]}),
        **changes,
    }
    for name, text in texts.items():
        (folder / f"Graph-Twitter{name}").write_text(text)
    rows = np.arange(20, dtype=np.float32).reshape(5, 4)
    (folder / "Graph-Twitter_node_features.pkl").write_bytes(pickle.dumps(rows))
    return folder


def test_a_folder_of_dig_is_loaded(tmp_path) -> None:
    bundle = load_dig(dig_folder(tmp_path))
    assert bundle.name == "graph_twitter"
    assert bundle.split.sizes == (1, 0, 1)
    first, second = bundle.graphs
    assert first.edge_index.tolist() == [[0, 1, 1, 2], [1, 0, 2, 1]]
    assert second.edge_index.tolist() == [[0, 1], [1, 0]]
    assert first.tokens == ["not", "so", "good"]
    assert second.tokens == ["0", "1"]  # the file has another number of words
    assert second.x.tolist() == [[12, 13, 14, 15], [16, 17, 18, 19]]
    assert (int(first.y), bundle.class_names) == (1, ("class 0", "class 1"))


@pytest.mark.parametrize(
    "changes",
    [
        {"_edge_index.txt": "0 9\n"},
        {"_edge_index.txt": "0 3\n"},
        {"_edge_index.txt": "0 1 2\n"},
        {"_edge_index.txt": "zero one\n"},
        {"_node_indicator.txt": "1\n2\n1\n2\n2\n"},
        {"_node_indicator.txt": "1\n1\n"},
        {"_graph_labels.txt": "-1\n0\n"},
        {"_split_indices.txt": "0\n"},
        {"_sentence_tokens.json": "[]"},
        {"_sentence_tokens.json": "{"},
    ],
)
def test_a_folder_of_dig_that_contradicts_itself_is_refused(tmp_path, changes) -> None:
    with pytest.raises(DatasetError) as error:
        load_dig(dig_folder(tmp_path, **changes))
    assert_sentence(error)


def test_a_folder_without_features_is_refused(tmp_path) -> None:
    with pytest.raises(DatasetError) as error:
        load_dig(tmp_path)
    assert_sentence(error, "_node_features.pkl")
