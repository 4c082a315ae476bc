"""The ready-made sentence graphs of DIG (Graph-SST2, Graph-SST5, Graph-Twitter), from their folder.

The files of a folder share a prefix: `<prefix>_node_features.pkl`, `_edge_index.txt`,
`_node_indicator.txt`, `_graph_labels.txt`, `_split_indices.txt` and `_sentence_tokens.json`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.datasets.bundle import DatasetBundle, DatasetCard, Split, random_split
from edgeflip.datasets.pickled_array import read_pickled_array
from edgeflip.datasets.tu import whole_table
from edgeflip.errors import DatasetError
from edgeflip.support import as_path, check_limit, parse_json, read_file, reading

_FEATURES = "_node_features.pkl"


def load_dig(
    folder: str | os.PathLike[str],
    *,
    name: str | None = None,
    class_names: tuple[str, ...] | None = None,
) -> DatasetBundle:
    """Load a folder of DIG's sentence graphs; its pickle is read as data and never run.

    Args:
        folder: the one with the files, in DIG `<name>/raw`.
        name: of the dataset, whose preset is used; by default the files' prefix, lower case and with
            `_` for `-`, so that `Graph-Twitter` becomes `graph_twitter`.
        class_names: by default `class 0`, `class 1` and so on.
    """
    with reading(f"files of DIG in {folder}", advice="fetch the files again"):
        return _load(as_path(folder), name, class_names)


def _load(location: Path, name: str | None, class_names: tuple[str, ...] | None) -> DatasetBundle:
    prefix = _prefix(location)
    x = _features(location / f"{prefix}{_FEATURES}")
    edges = _numbers(location / f"{prefix}_edge_index.txt", columns=2)
    graph_of_node = _numbers(location / f"{prefix}_node_indicator.txt") - 1
    labels = _numbers(location / f"{prefix}_graph_labels.txt")
    count = len(labels)
    check_limit("graphs", count, str(location))
    check_limit("classes", int(labels.max(initial=-1)) + 1, str(location))
    _require(
        location,
        len(graph_of_node) == len(x)
        and bool((np.diff(graph_of_node) >= 0).all())
        and set(graph_of_node.tolist()) == set(range(count)),
        "one graph number per row of features, ascending from 1",
    )
    _require(
        location,
        edges.size == 0 or (edges.min() >= 0 and edges.max() < len(x)),
        "edges between existing nodes",
    )
    _require(
        location,
        bool((graph_of_node[edges[:, 0]] == graph_of_node[edges[:, 1]]).all()),
        "edges within graphs",
    )
    _require(location, labels.size > 0 and labels.min() >= 0, "labels of at least 0")
    graphs = _graphs(x, edges, graph_of_node, labels, _tokens(location, prefix, graph_of_node))
    classes = class_names or tuple(f"class {number}" for number in range(int(labels.max()) + 1))
    _require(location, int(labels.max()) < len(classes), f"labels in 0..{len(classes) - 1}")
    return DatasetBundle(
        name=name or prefix.lower().replace("-", "_"),
        graphs=graphs,
        split=_split(location / f"{prefix}_split_indices.txt", count),
        class_names=classes,
        motif_nodes=None,
        drawing="sentence",
        card=DatasetCard(
            title=prefix,
            licence="not stated by the source",
            citation="H. Yuan et al., Explainability in Graph Neural Networks: A Taxonomic Survey, "
            "TPAMI 2023",
            source="files of DIG (Dive into Graphs)",
            checksum=None,
            origin="file",
        ),
    )


def _prefix(folder: Path) -> str:
    found = sorted(folder.glob(f"*{_FEATURES}")) if os.path.isdir(folder) else []
    if len(found) != 1:
        raise DatasetError(
            f"expected one file that ends in {_FEATURES} in {folder}, got {len(found)}; give the "
            "folder raw of one dataset."
        )
    return found[0].name.removesuffix(_FEATURES)


def _require(folder: Path, holds: bool | np.bool, wanted: str) -> None:
    if not holds:
        raise DatasetError(f"expected {wanted} in {folder}, got others; fetch the files again.")


def _features(file: Path) -> Tensor:
    array = read_pickled_array(file)
    _require(file, array.ndim == 2, "features of shape [nodes, features]")
    # A copy: the array's memory belongs to the file's content and cannot be written to.
    with np.errstate(over="ignore"):
        x = torch.from_numpy(array.astype(np.float32))
    _require(file, bool(torch.isfinite(x).all()), "finite features")
    return x


def _numbers(file: Path, *, columns: int = 1) -> npt.NDArray[np.int64]:
    # Some of these files have commas between the columns, some only spaces; some have no line ends.
    content = read_file(file).replace(b",", b"\n").replace(b" ", b"\n")
    flat = whole_table(content, str(file))[:, 0]
    _require(file, not flat.size % columns, f"rows of {columns} whole numbers")
    return flat.reshape(-1, columns) if columns > 1 else flat


def _split(file: Path, count: int) -> Split:
    """Parts 0, 1 and 2 of the file, or a seeded draw without one."""
    if not os.path.exists(file):
        return random_split(count)
    part = _numbers(file)
    _require(file, len(part) == count, "one part of the split per graph")
    return Split(*(tuple(np.flatnonzero(part == number).tolist()) for number in range(3)))


def _tokens(folder: Path, prefix: str, graph_of_node: npt.NDArray[np.int64]) -> list[Any]:
    """Words of every graph, numbers of nodes where there are none."""
    sizes = np.bincount(graph_of_node).tolist()
    file = folder / f"{prefix}_sentence_tokens.json"
    given: Any = {}
    if os.path.exists(file):
        given = parse_json(read_file(file), where=str(file), advice="fetch the file again")
    _require(file, isinstance(given, dict), "a JSON object of words by graph")
    found = [given.get(str(number)) for number in range(len(sizes))]
    return [
        [str(word) for word in words]
        if isinstance(words, list) and len(words) == size
        else [str(node) for node in range(size)]
        for words, size in zip(found, sizes, strict=True)
    ]


def _graphs(
    x: Tensor,
    edges: npt.NDArray[np.int64],
    graph_of_node: npt.NDArray[np.int64],
    labels: npt.NDArray[np.int64],
    tokens: list[Any],
) -> tuple[Data, ...]:
    """Undirected graphs without repeated edges, their features views of one matrix."""
    sizes = np.bincount(graph_of_node)
    starts = np.cumsum(sizes) - sizes
    both = np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)
    owner = graph_of_node[both[:, 0]]
    local = torch.from_numpy(both - starts[owner][:, None]).t()
    columns = local.split(np.bincount(owner, minlength=len(sizes)).tolist(), dim=1)
    return tuple(
        Data(
            x=rows, edge_index=pairs.contiguous(), y=torch.tensor([int(label)]), tokens=list(words)
        )
        for rows, pairs, label, words in zip(
            x.split(sizes.tolist()), columns, labels, tokens, strict=True
        )
    )
