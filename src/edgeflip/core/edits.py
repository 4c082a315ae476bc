"""Edit sets: which edges come and which go."""

from __future__ import annotations

import copy
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import compress
from operator import index
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core.graphs import Edge, PairSpace, edge_pairs
from edgeflip.errors import EditError, shown

_Ids: TypeAlias = npt.NDArray[np.int64]
_Mask: TypeAlias = npt.NDArray[np.bool_]

FillValue: TypeAlias = (
    float | Tensor | Literal["zeros", "mean", "mode"] | Callable[[Data, Edge], Tensor]
)
"""The value of an added edge's attribute.

A number, a row, `"zeros"`, the `"mean"` or the most common row (`"mode"`) of the graph's own edges, or
a function that takes the graph and one edge `(u, v)` and returns the row of that edge.
"""

EdgeFill: TypeAlias = FillValue | Mapping[str, FillValue]
"""A fill for `edge_attr`, or one fill per edge-level attribute."""


@dataclass(frozen=True, slots=True)
class EditSet:
    """Edges to add to and to remove from an undirected graph.

    Pairs may be given in either orientation; they are stored with the smaller node first.

    Attributes:
        added: Edges to add.
        removed: Edges to remove; disjoint from `added`.

    Example:
        >>> edits = EditSet(added={(3, 1)}, removed={(0, 1)})
        >>> print(edits)
        +(1, 3) -(0, 1)
        >>> len(edits)
        2
    """

    added: frozenset[Edge] = frozenset()
    removed: frozenset[Edge] = frozenset()

    def __init__(self, added: Iterable[Edge] = (), removed: Iterable[Edge] = ()) -> None:
        """Store the pairs, smaller node first."""
        object.__setattr__(self, "added", _oriented(added))
        object.__setattr__(self, "removed", _oriented(removed))
        both = self.added & self.removed
        if both:
            raise EditError(
                f"expected an edge to be added or removed, got both for {min(both)}; "
                "drop it from one of the two."
            )

    @classmethod
    def of_pairs(cls, added: Iterable[Edge], removed: Iterable[Edge]) -> EditSet:
        """Edits of pairs that are known to be different and to have the smaller node first."""
        made = object.__new__(cls)
        object.__setattr__(made, "added", frozenset(added))
        object.__setattr__(made, "removed", frozenset(removed))
        return made

    @classmethod
    def between(cls, before: Data, after: Data) -> EditSet:
        """The edits that turn the edges of one graph into those of another on the same nodes."""
        if before.num_nodes != after.num_nodes:
            raise EditError(
                f"expected two graphs on the same nodes, got {before.num_nodes} and "
                f"{after.num_nodes} nodes; edit sets cannot add or remove nodes."
            )
        old, new = edge_pairs(before), edge_pairs(after)
        return cls(added=new - old, removed=old - new)

    @property
    def edges(self) -> tuple[Edge, ...]:
        """All edited pairs, sorted."""
        return tuple(sorted(self.added | self.removed))

    def __len__(self) -> int:
        """Number of edits, the paper's explanation size."""
        return len(self.added) + len(self.removed)

    @property
    def cost(self) -> int:
        """What the edits cost together: every one of them costs 1."""
        return len(self)

    def __str__(self) -> str:
        """The edits on one line: `+(u, v)` added, `-(u, v)` removed."""
        signs = [f"+{edge}" for edge in sorted(self.added)]
        return " ".join(signs + [f"-{edge}" for edge in sorted(self.removed)]) or "no edits"

    def apply(self, graph: Data, *, fill: EdgeFill | None = None) -> Data:
        """A copy of the graph with the edits made; the input is left as it is.

        Args:
            graph: An undirected graph; its self-loops stay.
            fill: The attributes of added edges, needed when the graph has `edge_attr`. An
                `edge_weight` is filled with 1 unless the fill says otherwise.

        Raises:
            EditError: If an edge to add exists, one to remove does not, or a fill is missing.
        """
        return apply_edits(PairSpace.of(graph), self, fill=fill)

    def undo(self) -> EditSet:
        """The edits that take these back.

        Example:
            >>> print(EditSet(added={(0, 1)}).undo())
            -(0, 1)
        """
        return EditSet(added=self.removed, removed=self.added)

    def subsets(self) -> Iterator[EditSet]:
        """All subsets in bitmask order, from empty to full; bit i stands for `edges[i]`."""
        edges = self.edges
        for mask in range(2 ** len(edges)):
            chosen = frozenset(compress(edges, (mask >> bit & 1 for bit in range(len(edges)))))
            yield EditSet(added=self.added & chosen, removed=self.removed & chosen)

    def jaccard(self, other: EditSet) -> float:
        """Overlap of two edit sets: shared edits over all edits, 1 when both are empty.

        Example:
            >>> EditSet(added={(0, 1)}).jaccard(EditSet(added={(0, 1)}, removed={(1, 2)}))
            0.5
        """
        mine = {(edge, True) for edge in self.added} | {(edge, False) for edge in self.removed}
        theirs = {(edge, True) for edge in other.added} | {(edge, False) for edge in other.removed}
        return len(mine & theirs) / len(mine | theirs) if mine | theirs else 1.0

    def touching(self, nodes: Collection[int]) -> int:
        """Number of edits with at least one end among the nodes."""
        wanted = set(nodes)
        return sum(u in wanted or v in wanted for u, v in self.edges)

    def to_dict(self) -> dict[str, list[list[int]]]:
        """Plain lists for JSON."""
        return {
            "added": [list(edge) for edge in sorted(self.added)],
            "removed": [list(edge) for edge in sorted(self.removed)],
        }

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> EditSet:
        """The inverse of `to_dict`."""
        try:
            added = [(index(u), index(v)) for u, v in payload["added"]]
            removed = [(index(u), index(v)) for u, v in payload["removed"]]
        except Exception as error:  # a tensor raises errors of its own kinds
            raise EditError(
                f"expected 'added' and 'removed' as lists of node pairs, got {shown(payload)}; "
                "use EditSet.to_dict to write them."
            ) from error
        return cls(added, removed)


def apply_edits(space: PairSpace, edits: EditSet, *, fill: EdgeFill | None = None) -> Data:
    """`EditSet.apply` on a graph that is checked already."""
    added, removed = space.ids_of(sorted(edits.added)), space.ids_of(sorted(edits.removed))
    if bool(space.is_edge(added).any()):
        edge = space.edges_of(added[space.is_edge(added)])[0]
        raise EditError(
            f"expected edges to add that are not there yet, got {edge}; remove it from added."
        )
    if not bool(space.is_edge(removed).all()):
        edge = space.edges_of(removed[~space.is_edge(removed)])[0]
        raise EditError(f"expected edges to remove that exist, got {edge}; remove it from removed.")
    return toggle_pairs(space, torch.cat([added, removed])[None], fill=fill)[0].clone()


def toggle_pairs(space: PairSpace, rows: Tensor, *, fill: EdgeFill | None = None) -> list[Data]:
    """The graph once for each row of pairs, with their edges gone and all others of them there.

    For graphs that are only looked at: what edits do not change is the graph's own, not a copy.

    Args:
        space: The graph.
        rows: Distinct pair ids for each wanted graph, -1 where there are fewer [graphs, width].
        fill: Attributes of added edges.
    """
    graph, edges = without_stale(space.graph), space.graph.edge_index
    ids = np.sort(rows.numpy(), axis=1)
    keep, new, ends = _columns(space, ids)
    # All old columns and both directions of all moves for each graph, then those that it has.
    count, old, moves = len(ids), keep.shape[1], 2 * ids.shape[1]
    columns = np.empty((count, 2, old + moves), dtype=np.int64)
    columns[:, :, :old] = edges.cpu().numpy()
    columns[:, 0, old:] = ends.reshape(count, -1)
    columns[:, 1, old:] = ends[:, :, ::-1].reshape(count, -1)
    chosen = np.concatenate([keep, new.repeat(2, axis=1)], axis=1)
    counts = chosen.sum(axis=1)
    flat = columns[np.broadcast_to(chosen[:, None], columns.shape)]
    pieces = torch.from_numpy(flat).to(edges).split((2 * counts).tolist())
    parts = {"edge_index": [piece.view(2, -1) for piece in pieces]}
    for name in edge_attributes(graph):
        filled = fill_rows(space, torch.from_numpy(ids[new]), name, fill)
        places = np.empty((count, old + moves), dtype=np.int64)
        places[:, :old] = np.arange(old)
        places[:, old:][new.repeat(2, axis=1)] = old + np.arange(len(filled)).repeat(2)
        at = torch.from_numpy(places[chosen]).to(edges.device)
        values = torch.cat([graph[name], filled])[at]
        parts[name] = [part.clone() for part in values.split(counts.tolist())]
    edited = [graph.__copy__() for _ in counts]
    for name, each_value in parts.items():
        for each, value in zip(edited, each_value, strict=True):
            each[name] = value
    return edited


STALE = {"smiles": "edited_from"}
"""What an edit makes untrue, and the name under which the original is kept."""


def without_stale(graph: Data) -> Data:
    """A graph whose attributes will still be true when its edges are edited; itself where all are."""
    stale = [name for name in STALE if name in graph]
    if not stale:
        return graph
    changed = copy.copy(graph)
    for name in stale:
        changed[STALE[name]] = changed[name]
        del changed[name]
    return changed


def edited_columns(space: PairSpace, toggles: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Edges of all edited graphs of a block, on the CPU.

    Args:
        space: The graph that is edited.
        toggles: Distinct pair ids for each graph, -1 where there are fewer [graphs, width].

    Returns:
        For each old edge that stays the graph and its column of `edge_index`, for each new one the graph
        and its pair id; in the order of graphs.
    """
    ids = toggles.numpy()
    keep, new, _ = _columns(space, ids)
    kept_row, kept_column = keep.nonzero()
    return (
        torch.from_numpy(kept_row),
        torch.from_numpy(kept_column),
        torch.from_numpy(new.nonzero()[0]),
        torch.from_numpy(ids[new]),
    )


def _columns(space: PairSpace, ids: _Ids) -> tuple[_Mask, _Mask, _Ids]:
    """Which columns of `edge_index` stay in each edited graph, which of its moves are new edges, and ends.

    Returns:
        Masks [graphs, columns] and [graphs, width], and both ends of every move [graphs, width, 2].
    """
    used = torch.from_numpy(ids.clip(min=0))
    slots = space.slots(used).numpy()
    gone = (slots >= 0) & (ids >= 0)
    keep = np.ones((len(ids), space.graph.edge_index.size(1)), dtype=np.bool_)
    # Both directions go together, or the GCN norm sees a directed graph.
    keep[gone.nonzero()[0][:, None], space.columns.numpy()[slots[gone]]] = False
    ends = np.moveaxis(space.ends(used).numpy(), 0, 2)
    return keep, (slots < 0) & (ids >= 0), ends


def both_directions(space: PairSpace, ids: Tensor) -> Tensor:
    """Columns of `edge_index` for pairs, both directions of each side by side [2, 2 · len(ids)]."""
    ends = space.ends(ids)
    return torch.stack([ends, ends.flip(0)], dim=2).flatten(1)


def edge_attributes(graph: Data) -> list[str]:
    """Names of the edge-level tensors of a graph beside `edge_index`."""
    return [
        key
        for key, value in graph.to_dict().items()
        # PyG goes by length, so a label vector as long as the edge list would pass for an edge attribute.
        if "edge" in key
        and key != "edge_index"
        and isinstance(value, Tensor)
        and bool(graph.is_edge_attr(key))
    ]


def check_fill(graph: Data, fill: EdgeFill | None) -> None:
    """Refuse a graph whose edge attributes have no fill, before any edge is added."""
    keys = edge_attributes(graph)
    if fill is not None and not isinstance(fill, Mapping) and "edge_attr" not in keys and keys:
        raise EditError(
            f"expected a fill by name, such as {{'{keys[0]}': 1.0}}, for a graph without edge_attr, got "
            f"{fill!r}; name the attribute."
        )
    for key in keys:
        if _fill_for(key, fill) is None:
            raise EditError(
                f"expected a fill for the '{key}' of added edges, got none; pass fill= "
                "('zeros', 'mean', 'mode', a number, a row or a function), or allow no additions "
                "with Constraints(allow_additions=False)."
            )


def fill_rows(space: PairSpace, ids: Tensor, key: str, fill: EdgeFill | None) -> Tensor:
    """Values of one edge-level attribute for added pairs, one row per pair [len(ids), …]."""
    value: Tensor = space.graph[key]
    if not ids.numel():
        return value[:0]
    policy = _fill_for(key, fill)
    if policy is None:
        check_fill(space.graph, fill)
    if callable(policy):
        given = [_given_row(policy, space.graph, edge, value) for edge in space.edges_of(ids)]
        wrong = [row for row in given if row.shape != value.shape[1:]]
        rows = wrong[0][None] if wrong else torch.stack(given)
    else:
        row = _constant_row(value, key, policy)
        rows = row.expand(len(ids), *value.shape[1:])
    if rows.shape[1:] != value.shape[1:]:
        raise EditError(
            f"expected a fill for '{key}' of shape {list(value.shape[1:])}, "
            f"got {list(rows.shape[1:])}; correct fill=."
        )
    return rows


def _given_row(
    policy: Callable[[Data, Edge], Tensor], graph: Data, edge: Edge, like: Tensor
) -> Tensor:
    try:
        row = policy(graph, edge)
    except Exception as error:
        raise EditError(
            f"expected a fill function that takes a graph and an edge, got {type(error).__name__}: {error}; "
            "correct fill=."
        ) from error
    try:
        return torch.as_tensor(row).to(like)
    except (RuntimeError, TypeError, ValueError) as error:
        raise EditError(
            f"expected a fill function to return the attribute row of the edge {edge}, got {row!r}; "
            "correct fill=."
        ) from error


def _fill_for(key: str, fill: EdgeFill | None) -> FillValue | None:
    fills: Mapping[str, FillValue] = fill if isinstance(fill, Mapping) else {}
    if fill is not None and not isinstance(fill, Mapping):
        fills = {"edge_attr": fill}
    chosen = fills.get(key)
    return 1.0 if chosen is None and key == "edge_weight" else chosen


def _constant_row(value: Tensor, key: str, policy: FillValue | None) -> Tensor:
    """One row of the attribute's shape by a rule that is the same for all pairs."""
    if isinstance(policy, Tensor | int | float) and not isinstance(policy, bool):
        given = torch.as_tensor(policy)
        if not value.is_floating_point() and bool((given != given.to(value)).any()):
            raise EditError(
                f"expected whole numbers as fill for '{key}', which is {value.dtype}, got {policy!r}; round "
                "them, or make the attribute a float."
            )
    if isinstance(policy, Tensor):
        row: Tensor = policy.to(value)
        if row.shape != value.shape[1:]:
            raise EditError(
                f"expected a fill for '{key}' of shape {list(value.shape[1:])}, "
                f"got {list(row.shape)}; correct fill=."
            )
        return row
    if isinstance(policy, list | tuple) or hasattr(policy, "__array__"):
        return _constant_row(value, key, torch.as_tensor(policy))
    if isinstance(policy, int | float):
        return torch.full_like(value[:1], policy)[0] if value.numel() else value.new_tensor(policy)
    if policy == "zeros":
        return value.new_zeros(value.shape[1:])
    if policy in ("mean", "mode") and not value.size(0):
        raise EditError(
            f"expected edges to take the {policy} '{key}' from, got none; pass a row as fill=."
        )
    if policy == "mean":
        if not value.is_floating_point():
            raise EditError(
                f"expected a floating-point '{key}' for fill='mean', got {value.dtype}; use 'mode'."
            )
        return value.mean(dim=0)
    if policy == "mode":
        rows, counts = torch.unique(value, dim=0, return_counts=True)
        most_common: Tensor = rows[counts.argmax()]
        return most_common
    raise EditError(
        f"expected fill to be 'zeros', 'mean', 'mode', a number, a row or a function, got {policy!r}."
    )


def _pairs(edges: Iterable[Edge]) -> list[Edge]:
    try:
        return list(edges)
    except TypeError:
        raise EditError(
            f"expected edges as pairs of node numbers, got {shown(edges)}; write [(0, 1), (2, 3)]."
        ) from None


def _oriented(edges: Iterable[Edge]) -> frozenset[Edge]:
    oriented = set()
    for pair in _pairs(edges):
        try:
            u, v = (index(end) for end in pair)
        except (TypeError, ValueError) as error:
            raise EditError(
                f"expected edges as pairs of node numbers, got {shown(pair)}; write [(0, 1), (2, 3)]."
            ) from error
        if u == v or u < 0 or v < 0:
            raise EditError(
                f"expected a pair of different nodes, got ({u}, {v}); self-loops cannot be edited."
            )
        oriented.add((min(u, v), max(u, v)))
    return frozenset(oriented)
