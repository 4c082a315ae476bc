"""Reading graphs from files: a graph of any kind by its suffix, and tables in CSV."""

from __future__ import annotations

import csv
import io
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from torch_geometric.data import Data

from edgeflip.datasets.json_graphs import graph_from_json
from edgeflip.datasets.xml_graphs import graph_from_xml
from edgeflip.errors import DatasetError, nearest
from edgeflip.support import as_path, check_limit, read_file, reading


def read_graph(path: str | Path, folder: Path | None = None) -> Data:
    """One graph from a JSON, GraphML or GEXF file.

    JSON is either `{"num_nodes": 3, "edges": [[0, 1], [1, 2]], "x": [[…], …]}`, with `edge_attr`, `smiles`,
    `z` or `y` if wanted, or networkx's node-link form. Edges go both ways, whatever the file says.

    Args:
        path: the file; `.gz` is unpacked.
        folder: a link may not lead out of this folder; by default the file's own.
    """
    location = as_path(path)
    content = read_file(location, inside=location.parent if folder is None else as_path(folder))
    kind = location.with_suffix("").suffix if location.suffix == ".gz" else location.suffix
    if kind == ".json":
        return graph_from_json(content, location.name)
    if kind in (".graphml", ".gexf"):
        return graph_from_xml(content, kind, location.name)
    raise DatasetError(
        f"expected a graph as .json, .graphml or .gexf, got {location.name}; convert it."
    )


def read_table(path: Path, columns: Sequence[str]) -> tuple[list[dict[str, str]], bytes]:
    """The rows of a CSV that must have certain columns, and the content it was read from."""
    content = read_file(path, inside=path.parent)
    lines_at_most = max(content.count(b"\n"), content.count(b"\r"))
    check_limit("graphs", lines_at_most - 1, path.name)
    check_limit("values", lines_at_most + content.count(b","), path.name)
    with reading(f"a CSV in UTF-8 at {path.name}", advice="export it again"):
        reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        header = next(reader, [])
        lines = [line for line in reader if line]
    found_as = {column: _column(column, header) for column in columns}
    missing = [column for column in columns if found_as[column] is None]
    if missing and lines and header:
        near = nearest(missing[0], header)
        hint = "" if near is None else f" (did you mean '{near}'?)"
        if len(header) == 1 and any(mark in header[0] for mark in ";\t|"):
            hint = ", which seem to be separated by something else than commas"
        raise DatasetError(
            f"expected a column '{missing[0]}' in {path.name}, got columns {', '.join(header[:12])}{hint}; "
            "name the columns with smiles_column and label_column."
        )
    if missing or not lines:
        found = f"columns {', '.join(header[:12]) or 'none'} and {len(lines)} rows"
        raise DatasetError(
            f"expected the columns {' and '.join(columns)} and at least one row in {path.name}, got "
            f"{found}; name the columns with smiles_column and label_column."
        )
    twice = [column for column in columns if Counter(header)[str(found_as[column])] > 1]
    if twice:
        raise DatasetError(
            f"expected one column '{twice[0]}' in {path.name}, got several; rename or remove the others."
        )
    for number, line in enumerate(lines, start=1):
        if len(line) > len(header):
            raise DatasetError(
                f"expected {len(header)} values in every row of {path.name}, got {len(line)} in row "
                f"{number}; put values with commas into quotes."
            )
    places = {column: header.index(str(found_as[column])) for column in columns}
    rows = [
        {column: line[place] if place < len(line) else "" for column, place in places.items()}
        for line in lines
    ]
    return rows, content


def _column(wanted: str, header: Sequence[str]) -> str | None:
    """The column of that name; case and spaces around it count only where two columns differ in them.

    Example:
        >>> (
        ...     _column("smiles", ["ID", "SMILES "]),
        ...     _column("label", ["Label", "label"]),
        ...     _column("y", ["x"]),
        ... )
        ('SMILES ', 'label', None)
    """
    alike = [name for name in header if name.strip().lower() == wanted.strip().lower()]
    if wanted in alike:
        return wanted
    return alike[0] if len(alike) == 1 else None


def read_labels(path: Path, column: str) -> dict[str, str]:
    """Labels by file name, from a CSV with the columns `file` and the label's."""
    if not os.path.exists(path):
        raise DatasetError(
            f"expected the label file {path}, got none; write a CSV with the columns file and {column}."
        )
    rows, _ = read_table(path, ("file", column))
    labels: dict[str, str] = {}
    for number, row in enumerate(rows, start=1):
        if row["file"] in labels:
            raise DatasetError(
                f"expected each file once in {path.name}, got '{row['file']}' again in row {number}; "
                "remove one."
            )
        labels[row["file"]] = row[column].strip()
    return labels
