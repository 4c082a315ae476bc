"""Data sets of PyG and OGB by name: their own classes download, read and cache, and `bundle_from` takes over.

While these classes read their caches, torch unpickles nothing but tensors and PyG's own data types.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch

from edgeflip.datasets.bundle import DatasetBundle
from edgeflip.datasets.bundling import Task, bundle_from
from edgeflip.datasets.dataset_objects import task_names
from edgeflip.datasets.family_names import FamilyName
from edgeflip.datasets.features import cache_folder
from edgeflip.datasets.labels import label_column_of
from edgeflip.datasets.tu_files import check_tu_files, with_last_graphs
from edgeflip.errors import ConfigError, DatasetError, EdgeflipError, one_line, shown

_ONLY_WEIGHTS = "TORCH_FORCE_WEIGHTS_ONLY_LOAD"
_VALUES = ("esol", "freesolv", "lipo")

# The environment is that of the whole process.
_lock = threading.Lock()


def load_named(name: FamilyName, folder: Path | None) -> DatasetBundle:
    """A data set of PyG or OGB; PyG or OGB downloads it where its files are not there yet.

    Args:
        name: of the data set.
        folder: the data folder; without one, files are kept in the user's cache.
    """
    known = read_named(name, folder)
    tasks = task_names(known)
    if len(tasks) > 1 and not name.task:
        raise DatasetError(
            f"expected one of the {len(tasks)} tasks of {name}, got none; write "
            f"{replace(name, task=tasks[0])}, or another of {', '.join(tasks)}."
        )
    column = label_column_of(name.task or None, tasks)
    bundle = bundle_from(
        known,
        name=str(name),
        task=_task(name, known),
        label_column=column,
        both_ways=True,
        notes=_notes(name, known),
    )
    if isinstance(known, list):
        bundle = replace(bundle, card=replace(bundle.card, split="its own"))
    kind = _fill(bundle)
    if bundle.fill is not None or kind is None:
        return bundle
    notes = f"{bundle.card.notes} {_FILLED[kind]}".strip()
    return replace(bundle, fill=kind, card=replace(bundle.card, notes=notes))


def read_named(name: FamilyName, folder: Path | None) -> Any:
    """The dataset object, or the three of training, validation and test."""
    root = (folder or cache_folder()) / name.family
    place = raw_folder(name, folder)
    was_there = place.is_dir() and any(place.iterdir())
    try:
        with _only_data():
            return _READERS[name.family](name, str(root))
    except EdgeflipError:
        raise
    except (Exception, SystemExit) as problem:
        # A name that is not served, no network, a full disk, a file that is no such table, a pickle.
        reason = one_line(problem)[:200] or type(problem).__name__
        if was_there:
            raise DatasetError(
                f"expected the files of {name} ({_files_of(name)}) in {place}, got others "
                f"({type(problem).__name__}: {reason}); correct them, and remove the folder "
                f"{place.with_name('processed')}, which is made of them."
            ) from problem
        raise DatasetError(
            f"expected to download {name}, got '{reason}'; check name and network and run it again, or put "
            f"its files ({_files_of(name)}) into {place}."
        ) from problem


def raw_folder(name: FamilyName, folder: Path | None) -> Path:
    """Where the files of a data set are, as PyG or OGB looks for them."""
    own = name.name.replace("-", "_") if name.family == "ogb" else name.name
    return (folder or cache_folder()) / name.family / own / "raw"


def _files_of(name: FamilyName) -> str:
    """What belongs into the folder of raw files."""
    if name.family == "moleculenet":
        from torch_geometric.datasets import MoleculeNet

        return f"{MoleculeNet.names[name.name][2]}.csv"
    return _FILES[name.family].replace("NAME", name.name)


_FILES = {
    "tu": "NAME_A.txt, NAME_graph_indicator.txt, NAME_graph_labels.txt, …",
    "gnnbench": "NAME_v2.pt",
    "ogb": "edge.csv.gz, num-node-list.csv.gz, …, and beside that folder mapping/, split/, RELEASE_v1.txt",
}


@contextmanager
def _only_data() -> Iterator[None]:
    """No code runs from a file, nothing is printed on stdout, and what is skipped is counted elsewhere."""
    with _lock, warnings.catch_warnings(), redirect_stdout(sys.stderr):
        warnings.filterwarnings("ignore", message="Skipping molecule")
        before = os.environ.get(_ONLY_WEIGHTS)
        os.environ[_ONLY_WEIGHTS] = "1"
        try:
            yield
        finally:
            if before is None:
                del os.environ[_ONLY_WEIGHTS]
            else:
                os.environ[_ONLY_WEIGHTS] = before


def _read_tu(name: FamilyName, root: str) -> Any:
    from torch_geometric.datasets import TUDataset

    check_tu_files(Path(root) / name.name / "raw", name.name)
    found = TUDataset(root, name.name)
    nodes = not found.num_node_labels and found.num_node_attributes > 0
    edges = not found.num_edge_labels and found.num_edge_attributes > 0
    if not (nodes or edges):
        return with_last_graphs(found)
    return with_last_graphs(TUDataset(root, name.name, use_node_attr=nodes, use_edge_attr=edges))


def _read_moleculenet(name: FamilyName, root: str) -> Any:
    from torch_geometric.datasets import MoleculeNet

    from edgeflip.datasets.chemistry import rdkit_chem

    rdkit_chem()  # the sentence about the extra, before anything is downloaded
    return MoleculeNet(root, name.name)


def _read_gnnbench(name: FamilyName, root: str) -> Any:
    from torch_geometric.datasets import GNNBenchmarkDataset

    return [GNNBenchmarkDataset(root, name.name, split) for split in ("train", "val", "test")]


def _read_ogb(name: FamilyName, root: str) -> Any:
    try:
        # It asks the network whether there is a newer one of it.
        logging.getLogger("outdated").setLevel(logging.ERROR)
        from ogb.graphproppred import PygGraphPropPredDataset
    except ImportError as problem:
        # Without it, or with it but without something that it needs.
        none = (problem.name or "ogb").partition(".")[0] == "ogb"
        raise ConfigError(
            f"expected the package ogb to read {name}, got "
            f"{'none installed' if none else shown(one_line(problem))}; run pip install ogb."
        ) from None
    from torch_geometric.data.data import DataEdgeAttr, DataTensorAttr
    from torch_geometric.data.storage import GlobalStorage

    # OGB's cache has these three of PyG's types, which hold data only.
    torch.serialization.add_safe_globals([DataEdgeAttr, DataTensorAttr, GlobalStorage])
    return PygGraphPropPredDataset(name.name, root)


_READERS: dict[str, Callable[[FamilyName, str], Any]] = {
    "tu": _read_tu,
    "moleculenet": _read_moleculenet,
    "gnnbench": _read_gnnbench,
    "ogb": _read_ogb,
}


def _task(name: FamilyName, known: Any) -> Task:
    """Whether labels are classes or values, as the data set itself has it."""
    if name.family == "moleculenet":
        values = name.name in _VALUES
    elif name.family == "ogb":
        values = known.meta_info.get("task type") == "regression"
    else:
        y = None if isinstance(known, list) else known[0].y
        values = isinstance(y, torch.Tensor) and y.is_floating_point()
    return "regression" if values else "classification"


_FILLED = {
    "mode": "An added edge gets the attributes that most edges of its graph have.",
    "mean": "An added edge gets the mean of the attributes of its graph's edges.",
}


def _fill(bundle: DatasetBundle) -> Literal["mode", "mean"] | None:
    """What fills the attributes of added edges: the commonest kinds, or the mean of numbers."""
    kind: Literal["mode", "mean"] | None = None
    for graph in bundle.graphs:
        if graph.edge_attr is None:
            return None
        if kind is None and graph.num_edges:
            kind = "mode" if bool((graph.edge_attr == graph.edge_attr.round()).all()) else "mean"
    return kind


def _notes(name: FamilyName, known: Any) -> str:
    """What was done to the data that its name does not say."""
    if name.family == "moleculenet":
        rows = _rows(Path(known.raw_paths[0]))
        gone = rows - len(known)
        verb = "was" if gone == 1 else "were"
        return f"{gone:,} of {rows:,} rows {verb} left out: no molecule." if gone > 0 else ""
    if name.family != "tu":
        return ""
    told = []
    for what, labels, attributes in (
        ("node", known.num_node_labels, known.num_node_attributes),
        ("edge", known.num_edge_labels, known.num_edge_attributes),
    ):
        if labels and attributes:
            told.append(
                f"The {attributes} {what} attribute{'s'[: attributes > 1]} beside the {what} labels "
                f"{'are' if attributes > 1 else 'is'} left out."
            )
    return " ".join(told)


def _rows(table: Path) -> int:
    """The rows of a table of MoleculeNet below its head, as PyG counts them."""
    with table.open("rb") as file:
        return max(0, sum(bool(line.strip()) for line in file) - 1)
