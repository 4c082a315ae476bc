"""The cache of features: texts are encoded once, and what is damaged is made again."""

from __future__ import annotations

import os

import pytest
import torch

from conftest import assert_sentence
from edgeflip.datasets.encoder import EncoderSettings
from edgeflip.datasets.features import SHARD_TEXTS, cache_folder, token_features
from edgeflip.errors import DatasetError
from sentence_files import stub_encoder

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
