"""Whether the files of a TU set belong together, before PyG reads them.

PyG's reader does not compare them: a file that is missing or too short gives graphs of which some cannot
be read, a last line without a line break is left out, and graphs at the end without edges are lost. What
it made of such files it keeps.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import torch

from edgeflip.errors import DatasetError

# How many lines each file must have: one for each of these.
_ROWS = {
    "node_labels": "node",
    "node_attributes": "node",
    "edge_labels": "edge",
    "edge_attributes": "edge",
    "graph_labels": "graph",
    "graph_attributes": "graph",
}


def check_tu_files(raw: Path, name: str) -> None:
    """Refuse files that do not belong together; nothing is done where there are none, or a cache of them.

    Args:
        raw: The folder of the files.
        name: Of the data set, as its files have it.

    Raises:
        DatasetError: If one is missing, or has more or fewer lines than the others ask for.
    """
    made = raw.with_name("processed") / "data.pt"
    if made.is_file() or not raw.is_dir() or not any(raw.iterdir()):
        return

    def refuse(wanted: str, got: str) -> NoReturn:
        raise DatasetError(
            f"expected {wanted} of tu:{name}, got {got}; correct it in {raw}, or remove that folder to "
            "download it anew."
        )

    for part in ("A", "graph_indicator"):
        if not (raw / f"{name}_{part}.txt").is_file():
            refuse(f"{name}_{part}.txt among the files", "none")
    if not any(
        (raw / f"{name}_{part}.txt").is_file() for part in ("graph_labels", "graph_attributes")
    ):
        refuse(f"{name}_graph_labels.txt among the files", "none")
    owners = _owners(raw / f"{name}_graph_indicator.txt", refuse)
    if owners != sorted(owners):
        refuse(f"numbers that ascend in {name}_graph_indicator.txt", "some that do not")
    counts = {
        "node": len(owners),
        "edge": _lines(raw / f"{name}_A.txt", refuse),
        "graph": max(owners, default=0),
    }
    for part, what in _ROWS.items():
        file = raw / f"{name}_{part}.txt"
        if file.is_file() and (found := _lines(file, refuse)) != counts[what]:
            refuse(f"a line in {file.name} for each {what} ({counts[what]:,})", f"{found:,}")


def _lines(file: Path, refuse: Callable[[str, str], NoReturn]) -> int:
    """The lines of a file, the last of which must end too: PyG leaves out one that does not."""
    count, last = 0, b"\n"
    with file.open("rb") as opened:
        while block := opened.read(2**20):
            count += block.count(b"\n")
            last = block[-1:]
    if last != b"\n":
        refuse(f"a line break at the end of {file.name}", "none")
    return count


def _owners(file: Path, refuse: Callable[[str, str], NoReturn]) -> list[int]:
    """The graph of each node."""
    _lines(file, refuse)
    with file.open("rb") as opened:
        try:
            return [int(line) for line in opened]
        except ValueError:
            refuse(f"the number of a graph in each line of {file.name}", "something else")


def with_last_graphs(dataset: Any) -> Any:
    """A `TUDataset` with the graphs at its end that have no edges, which PyG counts out.

    Args:
        dataset: Its places of edges are lengthened; files stay as they are.
    """
    labels = dataset._data.y
    for name in ("edge_index", "edge_attr"):
        ends = dataset.slices.get(name)
        if ends is not None and labels is not None and len(ends) <= len(labels):
            rest = ends[-1:].expand(len(labels) + 1 - len(ends))
            dataset.slices[name] = torch.cat([ends, rest])
    return dataset
