"""What rivals are judged by in their own papers: graphs that replace the input, and have no edits.

Own features: a graph that keeps the features its method drew. Other nodes: a graph of a walk through the
training graphs, whatever nodes it has. The oracle is asked about both; their methods count how far they are.
"""

from __future__ import annotations

from collections.abc import Sequence

from edgeflip.explainers import Replacement
from edgeflip.metrics.case import AnswerCase


def validity_own_features(case: AnswerCase) -> float:
    """Whether the oracle puts the drawn graph into another class."""
    return float(bool(case.own_features))


def distance_own_features(case: AnswerCase) -> float | None:
    """How far that graph is."""
    return _distance(case.own_features)


def validity_other_nodes(case: AnswerCase) -> float:
    """Whether a graph of the walks is in another class."""
    return float(bool(case.other_nodes))


def distance_other_nodes(case: AnswerCase) -> float | None:
    """How far the nearest of them is."""
    return _distance(case.other_nodes)


def _distance(found: Sequence[Replacement] | None) -> float | None:
    return found[0].distance if found else None
