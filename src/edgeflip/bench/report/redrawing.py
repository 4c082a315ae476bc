"""Pictures of a report drawn anew from its CSV file, for when the run itself is gone."""

from __future__ import annotations

import os
from pathlib import Path

from edgeflip.bench.report.board import read_board
from edgeflip.bench.report.figures import all_pictures
from edgeflip.bench.report.versus import OURS
from edgeflip.errors import ArtifactError, unknown_name
from edgeflip.support import as_path, write_lines


def redraw(folder: str | os.PathLike[str], *, ours: str = OURS) -> list[Path]:
    """Draw the pictures of a report again from its `results.csv`.

    Args:
        folder: The folder of a report.
        ours: The method that is compared with the others.

    Returns:
        The pictures written, in `figures` of the folder.

    Raises:
        ArtifactError: If there is no such file, or it is something else.
        UnknownNameError: If there is no such method.
    """
    location = as_path(folder, ArtifactError)
    board = read_board(location / "results.csv")
    if ours != OURS and ours not in board.methods:
        raise unknown_name("column", ours, board.methods)
    return [
        write_lines(location / "figures" / f"{picture.name}.svg", picture.svg.split("\n"))
        for picture in all_pictures(board, ours)
    ]
