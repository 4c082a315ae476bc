"""Reading graphs from files: JSON, GraphML, GEXF, tables in CSV, and the format of the TU collection."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import numpy as np
import torch
from numpy.typing import NDArray
from torch_geometric.data import Data

from edgeflip.datasets.catalogue import read_inside, unpacked
from edgeflip.errors import DatasetError

Array = NDArray[np.int64]


def read_graph(path: str | Path, folder: Path | None = None) -> Data:
    """One graph from a JSON, GraphML or GEXF file.

    JSON is either `{"num_nodes": 3, "edges": [[0, 1], [1, 2]], "x": [[…], …]}`, with `smiles`, `z` or `y`
    if wanted, or networkx's node-link form. Edges go both ways, whatever the file says.

    Args:
        path: the file; `.gz` is unpacked.
        folder: a link may not lead out of this folder; by default the file's own.
    """
    location = Path(path)
    content = _content(location, folder)
    kind = location.with_suffix("").suffix if location.suffix == ".gz" else location.suffix
    if kind == ".json":
        return _graph_from_json(content, location.name)
    if kind in (".graphml", ".gexf"):
        return _graph_from_xml(content, kind, location.name)
    raise DatasetError(
        f"expected a graph as .json, .graphml or .gexf, got {location.name}; convert it."
    )


def graph_from_networkx(graph: Any, *, where: str = "the graph") -> Data:
    """A networkx graph as PyG `Data`, nodes in their order.

    A node attribute `x` gives the features, a number or a list; otherwise all attributes that are
    numbers in every node do, in the order of their names. Without any, each node has the feature 1.

    Args:
        graph: the graph; directions and repeated edges are dropped.
        where: the graph in words, for errors.

    Example:
        >>> import networkx as nx
        >>> graph_from_networkx(nx.path_graph(3)).num_edges
        4
    """
    index = {node: number for number, node in enumerate(graph)}
    pairs = sorted({(min(index[u], index[v]), max(index[u], index[v])) for u, v in graph.edges()})
    rows = [_features(attributes) for _, attributes in graph.nodes(data=True)]
    if all("x" in row for row in rows) and rows:
        values = [_as_list(row["x"]) for row in rows]
    else:
        shared = sorted(set.intersection(*(set(row) for row in rows))) if rows else []
        values = [[row[key] for key in shared] or [1.0] for row in rows]
    return _data(len(index), pairs, values, where)


def read_table(path: Path, columns: Sequence[str]) -> tuple[list[dict[str, str]], bytes]:
    """The rows of a CSV that must have certain columns, and the content it was read from."""
    content = _content(path)
    try:
        reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""))
        header = list(reader.fieldnames or [])
        place = {key: _column(key, header) for key in columns}
        rows = [{key: row.get(place[key] or "") or "" for key in columns} for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DatasetError(
            f"expected a CSV in UTF-8 at {path.name}, got something else ({error}); export it again."
        ) from None
    missing = [column for column in columns if place[column] is None]
    if missing or not rows:
        found = f"columns {', '.join(header[:12]) or 'none'} and {len(rows)} rows"
        raise DatasetError(
            f"expected the columns {' and '.join(columns)} and at least one row in {path.name}, got "
            f"{found}; name the columns with smiles_column and label_column."
        )
    return rows, content


def _column(wanted: str, header: Sequence[str]) -> str | None:
    """The column of that name; case and spaces around it count only where two columns differ in them.

    Example:
        >>> (
        ...     _column("smiles", ["ID", "SMILES "]),
        ...     _column("label", ["Label", "label"]),
        ...     _column("y", ["x"]),
        ... )
        ('SMILES ', 'label', None)
    """
    alike = [name for name in header if name.strip().lower() == wanted.strip().lower()]
    if wanted in alike:
        return wanted
    return alike[0] if len(alike) == 1 else None


def read_labels(path: Path, column: str) -> dict[str, str]:
    """Labels by file name, from a CSV with the columns `file` and the label's."""
    if not path.is_file():
        raise DatasetError(
            f"expected the label file {path}, got none; write a CSV with the columns file and {column}."
        )
    rows, _ = read_table(path, ("file", column))
    labels: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        if row["file"] in labels:
            raise DatasetError(
                f"expected each file once in {path.name}, got '{row['file']}' again in row {number}; "
                "remove one."
            )
        labels[row["file"]] = row[column].strip()
    return labels


def read_tu(folder: Path) -> tuple[list[Data], list[str]]:
    """Graphs and labels of a folder in the format of the TU collection.

    Node labels become one-hot features, node attributes follow them; without either every node has the
    feature 1.
    """
    starts = sorted({file.name.split("_A.txt")[0] for file in folder.glob("*_A.txt*")})
    if len(starts) != 1:
        raise DatasetError(
            f"expected one set of TU files in {folder}, got {', '.join(starts)}; give each a folder."
        )
    tables = {part: _tu_table(folder, starts[0], part) for part in _TU_PARTS}
    ends, indicator, labels = (tables[part] for part in _TU_PARTS[:3])
    if ends is None or indicator is None or labels is None:
        missing = next(part for part in _TU_PARTS[:3] if tables[part] is None)
        raise DatasetError(
            f"expected the file {starts[0]}_{missing}.txt in {folder}, got none; put it there."
        )
    edges, of_node = ends.astype(np.int64), indicator[:, 0].astype(np.int64)
    _check_tu(edges, of_node, labels, starts[0])
    features = []
    if (types := tables["node_labels"]) is not None:
        _, number = np.unique(types[:, 0], return_inverse=True)
        features.append(np.eye(number.max() + 1)[number])
    if (attributes := tables["node_attributes"]) is not None:
        features.append(attributes)
    features = features or [np.ones((len(of_node), 1))]
    for table in features:
        if len(table) != len(of_node):
            raise DatasetError(
                f"expected {len(of_node)} rows of node labels and attributes in {starts[0]}, got "
                f"{len(table)}; correct the files."
            )
    x = torch.tensor(np.concatenate(features, axis=1), dtype=torch.float32)
    graphs = graphs_of_table(edges, of_node)
    counts = np.bincount(of_node)[1:].tolist()
    for graph, own in zip(graphs, x.split(counts), strict=True):
        graph.x = own.clone()
    return graphs, [f"{value:g}" for value in labels[:, 0]]


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


def number_table(content: bytes, where: str) -> NDArray[np.float64]:
    """A table of numbers, one row per line, separated by commas."""
    try:
        lines = content.decode("ascii").replace(",", " ").splitlines()
        return np.array([line.split() for line in lines if line.strip()], dtype=np.float64)
    except (UnicodeDecodeError, ValueError) as error:
        raise DatasetError(
            f"expected rows of numbers of one length in {where}, got something else ({error}); correct it."
        ) from None


_TU_PARTS = ("A", "graph_indicator", "graph_labels", "node_labels", "node_attributes")


def _tu_table(folder: Path, start: str, part: str) -> NDArray[np.float64] | None:
    for name in (f"{start}_{part}.txt", f"{start}_{part}.txt.gz"):
        if (folder / name).exists():
            return number_table(_content(folder / name, folder), name)
    return None


def _check_tu(edges: Array, of_node: Array, labels: NDArray[np.float64], name: str) -> None:
    problem = None
    if (edges.size and edges.max(initial=0) > len(of_node)) or edges.min(initial=1) < 1:
        problem = f"an edge to node {edges.max(initial=0)} of {len(of_node)}"
    elif (np.diff(of_node) < 0).any() or set(of_node.tolist()) != set(range(1, len(labels) + 1)):
        problem = f"nodes of graphs {of_node.min()}..{of_node.max()} and {len(labels)} graph labels"
    elif (of_node[edges[:, 0] - 1] != of_node[edges[:, 1] - 1]).any():
        problem = "an edge between two graphs"
    if problem:
        raise DatasetError(
            f"expected edges inside graphs 1, 2, … with their nodes in order in {name}, got {problem}; "
            "correct the files."
        )


def _content(place: Path, folder: Path | None = None) -> bytes:
    if not place.exists():
        raise DatasetError(f"expected the file {place}, got none; check the path.")
    content = read_inside(place, folder or place.parent)
    return unpacked(content, place) if place.suffix == ".gz" else content


def _graph_from_json(content: bytes, name: str) -> Data:
    try:
        payload = json.loads(content)
    except (ValueError, RecursionError):
        raise DatasetError(
            f"expected a graph as JSON in {name}, got no JSON; correct it."
        ) from None
    if isinstance(payload, dict) and "nodes" in payload:
        return _graph_from_node_link(payload, name)
    if not isinstance(payload, dict) or "edges" not in payload:
        raise DatasetError(
            f"expected num_nodes, edges and x (or nodes and links) in {name}, got other JSON; "
            "see docs/own_graphs.md."
        )
    x, edges = payload.get("x"), payload["edges"]
    count = payload.get("num_nodes", len(x) if isinstance(x, list) else None)
    if not isinstance(count, int) or isinstance(count, bool) or count < 1:
        raise DatasetError(f"expected num_nodes of 1 or more in {name}, got {count!r}; write it.")
    try:
        pairs = sorted({(min(int(u), int(v)), max(int(u), int(v))) for u, v in edges})
    except (TypeError, ValueError):
        raise DatasetError(
            f"expected edges as pairs of node numbers in {name}, got others; write [[0, 1], …]."
        ) from None
    values = [[1.0]] * count if x is None else [_as_list(row) for row in x]
    graph = _data(count, pairs, values, name)
    if isinstance(payload.get("smiles"), str):
        graph.smiles = payload["smiles"]
    if payload.get("z") is not None:
        graph.z = torch.tensor(payload["z"], dtype=torch.long)
    if payload.get("y") is not None:
        graph.y = torch.tensor([int(payload["y"])])
    return graph


def _graph_from_node_link(payload: Mapping[str, Any], name: str) -> Data:
    links = payload.get("links", payload.get("edges"))
    graph = nx.Graph()
    try:
        for node in payload["nodes"]:
            graph.add_node(node["id"], **{key: node[key] for key in node if key != "id"})
        ends = [(link["source"], link["target"]) for link in links or []]
    except (KeyError, TypeError):
        raise DatasetError(
            f"expected nodes with an id and links with source and target in {name}, got others; "
            "write it with networkx.node_link_data."
        ) from None
    _check_ends(ends, set(graph), name)
    graph.add_edges_from(ends)
    return graph_from_networkx(graph, where=name)


def _graph_from_xml(content: bytes, kind: str, name: str) -> Data:
    if b"<!DOCTYPE" in content or b"<!ENTITY" in content:
        raise DatasetError(f"expected plain XML in {name}, got one with a DTD; remove the DTD.")
    try:
        root = ElementTree.fromstring(content)
        nodes = {part.attrib.get("id") for part in root.iter() if _tag(part) == "node"}
        ends = [
            (part.attrib.get("source"), part.attrib.get("target"))
            for part in root.iter()
            if _tag(part) == "edge"
        ]
        _check_ends(ends, nodes, name)
        read = nx.read_graphml if kind == ".graphml" else nx.read_gexf
        graph = read(io.BytesIO(content))
    except (ElementTree.ParseError, nx.NetworkXError, KeyError, ValueError, TypeError) as error:
        raise DatasetError(
            f"expected {kind[1:]} in {name}, got something else ({error}); export it again."
        ) from None
    return graph_from_networkx(graph, where=name)


def _tag(part: ElementTree.Element) -> str:
    return part.tag.rpartition("}")[2]


def _check_ends(ends: Sequence[tuple[Any, Any]], nodes: set[Any], name: str) -> None:
    for u, v in ends:
        for end in (u, v):
            if end not in nodes:
                raise DatasetError(
                    f"expected edges between nodes of the graph in {name}, got ({u}, {v}) without a "
                    f"node '{end}'; add the node or remove the edge."
                )


def _features(attributes: Mapping[str, Any]) -> dict[str, Any]:
    if "x" in attributes:
        return {"x": attributes["x"]}
    return {
        key: float(value) for key, value in attributes.items() if isinstance(value, int | float)
    }


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _data(count: int, pairs: Sequence[tuple[int, int]], values: Sequence[Any], where: str) -> Data:
    for u, v in pairs:
        if not (0 <= u < count and 0 <= v < count):
            raise DatasetError(
                f"expected edges between nodes 0..{count - 1} in {where}, got ({u}, {v}); add the node "
                "or remove the edge."
            )
    widths = {len(row) for row in values}
    if len(values) != count or len(widths) > 1:
        raise DatasetError(
            f"expected features of one width for {count} nodes in {where}, got {len(values)} rows of "
            f"widths {sorted(widths)}; correct x."
        )
    try:
        x = torch.tensor(values, dtype=torch.float32).reshape(count, -1)
    except (TypeError, ValueError):
        raise DatasetError(
            f"expected numbers as features in {where}, got others; correct x."
        ) from None
    columns = [*pairs, *((v, u) for u, v in pairs if u != v)]
    edge_index = torch.tensor(sorted(columns), dtype=torch.long).reshape(-1, 2).t().contiguous()
    return Data(x=x, edge_index=edge_index)
