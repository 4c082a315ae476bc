"""What a dataset object of PyG or OGB says of itself: its graphs, its own split, the names of its labels."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data, Dataset

from edgeflip.core import EdgeFill
from edgeflip.datasets.bundle import Split
from edgeflip.datasets.chemistry import SINGLE_BOND, check_smiles, molecule_graph, rdkit_chem
from edgeflip.datasets.family_names import FamilyName
from edgeflip.errors import ConfigError, DatasetError, GraphError, one_line, shown
from edgeflip.support import read_file

# Of so many molecules it is checked that their SMILES has an atom for each node.
_CHECKED = 100

OGB_SINGLE_BOND = torch.tensor([0, 0, 0])
"""The row that OGB gives a single bond: its numbers of kinds of bonds are others than PyG's."""


@dataclass(frozen=True)
class Collection:
    """Graphs as they came, and what is known of them.

    Attributes:
        graphs: the graphs, or what came as such.
        name: of the data set; empty for graphs of one's own.
        source: where the graphs come from.
        split: the data set's own split, None if it has none.
        split_by: that split in words.
        tasks: what the columns of the labels are called; empty where nobody knows.
        fill: the attributes of an added bond, where the kind of data set tells.
        from_smiles: makes a graph of this kind of a SMILES, where the kind of data set tells.
        is_dataset: whether they came as dataset objects.
    """

    graphs: Sequence[Any]
    name: str = ""
    source: str = "graphs in memory"
    split: Split | None = None
    split_by: str = ""
    tasks: tuple[str, ...] = ()
    fill: EdgeFill | None = None
    from_smiles: Callable[[str], Data] | None = None
    is_dataset: bool = False


def collect(graphs: Iterable[Any], *, own_split: bool = True) -> Collection:
    """Graphs, one dataset object, or three of them for training, validation and test, as one.

    Args:
        graphs: what came.
        own_split: whether the split that a data set has of its own is asked for.
    """
    if isinstance(graphs, list | tuple) and any(map(_is_dataset, graphs)):
        return _three(graphs)
    if not _is_dataset(graphs):
        return Collection(_all_of(graphs))
    whole, places = _whole(graphs)
    about = _about(whole)
    split = _own_split(graphs) if own_split and whole is graphs and places is None else None
    return Collection(
        _listed(whole, places, about),
        name=about.name,
        source=about.source,
        split=split,
        split_by=f"its own ({about.split})" if about.split else "its own",
        tasks=about.tasks,
        fill=about.fill,
        from_smiles=about.from_smiles,
        is_dataset=True,
    )


def _all_of(graphs: Any) -> list[Any]:
    """Graphs as a list; a data set of torch need not end by itself when it is gone through."""
    by_place = isinstance(graphs, torch.utils.data.Dataset) and hasattr(graphs, "__len__")
    if by_place and not isinstance(graphs, torch.utils.data.IterableDataset):
        return [graphs[place] for place in range(len(graphs))]
    return list(graphs)


def task_names(what: Any) -> tuple[str, ...]:
    """What the columns of the labels of a dataset object are called; empty where nobody knows."""
    return _about(_whole(what)[0]).tasks if _is_dataset(what) else ()


def _three(parts: Sequence[Any]) -> Collection:
    if len(parts) != 3 or not all(map(_is_dataset, parts)):
        raise DatasetError(
            f"expected three data sets, for training, validation and test, got {len(parts)} parts of which "
            f"{sum(map(_is_dataset, parts))} are data sets; pass these three, or one data set."
        )
    shared = _shared(parts)
    if shared:
        raise DatasetError(
            f"expected training, validation and test parts without a graph in common, got {shared:,} in two "
            "of them; keep training and test graphs apart."
        )
    collected = [collect(part) for part in parts]
    graphs = [graph for each in collected for graph in each.graphs]
    ends = torch.tensor([0, *(len(each.graphs) for each in collected)]).cumsum(0).tolist()
    first = collected[0]
    return Collection(
        graphs,
        name=first.name,
        source=first.source,
        split=Split(*(tuple(range(ends[part], ends[part + 1])) for part in range(3))),
        split_by="as given",
        tasks=first.tasks,
        fill=first.fill,
        from_smiles=first.from_smiles,
        is_dataset=True,
    )


def _shared(parts: Sequence[Any]) -> int:
    """How many graphs are in more than one part, as far as the parts are views of the same data."""
    seen: Counter[tuple[int, int]] = Counter()
    for part in parts:
        whole, places = _whole(part)
        # Views of a data set in memory are copies that share its tensors.
        same = id(getattr(whole, "_data", None) or whole)
        numbers = whole.indices() if places is None and hasattr(whole, "indices") else places
        seen.update({(same, int(place)) for place in numbers or ()})
    return sum(times > 1 for times in seen.values())


def _is_dataset(what: Any) -> bool:
    return isinstance(what, Dataset | torch.utils.data.Subset)


def _whole(what: Any) -> tuple[Any, list[int] | None]:
    """The data set that a view was taken of, and the places of the view in it; none for all."""
    if isinstance(what, torch.utils.data.Subset):
        whole, places = _whole(what.dataset)
        chosen = [int(place) for place in what.indices]
        return whole, chosen if places is None else [places[place] for place in chosen]
    indices = getattr(what, "_indices", None)
    return what, None if indices is None else [int(place) for place in indices]


@dataclass(frozen=True)
class _About:
    """What the kind of a data set tells of it."""

    name: str = ""
    source: str = ""
    split: str = ""
    tasks: tuple[str, ...] = ()
    smiles: tuple[str, ...] = field(default=(), repr=False)
    fill: EdgeFill | None = None
    from_smiles: Callable[[str], Data] | None = None


def _about(whole: Any) -> _About:
    from torch_geometric.datasets import GNNBenchmarkDataset, MoleculeNet, TUDataset

    if isinstance(whole, MoleculeNet):
        return _About(
            str(FamilyName("moleculenet", whole.name)),
            "MoleculeNet, by PyG",
            tasks=_moleculenet_tasks(whole),
            fill=SINGLE_BOND,
            from_smiles=molecule_with_bonds,
        )
    if isinstance(whole, TUDataset):
        return _About(str(FamilyName("tu", whole.name)), "the TU collection, by PyG")
    if isinstance(whole, GNNBenchmarkDataset):
        return _About(str(FamilyName("gnnbench", whole.name)), "Benchmarking GNNs, by PyG")
    if _is_ogb(whole):
        return _about_ogb(whole)
    return _About(source=f"PyG's {type(whole).__name__}")


def _is_ogb(whole: Any) -> bool:
    return hasattr(whole, "get_idx_split") and hasattr(whole, "meta_info")


def _about_ogb(whole: Any) -> _About:
    name, source = str(FamilyName("ogb", whole.name)), "the Open Graph Benchmark"
    split = str(whole.meta_info.get("split", ""))
    table = Path(whole.root) / "mapping" / "mol.csv.gz"
    if not table.is_file():
        return _About(name, source, split)
    rows = csv.DictReader(io.StringIO(read_file(table).decode("utf-8"), newline=""))
    tasks = tuple(key for key in rows.fieldnames or () if key not in ("smiles", "mol_id"))
    smiles = tuple(str(row.get("smiles") or "") for row in rows)
    return _About(name, source, split, tasks, smiles, OGB_SINGLE_BOND, ogb_molecule_graph)


def _moleculenet_tasks(whole: Any) -> tuple[str, ...]:
    """The names of the labels, from the head of the raw table; none if the file is not there."""
    file = Path(whole.raw_paths[0])
    if not file.is_file():
        return ()
    with file.open(encoding="utf-8") as table:
        names = next(csv.reader(table), [])
    chosen = whole.names[whole.name][4]
    return tuple(names[chosen]) if isinstance(chosen, slice) else tuple(names[chosen:][:1])


def _own_split(whole: Any) -> Split | None:
    """The split of OGB's data sets; none for others."""
    if not hasattr(whole, "get_idx_split"):
        return None
    try:
        parts = whole.get_idx_split()
    except (OSError, ValueError, KeyError) as problem:
        raise DatasetError(
            f"expected the split of {type(whole).__name__} in the folder split of {whole.root}, got "
            f"{type(problem).__name__}: {one_line(problem).rstrip('.')}; put its files there, or pass a "
            "split of your own."
        ) from problem
    return Split(*(tuple(int(place) for place in parts[key]) for key in ("train", "valid", "test")))


def _listed(whole: Any, places: list[int] | None, about: _About) -> list[Any]:
    """The graphs, each with its SMILES where a table has them."""
    if places is not None:
        # The places are those in the whole set, which a view would count anew.
        graphs = [_at(whole, place) for place in places]
    else:
        graphs = [whole[place] for place in range(len(whole))]
        places = list(range(len(graphs)))
    if about.smiles and places and max(places) < len(about.smiles):
        made = [
            _with_smiles(graph, about.smiles[p]) for graph, p in zip(graphs, places, strict=True)
        ]
        return made if are_molecules(made) else graphs
    return graphs


def _at(whole: Any, place: int) -> Any:
    """A graph by its place in the whole set, with the transform that the user gave."""
    graph = whole.get(place)
    return graph if whole.transform is None else whole.transform(graph)


def _with_smiles(graph: Any, smiles: str) -> Any:
    if isinstance(graph, Data) and smiles:
        graph.smiles = smiles
    return graph


def are_molecules(graphs: Sequence[Data]) -> bool:
    """Whether all graphs have a SMILES, and those that are looked at an atom for each of their nodes."""
    texts = [graph.to_dict().get("smiles") for graph in graphs]
    if not texts or not all(isinstance(text, str) for text in texts):
        return False
    try:
        chem = rdkit_chem()
    except ConfigError:
        return False
    return all(
        _atoms(chem, str(text)) == graph.num_nodes
        for graph, text in zip(graphs[:_CHECKED], texts, strict=False)
    )


def _atoms(chem: Any, smiles: str) -> int | None:
    from rdkit import rdBase

    try:
        check_smiles(smiles)
    except GraphError:
        return None
    with rdBase.BlockLogs():
        made = chem.MolFromSmiles(smiles)
    return None if made is None else int(made.GetNumAtoms())


def molecule_with_bonds(smiles: str) -> Data:
    """The graph of a SMILES as MoleculeNet has it: atoms and bonds with PyG's features, whole numbers."""
    graph = molecule_graph(smiles, bonds=True)
    graph.x = graph.x.long()
    del graph.z
    return graph


def ogb_molecule_graph(smiles: str) -> Data:
    """The graph of a SMILES as OGB has it, whose numbers of atoms and bonds are others than PyG's."""
    known = molecule_graph(smiles)  # says what is wrong with it
    try:
        from ogb.utils.mol import smiles2graph
    except ImportError:
        raise ConfigError(
            f"expected OGB to make a graph of {shown(smiles)}, got none installed; run pip install ogb."
        ) from None
    made = smiles2graph(smiles)
    return Data(
        x=torch.as_tensor(made["node_feat"]),
        edge_index=torch.as_tensor(made["edge_index"]),
        edge_attr=torch.as_tensor(made["edge_feat"]),
        smiles=known.smiles,
    )
