"""What a picture or a page says of an answer: the sentence in pieces, outputs before and after, the proof."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from edgeflip.core import EditSpace
from edgeflip.draw.look import TEXTS, text_width
from edgeflip.draw.scene import Run
from edgeflip.draw.subject import Subject, subject_of
from edgeflip.oracle import ClassGoal, Goal
from edgeflip.search import Counterfactual, CounterfactualSet, fault_in_short, proof_in_words

PieceKind: TypeAlias = Literal["", "added", "removed", "soft"]

Piece: TypeAlias = tuple[str, PieceKind]
"""Words of the headline, and what they stand for."""

# So many classes are shown beside a drawing.
_CLASSES = 6


@dataclass(frozen=True)
class OutputRow:
    """One number that the model gives, before and after.

    Attributes:
        name: What it is, such as a class.
        column: Where it stands in an output.
    """

    name: str
    column: int


def probability(value: float) -> str:
    """A probability as people write it: `.97`, `1.00`.

    Example:
        >>> probability(0.974), probability(1.0)
        ('.97', '1.00')
    """
    return f"{value:.2f}".removeprefix("0")


def figure(goal: Goal, output: Sequence[float], column: int) -> str:
    """A number of an output: a probability in as many digits as tell the classes apart, or a value."""
    if isinstance(goal, ClassGoal):
        return goal.figure(output, column)
    return goal.describe((output[column],))


def is_nothing(figure: str) -> bool:
    """Whether a figure says zero, such as `.00`, so that no bar belongs to it."""
    return not any(digit in figure for digit in "123456789")


def predicted(goal: Goal, output: Sequence[float]) -> tuple[str, str]:
    """What a model says, as a name and a figure: `("house", ".97")`; a value has no name."""
    told = goal.describe(output)
    found = re.fullmatch(r"(.*) \(([^()]*)\)", told, flags=re.DOTALL)
    return (found[1], found[2]) if found else ("", told)


def headline(answer: CounterfactualSet, entry: Counterfactual | None) -> list[Piece]:
    """The sentence that comes first, in pieces: the edits, and what they make of the prediction."""
    goal = answer.goal
    before = _outcome(goal, answer.output)
    if entry is None:
        reason = answer.trace.message or answer.trace.status.replace("_", " ")
        return [
            ("Found no edits that turn ", ""),
            *before,
            (f" into {goal.wanted}: {reason.rstrip('.')}.", ""),
        ]
    pieces = phrases(answer.space, entry)
    first = pieces[0][0]
    pieces[0] = (f"{first[:1].upper()}{first[1:]}", pieces[0][1])
    return [
        *pieces,
        (" turns ", ""),
        *before,
        (" into ", ""),
        *_outcome(goal, entry.output),
        (f": {fault_in_short(entry)}." if entry.fault else ".", ""),
    ]


def phrases(space: EditSpace, entry: Counterfactual) -> list[Piece]:
    """What edits do, in pieces where the space can tell them apart."""
    tell = getattr(space, "phrases", None)
    if tell is None:
        return [(space.in_words(entry.edits), "")]
    return list(tell(entry.edits))


def _outcome(goal: Goal, output: Sequence[float]) -> list[Piece]:
    name, number = predicted(goal, output)
    return [(f"{name} ", ""), (f"({number})", "soft")] if name else [(number, "")]


def text_of(pieces: Iterable[Piece]) -> str:
    """Pieces as one text."""
    return "".join(text for text, _ in pieces)


def output_rows(
    answer: CounterfactualSet, entries: Sequence[Counterfactual], limit: int = _CLASSES
) -> tuple[list[OutputRow], int]:
    """The numbers that are worth showing, in the order of the model, and how many are left out.

    With many classes: the one predicted before, those after, the wanted one, then the likeliest.
    """
    goal = answer.goal
    if not isinstance(goal, ClassGoal):
        return [OutputRow("value", column) for column in range(len(answer.output))], 0
    columns = range(goal.num_classes)
    after = [entry.predicted for entry in entries]
    likely = sorted(columns, key=lambda column: -answer.output[column])
    first = [goal.label, *after, *([] if goal.target is None else [goal.target]), *likely]
    chosen = sorted(list(dict.fromkeys(first))[: max(limit, 2)])
    rows = [OutputRow(goal.class_name(column), column) for column in chosen]
    return rows, goal.num_classes - len(rows)


def proof(answer: CounterfactualSet, entry: Counterfactual | None) -> str:
    """What is known of smaller answers, and how far this one can be believed; empty where nothing is."""
    believed = "" if entry is None or entry.trust is None else str(entry.trust)
    return f"{_of_smaller(answer, entry)} {believed}".strip()


def _of_smaller(answer: CounterfactualSet, entry: Counterfactual | None) -> str:
    told = proof_in_words(answer, entry)
    known = answer.certificate
    if entry is None or entry.cost < 2 or known is None or known.below < entry.cost:
        return told
    # "No single edit does: all 300 were tried." is how it is known.
    return f"Nothing smaller exists: {told[:1].lower()}{told[1:].replace(': ', ', ', 1)}"


def warnings(answer: CounterfactualSet) -> list[str]:
    """What an answer should not be read without."""
    return [str(warning) for warning in answer.trace.notes.get("warnings", [])]


def ranked(answer: CounterfactualSet) -> list[Counterfactual]:
    """The smallest counterfactual, which is the headline, then the others from the best on."""
    if answer.smallest is None:
        return []
    others = [entry for entry in answer.counterfactuals if entry.edits != answer.smallest.edits]
    return [answer.smallest, *others]


def can_be_drawn(answer: CounterfactualSet) -> bool:
    """Whether somebody knows how to draw an answer's edits."""
    return answer.space.kind in ("pairs", "molecule")


def subject(answer: CounterfactualSet, entries: Sequence[Counterfactual]) -> Subject | None:
    """What is to be drawn, the first of the entries shown; None for edits that no drawer knows."""
    if answer.space.kind != "pairs":
        return None
    return subject_of(answer.graph, [entry.edits for entry in entries], answer.factual)


def wrapped(pieces: Sequence[Piece], prefix: str, room: float) -> list[tuple[Run, ...]]:
    """Pieces as runs of words in lines that fit; names of edits are not broken.

    Args:
        pieces: The words.
        prefix: Of the styles of text: `headline` has `headline-added` and so on.
        room: Width of a line.
    """
    words: list[Run] = []
    for text, kind in pieces:
        style = f"{prefix}-{kind}" if kind else prefix
        parts = [text] if kind in ("added", "removed") else re.findall(r"\s*\S+|\s+", text)
        words += [Run(part, style) for part in parts]
    lines: list[list[Run]] = [[]]
    used = 0.0
    for word in words:
        width = text_width(word.text, TEXTS[word.style])
        # What follows a name without a space belongs to it.
        breaks = word.text[:1].isspace() or (lines[-1] and lines[-1][-1].text[-1:].isspace())
        if lines[-1] and breaks and used + width > room:
            lines.append([])
            used = 0.0
            word = Run(word.text.lstrip(), word.style)
            width = text_width(word.text, TEXTS[word.style])
        lines[-1].append(word)
        used += width
    return [tuple(line) for line in lines if line]
