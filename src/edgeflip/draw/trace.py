"""How a search went: the best margin against what it took, and when the search widened."""

from __future__ import annotations

import math
from collections.abc import Sequence

from edgeflip.draw.arguments import check_answer
from edgeflip.draw.picture import Picture
from edgeflip.draw.scene import Disc, Item, Line, Point, Scene, words
from edgeflip.search import CounterfactualSet, Step, counted_edits

_WIDTH, _HEIGHT = 680.0, 330.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 24.0, 74.0, 46.0
# Margins beyond this are drawn at the border: log-odds of one in a million.
_FAR = 14.0
# What is drawn of a search that kept no steps.
_NO_STEPS, _EMPTY = "No steps of this search were recorded.", 78.0


def draw_trace(answer: CounterfactualSet) -> Picture:
    """Draw the best margin of a search against the model passes it took.

    Above 0 the goal is reached. Where the search widened, a line says to which ring. Of a search without
    steps there is a sentence instead: methods that learn a mask record none while it flips nothing.

    Raises:
        ConfigError: If it is not one answer.
    """
    check_answer(answer, "draw the trace of each alone")
    steps = [step for step in answer.trace.steps if math.isfinite(step.margin)]
    title = _title(answer, steps)
    if not steps:
        items = (words((24, 34), title, "title"), words((24, 54), _NO_STEPS, "note"))
        return Picture(Scene(_WIDTH, _EMPTY, items, title, _NO_STEPS))
    return Picture(
        Scene(
            _WIDTH,
            _HEIGHT,
            (
                words((24, 34), title, "title"),
                words(
                    (24, 54), "The best margin so far; above the line the goal is reached.", "note"
                ),
                *_Chart(steps).items(),
            ),
            title,
        )
    )


def _title(answer: CounterfactualSet, steps: Sequence[Step]) -> str:
    passes = answer.trace.oracle_calls
    if not steps and answer.smallest is not None:
        return f"Reached in {passes:,} model passes, with {counted_edits(answer.smallest.size)} at best"
    # What is beyond the goal and no flip was refused by a rule.
    first = next((step for step in steps if step.smallest is not None), None)
    if first is None:
        return f"The goal was not reached in {passes:,} model passes"
    found = f"Reached within {first.calls:,} of {passes:,} model passes"
    if answer.smallest is None:
        return found
    return f"{found}, with {counted_edits(answer.smallest.size)} at best"


class _Chart:
    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = steps
        margins = [self._shown(step.margin) for step in steps]
        self._low = min(0.0, *margins) - 0.5
        self._high = max(0.0, *margins) + 0.5
        self._last = max(1, max(step.calls for step in steps))

    @staticmethod
    def _shown(margin: float) -> float:
        return max(-_FAR, min(_FAR, margin))

    def _x(self, calls: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - _RIGHT) * calls / self._last

    def _y(self, margin: float) -> float:
        share = (self._shown(margin) - self._low) / (self._high - self._low)
        return _HEIGHT - _BOTTOM - (_HEIGHT - _TOP - _BOTTOM) * share

    def items(self) -> list[Item]:
        """Axes, rings, the line and its last point."""
        right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        items: list[Item] = [
            Line(((_LEFT, _TOP), (_LEFT, bottom), (right, bottom)), "axis"),
            Line(((_LEFT, self._y(0)), (right, self._y(0))), "rule"),
            words((_LEFT - 8, self._y(0) + 4), "0", "tick", "end"),
        ]
        for value in {math.ceil(self._low), math.floor(self._high)} - {0}:
            items.append(
                words(
                    (_LEFT - 8, self._y(value) + 4), f"{value:g}".replace("-", "−"), "tick", "end"
                )
            )
        for calls in (0, self._last):
            side = "start" if calls == 0 else "end"
            items.append(
                words((self._x(calls), bottom + 18), f"{calls:,}", "tick", side)  # type: ignore[arg-type]
            )
        items.append(words((right, bottom + 36), "model passes", "tick", "end"))
        items += self._rings()
        points = self._line()
        items.append(Line(tuple(points), "ours-line"))
        items.append(Disc(points[-1], 4.5, "ours"))
        return items

    def _line(self) -> list[Point]:
        """A line that goes up in steps: between two of them nothing better was found."""
        points: list[Point] = []
        for step in self._steps:
            at = (self._x(step.calls), self._y(step.margin))
            if points:
                points.append((at[0], points[-1][1]))
            points.append(at)
        points.append((self._x(self._last), points[-1][1]))
        return points

    def _rings(self) -> list[Item]:
        items: list[Item] = []
        ring, taken = None, -1e9
        for step in self._steps:
            if step.ring is None or step.ring == ring:
                continue
            ring = step.ring
            x = self._x(step.calls)
            items.append(Line(((x, _TOP), (x, _HEIGHT - _BOTTOM)), "stub"))
            if x - taken > 44 and x < _WIDTH - _RIGHT - 40:
                items.append(words((x + 4, _TOP + 10), f"ring {ring}", "small", halo=True))
                taken = x
        return items
