"""The pictures of a report, as scenes that are the same for the same results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import torch

from edgeflip.bench.report import published as paper
from edgeflip.bench.report.board import Board
from edgeflip.bench.report.headlines import Claim, Standing, headline
from edgeflip.bench.report.published import Paper
from edgeflip.bench.report.versus import OURS
from edgeflip.draw import (
    Axes,
    Curve,
    CurvePanel,
    Dot,
    Interval,
    IntervalPanel,
    Panel,
    Picture,
    Scale,
    Scene,
    Tick,
    compare_chart,
    curve_chart,
    interval_chart,
)
from edgeflip.pools import SizeConfig
from edgeflip.search import SizeWeightedFidelity

NAMES = ("van", "size", "cost", "sampling", "score")
"""Every picture there can be."""

_Place = tuple[float | None, float | None]
_SIZE = Claim(
    "changes the most predictions",
    "changes more predictions",
    "How many predictions each method changes, and with how many edits",
    "with {} edits or fewer on average",
    "with a single edit",
)
_COST = Claim(
    "has the highest validity × fidelity",
    "has a higher validity × fidelity",
    "Validity × fidelity of each method, and the time it takes",
    "in {} seconds a graph or less",
)
_VAN = Claim(
    "keeps the largest share of its answers under noise",
    "keeps a larger share of its answers under noise",
    "How many answers of each method are still found under noise",
)


@dataclass(frozen=True)
class ReportFigure:
    """A picture of the report.

    Attributes:
        name: Name of its file.
        title: What it shows.
        note: How it was measured.
        scene: What is drawn.
    """

    name: str
    title: str
    note: str
    scene: Scene

    @property
    def svg(self) -> str:
        """The whole file."""
        return Picture(self.scene).svg


def all_pictures(board: Board, ours: str = OURS) -> list[ReportFigure]:
    """Every picture that has something to show.

    Args:
        board: The averages.
        ours: The method that is compared with the others.
    """
    made = [
        _van_picture(board, ours),
        _size_picture(board, ours),
        _cost_picture(board, ours),
        _sampling_picture(),
        _score_picture(),
    ]
    return [picture for picture in made if picture is not None]


def _kind(method: str, ours: str) -> Literal["ours", "variant", "rival"]:
    if method == ours:
        return "ours"
    return "variant" if method.startswith((f"{ours} ", f"{ours},")) else "rival"


def _van_picture(board: Board, ours: str) -> ReportFigure | None:
    values = {
        key: summary["van"]
        for key, summary in board.summaries.items()
        if summary["van"].interval is not None and summary["van"].value is not None
    }
    if not values:
        return None
    order = sorted(
        paper.columns(board.methods),
        key=lambda method: ("ours", "variant", "rival").index(_kind(method, ours)),
    )
    methods = [method for method in order if any(key[1] == method for key in values)]
    panels, standings = [], []
    for dataset, title in board.titles.items():
        here = {
            method: values[dataset, method] for method in methods if (dataset, method) in values
        }
        if not here:
            continue
        rows = []
        for method in methods:
            value = here[method].value if method in here else None
            low, high = (here[method].interval or (0.0, 0.0)) if method in here else (0.0, 0.0)
            name = paper.display_name(method)
            rows.append(Interval(name, _kind(method, ours), value, low, high))
        panels.append(IntervalPanel(title, tuple(rows)))
        others = [average.value for method, average in here.items() if method != ours]
        mine = here[ours].value if ours in here else None
        if mine is not None and others:
            known = tuple(value for value in others if value is not None)
            standings.append(Standing(title, mine, known))
    return ReportFigure(
        "van",
        "Validity after noise",
        "VaN with Wilson's 95 % interval over all seeds. Wide intervals mean few graphs.",
        interval_chart(
            panels,
            headline(paper.display_name(ours), standings, _VAN),
            "Share of the answered graphs that, with noise, still have a counterfactual to the same class "
            "(VaN). Lines are 95 % intervals; where they overlap, methods may not differ.",
        ),
    )


def _size_picture(board: Board, ours: str) -> ReportFigure | None:
    def measured(dataset: str, method: str) -> _Place:
        summary = board.get(dataset, method)
        return summary["size"].value, summary["validity"].value

    def printed(dataset: str, method: str) -> _Place:
        size, validity = (board.paper.value(dataset, method, name) for name in ("size", "validity"))
        return size, validity

    chart = _comparison(
        board,
        ours,
        (measured, printed),
        _SIZE,
        Axes("edits of the best counterfactual", "share of predictions changed", "edits", "edit"),
        "Share of graphs whose prediction could be changed, against the edits it took on average.",
        "more edits than {} and fewer answers",
    )
    note = "Validity against the mean size of the best counterfactual; the axis of sizes is logarithmic."
    return None if chart is None else ReportFigure("size", "Validity against size", note, chart)


def _cost_picture(board: Board, ours: str) -> ReportFigure | None:
    def measured(dataset: str, method: str) -> _Place:
        summary = board.get(dataset, method)
        quality = _product(summary["validity"].value, summary["fidelity"].value)
        return summary["seconds"].value, quality

    chart = _comparison(
        board,
        ours,
        (measured, partial(_published_cost, board.paper)),
        _COST,
        Axes("seconds per graph", "validity × fidelity", "s", "s"),
        "Validity × fidelity against wall seconds per graph; published times are of another machine.",
        "slower than {} and worse",
    )
    note = (
        "Validity × fidelity, because the paper prints both for every method. DR-CFGNN's times include the "
        "factual subgraph, measured and published. The axis of seconds is logarithmic."
    )
    return None if chart is None else ReportFigure("cost", "Quality against time", note, chart)


def _published_cost(published: Paper, dataset: str, method: str) -> _Place:
    seconds = published.value(dataset, method, "seconds")
    factual = published.value(dataset, method, "factual_seconds") or 0.0
    quality = _product(
        *(published.value(dataset, method, name) for name in ("validity", "fidelity"))
    )
    return (None if seconds is None else seconds + factual), quality


def _product(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one * other


def _comparison(
    board: Board,
    ours: str,
    places: Sequence[Callable[[str, str], _Place]],
    claim: Claim,
    axes: Axes,
    subtitle: str,
    tinted: str,
) -> Scene | None:
    """A panel per dataset: what was measured, and what was published."""
    panels, standings = [], []
    for dataset, title in board.titles.items():
        dots = [
            Dot(
                method,
                paper.display_name(method),
                x,
                y,
                _kind(method, ours),
                published,
                "DR-CFGNN" if method in paper.VARIANTS else "",
            )
            for published, place in zip((False, True), places, strict=True)
            for method in paper.columns(board.methods)
            for x, y in [place(dataset, method)]
            if x and y is not None
        ]
        if dots:
            panels.append(Panel(title, tuple(dots)))
            standings += _standing(board, dataset, ours, places[0])
    if not panels:
        return None
    name = paper.display_name(ours)
    shown = [dot for panel in panels for dot in panel.dots]
    reading = [subtitle]
    if any(dot.published for dot in shown):
        reading.append("Solid dots were measured here; hollow ones are the values published.")
    if any(dot.kind == "ours" and not dot.published for dot in shown):
        reading.append(f"Tinted: {tinted.format(name)}.")
    footer = _left_out(board, places[0])
    return compare_chart(panels, headline(name, standings, claim), " ".join(reading), axes, footer)


def _standing(
    board: Board, dataset: str, ours: str, place: Callable[[str, str], _Place]
) -> list[Standing]:
    """Ours among all that was measured, also what found nothing and so has no place in the picture."""
    cost, mine = place(dataset, ours)
    others = [place(dataset, method)[1] for method in board.methods if method != ours]
    known = tuple(value for value in others if value is not None)
    return (
        [Standing(board.titles[dataset], mine, known, cost)] if mine is not None and known else []
    )


def _left_out(board: Board, place: Callable[[str, str], _Place]) -> str:
    """Methods that were measured and have no dot, since they found nothing."""
    parts = []
    for dataset, title in board.titles.items():
        gone = [
            paper.display_name(method)
            for method in board.methods
            if board.get(dataset, method)["validity"].value == 0 and not place(dataset, method)[0]
        ]
        parts += [f"{', '.join(gone)} on {title}"] if gone else []
    return f"Without any answer, and so without a dot: {'; '.join(parts)}." if parts else ""


def _sampling_picture() -> ReportFigure:
    sizes = torch.linspace(0, 6, 121)
    curves = []
    for config in (SizeConfig(1.7, 1.0, 6), SizeConfig(0.2, 3.0, 6)):
        line = torch.exp(-config.alpha * (sizes - config.beta) ** 4)
        curves.append(
            Curve(
                f"α = {config.alpha:g}, β = {config.beta:g}",
                tuple(zip(sizes.tolist(), line.tolist(), strict=True)),
                tuple(enumerate(config.weights().tolist())),
            )
        )
    panel = CurvePanel("p(x)", tuple(curves), "number of edges x", Scale(-0.2, 6.2), *_weights())
    return ReportFigure(
        "sampling",
        "How many edges are drawn",
        "p(x) = exp(−α(x − β)⁴), not normalised: how likely DR-CFGNN is to draw x edges to remove "
        "or to add. Dots are the sizes there are.",
        curve_chart(
            [panel],
            "DR-CFGNN draws sizes around β, the more narrowly the larger α is",
            "p(x) = exp(−α(x − β)⁴), not normalised. Dots are the sizes there are.",
        ),
    )


def _score_picture() -> ReportFigure:
    score = SizeWeightedFidelity(gamma=0.25, max_size=7)
    sizes, whole = torch.linspace(1, 7, 121), torch.arange(1.0, 10.0)
    line = tuple(zip(sizes.tolist(), score.weight(sizes).tolist(), strict=True))
    dots = tuple(zip(whole.tolist(), score.weight(whole).tolist(), strict=True))
    curve = Curve("", line, dots)
    panel = CurvePanel("W(x)", (curve,), "number of edits x", Scale(0.7, 9.2), *_weights())
    return ReportFigure(
        "score",
        "What size makes of the score",
        "W(x) = cos²(γ(x − 1)) with γ = .25, and 0 for more than X = 7 edits. The score of a "
        "counterfactual is its fidelity × W.",
        curve_chart(
            [panel],
            "An edit more lowers the score, and more than seven make it 0",
            "W(x) = cos²(γ(x − 1)) with γ = .25, and 0 for more than X = 7 edits.",
        ),
    )


def _weights() -> tuple[Scale, tuple[Tick, ...]]:
    return Scale(-0.02, 1.0), (Tick(0, "0"), Tick(0.5, ".5"), Tick(1, "1"))
