"""Measures of explanations: plain functions of answers."""

from edgeflip.metrics.quality import (
    fidelity,
    minimality,
    motif_proximity,
    seconds_per_graph,
    size,
    validity,
)

__all__ = [
    "fidelity",
    "minimality",
    "motif_proximity",
    "seconds_per_graph",
    "size",
    "validity",
]
