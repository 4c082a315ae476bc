"""The page of an answer: one file in which edits can be taken back and counterfactuals chosen."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from edgeflip.core import EditSet, PairEdits
from edgeflip.draw.arguments import check_answer, check_texts
from edgeflip.draw.page_marks import page_mark
from edgeflip.draw.page_parts import bar_share, chip, graph_size, marked, provenance
from edgeflip.draw.pages import document, json_block, script
from edgeflip.draw.scene import ALWAYS, When
from edgeflip.draw.smiles_lines import smiles_units
from edgeflip.draw.story import (
    OutputRow,
    figure,
    headline,
    output_rows,
    predicted,
    probability,
    proof,
    ranked,
    subject,
    text_of,
    warnings,
)
from edgeflip.draw.subject import Fact, Move, Subject
from edgeflip.draw.svg import plain_text, svg_part, svg_views
from edgeflip.draw.symmetry import alike
from edgeflip.draw.typed_page import typed_page
from edgeflip.draw.views import map_of, outside_words, views_of
from edgeflip.errors import ConfigError
from edgeflip.oracle import ClassGoal
from edgeflip.search import MOST_MOVES, Counterfactual, CounterfactualSet

# Digits of outputs on the page, from which bars are drawn; what is written comes as texts.
_DIGITS = 5
# Counterfactuals that a page has at most, and classes beside the drawing.
_ROWS, _CLASSES = 50, 8
_UNKNOWN = (
    "The edits cannot be switched here, because this answer came from a file and nobody said which "
    "model it is about. Save the page with oracle=."
)
_FORBIDDEN = "The constraints do not allow this part of the edits."
_UNJUDGED = (
    "It is not known here whether the constraints allow every part of the edits, because this answer came "
    "from a file that does not say."
)


def answer_page(
    answer: CounterfactualSet, *, oracle: Any = None, title: str = "", home: str = ""
) -> str:
    """An answer as a page that needs no server and no other file.

    Args:
        answer: What was found.
        oracle: Who was asked; an answer fresh from `explain` knows. Without it, and without a table in
            the answer, edits cannot be switched.
        title: What was explained; by default the size of the graph.
        home: Where the link to all answers leads, if there is one.

    Raises:
        ConfigError: If it is not one answer, the edits are of a kind that no drawer knows, or the oracle
            is another.
    """
    check_answer(answer, "write several with save_answers")
    check_texts(title=title, home=home)
    if answer.space.kind == "molecule":
        return typed_page(answer, title, home)
    return _AnswerPage(_asked(answer, oracle), title, home).html()


def _asked(answer: CounterfactualSet, oracle: Any) -> CounterfactualSet:
    """The answer with its table, as far as somebody can be asked."""
    if oracle is None and (answer.oracle is None or any(e.effects for e in ranked(answer))):
        return answer
    return answer.with_effects(oracle)


@dataclass(frozen=True)
class _Row:
    """Counterfactuals that are alike: the first of them, and the places of the others."""

    first: int
    others: tuple[int, ...]


class _AnswerPage:
    def __init__(self, answer: CounterfactualSet, title: str, home: str) -> None:
        self._answer, self._home = answer, home
        self._entries = ranked(answer)[:_ROWS]
        what = subject(answer, self._entries)
        if what is None:
            raise ConfigError(
                f"expected edits of a kind that can be drawn, got '{answer.space.kind}'; save the answer "
                "as JSON."
            )
        self._subject: Subject = what
        self._views = views_of(what)
        self._drawing = self._views[0].drawing
        self._made = frozenset(move.key for move in what.shown)
        self._rows, self._left_out = output_rows(answer, self._entries, _CLASSES)
        self._title = title or graph_size(answer)

    def html(self) -> str:
        """The page."""
        entry = self._entries[0] if self._entries else None
        sentence = headline(self._answer, entry)
        link = (
            f'<a class="tools" href="{plain_text(self._home)}">All answers</a>'
            if self._home
            else ""
        )
        body = f"""<main class="page" data-api="">
<p class="where"><b>edgeflip</b><span>{plain_text(self._title)}</span>{link}</p>
<h1>{marked(sentence)}</h1>
{self._faults()}{self._backing(entry)}
<div class="work">
{self._figure(entry)}
{self._rail(entry)}
{self._list() if self._entries else ""}
</div>
{self._made_how()}
</main>"""
        scripts = f"{json_block(self._data())}\n{script('answer.js')}" if self._entries else ""
        mark = page_mark(self._home)
        return document(text_of(sentence), body, scripts=scripts, mark=mark)

    def _faults(self) -> str:
        return "".join(
            f'<p class="warn"{_when(fault.when, self._made)}><b>{plain_text(fault.title)}:</b> '
            f"{plain_text(fault.text)}</p>\n"
            for fault in self._drawing.faults
        )

    def _backing(self, entry: Counterfactual | None) -> str:
        told = proof(self._answer, entry)
        rows = [f'<dt>Certificate</dt><dd id="proof">{plain_text(told)}</dd>'] if told else []
        rows += [f"<dt>Note</dt><dd>{plain_text(text)}</dd>" for text in warnings(self._answer)]
        return f'<dl class="backing">{"".join(rows)}</dl>' if rows else '<p id="proof" hidden></p>'

    def _figure(self, entry: Counterfactual | None) -> str:
        drawing, answer = self._drawing, self._answer
        before = " ".join(predicted(answer.goal, answer.output)).strip()
        after = " ".join(predicted(answer.goal, entry.output)).strip() if entry else ""
        caption = f"<figcaption>{plain_text(drawing.caption)}</figcaption>"
        if drawing.tall is not None and drawing.tall_caption != drawing.caption:
            caption = (
                f'<figcaption><span class="for-wide">{plain_text(drawing.caption)}</span>'
                f'<span class="for-tall">{plain_text(drawing.tall_caption)}</span></figcaption>'
            )
        sides = (
            f'<p class="side">{"before " if entry else ""}<b>{plain_text(before)}</b></p>',
            f'<p class="side">after <b id="after">{plain_text(after)}</b></p>' if entry else "",
        )
        if len(drawing.panels) == 1:
            wide = "wide" if drawing.tall is not None else ""
            scenes = svg_part(drawing.panels[0], self._made, wide)
            scenes += svg_part(drawing.tall, self._made, "tall") if drawing.tall is not None else ""
            kind = "both beside" if drawing.beside else "both"
            inside = f'<div class="{kind}">{sides[0]}{scenes}{sides[1]}{self._facts(0)}</div>'
            caption += outside_words(self._views)
            return f'<figure class="drawing one">{inside}{caption}</figure>'
        panels = drawing.panels if entry else drawing.panels[:1]
        parts = [
            f"<div>{side}{self._panel(place)}{self._facts(place)}</div>"
            for place, (side, _) in enumerate(zip(sides, panels, strict=False))
        ]
        kind = "drawing" if entry else "drawing one"
        caption += outside_words(self._views)
        return f'<figure class="{kind}">{"".join(parts)}{caption}</figure>'

    def _panel(self, place: int) -> str:
        """One side, as every counterfactual that can be chosen needs it."""
        if len(self._views) == 1:
            return svg_part(self._drawing.panels[place], self._made)
        scenes = [view.drawing.panels[place] for view in self._views]
        return svg_views(scenes, [view.group for view in self._views], self._made)

    def _facts(self, place: int) -> str:
        if place >= len(self._drawing.facts) or not self._drawing.facts[place]:
            return ""
        rows = [self._fact(fact) for fact in self._drawing.facts[place]]
        return f'<dl class="facts">{"".join(rows)}</dl>'

    def _fact(self, fact: Fact) -> str:
        css = ' class="mono"' if fact.mono else ""
        text = "<wbr>".join(map(plain_text, smiles_units(fact.text) if fact.mono else [fact.text]))
        return (
            f"<div{_when(fact.when, self._made)}><dt>{plain_text(fact.label)}</dt>"
            f"<dd{css}>{text}</dd></div>"
        )

    def _rail(self, entry: Counterfactual | None) -> str:
        parts = []
        if entry is not None:
            why = self._why(entry)
            moves = "".join(self._toggle(move, entry) for move in self._moves(0))
            can = ' <span class="tools">press to take one back</span>' if not why else ""
            verdict = "" if why else _verdict(self._answer, entry)
            unjudged = self._unjudged(entry)
            parts.append(
                f'<section aria-label="Edits"><h2>Edits{can}</h2><ul class="edits" id="edits">{moves}</ul>'
                f'<p class="without" id="why"{"" if why else " hidden"}>{plain_text(why)}</p>'
                f'<p class="without" id="unjudged"{"" if unjudged else " hidden"}>{plain_text(unjudged)}</p>'
                f'<p class="verdict" id="verdict" role="status">{plain_text(verdict)}</p></section>'
            )
        parts.append(self._outputs(entry))
        if self._drawing.aside is not None or self._drawing.aside_note:
            parts += [map_of(view) for view in self._views]
        return f'<div class="rail"><div class="stick">{"".join(parts)}</div></div>'

    def _toggle(self, move: Move, entry: Counterfactual) -> str:
        disabled = "" if entry.effects else " disabled"
        rest = self._without(move, entry)
        return (
            f'<li><button type="button" class="toggle is-{move.kind}" data-bit="{_bit(move, entry)}" '
            f'aria-pressed="true"{disabled}><span class="sign" aria-hidden="true">'
            f'{"+" if move.kind == "added" else "−"}</span><span class="name">'
            f'<span class="sr">{move.kind} {self._subject.noun} </span>{plain_text(move.name)}</span>'
            f"<small>on</small></button>{rest}</li>"
        )

    def _without(self, move: Move, entry: Counterfactual) -> str:
        if entry.effects is None:
            return ""
        part = (2**entry.size - 1) & ~(1 << _bit(move, entry))
        left = entry.effects[part]
        goal = self._answer.goal
        same = isinstance(goal, ClassGoal) and _top(left) == _top(self._answer.output)
        told = f"Without it: {'still ' if same else ''}{goal.describe(left)}"
        told += ", not allowed by the constraints" if part in (entry.forbidden or ()) else ""
        return f'<p class="without">{plain_text(told)}</p>'

    def _outputs(self, entry: Counterfactual | None) -> str:
        answer = self._answer
        classes = isinstance(answer.goal, ClassGoal)
        parts = [self._output(place, row, entry) for place, row in enumerate(self._rows)]
        more = f'<p class="key">and {self._left_out:,} more classes</p>' if self._left_out else ""
        if classes and entry is not None:
            more += '<p class="key"><span><i class="before"></i>before</span>'
            more += '<span><i class="after"></i>after</span></p>'
        name = "The model’s prediction" if classes else "The model’s value"
        return (
            f'<section aria-label="{name}"><h2>{name}</h2><dl class="outputs">{"".join(parts)}</dl>'
            f"{more}</section>"
        )

    def _output(self, place: int, row: OutputRow, entry: Counterfactual | None) -> str:
        answer = self._answer
        classes = isinstance(answer.goal, ClassGoal)
        before = answer.output[row.column]
        after = None if entry is None else entry.output[row.column]
        told = first = figure(answer.goal, answer.output, row.column)
        if entry is not None:
            now = plain_text(figure(answer.goal, entry.output, row.column))
            told = f'{plain_text(told)} → <b id="value-{place}">{now}</b>'
        wins = classes and (answer if entry is None else entry).predicted == row.column
        name = f'<dt id="name-{place}"{" class=wins" if wins else ""}>{plain_text(row.name)}</dt>'
        if not classes:
            return f"{name}<dd>{told}</dd>"
        bars = f'<i class="before" style="--share:{bar_share(first, before)}"></i>'
        if after is not None:
            bars += (
                f'<i class="after" id="bar-{place}" style="--share:{bar_share(now, after)}"></i>'
            )
        return f'{name}<dd>{told}</dd><dd class="bars" aria-hidden="true">{bars}</dd>'

    def _list(self) -> str:
        rows = [self._list_row(row) for row in _alike(self._answer, self._entries)]
        count = len(self._entries)
        title = "1 counterfactual" if count == 1 else f"{count} counterfactuals"
        hint = ""
        if count > 1:
            hint = ' <span class="tools">choose one to see it above, or step with ← and →</span>'
        to = "becomes"
        return (
            f'<section class="lower" aria-label="Counterfactuals"><h2>{title}, the smallest, then by score'
            f'{hint}</h2><table class="ranks"><thead><tr><th scope="col" class="n">rank</th>'
            f'<th scope="col">edits</th><th scope="col" class="n">size</th>'
            f'<th scope="col">{to}</th><th scope="col" class="n">score</th></tr></thead>'
            f"<tbody>{''.join(rows)}</tbody></table></section>"
        )

    def _list_row(self, row: _Row) -> str:
        entry, answer = self._entries[row.first], self._answer
        places = " ".join(map(str, (row.first, *row.others)))
        current = ' aria-current="true"' if row.first == 0 else ""
        mark = ' <span class="mark">smallest</span>' if row.first == 0 else ""
        more = ""
        if row.others:
            picks = "".join(self._pick(place) for place in row.others)
            more = f'<details class="alike"><summary>{len(row.others)} more alike</summary>{picks}</details>'
        name, number = predicted(answer.goal, entry.output)
        bar = ""
        if isinstance(answer.goal, ClassGoal):
            share = f'<i style="--share:{max(entry.output):.4f}"></i>'
            bar = f'<span class="mini" aria-hidden="true">{share}</span>'
        rank, told = _rank(answer, entry), f"{name} {number}".strip()
        return (
            f'<tr data-group="{places}"{current}><td class="n">{rank}</td>'
            f"<td>{self._pick(row.first)}{mark}{more}</td>"
            f'<td class="n">{entry.size}</td><td class="to">{bar}{plain_text(told)}</td>'
            f'<td class="n score">{probability(entry.score)}</td></tr>'
        )

    def _pick(self, place: int) -> str:
        pressed = "true" if place == 0 else "false"
        chips = "".join(chip(move) for move in self._moves(place)) or "no edit"
        return (
            f'<button type="button" class="pick" data-choice="{place}" aria-pressed="{pressed}">'
            f"{chips}</button>"
        )

    def _moves(self, place: int) -> tuple[Move, ...]:
        return self._subject.choices[place]

    def _made_how(self) -> str:
        rows = "".join(
            f"<dt>{plain_text(name)}</dt><dd>{plain_text(value)}</dd>"
            for name, value in provenance(self._answer, self._entries)
        )
        return (
            f'<details class="made"><summary>How this was made</summary><dl>{rows}</dl></details>'
        )

    def _why(self, entry: Counterfactual) -> str:
        """Why the edits cannot be switched, empty where they can."""
        if entry.effects is not None:
            return ""
        if entry.size > MOST_MOVES:
            return (
                f"The edits cannot be switched here: of {entry.size} there are too many combinations to "
                f"ask about; up to {MOST_MOVES} can."
            )
        if self._answer.oracle is None and not any(each.effects for each in self._entries):
            return _UNKNOWN
        return (
            "The edits cannot be switched here: the model was not asked about their combinations."
        )

    def _unjudged(self, entry: Counterfactual) -> str:
        """What is said where nobody knows which parts the constraints allow, empty where it is known."""
        known = entry.effects is None or entry.forbidden is not None
        return "" if known or not getattr(self._answer.space, "conditions", "") else _UNJUDGED

    def _data(self) -> dict[str, Any]:
        answer = self._answer
        goal = answer.goal
        names = (
            [goal.class_name(column) for column in range(goal.num_classes)]
            if isinstance(goal, ClassGoal)
            else []
        )
        return {
            "kind": goal.kind,
            "noun": self._subject.noun,
            "names": names,
            "target": goal.target if isinstance(goal, ClassGoal) else None,
            "columns": [row.column for row in self._rows],
            "before": self._packed(answer.output),
            "not_allowed": _FORBIDDEN,
            "figures": self._figures(answer.output),
            "choices": [self._choice(place, entry) for place, entry in enumerate(self._entries)],
        }

    def _choice(self, place: int, entry: Counterfactual) -> dict[str, Any]:
        table = entry.effects
        return {
            "headline": [list(piece) for piece in headline(self._answer, entry)],
            "proof": proof(self._answer, entry),
            "why": self._why(entry),
            "unjudged": self._unjudged(entry),
            "forbidden": list(entry.forbidden or ()),
            "moves": [
                {"key": move.key, "kind": move.kind, "name": move.name, "bit": _bit(move, entry)}
                for move in self._moves(place)
            ],
            "output": self._packed(entry.output),
            "table": None if table is None else [self._packed(output) for output in table],
            "figures": [self._figures(output) for output in (entry.output, *(table or ()))],
        }

    def _packed(self, output: Sequence[float]) -> list[float]:
        """The largest column and its value, then the columns that are shown."""
        top = _top(output)
        shown = [output[row.column] for row in self._rows]
        return [top, *(float(f"{value:.{_DIGITS}g}") for value in (output[top], *shown))]

    def _figures(self, output: Sequence[float]) -> list[str]:
        """The shown columns as they are written, then the largest if it is not among them."""
        columns = [row.column for row in self._rows]
        top = _top(output)
        return [
            figure(self._answer.goal, output, column)
            for column in (*columns, *([] if top in columns else [top]))
        ]


def _bit(move: Move, entry: Counterfactual) -> int:
    """Which bit of a part's number stands for a move."""
    edits: EditSet = entry.edits
    return edits.edges.index(move.ends)


def _top(output: Sequence[float]) -> int:
    return max(range(len(output)), key=output.__getitem__)


def _verdict(answer: CounterfactualSet, entry: Counterfactual) -> str:
    start = {1: "With the edit", 2: "With both edits"}.get(
        entry.size, f"With all {entry.size} edits"
    )
    return f"{start} the model says {answer.goal.describe(entry.output)}."


def _rank(answer: CounterfactualSet, entry: Counterfactual) -> str:
    places = [place for place, kept in enumerate(answer.counterfactuals, 1) if kept == entry]
    return str(places[0]) if places else "–"


def _alike(answer: CounterfactualSet, entries: Sequence[Counterfactual]) -> list[_Row]:
    """Rows of counterfactuals that only a symmetry of the graph tells apart."""
    if not isinstance(answer.space, PairEdits):
        return [_Row(place, ()) for place in range(len(entries))]
    groups = alike(
        answer.space.input,
        [entry.edits for entry in entries],
        [entry.output for entry in entries],
    )
    return [_Row(places[0], tuple(places[1:])) for places in groups]


def _when(when: When, made: Iterable[str]) -> str:
    if when == ALWAYS:
        return ""
    parts = {"all": when.all, "any": when.any, "none": when.none}
    told = "".join(
        f' data-{name}="{plain_text(" ".join(sorted(keys)))}"'
        for name, keys in parts.items()
        if keys
    )
    return told + ("" if when.holds(made) else " hidden")
