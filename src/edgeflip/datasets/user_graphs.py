"""Your own graphs as a dataset: PyG or networkx graphs in memory, or files of several kinds.

`bundle_from` takes graphs, `load_graphs` a path. Nothing is unpickled, files are read up to a size
limit, and a link that leads out of a folder is refused.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from functools import partial
from pathlib import Path
from typing import Any, Literal

import networkx as nx
import torch
from torch_geometric.data import Data

from edgeflip.core import Constraints, EdgeFill, check_names
from edgeflip.datasets.building import graph_from_networkx
from edgeflip.datasets.bundle import (
    DatasetBundle,
    DatasetCard,
    Drawing,
    Split,
    random_split,
    stratified_split,
)
from edgeflip.datasets.chemistry import (
    SINGLE_BOND,
    molecule_constraints,
    molecule_graph,
    molecule_or_none,
)
from edgeflip.datasets.formats import read_graph, read_labels, read_table
from edgeflip.datasets.tu import read_tu
from edgeflip.errors import DatasetError, shown
from edgeflip.support import as_path, check_limit, checked_call, progress_bar, reading

Splitting = Literal["random", "stratified"]
Label = str | int

_PICKLES = {".pkl", ".pickle", ".pt", ".pth", ".npy", ".npz", ".joblib"}
_GRAPH_FILES = {".json", ".graphml", ".gexf"}
_SHOWN = 5


@checked_call(DatasetError)
def bundle_from(
    graphs: Iterable[Data | Any],
    labels: Iterable[Label | None] | None = None,
    *,
    name: str = "own",
    class_names: Sequence[str] | None = None,
    drawing: Drawing = "plain",
    split: Splitting | Split = "random",
    seed: int = 2,
    constraints: Callable[[Data], Constraints] | None = None,
    fill: EdgeFill | None = None,
    source: str = "graphs in memory",
    notes: str = "",
    checksum: str | None = None,
) -> DatasetBundle:
    """A dataset of your own PyG or networkx graphs.

    Args:
        graphs: PyG `Data`, or networkx graphs whose numeric node attributes become features.
        labels: one per graph, whole numbers or texts; by default each graph's `y`.
        name: of the dataset, for folders and tables.
        class_names: names in the order of the class numbers; for labels that are texts, the order of
            the classes. By default the labels themselves, sorted.
        drawing: how a report draws a graph.
        split: `"random"` (80/10/10), `"stratified"` (the same in every class), or a split of your own.
        seed: of the split.
        constraints: what may change in a graph.
        fill: attributes of added edges, for graphs with `edge_attr`.
        source: where the graphs come from, for the dataset's card.
        notes: for the card.
        checksum: of the file, for the card.

    Example:
        >>> rings = [nx.cycle_graph(size) for size in range(4, 14)]
        >>> paths = [nx.path_graph(size) for size in range(4, 14)]
        >>> bundle = bundle_from(rings + paths, ["ring"] * 10 + ["path"] * 10)
        >>> bundle.class_names, bundle.split.sizes
        (('path', 'ring'), (16, 2, 2))
    """
    with reading("graphs for a dataset", advice="pass a list of PyG Data or networkx graphs"):
        made = [_as_data(graph, index) for index, graph in enumerate(graphs)]
    if not made:
        raise DatasetError("expected graphs for a dataset, got none; pass at least two per class.")
    with reading("one label per graph", advice="pass a list of whole numbers or texts"):
        given = [_own_label(graph) for graph in made] if labels is None else list(labels)
    if len(given) != len(made):
        raise DatasetError(
            f"expected one label per graph, got {len(given)} labels for {len(made)} graphs; "
            "pass as many labels as graphs."
        )
    numbers, names = class_numbers(given, class_names)
    _check_features(made)
    _check_widths(made)
    for graph, number in zip(made, numbers, strict=True):
        graph.y = torch.tensor([number])
    return DatasetBundle(
        name=name,
        graphs=tuple(made),
        split=split if isinstance(split, Split) else _split(numbers, split, seed),
        class_names=names,
        motif_nodes=None,
        drawing=drawing,
        card=DatasetCard(name, "yours", "", source, checksum, "file", notes),
        constraints=constraints,
        fill=fill,
    )


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


def class_numbers(
    labels: Sequence[Label | None], class_names: Sequence[str] | None = None
) -> tuple[list[int], tuple[str, ...]]:
    """Numbers and names of classes from labels that are whole numbers or texts.

    Example:
        >>> class_numbers(["toxic", "safe", "toxic", "safe"])
        ([1, 0, 1, 0], ('safe', 'toxic'))
        >>> class_numbers([1, -1, -1, 1], ["no", "yes"])
        ([1, 0, 0, 1], ('no', 'yes'))
    """
    missing = [index for index, label in enumerate(labels) if label is None or label == ""]
    if missing:
        raise DatasetError(
            f"expected a label for every graph, got none for {len(missing)} of {len(labels)}, the first "
            f"is graph {missing[0]}; label them or leave them out."
        )
    texts = [_text(label) for label in labels if label is not None]
    distinct = set(texts)
    check_limit("classes", len(distinct), "the labels")
    all_whole = all(_WHOLE.fullmatch(text) for text in distinct)
    values: list[str] = sorted(distinct, key=int) if all_whole else sorted(distinct)
    with reading("class_names as a list of texts", advice="correct them"):
        named = None if class_names is None else tuple(str(entry) for entry in class_names)
    if named is not None and set(named) == set(values):
        values = list(named)
    names = named or tuple(values)
    if len(names) != len(values):
        raise DatasetError(
            f"expected {len(values)} class names for the labels {', '.join(values[:9])}, got "
            f"{len(names)}; name every class."
        )
    sizes = Counter(texts)
    for value in values:
        if sizes[value] < 2 or len(values) < 2:
            raise DatasetError(
                "expected two classes or more with two graphs or more each, got "
                f"{sizes[value]} of class '{value}' among {len(values)}; add graphs or leave it out."
            )
    place = {value: number for number, value in enumerate(values)}
    return [place[text] for text in texts], names


_WHOLE = re.compile(r"-?\d{1,40}", re.ASCII)


def _text(label: Label) -> str:
    """A label as text; 1.0 is 1, as spreadsheets write whole numbers so. No digit is lost."""
    text = str(label).strip()
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    # A power of ten such as 1e999999 is a text: writing it out would take all memory.
    if not number.is_finite() or number.adjusted() > 30 or number != number.to_integral_value():
        return text
    return str(int(number))


def _own_label(graph: Data) -> int | None:
    if graph.y is None:
        return None
    with reading("one whole number as the label y of a graph", advice="correct y or pass labels"):
        values = torch.as_tensor(graph.y).flatten().tolist()
        if len(values) != 1 or values[0] != int(values[0]):
            raise DatasetError(
                f"expected one whole number as the label y of a graph, got {shown(values)}; correct y or "
                "pass labels."
            )
        return int(values[0])


def _as_data(graph: Data | Any, place: int) -> Data:
    if isinstance(graph, nx.Graph):
        return graph_from_networkx(graph, where=f"graph {place}")
    if not isinstance(graph, Data):
        raise DatasetError(
            f"expected PyG Data or networkx graphs, got {type(graph).__name__} as graph {place}; "
            "convert it first."
        )
    copy: Data = graph.clone()
    if copy.x is None:
        copy.x = torch.ones(int(copy.num_nodes or 0), 1)
    return copy


def _check_features(graphs: Sequence[Data]) -> None:
    """Refuse features that are no numbers, before anything is trained on them."""
    for index, graph in enumerate(graphs):
        for name, value in graph.to_dict().items():
            if isinstance(value, torch.Tensor) and value.layout != torch.strided:
                raise DatasetError(
                    f"expected plain tensors in every graph, got a sparse one for {name} of graph {index}; "
                    "call to_dense() on it."
                )
            is_float = isinstance(value, torch.Tensor) and value.is_floating_point()
            if name in ("x", "edge_attr", "edge_weight") and (
                is_float and not bool(torch.isfinite(value).all())
            ):
                raise DatasetError(
                    f"expected finite numbers in {name} of every graph, got NaN or infinity in graph "
                    f"{index}; correct or leave out that graph."
                )
        rows = graph.x.size(0) if isinstance(graph.x, torch.Tensor) and graph.x.dim() else None
        if rows != graph.num_nodes:
            raise DatasetError(
                f"expected features x with a row for each of {graph.num_nodes} nodes, got {rows} in graph "
                f"{index}; correct x."
            )
        check_names(graph, f" in graph {index}")


def _check_widths(graphs: Sequence[Data]) -> None:
    """Refuse graphs that are prepared differently."""
    widths = [graph.x.size(1) if graph.x.dim() == 2 else None for graph in graphs]
    for index, width in enumerate(widths):
        if width is None or width != widths[0]:
            raise DatasetError(
                f"expected node features of one width in all graphs, got {widths[0]} in graph 0 and "
                f"{width} in graph {index}; prepare all graphs alike."
            )
    with_edges = [index for index, graph in enumerate(graphs) if graph.num_edges]
    shapes = {index: _attribute_shape(graphs[index]) for index in with_edges}
    first = shapes[with_edges[0]] if with_edges else None
    for index, shape in shapes.items():
        if shape != first:
            raise DatasetError(
                f"expected edge_attr of one width in all graphs, got {first} in graph {with_edges[0]} and "
                f"{shape} in graph {index}; give all edges the same attributes, or none."
            )
    if first is not None:
        for graph in graphs:
            if not graph.num_edges and graph.edge_attr is None:
                graph.edge_attr = graphs[with_edges[0]].edge_attr[:0].clone()


def _attribute_shape(graph: Data) -> list[int] | None:
    value = graph.edge_attr
    return list(value.shape[1:]) if isinstance(value, torch.Tensor) else None


def _split(numbers: Sequence[int], split: str, seed: int) -> Split:
    if split not in ("random", "stratified"):
        raise DatasetError(
            f"expected a split 'random', 'stratified' or a Split, got '{split}'; choose one."
        )
    if split == "stratified":
        return stratified_split(numbers, seed)
    return random_split(len(numbers), seed)


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
