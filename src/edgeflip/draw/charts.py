"""Charts as scenes: methods compared on several datasets, shares with intervals, and curves.

Ours is blue and everybody else grey; solid is measured, hollow is published. Labels stand beside what they
name, so there is no legend.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from edgeflip.draw.axes import (
    Frame,
    Lines,
    Scale,
    Tick,
    even_ticks,
    heading,
    log_scale,
    log_ticks,
    paragraph,
    share_scale,
    share_ticks,
)
from edgeflip.draw.comparing import Dot, draw_panel
from edgeflip.draw.labels import Spot, Wanted, place_labels
from edgeflip.draw.look import TEXTS, shortened
from edgeflip.draw.scene import Disc, Item, Line, Point, Scene, placed, words
from edgeflip.draw.wording import percent, quantity

WIDTH = 880.0
"""Of a chart with two panels to a row, in pixels."""

_ALONE = 600.0
_GAP = 24.0
# From one line of names to the next.
_LINE = 15.0

Kind: TypeAlias = Literal["ours", "variant", "rival"]


@dataclass(frozen=True)
class Panel:
    """A dataset of a comparison."""

    title: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True)
class Axes:
    """What the axes of a comparison are.

    Attributes:
        x: The lower axis, which has factors.
        y: The upright one, which has shares.
        unit: Of the lower axis, as its last tick says it.
        one: The same of a single one.
    """

    x: str
    y: str
    unit: str
    one: str


def compare_chart(
    panels: Sequence[Panel], title: str, subtitle: str, axes: Axes, footer: str = ""
) -> Scene:
    """Methods as dots, a panel per dataset and two to a row, all on the same axes.

    Args:
        panels: The datasets.
        title: A sentence that is true of them.
        subtitle: How to read the chart.
        axes: What is on the axes.
        footer: Where the numbers come from.
    """
    sheet = _Sheet(title, subtitle, len(panels))
    dots = [dot for panel in panels for dot in panel.dots]
    x, y = log_scale(dot.x for dot in dots), share_scale(dot.y for dot in dots)
    told = []
    for panel in panels:
        left, top, width = sheet.room(panel.title, 280 + 34)
        frame = Frame(left + 44, top, width - 56, 280, x, y, above=38)
        lines = frame.axes(log_ticks(x, axes.unit), share_ticks(y))
        sheet.items += draw_panel(panel.dots, frame, lines, (axes.unit, axes.one))
        told.append(f"{panel.title}: {_told(panel.dots, axes)}.")
    what = f"{axes.y} against {axes.x}."
    return sheet.scene(footer, " ".join([what, *told]))


def _told(dots: Sequence[Dot], axes: Axes) -> str:
    return "; ".join(
        f"{dot.name}{', published' if dot.published else ''} {percent(dot.y)}, "
        f"{quantity(dot.x, axes.unit, axes.one)}"
        for dot in dots
    )


@dataclass(frozen=True)
class Interval:
    """A share with the ends of its interval; none where it was not measured."""

    name: str
    kind: Kind
    value: float | None = None
    low: float = 0.0
    high: float = 0.0


@dataclass(frozen=True)
class IntervalPanel:
    """A dataset with a row per method."""

    title: str
    rows: tuple[Interval, ...]


def interval_chart(
    panels: Sequence[IntervalPanel], title: str, subtitle: str, footer: str = ""
) -> Scene:
    """Shares with their intervals, a row per method and a panel per dataset.

    Args:
        panels: The datasets.
        title: A sentence that is true of them.
        subtitle: How to read the chart.
        footer: Where the numbers come from.
    """
    sheet = _Sheet(title, subtitle, len(panels))
    height = 22.0
    told = []
    for panel in panels:
        tall = height * len(panel.rows) + 8
        left, top, width = sheet.room(panel.title, tall + 34, indent=142)
        frame = Frame(left + 142, top, width - 204, tall, Scale(-0.02, 1.02), Scale(0, 1))
        sheet.items += frame.axes(share_ticks(Scale(0, 1)), ())
        for index, row in enumerate(panel.rows):
            sheet.items += _interval(row, frame, top + 4 + height * (index + 0.5), left)
        told.append(f"{panel.title}: {_told_rows(panel.rows)}.")
    return sheet.scene(footer, " ".join(told))


def _interval(row: Interval, frame: Frame, y: float, left: float) -> list[Item]:
    text = {"ours": "ours", "variant": "ours-small", "rival": "rival"}[row.kind]
    name = shortened(row.name, TEXTS[text], frame.left - left - 10)
    items: list[Item] = [words((frame.left - 9, y + 4), name, text, "end")]
    if row.value is None:
        return [*items, words((frame.right + 42, y + 4), "–", "tick", "end")]
    ends = [frame.at(share, 0)[0] for share in (row.low, row.high)]
    style = "rival" if row.kind == "rival" else "ours"
    told = f"{row.name}: {percent(row.value)}, {percent(row.low)} to {percent(row.high)}"
    return [
        *items,
        Line(((ends[0], y), (ends[1], y)), f"{style}-line"),
        Disc((frame.at(row.value, 0)[0], y), 6.5 if row.kind == "ours" else 4.5, style, told),
        words((frame.right + 42, y + 4), percent(row.value), text, "end"),
    ]


def _told_rows(rows: Sequence[Interval]) -> str:
    return "; ".join(
        f"{row.name} {percent(row.value)} ({percent(row.low)} to {percent(row.high)})"
        for row in rows
        if row.value is not None
    )


@dataclass(frozen=True)
class Curve:
    """A line through points, with dots on it where there really is something.

    Attributes:
        name: What it is; may be empty.
        points: Of the line.
        dots: The things there are.
    """

    name: str
    points: tuple[Point, ...]
    dots: tuple[Point, ...] = ()


@dataclass(frozen=True)
class CurvePanel:
    """Curves on common axes.

    Attributes:
        title: What it shows.
        curves: The first is black, further ones are grey.
        x: Name of the lower axis.
        across: Numbers of the lower axis.
        up: Numbers of the upright axis.
        up_ticks: Its ticks.
        across_ticks: Those of the lower axis; even ones where none are given.
        is_ours: Whether the first curve is ours, and blue.
        margin: Pixels on the right for names at the ends of curves; 0 for names where there is room.
    """

    title: str
    curves: tuple[Curve, ...]
    x: str
    across: Scale
    up: Scale
    up_ticks: tuple[Tick, ...]
    across_ticks: tuple[Tick, ...] = ()
    is_ours: bool = False
    margin: float = 0.0


def curve_chart(panels: Sequence[CurvePanel], title: str, subtitle: str, footer: str = "") -> Scene:
    """Curves, each with its name beside it.

    Args:
        panels: One or several, two to a row.
        title: What they show, as a sentence.
        subtitle: How to read the chart.
        footer: Where the curves come from.
    """
    sheet = _Sheet(title, subtitle, len(panels))
    for panel in panels:
        left, top, width = sheet.room(panel.title, 220 + 48)
        room = width - 56 - panel.margin
        frame = Frame(left + 44, top, room, 220, panel.across, panel.up, above=12)
        sheet.items += curve_items(panel, frame)
    return sheet.scene(footer, subtitle)


def curve_items(panel: CurvePanel, frame: Frame) -> list[Item]:
    """One panel of curves on its axes."""
    ticks = panel.across_ticks or even_ticks(panel.across.low, panel.across.high)
    items = frame.axes(ticks, panel.up_ticks)
    leading = ("ours-line", "ours", "ours") if panel.is_ours else ("curve", "curve-dot", "value")
    items.append(words((frame.right + 8, frame.bottom + 37), panel.x, "tick", "end"))
    wanted, spots, lines = [], [], []
    ends: list[tuple[float, str, str]] = []
    # The first is drawn last, on top.
    for curve in reversed(panel.curves):
        first = curve is panel.curves[0]
        style, dot, text = leading if first else ("rival-line", "rival", "rival")
        path = tuple(frame.at(*point) for point in curve.points)
        items.append(Line(path, style))
        lines += list(zip(path[::4], path[4::4], strict=False))
        own = [Spot(frame.at(*point), 4.5) for point in curve.dots]
        items += [Disc(spot.at, spot.radius, dot) for spot in own]
        spots += own
        if curve.name and panel.margin:
            ends.append((path[-1][1], curve.name, text))
        elif curve.name:
            near = tuple(own) or tuple(Spot(point, 2) for point in path[:: len(path) // 6 or 1])
            wanted.append(Wanted(((curve.name,),), text, near))
    room = (frame.left + 4, frame.top, frame.right + 8, frame.bottom - 2)
    for label in place_labels(wanted, room, spots, lines):
        items += label.items()
    return items + _names_at_ends(ends, frame)


def _names_at_ends(ends: Sequence[tuple[float, str, str]], frame: Frame) -> list[Item]:
    """Names in a column on the right, each as near to the end of its curve as the others let it be.

    Args:
        ends: How far down each curve ends, its name and the style of that.
        frame: The axes.
    """
    ordered = sorted(ends, key=lambda end: end[0])
    items: list[Item] = []
    for (end, name, style), y in zip(ordered, _apart([end[0] for end in ordered]), strict=True):
        if abs(y - end) > 2:
            items.append(Line(((frame.right + 6, end), (frame.right + 18, y)), "leader"))
        items.append(words((frame.right + 21, y + 4), name, style))
    return items


def _apart(wanted: Sequence[float]) -> list[float]:
    """Numbers in their order, a line of text apart, as near to the wanted ones as that allows."""
    groups: list[tuple[float, int]] = []
    for index, value in enumerate(wanted):
        # Less their places they only have to ascend: those that do not share their mean.
        mean, count = value - index * _LINE, 1
        while groups and groups[-1][0] > mean:
            other, number = groups.pop()
            mean, count = (mean * count + other * number) / (count + number), count + number
        groups.append((mean, count))
    means = [mean for mean, count in groups for _ in range(count)]
    return [mean + index * _LINE for index, mean in enumerate(means)]


@dataclass
class _Sheet:
    """A chart being put together: a heading, panels in rows of two, a footer."""

    title: str
    subtitle: str
    count: int
    items: list[Item] = field(default_factory=list)
    _placed: int = 0
    _bottom: float = 0.0

    def __post_init__(self) -> None:
        self.width = WIDTH if self.count > 1 else _ALONE
        above = heading(self.title, self.subtitle, self.width - 8)
        self.items += above.items
        self._top = self._bottom = above.bottom

    def room(self, title: str, height: float, *, indent: float = 44) -> tuple[float, float, float]:
        """Left, top and width of the next panel, below its title."""
        column = self._placed % 2
        if column == 0:
            self._top = self._bottom
        self._placed += 1
        width = self.width if self.count == 1 else (self.width - _GAP) / 2
        left = column * (width + _GAP)
        top = self._top
        if title:
            name = shortened(title, TEXTS["title"], width - indent)
            self.items.append(words((left + indent, top + 14), name, "title"))
            top += 24
        self._bottom = max(self._bottom, top + height + 14)
        return left, top, width

    def scene(self, footer: str, description: str) -> Scene:
        """Everything, with a margin around it."""
        below = Lines((), self._bottom - 6)
        if footer:
            below = paragraph((0, self._bottom), footer, "small", self.width - 8)
        return _framed(
            [*self.items, *below.items], self.width, below.bottom, self.title, description
        )


def _framed(
    items: Sequence[Item], width: float, height: float, label: str, description: str
) -> Scene:
    margin = 16.0
    return Scene(
        width + 2 * margin,
        height + 2 * margin,
        tuple(placed(items, (margin, margin))),
        label,
        description,
    )
