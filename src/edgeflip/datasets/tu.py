"""Graphs in the format of the TU collection: text files with a row of numbers for every edge or node."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.errors import DatasetError, shown
from edgeflip.support import check_limit, read_file, reading

Array = NDArray[np.int64]

_PARTS = ("A", "graph_indicator", "graph_labels", "node_labels", "node_attributes")
_WHOLE = re.compile(r"[+-]?\d{1,18}(\.0*)?", re.ASCII)
_BETWEEN = [bytes([sign]) for sign in b",\n\r \t\x0b\x0c\x1c\x1d\x1e"]
_AT_ONCE = 50_000


def read_tu(folder: Path) -> tuple[list[Data], list[str]]:
    """Graphs and labels of a folder in the format of the TU collection.

    Each column of node labels becomes one-hot features, node attributes follow them; without either
    every node has the feature 1. Graph labels are texts, just as they are written.
    """
    starts = sorted({file.name.split("_A.txt")[0] for file in folder.glob("*_A.txt*")})
    if len(starts) != 1:
        raise DatasetError(
            f"expected one set of TU files in {folder}, got {', '.join(starts)}; give each a folder."
        )
    name = starts[0]
    with reading(f"the TU files {name}_*.txt in {folder}", advice="correct the files"):
        contents = {part: _content(folder, name, part) for part in _PARTS}
        missing = next((part for part in _PARTS[:3] if contents[part] is None), None)
        if missing is not None:
            raise DatasetError(
                f"expected the file {name}_{missing}.txt in {folder}, got none; put it there."
            )
        edges, of_node = (
            whole_table(contents[part] or b"", f"{name}_{part}.txt", columns)
            for part, columns in (("A", 2), ("graph_indicator", 1))
        )
        labels = [row[0] for row in _rows(contents["graph_labels"] or b"", f"{name}_graph_labels")]
        _check(edges, of_node[:, 0], len(labels), name)
        features = _features(contents, len(of_node), name)
        graphs = graphs_of_table(_both_ways(edges), of_node[:, 0])
        counts = np.bincount(of_node[:, 0])[1:].tolist()
        for graph, own in zip(graphs, features.split(counts), strict=True):
            graph.x = own.clone()
        return graphs, labels


def graphs_of_table(ends: Array, indicator: Array) -> list[Data]:
    """Graphs from the two tables every TU set has, nodes numbered from 0 in each graph.

    Every node has the feature 1, to be replaced.

    Args:
        ends: both ends of each directed edge, nodes counted from 1 over all graphs [edges, 2].
        indicator: the graph of each node, counted from 1, ascending [nodes].
    """
    counts = np.bincount(indicator)[1:]
    firsts = np.cumsum(counts) - counts
    home = indicator[ends[:, 0] - 1] - 1
    order = np.lexsort((ends[:, 1], ends[:, 0]))
    edges = torch.tensor((ends[order] - 1 - firsts[home[order], None]).T)
    sizes = np.bincount(home, minlength=len(counts)).tolist()
    return [
        Data(edge_index=own.contiguous(), x=torch.ones(int(count), 1))
        for own, count in zip(edges.split(sizes, dim=1), counts, strict=True)
    ]


def whole_table(content: bytes, where: str, columns: int = 1) -> Array:
    """A table of whole numbers, one row per line, separated by commas or spaces [rows, columns].

    Args:
        content: of the file.
        where: its name, for errors.
        columns: how many numbers a row must have.
    """
    parts = []
    for rows in _blocks(content, where):
        for row in rows:
            wrong = next((word for word in row if not _WHOLE.fullmatch(word)), None)
            if wrong is not None or len(row) != columns:
                raise DatasetError(
                    f"expected {columns} whole number{'s'[: columns > 1]} in every row of {where}, got "
                    f"{shown(wrong if wrong is not None else ' '.join(row))}; correct it."
                )
        parts.append(
            np.array([[int(word.partition(".")[0]) for word in row] for row in rows], np.int64)
        )
    return np.concatenate(parts) if parts else np.empty((0, columns), np.int64)


def number_table(content: bytes, where: str) -> NDArray[np.float64]:
    """A table of finite numbers, one row per line, separated by commas or spaces."""
    parts: list[NDArray[np.float64]] = []
    for rows in _blocks(content, where):
        widths = {len(row) for row in rows} | {part.shape[1] for part in parts[:1]}
        problem = f"rows of {sorted(widths)[:3]}" if len(widths) > 1 else None
        if problem is None:
            try:
                parts.append(np.array([[float(word) for word in row] for row in rows]))
                problem = None if np.isfinite(parts[-1]).all() else "NaN or infinity"
            except ValueError as error:
                problem = str(error)[:100]
        if problem is not None:
            raise DatasetError(
                f"expected rows of finite numbers of one length in {where}, got {problem}; correct it."
            )
    return np.concatenate(parts) if parts else np.empty((0, 1))


def _rows(content: bytes, where: str) -> Iterator[list[str]]:
    for block in _blocks(content, where):
        yield from block


def _blocks(content: bytes, where: str) -> Iterator[list[list[str]]]:
    """The words of all rows that are not empty, some rows at a time."""
    check_limit("values", sum(content.count(sign) for sign in _BETWEEN), where)
    try:
        lines = content.decode("ascii").replace(",", " ").splitlines()
    except UnicodeDecodeError:
        raise DatasetError(
            f"expected rows of numbers in {where}, got something else; correct it."
        ) from None
    for start in range(0, len(lines), _AT_ONCE):
        rows = [words for line in lines[start : start + _AT_ONCE] if (words := line.split())]
        if rows:
            yield rows


def _content(folder: Path, name: str, part: str) -> bytes | None:
    for file in (folder / f"{name}_{part}.txt", folder / f"{name}_{part}.txt.gz"):
        if file.exists():
            return read_file(file, inside=folder)
    return None


def _check(edges: Array, of_node: Array, num_labels: int, name: str) -> None:
    check_limit("graphs", num_labels, name)
    problem = None
    if edges.max(initial=0) > len(of_node) or edges.min(initial=1) < 1:
        wrong = edges.max() if edges.max() > len(of_node) else edges.min()
        problem = f"an edge to node {wrong} of {len(of_node)}"
    elif not len(of_node) or set(of_node.tolist()) != set(range(1, num_labels + 1)):
        largest = of_node.max(initial=0)
        problem = (
            f"nodes of graphs {of_node.min(initial=0)}..{largest} and {num_labels} graph labels"
        )
    elif (np.diff(of_node) < 0).any():
        problem = "nodes of an earlier graph after those of a later one"
    elif (of_node[edges[:, 0] - 1] != of_node[edges[:, 1] - 1]).any():
        problem = "an edge between two graphs"
    if problem:
        raise DatasetError(
            f"expected edges inside graphs 1, 2, … with their nodes in order in {name}, got {problem}; "
            "correct the files."
        )
    check_limit("nodes", int(np.bincount(of_node).max()), f"a graph of {name}")


def _both_ways(edges: Array) -> Array:
    """Every edge once in each direction; some sets list one direction only, or an edge twice."""
    return np.unique(np.concatenate([edges, edges[:, ::-1]]), axis=0)


def _features(contents: dict[str, bytes | None], count: int, name: str) -> Tensor:
    """Node labels one-hot, then node attributes [nodes, features]."""
    tables: list[Tensor] = []
    if (content := contents["node_labels"]) is not None:
        words = list(_rows(content, f"{name}_node_labels.txt"))
        _check_rows(len(words), len({len(row) for row in words}), count, name)
        tables += [_one_hot(column, name) for column in zip(*words, strict=True)]
    if (content := contents["node_attributes"]) is not None:
        attributes = number_table(content, f"{name}_node_attributes.txt")
        _check_rows(len(attributes), 1, count, name)
        tables.append(torch.tensor(attributes, dtype=torch.float32))
    x = torch.cat(tables, dim=1) if tables else torch.ones(count, 1)
    if not bool(torch.isfinite(x).all()):
        raise DatasetError(
            f"expected node attributes that single precision can hold in {name}, got a larger number; "
            "scale them."
        )
    return x


def _check_rows(found: int, widths: int, count: int, name: str) -> None:
    if found != count or widths > 1:
        what = f"{found}" if found != count else "rows of differing length"
        raise DatasetError(
            f"expected {count} rows of node labels and attributes in {name}, got {what}; correct the "
            "files."
        )


def _one_hot(labels: tuple[str, ...], name: str) -> Tensor:
    keys = [_key(label) for label in labels]
    place = {label: place for place, label in enumerate(sorted(set(keys), key=_order))}
    check_limit("columns", len(place), f"the one-hot node labels of {name}")
    check_limit("features", len(place) * len(keys), f"the one-hot node labels of {name}")
    table = torch.zeros(len(keys), len(place))
    table[torch.arange(len(keys)), torch.tensor([place[key] for key in keys])] = 1.0
    return table


def _key(label: str) -> str:
    """A label by which equal ones are known: 1.0 is 1."""
    return str(int(label.partition(".")[0])) if _WHOLE.fullmatch(label) else label


def _order(label: str) -> tuple[bool, float, str]:
    """Numbers by size, then other labels by their letters."""
    try:
        return (False, int(label) if _WHOLE.fullmatch(label) else float(label), label)
    except ValueError:
        return (True, 0.0, label)
