"""Whether explanations outlive noise: validity after noise (VaN) and edge consistency (ECaN)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.stats import binomtest

from edgeflip.core import Edge, EditSet
from edgeflip.errors import ConfigError
from edgeflip.search import CounterfactualSet

Change: TypeAlias = tuple[int, int]
"""The class predicted for the input and the class predicted after the edits."""


@dataclass(frozen=True)
class Proportion:
    """A share with its confidence interval.

    Attributes:
        hits: How often it was so.
        trials: How often it could have been so.
        low: Lower bound, NaN without trials.
        high: Upper bound, NaN without trials.
    """

    hits: int
    trials: int
    low: float
    high: float

    @property
    def value(self) -> float:
        """Hits over trials, NaN without trials."""
        return self.hits / self.trials if self.trials else math.nan


def wilson(hits: int, trials: int, confidence: float = 0.95) -> Proportion:
    """A share with Wilson's score interval, which holds for few trials as well.

    Example:
        >>> share = wilson(8, 10)
        >>> f"{share.value:.2f} in {share.low:.3f} to {share.high:.3f}"
        '0.80 in 0.490 to 0.943'
    """
    if not 0 <= hits <= trials:
        raise ConfigError(
            f"expected hits from 0 to the number of trials, got {hits} of {trials}; correct the counts."
        )
    if not 0 < confidence < 1:
        raise ConfigError(
            f"expected a confidence between 0 and 1, got {confidence!r}; the usual one is 0.95."
        )
    if not trials:
        return Proportion(0, 0, math.nan, math.nan)
    interval = binomtest(hits, trials).proportion_ci(confidence, method="wilson")
    return Proportion(hits, trials, float(interval.low), float(interval.high))


@dataclass(frozen=True)
class NoiseOutcome:
    """What noise on one graph did to its counterfactuals.

    Attributes:
        label_kept: Whether the noisy graph is predicted as the graph was.
        found: Whether a counterfactual was found after the noise.
        same_change: Whether one of these changes the prediction as one from before did, from the same
            class to the same class.
        jaccard: The largest overlap of edits before and after the noise among counterfactuals with
            the same change, None without such a pair.
        changes: The distinct changes before the noise, ascending; empty when nothing was found.
        changes_kept: Those that are there after the noise as well.
        change_jaccards: The largest overlap of each kept change, in the same order.
    """

    label_kept: bool
    found: bool
    same_change: bool
    jaccard: float | None
    changes: tuple[Change, ...]
    changes_kept: tuple[Change, ...]
    change_jaccards: tuple[float, ...]

    @property
    def found_before(self) -> bool:
        """Whether a counterfactual was found before the noise."""
        return bool(self.changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "label_kept": self.label_kept,
            "found": self.found,
            "same_change": self.same_change,
            "jaccard": self.jaccard,
            "changes": [list(change) for change in self.changes],
            "changes_kept": [list(change) for change in self.changes_kept],
            "change_jaccards": list(self.change_jaccards),
        }


def noise_outcome(before: CounterfactualSet, after: CounterfactualSet) -> NoiseOutcome:
    """Compare the counterfactuals of a graph with those of the same graph after noise.

    An edit is a node pair, whether its edge comes or goes: noise that removes an edge turns its later
    removal into an addition, and it is still the same pair that matters.

    Args:
        before: The answer for the graph.
        after: The answer for the noisy graph, with the same numbering of nodes.
    """
    old, new = _edits_by_change(before), _edits_by_change(after)
    kept = tuple(sorted(old.keys() & new.keys()))
    overlaps = tuple(_largest_overlap(old[change], new[change]) for change in kept)
    return NoiseOutcome(
        label_kept=before.label == after.label,
        found=after.found,
        same_change=bool(kept),
        jaccard=max(overlaps, default=None),
        changes=tuple(sorted(old)),
        changes_kept=kept,
        change_jaccards=overlaps,
    )


def validity_after_noise(
    outcomes: Iterable[NoiseOutcome], *, confidence: float = 0.95
) -> Proportion:
    """VaN: of the graphs with a counterfactual, the share that keeps at least one of its changes."""
    counted = [outcome.same_change for outcome in outcomes if outcome.found_before]
    return wilson(sum(counted), len(counted), confidence)


def edge_consistency_after_noise(outcomes: Iterable[NoiseOutcome]) -> float:
    """ECaN: mean largest overlap of edits over the graphs that keep a change, NaN when none does."""
    return _mean([outcome.jaccard for outcome in outcomes if outcome.jaccard is not None])


def validity_after_noise_by_change(
    outcomes: Iterable[NoiseOutcome], *, confidence: float = 0.95
) -> Proportion:
    """VaN as in the authors' code: over changes (graph, old class, new class) instead of graphs."""
    counted = [(len(outcome.changes_kept), len(outcome.changes)) for outcome in outcomes]
    return wilson(sum(kept for kept, _ in counted), sum(all_ for _, all_ in counted), confidence)


def edge_consistency_by_change(outcomes: Iterable[NoiseOutcome]) -> float:
    """ECaN as in the authors' code: over kept changes instead of graphs."""
    return _mean([overlap for outcome in outcomes for overlap in outcome.change_jaccards])


def _edits_by_change(answer: CounterfactualSet) -> dict[Change, list[EditSet]]:
    found: dict[Change, list[EditSet]] = defaultdict(list)
    for entry in answer.counterfactuals:
        found[answer.label, entry.label].append(entry.edits)
    return found


def _largest_overlap(one: Sequence[EditSet], other: Sequence[EditSet]) -> float:
    """The largest Jaccard index of the edited pairs of any two edit sets."""
    pairs = sorted({edge for edits in (*one, *other) for edge in edits.edges})
    left, right = _incidence(one, pairs), _incidence(other, pairs)
    shared = left @ right.T
    together = left.sum(axis=1)[:, None] + right.sum(axis=1)[None] - shared
    return float((shared / together).max())


def _incidence(edits: Sequence[EditSet], pairs: Sequence[Edge]) -> npt.NDArray[np.float64]:
    """Which edit set edits which pair, as 0 and 1 [edit sets, pairs]."""
    place = {edge: column for column, edge in enumerate(pairs)}
    matrix = np.zeros((len(edits), len(pairs)))
    for row, entry in enumerate(edits):
        matrix[row, [place[edge] for edge in entry.edges]] = 1.0
    return matrix


def _mean(values: Sequence[float]) -> float:
    return fmean(values) if values else math.nan
