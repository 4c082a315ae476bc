"""Reading the molecule of a graph for typed edits, and finding out what the graph was made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import PAD, edge_attributes, edge_pairs, node_names
from edgeflip.datasets.bond_orders import are_unambiguous
from edgeflip.datasets.chemistry import is_molecule, molecule, rdkit_chem, without_hydrogens
from edgeflip.datasets.molecule_arrays import Ints, MoleculeArrays, versions_of
from edgeflip.datasets.molecule_features import AtomTypes, OgbLike, OneByOne, graphs_of, pyg_graph
from edgeflip.errors import ConfigError, GraphError

if TYPE_CHECKING:
    from edgeflip.datasets.molecule_building import Builder

# What the columns of Mutag0 stand for.
_ATOM_TYPES = (6, 8, 17, 1, 7, 9, 35, 16, 15, 53)


@dataclass(frozen=True, eq=False)
class ReadMolecule:
    """The molecule of a graph.

    Attributes:
        graph: The graph.
        base: The molecule, hydrogens that are nodes folded into their atoms.
        nodes: The node of each of its atoms [n].
        owners: For every node the atom that it is, or hangs on [nodes].
    """

    graph: Data
    base: MoleculeArrays
    nodes: Ints
    owners: Ints

    @property
    def has_hydrogens(self) -> bool:
        """Whether hydrogens are nodes."""
        return len(self.owners) > len(self.nodes)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the nodes."""
        return node_names(self.graph)


def read_molecule(graph: Data) -> ReadMolecule:
    """The molecule of a graph, where the graph leaves no doubt about it.

    Raises:
        GraphError: If it is none, or its bond orders cannot be told.
    """
    chem = rdkit_chem()
    if not isinstance(graph, Data) or not is_molecule(graph):
        raise GraphError(
            "expected a molecule for typed edits, a graph with smiles or with atomic numbers z, got neither; "
            "make it with molecule_graph, or edit its edges (edits='edges')."
        )
    if "edited_from" in graph:
        raise GraphError(
            "expected a molecule as it was read for typed edits, got a graph whose bonds were edited; read "
            "it from its SMILES."
        )
    whole = molecule(graph)
    atoms = [atom.GetAtomicNum() for atom in whole.GetAtoms()]
    known = "smiles" in graph or "read_from" in graph
    if not known and not are_unambiguous(whole, edge_pairs(graph)):
        raise GraphError(
            "expected a molecule whose bond orders follow from its atoms and hydrogens, got one where they "
            "do not; give its SMILES, or edit its edges (edits='edges')."
        )
    heavy = np.array([i for i, number in enumerate(atoms) if number != 1], dtype=np.int64)
    if "smiles" in graph or len(heavy) == len(atoms):
        every = np.arange(len(atoms))
        return ReadMolecule(graph, MoleculeArrays.of(chem, whole), every, every)
    folded = without_hydrogens(whole)
    if [atom.GetAtomicNum() for atom in folded.GetAtoms()] != [atoms[i] for i in heavy]:
        raise GraphError(
            "expected hydrogens that hang on one atom each, got others; edit its edges (edits='edges')."
        )
    place = {int(node): index for index, node in enumerate(heavy)}
    owners = np.array(
        [
            place[i] if i in place else place[whole.GetAtomWithIdx(i).GetNeighbors()[0].GetIdx()]
            for i in range(len(atoms))
        ],
        dtype=np.int64,
    )
    return ReadMolecule(graph, MoleculeArrays.of(chem, folded), heavy, owners)


def featuriser_for(read: ReadMolecule, wanted: Any, builder: Builder) -> Any:
    """Who makes the model's graphs: what was asked for, or what gives the input as it is.

    Raises:
        GraphError: If that does not give the input as it is.
    """
    makers: dict[str, Callable[[], Any]] = {
        "ogb-like": lambda: _ogb_like(read, builder),
        "atom-types": lambda: _atom_types(read),
    }
    if callable(wanted):
        makers = {"own": lambda: OneByOne(wanted, builder)}
    elif wanted is not None:
        makers = {wanted: makers[wanted]}
    for make in makers.values():
        made = make()
        if made is not None and _gives_input(read, made):
            return made
    if callable(wanted):
        raise ConfigError(
            "expected a featuriser that makes the input's graph of the input's molecule, got one that makes "
            "another; use the function that the graph was made with."
        )
    raise GraphError(
        "expected a molecule whose features edgeflip can make anew, got others; pass "
        "MoleculeMoves(features=function), where function makes the graph of an RDKit molecule, or edit its "
        "edges (edits='edges')."
    )


def _ogb_like(read: ReadMolecule, builder: Builder) -> Any:
    x: Any = read.graph.x
    if not isinstance(x, Tensor) or x.dim() != 2 or x.size(1) != 9 or read.has_hydrogens:
        return None
    names = edge_attributes(read.graph)
    if not names:
        return OgbLike(read.base, builder, x.dtype)
    if list(names) != ["edge_attr"]:
        return None

    def with_bonds(mol: Any) -> Data:
        graph = pyg_graph(mol, bonds=True)
        graph.x = graph.x.to(x.dtype)
        graph.edge_attr = graph.edge_attr.to(read.graph.edge_attr.dtype)
        return graph

    return OneByOne(with_bonds, builder)


def _atom_types(read: ReadMolecule) -> Any:
    x: Any = read.graph.x
    fits = isinstance(x, Tensor) and x.dim() == 2 and x.size(1) == len(_ATOM_TYPES)
    if not fits or edge_attributes(read.graph) or not read.has_hydrogens:
        return None
    return AtomTypes(read.base, _ATOM_TYPES, read.nodes, read.owners, x.dtype)


def _gives_input(read: ReadMolecule, made: Any) -> bool:
    """Whether the graph of the molecule as it is equals the input."""
    from edgeflip.datasets.molecule_arrays import Numbering
    from edgeflip.datasets.molecule_moves import MoleculeMoves

    numbering = Numbering.of(read.base.count, MoleculeMoves())
    rows = np.full((1, 1), PAD, dtype=np.int64)
    versions = versions_of(read.base, numbering, rows)
    try:
        if isinstance(made, OneByOne):
            (graph,) = made.graphs(rows, versions)
        else:
            (graph,) = graphs_of(made.featured(rows, versions), read.graph)
    except (IndexError, ValueError):
        return False
    return _same(graph, read.graph)


def _same(one: Data, two: Data) -> bool:
    x, y = one.x, two.x
    same = isinstance(x, Tensor) and isinstance(y, Tensor) and torch.equal(x, y.cpu())
    if not same or edge_pairs(one) != edge_pairs(two):
        return False
    for key in edge_attributes(two):
        if key not in one or not torch.equal(one[key], two[key].cpu()):
            return False
    return True
