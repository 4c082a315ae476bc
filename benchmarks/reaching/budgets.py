"""What settings let a search spend about a multiple of what it spent on a graph."""

from __future__ import annotations

from typing import Any

THIS, DEEP, OLD, OLD_DEEP = "this", "deep", "old", "old deep"
SEARCHES = (THIS, DEEP, OLD, OLD_DEEP)

# Half more than the fifty times there are to be: many children have several parents and are asked about once.
DEEP_TIMES, OLD_TIMES = 75, 10

# Edits of the largest sets that the larger searches try, and moves that a state of theirs grows by.
_EDITS = 15
_MOVES, _SLOPE_MOVES, _OLD_MOVES = 64, 16, 512

# A slope takes a pass forward and one backward, which counts two.
_SLOPE_PASSES = 3


def settings_of(who: str, spent: int, nodes: int) -> dict[str, Any]:
    """The settings of a search, as they differ from the preset.

    The larger searches go on to the last level however hopeless it looks, and are as wide as their budget
    lets them be.

    Args:
        who: The search.
        spent: Passes that the search, or the old one, spent on the graph.
        nodes: Nodes of the graph.
    """
    pairs = nodes * (nodes - 1) // 2
    if who == DEEP:
        children = min(_MOVES + _SLOPE_MOVES, pairs) + _SLOPE_PASSES
        width = (DEEP_TIMES * spent - 2 * pairs) // (children * (_EDITS - 1))
        return {
            "beam.width": max(8, width),
            "beam.wide_width": max(8, width),
            "beam.wide_share": 0,
            "beam.moves": _MOVES,
            "beam.slope_moves": _SLOPE_MOVES,
            "beam.max_edits": _EDITS,
            "beam.singles": 100_000,
            "beam.pool": 100_000,
            "beam.leap_edits": _EDITS,
            "beam.islands": 64,
            "beam.leap_seats": max(2, width // 4),
            "beam.reach_factor": 1e9,
            "seconds": None,
        }
    if who == OLD_DEEP:
        # Its beam is half as wide from the eighth level on.
        levels = 7 + (_EDITS - 7) / 2
        states = OLD_TIMES * spent / (min(_OLD_MOVES, pairs) * levels)
        return {
            "iterations": 200_000,
            "widening.near": 30_000,
            "widening.width": max(12, round(states)),
            "widening.moves": _OLD_MOVES,
            "widening.max_edits": _EDITS,
            "widening.hope": 1e9,
            "widening.promising": 150,
            "seconds": None,
        }
    return {}
