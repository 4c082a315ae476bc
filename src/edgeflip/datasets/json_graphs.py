"""Graphs in JSON: our own plain form, and networkx's node-link form."""

from __future__ import annotations

from typing import Annotated, Any

import networkx as nx
import torch
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from torch_geometric.data import Data

from edgeflip.datasets.building import check_distinct, check_ends, graph_data, graph_from_networkx
from edgeflip.errors import DatasetError, nearest, shown
from edgeflip.support import check_limit, first_problem, parse_json, reading

_WHOLE = Annotated[int, Field(ge=-(2**63), lt=2**63)]
_Numbers = list[float] | list[list[float]]
_ELEMENTS = 118


class PlainGraph(BaseModel):
    """What a graph may say of itself in the plain form; whole numbers must be written as such."""

    model_config = ConfigDict(strict=True, extra="ignore", allow_inf_nan=False)

    edges: list[Annotated[list[_WHOLE], Field(min_length=2, max_length=2)]]
    num_nodes: Annotated[int, Field(ge=1)] | None = None
    x: _Numbers | None = None
    edge_attr: _Numbers | None = None
    edge_weight: list[float] | None = None
    smiles: str | None = None
    z: list[Annotated[int, Field(ge=0, le=_ELEMENTS)]] | None = None
    tokens: list[str] | None = None
    node_names: list[str] | None = None
    y: _WHOLE | float | None = None


# No float: 1.0 and 1 would be one node in Python and two in the file.
_Id = int | str


class _Node(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    id: _Id


class _Link(BaseModel):
    model_config = ConfigDict(strict=True, extra="allow", allow_inf_nan=False)

    source: _Id
    target: _Id


_NODES = TypeAdapter(list[_Node])
_LINKS = TypeAdapter(list[_Link])


def graph_from_json(content: bytes, name: str) -> Data:
    """A graph from JSON in either form.

    Args:
        content: of the file.
        name: of the file, for errors.
    """
    payload = parse_json(content, where=name)
    with reading(f"a graph in {name}", advice="see docs/guides/own_data.md"):
        if isinstance(payload, dict) and "nodes" in payload:
            return _from_node_link(payload, name)
        if not isinstance(payload, dict) or "edges" not in payload:
            raise DatasetError(
                f"expected num_nodes, edges and x (or nodes and links) in {name}, got other JSON; "
                "see docs/guides/own_data.md."
            )
        return _from_plain(payload, name)


def _from_plain(payload: dict[str, Any], name: str) -> Data:
    _check_keys(payload, name)
    try:
        graph = PlainGraph.model_validate(payload)
    except ValidationError as error:
        raise DatasetError(
            f"expected num_nodes of 1 or more, edges as pairs of node numbers [[0, 1], …] and finite "
            f"numbers in {name}, got {first_problem(error)}; correct it."
        ) from None
    count = graph.num_nodes if graph.num_nodes is not None else len(graph.x or ())
    if count < 1:
        raise DatasetError(f"expected num_nodes or x in {name}, got neither; write num_nodes.")
    ends = [(u, v) for u, v in graph.edges]
    made = graph_data(
        count, ends, graph.x, name, edge_attr=graph.edge_attr, edge_weight=graph.edge_weight
    )
    if graph.smiles is not None:
        made.smiles = graph.smiles
    if graph.z is not None:
        if len(graph.z) != count:
            raise DatasetError(
                f"expected z with one atomic number for each of {count} nodes in {name}, got "
                f"{len(graph.z)}; correct z."
            )
        made.z = torch.tensor(graph.z, dtype=torch.long)
    for key in ("tokens", "node_names"):
        words = getattr(graph, key)
        if words is None:
            continue
        if len(words) != count:
            raise DatasetError(
                f"expected {key} with one text for each of {count} nodes in {name}, got {len(words)}; "
                f"correct {key}."
            )
        made[key] = words
    if graph.y is not None:
        if graph.y != int(graph.y) or abs(graph.y) >= 2**63:
            raise DatasetError(
                f"expected a whole number as the class y in {name}, got {shown(graph.y)}; correct y."
            )
        made.y = torch.tensor([int(graph.y)])
    return made


def _check_keys(payload: dict[str, Any], name: str) -> None:
    """Refuse misspelt keys and lists that nobody reads; other words about a graph are welcome."""
    known = list(PlainGraph.model_fields)
    for key, value in payload.items():
        if key in known:
            continue
        near = nearest(key, known, cutoff=0.8)
        if near is not None or isinstance(value, list):
            advice = "leave it out" if near is None else f"write '{near}' if that is meant"
            raise DatasetError(
                f"expected the keys {', '.join(known)} in {name}, got '{key}'; {advice}."
            )


def _from_node_link(payload: dict[str, Any], name: str) -> Data:
    links = payload.get("links", payload.get("edges"))
    try:
        nodes = _NODES.validate_python(payload["nodes"])
        check_limit("nodes", len(nodes), name)
        edges = _LINKS.validate_python(links)
    except ValidationError as error:
        raise DatasetError(
            f"expected nodes with an id and links with source and target in {name}, got "
            f"{first_problem(error)}; write it with networkx.node_link_data."
        ) from None
    check_limit("edges", len(edges), name)
    ids = [node.id for node in nodes]
    check_distinct(ids, name)
    check_ends([(link.source, link.target) for link in edges], set(ids), name)
    graph = nx.MultiGraph()
    graph.add_nodes_from((node.id, node.model_extra or {}) for node in nodes)
    graph.add_edges_from((link.source, link.target, link.model_extra or {}) for link in edges)
    return graph_from_networkx(graph, where=name)
