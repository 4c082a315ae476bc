"""What noise on a graph does to its counterfactuals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from edgeflip.core import Edge, EditSet
from edgeflip.search import CounterfactualSet

Change: TypeAlias = tuple[int, int]
"""The class predicted for the input and the class predicted after the edits."""


def overlaps_after_noise(
    before: CounterfactualSet, after: CounterfactualSet
) -> dict[Change, float | None]:
    """Compare the counterfactuals of a graph with those of the same graph after noise.

    An edit is a node pair, whether its edge comes or goes: noise that removes an edge turns its later
    removal into an addition, and it is still the same pair that matters.

    Args:
        before: The answer for the graph.
        after: The answer for the noisy graph, with the same numbering of nodes.

    Returns:
        For every change of class before the noise, the largest Jaccard overlap of edits with a
        counterfactual of the same change after it; None where there is none.
    """
    old, new = _edits_by_change(before), _edits_by_change(after)
    return {
        change: _largest_overlap(old[change], new[change]) if change in new else None
        for change in sorted(old)
    }


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
    index = {edge: column for column, edge in enumerate(pairs)}
    matrix = np.zeros((len(edits), len(pairs)))
    for row, entry in enumerate(edits):
        matrix[row, [index[edge] for edge in entry.edges]] = 1.0
    return matrix
