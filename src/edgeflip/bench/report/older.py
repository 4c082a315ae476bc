"""Rows of runs from before the table of metrics, in today's shape.

They hold the outcome of noise and the seconds of stages, from which the values of metrics follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from edgeflip.metrics import metrics_of, pooled_likelihood


def modern(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row with the values of all metrics by their names; a row of today is returned as it is.

    Example:
        >>> modern({"kind": "fit", "learns": True, "seconds": 2.0})["training_seconds"]
        2.0
    """
    if row["kind"] == "fit" and "training_seconds" not in row:
        return {**row, "training_seconds": row.get("seconds") if row.get("learns") else None}
    if row["kind"] != "graph" or "validity" in row:
        return row
    found = bool(row.get("found"))
    only_found = [metric.name for metric in metrics_of("answer") if metric.only_found]
    values = {name: row.get(name) if found else None for name in only_found}
    targets = {
        key: {**answer, "validity": float(bool(answer.get("found")))}
        for key, answer in (row.get("targets") or {}).items()
    }
    return {
        **row,
        **values,
        **_noise(row if found else {}),
        **_costs(row),
        "validity": float(found),
        "plausibility": _plausibility(row) if found else None,
        "targets": targets or None,
    }


def _noise(row: Mapping[str, Any]) -> dict[str, Any]:
    noise = row.get("noise")
    if not noise:
        return {}
    changes, kept = noise.get("changes") or 0, noise.get("changes_kept") or 0
    same = bool(noise.get("same_change"))
    return {
        "van": float(same),
        "ecan": noise.get("jaccard") if same else None,
        "van_by_change": [1.0] * kept + [0.0] * (changes - kept),
        "ecan_by_change": list(noise.get("change_jaccards") or ()),
    }


def _costs(row: Mapping[str, Any]) -> dict[str, Any]:
    stages = row.get("stages") or {}
    wall, factual = row.get("wall_seconds"), (stages.get("deconstruct") or {}).get("seconds")
    return {
        "seconds": wall,
        "factual_seconds": factual,
        "search_seconds": None if wall is None else wall - (factual or 0.0),
        "denoise_seconds": (stages.get("denoise") or {}).get("seconds"),
        "dropped_edges": (row.get("notes") or {}).get("denoised_edges"),
    }


def _plausibility(row: Mapping[str, Any]) -> float | None:
    return pooled_likelihood(
        (len(row.get("added") or ()), len(row.get("removed") or ())),
        (row.get("added_likelihood"), row.get("removed_likelihood")),
    )
