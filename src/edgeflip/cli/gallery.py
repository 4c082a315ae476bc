"""What `edgeflip gallery` does: answers are gathered from files, and a page made of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from edgeflip.bench import is_run, run_exhibits
from edgeflip.cli.console import say
from edgeflip.cli.reading import check_folder
from edgeflip.cli.terminal import counted, note
from edgeflip.draw import Exhibit, ending_of, graph_size, pages_beside, save_gallery
from edgeflip.errors import ArtifactError, ConfigError
from edgeflip.explainers import read_answers
from edgeflip.search import CounterfactualSet
from edgeflip.support import parse_json, read_file, read_json

_LINES, _SHARDS = "answers.jsonl", "shards.jsonl"


def make_gallery(
    run: Path, out: Path | None, *, pages: bool, method: str | None, data_dir: Path | None
) -> None:
    """Write the gallery of a folder or file, and say where it is."""
    page = out or (run if run.is_dir() else run.parent) / "gallery.html"
    ending_of(page, (".html", ".htm"), "a gallery")
    check_folder(pages_beside(page) if pages else page.parent)
    exhibits = _exhibits(run, method, data_dir)
    if not exhibits:
        raise ArtifactError(
            f"expected answers in {run}, got none; make some with 'edgeflip explain … --out {run}'."
        )
    methods = sorted({exhibit.answer.provenance.method for exhibit in exhibits})
    about = f"{counted(len(exhibits), 'answer')}, {', '.join(methods)}"
    save_gallery(exhibits, page, about=about, pages=pages, progress=True)
    beside = f", with a page for each in {pages_beside(page)}/" if pages else ""
    say(f"Gallery of {counted(len(exhibits), 'answer')} in {page}{beside}")


def _exhibits(run: Path, method: str | None, data_dir: Path | None) -> list[Exhibit]:
    if run.is_dir() and is_run(run):
        found, notes = run_exhibits(run, method=method, data_dir=data_dir)
        for text in notes:
            note(text)
        return found
    if method is not None:
        raise ConfigError(
            f"expected the folder of a benchmark for --method, got {run}; leave --method out."
        )
    if not run.exists():
        raise ArtifactError(
            f"expected a folder or file of answers at {run}, got none; check the path."
        )
    return list(_answers(run))


def _answers(run: Path) -> Iterator[Exhibit]:
    """The answers of a folder of JSON, of the demo, or of one file."""
    if run.is_dir() and (run / _SHARDS).exists():
        for each in read_answers(run):
            if each.answer is not None:
                yield _exhibit(each.answer, str(each.place))
        return
    if run.is_dir() and (run / _LINES).exists():
        yield from _lines(run / _LINES)
        return
    if run.suffix == ".jsonl":
        yield from _lines(run)
        return
    for path in sorted(run.glob("*.json"), key=_natural) if run.is_dir() else [run]:
        payload = read_json(path)
        if run.is_dir() and "counterfactuals" not in payload:
            continue
        yield _exhibit(CounterfactualSet.from_dict(payload), path.stem)


def _lines(path: Path) -> Iterator[Exhibit]:
    text = read_file(path, error=ArtifactError).decode("utf-8", "replace")
    for number, line in enumerate(filter(str.strip, text.splitlines()), start=1):
        where = f"line {number} of {path}"
        row = parse_json(line.encode(), where=where, advice="write it again", error=ArtifactError)
        answer = row.get("answer") if isinstance(row, dict) else None
        if not isinstance(answer, dict):
            raise ArtifactError(
                f"expected an answer in {where}, got something else; write it again."
            )
        yield _exhibit(CounterfactualSet.from_dict(answer), str(row.get("index", number)))


def _exhibit(answer: CounterfactualSet, title: str) -> Exhibit:
    return Exhibit(answer, f"{title}: {graph_size(answer)}")


def _natural(path: Path) -> list[tuple[int, str]]:
    """An order in which 10 follows 9."""
    parts = re.split(r"(\d+)", path.stem)
    return [(int(part), "") if part.isdecimal() else (0, part) for part in parts]
