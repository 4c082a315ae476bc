"""Writing answers for people to look at: pages and pictures, by the ending of the file."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from edgeflip.draw.answer import draw_answer
from edgeflip.draw.arguments import check_answer, check_texts, checked_all, ending_of
from edgeflip.draw.gallery import Exhibit, gallery_page
from edgeflip.draw.grid import draw_grid
from edgeflip.draw.one_answer import answer_page
from edgeflip.draw.page_marks import check_own_pages, remove_old_pages
from edgeflip.draw.page_parts import graph_size
from edgeflip.draw.picture import ENDINGS
from edgeflip.draw.story import can_be_drawn
from edgeflip.errors import ArtifactError, ConfigError
from edgeflip.search import Counterfactual, CounterfactualSet
from edgeflip.support import as_path, checked_call, progress_bar, write_lines

_PAGES = (".html", ".htm")


def save_answer(
    answer: CounterfactualSet,
    path: str | os.PathLike[str],
    *,
    counterfactual: Counterfactual | None = None,
    oracle: Any = None,
    title: str = "",
) -> Path:
    """Write an answer, whole or not at all; the ending of the file says as what.

    Args:
        answer: What was found.
        path: `.html` for a page on which edits can be switched; `.svg`, `.png` or `.pdf` for a picture;
            `.json` for the answer itself, with the table that the page needs.
        counterfactual: Which one a picture shows, the smallest by default; pages and JSON hold all.
        oracle: The model, for an answer from a file; one fresh from `explain` knows it.
        title: What was explained.

    Raises:
        ConfigError: If it is not one answer, the file has another ending, or a counterfactual is chosen
            where all are written.
    """
    check_answer(answer, "write several with save_answers")
    check_texts(title=title)
    location = as_path(path, ArtifactError)
    ending = ending_of(location, (*_PAGES, *ENDINGS, ".json"), "an answer")
    if counterfactual is not None and ending not in ENDINGS:
        raise ConfigError(
            f"expected a picture of one counterfactual, got {location.name}, which holds all of them; leave "
            "out counterfactual=, or save an .svg, .png or .pdf."
        )
    if ending in _PAGES:
        return write_lines(location, answer_page(answer, oracle=oracle, title=title).split("\n"))
    if ending == ".json":
        known = oracle is not None or answer.oracle is not None
        return (answer.with_effects(oracle) if known else answer).save_json(location)
    return draw_answer(answer, counterfactual, title=title).save(location)


@checked_call()
def save_answers(
    answers: Sequence[CounterfactualSet],
    path: str | os.PathLike[str],
    *,
    titles: Sequence[str] = (),
    progress: bool = False,
) -> Path:
    """Write many answers as a gallery (`.html`) or as one picture (`.svg`, `.png`, `.pdf`).

    A gallery leads to a page for each answer, in a folder beside it that has its name (`pages_beside`).

    Args:
        answers: What was found.
        path: The file.
        titles: What was explained, for each.
        progress: Whether to show progress on stderr while pages are written.

    Raises:
        ConfigError: If something else than answers is among them, or the file has another ending.
    """
    location = as_path(path, ArtifactError)
    answers = checked_all(answers, CounterfactualSet, "answers")
    titles = checked_all(titles, str, "titles")
    if ending_of(location, (*_PAGES, *ENDINGS), "answers") in _PAGES:
        exhibits = [
            Exhibit(
                answer, titles[place] if place < len(titles) else f"{place}: {graph_size(answer)}"
            )
            for place, answer in enumerate(answers)
        ]
        return save_gallery(exhibits, location, pages=True, progress=progress)
    return draw_grid(answers, titles=titles).save(location)


def pages_beside(gallery: Path) -> Path:
    """The folder of a gallery's pages: `why` beside `why.html`."""
    return gallery.with_suffix("")


@checked_call()
def save_gallery(
    exhibits: Sequence[Exhibit],
    path: str | os.PathLike[str],
    *,
    about: str = "",
    pages: bool = False,
    progress: bool = False,
) -> Path:
    """Write a gallery, and if wanted a page for each answer in a folder beside it.

    Pages that an earlier gallery of this name left in that folder are removed; other files stay.

    Args:
        exhibits: The answers and what they are about.
        path: The page of the gallery.
        about: A few words above it.
        pages: Whether every answer gets a page of its own, to which its card leads; see `pages_beside`.
        progress: Whether to show progress on stderr.

    Raises:
        ConfigError: If something else than exhibits is among them, the file does not end in .html, or a
            page would replace a file that edgeflip did not write; nothing is written then.
    """
    location = as_path(path, ArtifactError)
    # The folder of pages is named like the file without its ending.
    ending_of(location, _PAGES, "a gallery")
    shown = checked_all(exhibits, Exhibit, "exhibits")
    folder, home = pages_beside(location), f"../{quote(location.name)}"
    names = [
        f"{number:04d}-{_file_name(exhibit.title)}.html" for number, exhibit in enumerate(shown)
    ]
    if pages:
        check_own_pages(folder, names)
        with progress_bar("writing pages", total=len(shown), unit="page", shown=progress) as bar:
            for number, exhibit in enumerate(shown):
                bar.update()
                if not can_be_drawn(exhibit.answer):
                    continue  # edits that no drawer knows have a card, but no page
                text = answer_page(exhibit.answer, title=exhibit.title, home=home)
                write_lines(folder / names[number], text.split("\n"))
                shown[number] = replace(
                    exhibit, href=f"{quote(folder.name)}/{quote(names[number])}"
                )
    written = write_lines(location, gallery_page(shown, about=about).split("\n"))
    if pages:
        kept = [name for name, exhibit in zip(names, shown, strict=True) if exhibit.href]
        remove_old_pages(folder, home, kept)
    return written


def _file_name(title: str) -> str:
    """A title as a name that every system takes."""
    return re.sub(r"[^A-Za-z0-9.-]+", "-", title.partition(":")[0])[:60].strip("-.") or "answer"
