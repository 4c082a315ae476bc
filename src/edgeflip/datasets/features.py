"""Features of words, made once and kept: float16 shards in a cache folder.

A shard is written whole or not at all, so an encoding that was interrupted goes on with the first
shard that is missing. The folder's name holds a checksum of everything the features depend on.
"""

from __future__ import annotations

import logging
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor

from edgeflip.datasets.encoder import EncoderSettings, TokenEncoder, load_encoder
from edgeflip.errors import ArtifactError, DatasetError
from edgeflip.support import checksum, progress_bar, read_tensors, write_tensors

CACHE_VARIABLE = "EDGEFLIP_CACHE"
SHARD_TEXTS = 512

_FORMAT = 1
_KEY = "features"
_log = logging.getLogger(__name__)


def cache_folder(given: str | os.PathLike[str] | None = None) -> Path:
    """Where made features are kept: the argument, else `EDGEFLIP_CACHE`, else the user's cache.

    Example:
        >>> cache_folder("somewhere").name
        'somewhere'
    """
    named = os.fspath(given) if given is not None else os.environ.get(CACHE_VARIABLE, "")
    if named:
        return Path(os.path.expanduser(named))
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or "~/AppData/Local"
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.path.expanduser(base)) / "edgeflip"


def token_features(
    texts: Sequence[Sequence[str]],
    settings: EncoderSettings,
    *,
    name: str,
    data_checksum: str,
    cache_dir: str | os.PathLike[str] | None = None,
    progress: bool = False,
    open_encoder: Callable[[EncoderSettings], TokenEncoder] = load_encoder,
) -> Tensor:
    """Features of all words of all texts, from the cache as far as they are there [words, width].

    Args:
        texts: the words of each text.
        settings: the encoder.
        name: of the data, for the folder and the progress bar.
        data_checksum: of the file the texts come from.
        cache_dir: see `cache_folder`.
        progress: show a progress bar with an estimate on stderr while encoding.
        open_encoder: called once, and only if a shard is missing.

    Returns:
        One float32 matrix; the cache holds float16, so a first and a second call give the same.
    """
    about = {"data": data_checksum, "encoder": asdict(settings), "format": _FORMAT}
    folder = cache_folder(cache_dir) / "features" / f"{name}-{checksum(about)[:16]}"
    parts = [texts[start : start + SHARD_TEXTS] for start in range(0, len(texts), SHARD_TEXTS)]
    shards = [
        _Shard(folder / f"{number:05}.safetensors", part) for number, part in enumerate(parts)
    ]
    result = _Matrix(sum(shard.rows for shard in shards))
    missing = []
    start = 0
    for shard in shards:
        features = shard.read()
        if features is None or not result.takes(features):
            missing.append((start, shard))
        else:
            result.put(start, features)
        start += shard.rows
    if missing:
        _check_writable(folder)
        encoder = open_encoder(settings)
        left = sum(len(shard.texts) for _, shard in missing)
        description = f"encoding {name} (once)"
        done = len(texts) - left
        began = time.perf_counter()
        with progress_bar(
            description, total=len(texts), unit="text", shown=progress, done=done
        ) as bar:
            for start, shard in missing:
                result.put(start, shard.make(encoder, on_texts=bar.update))
        _log.info("encoded %d texts of %s in %.0f s", left, name, time.perf_counter() - began)
    return result.matrix


class _Shard:
    """Some of the texts and the file that keeps their features."""

    def __init__(self, file: Path, texts: Sequence[Sequence[str]]) -> None:
        self.file, self.texts = file, texts
        self.rows = sum(map(len, texts))

    def read(self) -> Tensor | None:
        """The features [rows, width], or none if the file is missing, damaged or another's."""
        if not self.file.is_file():
            return None
        try:
            features = read_tensors(self.file).get(_KEY)
        except ArtifactError as error:
            _log.warning("%s It is made again.", error)
            return None
        if features is None or features.dtype != torch.float16:
            return None
        fits = features.dim() == 2 and features.size(0) == self.rows and features.size(1) > 0
        return features if fits and bool(torch.isfinite(features).all()) else None

    def make(self, encoder: TokenEncoder, on_texts: Callable[[int], None]) -> Tensor:
        """Encode the texts and write the file."""
        features = torch.cat(encoder.encode(self.texts, on_texts=on_texts)).half()
        if not bool(torch.isfinite(features).all()):
            raise DatasetError(
                "expected finite features from the encoder, got NaN or numbers too large for "
                "float16; use other layers or another encoder."
            )
        write_tensors(self.file, {_KEY: features})
        return features


class _Matrix:
    """One float32 matrix, made when its width is known."""

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self.matrix = torch.empty(rows, 0)

    def takes(self, part: Tensor) -> bool:
        """Whether a part is as wide as those before it."""
        return self.matrix.size(1) in (0, part.size(1))

    def put(self, start: int, part: Tensor) -> None:
        if not self.matrix.size(1):
            self.matrix = torch.empty(self.rows, part.size(1))
        self.matrix[start : start + part.size(0)] = part


def _check_writable(folder: Path) -> None:
    """Fail before minutes of work, not after."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(13, "Permission denied")
    except OSError as error:
        raise DatasetError(
            f"expected to write the encoded texts to {folder}, got '{error.strerror}'; name another "
            f"folder with cache_dir or {CACHE_VARIABLE}."
        ) from None
