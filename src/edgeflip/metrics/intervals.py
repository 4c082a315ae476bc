"""How sure a number is: intervals of means and shares over graphs, asked with one seed or several."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import lru_cache
from statistics import fmean
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Interval: TypeAlias = tuple[float, float]
"""The ends of a 95 % interval."""

GraphValues: TypeAlias = Mapping[tuple[int, int], float]
"""Values by seed and graph."""

_RESAMPLES = 4_000
_LOW, _HIGH = 2.5, 97.5
# The normal quantile of 97.5 %.
_Z = 1.959963984540054


def mean_over_seeds(values: GraphValues) -> float:
    """The mean over the graphs of a seed, then over the seeds.

    Example:
        >>> mean_over_seeds({(0, 7): 1.0, (0, 8): 3.0, (1, 7): 4.0})
        3.0
    """
    seeds: dict[int, list[float]] = {}
    for (seed, _), value in values.items():
        seeds.setdefault(seed, []).append(value)
    return fmean(fmean(found) for found in seeds.values())


def bootstrap_interval(values: GraphValues) -> Interval | None:
    """The interval of `mean_over_seeds`, by drawing graphs again; None for fewer than two graphs.

    What a graph has under several seeds stays together, for it is one graph, and asking it again tells
    little about others. The draws are the same every time.

    Example:
        >>> bootstrap_interval({(0, graph): float(graph % 2) for graph in range(100)})
        (0.4, 0.6)
    """
    graphs = {graph: place for place, graph in enumerate(sorted({key[1] for key in values}))}
    if len(graphs) < 2:
        return None
    seeds = {seed: place for place, seed in enumerate(sorted({key[0] for key in values}))}
    sums = np.zeros((len(graphs), len(seeds)))
    counts = np.zeros_like(sums)
    for (seed, graph), value in values.items():
        sums[graphs[graph], seeds[seed]] = value
        counts[graphs[graph], seeds[seed]] = 1.0
    draws = _draws(len(graphs))
    drawn = draws @ counts
    with np.errstate(invalid="ignore"):
        # A draw may hold no graph of some seed, but never none at all.
        means = np.nanmean((draws @ sums) / drawn, axis=1)
    low, high = np.percentile(means, (_LOW, _HIGH))
    return float(low), float(high)


@lru_cache(maxsize=8)
def _draws(graphs: int) -> npt.NDArray[np.float64]:
    """How often each graph is drawn, [draws, graphs]."""
    chosen = np.random.default_rng(0).integers(graphs, size=(_RESAMPLES, graphs))
    chosen += graphs * np.arange(_RESAMPLES)[:, None]
    counts = np.bincount(chosen.ravel(), minlength=_RESAMPLES * graphs)
    return counts.reshape(_RESAMPLES, graphs).astype(np.float64)


def share_interval(values: GraphValues) -> Interval | None:
    """Wilson's interval of a share of zeros and ones; None without graphs.

    A graph counts once, however many seeds asked it, so that more seeds do not make the graphs look more.

    Example:
        >>> low, high = share_interval({(0, graph): float(graph < 8) for graph in range(10)})
        >>> f"{low:.3f} to {high:.3f}"
        '0.490 to 0.943'
    """
    graphs = len({graph for _, graph in values})
    return wilson_ends(mean_over_seeds(values), graphs) if graphs else None


def wilson_ends(share: float, trials: float) -> Interval:
    """Wilson's 95 % score interval, for a share of so many trials.

    Example:
        >>> wilson_ends(1.0, 4)[1]
        1.0
    """
    shrink = 1 + _Z**2 / trials
    centre = (share + _Z**2 / (2 * trials)) / shrink
    half = _Z / shrink * math.sqrt(share * (1 - share) / trials + _Z**2 / (4 * trials**2))
    return (0.0 if share <= 0 else centre - half), (1.0 if share >= 1 else centre + half)
