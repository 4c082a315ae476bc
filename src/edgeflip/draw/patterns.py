"""A picture of a summary: its first patterns, and how coverage and cost go with their number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
from torch_geometric.data import Data

from edgeflip.core import EditSet
from edgeflip.draw.axes import Frame, Scale, Tick, even_ticks, heading, share_ticks
from edgeflip.draw.charts import Curve, CurvePanel, curve_items
from edgeflip.draw.graphs import draw_plain
from edgeflip.draw.picture import Picture
from edgeflip.draw.scene import Item, Scene, placed, words
from edgeflip.draw.subject import Canvas, subject_of
from edgeflip.draw.wording import percent

if TYPE_CHECKING:
    from edgeflip.explainers import Summary

_SIDE, _GAP, _MARGIN = 230.0, 20.0, 16.0
_CURVE = 150.0


def draw_summary(summary: Summary, *, count: int, title: str) -> Picture:
    """Patterns as graphs with what was added and removed; curves below.

    Args:
        summary: The summary.
        count: How many patterns to draw, at least 1.
        title: What it is about.
    """
    shown = min(count, len(summary))
    wide = min(4, max(2, shown))
    width = wide * _SIDE + (wide - 1) * _GAP
    reading = "Added edges are solid with a plus, removed ones dashed."
    if not len(summary):
        reading = "No counterfactual graph was found."
    above = heading(title, reading, width)
    items: list[Item] = list(above.items)
    top = above.bottom
    for row in range(shown):
        left = (row % wide) * (_SIDE + _GAP)
        place = top + (row // wide) * (_SIDE + 44)
        covered = int(summary.covers[row].sum())
        items.append(words((left, place + 14), f"Pattern {row + 1}", "title"))
        items.append(words((left + 84, place + 14), f"covers {covered}", "note"))
        items += placed(_pattern(summary, row), (left, place + 24))
    top += math.ceil(shown / wide) * (_SIDE + 44)
    if len(summary):
        items += _curves(summary, width, top)
        top += _CURVE + 76
    told = f"{title}. {percent(summary.coverage(len(summary)))} of the graphs are covered."
    return Picture(
        Scene(
            width + 2 * _MARGIN,
            top + 2 * _MARGIN,
            tuple(placed(items, (_MARGIN, _MARGIN))),
            title,
            told,
        )
    )


def _pattern(summary: Summary, row: int) -> list[Item]:
    """The graph a pattern descends from, with the edits made."""
    added, removed = (
        frozenset((min(edge), max(edge)) for edge in edges) for edges in summary.edits(row)
    )
    after = {(min(edge), max(edge)) for edge in summary.edges(row)}
    before = sorted((after - added) | removed)
    ends = torch.tensor(before, dtype=torch.long).reshape(-1, 2)
    graph = Data(
        edge_index=torch.cat([ends, ends.flip(1)]).t().contiguous(),
        num_nodes=int(summary.patterns.nodes[row]),
    )
    subject = subject_of(graph, [EditSet(added=added, removed=removed)])
    panel = draw_plain(subject, Canvas(_SIDE, _SIDE)).panels[-1]
    return list(panel.under(move.key for move in subject.shown).items)


def _curves(summary: Summary, width: float, top: float) -> list[Item]:
    marks = range(1, len(summary) + 1)
    coverage = tuple((float(mark), summary.coverage(mark)) for mark in marks)
    cost = tuple((float(mark), summary.cost(mark)) for mark in marks)
    across = Scale(0.0, max(2.0, len(summary) * 1.02))
    most = max(1.0, *(value for _, value in cost))
    up = tuple(Tick(tick.at, tick.text) for tick in even_ticks(0, most, most=4))
    panels = [
        CurvePanel(
            "Graphs covered",
            (Curve("", coverage),),
            "patterns",
            across,
            Scale(0.0, 1.0),
            tuple(share_ticks(Scale(0.0, 1.0))),
        ),
        CurvePanel("Median edits", (Curve("", cost),), "patterns", across, Scale(0.0, most), up),
    ]
    items: list[Item] = []
    half = (width - _GAP) / 2
    for column, panel in enumerate(panels):
        left = column * (half + _GAP)
        items.append(words((left + 44, top + 14), panel.title, "title"))
        frame = Frame(left + 44, top + 24, half - 56, _CURVE, panel.across, panel.up, above=8)
        items += curve_items(panel, frame)
    return items
