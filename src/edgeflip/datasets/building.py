"""Graphs from their parts: counts, pairs and rows of numbers become PyG `Data`, checked on the way."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from numbers import Real
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import Edge
from edgeflip.errors import DatasetError, shown
from edgeflip.support import check_limit

# What writers of graphs put beside the attributes of an edge to find it again.
_NAMES_OF_EDGES = {"id", "key"}


def graph_from_networkx(graph: Any, *, where: str = "the graph") -> Data:
    """A networkx graph as PyG `Data`, nodes in their order.

    A node attribute `x` gives the features, a number or a list; otherwise all attributes that are
    numbers in every node do, in the order of their names. Without any, each node has the feature 1.
    Edge attributes become `edge_attr` by the same rule, from `edge_attr` or from all that are numbers in
    every edge; without any there is none.

    Args:
        graph: the graph; directions are dropped.
        where: the graph in words, for errors.

    Example:
        >>> import networkx as nx
        >>> graph_from_networkx(nx.path_graph(3)).num_edges
        4
    """
    if not (hasattr(graph, "nodes") and hasattr(graph, "edges")):
        raise DatasetError(
            f"expected {where} as a networkx graph, got {type(graph).__name__}; pass such a graph."
        )
    index = {node: number for number, node in enumerate(graph)}
    check_limit("nodes", len(index), where)
    nodes = [attributes for _, attributes in graph.nodes(data=True)]
    features = _rows_of(nodes, "x") or [[1.0]] * len(nodes)
    links = [(index[u], index[v], attributes) for u, v, attributes in graph.edges(data=True)]
    made = graph_data(
        len(index),
        [(u, v) for u, v, _ in links],
        features,
        where,
        edge_attr=_rows_of([attributes for *_, attributes in links], "edge_attr"),
    )
    if any(isinstance(node, str) for node in index):
        # What the nodes are called, for sentences and pictures.
        made.node_names = [str(node)[:_LONGEST_NAME] for node in index]
    return made


_LONGEST_NAME = 80


def graph_data(
    count: int,
    ends: Sequence[Edge],
    features: Sequence[Any] | None,
    where: str,
    *,
    edge_attr: Sequence[Any] | None = None,
    edge_weight: Sequence[Any] | None = None,
) -> Data:
    """A graph whose edges go both ways.

    Args:
        count: number of nodes.
        ends: both ends of each edge; an edge may stand there in both directions.
        features: a number or a row of numbers for each node; 1 for all without any.
        where: the graph in words, for errors.
        edge_attr: a number or a row of numbers for each of the ends.
        edge_weight: a number for each of the ends.
    """
    check_limit("nodes", count, where)
    check_limit("edges", len(ends), where)
    for u, v in ends:
        if not (0 <= u < count and 0 <= v < count):
            raise DatasetError(
                f"expected edges between nodes 0..{count - 1} in {where}, got ({shown(u)}, {shown(v)}); "
                "add the node or remove the edge."
            )
    x = torch.ones(count, 1) if features is None else number_rows(features, count, where, "x")
    pairs = sorted({(min(u, v), max(u, v)) for u, v in ends})
    columns = sorted([*pairs, *((v, u) for u, v in pairs if u != v)])
    edge_index = torch.tensor(columns, dtype=torch.long).reshape(-1, 2).t().contiguous()
    graph = Data(x=x, edge_index=edge_index)
    for name, rows in (("edge_attr", edge_attr), ("edge_weight", edge_weight)):
        if rows is not None:
            table = number_rows(rows, len(ends), where, name)
            graph[name] = table[_places(ends, columns, table, where, name)]
    if edge_weight is not None:
        graph.edge_weight = graph.edge_weight.flatten()
    return graph


def number_rows(values: Sequence[Any], count: int, where: str, name: str) -> Tensor:
    """Rows of numbers as a matrix of one row each [count, width].

    Args:
        values: a number, or a list of numbers, for each row.
        count: how many rows there must be.
        where: in what, for errors.
        name: what the matrix is called there.
    """
    rows = [_as_list(row) for row in values]
    widths = sorted({len(row) for row in rows})
    if len(rows) != count or len(widths) > 1:
        what = "features" if name == "x" else name
        of = "edges" if name.startswith("edge") else "nodes"
        raise DatasetError(
            f"expected {what} of one width for {count} {of} in {where}, got {len(rows)} rows of "
            f"widths {shown(widths)}; correct {name}."
        )
    width = widths[0] if widths else 1
    check_limit("columns", width, where)
    check_limit("features", count * width, where)
    for row in rows:
        wrong = next((value for value in row if not _is_number(value)), None)
        if wrong is not None or None in row:
            raise DatasetError(
                f"expected finite numbers in {name} of {where}, got {shown(wrong)}; correct {name}."
            )
    return torch.tensor(rows, dtype=torch.float32).reshape(count, width)


def _is_number(value: Any) -> bool:
    """Whether a value is a number that single precision can hold."""
    if not isinstance(value, Real):
        return False
    try:
        return math.isfinite(value) and abs(float(value)) <= _LARGEST
    except OverflowError:
        return False


_LARGEST = torch.finfo(torch.float32).max


def _places(
    ends: Sequence[Edge], columns: Sequence[Edge], table: Tensor, where: str, name: str
) -> Tensor:
    """The row of each directed edge, refused when an edge stands there twice with differing rows."""
    row_of: dict[Edge, int] = {}
    for row, (u, v) in enumerate(ends):
        first = row_of.setdefault((min(u, v), max(u, v)), row)
        if first != row and not torch.equal(table[first], table[row]):
            raise DatasetError(
                f"expected one {name} for each edge in {where}, got two that differ for ({u}, {v}), "
                "which has no direction here; make them the same or leave them out."
            )
    rows = [row_of[min(u, v), max(u, v)] for u, v in columns]
    return torch.tensor(rows, dtype=torch.long)


def _rows_of(parts: Sequence[Mapping[str, Any]], named: str) -> list[list[Any]] | None:
    """The rows of numbers that nodes or edges have under a name, or in all shared attributes."""
    if not parts:
        return None
    if all(named in attributes for attributes in parts):
        return [_as_list(attributes[named]) for attributes in parts]
    shared = set.intersection(*(_numeric(attributes) for attributes in parts))
    names = sorted(shared - _NAMES_OF_EDGES if named != "x" else shared)
    return [[attributes[key] for key in names] for attributes in parts] if names else None


def _numeric(attributes: Mapping[str, Any]) -> set[str]:
    return {str(key) for key, value in attributes.items() if isinstance(value, Real)}


def _as_list(value: Any) -> list[Any]:
    if hasattr(value, "tolist"):
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple) else [value]


def check_distinct(ids: Iterable[Hashable], where: str) -> None:
    """Refuse a node that stands there twice."""
    seen: set[Hashable] = set()
    for node in ids:
        if node in seen:
            raise DatasetError(
                f"expected every node once in {where}, got the id {shown(node)} again; give each node "
                "an id of its own."
            )
        seen.add(node)


def check_ends(ends: Iterable[tuple[Any, Any]], nodes: set[Any], where: str) -> None:
    """Refuse an edge to a node that is not there."""
    for u, v in ends:
        for end in (u, v):
            if end not in nodes:
                raise DatasetError(
                    f"expected edges between nodes of the graph in {where}, got ({shown(u)}, {shown(v)}) "
                    f"without a node {shown(end)}; add the node or remove the edge."
                )
