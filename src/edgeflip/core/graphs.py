"""Undirected simple graphs as PyG `Data`, and the numbering of their node pairs.

Inside edgeflip an unordered node pair has one number, its *pair id* in `0 .. n(n-1)/2 - 1`, counted
row by row through the upper triangle: (0,1), (0,2), …, (0,n-1), (1,2), … An edit is a pair id: it
removes the pair's edge when there is one and adds it when there is none.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core.parts import SpanningTree
from edgeflip.errors import GraphError

Edge: TypeAlias = tuple[int, int]
"""An unordered node pair `(u, v)` with `u < v`."""

_Ids: TypeAlias = npt.NDArray[np.int64]


def pair_ids(sources: Tensor, targets: Tensor, num_nodes: int) -> Tensor:
    """Ids of unordered node pairs.

    Args:
        sources: One end of each pair, any shape.
        targets: The other end, same shape; the order of the two ends does not matter.
        num_nodes: Number of nodes of the graph.

    Example:
        >>> pair_ids(torch.tensor([0, 3]), torch.tensor([1, 2]), num_nodes=4).tolist()
        [0, 5]
    """
    low = torch.minimum(sources, targets)
    high = torch.maximum(sources, targets)
    return low * (2 * num_nodes - low - 1) // 2 + high - low - 1


def id_pairs(ids: Tensor, num_nodes: int | Tensor) -> tuple[Tensor, Tensor]:
    """Both ends `(u, v)`, `u < v`, of pair ids; the inverse of `pair_ids`.

    Args:
        ids: Pair ids, any shape.
        num_nodes: Number of nodes of the graph, or of the graph of each pair.

    Example:
        >>> u, v = id_pairs(torch.tensor([0, 5]), num_nodes=4)
        >>> list(zip(u.tolist(), v.tolist()))
        [(0, 1), (2, 3)]
    """
    width = 2 * num_nodes - 1
    # Solve the row's quadratic in floating point, then correct the last unit, which rounding can cost.
    low = ((width - torch.sqrt((width * width - 8 * ids).double())) / 2).long()
    low = torch.where(low * (width - low) // 2 > ids, low - 1, low)
    low = torch.where((low + 1) * (width - low - 1) // 2 <= ids, low + 1, low)
    return low, ids - low * (width - low) // 2 + low + 1


@dataclass(frozen=True, eq=False)
class PairSpace:
    """The node pairs of one checked graph: which are edges, and where they stand in `edge_index`.

    Build it with `PairSpace.of(graph)`, which refuses graphs that cannot be explained.

    Attributes:
        graph: The graph itself, untouched.
        num_nodes: Number of nodes n.
        num_pairs: Number of unordered pairs, n(n-1)/2.
        edge_ids: Ids of the existing edges, ascending [m].
        columns: Where each edge stands in `edge_index`, one column per direction [m, 2].
    """

    graph: Data
    num_nodes: int
    num_pairs: int
    edge_ids: Tensor
    columns: Tensor
    _slots: Tensor | None = field(repr=False, default=None)
    _ends: Tensor | None = field(repr=False, default=None)

    @classmethod
    def of(cls, graph: Data) -> PairSpace:
        """Check a graph and number its pairs.

        Raises:
            GraphError: If the graph is empty, has one node, is directed, repeats an edge, names a
                node that does not exist, has features that are not finite, or has more or fewer names
                than nodes.
        """
        num_nodes = _checked_num_nodes(graph)
        check_names(graph)
        _check_features(graph, num_nodes)
        edges = check_edges(graph, num_nodes)
        _check_edge_attributes(graph)
        # NumPy: every graph that is explained comes through here, and its small arrays cost less there.
        source, target = edges.numpy()
        column = np.arange(len(source))
        loops = source[source == target]
        if len(loops):
            column = np.flatnonzero(source != target)
            source, target = source[column], target[column]
        low, high = np.minimum(source, target), np.maximum(source, target)
        ids = low * (2 * num_nodes - low - 1) // 2 + high - low - 1
        directed = 2 * ids + (source > target)
        order = directed.argsort(kind="stable")
        directed = directed[order]
        if not _alternate(directed):
            _raise_directed_or_duplicate(torch.from_numpy(directed), num_nodes)
        if len(loops):
            _check_self_loops(loops)
        num_pairs = num_nodes * (num_nodes - 1) // 2
        edge_ids = directed[::2] // 2
        slots = ends = None
        if num_pairs <= _TABLE_LIMIT:
            places = np.full(num_pairs, -1)
            places[edge_ids] = np.arange(len(edge_ids))
            all_ends = _all_ends if num_nodes <= _KEPT_ENDS else _all_ends.__wrapped__
            slots, ends = torch.from_numpy(places), all_ends(num_nodes)
        columns = torch.from_numpy(column[order].reshape(-1, 2))
        return cls(graph, num_nodes, num_pairs, torch.from_numpy(edge_ids), columns, slots, ends)

    @cached_property
    def tree(self) -> SpanningTree:
        """A spanning tree, which tells what cuts the graph."""
        return SpanningTree.of(self)

    def __repr__(self) -> str:
        """Nodes and edges."""
        return f"PairSpace({self.num_nodes} nodes, {self.edge_ids.numel()} edges)"

    def slots(self, ids: Tensor) -> Tensor:
        """Position of each pair in `edge_ids`, or -1 where the pair is no edge; any shape."""
        if self._slots is not None:
            return self._slots[ids]
        index = torch.searchsorted(self.edge_ids, ids).clamp_(max=max(0, self.edge_ids.numel() - 1))
        if not self.edge_ids.numel():
            return torch.full_like(ids, -1)
        return torch.where(self.edge_ids[index] == ids, index, -1)

    def ends(self, ids: Tensor) -> Tensor:
        """Both ends of pairs, the smaller first [2, and the shape of ids]."""
        if self._ends is not None:
            return self._ends[:, ids]
        return torch.stack(id_pairs(ids, self.num_nodes))

    def is_edge(self, ids: Tensor) -> Tensor:
        """Whether each pair is an edge of the graph; any shape."""
        return self.slots(ids) >= 0

    def non_edge_ids(self) -> Tensor:
        """Ids of all pairs without an edge, ascending [num_pairs - m]."""
        try:
            missing = np.ones(self.num_pairs, dtype=np.bool_)
            missing[self.edge_ids.numpy()] = False
            return torch.from_numpy(missing.nonzero()[0])
        except (RuntimeError, ValueError, MemoryError):
            raise GraphError(
                f"expected a graph whose node pairs fit into memory, got {self.num_pairs:,} of them; allow "
                "no additions, or take a part of the graph."
            ) from None

    def ids_of(self, edges: Iterable[Edge]) -> Tensor:
        """Pair ids of edges given as node pairs, in either orientation.

        Raises:
            GraphError: If an end is not a node of the graph, or both ends are the same.
        """
        nodes, ids = self.num_nodes, []
        for u, v in edges:
            low, high = sorted((int(u), int(v)))
            if low == high or low < 0 or high >= nodes:
                raise GraphError(
                    f"expected a pair of different nodes in 0..{nodes - 1}, "
                    f"got ({int(u)}, {int(v)}); correct the pair."
                )
            ids.append(low * (2 * nodes - low - 1) // 2 + high - low - 1)
        return torch.tensor(ids, dtype=torch.long)

    def edges_of(self, ids: Tensor) -> list[Edge]:
        """Node pairs of pair ids, in their order."""
        u, v = self.ends(ids.flatten()).tolist()
        return list(zip(u, v, strict=True))


# A table entry per pair makes look-ups one gather; of more pairs (n > 632) making it takes longer.
_TABLE_LIMIT = 200_000
# The ends of all pairs are the same for all graphs of a size; up to so many nodes they are kept.
_KEPT_ENDS = 128
# Ids of pairs, and eight times the square of this, fit into 64 bits.
_MOST_NODES = 500_000_000


@lru_cache(maxsize=_KEPT_ENDS)
def _all_ends(num_nodes: int) -> Tensor:
    """Both ends of every pair [2, pairs]."""
    return torch.triu_indices(num_nodes, num_nodes, offset=1)


def edge_pairs(graph: Data) -> frozenset[Edge]:
    """The undirected edges of a graph as node pairs, without self-loops.

    Example:
        >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> sorted(edge_pairs(path))
        [(0, 1), (1, 2)]
    """
    source, target = _edge_index(graph).tolist()
    return frozenset((min(u, v), max(u, v)) for u, v in zip(source, target, strict=True) if u != v)


def non_edges(graph: Data) -> frozenset[Edge]:
    """The node pairs of a graph that have no edge."""
    space = PairSpace.of(graph)
    return frozenset(space.edges_of(space.non_edge_ids()))


def canonical(graph: Data) -> Data:
    """A copy of the graph with its edges in lexicographic order; two equal graphs become identical."""
    edge_index = _edge_index(graph)
    order = torch.argsort(edge_index[0] * (int(graph.num_nodes or 0) + 1) + edge_index[1])
    copy = graph.clone()
    for key, value in graph.to_dict().items():
        if key == "edge_index":
            copy[key] = edge_index[:, order]
        elif isinstance(value, Tensor) and graph.is_edge_attr(key):
            copy[key] = value[order]
    return copy


def fingerprint(graph: Data) -> str:
    """A short hash of everything in the graph that a model can read, whatever the order of edges.

    Example:
        >>> one = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
        >>> two = Data(edge_index=torch.tensor([[1, 0], [0, 1]]), num_nodes=2)
        >>> fingerprint(one) == fingerprint(two)
        True
    """
    if not isinstance(graph, Data):
        raise no_graph(graph)
    digest = hashlib.sha256(f"n={graph.num_nodes}".encode())
    for key, value in sorted(canonical(graph).to_dict().items()):
        if isinstance(value, Tensor):
            digest.update(f"{key}:{value.dtype}:{tuple(value.shape)}".encode())
            flat = value.detach().cpu().contiguous().flatten()
            digest.update(flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b"")
        elif isinstance(value, str | int | float | bool) and key != "num_nodes":
            digest.update(f"{key}={value!r}".encode())
    return digest.hexdigest()[:16]


def _edge_index(graph: Data) -> Tensor:
    edge_index = graph.edge_index
    if not isinstance(edge_index, Tensor):
        raise GraphError(
            f"expected a graph with edge_index, got one with {edge_index!r}; "
            "set edge_index (an empty [2, 0] tensor for a graph without edges)."
        )
    if edge_index.layout != torch.strided:
        raise GraphError(
            f"expected a dense edge_index, got {edge_index.layout}; pass edge_index.to_dense()."
        )
    return edge_index


def no_graph(value: Any) -> GraphError:
    """The error for what is no PyG graph, with the one call that makes one of it.

    Example:
        >>> print(no_graph("CCO"))
        expected a PyG graph, got the text 'CCO'; pass molecule_graph(text) for a SMILES, read_graph(path) \
for a file.
    """
    kind = type(value)
    got, call = kind.__name__, "pass torch_geometric.data.Data(x=..., edge_index=...)"
    if isinstance(value, str | bytes):
        got = f"the text {value[:40]!r}"
        call = "pass molecule_graph(text) for a SMILES, read_graph(path) for a file"
    elif kind.__module__.startswith("networkx"):
        got = f"a networkx {kind.__name__}"
        call = "pass graph_from_networkx(graph), from edgeflip"
    elif isinstance(value, list | tuple):
        inside = type(value[0]).__name__ if value else "nothing"
        got = f"a {kind.__name__} of {inside}"
        edges = "Data(edge_index=to_undirected(torch.tensor(edges).t()), x=...) for a list of edges"
        call = f"pass the graphs to explain_many(graphs), or {edges}"
    elif kind.__name__ == "HeteroData":
        call = "pass data.to_homogeneous(), and a model that reads it"
    elif kind.__name__ == "DataLoader":
        call = "pass its data set, loader.dataset"
    return GraphError(f"expected a PyG graph, got {got}; {call}.")


def _checked_num_nodes(graph: Data) -> int:
    if not isinstance(graph, Data):
        raise no_graph(graph)
    together = getattr(graph, "_num_graphs", None)
    if together is not None:
        raise GraphError(
            f"expected one graph, got a batch of {together}; pass batch.to_data_list(), or its graphs one "
            "by one."
        )
    _edge_index(graph)
    num_nodes = int(graph.num_nodes or 0)
    if num_nodes == 0:
        raise GraphError(
            "expected a graph with nodes, got an empty one; give it at least two nodes."
        )
    if num_nodes > _MOST_NODES:
        raise GraphError(
            f"expected a graph of at most {_MOST_NODES:,} nodes, got {num_nodes:,}; correct num_nodes."
        )
    if num_nodes == 1:
        raise GraphError(
            "expected a graph with at least two nodes, got one node; there is no node pair to edit."
        )
    return num_nodes


def check_edges(graph: Data, num_nodes: int) -> Tensor:
    """The edge_index of a graph, checked for its type, its shape and the nodes it names [2, edges]."""
    edge_index = _edge_index(graph)
    if edge_index.dim() != 2 or edge_index.size(0) != 2 or edge_index.is_floating_point():
        raise GraphError(
            f"expected edge_index as integers [2, edges], got {edge_index.dtype} "
            f"{list(edge_index.shape)}; see the PyG documentation of Data."
        )
    edge_index = edge_index.detach().cpu().long()
    if edge_index.numel():
        lowest, highest = (int(value) for value in edge_index.aminmax())
        if lowest < 0 or highest >= num_nodes:
            raise GraphError(
                f"expected node numbers in 0..{num_nodes - 1}, got edges from {lowest} to {highest}; "
                "correct edge_index or num_nodes."
            )
    return edge_index


def check_names(graph: Data, where: str = "") -> None:
    """Refuse lists of names or words that do not have one for each node; none at all are fine.

    Args:
        graph: Whose names.
        where: Which graph that is, where it is one of many, such as ` in graph 3`.

    Raises:
        GraphError: If there are more or fewer names than nodes.
    """
    known = graph.to_dict()
    for key in ("node_names", "tokens"):
        names = known.get(key)
        if isinstance(names, list | tuple) and len(names) != graph.num_nodes:
            raise GraphError(
                f"expected {key} with one text for each of {graph.num_nodes} nodes, got {len(names)}"
                f"{where}; correct {key}, or leave it out."
            )


def all_finite(values: Tensor) -> bool:
    """Whether no number is NaN or infinite; mostly one sum is enough to tell.

    Example:
        >>> all_finite(torch.tensor([1.0, 2.0])), all_finite(torch.tensor([1.0, float("nan")]))
        (True, False)
    """
    # Numbers whose sum is finite are finite; large ones may have a sum that is not.
    return math.isfinite(values.sum()) or bool(torch.isfinite(values).all())


def _check_features(graph: Data, num_nodes: int) -> None:
    x: Any = graph.x
    if x is None:
        return
    if not isinstance(x, Tensor) or x.dim() == 0 or x.size(0) != num_nodes:
        raise GraphError(
            f"expected node features x with one row per node ({num_nodes}), "
            f"got {list(x.shape) if isinstance(x, Tensor) else type(x).__name__}; correct x."
        )
    if x.layout != torch.strided:
        raise GraphError(f"expected dense node features, got {x.layout}; pass x.to_dense().")
    if x.is_floating_point() and not all_finite(x):
        row = int((~torch.isfinite(x.reshape(num_nodes, -1)).all(dim=1)).nonzero()[0])
        raise GraphError(
            f"expected finite node features, got NaN or infinity at node {row}; clean x first."
        )


def _check_edge_attributes(graph: Data) -> None:
    """Refuse edge attributes that PyG would take for something else, or that are not finite."""
    known = graph.to_dict()
    for key in ("edge_attr", "edge_weight"):
        value = known.get(key)
        if value is None:
            continue
        if not isinstance(value, Tensor) or value.dim() == 0 or value.size(0) != graph.num_edges:
            raise GraphError(
                f"expected {key} with one row per column of edge_index ({graph.num_edges}), got "
                f"{list(value.shape) if isinstance(value, Tensor) else type(value).__name__}; correct {key}."
            )
        if value.layout != torch.strided:
            raise GraphError(f"expected a dense {key}, got {value.layout}; pass {key}.to_dense().")
        if value.is_floating_point() and not all_finite(value):
            raise GraphError(f"expected a finite {key}, got NaN or infinity; clean it first.")


def _alternate(directed: _Ids) -> bool:
    """Whether every pair stands there exactly twice, once per direction: twice its id, and one more."""
    if len(directed) % 2:
        return False
    first, second = directed[::2], directed[1::2]
    both = not (first % 2).any() and bool((second == first + 1).all())
    return both and bool((first[1:] > first[:-1]).all())


def _raise_directed_or_duplicate(directed: Tensor, num_nodes: int) -> None:
    ordered = directed // 2
    repeats = directed[1:][directed[1:] == directed[:-1]]
    if repeats.numel():
        u, v = id_pairs(repeats[:1] // 2, num_nodes)
        raise GraphError(
            f"expected each edge once, got ({int(u)}, {int(v)}) more than once; "
            "call torch_geometric.utils.coalesce first."
        )
    ids, counts = torch.unique(ordered, return_counts=True)
    u, v = id_pairs(ids[counts == 1][:1], num_nodes)
    raise GraphError(
        f"expected an undirected graph, got ({int(u)}, {int(v)}) in one direction only; "
        "call torch_geometric.utils.to_undirected first."
    )


def _check_self_loops(loops: _Ids) -> None:
    nodes, counts = np.unique(loops, return_counts=True)
    if (counts > 1).any():
        raise GraphError(
            f"expected each edge once, got the self-loop at node {nodes[counts > 1][0]} more than once; "
            "call torch_geometric.utils.coalesce first."
        )
