"""Your own files as a dataset: a table of molecules, or a folder of graphs.

Nothing is unpickled, files are read up to a size limit, and a link that leads out of a folder is refused.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from edgeflip.datasets.bundle import DatasetBundle, Drawing
from edgeflip.datasets.bundling import bundle_from
from edgeflip.datasets.chemistry import (
    SINGLE_BOND,
    molecule_constraints,
    molecule_graph,
    molecule_or_none,
)
from edgeflip.datasets.formats import read_graph, read_labels, read_table
from edgeflip.datasets.tu import read_tu
from edgeflip.errors import DatasetError
from edgeflip.support import as_path, check_limit, checked_call, progress_bar, reading

_PICKLES = {".pkl", ".pickle", ".pt", ".pth", ".npy", ".npz", ".joblib"}
_GRAPH_FILES = {".json", ".graphml", ".gexf"}
_SHOWN = 5


@checked_call(DatasetError)
def load_graphs(
    path: str | os.PathLike[str],
    *,
    labels: str | os.PathLike[str] | None = None,
    label_column: str = "label",
    smiles_column: str = "smiles",
    name: str | None = None,
    class_names: Sequence[str] | None = None,
    drawing: Drawing | None = None,
    stratified: bool = False,
    seed: int = 2,
    skip_invalid: bool = False,
    bonds: bool = False,
    chemistry: bool = True,
    progress: bool = False,
) -> DatasetBundle:
    """A dataset from a path of your own.

    Three kinds are known: a CSV of SMILES and labels; a folder in the format of the TU collection
    (`*_A.txt`, `*_graph_indicator.txt`, `*_graph_labels.txt`, optional node labels and attributes);
    and a folder of graphs (GraphML, GEXF, JSON) with a label file.

    Args:
        path: the file or folder.
        labels: the label file of a folder of graphs, a CSV with the columns `file` and that of the
            label; `labels.csv` in the folder by default.
        label_column: the column of the labels.
        smiles_column: the column of the molecules.
        name: of the dataset; the name of the file or folder by default.
        class_names: as for `bundle_from`.
        drawing: how a report draws a graph; molecules as such by default.
        stratified: whether the split has the same shares of every class; otherwise it is random.
        seed: of the split.
        skip_invalid: whether rows that are no molecule or have no label are left out, and counted in
            the card's notes, instead of refused.
        bonds: whether the bonds of molecules carry PyG's three features as `edge_attr`.
        chemistry: whether explanations of molecules keep them chemically possible.
        progress: show a progress bar on stderr while molecules are read.
    """
    location = as_path(path)
    options: dict[str, Any] = {
        "name": name or location.name.partition(".")[0].lower().replace("-", "_").replace(" ", "_"),
        "class_names": class_names,
        "split": "stratified" if stratified else "random",
        "seed": seed,
        "source": str(location.name),
    }
    if os.path.isdir(location):
        with reading(f"a folder of graphs at {location}", advice="check the folder"):
            if any(location.glob("*_A.txt*")):
                graphs, given = read_tu(location)
            else:
                label_file = location / "labels.csv" if labels is None else Path(labels)
                graphs, given = _read_folder(location, label_file, label_column)
        return bundle_from(graphs, given, drawing=drawing or "plain", **options)
    if location.suffix in _PICKLES:
        raise DatasetError(
            f"expected a CSV of SMILES or a folder of graphs, got {location.name}, a kind of file that "
            "can run code when read; write the graphs as JSON, or pass them to bundle_from."
        )
    if ".csv" not in location.suffixes:
        raise DatasetError(
            f"expected a CSV of SMILES or a folder of graphs, got {location}; see docs/guides/own_data.md."
        )
    rows, content = read_table(location, (smiles_column, label_column))
    texts = [(row[smiles_column].strip(), row[label_column].strip()) for row in rows]
    molecules = _molecules(
        [smiles for smiles, _ in texts], location.name, bonds=bonds, progress=progress
    )
    problems = _problems(texts, molecules)
    if problems and not skip_invalid:
        first = "; ".join(problems[:_SHOWN]) + ("; …" if len(problems) > _SHOWN else "")
        raise DatasetError(
            f"expected a molecule and a label in every row of {location.name}, got {len(problems)} rows "
            f"without ({first}); correct them, or leave them out with skip_invalid (--skip-invalid)."
        )
    kept = [
        (graph, label)
        for graph, (_, label) in zip(molecules, texts, strict=True)
        if graph is not None and label
    ]
    notes = (
        f"{len(problems)} of {len(rows)} rows were left out, first: {problems[0]}"
        if problems
        else ""
    )
    bundle = bundle_from(
        [graph for graph, _ in kept],
        [label for _, label in kept],
        drawing=drawing or "molecule",
        constraints=molecule_constraints if chemistry else None,
        fill=SINGLE_BOND if bonds else None,
        checksum=hashlib.sha256(content).hexdigest(),
        notes=notes,
        **options,
    )
    return replace(bundle, from_smiles=partial(molecule_graph, bonds=bonds))


def _molecules(
    texts: Sequence[str], where: str, *, bonds: bool, progress: bool
) -> list[Data | None]:
    """The graph of every SMILES, none where it is no molecule."""
    found = []
    with progress_bar(f"reading {where}", total=len(texts), unit=" rows", shown=progress) as bar:
        for smiles in texts:
            found.append(molecule_or_none(smiles, bonds=bonds) if smiles else None)
            bar.update()
    return found


def _problems(texts: Sequence[tuple[str, str]], molecules: Sequence[Data | None]) -> list[str]:
    """What is wrong with rows, which are counted from 1 below the header."""
    found = []
    for row, ((smiles, label), graph) in enumerate(zip(texts, molecules, strict=True), start=1):
        if graph is None:
            found.append(f"row {row} is no molecule: '{smiles[:60]}'")
        elif not label:
            found.append(f"row {row} has no label: '{smiles[:60]}'")
    return found


def _read_folder(folder: Path, label_file: Path, column: str) -> tuple[list[Data], list[str]]:
    files = {file.name: file for file in sorted(folder.iterdir()) if file.suffix in _GRAPH_FILES}
    check_limit("graphs", len(files), str(folder))
    pickles = sorted(file.name for file in folder.iterdir() if file.suffix in _PICKLES)
    if not files:
        raise DatasetError(
            f"expected graphs (.graphml, .gexf, .json) or TU files in {folder}, got "
            f"{pickles[0] if pickles else 'none'}; see docs/guides/own_data.md."
        )
    labels: Mapping[str, str] = read_labels(label_file, column)
    unlabelled = sorted(set(files) - set(labels))
    absent = sorted(set(labels) - set(files))
    if unlabelled or absent:
        what = f"no label for {unlabelled[0]}" if unlabelled else f"no graph {absent[0]}"
        raise DatasetError(
            f"expected a label in {label_file.name} for every graph in {folder}, and a graph for every "
            f"label, got {what} ({len(unlabelled)} and {len(absent)} missing); correct the label file."
        )
    graphs = [read_graph(file, folder) for file in files.values()]
    return graphs, [labels[name] for name in files]
