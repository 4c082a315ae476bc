"""Where answers go: a folder of JSON, or one page or picture for people."""

from __future__ import annotations

import re
from pathlib import Path

from edgeflip.cli.console import say
from edgeflip.cli.reading import check_folder
from edgeflip.draw import ending_of, pages_beside, save_answer, save_answers
from edgeflip.errors import ConfigError
from edgeflip.search import AnswerList, CounterfactualSet

_PAGES = (".html", ".htm")
_FILES = (*_PAGES, ".svg", ".png", ".pdf", ".json")


class Destination:
    """The files of one call of `edgeflip explain`.

    Args:
        out: A folder for an answer in JSON each, or a file by whose ending all are written.
        html: A file for a page beside that.
        several: Whether there will be more than one answer.
    """

    def __init__(self, out: Path | None, html: Path | None, *, several: bool) -> None:
        ending = "" if out is None or out.is_dir() else out.suffix.lower()
        if re.fullmatch(r"\.[a-z]{1,4}", ending) and ending not in _FILES:
            raise ConfigError(
                f"expected --out to name a folder or a file that ends in {', '.join(_FILES)}, got {out}; "
                "change the ending."
            )
        self.folder = out if out is not None and out.suffix.lower() not in _FILES else None
        self.files = [path for path in (out, html) if path is not None and path != self.folder]
        check_folder(self.folder)
        for path in self.files:
            check_folder(path.parent)
            ending_of(path, _FILES)
            if path.is_dir():
                raise ConfigError(
                    f"expected a file at {path}, got a folder of that name; give another path."
                )
            if several and path.suffix.lower() in _PAGES:
                check_folder(pages_beside(path))
        if html is not None and html.suffix.lower() not in _PAGES:
            raise ConfigError(
                f"expected --html to name a file that ends in .html, got {html}; for a picture use --out."
            )
        if several and any(path.suffix.lower() == ".json" for path in self.files):
            raise ConfigError(
                f"expected a folder for the JSON of several answers, got the file {out}; leave out the "
                "ending .json."
            )
        self._answers = AnswerList()
        self._titles: list[str] = []

    def add(self, answer: CounterfactualSet, title: str, file: str) -> Path | None:
        """Keep an answer for the end, and write it into the folder; where it is there."""
        self._answers.append(answer)
        self._titles.append(title)
        return None if self.folder is None else save_answer(answer, self.folder / file)

    def finish(self, *, quietly: bool = False) -> None:
        """Write the files for all answers, and say where they are."""
        if not self._answers:
            return
        for path in self.files:
            if len(self._answers) == 1:
                (answer,), (title,) = self._answers, self._titles
                save_answer(answer, path, title=title)
            else:
                save_answers(self._answers, path, titles=self._titles, progress=True)
            if not quietly:
                say(_where(path, several=len(self._answers) > 1))


def _where(path: Path, *, several: bool) -> str:
    """What was written to a file, in a line."""
    if path.suffix.lower() in _PAGES:
        pages = f", with a page for each answer in {pages_beside(path)}/"
        return f"Gallery in {path}{pages}" if several else f"Page in {path}"
    return f"{'Answer' if path.suffix.lower() == '.json' else 'Picture'} in {path}"
