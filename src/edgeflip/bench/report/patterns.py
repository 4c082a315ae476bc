"""A picture of a summary: its first patterns, and how coverage and cost go with their number."""

from __future__ import annotations

import importlib
import math
from typing import Any

import networkx as nx

from edgeflip.bench.report.drawing import BLUE, VERMILLION, settings, to_svg
from edgeflip.explainers import Summary

_ADDED, _REMOVED, _KEPT = "#009E73", "#C62828", "#9a9a9a"


def draw_summary(summary: Summary, *, count: int, title: str) -> str:
    """Patterns as graphs, added edges green and solid, removed ones red and dashed; curves below.

    Args:
        summary: The summary.
        count: How many patterns to draw, at least 1.
        title: What it is about.

    Returns:
        An SVG.
    """
    with settings():
        figure_class = importlib.import_module("matplotlib.figure").Figure
        canvas = importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg
        wide = min(4, max(2, count))
        tall = math.ceil(count / wide)
        figure = figure_class(
            figsize=(2.6 * wide, 2.6 * tall + 2.6), layout="constrained", facecolor="white"
        )
        canvas(figure)
        figure.suptitle(title)
        grid = figure.add_gridspec(tall + 1, 2 * wide)
        for row in range(min(count, len(summary))):
            index = row % wide
            panel = figure.add_subplot(grid[row // wide, 2 * index : 2 * index + 2])
            _draw_pattern(panel, summary, row)
        marks = list(range(1, len(summary) + 1))
        coverage, cost = (
            figure.add_subplot(grid[tall, :wide]),
            figure.add_subplot(grid[tall, wide:]),
        )
        coverage.plot(marks, [summary.coverage(mark) for mark in marks], color=BLUE)
        coverage.set_ylim(0, 1)
        coverage.set_xlabel("patterns")
        coverage.set_ylabel("graphs covered")
        cost.plot(marks, [summary.cost(mark) for mark in marks], color=VERMILLION)
        cost.set_ylim(bottom=0)
        cost.set_xlabel("patterns")
        cost.set_ylabel("median edits")
        whole = importlib.import_module("matplotlib.ticker").MaxNLocator
        for panel in (coverage, cost):
            panel.xaxis.set_major_locator(whole(integer=True))
        return to_svg(figure, "summary")


def _draw_pattern(panel: Any, summary: Summary, row: int) -> None:
    added, removed = summary.edits(row)
    graph = nx.empty_graph(int(summary.patterns.nodes[row]))
    graph.add_edges_from([*summary.edges(row), *removed])
    # Parts that hang together only by what was removed keep their place, so nothing jumps.
    spots = nx.kamada_kawai_layout(graph) if graph.number_of_edges() else nx.circular_layout(graph)
    kept = [edge for edge in summary.edges(row) if edge not in set(added)]
    for edges, colour, style, width in (
        (kept, _KEPT, "-", 1.0),
        (added, _ADDED, "-", 2.4),
        (removed, _REMOVED, "--", 2.0),
    ):
        for u, v in edges:
            x, y = zip(spots[u], spots[v], strict=True)
            panel.plot(x, y, color=colour, linestyle=style, linewidth=width, zorder=1)
    x, y = zip(*(spots[node] for node in graph), strict=True)
    panel.scatter(x, y, s=22, color="white", edgecolors="#333333", linewidths=0.8, zorder=2)
    panel.set_title(f"{row + 1}: covers {int(summary.covers[row].sum())}")
    panel.set_axis_off()
