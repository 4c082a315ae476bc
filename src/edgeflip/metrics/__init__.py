"""Measures of explanations: plain functions, and the one table of them that bench, report and CLI read."""

from edgeflip.metrics.averages import Average, Proportion, Value, average, over_seeds, wilson
from edgeflip.metrics.case import AnswerCase, GraphSet, Learning
from edgeflip.metrics.descriptors import Descriptors, describe, edge_likelihood, mmd
from edgeflip.metrics.intervals import (
    GraphValues,
    Interval,
    bootstrap_interval,
    mean_over_seeds,
    share_interval,
    wilson_ends,
)
from edgeflip.metrics.metric import Metric, Place, Style
from edgeflip.metrics.noise import overlaps_after_noise
from edgeflip.metrics.plausibility import pooled_likelihood
from edgeflip.metrics.quality import edit_minimality
from edgeflip.metrics.table import METRICS, metrics_of

__all__ = [
    "METRICS",
    "AnswerCase",
    "Average",
    "Descriptors",
    "GraphSet",
    "GraphValues",
    "Interval",
    "Learning",
    "Metric",
    "Place",
    "Proportion",
    "Style",
    "Value",
    "average",
    "bootstrap_interval",
    "describe",
    "edge_likelihood",
    "edit_minimality",
    "mean_over_seeds",
    "metrics_of",
    "mmd",
    "over_seeds",
    "overlaps_after_noise",
    "pooled_likelihood",
    "share_interval",
    "wilson",
    "wilson_ends",
]
