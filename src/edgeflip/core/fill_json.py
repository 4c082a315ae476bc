"""The attributes of added edges as plain values for JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from edgeflip.core.edits import EdgeFill
from edgeflip.core.graph_json import tensor_from_dict, tensor_to_dict
from edgeflip.errors import ArtifactError, shown

_TENSOR = {"dtype", "values", "shape"}


def fill_to_dict(fill: EdgeFill | None) -> Any:
    """A fill as JSON can hold it: a name, a number, a row, or one of these for each attribute.

    Raises:
        ArtifactError: If it is a function, which no file can keep.

    Example:
        >>> fill_to_dict({"edge_attr": torch.tensor([1, 0]), "edge_weight": 0.5})["edge_weight"]
        0.5
    """
    if isinstance(fill, Mapping):
        return {str(key): fill_to_dict(value) for key, value in fill.items()}
    if fill is None or isinstance(fill, str):
        return fill
    if isinstance(fill, int | float) and abs(fill) < float("inf"):
        return fill
    if isinstance(fill, Tensor | list | tuple) or hasattr(fill, "__array__"):
        try:
            return tensor_to_dict(torch.as_tensor(fill))
        except (TypeError, ValueError, RuntimeError):
            pass
    raise ArtifactError(
        "expected a fill that a file can keep ('zeros', 'mean', 'mode', a number or a row), got "
        f"{'a function' if callable(fill) else shown(fill)}; explain with such a fill to save the answer."
    )


def fill_from_dict(payload: Any) -> Any:
    """The inverse of `fill_to_dict`; a row comes back as a tensor.

    Raises:
        ArtifactError: If it is no fill.
    """
    if isinstance(payload, Mapping):
        if set(payload) == _TENSOR:
            return tensor_from_dict(payload, "a saved fill")
        return {str(key): fill_from_dict(value) for key, value in payload.items()}
    if payload is None or isinstance(payload, str | int | float):
        return payload
    raise ArtifactError(
        f"expected a fill in a saved answer, got {shown(payload)}; explain the graph again."
    )
