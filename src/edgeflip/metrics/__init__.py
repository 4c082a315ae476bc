"""Measures of explanations: plain functions of answers."""

from edgeflip.metrics.noise import Noise, add_noise
from edgeflip.metrics.plausibility import Descriptors, describe, edge_likelihood, mmd
from edgeflip.metrics.quality import (
    answer_minimality,
    answer_minimality_of_smallest,
    answer_motif_proximity,
    edit_minimality,
    fidelity,
    first_size,
    minimality,
    minimality_of_smallest,
    motif_proximity,
    oracle_calls,
    seconds_per_graph,
    size,
    validity,
)
from edgeflip.metrics.robustness import (
    NoiseOutcome,
    Proportion,
    edge_consistency_after_noise,
    edge_consistency_by_change,
    noise_outcome,
    validity_after_noise,
    validity_after_noise_by_change,
    wilson,
)
from edgeflip.metrics.table import METRICS, Metric

__all__ = [
    "METRICS",
    "Descriptors",
    "Metric",
    "Noise",
    "NoiseOutcome",
    "Proportion",
    "add_noise",
    "answer_minimality",
    "answer_minimality_of_smallest",
    "answer_motif_proximity",
    "describe",
    "edge_consistency_after_noise",
    "edge_consistency_by_change",
    "edge_likelihood",
    "edit_minimality",
    "fidelity",
    "first_size",
    "minimality",
    "minimality_of_smallest",
    "mmd",
    "motif_proximity",
    "noise_outcome",
    "oracle_calls",
    "seconds_per_graph",
    "size",
    "validity",
    "validity_after_noise",
    "validity_after_noise_by_change",
    "wilson",
]
