"""How near a graph is to real ones: by the surroundings of its nodes, which Weisfeiler-Leman names.

Every node is named by its features, then by its own and its neighbours' names, and so on for a few
rounds. Graphs are compared by the names they share, counted: 0 is the same surroundings, 1 none in common.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch_geometric.data import Data

_Names: TypeAlias = npt.NDArray[np.uint64]
_Numbers: TypeAlias = npt.NDArray[np.int64]
_Shares: TypeAlias = npt.NDArray[np.float64]

_ROUNDS = 3

# Features that differ by less are the same.
_DECIMALS = 4

# Real graphs whose distance to their nearest neighbour is worked out; more would not change the median much.
_LOOKED_AT = 200


class RealGraphs:
    """Graphs that really exist, to be compared with.

    Args:
        graphs: The graphs; their labels `y` are read where they have one class each.

    Example:
        >>> from edgeflip.testing import example_graphs
        >>> graphs = example_graphs(20, seed=0)
        >>> real = RealGraphs(graphs)
        >>> real.nearest(graphs[3])
        0.0
    """

    def __init__(self, graphs: Sequence[Data]) -> None:
        self._graphs: list[Data] = list(graphs)
        self._usual: dict[int | None, float | None] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._sizes) if "_index" in vars(self) else len(self._graphs)

    def __getstate__(self) -> dict[str, Any]:
        """What comparing takes, for copies and worker processes: not the graphs themselves."""
        return {"_graphs": [], "_usual": dict(self._usual), "_index": self._index}

    def nearest(self, graph: Data, label: int | None = None) -> float | None:
        """Distance to the nearest of them, None where there is none of the class.

        Args:
            graph: Any graph.
            label: Only those of this class are looked at; None for all.
        """
        return self._distance(surroundings(graph), self._members(label))

    def nearest_place(self, graph: Data, label: int | None = None) -> int | None:
        """The place of the nearest of them that is not the same, None where there is none."""
        members = self._members(label)
        shares = self._shares(surroundings(graph), members)
        shares[shares == 1.0] = -1.0
        best = int(shares.argmax()) if len(shares) else 0
        return int(members[best]) if len(shares) and shares[best] >= 0 else None

    def usual(self, label: int | None = None) -> float | None:
        """Median distance of one of them to the nearest other one of its class; None where that is alone."""
        if label not in self._usual:
            self._usual[label] = self._median(label)
        return self._usual[label]

    def _median(self, label: int | None) -> float | None:
        members = self._members(label)
        step = max(1, len(members) // _LOOKED_AT)
        found = [
            self._distance(self._own(place), members[members != place])
            for place in members[::step].tolist()
        ]
        known = [each for each in found if each is not None]
        return float(np.median(known)) if known else None

    def _distance(self, counted: tuple[_Names, _Numbers], members: _Numbers) -> float | None:
        """To the nearest one of some of them."""
        return float(1 - self._shares(counted, members).max()) if len(members) else None

    def _shares(self, counted: tuple[_Names, _Numbers], members: _Numbers) -> _Shares:
        """What share of all surroundings each of some of them has in common with a graph [members]."""
        names, counts = counted
        known, starts, owners, own_counts = self._index[:4]
        places = np.searchsorted(known, names)
        there = places < len(known)
        there[there] = known[places[there]] == names[there]
        places, counted_here = places[there], counts[there]
        first, last = starts[places], starts[places + 1]
        length = last - first
        offset = np.arange(length.sum()) - np.repeat(length.cumsum() - length, length)
        at = np.repeat(first, length) + offset
        shared = np.bincount(
            owners[at],
            weights=np.minimum(own_counts[at], np.repeat(counted_here, length)),
            minlength=len(self._sizes),
        )[members]
        together = counts.sum() + self._sizes[members] - shared
        shares: _Shares = shared / np.maximum(together, 1)
        return shares

    def _members(self, label: int | None) -> _Numbers:
        labels: _Numbers = self._index[5]
        members: _Numbers = np.arange(len(labels))
        return members if label is None else members[labels == label]

    def _own(self, place: int) -> tuple[_Names, _Numbers]:
        known, starts, owners, counts = self._index[:4]
        at = (owners == place).nonzero()[0]
        names: _Names = known[np.searchsorted(starts, at, side="right") - 1]
        return names, counts[at]

    @property
    def _sizes(self) -> _Numbers:
        sizes: _Numbers = self._index[4]
        return sizes

    @cached_property
    def _index(self) -> tuple[Any, ...]:
        """Names, where each begins among the entries, owners and counts of entries, sizes and labels."""
        found = [surroundings(graph) for graph in self._graphs]
        names = np.concatenate([each for each, _ in found] or [np.empty(0, np.uint64)])
        counts = np.concatenate([each for _, each in found] or [np.empty(0, np.int64)])
        owners = np.repeat(np.arange(len(found)), [len(each) for each, _ in found])
        order = names.argsort(kind="stable")
        known, first = np.unique(names[order], return_index=True)
        starts = np.append(first, len(names))
        sizes = np.array([each.sum() for _, each in found], dtype=np.int64)
        labels = np.array([_label(graph) for graph in self._graphs], dtype=np.int64)
        return known, starts, owners[order], counts[order], sizes, labels


def surroundings(graph: Data) -> tuple[_Names, _Numbers]:
    """The names of all surroundings in a graph, and how often each is there."""
    nodes = int(graph.num_nodes or 0)
    names = _hashed(graph.x, nodes)
    edges: Any = graph.edge_index
    source, target = (each.cpu().numpy() for each in edges) if edges is not None else ([], [])
    kinds = _hashed(graph.to_dict().get("edge_attr"), len(source))
    rounds = [names]
    for _ in range(_ROUNDS):
        told = np.zeros(nodes, dtype=np.uint64)
        np.add.at(told, target, _mixed(names[source] + np.uint64(3) * kinds))
        names = _mixed(np.uint64(5) * names + told)
        rounds.append(names)
    found, counts = np.unique(np.concatenate(rounds), return_counts=True)
    return found, counts


def _hashed(values: Any, count: int) -> _Names:
    """A number for each row of features; rows that are the same have the same."""
    if not isinstance(values, torch.Tensor) or not values.numel():
        return np.ones(count, dtype=np.uint64)
    rows = values.detach().cpu().double().reshape(count, -1).numpy()
    whole = np.round(rows * 10**_DECIMALS).astype(np.int64).astype(np.uint64)
    weights = _mixed(np.arange(1, whole.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    return _mixed((whole * weights).sum(axis=1, dtype=np.uint64))


def _mixed(values: _Names) -> _Names:
    """Whole numbers spread over all of 64 bits."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def _label(graph: Data) -> int:
    """The class of a graph, -1 where it has none."""
    y: Any = graph.y
    if not isinstance(y, torch.Tensor) or y.numel() != 1 or y.is_floating_point():
        return -1
    return int(y)
