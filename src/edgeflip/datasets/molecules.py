"""Molecules: BBBP from SMILES, and Mutag0 from its files in the format of the TU collection.

No bond carries attributes: the published oracles read none, and an added bond would need some. What
bonds a BBBP molecule has is in its `smiles`; Mutag0 never says. Edits leave node features alone, so
those that count neighbours or hydrogens keep describing the input.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import NoReturn

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.datasets.bundle import DatasetBundle, DatasetCard, random_split
from edgeflip.datasets.catalogue import CatalogueEntry, catalogue
from edgeflip.datasets.chemistry import (
    READ_FROM,
    molecule_constraints,
    molecule_graph,
    molecule_or_none,
    rdkit_chem,
)
from edgeflip.datasets.dataset_objects import ogb_molecule_graph
from edgeflip.datasets.tu import graphs_of_table, whole_table
from edgeflip.errors import DatasetError, GraphError, shown

ATOMIC_NUMBERS = (6, 8, 17, 1, 7, 9, 35, 16, 15, 53)
"""What the ten atom labels of Mutag0 stand for: C, O, Cl, H, N, F, Br, S, P, I."""


def load_bbbp(name: str, data_dir: Path | None) -> DatasetBundle:
    """Load BBBP: does a molecule pass the blood-brain barrier?

    Eleven of the 2050 rows are no valid molecules; they are left out, as published. A graph has the
    nine atom features of PyG's `from_smiles` as numbers, and its `smiles`; hydrogens are no nodes.

    Args:
        name: `bbbp`.
        data_dir: the data folder.
    """
    entry = catalogue()[name]
    (content,) = _contents(entry, data_dir)
    graphs = []
    for row in csv.DictReader(io.StringIO(content.decode("utf-8"), newline="")):
        graph = molecule_or_none(row["smiles"])
        if graph is not None:
            graph.y = torch.tensor([int(row["p_np"])])
            graphs.append(graph)
    return _bundle(entry, graphs, notes="Eleven rows that RDKit cannot read are left out.")


def load_mutag0(name: str, data_dir: Path | None) -> DatasetBundle:
    """Load Mutag0: is a molecule mutagenic, by the nitro groups on its rings?

    Class 0 is mutagenic, as in the files. A graph has one of ten atom types per node, one-hot, its
    atomic numbers as `z`, and `motif`, true for the nodes of the ground-truth edges; hydrogens are
    nodes, and nothing tells single bonds from double ones.

    Args:
        name: `mutag0`.
        data_dir: the data folder.
    """
    entry = catalogue()[name]
    ends, marked, indicator, labels, atoms = (
        whole_table(content, file.path, columns)
        for content, file, columns in zip(
            _contents(entry, data_dir), entry.files, (2, 1, 1, 1, 1), strict=True
        )
    )
    types = torch.tensor(atoms[:, 0])
    numbers = torch.tensor(ATOMIC_NUMBERS)[types]
    in_motif = np.zeros(len(atoms), dtype=bool)
    in_motif[ends[marked[:, 0] == 1].ravel() - 1] = True
    graphs = graphs_of_table(ends, indicator[:, 0])
    first = 0
    for graph, label in zip(graphs, labels[:, 0], strict=True):
        nodes = slice(first, first := first + int(graph.num_nodes or 0))
        graph.x = torch.nn.functional.one_hot(types[nodes], len(ATOMIC_NUMBERS)).float()
        graph.y = torch.tensor([int(label)])
        graph.z = numbers[nodes].clone()
        graph.motif = torch.tensor(in_motif[nodes])
    return _bundle(
        entry,
        graphs,
        motif=True,
        notes="Nearly all mutagenic graphs hold the marked motif and nearly no others do.",
    )


def _contents(entry: CatalogueEntry, data_dir: Path | None) -> list[bytes]:
    if data_dir is None:
        _no_folder(entry)
    return [file.read(data_dir, otherwise=entry.obtain) for file in entry.files]


def _no_folder(entry: CatalogueEntry) -> NoReturn:
    raise DatasetError(
        f"expected a data folder for '{entry.name}', got none; set EDGEFLIP_DATA or data_dir, and "
        f"{entry.obtain}."
    )


def _motif_nodes(graph: Data) -> frozenset[int]:
    """The ends of the ground-truth edges; none where a graph has no such edge."""
    nodes: Tensor = graph.motif
    return frozenset(nodes.nonzero().flatten().tolist())


def _bundle(
    entry: CatalogueEntry, graphs: Sequence[Data], *, notes: str, motif: bool = False
) -> DatasetBundle:
    return DatasetBundle(
        name=entry.name,
        graphs=tuple(graphs),
        split=random_split(len(graphs)),
        class_names=entry.class_names,
        motif_nodes=_motif_nodes if motif else None,
        drawing="molecule",
        card=DatasetCard(
            title=entry.title,
            licence=entry.licence,
            citation=entry.citation,
            source=entry.source,
            checksum=" ".join(file.sha256 for file in entry.files),
            origin="file",
            notes=notes,
        ),
        constraints=molecule_constraints,
        from_smiles=smiles_reader(entry.name),
    )


def smiles_reader(dataset: str | None) -> Callable[[str], Data]:
    """What makes a graph of a SMILES as a dataset of molecules has them; `molecule_graph` for most."""
    if (dataset or "").startswith("ogb:"):
        return ogb_molecule_graph
    return mutag0_graph if dataset == "mutag0" else molecule_graph


def mutag0_graph(smiles: str) -> Data:
    """The graph of a SMILES as Mutag0 has it: hydrogens are nodes, of one of ten atom types each.

    Its SMILES goes along as `read_from`, so that it is drawn and written as the molecule that was given.

    Raises:
        GraphError: If it is no molecule, or has an atom of another type.
    """
    chem = rdkit_chem()
    molecule_graph(smiles)  # says what is wrong with it
    whole = chem.AddHs(chem.MolFromSmiles(smiles))
    others = sorted({atom.GetSymbol() for atom in whole.GetAtoms()} - _symbols(chem))
    if others:
        known = ", ".join(sorted(_symbols(chem)))
        raise GraphError(
            f"expected atoms that Mutag0 has ({known}), got {', '.join(others)} in "
            f"{shown(smiles)}; take another molecule, or another oracle."
        )
    numbers = [atom.GetAtomicNum() for atom in whole.GetAtoms()]
    ends = [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in whole.GetBonds()]
    both = sorted({*ends, *((v, u) for u, v in ends)})
    types = torch.tensor([ATOMIC_NUMBERS.index(number) for number in numbers])
    return Data(
        x=torch.nn.functional.one_hot(types, len(ATOMIC_NUMBERS)).float(),
        edge_index=torch.tensor(both, dtype=torch.long).reshape(-1, 2).t().contiguous(),
        z=torch.tensor(numbers),
        # Charges and bond orders, which the graph itself has no place for.
        **{READ_FROM: smiles},
    )


def _symbols(chem: ModuleType) -> set[str]:
    table = chem.GetPeriodicTable()
    return {str(table.GetElementSymbol(number)) for number in ATOMIC_NUMBERS}
