"""The pictures of a report, as SVG that is the same for the same results."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch

from edgeflip.bench.report import published as paper
from edgeflip.bench.report.drawing import (
    BLUE,
    VERMILLION,
    Point,
    draw_points,
    label_points,
    legend_below,
    look,
    panels,
    plain_ticks,
    settings,
    short,
    to_svg,
)
from edgeflip.bench.report.results import Results
from edgeflip.bench.report.summary import MethodSummary, Summaries
from edgeflip.pools import SizeConfig
from edgeflip.search import SizeWeightedFidelity

NAMES = ("van", "size", "cost", "sampling", "score")
"""Every picture there can be."""

_Place = tuple[float | None, float | None]


@dataclass(frozen=True)
class Picture:
    """A picture of the report.

    Attributes:
        name: Name of its file.
        title: What it shows.
        note: How to read it.
        svg: The whole file.
    """

    name: str
    title: str
    note: str
    svg: str


def all_pictures(results: Results, summaries: Summaries) -> list[Picture]:
    """Every picture that has something to show."""
    with settings():
        made = [
            _van_picture(results, summaries),
            _size_picture(results, summaries),
            _cost_picture(results, summaries),
            _sampling_picture(),
            _score_picture(),
        ]
    return [picture for picture in made if picture is not None]


def _van_picture(results: Results, summaries: Summaries) -> Picture | None:
    measured = {
        key: summary for key, summary in summaries.items() if summary["van"].interval is not None
    }
    datasets = [name for name in results.datasets if any(key[0] == name for key in measured)]
    order = paper.columns(results.methods)
    methods = [name for name in order if any(key[1] == name for key in measured)]
    if not measured:
        return None
    figure, axes = panels([results.title(name) for name in datasets], 0.75 + 0.27 * len(methods))
    for dataset, panel in zip(datasets, axes, strict=True):
        for index, method in enumerate(methods):
            summary = measured.get((dataset, method))
            interval = None if summary is None else summary["van"].interval
            if summary is None or interval is None:
                continue
            low, high = interval
            colour, marker = look(method, results.methods)
            panel.plot([low, high], [index, index], color=colour, linewidth=2)
            panel.plot([summary["van"].value], [index], marker, color=colour, markersize=8)
        panel.set_xlim(-0.03, 1.03)
        panel.set_ylim(len(methods) - 0.4, -0.6)
        panel.set_yticks(range(len(methods)), [short(paper.label(name)) for name in methods])
        panel.set_xlabel("VaN with 95 % interval")
    return Picture(
        "van",
        "Validity after noise",
        "Share of the answered graphs that, with noise, still have a counterfactual to the same "
        "class, with Wilson's 95 % interval over all seeds. Wide intervals mean few graphs.",
        to_svg(figure, "van"),
    )


def _size_picture(results: Results, summaries: Summaries) -> Picture | None:
    def place(dataset: str, method: str) -> tuple[_Place, _Place]:
        ours = summaries.get((dataset, method), MethodSummary())
        size, validity = (paper.published(dataset, method, name) for name in ("size", "validity"))
        return (ours["size"].value, ours["validity"].value), (size, validity)

    return _scatter(
        results,
        place,
        ("size", "Validity against size"),
        ("edits of the best counterfactual", "validity"),
        "One point per method: filled and labelled is ours, hollow the paper's. Up and to the left "
        "is better. The axis of sizes is logarithmic.",
    )


def _cost_picture(results: Results, summaries: Summaries) -> Picture | None:
    def place(dataset: str, method: str) -> tuple[_Place, _Place]:
        ours = summaries.get((dataset, method), MethodSummary())
        quality = _product(ours["validity"].value, ours["fidelity"].value)
        return (ours["seconds"].value, quality), _published_cost(dataset, method)

    return _scatter(
        results,
        place,
        ("cost", "Quality against time"),
        ("wall seconds per graph", "validity × fidelity"),
        "Quality is validity × fidelity, because the paper prints both for every method. Filled and "
        "labelled is ours, hollow the paper's, on its own machine; DR-CFGNN's times include the "
        "factual subgraph in both. Up and to the left is better. The axis of seconds is logarithmic.",
    )


def _published_cost(dataset: str, method: str) -> _Place:
    seconds = paper.published(dataset, method, "seconds")
    factual = paper.published(dataset, method, "factual_seconds") or 0.0
    quality = _product(
        *(paper.published(dataset, method, name) for name in ("validity", "fidelity"))
    )
    return (None if seconds is None else seconds + factual), quality


def _product(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one * other


def _scatter(
    results: Results,
    place: Callable[[str, str], tuple[_Place, _Place]],
    name: tuple[str, str],
    axes_names: tuple[str, str],
    note: str,
) -> Picture | None:
    """Small panels, one per dataset, with one legend below."""
    shown = {}
    for dataset in results.datasets:
        both = [(method, place(dataset, method)) for method in paper.columns(results.methods)]
        found = [
            Point(method, x, y, ours)
            for method, pair in both
            for (x, y), ours in zip(pair, (True, False), strict=True)
            if x and y is not None
        ]
        if found:
            shown[dataset] = found
    if not shown:
        return None
    methods = [
        method
        for method in paper.columns(results.methods)
        if any(point.method == method for here in shown.values() for point in here)
    ]
    lowest = min(point.y for here in shown.values() for point in here)
    floor = math.floor(min(lowest, 0.9) * 5 - 0.3) / 5
    figure, axes = panels(
        [results.title(dataset) for dataset in shown], 3.1, legend=math.ceil((len(methods) + 2) / 4)
    )
    for here, panel in zip(shown.values(), axes, strict=True):
        draw_points(panel, here, results.methods)
        panel.set_xscale("log")
        panel.set_xlabel(axes_names[0])
        panel.set_ylabel(axes_names[1])
        panel.set_ylim(floor, 1.06)
        plain_ticks(panel, [point.x for point in here])
    legend_below(figure, methods, results.methods)
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    for here, panel in zip(shown.values(), axes, strict=True):
        label_points(figure, panel, here, results.methods)
    return Picture(name[0], name[1], note, to_svg(figure, name[0]))


def _sampling_picture() -> Picture:
    figure, (panel,) = panels([""], 3.2)
    sizes = torch.linspace(0, 6, 241)
    curves = [(SizeConfig(1.7, 1.0, 6), BLUE, "o"), (SizeConfig(0.2, 3.0, 6), VERMILLION, "s")]
    for config, colour, marker in curves:
        curve = torch.exp(-config.alpha * (sizes - config.beta) ** 4)
        panel.plot(sizes.tolist(), curve.tolist(), color=colour, linewidth=2)
        name = f"α = {config.alpha:g}, β = {config.beta:g}"
        weights = config.weights().tolist()
        panel.plot(range(7), weights, marker, color=colour, markersize=7, label=name, clip_on=False)
    panel.set_xlabel("number of edges x")
    panel.set_ylabel("p(x), not normalised")
    panel.set_ylim(0, 1.08)
    panel.legend(frameon=False, loc="upper right")
    return Picture(
        "sampling",
        "How many edges are drawn",
        "p(x) = exp(−α(x − β)⁴), not normalised: how likely DR-CFGNN is to draw x edges to remove "
        "or to add. Dots are the sizes there are.",
        to_svg(figure, "sampling"),
    )


def _score_picture() -> Picture:
    score = SizeWeightedFidelity(gamma=0.25, max_size=7)
    figure, (panel,) = panels([""], 3.2)
    sizes = torch.linspace(1, 7, 241)
    panel.plot(sizes.tolist(), score.weight(sizes).tolist(), color=BLUE, linewidth=2)
    whole = torch.arange(1.0, 10.0)
    panel.plot(whole.tolist(), score.weight(whole).tolist(), "o", color=BLUE, clip_on=False)
    panel.set_xlabel("number of edits x")
    panel.set_ylabel("W(x)")
    panel.set_ylim(0, 1.08)
    panel.set_xlim(0.7, 9.2)
    return Picture(
        "score",
        "What size makes of the score",
        "W(x) = cos²(γ(x − 1)) with γ = .25, and 0 for more than X = 7 edits. The score of a "
        "counterfactual is its fidelity × W.",
        to_svg(figure, "score"),
    )
