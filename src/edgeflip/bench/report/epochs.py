"""Columns of methods that train for as many epochs as there is time for say how many these were.

The number comes from the fits' own rows, so that no label can promise more than was trained.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

Row = Mapping[str, Any]


def epoch_labels(fits: Iterable[Row]) -> dict[str, str]:
    """What columns are called, by their labels in the run; only those that say their epochs.

    Example:
        >>> fits = [{"method": "d4explainer", "notes": {"epochs": e}} for e in (231, 118)]
        >>> epoch_labels(fits)
        {'d4explainer': 'd4explainer (118–231 epochs)'}
    """
    found: dict[str, list[int]] = {}
    for row in fits:
        epochs = (row.get("notes") or {}).get("epochs")
        if isinstance(epochs, int):
            found.setdefault(str(row["method"]), []).append(epochs)
    return {label: f"{label} ({_range(epochs)})" for label, epochs in found.items()}


def _range(epochs: list[int]) -> str:
    low, high = min(epochs), max(epochs)
    if low != high:
        return f"{low}–{high} epochs"
    return f"{low} epoch{'s'[: low != 1]}"


def relabelled(rows: Iterable[Row], names: Mapping[str, str]) -> tuple[Row, ...]:
    """Rows under the new names of their columns."""
    return tuple(
        {**row, "method": names[row["method"]]} if row.get("method") in names else row
        for row in rows
    )


def relabelled_meta(meta: Row, names: Mapping[str, str]) -> Row:
    """What a run says of itself, under the new names of its columns."""
    spec = meta.get("spec") or {}
    methods = spec.get("methods")
    if not names or not methods:
        return meta
    renamed = [
        {**method, "label": names.get(label, label)}
        if (label := method.get("label") or method["name"]) in names
        else method
        for method in methods
    ]
    return {**meta, "spec": {**spec, "methods": renamed}}
