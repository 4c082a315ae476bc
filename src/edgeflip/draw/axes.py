"""Axes of charts: scales, few ticks, thin lines, and the words above and below a chart."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from edgeflip.draw.look import TEXTS, lines_of
from edgeflip.draw.scene import Item, Line, Point, words

_TICK = 5.0
# Over more than this factor only powers of ten are marked.
_WIDE = 150.0


@dataclass(frozen=True)
class Scale:
    """Numbers as shares of the length of an axis.

    Attributes:
        low: What stands at its beginning.
        high: What stands at its end.
        log: Whether factors, and not differences, are as long.
    """

    low: float
    high: float
    log: bool = False

    def share(self, value: float) -> float:
        """Where a number stands, 0 at the beginning and 1 at the end."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)


@dataclass(frozen=True)
class Tick:
    """A mark on an axis; may have no words."""

    at: float
    text: str = ""


@dataclass(frozen=True)
class Frame:
    """The room of a panel between its axes.

    Attributes:
        left: Of the upright axis.
        top: Of it.
        width: Of the lower axis.
        height: Of the upright one.
        x: Numbers on the lower axis.
        y: Numbers on the upright one.
        above: Pixels above the highest number, for labels.
    """

    left: float
    top: float
    width: float
    height: float
    x: Scale
    y: Scale
    above: float = 0.0

    @property
    def right(self) -> float:
        """Where it ends."""
        return self.left + self.width

    @property
    def bottom(self) -> float:
        """Where the lower axis is."""
        return self.top + self.height

    def at(self, x: float, y: float) -> Point:
        """The place of two numbers."""
        across = self.left + self.x.share(x) * self.width
        return across, self.bottom - self.y.share(y) * (self.height - self.above)

    def axes(self, across: Sequence[Tick], up: Sequence[Tick]) -> list[Item]:
        """Both axes with their ticks, without a grid."""
        corner = (self.left, self.bottom)
        items: list[Item] = [
            Line(((self.left, self.top), corner, (self.right, self.bottom)), "axis")
        ]
        for tick in across:
            x, _ = self.at(tick.at, self.y.low)
            items.append(Line(((x, self.bottom), (x, self.bottom + _TICK)), "axis"))
        for tick in up:
            _, y = self.at(self.x.low, tick.at)
            items.append(Line(((self.left - _TICK, y), (self.left, y)), "axis"))
        for tick in across:
            if tick.text:
                x, _ = self.at(tick.at, self.y.low)
                written = words((x, self.bottom + 19), tick.text, "tick", "middle")
                if x + written.width / 2 > self.right + 8:
                    written = words((self.right + 8, self.bottom + 19), tick.text, "tick", "end")
                items.append(written)
        for tick in up:
            if tick.text:
                _, y = self.at(self.x.low, tick.at)
                items.append(words((self.left - 9, y + 4), tick.text, "tick", "end"))
        return items


def log_scale(values: Iterable[float]) -> Scale:
    """A scale that leaves a little room on both sides of positive numbers."""
    numbers = list(values)
    low, high = min(numbers), max(numbers)
    # A wide range has the same room in pixels as a narrow one.
    room = max(1.12, (high / low) ** 0.05)
    return Scale(low / room, high * room, log=True)


def log_ticks(scale: Scale, unit: str = "") -> list[Tick]:
    """Ticks at 1, 2 and 5 times powers of ten, or at powers alone where there are many."""
    steps = (1, 2, 5) if scale.high / scale.low < _WIDE else (1,)
    powers = range(math.floor(math.log10(scale.low)) - 1, math.ceil(math.log10(scale.high)) + 1)
    # Divided, not multiplied: 5 / 100 is .05, but 5 * .01 is a little more.
    numbers = [
        step * 10**power if power >= 0 else step / 10**-power for power in powers for step in steps
    ]
    found = [number for number in numbers if scale.low <= number <= scale.high]
    texts = [f"{number:,g}" if number < 10000 else f"{number:,.0f}" for number in found]
    if texts and unit:
        texts[-1] += f" {unit}"
    return [Tick(number, text) for number, text in zip(found, texts, strict=True)]


def share_scale(values: Iterable[float]) -> Scale:
    """A scale of shares, from the quarter below the least of them to a little above the largest."""
    numbers = list(values)
    least, most = min(numbers), max(numbers)
    low = min(0.75, math.floor((least - 0.04) * 4) / 4)
    # No share is below 0, so a share near it needs no quarter more.
    low = max(low, 0.0) if least >= 0 else low
    high = max(low + 0.25, math.ceil(most * 20) / 20)
    return Scale(low - (high - low) * 0.045, high)


def share_ticks(scale: Scale) -> list[Tick]:
    """A tick every 25 %, with words every 50 % where there are many."""
    quarters = range(math.ceil(scale.low * 4), math.floor(scale.high * 4 + 1e-9) + 1)
    shown = [quarter for quarter in quarters if len(quarters) <= 4 or quarter % 2 == 0]
    texts = {quarter: f"{25 * quarter}".replace("-", "−") for quarter in shown}
    if shown:
        texts[shown[-1]] += " %"
    return [Tick(quarter / 4, texts.get(quarter, "")) for quarter in quarters]


def even_ticks(low: float, high: float, most: int = 8) -> list[Tick]:
    """Ticks at whole numbers, or at even steps of them."""
    step = next(
        size * 10**power
        for power in range(12)
        for size in (1, 2, 5)
        if (high - low) / (size * 10**power) <= most
    )
    return [
        Tick(number, f"{number:,}")
        for number in range(math.ceil(low / step) * step, math.floor(high) + 1, step)
    ]


@dataclass(frozen=True)
class Lines:
    """Words that were broken into lines.

    Attributes:
        items: The lines.
        bottom: Where they end.
    """

    items: tuple[Item, ...]
    bottom: float


def paragraph(at: Point, text: str, style: str, room: float) -> Lines:
    """Words broken into lines that fit; `at` is their upper left corner."""
    size = TEXTS[style].size
    x, y = at
    lines = lines_of(text, TEXTS[style], room)
    items = tuple(
        words((x, y + size * (0.95 + 1.38 * index)), line, style)
        for index, line in enumerate(lines)
    )
    return Lines(items, y + size * 1.38 * len(lines))


def heading(title: str, subtitle: str, width: float) -> Lines:
    """What stands above a chart: a sentence, and how to read it."""
    above = paragraph((0, 4), title, "figure-title", width)
    below = paragraph((0, above.bottom + 5), subtitle, "note", width) if subtitle else above
    items = above.items + (below.items if subtitle else ())
    return Lines(items, below.bottom + 16)
