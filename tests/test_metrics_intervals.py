"""Intervals of means and shares over graphs."""

from __future__ import annotations

import math

import pytest
from scipy.stats import binomtest

from edgeflip.metrics import (
    average,
    bootstrap_interval,
    mean_over_seeds,
    share_interval,
    wilson,
)


def test_the_interval_of_a_mean_is_about_two_standard_errors() -> None:
    values = {(0, graph): float(graph % 10) for graph in range(200)}
    found = bootstrap_interval(values)
    assert found is not None
    # Mean 4.5; the variance of 0 … 9 is 8.25.
    half = 1.96 * math.sqrt(8.25 / 200)
    assert found == pytest.approx((4.5 - half, 4.5 + half), abs=0.03)
    assert bootstrap_interval(values) == found


def test_seeds_of_a_graph_stay_together() -> None:
    one = {(0, graph): float(graph % 2) for graph in range(20)}
    many = {(seed, graph): value for (_, graph), value in one.items() for seed in range(30)}
    assert bootstrap_interval(many) == pytest.approx(bootstrap_interval(one))
    assert share_interval(many) == pytest.approx(share_interval(one))


def test_graphs_that_only_some_seeds_have_count_where_they_are() -> None:
    values = {(0, 0): 1.0, (0, 1): 3.0, (1, 1): 5.0}
    assert mean_over_seeds(values) == 3.5
    low, high = bootstrap_interval(values) or (math.nan, math.nan)
    # The first graph alone, or the second alone: 1, or the mean of 3 and 5.
    assert (low, high) == (1.0, 4.0)


def test_one_graph_says_nothing_of_others() -> None:
    assert bootstrap_interval({(0, 5): 1.0, (1, 5): 2.0}) is None
    assert bootstrap_interval({}) is None
    assert share_interval({}) is None


@pytest.mark.parametrize(("hits", "trials"), [(0, 7), (7, 7), (3, 7), (80, 100), (1, 1)])
def test_shares_have_wilsons_interval(hits: int, trials: int) -> None:
    expected = binomtest(hits, trials).proportion_ci(0.95, method="wilson")
    found = share_interval({(0, graph): float(graph < hits) for graph in range(trials)})
    assert found == pytest.approx((expected.low, expected.high), abs=1e-12)
    share = wilson(hits, trials)
    assert (share.low, share.high) == pytest.approx(found, abs=1e-12)


def test_a_share_has_a_deviation_over_seeds_too() -> None:
    found = average([[1.0, 0.0], [1.0, 1.0]], "share")
    assert found.value == 0.75
    assert found.sd == pytest.approx(math.sqrt(2) / 4)
    assert average([[1.0, 0.0]], "share").sd is None
