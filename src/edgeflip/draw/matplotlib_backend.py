"""A scene as a matplotlib figure: for PNG and PDF.

Matplotlib belongs to the extra `draw` and is imported only here, when something is drawn.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from threading import RLock
from typing import Any

from edgeflip.draw.glyphs import Typesetter
from edgeflip.draw.look import LIGHT, STYLES, TEXTS, Style, TextStyle, text_width
from edgeflip.draw.scene import Disc, Item, Line, Scene, Shape, Words, path_of
from edgeflip.errors import ConfigError

# A pixel of a scene in inches and in points.
_INCH, _POINT = 1 / 96, 0.75
# Planned widths are about right; words that need more room than this would meet others.
_TOO_WIDE = 1.04
_ONE_AT_A_TIME = RLock()


def require_matplotlib() -> None:
    """Raise the error that names the extra, unless matplotlib is installed.

    Raises:
        ConfigError: If it is missing.
    """
    try:
        importlib.import_module("matplotlib.figure")
    except ImportError:
        raise ConfigError(
            "expected matplotlib for a PNG or PDF, got none installed; run pip install "
            "'edgeflip[draw]', or save an .svg or .html, which need none."
        ) from None


def figure_of(scene: Scene, colours: Mapping[str, str] = LIGHT) -> Any:
    """The scene as a figure of its size; the user's own settings of matplotlib play no part."""
    require_matplotlib()
    with _own_settings():
        return _Canvas(scene, colours).figure


def save_figure(figure: Any, path: str, ending: str) -> None:
    """Write a figure; the same bytes for the same scene, whatever the user's settings."""
    nothing = {"Software": None} if ending == "png" else {"CreationDate": None, "Producer": None}
    with _own_settings({"pdf.fonttype": 42, "path.simplify": False}):
        figure.savefig(
            path, format=ending, dpi=192, metadata=nothing, facecolor=figure.get_facecolor()
        )


@contextmanager
def _own_settings(settings: Mapping[str, Any] | None = None) -> Iterator[None]:
    """Matplotlib's settings as it comes, and some of ours; the user's are as before afterwards.

    Settings are the whole process's, so pictures are drawn one after the other.
    """
    matplotlib = importlib.import_module("matplotlib")
    with _ONE_AT_A_TIME, matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(settings or {})
        yield


class _Canvas:
    """One figure being drawn."""

    def __init__(self, scene: Scene, colours: Mapping[str, str]) -> None:
        self._colours = colours
        self._patches = importlib.import_module("matplotlib.patches")
        self._path = importlib.import_module("matplotlib.path").Path
        self._type = Typesetter(_POINT)
        self._measure = importlib.import_module("matplotlib.textpath").text_to_path
        self._effects = importlib.import_module("matplotlib.patheffects")
        figure_class = importlib.import_module("matplotlib.figure").Figure
        agg = importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg
        size = (scene.width * _INCH, scene.height * _INCH)
        self.figure = figure_class(figsize=size, facecolor=colours["paper"])
        agg(self.figure)
        self._axes = self.figure.add_axes((0.0, 0.0, 1.0, 1.0))
        self._axes.set_xlim(0, scene.width)
        self._axes.set_ylim(scene.height, 0)
        self._axes.axis("off")
        for order, item in enumerate(scene.items):
            self._draw(item, order + 1)

    def _draw(self, item: Item, order: int) -> None:
        if isinstance(item, Words):
            self._write(item, order)
            return
        style = STYLES[item.style]
        looks = self._looks(style)
        if isinstance(item, Disc):
            patch = self._patches.Circle(item.at, item.radius, zorder=order, **looks)
        elif isinstance(item, Shape):
            patch = self._patches.Polygon(item.points, closed=True, zorder=order, **looks)
        else:
            assert isinstance(item, Line)
            patch = self._patches.PathPatch(self._as_path(item), zorder=order, **looks)
        self._axes.add_patch(patch)

    def _looks(self, style: Style) -> dict[str, Any]:
        line = "solid"
        dash: Any = line
        if style.dash is not None:
            dash = (0, tuple(part / style.width for part in style.dash))
        return {
            "edgecolor": self._colours[style.stroke] if style.stroke else "none",
            "facecolor": self._colours[style.fill] if style.fill else "none",
            "linewidth": style.width * _POINT if style.stroke else 0,
            "linestyle": dash,
            "capstyle": "round" if style.round else "butt",
            "clip_on": False,
        }

    def _as_path(self, line: Line) -> Any:
        codes = {"move": self._path.MOVETO, "line": self._path.LINETO, "curve": self._path.CURVE3}
        points, kinds = [], []
        for step, ends in path_of(line.points, line.rounding):
            points += list(ends)
            kinds += [codes[step]] * len(ends)
        return self._path(points, kinds)

    def _write(self, item: Words, order: int) -> None:
        styled = [(run.text, TEXTS[run.style]) for run in item.runs]
        pieces = [
            (text, style)
            for text, style in ((self._type.writable(*each), each[1]) for each in styled)
            if text
        ]
        pieces, widths = self._fitted(pieces)
        x, y = item.at
        x -= {"start": 0.0, "middle": 0.5, "end": 1.0}[item.anchor] * sum(widths)
        for (text, style), width in zip(pieces, widths, strict=True):
            colour = self._colours[style.fill]
            written = self._axes.text(
                x,
                y,
                text,
                fontproperties=self._type.font(style),
                color=colour,
                ha="left",
                va="baseline",
                zorder=order,
                clip_on=False,
                parse_math=False,
            )
            if item.halo:
                rim = self._effects.withStroke(linewidth=4, foreground=self._colours["paper"])
                written.set_path_effects([rim])
            elif self._type.borrows(text, style):
                # As outlines: not every font of East Asia can be embedded in a PDF.
                written.set_path_effects([self._effects.Normal()])
            if style.underline is not None:
                below = y + 0.22 * style.size
                self._axes.plot(
                    [x, x + width],
                    [below, below],
                    color=colour,
                    linewidth=1.5,
                    linestyle="solid" if style.underline == "solid" else (0, (3, 1.5)),
                    zorder=order,
                    clip_on=False,
                    solid_capstyle="butt",
                )
            x += width

    def _fitted(
        self, pieces: list[tuple[str, TextStyle]]
    ) -> tuple[list[tuple[str, TextStyle]], list[float]]:
        """Words no wider than the room that was planned for them, and how wide each is.

        Where the fonts that they are planned for are not installed, others are wider by a sixth.
        """
        widths = [self._width(text, style) for text, style in pieces]
        planned = sum(text_width(text, style) for text, style in pieces)
        if sum(widths) <= _TOO_WIDE * planned:
            return pieces, widths
        share = planned / sum(widths)
        smaller = [(text, replace(style, size=style.size * share)) for text, style in pieces]
        return smaller, [share * width for width in widths]

    def _width(self, text: str, style: TextStyle) -> float:
        # The last letter may be a space, which has no ink of its own.
        end = self._measure.get_text_width_height_descent("|", self._type.font(style), False)[0]
        whole = self._measure.get_text_width_height_descent(
            f"{text}|", self._type.font(style), False
        )[0]
        return float(whole - end) / _POINT
