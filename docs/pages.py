"""The pages of the site: their examples are run, their pictures drawn, their links followed.

    python docs/pages.py run docs/guides/own_model.md     # run every example of a page
    python docs/pages.py draw docs/guides/own_model.md    # and keep its pictures in docs/figures

All blocks of a page share one namespace and run in an empty folder, without dataset files. Notes in HTML
comments, which no reader sees, say the rest:

    <!-- not run: why -->            above a python block: it is skipped
    <!-- prints -->                  above a text block: what the python block before it prints; … is anything
    <!-- setup                       code that runs and is not shown
    code
    -->
    <!-- figure: name.svg            code that writes a picture to the path `figure`
    code
    -->
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import sys
import tempfile
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).resolve().parent
FIGURES = DOCS / "figures"
_PIECE = re.compile(
    r"^<!-- (?P<note>setup|figure: (?P<figure>\S+))\n(?P<hidden>.*?)^-->$"
    r"|^(?:<!-- (?P<mark>not run: [^\n]+|prints) -->\n+)?```(?P<kind>\w*)[^\n]*\n(?P<shown>.*?)^```$",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Piece:
    """A block of a page.

    Attributes:
        kind: The language of the fence, "setup", or "figure".
        text: What is in it.
        line: Its first line in the page, from 1.
        mark: The note above it, or the name of its picture.
    """

    kind: str
    text: str
    line: int
    mark: str


def pieces(text: str) -> list[Piece]:
    """The blocks of a page, from top to bottom."""
    found = []
    for match in _PIECE.finditer(text):
        group = "hidden" if match["note"] else "shown"
        line = text.count("\n", 0, match.start(group)) + 1
        kind = match["note"].partition(":")[0] if match["note"] else match["kind"]
        found.append(Piece(kind, match[group], line, match["figure"] or match["mark"] or ""))
    return found


def without_notes(text: str) -> str:
    """A page as readers get it: lines stay where they are, notes are empty."""
    return re.sub(
        r"^<!-- (?:setup|figure: |not run: |prints).*?-->$",
        lambda match: "\n" * match[0].count("\n"),
        text,
        flags=re.DOTALL | re.MULTILINE,
    )


def run(path: Path, figures: Path) -> list[Path]:
    """Run every example of a page, and write its pictures into a folder.

    Raises:
        AssertionError: If a block prints something else than the page says.
    """
    space: dict[str, object] = {"__name__": "page"}
    drawn, said = [], ""
    for piece in pieces(path.read_text(encoding="utf-8")):
        if piece.mark.startswith("not run"):
            continue
        if piece.kind == "text" and piece.mark == "prints":
            assert _agree(piece.text, said), (
                f"{path}:{piece.line}: the page says\n{piece.text}\nand the example\n{said}"
            )
        elif piece.kind in ("python", "setup", "figure"):
            if piece.kind == "figure":
                drawn.append(figures / piece.mark)
                space["figure"] = drawn[-1]
            with contextlib.redirect_stdout(io.StringIO()) as output:
                # Errors name the page and the line in it.
                code = "\n" * (piece.line - 1) + piece.text
                exec(compile(code, str(path), "exec", dont_inherit=True), space)
            if piece.kind == "python":
                said = output.getvalue()
    return drawn


def _agree(page: str, said: str) -> bool:
    """Whether an example printed what the page says, spaces aside."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in page.split("…")]
    return re.fullmatch(r"\s*" + r"\s*.*?\s*".join(parts) + r"\s*", said, re.DOTALL) is not None


@contextlib.contextmanager
def as_anywhere() -> Iterator[None]:
    """An empty folder and no dataset files: what a page shows, it shows everywhere."""
    before, data = Path.cwd(), os.environ.pop("EDGEFLIP_DATA", None)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)
            if data is not None:
                os.environ["EDGEFLIP_DATA"] = data


def prose(text: str) -> str:
    """A page without its blocks, notes and code spans."""
    text = re.sub(r"<!--.*?-->", "", _PIECE.sub("", without_notes(text)), flags=re.DOTALL)
    return re.sub(r"`[^`\n]+`", "`code`", text)


def links(text: str) -> list[str]:
    """Where the links and pictures of a page lead."""
    return re.findall(
        r"\]\(<?([^)\s>]+)>?(?: \"[^\"]*\")?\)", re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    )


def anchors(text: str) -> set[str]:
    """The places of a page that a link may name: its headings and its labels."""
    found: set[str] = set(re.findall(r"^\(([\w-]+)\)=$", text, flags=re.MULTILINE))
    plain = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    for title in re.findall(r"^#+ +(.+?) *$", plain, flags=re.MULTILINE):
        slug = _slug(title)
        count = 1
        while slug in found:
            slug, count = f"{_slug(title)}-{count}", count + 1
        found.add(slug)
    return found


def _slug(title: str) -> str:
    """The anchor of a heading, as GitHub and the site make it."""
    words = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", title).replace("`", "").lower()
    kept = (
        letter for letter in words if letter in " -_" or unicodedata.category(letter)[0] in "LN"
    )
    return "".join(kept).replace(" ", "-")


def main() -> None:
    """Run the examples of pages, or draw their pictures too."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("what", choices=["run", "draw"])
    parser.add_argument("pages", nargs="+", type=Path)
    options = parser.parse_args()
    for page in options.pages:
        path = page.resolve()
        with tempfile.TemporaryDirectory() as scratch, as_anywhere():
            for picture in run(path, FIGURES if options.what == "draw" else Path(scratch)):
                print(f"{page}: {picture.name}, {picture.stat().st_size:,} bytes")
        print(f"{page}: every example runs", file=sys.stderr)


if __name__ == "__main__":
    main()
