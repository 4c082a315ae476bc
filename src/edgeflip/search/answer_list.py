"""Answers for several inputs: a list that can be looked at."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeflip.search.result import CounterfactualSet
from edgeflip.search.tables import frame_of

if TYPE_CHECKING:
    from edgeflip.draw import Picture


class AnswerList(list[CounterfactualSet]):
    """Answers in the order of their inputs: a list, with a picture and a page of its own."""

    def __repr__(self) -> str:
        """How many there are, and for how many something was found."""
        found = sum(answer.found for answer in self)
        return f"<AnswerList: {len(self)} answers, {found} with a counterfactual>"

    def to_rows(self) -> list[dict[str, Any]]:
        """The rows of every answer, after its place in the list; one that found nothing has none."""
        return [
            {"graph": place, **row} for place, answer in enumerate(self) for row in answer.to_rows()
        ]

    def to_frame(self) -> Any:
        """The rows of `to_rows` as a pandas table.

        Raises:
            ConfigError: Where pandas is not installed.
        """
        return frame_of(self.to_rows())

    def draw(self, **options: Any) -> Picture:
        """A picture of all answers, a small one each; see `edgeflip.draw.draw_grid`."""
        from edgeflip.draw import draw_grid

        return draw_grid(self, **options)

    def save(self, path: str | os.PathLike[str], **options: Any) -> Path:
        """Write a gallery with a page for each (.html) or a picture (.svg, .png, .pdf).

        The pages are in a folder beside the gallery; see `edgeflip.draw.save_answers`.
        """
        from edgeflip.draw import save_answers

        return save_answers(self, path, **options)

    def _repr_html_(self) -> str:
        from edgeflip.draw import answers_html

        return answers_html(self)
