"""What must be true of input that was accepted, worked out apart from the readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from fractions import Fraction
from typing import Any

import torch
from torch_geometric.data import Data

from edgeflip.datasets import DatasetBundle
from fuzzing.entry import WrongError


def require(holds: bool, claim: str) -> None:
    """Raise unless the claim holds."""
    if not holds:
        raise WrongError(claim)


def sound_graph(graph: Any) -> None:
    """A graph that every later step can rely on."""
    require(isinstance(graph, Data), f"a graph is a {type(graph).__name__}")
    count = graph.num_nodes
    require(isinstance(count, int) and count > 0, "a graph has no nodes")
    require(graph.x.dim() == 2 and graph.x.size(0) == count, "x has another number of rows")
    require(bool(torch.isfinite(graph.x).all()), "x is not finite")
    ends = graph.edge_index
    require(ends.dtype == torch.long and ends.dim() == 2 and ends.size(0) == 2, "odd edge_index")
    if ends.numel():
        require(int(ends.min()) >= 0 and int(ends.max()) < count, "an edge leads to no node")
    pairs = set(map(tuple, ends.t().tolist()))
    require(len(pairs) == ends.size(1), "an edge is there twice")
    require(pairs == {(v, u) for u, v in pairs}, "an edge goes one way only")
    for name, rows in (("z", count), ("edge_attr", ends.size(1)), ("edge_weight", ends.size(1))):
        value = graph.to_dict().get(name)
        if value is not None:
            require(value.dim() > 0 and value.size(0) == rows, f"{name} has another length")
            if value.is_floating_point():
                require(bool(torch.isfinite(value).all()), f"{name} is not finite")


def graph_of_json(content: bytes) -> Callable[[Any], None]:
    """The check of a graph that was read from this JSON."""

    def check(graph: Any) -> None:
        sound_graph(graph)
        payload = json.loads(content.decode("utf-8-sig") if content[:1] == b"\xef" else content)
        found = {(u, v) for u, v in graph.edge_index.t().tolist() if u <= v}
        if "nodes" in payload:
            ids = [json.dumps(node["id"]) for node in payload["nodes"]]
            require(len(ids) == graph.num_nodes, "two nodes became one")
            place = {name: index for index, name in enumerate(ids)}
            links = payload["links"] if "links" in payload else payload.get("edges") or []
            named = [
                (place.get(json.dumps(e["source"]), -1), place.get(json.dumps(e["target"]), -1))
                for e in links
            ]
            require({(min(e), max(e)) for e in named} == found, "other edges than the file's")
            return
        ends = [_whole(end) for pair in payload["edges"] for end in pair]
        given = {(min(pair), max(pair)) for pair in zip(ends[::2], ends[1::2], strict=True)}
        require(given == found, "other edges than the file's")
        if payload.get("x") is not None:
            require(len(payload["x"]) == graph.num_nodes, "other nodes than the file's")
        if "num_nodes" in payload and payload["num_nodes"] is not None:
            require(payload["num_nodes"] == graph.num_nodes, "other nodes than the file's")

    return check


def _whole(end: Any) -> Fraction:
    try:
        number = Fraction(end)
    except (TypeError, ValueError, OverflowError):
        raise WrongError(f"an edge end {end!r:.40} was accepted") from None
    require(number.denominator == 1, f"an edge end {end!r:.40} was cut to a whole number")
    return number


def bundle_of(labels: Iterable[str], *, nodes: int | None = None) -> Callable[[Any], None]:
    """The check of a dataset whose graphs have these labels as texts."""
    given = [label.strip() for label in labels]

    def check(bundle: Any) -> None:
        require(isinstance(bundle, DatasetBundle), "no dataset came")
        for graph in bundle.graphs:
            sound_graph(graph)
        kept = len(bundle.graphs)
        require(kept <= len(given), "more graphs than labels")
        if kept == len(given):
            classes = {_as_number(label) for label in given}
            require(
                len(classes) == bundle.num_classes,
                f"{len(classes)} labels became {bundle.num_classes} classes",
            )
            groups: dict[Any, set[int]] = {}
            for label, graph in zip(given, bundle.graphs, strict=True):
                groups.setdefault(_as_number(label), set()).add(int(graph.y))
            require(
                all(len(numbers) == 1 for numbers in groups.values()), "a label has two classes"
            )
        if nodes is not None:
            total = sum(int(graph.num_nodes or 0) for graph in bundle.graphs)
            require(total == nodes, "other nodes than the file's")

    return check


def _as_number(label: str) -> Fraction | str:
    """1, 1.0 and 01 are one label, as spreadsheets write whole numbers so."""
    try:
        return (
            Fraction(label) if label.isascii() and "/" not in label and "_" not in label else label
        )
    except ValueError:
        return label


def table_of(payload: Any) -> Mapping[str, Any]:
    """The payload if it is a table, and an empty one otherwise."""
    return payload if isinstance(payload, Mapping) else {}
