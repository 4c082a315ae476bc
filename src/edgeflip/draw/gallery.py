"""A gallery: a page with a card for each of many answers, to be filtered and sorted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from edgeflip.draw.arguments import check_answer, checked_all
from edgeflip.draw.chemical_lines import Chemical, smiles_html, title_html
from edgeflip.draw.page_parts import chip
from edgeflip.draw.pages import document, script
from edgeflip.draw.story import headline as headline_of
from edgeflip.draw.story import predicted, proof, subject, text_of
from edgeflip.draw.subject import Canvas, Drawing, Subject, drawing_of
from edgeflip.draw.svg import plain_text, svg_part, visible
from edgeflip.search import Counterfactual, CounterfactualSet, counted_edits
from edgeflip.support import checked_call

_CANVAS = Canvas(400, 270, small=True)
# Edits that a card names.
_NAMED = 6


@dataclass(frozen=True)
class Exhibit:
    """An answer in a gallery.

    Attributes:
        answer: What was found.
        title: What was explained, such as `BA-3Motifs 17`.
        data: The data it comes from; a filter.
        method: The method that found it; a filter where there are several.
        href: Where its own page is, if it has one.
        mark: A word on the card, such as `median`.
    """

    answer: CounterfactualSet
    title: str
    data: str = ""
    method: str = ""
    href: str = ""
    mark: str = ""


@dataclass(frozen=True)
class _Drawn:
    """What a card shows, drawn once."""

    subject: Subject
    drawing: Drawing

    @property
    def keys(self) -> frozenset[str]:
        """The edits of the headline."""
        return frozenset(move.key for move in self.subject.shown)


@dataclass(frozen=True)
class _Card:
    """An exhibit with what it can be filtered and sorted by."""

    exhibit: Exhibit
    groups: Mapping[str, Sequence[str]]
    order: Mapping[str, float | None]
    html: str = field(repr=False, default="")


@checked_call()
def gallery_page(
    exhibits: Sequence[Exhibit], *, title: str = "What would have to change?", about: str = ""
) -> str:
    """A gallery as a page that needs no server and no other file.

    Args:
        exhibits: The answers.
        title: Its heading.
        about: A few words above it, such as how many answers and of which method.

    Raises:
        ConfigError: If something else than exhibits is among them.
    """
    shown = checked_all(exhibits, Exhibit, "exhibits")
    for exhibit in shown:
        check_answer(exhibit.answer, "give each an exhibit of its own")
    cards = [_card(exhibit) for exhibit in shown]
    about = about or f"{len(cards)} answer{'s'[: len(cards) != 1]}"
    body = f"""<main class="page">
<p class="where"><b>edgeflip</b><span>{plain_text(about)}</span></p>
<h1>{plain_text(title)}</h1>
<div class="filters tools">{_filters(cards)}{_sorting(cards)}</div>
<p class="count" id="count" role="status">{len(cards)} of {len(cards)} answer{"s"[: len(cards) != 1]}</p>
<ul class="cards" id="cards">{"".join(card.html for card in cards)}</ul>
</main>"""
    return document(title, body, scripts=script("gallery.js"))


def _card(exhibit: Exhibit) -> _Card:
    answer = exhibit.answer
    entry = answer.smallest
    size = "none found" if entry is None else "3 or more" if entry.size > 2 else str(entry.size)
    what = subject(answer, [] if entry is None else [entry])
    drawn = None if what is None else _Drawn(what, drawing_of(what, _CANVAS))
    backing = [] if entry is None else _backing(answer, entry, drawn)
    named = {
        "data": [exhibit.data] if exhibit.data else [],
        "method": [exhibit.method] if exhibit.method else [],
        "edits": [size],
        "to": [] if entry is None else [predicted(answer.goal, entry.output)[0]],
        "backing": backing,
    }
    # As the buttons have them, which the script compares.
    groups = {group: [visible(value) for value in values] for group, values in named.items()}
    order = {
        "edits": None if entry is None else entry.size,
        "probability": None if entry is None else -max(entry.output),
        "nodes": int(answer.graph.num_nodes or 0),
    }
    return _Card(exhibit, groups, order, _card_html(exhibit, drawn, groups, order))


def _backing(answer: CounterfactualSet, entry: Counterfactual, drawn: _Drawn | None) -> list[str]:
    proven = answer.certificate is not None and answer.certificate.below >= entry.cost
    faulty = bool(entry.fault)
    if drawn is not None:
        faulty |= any(fault.when.holds(drawn.keys) for fault in drawn.drawing.faults)
    return ["nothing smaller"] * (proven or entry.cost == 1) + ["not possible"] * faulty


def _card_html(
    exhibit: Exhibit,
    drawn: _Drawn | None,
    groups: Mapping[str, Sequence[str]],
    order: Mapping[str, float | None],
) -> str:
    answer = exhibit.answer
    entry = answer.smallest
    picture, chips = "", ""
    if drawn is not None:
        what = drawn.subject
        scene = drawn.drawing.panels[-1 if entry is not None else 0]
        picture = svg_part(scene.under(drawn.keys))
        label = plain_text(text_of(headline_of(answer, entry)))
        picture = picture.replace(
            f'aria-label="{plain_text(scene.label)}"', f'aria-label="{label}"', 1
        )
        chips = "".join(chip(move) for move in what.shown[:_NAMED])
        chips += f" and {len(what.shown) - _NAMED} more" if what.shown[_NAMED:] else ""
    heading = _change(answer, entry)
    if exhibit.href:
        heading = f'<a href="{plain_text(exhibit.href)}">{heading}</a>'
    facts = ["no edits found"] if entry is None else [counted_edits(entry.size), *groups["backing"]]
    if entry is not None and "nothing smaller" not in facts:
        facts.append("smaller ones not excluded")
    told = "; ".join(
        f"<b>{plain_text(fact)}</b>" if fact == "not possible" else plain_text(fact)
        for fact in facts
    )
    mark = f' <span class="mark">{plain_text(exhibit.mark)}</span>' if exhibit.mark else ""
    payload = json.dumps({"groups": groups, "order": order})
    chemical = Chemical.of(answer)
    source = [title_html(exhibit.title, answer, chemical), plain_text(exhibit.method)]
    becomes = ""
    if chemical is not None and chemical.after:
        becomes = f"<p>becomes {smiles_html(chemical.after)}, {chemical.similarity}</p>"
    note = f' title="{plain_text(proof(answer, entry))}"' if entry is not None else ""
    return (
        f'<li class="card" data-card="{plain_text(payload)}">{picture}<h2>{heading}{mark}</h2>'
        f"<div>{chips}</div><p>{' · '.join(filter(None, source))}</p>{becomes}<p{note}>{told}</p></li>"
    )


def _change(answer: CounterfactualSet, entry: Counterfactual | None) -> str:
    parts = []
    for output in (answer.output, None if entry is None else entry.output):
        if output is not None:
            name, number = predicted(answer.goal, output)
            soft = f'<span class="soft">{plain_text(number)}</span>'
            parts.append(f'<span class="said">{f"{plain_text(name)} {soft}".strip()}</span>')
    return " → ".join(parts)


_GROUPS = {
    "data": "Data",
    "method": "Method",
    "edits": "Edits",
    "to": "Becomes",
    "backing": "Backing",
}


def _filters(cards: Sequence[_Card]) -> str:
    return "".join(
        _filter(group, title, _counts(card.groups.get(group, ()) for card in cards), len(cards))
        for group, title in _GROUPS.items()
    )


def _counts(values: Iterable[Sequence[str]]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for each in values:
        for value in each:
            counts[value] = counts.get(value, 0) + 1
    return counts


def _filter(group: str, title: str, counts: Mapping[str, int], total: int) -> str:
    """Buttons for the values of a group; none where there is nothing to tell apart."""
    if len(counts) < 2 and all(count == total for count in counts.values()):
        return ""
    order: Callable[[str], Any] = (lambda value: value) if group == "edits" else lambda value: 0
    buttons = "".join(
        f'<button type="button" aria-pressed="false" data-group="{group}" '
        f'data-value="{plain_text(value)}">{plain_text(value)} <small>{counts[value]}</small></button>'
        for value in sorted(counts, key=order)
    )
    return f"<fieldset><legend>{title}</legend>{buttons}</fieldset>"


def _sorting(cards: Sequence[_Card]) -> str:
    if len(cards) < 2:
        return ""
    choices = {
        "place": "as they came",
        "edits": "edits",
        "probability": "probability",
        "nodes": "size",
    }
    options = "".join(f'<option value="{key}">{text}</option>' for key, text in choices.items())
    return f'<label class="sort">Sort by <select id="sort">{options}</select></label>'
