"""How good the answers of a method are, averaged over graphs.

Size, fidelity and the like are those of the best counterfactual and average over the graphs that have
one; an average of nothing is NaN. The functions that begin with `answer_` give the value of a single
graph, None where nothing was found.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from statistics import fmean

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import PAD, EditSet
from edgeflip.oracle import MeteredOracle, Oracle
from edgeflip.search import Counterfactual, CounterfactualSet

EXACT_EDITS = 12
"""Up to this many edits minimality looks at every subset; beyond, at a sample."""

SAMPLED_SUBSETS = 4096
"""Distinct subsets that minimality looks at when there are more edits than `EXACT_EDITS`."""

# Edited graphs held at a time, for oracles that take graphs only.
_TURN = 1024


def validity(answers: Sequence[CounterfactualSet]) -> float:
    """Share of graphs with at least one counterfactual."""
    return _mean(float(answer.found) for answer in answers)


def size(answers: Sequence[CounterfactualSet]) -> float:
    """Mean number of edits."""
    return _mean(float(best.size) for best in _best(answers))


def first_size(answers: Sequence[CounterfactualSet]) -> float:
    """Mean number of edits of the counterfactual that was found first."""
    return _mean(None if answer.first is None else answer.first.size for answer in answers)


def fidelity(answers: Sequence[CounterfactualSet]) -> float:
    """Mean drop of the probability of the original class."""
    return _mean(best.fidelity for best in _best(answers))


def motif_proximity(
    answers: Sequence[CounterfactualSet], motif_nodes: Callable[[Data], frozenset[int]]
) -> float:
    """Mean share of edits with an end in the motif that made the original class."""
    return _mean(answer_motif_proximity(answer, motif_nodes) for answer in answers)


def answer_motif_proximity(
    answer: CounterfactualSet, motif_nodes: Callable[[Data], frozenset[int]]
) -> float | None:
    """Share of the best counterfactual's edits with an end in the motif, None without one."""
    if answer.best is None:
        return None
    edits: EditSet = answer.best.edits
    return edits.touching(motif_nodes(answer.graph)) / len(edits)


def minimality(answers: Sequence[CounterfactualSet], oracle: Oracle) -> float:
    """Mean share of the non-empty proper subsets of the edits that leave the prediction as it is.

    A single edit has no such subset and scores 1. The printed formula counts the full set as well, which
    would give a single edit 0, against the paper's own table. More than `EXACT_EDITS` edits have too
    many subsets to try them all: their score is an estimate, see `edit_minimality`.
    """
    return _mean(answer_minimality(answer, oracle) for answer in answers)


def answer_minimality(answer: CounterfactualSet, oracle: Oracle) -> float | None:
    """Minimality of the best counterfactual, None without one."""
    return None if answer.best is None else edit_minimality(answer, answer.best, oracle)


def minimality_of_smallest(answers: Sequence[CounterfactualSet], oracle: Oracle) -> float:
    """Minimality as the authors' code has it: of all smallest counterfactuals, not of the best one.

    It is averaged over the smallest counterfactuals of a graph that were kept, then over graphs.
    """
    return _mean(answer_minimality_of_smallest(answer, oracle) for answer in answers)


def answer_minimality_of_smallest(answer: CounterfactualSet, oracle: Oracle) -> float | None:
    """Mean minimality of the smallest counterfactuals that were kept, None without one."""
    least = min((entry.size for entry in answer.counterfactuals), default=0)
    smallest = [entry for entry in answer.counterfactuals if entry.size == least]
    if not smallest:
        return None
    return fmean(edit_minimality(answer, entry, oracle) for entry in smallest)


def edit_minimality(answer: CounterfactualSet, entry: Counterfactual, oracle: Oracle) -> float:
    """Minimality of one counterfactual.

    With n edits there are 2**n - 2 non-empty proper subsets. Up to `EXACT_EDITS` edits all are tried.
    Beyond, the score is estimated from `SAMPLED_SUBSETS` distinct ones, drawn uniformly and the same
    at every call; the standard error is below 0.008.
    """
    if entry.size < 2:
        return 1.0
    space = answer.space
    rows = torch.where(_proper_subsets(entry.size), space.row(entry.edits), PAD)
    proba = MeteredOracle(oracle).answer(space, space.normalise(rows))
    return float((proba.argmax(dim=1) == answer.label).double().mean())


def seconds_per_graph(answers: Sequence[CounterfactualSet]) -> float:
    """Mean time of one call to `explain`, with or without success."""
    return _mean(answer.trace.seconds for answer in answers)


def oracle_calls(answers: Sequence[CounterfactualSet]) -> float:
    """Mean number of graphs the oracle was asked about in one call to `explain`."""
    return _mean(answer.trace.oracle_calls for answer in answers)


def _proper_subsets(count: int) -> Tensor:
    """Membership in non-empty proper subsets, all of them or a fixed sample [subsets, count]."""
    masks: Iterable[int] = range(1, 2**count - 1)
    if count > EXACT_EDITS:
        rng = random.Random(0)
        sample: set[int] = set()
        while len(sample) < SAMPLED_SUBSETS:
            sample.add(rng.randrange(1, 2**count - 1))
        masks = sorted(sample)
    width = (count + 7) // 8
    packed = b"".join(mask.to_bytes(width, "little") for mask in masks)
    rows = np.frombuffer(packed, dtype=np.uint8).reshape(-1, width)
    return torch.from_numpy(np.unpackbits(rows, axis=1, count=count, bitorder="little")).bool()


def _best(answers: Sequence[CounterfactualSet]) -> list[Counterfactual]:
    return [answer.best for answer in answers if answer.best is not None]


def _mean(values: Iterable[float | None]) -> float:
    """Mean of the values that are defined, NaN when none is."""
    defined = [value for value in values if value is not None]
    return fmean(defined) if defined else float("nan")
