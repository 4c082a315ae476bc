"""Graphs as plain values for JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data


def graph_to_dict(graph: Data) -> dict[str, Any]:
    """What a model can read of a graph, for JSON: tensors with their types, and plain values.

    Numbers that JSON has no word for are written as text.
    """
    tensors = {
        key: {
            "dtype": str(value.dtype).removeprefix("torch."),
            "values": _encode_nonfinite(value.detach().cpu().tolist()),
        }
        | {"shape": list(value.shape)}
        for key, value in graph.to_dict().items()
        if isinstance(value, Tensor)
    }
    others = {
        key: _encode_nonfinite(value)
        for key, value in graph.to_dict().items()
        if isinstance(value, str | int | float | bool) and key != "num_nodes"
    }
    named = "num_nodes" in graph.to_dict() or graph.x is None
    count = int(graph.num_nodes or 0) if named else None
    return {"num_nodes": count, "tensors": tensors, "others": others}


def graph_from_dict(payload: Mapping[str, Any]) -> Data:
    """The inverse of `graph_to_dict`."""
    graph = Data()
    for key, entry in payload["tensors"].items():
        dtype = getattr(torch, entry["dtype"])
        if not isinstance(dtype, torch.dtype):
            raise ValueError(f"{entry['dtype']!r} is no tensor type")
        values = _decode_nonfinite(entry["values"])
        graph[key] = torch.tensor(values, dtype=dtype).reshape(entry["shape"])
    for key, value in payload["others"].items():
        graph[key] = _decode_nonfinite(value)
    if payload["num_nodes"] is not None:
        graph.num_nodes = int(payload["num_nodes"])
    return graph


_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def _encode_nonfinite(value: Any) -> Any:
    """Nested lists with NaN and infinities as text."""
    if isinstance(value, list):
        return [_encode_nonfinite(entry) for entry in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"not_finite": "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"}
    return value


def _decode_nonfinite(value: Any) -> Any:
    if isinstance(value, list):
        return [_decode_nonfinite(entry) for entry in value]
    if isinstance(value, dict):
        return _WORDS[value["not_finite"]]
    return value
