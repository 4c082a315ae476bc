"""The sentences above pictures are true of the values."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from edgeflip.bench.report.headlines import Claim, Standing, headline
from edgeflip.draw import at_most

CLAIM = Claim("does most", "does more", "NEUTRAL", "with {} edits or fewer", "with a single edit")

# Few values, so that ties are common.
values = st.integers(0, 4).map(lambda number: number / 4)
standings = st.lists(
    st.builds(
        Standing,
        st.sampled_from(["A", "B"]),
        values,
        st.lists(values, min_size=1, max_size=4).map(tuple),
        st.one_of(st.none(), st.floats(1, 50)),
    ),
    max_size=6,
)


@given(standings)
def test_a_headline_is_true_of_the_values(found: list[Standing]) -> None:
    text = headline("ours", found, CLAIM)
    if not found:
        assert text == "NEUTRAL"
        return
    total = len(found)
    won = sum(all(one.ours > other for other in one.others) for one in found)
    lost = sum(any(other > one.ours for other in one.others) for one in found)
    level = sum(max(one.others) == one.ours for one in found)
    # What a reader takes from the sentence: each claim, and no other.
    everywhere = re.search(r"ours does most on (all \d+ datasets|both datasets|[AB])(,|$)", text)
    assert bool(everywhere) == (won == total)
    assert text.startswith("No method measured does more than ours") == (not lost and level > 0)
    assert text.endswith("does more than ours") == (lost == total)
    part = re.search(r"ours does most on (\d+) of (\d+) datasets", text)
    assert bool(part) == (0 < won < total and lost > 0)
    if part:
        assert (int(part[1]), int(part[2])) == (won, total)
    ties = re.search(r"level with the best on (\d+)", text)
    if ties:
        assert int(ties[1]) == level
    if 0 < lost < total:
        assert text.endswith(f"on {lost} another does more")
        assert bool(ties) == (level > 0)
    alone = re.search(r"alone in front on (\d+) and level with others on (\d+)", text)
    assert bool(alone) == (not lost and level > 0 and won > 0)
    if alone:
        assert (int(alone[1]), int(alone[2])) == (won, level)


@given(standings)
def test_the_edits_of_a_headline_are_a_bound_that_holds(found: list[Standing]) -> None:
    text = headline("ours", found, CLAIM)
    costs = [one.cost for one in found]
    bound = re.search(r"with ([\d.]+) edits or fewer", text)
    if any(cost is None for cost in costs):
        assert not bound
    if bound:
        most = max(cost for cost in costs if cost is not None)
        assert most <= float(bound[1]) + 1e-6
        assert float(bound[1]) - most < 0.1 + 1e-6
    if "single edit" in text:
        assert max(cost or 0 for cost in costs) <= 1 + 1e-6


@given(st.floats(1e-4, 1e4))
def test_at_most_is_never_less(value: float) -> None:
    shown = float(at_most(value).replace(",", ""))
    assert value <= shown + 1e-6 * max(1, value)


def test_one_dataset_is_called_by_its_name() -> None:
    one = [Standing("BBBP", 0.97, (0.6,), 2.76)]
    assert headline("edgeflip", one, CLAIM) == (
        "Of the methods measured, edgeflip does most on BBBP, with 2.8 edits or fewer"
    )
    two = [Standing("A", 1.0, (0.6,), 1.0), Standing("B", 1.0, (0.6,), 1.0)]
    assert headline("edgeflip", two, CLAIM).endswith("on both datasets, with a single edit")
