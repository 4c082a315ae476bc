"""Graph-Twitter and Graph-SST5: reading them, graphs that keep their words, and their presets."""

from __future__ import annotations

import gzip
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch

from conftest import assert_sentence
from edgeflip.core.graphs import canonical, fingerprint
from edgeflip.datasets import list_datasets, load_dataset
from edgeflip.datasets.catalogue import catalogue
from edgeflip.datasets.sentences import (
    SENTENCE_SETS,
    Sentence,
    load_sentences,
    read_sentences,
    sentence_graphs,
    split_of,
)
from edgeflip.errors import DatasetError, UnknownNameError
from edgeflip.oracle.gcn import GCNClassifier
from edgeflip.oracle.model import ModelOracle
from edgeflip.presets import ExpectedResult, load_preset
from sentence_files import DATA, published, real_encoder

# Reading.


@pytest.mark.parametrize(
    ("name", "sizes", "words", "labels"),
    [
        ("graph_twitter", (4998, 1250, 692), 146452, [1733, 3473, 1734]),
        ("graph_sst5", (8544, 1101, 2210), 235313, [1510, 3140, 2242, 3111, 1852]),
    ],
)
def test_the_published_sentences_have_the_published_counts(name, sizes, words, labels) -> None:
    sentences = read_sentences(published(name), where=name)
    entry = catalogue()[name]
    assert split_of(sentences).sizes == entry.split == sizes
    assert len(sentences) == entry.graphs
    assert sum(len(sentence.tokens) for sentence in sentences) == words
    counts = np.bincount([sentence.label for sentence in sentences]).tolist()
    assert counts == labels
    assert len(entry.class_names) == len(labels)
    # Every text is one tree.
    assert all(sentence.heads.count(-1) == 1 for sentence in sentences)


@pytest.mark.long
@pytest.mark.parametrize("name", SENTENCE_SETS)
def test_every_published_sentence_can_be_encoded(name, tmp_path, monkeypatch) -> None:
    sentences = read_sentences(published(name), where=name)
    real_encoder()
    monkeypatch.setenv("EDGEFLIP_CACHE", str(tmp_path))
    bundle = load_dataset(name, DATA)
    assert len(bundle.graphs) == len(sentences)
    assert bundle.split.sizes == catalogue()[name].split
    for graph, sentence in zip(bundle.graphs, sentences, strict=True):
        assert graph.x.shape == (len(sentence.tokens), 768)
        assert torch.isfinite(graph.x).all()


def test_the_catalogue_pins_the_files_and_says_how_to_get_them(tmp_path) -> None:
    for entry in list_datasets(tmp_path):
        if entry.name in SENTENCE_SETS:
            assert not entry.at_hand
            assert "dependency.jsonl.gz" in entry.note
            assert "edgeflip[text-offline]" in entry.note
    for name in SENTENCE_SETS:
        with pytest.raises(DatasetError) as error:
            load_dataset(name, tmp_path)
        assert "found none; put" in str(error.value)
    with pytest.raises(DatasetError) as error:
        load_sentences("graph_twitter", None)
    assert_sentence(error, "EDGEFLIP_DATA")
    with pytest.raises(UnknownNameError, match="did you mean 'graph_sst5'"):
        load_sentences("graph_sst", tmp_path)


def test_a_sentence_set_without_its_encoder_is_not_at_hand_and_the_list_says_why(
    tmp_path, monkeypatch
) -> None:
    (tmp_path / "twitter").mkdir()
    (tmp_path / "twitter/twitter_dependency.jsonl.gz").write_bytes(b"")
    monkeypatch.setitem(sys.modules, "transformers", SimpleNamespace())
    (entry,) = (entry for entry in list_datasets(tmp_path) if entry.name == "graph_twitter")
    assert (entry.at_hand, entry.source) == (True, "file")
    monkeypatch.setitem(sys.modules, "transformers", None)
    (entry,) = (entry for entry in list_datasets(tmp_path) if entry.name == "graph_twitter")
    assert (entry.at_hand, entry.source) == (False, "missing")
    assert entry.note == "no package transformers: pip install 'edgeflip[text-offline]'"


def test_a_file_with_another_checksum_is_refused(tmp_path) -> None:
    (tmp_path / "twitter").mkdir()
    (tmp_path / "twitter/twitter_dependency.jsonl.gz").write_bytes(gzip.compress(b"{}"))
    with pytest.raises(DatasetError) as error:
        load_dataset("graph_twitter", tmp_path)
    assert_sentence(error, "sha256", "fetch it again")


def row(**changes) -> dict:
    return {"split": "train", "y": 1, "tokens": ["a", "b"], "heads": [1, -1], **changes}


def test_a_corrupt_gzip_is_refused() -> None:
    whole = gzip.compress(json.dumps(row()).encode() * 50)
    for content in (b"no gzip", whole[:-12], whole[:30] + b"\xff" * 20 + whole[50:]):
        with pytest.raises(DatasetError) as error:
            read_sentences(content, where="a.gz")
        assert_sentence(error, "gzip file at a.gz")


def test_a_gzip_bomb_is_refused_before_it_is_unpacked(monkeypatch) -> None:
    bomb = gzip.compress(b"0" * 2_000_000)
    assert len(bomb) < 5000
    monkeypatch.setenv("EDGEFLIP_MAX_FILE_BYTES", "100_000")
    with pytest.raises(DatasetError) as error:
        read_sentences(bomb, where="a.gz")
    assert_sentence(error, "at most 100,000 bytes")


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "[]",
        "[" * 100_000,
        json.dumps(row(y="1")),
        json.dumps(row(y=True)),
        json.dumps(row(y=-1)),
        json.dumps(row(split="valid")),
        json.dumps(row(tokens=["a"])),
        json.dumps(row(tokens=["a", 2])),
        json.dumps(row(tokens=[], heads=[])),
        json.dumps(row(heads=[2, -1])),
        json.dumps(row(heads=[0.5, -1])),
    ],
)
def test_a_line_that_is_no_sentence_is_refused_with_its_number(line) -> None:
    content = gzip.compress(f"{json.dumps(row())}\n{line}\n".encode())
    with pytest.raises(DatasetError) as error:
        read_sentences(content, where="a.gz")
    assert_sentence(error, "line 2 of a.gz")


def test_without_a_published_validation_part_a_fifth_of_the_training_texts_is_drawn() -> None:
    texts = [Sentence(("a",), (-1,), 0, part) for part in ("train",) * 10 + ("test",) * 3]
    split = split_of(texts)
    assert split.sizes == (8, 2, 3)
    assert sorted(split.train + split.val) == list(range(10))
    assert split == split_of(texts)


# Graphs that keep their words.


def test_words_survive_everything_that_is_done_to_a_graph() -> None:
    sentences = [
        Sentence(("not", "a", "film"), (2, 2, -1), 0, "train"),
        Sentence(("good",), (-1,), 1, "train"),
        Sentence(("a", "joy"), (1, -1), 1, "train"),
    ]
    matrix = torch.randn(6, 4)
    graphs = sentence_graphs(sentences, matrix)
    assert [graph.num_edges for graph in graphs] == [4, 0, 2]
    assert graphs[0].x.data_ptr() == matrix.data_ptr()
    assert graphs[2].tokens == ["a", "joy"]
    assert canonical(graphs[0]).tokens == graphs[0].clone().tokens == ["not", "a", "film"]
    other = graphs[0].clone()
    other.tokens = ["very", "good", "film"]
    assert fingerprint(other) == fingerprint(graphs[0])
    batch = Batch.from_data_list(list(graphs))
    assert batch.tokens == [graph.tokens for graph in graphs]
    assert batch.get_example(2).tokens == ["a", "joy"]
    assert graphs[0].subgraph(torch.tensor([0, 2])).tokens == ["not", "film"]
    for path in ("dense", "sparse"):
        oracle = ModelOracle(GCNClassifier(4, 2, layers=(8,)), path=path)
        assert oracle.predict_proba(list(graphs)).shape == (3, 2)


def test_searching_a_sentence_works_on_both_paths() -> None:
    from edgeflip import make_explainer

    sentence = Sentence(("not", "a", "good", "film", "."), (3, 3, 3, -1, 3), 0, "train")
    (graph,) = sentence_graphs([sentence], torch.randn(5, 4))
    torch.manual_seed(0)
    model = GCNClassifier(4, 2, layers=(8, 8), readout="max", normalize=True)
    answers = []
    for path in ("dense", "sparse"):
        explainer = make_explainer("random").fit([], ModelOracle(model, path=path))
        answer = explainer.explain(graph)
        answers.append(answer.to_rows())
        if answer.found:
            assert answer.edited_graph().tokens == graph.tokens
    assert [len(rows) for rows in answers] == [len(answers[0])] * 2


# Presets.


def test_the_published_settings_and_results_are_as_printed() -> None:
    twitter, sst5 = (load_preset(name, "paper") for name in SENTENCE_SETS)
    for preset, nodes, share in ((twitter, 11, 0.03), (sst5, 10, 0.05)):
        assert preset.oracle.layers == (128, 128, 128)
        assert (preset.oracle.readout, preset.oracle.epochs, preset.oracle.batch_size) == (
            "max",
            50,
            128,
        )
        table = preset.method("dr-cfgnn")
        assert (table["max_nodes"], table["threshold"]) == (nodes, 0.6)
        assert table["remove"] == table["add"] == {"alpha": 0.001, "beta": 3.0, "max": 7}
        assert table["share"] == share
        assert preset.expected is not None
        assert len(preset.expected.methods) == 11
    assert twitter.expected is not None
    assert sst5.expected is not None
    assert (twitter.expected.oracle_accuracy, sst5.expected.oracle_accuracy) == (0.7066, 0.505)
    assert twitter.expected.methods["d4explainer"] == ExpectedResult(
        validity=0.82,
        fidelity=0.69,
        size=8.15,
        first_size=12.86,
        minimality=0.97,
        ecan=0.99,
        training_seconds=47088.393,
        seconds=8.641,
    )
    assert sst5.expected.by_class["dr-cfgnn +DeN +OH"][4] == ExpectedResult(
        validity=0.064, fidelity=0.1, size=4.15, minimality=0.97, factual_proximity=0.86
    )
    assert sorted(twitter.expected.by_class["dr-cfgnn -DeN +OH"]) == [0, 1, 2]


@pytest.mark.parametrize("name", SENTENCE_SETS)
def test_the_recommended_search_reaches_as_far_as_the_published_one(name) -> None:
    own, printed = (load_preset(name, profile).method("dr-cfgnn") for profile in ("cpu", "paper"))
    for key in ("max_nodes", "remove", "add", "threshold"):
        assert own[key] == printed[key]
