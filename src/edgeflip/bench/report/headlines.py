"""Sentences above pictures that are true of what the pictures show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeflip.draw import at_most

# Values are written into tables with six digits; what is nearer than that is the same.
_SAME = 1e-6


@dataclass(frozen=True)
class Standing:
    """Our method among the others on one dataset.

    Attributes:
        dataset: What the dataset is called.
        ours: Our value; more is better.
        others: Those of everybody else that was measured, never empty.
        cost: What ours took.
    """

    dataset: str
    ours: float
    others: tuple[float, ...]
    cost: float | None = None

    @property
    def won(self) -> bool:
        """Whether ours is above all others."""
        return self.ours > max(self.others) + _SAME

    @property
    def lost(self) -> bool:
        """Whether another is above ours."""
        return max(self.others) > self.ours + _SAME


@dataclass(frozen=True)
class Claim:
    """The words for a measure.

    Attributes:
        most: What the best method does, such as `changes the most predictions`.
        more: What one that is better than ours does.
        bound: What it took at most, with a place for the number; may be empty.
        single: The same where it took exactly one.
        neutral: What the picture shows, for when there is nothing to claim.
    """

    most: str
    more: str
    neutral: str
    bound: str = ""
    single: str = ""


def headline(ours: str, standings: Sequence[Standing], claim: Claim) -> str:
    """How ours did among the methods measured; ties and losses are told as well.

    Example:
        >>> claim = Claim("changes the most", "changes more", "Predictions changed")
        >>> standings = [Standing("A", 0.9, (0.8, 0.7)), Standing("B", 0.5, (0.6,))]
        >>> headline("edgeflip", standings, claim)
        'Of the methods measured, edgeflip changes the most on 1 of 2 datasets; on 1 another changes more'
    """
    if not standings:
        return claim.neutral
    total = len(standings)
    won = sum(standing.won for standing in standings)
    lost = sum(standing.lost for standing in standings)
    level = total - won - lost
    bound = _bound(standings, claim)
    name = standings[0].dataset
    if lost == total:
        where = f"On {name}" if total == 1 else f"On {_all(total)}"
        return f"{where} another method measured {claim.more} than {ours}"
    if won == total:
        where = name if total == 1 else _all(total)
        return f"Of the methods measured, {ours} {claim.most} on {where}{bound}"
    if not lost:
        where = name if total == 1 else f"any of {total} datasets"
        front = f"; it is alone in front on {won} and level with others on {level}" if won else ""
        front = front or f"; others are level with it{'' if total == 1 else ' on each'}"
        return f"No method measured {claim.more} than {ours} on {where}{bound}{front}"
    parts = [f"{claim.most} on {won} of {total} datasets"] if won else []
    if level:
        parts.append(f"is level with the best on {level}{'' if won else f' of {total} datasets'}")
    did = " and ".join(parts)
    return f"Of the methods measured, {ours} {did}{bound}; on {lost} another {claim.more}"


def _all(total: int) -> str:
    return "both datasets" if total == 2 else f"all {total} datasets"


def _bound(standings: Sequence[Standing], claim: Claim) -> str:
    """What ours took at most, on every one of the datasets."""
    costs = [standing.cost for standing in standings]
    if not claim.bound or any(cost is None for cost in costs):
        return ""
    most = at_most(max(cost for cost in costs if cost is not None))
    return f", {claim.single if most == '1' and claim.single else claim.bound.format(most)}"
