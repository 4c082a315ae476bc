"""How the values of many graphs become one number: a mean over seeds, or a share with its interval."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Literal, TypeAlias

from edgeflip.errors import ConfigError, shown
from edgeflip.metrics.intervals import wilson_ends
from edgeflip.support import checked_call

Value: TypeAlias = float | Sequence[float] | None
"""What a metric says of one subject: a number, several that count by themselves, or nothing."""

Averaging: TypeAlias = Literal["mean", "share"]


@dataclass(frozen=True)
class Average:
    """One number made of many; undefined values are None.

    Attributes:
        value: The mean, or the share.
        sd: Standard deviation of the seeds' means or shares; None with fewer than two seeds.
        interval: Ends of Wilson's 95 % interval of a share.
    """

    value: float | None = None
    sd: float | None = None
    interval: tuple[float, float] | None = None


def average(seeds: Iterable[Iterable[Value]], averaging: Averaging = "mean") -> Average:
    """Make one number of the values of some seeds.

    A mean is taken over the values of a seed first and then over seeds. A share counts zeros and ones
    of all seeds together.

    Example:
        >>> average([[1.0, None, 3.0], [4.0]])
        Average(value=3.0, sd=1.4142135623730951, interval=None)
        >>> average([[1.0, 0.0], [(1.0, 1.0)]], "share").value
        0.75
    """
    flat = [[number for value in values for number in _numbers(value)] for values in seeds]
    seeds_alone = over_seeds(fmean(values) if values else None for values in flat)
    if averaging == "mean":
        return seeds_alone
    share = wilson(sum(value > 0 for values in flat for value in values), sum(map(len, flat)))
    interval = (share.low, share.high)
    return Average(share.value, seeds_alone.sd, interval) if share.trials else Average()


def over_seeds(values: Iterable[float | None]) -> Average:
    """Mean and standard deviation of the values that are defined.

    Example:
        >>> over_seeds([1.0, None, 3.0]).value
        2.0
        >>> over_seeds([1.0]).sd is None
        True
    """
    defined = [value for value in values if value is not None]
    if not defined:
        return Average()
    return Average(fmean(defined), stdev(defined) if len(defined) > 1 else None)


def _numbers(value: Value) -> Sequence[float]:
    if value is None:
        return ()
    return value if isinstance(value, Sequence) else (float(value),)


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


# Up to here floating-point numbers count.
_MOST_TRIALS = 2**53


@checked_call()
def wilson(hits: int, trials: int) -> Proportion:
    """A share with Wilson's 95 % score interval, which holds for few trials as well.

    Example:
        >>> share = wilson(8, 10)
        >>> f"{share.value:.2f} in {share.low:.3f} to {share.high:.3f}"
        '0.80 in 0.490 to 0.943'
    """
    if not 0 <= hits <= trials <= _MOST_TRIALS:
        raise ConfigError(
            f"expected hits from 0 to the number of trials, and at most {_MOST_TRIALS:,} of these, got "
            f"{shown(hits)} of {shown(trials)}; correct the counts."
        )
    if not trials:
        return Proportion(0, 0, math.nan, math.nan)
    return Proportion(hits, trials, *wilson_ends(hits / trials, trials))
