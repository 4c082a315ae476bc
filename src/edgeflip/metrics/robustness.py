"""Whether explanations outlive noise: validity after noise (VaN) and edge consistency (ECaN).

Every function is a metric of one explained graph with a counterfactual, see `edgeflip.metrics.METRICS`.
"""

from __future__ import annotations

from edgeflip.metrics.case import AnswerCase


def validity_after_noise(case: AnswerCase) -> float | None:
    """VaN: whether one of the changes of class is there under noise as well.

    None where noise alone changed the class: as defined, it is noise that leaves the prediction alone.
    """
    if not case.noise_keeps_label:
        return None
    return float(any(overlap is not None for overlap in case.overlaps.values()))


def edge_consistency_after_noise(case: AnswerCase) -> float | None:
    """ECaN: the largest overlap of edits before and after noise, None if no change was kept."""
    return max(edge_consistency_by_change(case), default=None)


def validity_after_noise_any_label(case: AnswerCase) -> float:
    """VaN over all noise: where it alone changed the class, no change of class was kept."""
    return float(any(overlap is not None for overlap in case.overlaps.values()))


def validity_after_noise_by_change(case: AnswerCase) -> list[float]:
    """VaN as in the authors' code: a value for each change (old class, new class) of the graph."""
    if not case.noise_keeps_label:
        return []
    return [float(overlap is not None) for overlap in case.overlaps.values()]


def edge_consistency_by_change(case: AnswerCase) -> list[float]:
    """ECaN as in the authors' code: a value for each kept change of the graph."""
    return [overlap for overlap in case.overlaps.values() if overlap is not None]
