"""Many small pictures in one: answers, or graphs."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

from torch_geometric.data import Data

from edgeflip.draw.arguments import checked_all
from edgeflip.draw.chemical_lines import Chemical
from edgeflip.draw.look import TEXTS, shortened
from edgeflip.draw.picture import Picture
from edgeflip.draw.scene import Item, Line, Run, Scene, Words, placed, words
from edgeflip.draw.story import Piece, phrases, predicted, subject
from edgeflip.draw.subject import Canvas, drawing_of, subject_of
from edgeflip.draw.typed_molecules import typed_drawing
from edgeflip.errors import ConfigError
from edgeflip.search import Counterfactual, CounterfactualSet
from edgeflip.support import checked_call

_CELL, _HEIGHT, _GAP, _MARGIN = 260.0, 190.0, 24.0, 24.0
# A line beneath each says which edges are edited, so the nodes it names can be seen.
_CANVAS = Canvas(_CELL, _HEIGHT, small=True, edited_named=True)
# A picture has no more than this; a gallery is for more.
_MOST = 60


class _Text(NamedTuple):
    """A line beneath a picture, and all of it where it is cut."""

    text: str
    whole: str = ""


# What is drawn, the change beneath it, and further lines.
_Cell: TypeAlias = tuple[Scene, Sequence[Run], Sequence[_Text]]


@checked_call()
def draw_grid(
    answers: Sequence[CounterfactualSet],
    *,
    titles: Sequence[str] = (),
    columns: int = 3,
) -> Picture:
    """Draw several answers, each after its smallest edits, in a grid.

    Args:
        answers: What was found; up to 60 are drawn.
        titles: A line for each, such as the name of its graph.
        columns: How many stand beside each other.

    Raises:
        ConfigError: If there are none, something else is among them, or their edits are of a kind that
            no drawer knows.
    """
    titles = checked_all(titles, str, "titles")
    cells: list[_Cell] = []
    for place, answer in enumerate(
        islice(checked_all(answers, CounterfactualSet, "answers"), _MOST)
    ):
        entry = answer.smallest
        shown = _shown(answer, entry)
        before = " ".join(predicted(answer.goal, answer.output)).strip()
        change: list[Run] = [Run(before, "title")]
        told: list[Piece] = [("no edits found", "")]
        if entry is not None:
            after = " ".join(predicted(answer.goal, entry.output)).strip()
            change.append(Run(f" → {after}", "title"))
            told = phrases(answer.space, entry)
        text = "".join(words for words, _ in told)
        chemical = Chemical.of(answer)
        title = titles[place] if place < len(titles) else chemical.before if chemical else ""
        lines = [_Text(title), _Text(text)]
        if chemical is not None:
            lines.append(_Text(chemical.line("note", _CELL), chemical.whole_line))
        cells.append((shown, change, lines))
    label = f"{len(cells)} answer{'s'[: len(cells) != 1]}"
    return _grid_of(cells, columns, label)


def _shown(answer: CounterfactualSet, entry: Counterfactual | None) -> Scene:
    """The input after the edits, small."""
    if answer.space.kind == "molecule":
        return typed_drawing(answer, entry, _CANVAS).panels[-1]
    what = subject(answer, [] if entry is None else [entry])
    if what is None:
        raise ConfigError(
            f"expected edits of a kind that can be drawn, got '{answer.space.kind}'; print the answers."
        )
    scene = drawing_of(what, _CANVAS).panels[-1 if entry is not None else 0]
    return scene.under(move.key for move in what.shown)


@checked_call()
def draw_graphs(graphs: Sequence[Data], titles: Sequence[str] = (), *, columns: int = 3) -> Picture:
    """Draw several graphs as they are, in a grid."""
    titles = checked_all(titles, str, "titles")
    cells: list[_Cell] = []
    for place, graph in enumerate(islice(checked_all(graphs, Data, "graphs"), _MOST)):
        scene = drawing_of(subject_of(graph, []), _CANVAS).panels[0]
        title = titles[place] if place < len(titles) else ""
        cells.append((scene.under(()), [Run(title, "title")], []))
    return _grid_of(cells, columns, f"{len(cells)} graphs")


def _grid_of(cells: Sequence[_Cell], columns: int, label: str) -> Picture:
    if not cells or columns < 1:
        raise ConfigError(
            f"expected something to draw in at least one column, got {len(cells)} in {columns}; pass some."
        )
    columns = min(columns, len(cells))
    lines = max(sum(1 for line in texts if line.text) for _, _, texts in cells)
    tall = _HEIGHT + 34 + 18 * lines + _GAP
    items: list[Item] = []
    for place, (scene, change, texts) in enumerate(cells):
        left = _MARGIN + (place % columns) * (_CELL + _GAP)
        top = _MARGIN + (place // columns) * tall
        scale = min(_CELL / scene.width, _HEIGHT / scene.height)
        by = (left + (_CELL - scene.width * scale) / 2, top + (_HEIGHT - scene.height * scale) / 2)
        items.append(Line(((left, top - 8), (left + _CELL, top - 8)), "rule"))
        items += placed(scene.items, by, scale)
        y = top + _HEIGHT + 20
        room = _CELL / max(1, len(change))
        runs = tuple(Run(shortened(run.text, TEXTS[run.style], room), run.style) for run in change)
        items.append(Words((left, y), runs))
        for text, whole in (line for line in texts if line.text):
            y += 18
            cut = shortened(text, TEXTS["note"], _CELL)
            told = whole or text
            items.append(words((left, y), cut, "note", title=told if told != cut else ""))
    rows = -(-len(cells) // columns)
    width = 2 * _MARGIN + columns * _CELL + (columns - 1) * _GAP
    return Picture(Scene(width, 2 * _MARGIN + rows * tall - _GAP, tuple(items), label))
