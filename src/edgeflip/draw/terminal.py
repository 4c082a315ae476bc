"""A small drawing of edits in plain characters, for terminals."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from edgeflip.draw.brackets import Span, feet_of, levels_of
from edgeflip.draw.characters import clean_word, columns, cut
from edgeflip.draw.sentences import chosen_words, with_gaps
from edgeflip.draw.story import subject as subject_of_answer
from edgeflip.draw.subject import Move, Subject
from edgeflip.errors import ConfigError
from edgeflip.search import CounterfactualSet

# Of more edits than this only their number is told.
_LISTED = 12


@dataclass(frozen=True)
class _Signs:
    """The characters that lines are made of, by kind of edit where they differ."""

    way: dict[str, str]
    sign: dict[str, str]
    left: str
    right: str
    upright: str
    crossing: str
    left_out: str


_UNICODE = _Signs(
    {"added": "─", "removed": "╌"}, {"added": "+", "removed": "−"}, "╰", "╯", "│", "┼", "…"
)
_ASCII = _Signs(
    {"added": "-", "removed": "."}, {"added": "+", "removed": "-"}, "\\", "/", "|", "|", "..."
)


def answer_in_terminal(answer: CounterfactualSet, width: int = 80, *, ascii: bool = False) -> str:
    """Draw the smallest edits of an answer where that helps: where nodes have names, atoms or words.

    Args:
        answer: What was found.
        width: Columns there are.
        ascii: Whether to keep to ASCII.
    """
    what = subject_of_answer(answer, [] if answer.smallest is None else [answer.smallest])
    if what is None or all(name == str(node) for node, name in enumerate(what.names)):
        return ""
    return terminal_drawing(what, width, ascii=ascii)


def terminal_drawing(subject: Subject, width: int = 80, *, ascii: bool = False) -> str:
    """Draw the edits of the headline in plain characters.

    A sentence is written in full, the links that change beneath it; of other graphs every edit has a
    line.

    Args:
        subject: What is drawn.
        width: Columns there are.
        ascii: Whether to keep to ASCII.

    Returns:
        Lines without colours, none wider than that; nothing for a graph without edits.

    Raises:
        ConfigError: If there are no columns.

    Example:
        >>> import torch
        >>> from torch_geometric.data import Data
        >>> from edgeflip.core import EditSet
        >>> from edgeflip.draw.subject import subject_of
        >>> links = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> graph = Data(edge_index=links, num_nodes=3, tokens=["not", "so", "good"])
        >>> edits = EditSet(added={(0, 2)}, removed={(1, 2)})
        >>> print(terminal_drawing(subject_of(graph, [edits])))
        not so good
         │  ╰╌−╌╯│
         ╰───+───╯
    """
    if width < 1:
        raise ConfigError(
            f"expected a width of 1 or more columns, got {width}; give the width of the terminal."
        )
    signs = _ASCII if ascii else _UNICODE
    if subject.noun == "link":
        lines = _Sentence(subject, width, signs, ascii=ascii).lines()
    else:
        lines = _edit_lines(subject, subject.shown, width, signs, ascii=ascii)
    return "\n".join(cut(line.rstrip(), width, signs.left_out) for line in lines)


def _edit_lines(
    subject: Subject, moves: Sequence[Move], width: int, signs: _Signs, *, ascii: bool
) -> list[str]:
    """A line for each edit, such as `+ 20 ── 22`."""
    lines = []
    for move in moves[:_LISTED]:
        sign, way = signs.sign[move.kind], signs.way[move.kind] * 2
        one, other = _end_names(subject, move, width - 6, signs, ascii=ascii)
        lines.append(f"{sign} {one} {way} {other}")
    return lines + _further(moves, signs)


def _joined_lines(
    subject: Subject, moves: Sequence[Move], width: int, signs: _Signs, *, ascii: bool
) -> list[str]:
    """A line for each link between words that stand apart, such as `good ─+─ film`."""
    lines = []
    for move in moves[:_LISTED]:
        sign, way = signs.sign[move.kind], signs.way[move.kind]
        one, other = _end_names(subject, move, width - 5, signs, ascii=ascii)
        lines.append(f"{one} {way}{sign}{way} {other}")
    return lines + _further(moves, signs)


def _further(moves: Sequence[Move], signs: _Signs) -> list[str]:
    more = len(moves) - _LISTED
    return [f"{signs.left_out} and {more:,} more"] if more > 0 else []


def _end_names(
    subject: Subject, move: Move, room: int, signs: _Signs, *, ascii: bool
) -> tuple[str, str]:
    one, other = (_plain(subject.names[node], ascii=ascii) for node in move.ends)
    # A short name leaves its room to a long one.
    half = max(room // 2, 1)
    first = cut(one, max(half, room - columns(other)), signs.left_out)
    return first, cut(other, max(room - columns(first), 1), signs.left_out)


def _plain(text: str, *, ascii: bool) -> str:
    text = clean_word(text)
    if not ascii:
        return text
    text = text.translate({ord("“"): '"', ord("”"): '"'})
    decomposed = unicodedata.normalize("NFKD", text)
    bare = "".join(letter for letter in decomposed if unicodedata.category(letter) != "Mn")
    return bare.encode("ascii", "replace").decode("ascii")


@dataclass(frozen=True)
class _Word:
    """A word in a line: its node, or None where words are left out, and its columns."""

    node: int | None
    text: str
    start: int

    @property
    def end(self) -> int:
        return self.start + columns(self.text)


class _Sentence:
    """A sentence in lines, each followed by the links that change within it."""

    def __init__(self, subject: Subject, width: int, signs: _Signs, *, ascii: bool) -> None:
        self._subject, self._width, self._signs, self._ascii = subject, width, signs, ascii
        self._rows = self._wrapped()

    def _wrapped(self) -> list[list[_Word]]:
        rows: list[list[_Word]] = []
        for node in self._places():
            text = self._signs.left_out
            if node is not None:
                word = _plain(str(self._subject.graph.tokens[node]), ascii=self._ascii)
                text = cut(word, self._width, self._signs.left_out)
            start = rows[-1][-1].end + 1 if rows else 0
            if not rows or start + columns(text) > self._width:
                rows.append([_Word(node, text, 0)])
            else:
                rows[-1].append(_Word(node, text, start))
        return rows

    def _places(self) -> list[int | None]:
        nodes, total = chosen_words(self._subject), len(self._subject.graph.tokens)
        return with_gaps(nodes, total)

    def lines(self) -> list[str]:
        """Everything, line by line."""
        lines: list[str] = []
        moves = list(self._subject.shown)
        for row in self._rows:
            lines.append(" ".join(word.text for word in row))
            drawn, beneath = self._beneath(row, moves)
            lines += beneath
            moves = [move for move in moves if move not in drawn]
        return lines + _joined_lines(
            self._subject, moves, self._width, self._signs, ascii=self._ascii
        )

    def _beneath(self, row: Sequence[_Word], moves: Sequence[Move]) -> tuple[list[Move], list[str]]:
        """The changed links within a line that have room to stand on their words."""
        places = {word.node: place for place, word in enumerate(row) if word.node is not None}
        inside = [move for move in moves if places.keys() >= {*move.ends}]
        while inside:
            spans = [Span(places[move.ends[0]], places[move.ends[1]]) for move in inside]
            feet = feet_of(spans, len(row))
            crowded = [
                place
                for place, word in enumerate(row)
                if feet.counts[place] > word.end - word.start
            ]
            if not crowded:
                break
            # The longest link of a word that is too short for all of its links is told in words.
            at_first = [
                each for each, span in enumerate(spans) if crowded[0] in (span.start, span.end)
            ]
            del inside[max(at_first, key=lambda each: spans[each].end - spans[each].start)]
        if not inside:
            return [], []

        def column(place: int, number: int) -> int:
            word = row[place]
            return word.start + (word.end - word.start - feet.counts[place]) // 2 + number

        ends = [
            (column(span.start, first), column(span.end, last))
            for span, first, last in zip(spans, feet.starts, feet.ends, strict=True)
        ]
        return inside, self._brackets(inside, levels_of(spans), ends)

    def _brackets(
        self, moves: Sequence[Move], levels: Sequence[int], ends: Sequence[tuple[int, int]]
    ) -> list[str]:
        signs = self._signs
        grid = [[" "] * self._width for _ in range(max(levels))]
        for move, level, (one, other) in zip(moves, levels, ends, strict=True):
            line = grid[level - 1]
            line[one : other + 1] = [
                signs.left,
                *signs.way[move.kind] * (other - one - 1),
                signs.right,
            ]
        for level, feet in zip(levels, ends, strict=True):
            for line in grid[: level - 1]:
                for foot in feet:
                    line[foot] = signs.upright if line[foot] == " " else signs.crossing
        # Signs come last and keep off crossings, so that no edit is without its sign.
        for move, level, (one, other) in zip(moves, levels, ends, strict=True):
            line, middle = grid[level - 1], (one + other) // 2
            inner = sorted(range(one + 1, other), key=lambda place: abs(place - middle))
            free = [place for place in inner if line[place] == signs.way[move.kind]]
            line[(free or inner)[0]] = signs.sign[move.kind]
        return ["".join(line).rstrip() for line in grid]
