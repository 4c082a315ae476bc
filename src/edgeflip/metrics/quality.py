"""How good an answer is: whether there is one, how small, how sure, how minimal, how near the motif.

Every function is a metric of one explained graph, see `edgeflip.metrics.METRICS`. All but `validity` are
asked only about graphs with a counterfactual, and are those of the best one.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from statistics import fmean

import numpy as np
import torch
from torch import Tensor

from edgeflip.core import PAD, EditSet
from edgeflip.metrics.case import AnswerCase
from edgeflip.oracle import MeteredOracle, Oracle
from edgeflip.search import Counterfactual, CounterfactualSet

EXACT_EDITS = 12
"""Up to this many edits minimality looks at every subset; beyond, at a sample."""

SAMPLED_SUBSETS = 4096
"""Distinct subsets that minimality looks at when there are more edits than `EXACT_EDITS`."""


def validity(case: AnswerCase) -> float:
    """Whether a counterfactual was found; a method that failed found none."""
    return float(case.found)


def validity_connected(case: AnswerCase) -> float:
    """Whether a counterfactual was found that leaves the graph in no more parts than it has."""
    if case.answer is None:
        return 0.0
    told = (*case.answer.counterfactuals, case.answer.smallest)
    return float(any(entry is not None and not entry.disconnects for entry in told))


def size(case: AnswerCase) -> int:
    """Number of edits."""
    return case.best.size


def first_size(case: AnswerCase) -> int | None:
    """Number of edits of the counterfactual that was found first."""
    first = None if case.answer is None else case.answer.first
    return None if first is None else first.size


def fidelity(case: AnswerCase) -> float:
    """Drop of the probability of the original class."""
    return case.best.fidelity


def motif_proximity(case: AnswerCase) -> float:
    """Share of the edits with an end in the motif that made the original class."""
    assert case.answer is not None
    assert case.motif_nodes is not None
    edits: EditSet = case.best.edits
    return edits.touching(case.motif_nodes(case.answer.graph)) / len(edits)


def factual_proximity(case: AnswerCase) -> float:
    """Share of the edits with an end in the factual subgraph, the part that carries the original class."""
    assert case.answer is not None
    assert case.factual_nodes is not None
    edits: EditSet = case.best.edits
    return edits.touching(case.factual_nodes(case.answer.graph)) / len(edits)


def minimality(case: AnswerCase) -> float:
    """Share of the non-empty proper subsets of the edits that leave the prediction as it is.

    A single edit has no such subset and scores 1. The printed formula counts the full set as well, which
    would give a single edit 0, against the paper's own table. More than `EXACT_EDITS` edits have too
    many subsets to try them all: their score is an estimate, see `edit_minimality`.
    """
    assert case.answer is not None
    assert case.oracle is not None
    return edit_minimality(case.answer, case.best, case.oracle)


def minimality_of_smallest(case: AnswerCase) -> float:
    """Minimality as the authors' code has it: the mean over all smallest counterfactuals kept."""
    assert case.answer is not None
    assert case.oracle is not None
    entries = case.answer.counterfactuals
    least = min(entry.size for entry in entries)
    return fmean(
        edit_minimality(case.answer, entry, case.oracle) for entry in entries if entry.size == least
    )


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
