"""Parts of a large graph: a page draws another where a counterfactual's edits are far from the first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from edgeflip.draw.scene import Scene
from edgeflip.draw.subject import Canvas, Drawing, Subject, drawing_of
from edgeflip.draw.svg import plain_text, svg_part

# A page has no more parts than this, so that it is quickly made, and no more bytes of them beyond the first.
_MOST, _BYTES = 5, 200_000
_OUTSIDE = "Edits of this counterfactual lie outside the part that is drawn."


@dataclass(frozen=True)
class View:
    """A part of a graph, drawn.

    Attributes:
        drawing: The drawing.
        choices: The counterfactuals it is shown for, by their places.
        outside: Those of them with edits that are not in it.
    """

    drawing: Drawing
    choices: tuple[int, ...]
    outside: tuple[int, ...] = ()

    @property
    def group(self) -> str:
        """Its counterfactuals as pages write them."""
        return " ".join(map(str, self.choices))

    @property
    def is_first(self) -> bool:
        """Whether it is shown before anybody chooses."""
        return 0 in self.choices or not self.choices


def views_of(subject: Subject) -> list[View]:
    """The drawing of the first counterfactual, and one for each of the next that it does not show.

    Counterfactuals come the smallest first, then by score, and so do the few that are drawn.
    """
    first = drawing_of(subject, Canvas())
    everywhere = tuple(range(len(subject.choices)))
    if first.drawn is None or len(first.panels) == 1:
        outside = tuple(each for each in everywhere if not _shows(first, subject, each))
        return [View(first, everywhere, outside)]
    views: list[View] = []
    left, room = list(everywhere), _BYTES
    while left and len(views) < _MOST and room > 0:
        place = left[0]
        others = (*subject.choices[:place], *subject.choices[place + 1 :])
        drawing = first
        if views:
            nearest = replace(subject, choices=(subject.choices[place], *others))
            drawing = drawing_of(nearest, Canvas())
            room -= sum(len(svg_part(scene)) for scene in drawing.panels)
        served = [each for each in left if each == place or _shows(drawing, subject, each)]
        views.append(View(drawing, tuple(served)))
        left = [each for each in left if each not in served]
    if views:
        # What nobody draws is told over the first.
        views[0] = View(first, (*views[0].choices, *left), tuple(left))
    return views or [View(first, everywhere)]


def _shows(drawing: Drawing, subject: Subject, place: int) -> bool:
    keys = {move.key for move in subject.choices[place]}
    return drawing.drawn is None or keys <= drawing.drawn


def outside_words(views: Sequence[View]) -> str:
    """A sentence for the counterfactuals whose edits no part shows."""
    places = " ".join(str(each) for view in views for each in view.outside)
    if not places:
        return ""
    return f'<p class="outside" data-view="{places}" hidden>{plain_text(_OUTSIDE)}</p>'


def map_of(view: View) -> str:
    """The small picture beside a part, and how to read it over each counterfactual."""
    drawing = view.drawing
    picture = svg_part(drawing.aside) if isinstance(drawing.aside, Scene) else ""
    title = plain_text(drawing.aside_title or "The whole")
    shown = f' data-view="{view.group}"' + ("" if view.is_first else " hidden")
    note = f"<p>{plain_text(drawing.aside_note)}</p>"
    if view.outside and drawing.aside_elsewhere:
        note = _note(
            drawing.aside_note, [each for each in view.choices if each not in view.outside]
        )
        note += _note(drawing.aside_elsewhere, view.outside)
    return f'<section class="map"{shown} aria-label="{title}"><h2>{title}</h2>{picture}{note}</section>'


def _note(text: str, places: Sequence[int]) -> str:
    """A paragraph over some counterfactuals."""
    group = " ".join(map(str, places))
    return f'<p data-view="{group}"{"" if 0 in places else " hidden"}>{plain_text(text)}</p>'
