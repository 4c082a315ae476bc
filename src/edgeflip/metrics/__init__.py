"""Measures of explanations: plain functions of answers."""

from edgeflip.metrics.quality import fidelity, seconds_per_graph, size, validity

__all__ = ["fidelity", "seconds_per_graph", "size", "validity"]
