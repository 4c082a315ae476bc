"""The table of metrics: what each is called, what it belongs to, and which way is better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

Level: TypeAlias = Literal["edit set", "graph", "dataset"]
Direction: TypeAlias = Literal["up", "down"]
Need: TypeAlias = Literal["motif", "noise", "link predictor"]


@dataclass(frozen=True)
class Metric:
    """One row of the table.

    Attributes:
        name: The name in code and files.
        title: The name for people.
        level: What one value belongs to: a counterfactual's edits, a graph's answer, or all answers.
        direction: Whether `"up"` or `"down"` is better.
        needs: What it takes beside answers and oracle.
        decimals: Decimals worth showing.
    """

    name: str
    title: str
    level: Level
    direction: Direction
    needs: tuple[Need, ...] = ()
    decimals: int = 2


_ROWS = (
    Metric("validity", "Validity", "graph", "up"),
    Metric("fidelity", "Fidelity", "edit set", "up"),
    Metric("size", "Explanation size", "edit set", "down"),
    Metric("first_size", "Size of the first found", "edit set", "down"),
    Metric("motif_proximity", "Motif proximity", "edit set", "up", ("motif",)),
    Metric("minimality", "Minimality", "edit set", "up"),
    Metric("minimality_of_smallest", "Minimality of all smallest", "graph", "up"),
    Metric("van", "Validity after noise", "graph", "up", ("noise",)),
    Metric("ecan", "Edge consistency after noise", "graph", "up", ("noise",)),
    Metric("van_by_change", "Validity after noise by change", "dataset", "up", ("noise",)),
    Metric("ecan_by_change", "Edge consistency by change", "dataset", "up", ("noise",)),
    Metric("added_likelihood", "Likelihood of added edges", "edit set", "up", ("link predictor",)),
    Metric(
        "removed_likelihood", "Likelihood of removed edges", "edit set", "down", ("link predictor",)
    ),
    Metric("degree_mmd", "Degree MMD", "dataset", "down", decimals=4),
    Metric("clustering_mmd", "Clustering MMD", "dataset", "down", decimals=4),
    Metric("spectrum_mmd", "Spectrum MMD", "dataset", "down", decimals=4),
    Metric("training_seconds", "Training seconds", "dataset", "down", decimals=1),
    Metric("seconds", "Seconds per graph", "graph", "down", decimals=3),
    Metric("oracle_calls", "Oracle calls per graph", "graph", "down", decimals=0),
)

METRICS: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in _ROWS})
"""All metrics by name, in the order of reports."""
