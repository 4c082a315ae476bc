"""The report of a benchmark run: tables in the paper's layout, pictures, and one page with all of it."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from edgeflip.bench.report import figures
from edgeflip.bench.report.board import board_of
from edgeflip.bench.report.cells import PublishedCell, published_cells
from edgeflip.bench.report.contents import all_tables
from edgeflip.bench.report.exhibits import answer_figures
from edgeflip.bench.report.layouts import OPTIONAL
from edgeflip.bench.report.page import Report, html_page, markdown_page
from edgeflip.bench.report.render import csv_table, latex_table
from edgeflip.bench.report.results import Results, read_results
from edgeflip.bench.report.summary import MethodSummary, summarize_run
from edgeflip.bench.report.versus import OURS
from edgeflip.errors import ArtifactError, unknown_name
from edgeflip.support import as_path, checked_call, write_lines

__all__ = [
    "MethodSummary",
    "PublishedCell",
    "Results",
    "published_cells",
    "read_results",
    "summarize_run",
    "write_report",
]


@checked_call()
def write_report(
    folder: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    ours: str = OURS,
    data_dir: str | os.PathLike[str] | None = None,
) -> Path:
    """Write the report of a run, complete or not: the same bytes for the same results.

    Args:
        folder: Where the run was written.
        out: Where the report goes; none for `report` in the folder of the run.
        ours: The method that is compared with each of the others; without it there is no such table.
        data_dir: Folder of dataset files, for pictures of answers; without the graphs there are none.

    Returns:
        The folder of the report, with `report.md`, `report.html`, `results.csv`, `tables/*.tex` and
        `figures/*.svg`.

    Raises:
        ArtifactError: If the folder holds no run, or cannot be written to.
        UnknownNameError: If there is no such method.
    """
    results = read_results(folder)
    summaries = summarize_run(results)
    if ours != OURS and ours not in results.methods:
        raise unknown_name("column", ours, results.methods)
    tables = all_tables(results, summaries, ours)
    shown, notes = answer_figures(
        results, ours, None if data_dir is None else as_path(data_dir, ArtifactError)
    )
    pictures = [*figures.all_pictures(board_of(results, summaries), ours), *shown]
    report = Report(results, tables, pictures, tuple(notes))
    location = (
        as_path(folder, ArtifactError) / "report" if out is None else as_path(out, ArtifactError)
    )
    texts = {f"tables/{table.key}.tex": latex_table(table) for table in tables}
    texts |= {f"figures/{picture.name}.svg": picture.svg for picture in pictures}
    texts["results.csv"] = csv_table(tables)
    texts["report.md"] = markdown_page(report)
    texts["report.html"] = html_page(report)
    for name, text in texts.items():
        write_lines(location / name, text.rstrip("\n").split("\n"))
    old = [path.stem for path in (location / "figures").glob("answers-*.svg")]
    names = {picture.name for picture in pictures}
    _remove_old(location / "figures", (*figures.NAMES, *old), names, "svg")
    _remove_old(location / "tables", OPTIONAL, {table.key for table in tables}, "tex")
    return location


def _remove_old(folder: Path, names: Iterable[str], current: set[str], ending: str) -> None:
    """Files of an earlier report that this one has no data for."""
    for name in set(names) - current:
        with suppress(OSError):
            (folder / f"{name}.{ending}").unlink(missing_ok=True)
