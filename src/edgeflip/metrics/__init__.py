"""Measures of explanations: plain functions, and the one table of them that bench, report and CLI read."""

from edgeflip.metrics.averages import Average, Proportion, Value, average, over_seeds, wilson
from edgeflip.metrics.case import AnswerCase, GraphSet, Learning
from edgeflip.metrics.descriptors import Descriptors, describe, edge_likelihood, mmd
from edgeflip.metrics.noise import overlaps_after_noise
from edgeflip.metrics.plausibility import pooled_likelihood
from edgeflip.metrics.quality import edit_minimality
from edgeflip.metrics.table import METRICS, Metric, Place, Style, metrics_of

__all__ = [
    "METRICS",
    "AnswerCase",
    "Average",
    "Descriptors",
    "GraphSet",
    "Learning",
    "Metric",
    "Place",
    "Proportion",
    "Style",
    "Value",
    "average",
    "describe",
    "edge_likelihood",
    "edit_minimality",
    "metrics_of",
    "mmd",
    "over_seeds",
    "overlaps_after_noise",
    "pooled_likelihood",
    "wilson",
]
