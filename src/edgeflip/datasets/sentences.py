"""Sentences as graphs: Graph-Twitter and Graph-SST5.

A node is a word, an edge joins a word to its governor in the dependency tree, and the features of a
word come from a pretrained text encoder. Every graph keeps its words as `graph.tokens`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.datasets.bundle import DatasetBundle, DatasetCard, Split, random_split
from edgeflip.datasets.catalogue import catalogue
from edgeflip.datasets.encoder import EncoderSettings
from edgeflip.datasets.features import token_features
from edgeflip.errors import DatasetError, unknown_name
from edgeflip.support import check_limit, limit, parse_json, unpacked

SENTENCE_SETS = ("graph_twitter", "graph_sst5")

_PARTS = ("train", "dev", "test")


@dataclass(frozen=True)
class Sentence:
    """A parsed text: its words, each word's governor, and its label.

    Attributes:
        heads: position of each word's governor, -1 for the root.
        part: `"train"`, `"dev"` or `"test"`.
    """

    tokens: tuple[str, ...]
    heads: tuple[int, ...]
    label: int
    part: str


def load(name: str, data_dir: Path | None) -> DatasetBundle:
    """Load Graph-Twitter or Graph-SST5 with the default encoder, showing progress if it must encode."""
    return load_sentences(name, data_dir, progress=True)


def load_sentences(
    name: str,
    data_dir: str | os.PathLike[str] | None,
    *,
    encoder: EncoderSettings | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    progress: bool = False,
) -> DatasetBundle:
    """Load one of the sentence sets, with any encoder.

    Args:
        name: `graph_twitter` or `graph_sst5`.
        data_dir: the data folder.
        encoder: what makes the features of words; all-MiniLM-L6-v2 when left out.
        cache_dir: where made features are kept, see `cache_folder`.
        progress: show a progress bar with an estimate on stderr while encoding.
    """
    if name not in SENTENCE_SETS:
        raise unknown_name("sentence dataset", name, SENTENCE_SETS)
    entry = catalogue()[name]
    (file,) = entry.files
    if data_dir is None:
        raise DatasetError(
            f"expected a data folder with {file.path}, got none; set EDGEFLIP_DATA or data_dir: "
            f"{entry.obtain}."
        )
    sentences = read_sentences(file.read(Path(data_dir), otherwise=entry.obtain), where=file.path)
    chosen = encoder or EncoderSettings()
    features = token_features(
        [sentence.tokens for sentence in sentences],
        chosen,
        name=name,
        data_checksum=file.sha256,
        cache_dir=cache_dir,
        progress=progress,
    )
    return DatasetBundle(
        name=name,
        graphs=sentence_graphs(sentences, features),
        split=split_of(sentences),
        class_names=entry.class_names,
        motif_nodes=None,
        drawing="sentence",
        card=DatasetCard(
            title=entry.title,
            licence=entry.licence,
            citation=entry.citation,
            source=entry.source,
            checksum=file.sha256,
            origin="file",
            notes=f"Features of {chosen.name}, layers {', '.join(map(str, chosen.layers))}, word "
            "pieces averaged per word; the published ones are BERT's. Edges of another parser than "
            "the published ones.",
        ),
    )


def read_sentences(content: bytes, *, where: str) -> list[Sentence]:
    """Sentences from a gzipped file of JSON lines.

    A line is an object with `split`, `y`, `tokens` and `heads`.

    Args:
        content: of the file.
        where: its name, for errors.
    """
    text = unpacked(content, Path(where))
    check_limit("graphs", text.count(b"\n"), where)
    return [
        _sentence(line, f"line {number} of {where}")
        for number, line in enumerate(text.split(b"\n"), start=1)
        if line.strip()
    ]


def _sentence(line: bytes, where: str) -> Sentence:
    row = parse_json(line, where=where, advice="fetch the file again")
    wanted = {"split": str, "y": int, "tokens": list, "heads": list}
    if not isinstance(row, dict) or not all(_is(row.get(key), wanted[key]) for key in wanted):
        raise DatasetError(
            f"expected an object with split, y, tokens and heads in {where}, got other JSON; fetch "
            "the file again."
        )
    tokens, heads = row["tokens"], row["heads"]
    count = len(tokens)
    check_limit("nodes", count, where)
    whole = (
        count >= 1
        and len(heads) == count
        and all(_is(token, str) for token in tokens)
        and all(_is(head, int) and -1 <= head < count for head in heads)
        and 0 <= row["y"] < limit("classes")
        and row["split"] in _PARTS
    )
    if not whole:
        raise DatasetError(
            f"expected words, one governor for each, a label of at least 0 and a split among "
            f"{', '.join(_PARTS)} in {where}, got others; fetch the file again."
        )
    return Sentence(tuple(tokens), tuple(heads), row["y"], row["split"])


def _is(value: Any, kind: type) -> bool:
    return isinstance(value, kind) and not isinstance(value, bool)


def sentence_graphs(sentences: Sequence[Sentence], features: Tensor) -> tuple[Data, ...]:
    """Graphs whose features are views of one matrix, and whose words are kept in `tokens`.

    Args:
        sentences: the parsed texts.
        features: of all their words, one after the other [words, width].

    Example:
        >>> sentence = Sentence(("good", "film"), (1, -1), 1, "train")
        >>> (graph,) = sentence_graphs([sentence], torch.ones(2, 3))
        >>> graph.edge_index.tolist(), graph.tokens
        ([[0, 1], [1, 0]], ['good', 'film'])
    """
    rows = features.split([len(sentence.tokens) for sentence in sentences])
    return tuple(
        Data(
            x=x,
            edge_index=_edges(sentence),
            y=torch.tensor([sentence.label]),
            tokens=list(sentence.tokens),
        )
        for sentence, x in zip(sentences, rows, strict=True)
    )


def _edges(sentence: Sentence) -> Tensor:
    pairs = {(word, head) for word, head in enumerate(sentence.heads) if head not in (-1, word)}
    directed = sorted(pairs | {(head, word) for word, head in pairs})
    return torch.tensor(directed, dtype=torch.long).reshape(-1, 2).t().contiguous()


def split_of(sentences: Sequence[Sentence]) -> Split:
    """The published split; without a published validation part, a fifth of the training texts.

    Which fifth was published for Graph-Twitter is not known, so a seeded draw stands in.
    """
    indices = {
        part: tuple(index for index, text in enumerate(sentences) if text.part == part)
        for part in _PARTS
    }
    if indices["dev"]:
        return Split(indices["train"], indices["dev"], indices["test"])
    cut = random_split(len(indices["train"]), shares=(0.8, 0.0))
    train, val = (
        tuple(indices["train"][index] for index in part) for part in (cut.train, cut.test)
    )
    return Split(train, val, indices["test"])
