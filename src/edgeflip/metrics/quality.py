"""How good the answers of a method are, averaged over graphs.

Size and fidelity are those of the best counterfactual and average over the graphs that have one; a
value that is not defined is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

from torch_geometric.data import Data

from edgeflip.explanation import Counterfactual, CounterfactualSet
from edgeflip.oracle import Oracle


def validity(answers: Sequence[CounterfactualSet]) -> float:
    """Share of graphs with at least one counterfactual."""
    return _mean([float(answer.found) for answer in answers])


def size(answers: Sequence[CounterfactualSet]) -> float:
    """Mean number of edits."""
    return _mean([float(best.size) for best in _best(answers)])


def fidelity(answers: Sequence[CounterfactualSet]) -> float:
    """Mean drop of the probability of the original class."""
    return _mean([best.fidelity for best in _best(answers)])


def motif_proximity(
    answers: Sequence[CounterfactualSet], motif_nodes: Callable[[Data], frozenset[int]]
) -> float:
    """Mean share of edits with an end in the motif that made the original class."""
    return _mean(
        [
            answer.best.edits.touching(motif_nodes(answer.graph)) / answer.best.size
            for answer in answers
            if answer.best is not None
        ]
    )


def minimality(answers: Sequence[CounterfactualSet], oracle: Oracle) -> float:
    """Mean share of the non-empty proper subsets of the edits that leave the prediction as it is.

    A single edit has no such subset and scores 1. The printed formula counts the full set as well, which
    would give a single edit 0, against the paper's own table.
    """
    return _mean(
        [
            edit_minimality(answer, answer.best, oracle)
            for answer in answers
            if answer.best is not None
        ]
    )


def edit_minimality(answer: CounterfactualSet, entry: Counterfactual, oracle: Oracle) -> float:
    """Minimality of one counterfactual."""
    if entry.size < 2:
        return 1.0
    proper = list(entry.edits.subsets())[1:-1]
    graphs = [edits.apply(answer.graph, fill=answer.fill) for edits in proper]
    labels = oracle.predict_proba(graphs).argmax(dim=1)
    return float((labels == answer.label).float().mean())


def seconds_per_graph(answers: Sequence[CounterfactualSet]) -> float:
    """Mean time of one call to `explain`, with or without success."""
    return _mean([answer.trace.seconds for answer in answers])


def _best(answers: Sequence[CounterfactualSet]) -> list[Counterfactual]:
    return [answer.best for answer in answers if answer.best is not None]


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else float("nan")
