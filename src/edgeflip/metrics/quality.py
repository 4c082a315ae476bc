"""How good the answers of a method are, averaged over graphs.

Size and fidelity are those of the best counterfactual and average over the graphs that have one; a
value that is not defined is NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from edgeflip.explanation import Counterfactual, CounterfactualSet


def validity(answers: Sequence[CounterfactualSet]) -> float:
    """Share of graphs with at least one counterfactual."""
    return _mean([float(answer.found) for answer in answers])


def size(answers: Sequence[CounterfactualSet]) -> float:
    """Mean number of edits."""
    return _mean([float(best.size) for best in _best(answers)])


def fidelity(answers: Sequence[CounterfactualSet]) -> float:
    """Mean drop of the probability of the original class."""
    return _mean([best.fidelity for best in _best(answers)])


def seconds_per_graph(answers: Sequence[CounterfactualSet]) -> float:
    """Mean time of one call to `explain`, with or without success."""
    return _mean([answer.trace.seconds for answer in answers])


def _best(answers: Sequence[CounterfactualSet]) -> list[Counterfactual]:
    return [answer.best for answer in answers if answer.best is not None]


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else float("nan")
