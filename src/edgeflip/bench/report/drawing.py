"""Drawing with matplotlib: settings, panels, points with labels, and SVG without chance in it.

Matplotlib belongs to the extra `bench` and is imported only where something is drawn.
"""

from __future__ import annotations

import importlib
import io
import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from edgeflip.bench.report import published as paper
from edgeflip.errors import ConfigError

BLUE, VERMILLION, _GREY = "#0072B2", "#D55E00", "#5a5a5a"
# Okabe and Ito's colours; shape tells apart what shares one.
_LOOKS = {
    "random": ("#000000", "X"),
    "gcfexplainer": ("#B37A00", "D"),
    "cf2": ("#009E73", "^"),
    "d4explainer": ("#A8427F", "v"),
    "rsgg-ce": ("#2A8CC4", "P"),
    "gist": (_GREY, "<"),
    "dr-cfgnn -DeN -OH": (BLUE, "o"),
    "dr-cfgnn +DeN -OH": (BLUE, "s"),
    "dr-cfgnn -DeN +OH": (VERMILLION, "o"),
    "dr-cfgnn +DeN +OH": (VERMILLION, "s"),
}
_OTHER_LOOKS = [
    ("#000000", "*"),
    ("#B37A00", "p"),
    ("#009E73", "h"),
    ("#A8427F", ">"),
    (_GREY, "d"),
]
_SETTINGS = {
    "svg.hashsalt": "edgeflip",
    "svg.fonttype": "path",
    "path.simplify": False,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.titlesize": 11,
    "axes.labelsize": 10,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e3e3e3",
    "grid.linewidth": 0.8,
    "text.parse_math": False,
}


_Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Point:
    """A method on a dataset; hollow if it is the paper's."""

    method: str
    x: float
    y: float
    ours: bool


def require_matplotlib() -> None:
    """Raise the error that names the extra, unless pictures can be drawn.

    Raises:
        ConfigError: If matplotlib is missing.
    """
    try:
        importlib.import_module("matplotlib.figure")
    except ImportError:
        raise ConfigError(
            "expected matplotlib for the pictures of the report, found none; install it with "
            "pip install 'edgeflip[bench]'."
        ) from None


@contextmanager
def settings() -> Iterator[None]:
    """The settings of all pictures, whatever the user's own are."""
    require_matplotlib()
    matplotlib = importlib.import_module("matplotlib")
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(_SETTINGS)
        yield


def panels(titles: Sequence[str], height: float, legend: int = 0) -> tuple[Any, list[Any]]:
    """A figure with panels in rows of two, and room for lines of a legend below."""
    figure_class = importlib.import_module("matplotlib.figure").Figure
    canvas = importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg
    wide = min(2, len(titles))
    tall = math.ceil(len(titles) / 2)
    figure = figure_class(
        figsize=(4.6 * wide if wide > 1 else 6.4, height * tall + 0.25 * legend),
        layout="constrained",
        facecolor="white",
    )
    canvas(figure)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.1)
    axes = [figure.add_subplot(tall, wide, index + 1) for index in range(len(titles))]
    for panel, title in zip(axes, titles, strict=True):
        panel.set_title(title)
    return figure, axes


def look(method: str, measured: Sequence[str]) -> tuple[str, str]:
    """Colour and marker of a method, the same in every picture of a report."""
    if method in _LOOKS:
        return _LOOKS[method]
    others = [name for name in measured if name not in _LOOKS]
    index = others.index(method) if method in others else 0
    return _OTHER_LOOKS[index % len(_OTHER_LOOKS)]


def short(label: str, most: int = 24) -> str:
    """A label that fits beside a point or into a legend."""
    return label if len(label) <= most else label[: most - 1] + "…"


def to_svg(figure: Any, name: str) -> str:
    """The figure as SVG, its ids made its own so that several fit into one page."""
    out = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Type", "Format"))
    figure.savefig(out, format="svg", metadata=nothing)
    text = re.sub(r"\s*<metadata>.*?</metadata>", "", out.getvalue(), flags=re.DOTALL)
    text = re.sub(r"<!DOCTYPE.*?>\s*", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{name}-', text)
    text = re.sub(r'href="#', f'href="#{name}-', text)
    text = re.sub(r"url\(#", f"url(#{name}-", text)
    return "\n".join(line.rstrip() for line in text.splitlines())


def draw_points(panel: Any, points: Sequence[Point], measured: Sequence[str]) -> None:
    """Filled markers for ours, above hollow ones for the paper's."""
    for point in sorted(points, key=lambda point: point.ours):
        colour, marker = look(point.method, measured)
        panel.plot(
            [point.x],
            [point.y],
            marker,
            markersize=8 if point.ours else 7,
            markerfacecolor=colour if point.ours else "none",
            markeredgecolor="white" if point.ours else colour,
            markeredgewidth=0.6 if point.ours else 1.3,
            clip_on=False,
        )


def plain_ticks(panel: Any, values: Sequence[float]) -> None:
    """Ticks at 1, 2 and 5 times powers of ten, or at powers alone where there are many."""
    ticker = importlib.import_module("matplotlib.ticker")
    low, high = min(values) / 1.35, max(values) * 1.35
    panel.set_xlim(low, high)
    steps = (1.0, 2.0, 5.0) if high / low < 200 else (1.0,)
    panel.xaxis.set_major_locator(ticker.LogLocator(base=10, subs=steps, numticks=20))
    panel.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    panel.xaxis.set_minor_locator(ticker.NullLocator())


def label_points(figure: Any, panel: Any, points: Sequence[Point], measured: Sequence[str]) -> None:
    """Names beside our points, each where it covers nothing, joined to its point if far.

    The layout has to be final. Where there is no room the legend has to do.
    """
    renderer = figure.canvas.get_renderer()
    unit = figure.dpi / 72
    room = _Room(panel.get_window_extent(renderer))
    spots = {point: panel.transData.transform((point.x, point.y)) for point in points}
    for x, y in spots.values():
        room.markers.append((x - 5 * unit, y - 5 * unit, x + 5 * unit, y + 5 * unit))
    for point in sorted((point for point in points if point.ours), key=lambda point: -point.y):
        name = short(paper.label(point.method).removeprefix("DR-CFGNN "))
        colour, _ = look(point.method, measured)
        text = panel.annotate(
            name, (point.x, point.y), va="center", fontsize=9, color=colour, annotation_clip=False
        )
        size = text.get_window_extent(renderer)
        text.remove()
        x, y = spots[point]
        for dx, dy in _offsets():
            start = x + dx * unit - (0.0 if dx > 0 else size.width)
            middle = y + dy * unit
            box = (start, middle - size.height / 2, start + size.width, middle + size.height / 2)
            far = math.hypot(dx, dy) > 12
            if room.take(box, [(x, y), (x + dx * unit, middle)] if far else []):
                side = "left" if dx > 0 else "right"
                panel.annotate(
                    name,
                    (point.x, point.y),
                    xytext=(dx, dy),
                    textcoords="offset points",
                    ha=side,
                    va="center",
                    fontsize=9,
                    color=colour,
                    arrowprops=_leader(colour, 0.0 if dx > 0 else 1.0) if far else None,
                )
                break


class _Room:
    """What is taken in a panel, in pixels: markers, labels, and lines from labels to points."""

    def __init__(self, inside: Any) -> None:
        self.markers: list[_Box] = []
        self._labels: list[_Box] = []
        self._dots: list[tuple[float, float]] = []
        self._inside = inside

    def take(self, box: _Box, line: Sequence[tuple[float, float]]) -> bool:
        """Take room for a label and its line, if both are free of other labels."""
        within = self._inside.x0 <= box[0] and box[2] <= self._inside.x1
        within = within and self._inside.y0 <= box[1] and box[3] <= self._inside.y1
        dots = [
            tuple(a + (b - a) * step / 20 for a, b in zip(*line, strict=True))
            for step in range(21 if line else 0)
        ]
        covered = any(_overlap(box, other) for other in (*self.markers, *self._labels))
        crossed = any(_overlap((x, y, x, y), box) for x, y in self._dots)
        crossing = any(_overlap((x, y, x, y), other) for x, y in dots for other in self._labels)
        if not within or covered or crossed or crossing:
            return False
        self._labels.append(box)
        self._dots += [(x, y) for x, y in dots]
        return True


def _overlap(one: _Box, other: _Box) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


def _leader(colour: str, end: float) -> dict[str, Any]:
    """A thin line to the point, from the end of the label that is nearer."""
    return {
        "arrowstyle": "-",
        "color": colour,
        "linewidth": 0.7,
        "shrinkA": 0,
        "shrinkB": 3,
        "relpos": (end, 0.5),
    }


def _offsets() -> Iterator[tuple[float, float]]:
    """Places around a point in points, near ones first; to the right if the sign of x is +."""
    for distance in range(9, 96, 6):
        for angle in (0, 180, 30, -30, 150, -150, 60, -60, 120, -120):
            turn = math.radians(angle)
            yield distance * math.cos(turn), distance * math.sin(turn)


def legend_below(figure: Any, methods: Sequence[str], measured: Sequence[str]) -> None:
    """One legend for all panels: methods, and what filled and hollow mean."""
    lines = importlib.import_module("matplotlib.lines")
    handles = []
    for method in methods:
        colour, marker = look(method, measured)
        name = short(paper.label(method))
        handles.append(
            lines.Line2D(
                [], [], color=colour, marker=marker, linestyle="", markersize=8, label=name
            )
        )
    for name, fill in (("filled: ours", _GREY), ("hollow: the paper", "none")):
        handles.append(
            lines.Line2D(
                [], [], color=_GREY, marker="o", markerfacecolor=fill, linestyle="", label=name
            )
        )
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False)
