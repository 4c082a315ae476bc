"""Pictures of what goes on inside a search, for the pages in `how/`: drawn of a real run, like all others."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip import CounterfactualSet
from edgeflip.core import FactualSubgraph
from edgeflip.draw import (
    Canvas,
    Disc,
    Line,
    Picture,
    Scene,
    drawing_of,
    subject_of,
)
from edgeflip.draw.scene import Item, Point, box, placed, words
from edgeflip.explainers.edgeflip.waiting import States, Waiting


@dataclass
class Beam:
    """What a beam asked about, and what it went on with.

    Attributes:
        asked: Margins of sets of edits, in the order in which they were asked about.
        kept: Sets from which a level went on, and the states of the level.
        levels: The states of every level, by its number of edits.
    """

    asked: dict[tuple[int, ...], float] = field(default_factory=dict)
    kept: set[tuple[int, ...]] = field(default_factory=set)
    levels: dict[int, States] = field(default_factory=dict)


@contextlib.contextmanager
def watched_beam() -> Iterator[Beam]:
    """Look at the beam of the searches that are run meanwhile."""
    beam, add, best = Beam(), Waiting.add, Waiting.best

    def noted_add(self: Waiting, size: int, rows: Tensor, margins: Tensor, *rest: Any) -> None:
        for row, margin in zip(rows.tolist(), margins.amax(dim=1).tolist(), strict=True):
            if not math.isnan(margin):
                beam.asked.setdefault(tuple(row), margin)
        add(self, size, rows, margins, *rest)

    def noted_best(self: Waiting, size: int, width: int) -> States:
        states = best(self, size, width)
        beam.levels[size] = states
        beam.kept.update(map(tuple, states.rows.tolist()))
        return states

    Waiting.add, Waiting.best = noted_add, noted_best  # type: ignore[method-assign]
    try:
        yield beam
    finally:
        Waiting.add, Waiting.best = add, best  # type: ignore[method-assign]


def draw_beam(beam: Beam, start: float) -> Picture:
    """Every set the beam asked about, by its edits and its margin; lines lead to those it went on with.

    Args:
        beam: What was watched.
        start: The margin of the graph itself.
    """
    sizes = sorted({len(row) for row in beam.asked})
    lowest = min(start, *beam.asked.values())
    highest = max(0.0, *beam.asked.values())
    column, left, top, tall = 118.0, 58.0, 66.0, 300.0

    def height(margin: float) -> float:
        return top + tall * (highest + 0.06 - margin) / (highest - lowest + 0.12)

    places: dict[tuple[int, ...], Point] = {(): (left + 24.0, height(start))}
    for size in sizes:
        rows = sorted((row for row in beam.asked if len(row) == size), key=_kept_last(beam.kept))
        taken: dict[int, int] = {}
        # Those that are kept stand at the left, where lines begin and end.
        for row in reversed(rows):
            y = height(beam.asked[row])
            shelf = int(y // 5)
            x = left + 24.0 + column * size + 5.2 * taken.get(shelf, 0)
            taken[shelf] = taken.get(shelf, 0) + (2 if row in beam.kept else 1)
            places[row] = (min(x, left + column * (size + 1) + 8.0), y)
    width, bottom = left + column * (len(sizes) + 1) + 24.0, top + tall
    items: list[Item] = [
        words((24, 28), "One dot per edit set that the model was asked about", "title"),
        words((24, 48), "Dark: the search went on from it. Blue: it reaches the goal.", "note"),
        Line(((left, top), (left, bottom)), "axis"),
        Line(((left, height(0.0)), (width - 16.0, height(0.0))), "rule"),
        words((left - 8.0, height(0.0) + 4.0), "goal", "tick", "end"),
        words((left - 8.0, height(start) + 4.0), f"{start:.1f}".replace("-", "−"), "tick", "end"),
    ]
    joined = [(row[:-1], row) for row in places if row and row[:-1] in places]
    items += [
        Line((places[parent], places[row]), "join")
        for parent, row in joined
        if row in beam.kept and (parent in beam.kept or not parent)
    ]
    best = max(beam.asked, key=lambda row: (beam.asked[row] > 0, -len(row), beam.asked[row]))
    steps = [best[:count] for count in range(len(best) + 1) if best[:count] in places]
    if len(steps) == len(best) + 1:
        items.append(Line(tuple(places[step] for step in steps), "ours-line"))
    order = sorted(places, key=_kept_last(beam.kept))
    for row in order:
        reaches = bool(row) and beam.asked[row] > 0
        kept = row in beam.kept or not row
        style = "ours" if reaches else "curve-dot" if kept else "rival"
        items.append(Disc(_rounded(places[row]), 4.0 if kept or row == best else 2.4, style))
    for size in (0, *sizes):
        name = "the graph" if not size else f"{size} edit{'s'[: size > 1]}"
        items.append(words((left + 14.0 + column * size, bottom + 22.0), name, "tick"))
    label = f"{len(beam.asked)} edit sets of {sizes[0]} to {sizes[-1]} edits by how near they come"
    return Picture(Scene(width, bottom + 36.0, tuple(items), label))


def _kept_last(kept: set[tuple[int, ...]]) -> Any:
    return lambda row: (row in kept, len(row))


def _rounded(point: Point) -> Point:
    return round(point[0], 1), round(point[1], 1)


def draw_effects(beam: Beam, answer: CounterfactualSet, start: float) -> Picture:
    """The table of single edits, and what of it sets inherit that grow from the best of them."""
    pairs = answer.space.pairs
    alone = {row[0]: margin - start for row, margin in beam.asked.items() if len(row) == 1}
    state = beam.levels[2]
    parent = state.rows[0, 0]
    moves = torch.tensor(sorted(alone))
    inherited = dict(zip(moves.tolist(), state.effects[0, :, 0].tolist(), strict=True))
    top_effect = max(map(abs, [*alone.values(), *inherited.values()]))
    names = (
        ("Each edit alone, tried once", alone),
        (f"What sets grown from {_named(pairs, int(parent))} inherit", inherited),
    )
    cell, left, top = 22.0, 40.0, 76.0
    side, items = cell * pairs.num_nodes, []
    for place, (title, effects) in enumerate(names):
        by = left + place * (side + 56.0)
        items.append(words((by - 16.0, 28.0), title, "title"))
        if place:
            note = "Outlined: asked anew beside it, so corrected."
        else:
            note = "Blue: nearer to the goal. Grey: further away."
        items.append(words((by - 16.0, 48.0), note, "note"))
        for node in range(pairs.num_nodes):
            middle = cell * (node + 0.5) + 4.0
            items.append(words((by - 6.0, top + middle), str(node), "tick", "end"))
            items.append(words((by + middle - 4.0, top - 6.0), str(node), "tick", "middle"))
        for move, effect in effects.items():
            one, two = (int(end) for end in pairs.ends(torch.tensor([move])).flatten())
            corner = (by + cell * two, top + cell * one)
            if bool(pairs.is_edge(torch.tensor([move]))[0]):
                items.append(box(*corner, cell - 1.0, cell - 1.0, "tint"))
            changed = bool(place) and abs(effect - alone[move]) > 1e-6
            if changed:
                x, y = corner
                far = cell - 1.0
                outline = ((x, y), (x + far, y), (x + far, y + far), (x, y + far), (x, y))
                items.append(Line(outline, "bar-before"))
            radius = 10.0 * math.sqrt(abs(effect) / top_effect)
            if radius > 0.8:
                at = (corner[0] + (cell - 1.0) / 2, corner[1] + (cell - 1.0) / 2)
                items.append(Disc(at, round(radius, 1), "ours" if effect > 0 else "rival"))
    height = top + side + 34.0
    items.append(
        words(
            (left - 16.0, height - 10.0),
            "A cell is a node pair; tinted ones are edges and would go, others would come.",
            "note",
        )
    )
    label = "How much each edit brings the model nearer to the goal, alone and beside another"
    return Picture(Scene(left + 2 * side + 56.0 + 24.0, height, tuple(items), label))


def _named(pairs: Any, move: int) -> str:
    one, two = (int(end) for end in pairs.ends(torch.tensor([move])).flatten())
    gone = bool(pairs.is_edge(torch.tensor([move]))[0])
    return f"{'−' if gone else '+'}{one}–{two}"


def draw_proof(answer: CounterfactualSet, oracle: Any, sizes: Sequence[int]) -> Picture:
    """Every edit set of some sizes as a dot; blue ones reach the goal.

    Args:
        answer: An answer with a certificate.
        oracle: Who is asked about all of them again.
        sizes: The sizes to show.
    """
    items: list[Item] = []
    top, step, rows = 70.0, 11.0, 18
    left = 24.0
    told = []
    for size in sizes:
        level = answer.space.level(size)
        sets = level.rows(torch.arange(level.count))
        outputs = torch.cat([oracle.predict_edits(answer.space, part) for part in sets.split(1024)])
        reached = answer.goal.reached(outputs).tolist()
        count = sum(reached)
        columns = -(-level.count // rows)
        title = f"{size} edit{'s'[: size > 1]}: {level.count:,} sets"
        note = "none reaches the goal" if not count else f"{count} reach the goal"
        told.append(f"{title}, {note}")
        items += [words((left, 30.0), title, "title"), words((left, 50.0), note, "note")]
        for place, hit in enumerate(reached):
            at = (left + 5.0 + step * (place // rows), top + 5.0 + step * (place % rows))
            items.append(Disc(at, 4.5 if hit else 3.0, "ours" if hit else "rival"))
        left += max(step * columns, 150.0) + 44.0
    return Picture(Scene(left - 20.0, top + step * rows + 24.0, tuple(items), "; ".join(told)))


def draw_factual(panels: Sequence[tuple[str, str, Data, FactualSubgraph]]) -> Picture:
    """Graphs side by side, the part that an explainer names filled in.

    Args:
        panels: For each a title, a line beneath it, the graph and the part.
    """
    cell, height, top = 230.0, 200.0, 64.0
    items: list[Item] = []
    for place, (title, note, graph, part) in enumerate(panels):
        left = 24.0 + place * (cell + 30.0)
        scene = drawing_of(subject_of(graph, [], part), Canvas(cell, height, small=True)).panels[0]
        items += [words((left, 28.0), title, "title"), words((left, 48.0), note, "note")]
        items += placed(scene.under(()).items, (left, top))
    width = 24.0 + len(panels) * (cell + 30.0)
    label = "The part that carries the prediction: " + "; ".join(
        f"{title}, {note}" for title, note, *_ in panels
    )
    return Picture(Scene(width, top + height + 20.0, tuple(items), label))


def draw_stations(stations: Sequence[tuple[str, int, str]]) -> Picture:
    """How many candidates come to each station on their way to an answer.

    Args:
        stations: The name of each, how many come, and what becomes of the others.
    """
    left, top, row, widest = 24.0, 64.0, 50.0, 360.0
    most = max(count for _, count, _ in stations)
    items: list[Item] = [
        words((left, 28.0), "From candidates to answers", "title"),
        words((left, 48.0), "How many are left at each station of one search.", "note"),
    ]
    for place, (name, count, note) in enumerate(stations):
        y = top + row * place
        wide = max(2.0, widest * count / most)
        style = "bar-after" if place < len(stations) - 2 else "ours"
        items.append(box(left + 150.0, y + 4.0, wide, 20.0, style))
        items.append(words((left, y + 19.0), name, "body"))
        items.append(words((left + 158.0 + wide, y + 19.0), f"{count:,}", "strong"))
        if note:
            items.append(words((left + 150.0, y + 40.0), note, "small"))
    height = top + row * len(stations) + 8.0
    told = ", ".join(f"{name} {count}" for name, count, _ in stations)
    return Picture(Scene(left + 150.0 + widest + 70.0, height, tuple(items), told))
