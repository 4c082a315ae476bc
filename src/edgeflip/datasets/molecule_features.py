"""What a model reads of an edited molecule: features that follow the atoms and bonds there are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from edgeflip.datasets.chemistry import rdkit_chem
from edgeflip.datasets.molecule_arrays import Ints, MoleculeArrays, Versions
from edgeflip.datasets.molecule_perception import Perception
from edgeflip.errors import ConfigError, one_line

if TYPE_CHECKING:
    from edgeflip.datasets.molecule_building import Builder

# What formal charges are counted from in PyG's columns.
_CHARGE = 5


@dataclass(frozen=True, eq=False)
class Featured:
    """Graphs of edited molecules, one after the other.

    Attributes:
        x: Node features [nodes, features].
        numbers: Atomic numbers [nodes].
        edges: Edges in both directions, in order; nodes count on from graph to graph [2, edges].
        sizes: Nodes of each graph [graphs].
    """

    x: Tensor
    numbers: Tensor
    edges: Tensor
    sizes: Ints


class FeaturiserOfMany(Protocol):
    """Makes the graphs of many versions of a molecule at once."""

    name: str

    def featured(self, rows: Ints, made: Versions) -> Featured:
        """The graphs of versions, whose moves these are."""
        ...


class OgbLike:
    """PyG's nine atom features as numbers: those of `molecule_graph` and of BBBP.

    Args:
        base: The molecule.
        builder: Who asks RDKit.
        dtype: Of the features.
    """

    name = "ogb-like"

    def __init__(self, base: MoleculeArrays, builder: Builder, dtype: torch.dtype) -> None:
        self._base, self._dtype = base, dtype
        self._perception = Perception(base, builder)

    def featured(self, rows: Ints, made: Versions) -> Featured:
        """See `FeaturiserOfMany`."""
        alive = made.alive
        sizes = alive.sum(axis=1)
        x = np.empty((int(sizes.sum()), 9), dtype=np.int64)
        x[:, 0] = made.numbers[alive]
        x[:, 2] = (made.degrees + made.hydrogens)[alive]
        x[:, 3] = made.charges[alive] + _CHARGE
        x[:, 4] = made.hydrogens[alive]
        width = alive.shape[1] - self._base.count
        radicals = np.pad(self._base.radicals, (0, width))
        x[:, 5] = np.broadcast_to(radicals, alive.shape)[alive]
        seen = self._perception.of(rows, made)
        x[:, 1], x[:, 6] = seen.chirality, seen.hybridisation
        x[:, 7], x[:, 8] = seen.aromatic, seen.in_ring
        return Featured(
            torch.from_numpy(x).to(self._dtype),
            torch.from_numpy(x[:, 0].copy()),
            torch.from_numpy(seen.bonds.ends),
            sizes,
        )


def _both_ways(one: Ints, two: Ints, nodes: int) -> Tensor:
    keys = np.concatenate([one * nodes + two, two * nodes + one])
    keys.sort()
    return torch.from_numpy(np.stack([keys // max(1, nodes), keys % max(1, nodes)]))


class AtomTypes:
    """One column per element, with hydrogens as nodes: Mutag0.

    Kept atoms and hydrogens stay in the order of the input; what is new follows them.

    Args:
        base: The molecule, its hydrogens folded into their atoms.
        columns: The atomic number of each column.
        nodes: The node of each atom of the base [n].
        owners: For every node of the input the atom of the base that it is or hangs on [nodes].
        dtype: Of the features.
    """

    name = "atom-types"

    def __init__(
        self,
        base: MoleculeArrays,
        columns: tuple[int, ...],
        nodes: Ints,
        owners: Ints,
        dtype: torch.dtype,
    ) -> None:
        self._base, self._dtype = base, dtype
        self._columns = np.full(256, -1, dtype=np.int64)
        self._columns[list(columns)] = np.arange(len(columns))
        self._width = len(columns)
        is_atom = np.zeros(len(owners), dtype=np.bool_)
        is_atom[nodes] = True
        self._hydrogens = (~is_atom).nonzero()[0]
        self._owner = owners[self._hydrogens]
        # Which of its atom's hydrogens each is.
        self._rank = np.array(
            [int((self._owner[:i] == owner).sum()) for i, owner in enumerate(self._owner)],
            dtype=np.int64,
        )
        self._nodes = nodes

    def featured(self, rows: Ints, made: Versions) -> Featured:
        """See `FeaturiserOfMany`."""
        count, places = made.alive.shape
        n, own = self._base.count, len(self._hydrogens)
        hydrogens = np.where(made.alive, made.hydrogens, 0)
        # Of every node: its version, where it stands there, what it is, and the atom that it hangs on.
        row, place = made.alive.nonzero()
        order = np.concatenate([self._nodes, n + own + np.arange(places - n)])
        parts = [(row, order[place], made.numbers[row, place], place, np.zeros_like(row))]
        row, which = (self._rank < hydrogens[:, self._owner]).nonzero()
        parts.append(
            (row, self._hydrogens[which], np.ones_like(row), self._owner[which], np.ones_like(row))
        )
        before = np.bincount(self._owner, minlength=places)
        extra = np.maximum(hydrogens - before, 0)
        row, place = extra.nonzero()
        times = extra[row, place]
        row, place = row.repeat(times), place.repeat(times)
        later = n + own + (places - n) + place
        parts.append((row, later, np.ones_like(row), place, np.ones_like(row)))
        row, order, numbers, atom, hangs = (
            np.concatenate([part[i] for part in parts]) for i in range(5)
        )
        sorted_ = np.lexsort([order, row])
        row, numbers, atom, hangs = row[sorted_], numbers[sorted_], atom[sorted_], hangs[sorted_]
        total = len(row)
        index = np.full((count, places), -1, dtype=np.int64)
        heavy = hangs == 0
        index[row[heavy], atom[heavy]] = heavy.nonzero()[0]
        light = (~heavy).nonzero()[0]
        one, two = [light], [index[row[light], atom[light]]]
        version, bond = made.bonds.nonzero()
        one.append(index[version, self._base.ends[0][bond]])
        two.append(index[version, self._base.ends[1][bond]])
        version, column = (made.new[:, :, 2] > 0).nonzero()
        ends = made.new[version, column]
        one.append(index[version, ends[:, 0]])
        two.append(index[version, ends[:, 1]])
        x = torch.zeros(total, self._width, dtype=self._dtype)
        x[torch.arange(total), torch.from_numpy(self._columns[numbers])] = 1
        return Featured(
            x,
            torch.from_numpy(numbers),
            _both_ways(np.concatenate(one), np.concatenate(two), total),
            np.bincount(row, minlength=count),
        )


class OneByOne:
    """A function of the user's: makes the graph of an RDKit molecule; slower, since nothing is shared.

    Args:
        function: The function.
        builder: Who asks RDKit.
    """

    def __init__(self, function: Callable[[Any], Data], builder: Builder) -> None:
        self._function, self._builder = function, builder
        self.name = getattr(function, "__name__", type(function).__name__)

    def graphs(self, rows: Ints, made: Versions) -> list[Data]:
        """The graph of each version."""
        graphs = []
        for place, row in enumerate(rows.tolist()):
            mol = self._builder.molecule(row, made, place)
            try:
                graph = self._function(mol.GetMol())
            except Exception as error:
                raise ConfigError(
                    "expected a featuriser that makes a graph of an RDKit molecule, got "
                    f"{type(error).__name__}: {one_line(error)}; correct it."
                ) from error
            if not isinstance(graph, Data):
                raise ConfigError(
                    "expected a featuriser that returns a graph (Data), got "
                    f"{type(graph).__name__}; correct it."
                )
            graphs.append(graph)
        return graphs


def pyg_graph(mol: Any, *, bonds: bool) -> Data:
    """PyG's nine atom features of an RDKit molecule, with three bond features where they are wanted."""
    from torch_geometric.utils.smiles import from_rdmol

    rdkit_chem()
    graph: Data = from_rdmol(mol)
    graph.z = graph.x[:, 0].clone()
    graph.x = graph.x.float()
    if not bonds:
        del graph.edge_attr
    return graph


def graphs_of(featured: Featured, like: Data) -> list[Data]:
    """Featured molecules as graphs of their own."""
    graphs, start, edge = [], 0, 0
    owner = torch.from_numpy(np.arange(len(featured.sizes)).repeat(featured.sizes))
    per_graph = torch.bincount(owner[featured.edges[0]], minlength=len(featured.sizes)).tolist()
    for size, edges in zip(featured.sizes.tolist(), per_graph, strict=True):
        graph = Data(
            x=featured.x[start : start + size],
            edge_index=featured.edges[:, edge : edge + edges] - start,
        )
        if "z" in like:
            graph.z = featured.numbers[start : start + size]
        graphs.append(graph)
        start, edge = start + size, edge + edges
    return graphs


def batch_of(featured: Featured, like: Data, device: torch.device | None) -> Batch:
    """Featured molecules as one PyG batch."""
    sizes = torch.from_numpy(featured.sizes)
    batch = Batch(
        x=featured.x,
        edge_index=featured.edges,
        batch=torch.arange(len(sizes)).repeat_interleave(sizes),
        ptr=torch.nn.functional.pad(sizes.cumsum(0), (1, 0)),
    )
    if "z" in like:
        batch.z = featured.numbers
    batch._num_graphs = len(sizes)
    target = device or torch.device("cpu")
    return batch if target.type == "cpu" else batch.to(target)
