"""The picture of an answer: the sentence, the input before and after, and what the model says of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from edgeflip.draw.arguments import check_answer, check_texts
from edgeflip.draw.look import STYLES, TEXTS, lines_of, shortened, text_width
from edgeflip.draw.picture import Picture
from edgeflip.draw.scene import Anchor, Item, Line, Run, Scene, Words, box, placed, words
from edgeflip.draw.smiles_lines import smiles_lines
from edgeflip.draw.story import (
    figure,
    headline,
    is_nothing,
    output_rows,
    predicted,
    proof,
    subject,
    text_of,
    warnings,
    wrapped,
)
from edgeflip.draw.subject import Canvas, Drawing, Fact, Fault, drawing_of
from edgeflip.draw.typed_molecules import typed_drawing
from edgeflip.errors import ConfigError, shown
from edgeflip.oracle import ClassGoal
from edgeflip.search import Counterfactual, CounterfactualSet

# The page of the picture: margin, panels and the column beside them.
_MARGIN, _PANEL, _HEIGHT, _GAP, _RAIL = 24.0, 334.0, 300.0, 16.0, 160.0
_WIDTH = 2 * _MARGIN + 2 * _PANEL + 2 * _GAP + _RAIL
_INSIDE = _WIDTH - 2 * _MARGIN
_BAR = 7.0
_START: Anchor = "start"
_END: Anchor = "end"


def draw_answer(
    answer: CounterfactualSet,
    counterfactual: Counterfactual | None = None,
    *,
    title: str = "",
) -> Picture:
    """Draw an answer: before and after side by side, every node at one place, only the change in colour.

    Args:
        answer: What was found; one without counterfactuals is drawn as it was.
        counterfactual: Which one; the smallest by default.
        title: A line above the sentence, such as the name of the graph.

    Returns:
        A picture: notebooks show it, `save` writes it, `figure` hands it to matplotlib.

    Raises:
        ConfigError: If the edits are of a kind that no drawer knows, or the counterfactual is none of the
            answer's.

    Example:
        >>> from edgeflip import explain
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> picture = draw_answer(explain(example_oracle(), example_graphs(1, seed=4)[0]))
        >>> picture.scene.label.startswith("Adding the edge")
        True
    """
    entry = _own(answer, counterfactual)
    check_texts(title=title)
    drawing, keys = _drawn(answer, entry)
    sheet = _Sheet()
    if title:
        sheet.write([title], "note")
    sheet.headline(answer, entry)
    for fault in drawing.faults:
        if fault.when.holds(keys):
            sheet.fault(fault)
    _body(sheet, answer, entry, drawing, keys)
    told = [proof(answer, entry), drawing.caption]
    sheet.notes([*filter(None, told), *warnings(answer)])
    pieces = headline(answer, entry)
    count = int(answer.graph.num_nodes or 0)
    scene = Scene(
        _WIDTH,
        sheet.bottom,
        tuple(sheet.items),
        text_of(pieces),
        f"{_described(count, entry)} {proof(answer, entry)}".strip(),
    )
    return Picture(scene)


def _drawn(
    answer: CounterfactualSet, entry: Counterfactual | None
) -> tuple[Drawing, frozenset[str]]:
    """The input before and after, and the edits that are shown."""
    canvas = Canvas(_PANEL, _HEIGHT)
    if answer.space.kind == "molecule":
        return typed_drawing(answer, entry, canvas), frozenset()
    what = subject(answer, [] if entry is None else [entry])
    if what is None:
        raise ConfigError(
            f"expected edits of a kind that can be drawn, got '{answer.space.kind}'; print the answer, or "
            "save it as JSON."
        )
    return drawing_of(what, canvas), frozenset(move.key for move in what.shown)


def _described(count: int, entry: Counterfactual | None) -> str:
    if entry is None:
        return f"The input with {count} nodes."
    return f"The input with {count} nodes before and after the edits, every node at the same place."


@dataclass
class _Sheet:
    """A picture that grows downwards."""

    def __post_init__(self) -> None:
        self.items: list[Item] = []
        self.bottom = 20.0

    def write(self, lines: Sequence[str], style: str, step: float = 20.0) -> None:
        """Lines of text in one style."""
        for line in lines:
            self.bottom += step
            self.items.append(words((_MARGIN, self.bottom), line, style))

    def headline(self, answer: CounterfactualSet, entry: Counterfactual | None) -> None:
        """The sentence, whose words carry the strokes of the drawing."""
        for line in wrapped(headline(answer, entry), "headline", _INSIDE):
            self.bottom += 27
            self.items.append(Words((_MARGIN, self.bottom), line))
        self.bottom += 6

    def fault(self, fault: Fault) -> None:
        """A bordered note: why the edited input cannot exist."""
        style = TEXTS["value"]
        lines = lines_of(f"{fault.title}: {fault.text}", style, _INSIDE - 32)
        top, height = self.bottom + 12, 18 * len(lines) + 16
        self.items += [
            box(_MARGIN, top, _INSIDE, height, "bar-before"),
            box(_MARGIN, top, 5, height, "bar-after"),
        ]
        for place, line in enumerate(lines):
            at = (_MARGIN + 18, top + 21 + 18 * place)
            head = f"{fault.title}:"
            if place == 0 and line.startswith(head):
                runs = (Run(head, "strong"), Run(line[len(head) :], "value"))
                self.items.append(Words(at, runs))
            else:
                self.items.append(words(at, line, "value"))
        self.bottom = top + height

    def notes(self, sentences: Sequence[str]) -> None:
        """What is said at the end."""
        for sentence in sentences:
            self.write(lines_of(sentence, TEXTS["note"], _INSIDE), "note")
        self.bottom += 18


def _own(answer: CounterfactualSet, counterfactual: Counterfactual | None) -> Counterfactual | None:
    """The counterfactual to draw: the one that is asked for, if it is the answer's, or the smallest."""
    check_answer(answer, "draw several with draw_grid")
    if counterfactual is None:
        return answer.smallest
    own = [answer.smallest, *answer.counterfactuals]
    if not any(counterfactual is entry or counterfactual == entry for entry in own):
        raise ConfigError(
            f"expected a counterfactual of this answer, got {shown(counterfactual)}; take one of "
            "answer.counterfactuals."
        )
    return counterfactual


def _body(
    sheet: _Sheet,
    answer: CounterfactualSet,
    entry: Counterfactual | None,
    drawing: Drawing,
    keys: frozenset[str],
) -> None:
    top = sheet.bottom + 14
    scenes = [scene.under(keys) for scene in drawing.panels]
    outputs = [answer.output, entry.output if entry is not None else answer.output]
    # Without an after there is no before either.
    names = ("before ", "after ") if entry is not None else ("", "")
    captions = [_caption(answer, name, output) for name, output in zip(names, outputs, strict=True)]
    if len(scenes) == 1:
        (scene,) = scenes
        scale = min(1.0, (2 * _PANEL + _GAP) / scene.width)
        # Before and after stand at the two sides of a column, whose words are in the middle.
        middle = _MARGIN + scene.width * scale / 2
        apart = entry is not None and drawing.beside
        left, anchor = (middle - _GAP, _END) if apart else (_MARGIN, _START)
        sheet.items.append(Words((left, top + 28), captions[0], anchor))
        sheet.items += placed(scene.items, (_MARGIN, top + 40), scale)
        end = top + 40 + scene.height * scale
        if apart:
            sheet.items.append(Words((middle + _GAP, top + 28), captions[1]))
        elif entry is not None:
            sheet.items.append(Words((_MARGIN, end + 20), captions[1]))
            end += 28
        lefts = [_MARGIN]
    else:
        shown = scenes if entry is not None else scenes[:1]
        lefts = [_MARGIN + place * (_PANEL + _GAP) for place in range(len(shown))]
        for left, scene, caption in zip(lefts, shown, captions, strict=False):
            sheet.items.append(Words((left, top + 28), caption))
            sheet.items += placed(scene.items, (left, top + 40))
        end = top + 40 + _HEIGHT
    beneath = end + 6
    for place, facts in enumerate(drawing.facts):
        if place < len(lefts) and (place == 0 or entry is not None):
            wide = _PANEL - 12 if len(lefts) > 1 else 2 * _PANEL
            lowest = _facts(sheet, facts, keys, (lefts[place], beneath), wide)
            end = max(end, lowest)
    rail = _WIDTH - _MARGIN - _RAIL
    low = _outputs(sheet, answer, entry, (rail, top + 28))
    if drawing.aside is not None or drawing.aside_note:
        low = _aside(sheet, drawing, (rail, low + 26))
    end = max(end, low) + 12
    rules = [((_MARGIN, top), (_WIDTH - _MARGIN, top))]
    rules += [((left - _GAP / 2, top), (left - _GAP / 2, end)) for left in [*lefts[1:], rail]]
    sheet.items += [Line(ends, "rule") for ends in rules]
    sheet.bottom = end + 4


def _caption(answer: CounterfactualSet, side: str, output: Sequence[float]) -> tuple[Run, ...]:
    name, number = predicted(answer.goal, output)
    told = f"{name} {number}".strip()
    room = _PANEL - text_width(side, TEXTS["note"]) - 8
    return Run(side, "note"), Run(shortened(told, TEXTS["title"], room), "title")


def _facts(
    sheet: _Sheet, facts: Sequence[Fact], keys: frozenset[str], at: tuple[float, float], wide: float
) -> float:
    """What is written beneath a panel; where it ends."""
    x, y = at
    for fact in facts:
        if not fact.when.holds(keys):
            continue
        style = "mono" if fact.mono else "value"
        indent = text_width(f"{fact.label}  ", TEXTS["note"]) + 4
        sheet.items.append(words((x, y + 16), fact.label, "note"))
        breaks = smiles_lines if fact.mono else lines_of
        for line in breaks(fact.text, TEXTS[style], wide - indent):
            y += 16
            sheet.items.append(words((x + indent, y), line, style))
        y += 4
    return y + 4


def _outputs(
    sheet: _Sheet,
    answer: CounterfactualSet,
    entry: Counterfactual | None,
    at: tuple[float, float],
) -> float:
    """What the model says before and after, with bars for probabilities; where it ends."""
    x, y = at
    rows, left_out = output_rows(answer, [] if entry is None else [entry])
    bars = isinstance(answer.goal, ClassGoal)
    sheet.items.append(
        words((x, y), "The model’s prediction" if bars else "The model’s value", "strong")
    )
    y += 8
    now = None if entry is None else entry.predicted
    for row in rows:
        before = answer.output[row.column]
        after = None if entry is None else entry.output[row.column]
        y += 28
        outputs = [answer.output] if entry is None else [answer.output, entry.output]
        figures = [figure(answer.goal, output, row.column) for output in outputs]
        told = " → ".join(figures)
        style = "strong" if bars and row.column == now else "value"
        room = _RAIL - text_width(told, TEXTS["note"]) - 8
        sheet.items += [
            words((x, y), shortened(row.name, TEXTS[style], room), style),
            words((x + _RAIL, y), told, "note", "end"),
        ]
        if bars:
            sheet.items += _bar(figures[0], before, (x, y + 8), "bar-before")
            y += 8 + _BAR
            if after is not None:
                sheet.items += _bar(figures[1], after, (x, y + 2), "bar-after")
                y += 2 + _BAR
    if left_out:
        y += 22
        sheet.items.append(words((x, y), f"and {left_out:,} more classes", "small"))
    if bars and entry is not None:
        y += 26
        sheet.items += [
            box(x, y - 7, 15, _BAR - 1, "bar-before"),
            words((x + 21, y), "before", "small"),
            box(x + 72, y - 7, 16, _BAR, "bar-after"),
            words((x + 94, y), "after", "small"),
        ]
    return y + 8


def _bar(told: str, share: float, at: tuple[float, float], style: str) -> list[Item]:
    """A probability as a bar of its column; what is written as .00 has none."""
    if is_nothing(told):
        return []
    (x, y), wide = at, min(share, 1.0) * _RAIL
    if style == "bar-after":
        return [box(x, y, max(2.0, wide), _BAR, style)]
    if wide <= 4:
        # Nothing to be hollow: a stroke.
        return [box(x, y, max(1.5, wide), _BAR - 1, "map-dot")]
    # The stroke lies inside, so that a whole bar ends with its column.
    rim = STYLES[style].width / 2
    return [box(x + rim, y, wide - 2 * rim, _BAR - 1, style)]


def _aside(sheet: _Sheet, drawing: Drawing, at: tuple[float, float]) -> float:
    """The small picture beside the drawing; where it ends."""
    x, y = at
    if drawing.aside_title:
        sheet.items.append(words((x, y), drawing.aside_title, "strong"))
    if drawing.aside is not None:
        scale = _RAIL / drawing.aside.width
        sheet.items += placed(drawing.aside.items, (x, y + 8), scale)
        y += 8 + drawing.aside.height * scale
    for line in lines_of(drawing.aside_note, TEXTS["small"], _RAIL):
        y += 17
        sheet.items.append(words((x, y), line, "small"))
    return y + 8
