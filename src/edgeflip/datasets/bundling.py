"""Graphs in memory, or dataset objects of PyG and OGB, as a dataset with labels, a split and a card."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import networkx as nx
import torch
from torch_geometric.data import Batch, Data

from edgeflip.core import Constraints, EdgeFill, check_edges, check_names
from edgeflip.datasets.building import graph_from_networkx
from edgeflip.datasets.bundle import (
    DatasetBundle,
    DatasetCard,
    Drawing,
    Split,
    random_split,
    stratified_split,
)
from edgeflip.datasets.chemistry import molecule_constraints
from edgeflip.datasets.dataset_objects import Collection, are_molecules, collect
from edgeflip.datasets.directions import way_back
from edgeflip.datasets.labels import (
    Label,
    as_class,
    class_numbers,
    label_column_of,
    label_of,
    values_of,
)
from edgeflip.errors import DatasetError, GraphError
from edgeflip.support import checked_call, reading

Splitting = Literal["random", "stratified"]
Task = Literal["classification", "regression"]


@checked_call(DatasetError)
def bundle_from(
    graphs: Any,
    labels: Iterable[Label | None] | None = None,
    *,
    name: str | None = None,
    class_names: Sequence[str] | None = None,
    drawing: Drawing | None = None,
    split: Splitting | Split | None = None,
    seed: int = 2,
    constraints: Callable[[Data], Constraints] | None = None,
    fill: EdgeFill | None = None,
    task: Task = "classification",
    label_column: int | str | None = None,
    both_ways: bool = False,
    source: str | None = None,
    notes: str = "",
    checksum: str | None = None,
) -> DatasetBundle:
    """A dataset of your own PyG or networkx graphs, or of a dataset object of PyG or OGB.

    Graphs of a dataset object without a label or without nodes are left out, and counted in the card's notes.

    Args:
        graphs: PyG `Data`, or networkx graphs whose numeric node attributes become features; or a
            dataset of PyG or OGB, a view of one, or a list of three for training, validation and test.
        labels: one per graph, whole numbers or texts; by default each graph's `y`.
        name: of the dataset, for folders and tables; by default that of the dataset object, or `own`.
        class_names: names in the order of the class numbers; for labels that are texts, the order of
            the classes. By default the labels themselves, sorted.
        drawing: how a report draws a graph; by default those of a dataset object that have a SMILES are
            drawn as molecules, and stay ones (`molecule_constraints`).
        split: `"random"` (80/10/10), `"stratified"` (the same in every class), or a split of your own. By
            default a dataset object's own where it has one, else stratified; and random for graphs.
        seed: of the split.
        constraints: what may change in a graph.
        fill: attributes of added edges, for graphs with `edge_attr`; known for MoleculeNet and OGB.
        task: `"regression"` where labels are values; such graphs train no oracle of ours, and a model of
            your own that gives values can be explained on them.
        label_column: which column of `y` is the label, by number, or by name for MoleculeNet and OGB.
        both_ways: whether an edge that goes one way only gets its way back, with the same attributes.
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
        came = collect(graphs, own_split=split is None)
        made = [_as_data(graph, index) for index, graph in enumerate(came.graphs)]
    if not made:
        raise DatasetError("expected graphs for a dataset, got none; pass at least two per class.")
    given = _given_labels(made, labels, label_column, came)
    kept = _usable(made, given) if came.is_dataset else list(range(len(made)))
    told = [notes, _left_out(len(made), len(kept)), _without_features(came)]
    made, given = [made[place] for place in kept], [given[place] for place in kept]
    _check_ends(made)
    made, turned = _both_ways(made, both_ways)
    told.append(turned)
    names, numbers = _numbered(given, class_names, task)
    _check_features(made)
    _check_widths(made)
    for graph, number in zip(made, numbers, strict=True):
        graph.y = torch.tensor([number])
    chosen, split_by = _chosen_split(split, came, kept, numbers, seed, task)
    molecules = drawing is None and came.is_dataset and are_molecules(made)
    has_attributes = made[0].edge_attr is not None
    name = name or _name_of(came, label_column)
    return DatasetBundle(
        name=name,
        graphs=tuple(made),
        split=chosen,
        class_names=names,
        motif_nodes=None,
        drawing=drawing or ("molecule" if molecules else "plain"),
        card=DatasetCard(
            title=name,
            licence="yours" if not came.is_dataset else "that of the data set",
            citation="",
            source=source or came.source,
            checksum=checksum,
            origin="file",
            notes=" ".join(filter(None, told)),
            split=split_by,
        ),
        constraints=molecule_constraints if molecules and constraints is None else constraints,
        fill=came.fill if fill is None and has_attributes else fill,
        from_smiles=came.from_smiles,
    )


def _given_labels(
    graphs: Sequence[Data],
    labels: Iterable[Label | None] | None,
    label_column: int | str | None,
    came: Collection,
) -> list[Label | float | None]:
    if labels is None:
        column = label_column_of(label_column, came.tasks)
        return [
            label_of(graph, column, came.tasks, f"graph {place}")
            for place, graph in enumerate(graphs)
        ]
    if label_column is not None:
        raise DatasetError(
            "expected labels or label_column, got both; leave out label_column, which is for the graphs' "
            "own labels y."
        )
    with reading("one label per graph", advice="pass a list of whole numbers or texts"):
        given = list(labels)
    if len(given) != len(graphs):
        raise DatasetError(
            f"expected one label per graph, got {len(given)} labels for {len(graphs)} graphs; "
            "pass as many labels as graphs."
        )
    return list(given)


def _name_of(came: Collection, label_column: int | str | None) -> str:
    """The data set's own name, with the label that was chosen of several."""
    column = label_column_of(label_column, came.tasks)
    if column is None or len(came.tasks) < 2:
        return came.name or "own"
    return f"{came.name}/{came.tasks[column]}"


def _usable(graphs: Sequence[Data], labels: Sequence[Label | float | None]) -> list[int]:
    """The places of graphs with nodes and a label."""
    found = [
        place
        for place, (graph, label) in enumerate(zip(graphs, labels, strict=True))
        if label is not None and graph.num_nodes
    ]
    if not found:
        raise DatasetError(
            f"expected labels in the data set, got none for {len(graphs)} graphs; pass labels, one per graph."
        )
    return found


def _left_out(all_of_them: int, kept: int) -> str:
    gone = all_of_them - kept
    verb = "was" if gone == 1 else "were"
    return (
        f"{gone:,} of {all_of_them:,} graphs {verb} left out: no label, or no nodes."
        if gone
        else ""
    )


def _without_features(came: Collection) -> str:
    """What is said of graphs whose nodes have nothing: degrees would describe the input, not its edits."""
    bare = sum(isinstance(graph, Data) and _is_bare(graph) for graph in came.graphs)
    return "Nodes have no features: each gets the number 1." if came.is_dataset and bare else ""


def _is_bare(graph: Data) -> bool:
    return graph.x is None or (graph.x.dim() == 2 and not graph.x.size(1))


def _both_ways(graphs: list[Data], both_ways: bool) -> tuple[list[Data], str]:
    """The graphs with edges in both directions if asked for, and in words how many were changed."""
    if not both_ways:
        return graphs, ""
    made, changed = [], 0
    for place, graph in enumerate(graphs):
        found = way_back(graph, f"graph {place}")
        made.append(graph if found is None else found)
        changed += found is not None
    told = f"In {changed:,} of {len(graphs):,} graphs edges went one way, or twice: now each goes both ways."
    return made, told if changed else ""


def _numbered(
    labels: Sequence[Label | float | None], class_names: Sequence[str] | None, task: Task
) -> tuple[tuple[str, ...], list[int] | list[float]]:
    """Names of the classes and the number of each graph's; for values no names, and the values."""
    if task == "regression":
        return (), values_of(labels)
    numbers, names = class_numbers([as_class(label) for label in labels], class_names)
    return names, numbers


def _chosen_split(
    split: Splitting | Split | None,
    came: Collection,
    kept: Sequence[int],
    numbers: Sequence[float],
    seed: int,
    task: Task,
) -> tuple[Split, str]:
    """The split, and what it is in words."""
    whole = len(kept) == len(came.graphs)
    if isinstance(split, Split):
        return split if whole else split.among(kept), "as given"
    if split is None and came.split is not None:
        return came.split if whole else came.split.among(kept), came.split_by
    if split is None:
        split = "stratified" if came.is_dataset and task == "classification" else "random"
    if split == "stratified" and task == "regression":
        raise DatasetError(
            "expected a random split or one of your own for values, got 'stratified'; values have no classes."
        )
    words = "80/10/10 in every class" if split == "stratified" else "80/10/10 at random"
    return _split([int(number) for number in numbers], split, seed), f"{words}, seed {seed}"


def _as_data(graph: Data | Any, place: int) -> Data:
    if isinstance(graph, nx.Graph):
        return graph_from_networkx(graph, where=f"graph {place}")
    if isinstance(graph, Batch):
        raise DatasetError(
            f"expected one graph after the other, got a batch of {graph.num_graphs} as graph {place}; pass "
            "the data set itself, not a DataLoader."
        )
    if not isinstance(graph, Data):
        raise DatasetError(
            f"expected PyG Data or networkx graphs, got {type(graph).__name__} as graph {place}; "
            "convert it first."
        )
    copy: Data = graph.clone()
    if _is_bare(copy):
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


def _check_ends(graphs: Sequence[Data]) -> None:
    """Refuse edges to nodes that are not there: torch counts negative ones from the end."""
    for index, graph in enumerate(graphs):
        if graph.edge_index is None:
            continue
        try:
            check_edges(graph, int(graph.num_nodes or 0))
        except GraphError as problem:
            raise DatasetError(f"{str(problem).rstrip('.')} (graph {index}).") from problem


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
