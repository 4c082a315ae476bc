"""Two hundred published sentences, from the file to a bundle with features."""

from __future__ import annotations

import gzip
import hashlib
import random
import sys
from dataclasses import replace

import pytest
import torch

from edgeflip.datasets import list_datasets, load_dataset
from edgeflip.datasets.catalogue import RequiredFile, catalogue
from edgeflip.datasets.sentences import SENTENCE_SETS, read_sentences, split_of
from sentence_files import published, real_encoder


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
