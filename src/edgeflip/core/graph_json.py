"""Graphs and tensors as plain values for JSON, and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.errors import ArtifactError, shown
from edgeflip.support import STRICT, check_limit, read_settings

_Dtype = Literal[
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"
]


@dataclass(frozen=True)
class SavedTensor:
    """A tensor as plain values; numbers that JSON has no word for are written as text."""

    __pydantic_config__ = STRICT

    dtype: _Dtype
    values: Any
    shape: tuple[Annotated[int, Field(ge=0, lt=2**40)], ...]


@dataclass(frozen=True)
class SavedGraph:
    """A graph as plain values."""

    __pydantic_config__ = STRICT

    num_nodes: Annotated[int, Field(ge=0)] | None
    tensors: Mapping[str, Any]
    others: Mapping[str, Any] = field(default_factory=dict)


def _are_names(value: Any) -> bool:
    """Whether something is a list of words, such as those of a sentence."""
    return isinstance(value, list | tuple) and all(isinstance(name, str) for name in value)


def graph_to_dict(graph: Data) -> dict[str, Any]:
    """What a model can read of a graph, for JSON: tensors with their types, and plain values.

    Numbers that JSON has no word for are written as text.
    """
    parts = graph.to_dict().items()
    tensors = {key: tensor_to_dict(value) for key, value in parts if isinstance(value, Tensor)}
    others = {
        key: _encode_nonfinite(value)
        for key, value in parts
        if (isinstance(value, str | int | float | bool) or _are_names(value)) and key != "num_nodes"
    }
    named = "num_nodes" in graph.to_dict() or graph.x is None
    count = int(graph.num_nodes or 0) if named else None
    return {"num_nodes": count, "tensors": tensors, "others": others}


def graph_from_dict(payload: Any) -> Data:
    """The inverse of `graph_to_dict`.

    Raises:
        ArtifactError: If the payload is no graph, or a larger one than allowed.
    """
    saved = read_settings(SavedGraph, payload, where="a saved graph", error=ArtifactError)
    graph = Data()
    for key, entry in saved.tensors.items():
        graph[_checked_key(key)] = tensor_from_dict(entry, f"'{key}' of a saved graph")
    for key, value in saved.others.items():
        plain = _decode_nonfinite(value)
        if not (isinstance(plain, str | int | float) or _are_names(plain)):
            raise ArtifactError(
                f"expected a text, number or list of texts for '{key}' of a saved graph, got {shown(value)}; "
                "write it again."
            )
        graph[_checked_key(key)] = plain
    if saved.num_nodes is not None:
        check_limit("nodes", saved.num_nodes, "a saved graph", ArtifactError)
        graph.num_nodes = saved.num_nodes
    check_limit("nodes", int(graph.num_nodes or 0), "a saved graph", ArtifactError)
    return graph


def tensor_to_dict(value: Tensor) -> dict[str, Any]:
    """A tensor with its type and shape."""
    return {
        "dtype": str(value.dtype).removeprefix("torch."),
        "values": _encode_nonfinite(value.detach().cpu().tolist()),
        "shape": list(value.shape),
    }


def tensor_from_dict(payload: Any, where: str) -> Tensor:
    """The inverse of `tensor_to_dict`.

    Args:
        payload: What it gave.
        where: What the tensor is, for errors.

    Raises:
        ArtifactError: If the payload is no tensor.
    """
    saved = read_settings(SavedTensor, payload, where=where, error=ArtifactError)
    dtype: torch.dtype = getattr(torch, saved.dtype)
    flat: list[Any] = []
    _flatten(saved.values, flat)
    if len(flat) != math.prod(saved.shape) or len(saved.shape) > _MOST_DIMENSIONS:
        raise ArtifactError(
            f"expected {shown(saved.shape)} numbers in {where}, got {len(flat)}; write it again."
        )
    whole = not dtype.is_floating_point
    wrong = next((v for v in flat if not isinstance(v, int if whole else int | float)), None)
    if wrong is not None or None in flat:
        raise ArtifactError(
            f"expected numbers of type {saved.dtype} in {where}, got {shown(wrong)}; write it again."
        )
    try:
        return torch.tensor(flat, dtype=dtype).reshape(saved.shape)
    except (ValueError, TypeError, RuntimeError, OverflowError):
        raise ArtifactError(
            f"expected numbers of type {saved.dtype} in {where}, got larger ones; write it again."
        ) from None


_MOST_DIMENSIONS = 8
_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}


def _checked_key(key: str) -> str:
    if key in ("", "num_nodes"):
        raise ArtifactError(
            f"expected the name of a tensor in a saved graph, got '{key}'; write it again."
        )
    return key


def _flatten(values: Any, flat: list[Any]) -> None:
    """All plain values of nested lists, in order; JSON is never nested deeply."""
    if not isinstance(values, list | tuple):
        flat.append(_decode_nonfinite(values))
        return
    for entry in values:
        if isinstance(entry, list | tuple | dict):
            _flatten(entry, flat)
        else:
            flat.append(entry)


def _encode_nonfinite(value: Any) -> Any:
    """Nested lists with NaN and infinities as text."""
    if isinstance(value, list):
        return [_encode_nonfinite(entry) for entry in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"not_finite": "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"}
    return value


def _decode_nonfinite(value: Any) -> Any:
    if isinstance(value, dict):
        word = value.get("not_finite")
        if not isinstance(word, str) or word not in _WORDS or len(value) > 1:
            raise ArtifactError(
                f"expected a number in a saved graph, got {shown(value)}; write it again."
            )
        return _WORDS[word]
    return value
