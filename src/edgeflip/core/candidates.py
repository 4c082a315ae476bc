"""Blocks of candidates: how proposals travel from a method to the oracle.

A candidate is a row of pair ids: each id adds its edge or, when the edge exists, removes it. Rows are
padded with -1, so that thousands of candidates are one tensor, and every step on the way to the
oracle (cancelling, de-duplicating, checking, assembling) is a few tensor operations for all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from edgeflip.core.edits import (
    EdgeFill,
    EditSet,
    both_directions,
    edge_attributes,
    edited_columns,
    fill_rows,
)
from edgeflip.core.graphs import Edge, PairSpace
from edgeflip.errors import EditError

PAD = -1
"""The entry of a row that stands for no edit."""


@dataclass(frozen=True, eq=False)
class ProposalBlock:
    """Many candidate edit sets of one graph.

    Attributes:
        toggles: Pair ids of each candidate, `PAD` where a row is shorter [candidates, width].

    Example:
        >>> block = ProposalBlock.singles(torch.tensor([4, 9]))
        >>> block.toggles.tolist(), len(block)
        ([[4], [9]], 2)
    """

    toggles: Tensor

    def __len__(self) -> int:
        """Number of candidates."""
        return self.toggles.size(0)

    @classmethod
    def singles(cls, ids: Tensor) -> ProposalBlock:
        """One candidate per pair id."""
        return cls(ids.reshape(-1, 1))

    @classmethod
    def from_mask(cls, edited: Tensor) -> ProposalBlock:
        """Candidates from the pairs that each of them edits [candidates, pairs].

        Example:
            >>> edited = torch.tensor([[True, False, True], [False, True, False]])
            >>> ProposalBlock.from_mask(edited).toggles.tolist()
            [[2, 0], [1, -1]]
        """
        width = int(edited.sum(dim=1).max()) if edited.numel() else 0
        ids = torch.where(edited, torch.arange(edited.size(1)), PAD)
        return cls(ids.topk(width, dim=1).values)

    @classmethod
    def from_edits(cls, edits: Sequence[EditSet], space: PairSpace) -> ProposalBlock:
        """A block of edit sets, each checked against the graph."""
        rows = [space.ids_of(entry.edges).tolist() for entry in edits]
        width = max((len(row) for row in rows), default=0)
        padded = [row + [PAD] * (width - len(row)) for row in rows]
        toggles = torch.tensor(padded, dtype=torch.long).reshape(len(rows), width)
        for entry in edits:
            for edge_set, exists in ((entry.added, False), (entry.removed, True)):
                wrong = space.is_edge(space.ids_of(sorted(edge_set))) != exists
                if bool(wrong.any()):
                    verb = "add that are not there yet" if not exists else "remove that exist"
                    raise EditError(f"expected edges to {verb}, got {entry}; correct the proposal.")
        return cls(toggles)

    def normalised(self) -> ProposalBlock:
        """Rows sorted, and an edit that is made and taken back within a row left out."""
        if self.toggles.size(1) <= 1:
            return self
        ordered = self.toggles.sort(dim=1, descending=True).values
        same = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] != PAD)
        if not bool(same.any()):
            return ProposalBlock(ordered)
        return ProposalBlock(_cancel_repeats(ordered))

    def edit_set(self, row: int, space: PairSpace) -> EditSet:
        """One candidate as an `EditSet`."""
        return ProposalBlock(self.toggles[row : row + 1]).edit_sets(space)[0]

    def edit_sets(self, space: PairSpace) -> list[EditSet]:
        """All candidates as edit sets."""
        ids = self.toggles.clamp(min=0)
        rows = zip(
            (self.toggles != PAD).tolist(),
            space.is_edge(ids).tolist(),
            *space.ends(ids).tolist(),
            strict=True,
        )
        edits = []
        for row in rows:
            added: list[Edge] = []
            removed: list[Edge] = []
            for used, exists, u, v in zip(*row, strict=True):
                if used:
                    (removed if exists else added).append((u, v))
            edits.append(EditSet(added, removed))
        return edits


def _cancel_repeats(ordered: Tensor) -> Tensor:
    """Of every run of equal ids in a descending row keep one if the run is odd, none if it is even."""
    width = ordered.size(1)
    equal = ordered[:, :, None] == ordered[:, None, :]
    odd = equal.sum(dim=2) % 2 == 1
    first = ~(equal & torch.ones(width, width, dtype=torch.bool).tril(-1)).any(dim=2)
    kept = torch.where(odd & first, ordered, PAD)
    return kept.sort(dim=1, descending=True).values


def widened(toggles: Tensor, width: int) -> Tensor:
    """Candidates with more room, padded [candidates, width]."""
    return torch.nn.functional.pad(toggles, (0, width - toggles.size(1)), value=PAD)


# Multipliers of the splitmix64 generator, as signed 64-bit integers.
_MIX = (-0x61C8864680B583EB, -0x40A7B892E31B1A47, -0x6B2FB644ECCEEE15)


def candidate_keys(toggles: Tensor) -> Tensor:
    """A 64-bit key per candidate, the same for the same set of pairs in any order [candidates].

    Every pair id is scrambled to 64 bits and a row's bits are combined by exclusive or, as chess
    programs key positions: no sorting, and an edit made twice cancels in the key as well.
    """
    table = _scrambled_ids()
    if toggles.numel() and int(toggles.max()) + 1 < table.numel():
        mixed = table[toggles + 1]
    else:
        mixed = _scrambled(toggles + 1)
    keys = torch.zeros(toggles.size(0), dtype=torch.long)
    for column in mixed.unbind(dim=1):
        keys = keys ^ column
    return keys


def _scrambled(numbers: Tensor) -> Tensor:
    mixed = numbers * _MIX[0]
    for shift, factor in ((30, _MIX[1]), (27, _MIX[2])):
        mixed = (mixed ^ _logical_shift(mixed, shift)) * factor
    return mixed ^ _logical_shift(mixed, 31)


@cache
def _scrambled_ids() -> Tensor:
    """The scrambled pairs of all but large graphs: looking up is faster than mixing again."""
    return _scrambled(torch.arange(1 << 16))


def _logical_shift(values: Tensor, bits: int) -> Tensor:
    return (values >> bits) & ((1 << (64 - bits)) - 1)


def assemble(
    space: PairSpace,
    toggles: Tensor,
    *,
    fill: EdgeFill | None = None,
    device: torch.device | None = None,
) -> Batch:
    """All edited graphs of a block as one block-diagonal PyG batch.

    Edges of one graph do not stand together in it, so it cannot be taken apart by `to_data_list`.

    Args:
        space: The graph that is edited.
        toggles: Normalised, allowed candidates [candidates, width].
        fill: The attributes of added edges, see `EditSet.apply`.
        device: Where the batch is made; the graph's own device by default.

    Returns:
        What `Batch.from_data_list` would give for the edited graphs, up to the order of edges.
    """
    graph = space.graph
    edge_index = graph.edge_index.cpu()
    count, nodes = toggles.size(0), space.num_nodes
    kept_row, kept_column, new_row, new_ids = edited_columns(space, toggles)
    added = both_directions(space, new_ids) + (new_row * nodes).repeat_interleave(2)
    edges = torch.cat([edge_index[:, kept_column] + kept_row * nodes, added], dim=1)
    batch = Batch(
        batch=torch.arange(count).repeat_interleave(nodes), ptr=torch.arange(count + 1) * nodes
    )
    batch._num_graphs = count
    batch.edge_index = edges
    edge_keys = edge_attributes(graph)
    for key in edge_keys:
        value = graph[key].cpu()
        rows_of_new = _unique_fill(space, new_ids, key, fill).cpu()
        batch[key] = torch.cat([value[kept_column], rows_of_new.repeat_interleave(2, dim=0)])
    _repeat_other_attributes(graph, batch, count, skip={"edge_index", *edge_keys})
    target = device or graph.edge_index.device
    return batch if target.type == "cpu" else batch.to(target)


def _unique_fill(space: PairSpace, ids: Tensor, key: str, fill: EdgeFill | None) -> Tensor:
    """Fill rows per added pair, asking a fill function once per distinct pair."""
    distinct, place = torch.unique(ids, return_inverse=True)
    return fill_rows(space, distinct, key, fill)[place]


def _repeat_other_attributes(graph: Data, batch: Batch, count: int, *, skip: Iterable[str]) -> None:
    """Node-level, graph-level and plain attributes, repeated as PyG's own batching would."""
    for key, value in graph.to_dict().items():
        if key in skip:
            continue
        if key == "num_nodes":
            batch.num_nodes = int(value) * count
        elif isinstance(value, Tensor):
            batch[key] = _repeat_tensor(graph, key, value.cpu(), count)
        elif isinstance(value, int | float):
            batch[key] = torch.tensor([value] * count)
        else:
            batch[key] = [value] * count


def _repeat_tensor(graph: Data, key: str, value: Tensor, count: int) -> Tensor:
    """Copies one after the other along the attribute's own axis, node numbers shifted per copy."""
    axis = graph.__cat_dim__(key, value)
    if value.dim() == 0 or axis is None:
        value, axis = value[None], 0
    axis %= value.dim()
    repeats = [1] * value.dim()
    repeats[axis] = count
    copies = value.repeat(repeats)
    step = graph.__inc__(key, value)
    if isinstance(step, int) and step == 0:
        return copies
    shift = (torch.arange(count) * torch.as_tensor(step)).repeat_interleave(value.size(axis))
    return copies + shift.reshape([-1 if place == axis else 1 for place in range(value.dim())])


def edited_cells(space: PairSpace, toggles: Tensor) -> tuple[Tensor, Tensor]:
    """Where the adjacency matrices of candidates differ from the graph's own.

    Args:
        space: The graph that is edited.
        toggles: Normalised, allowed candidates [candidates, width].

    Returns:
        Places in the flattened matrices [candidates · n · n], both directions of every edit, and
        what stands there after the edit: 1 for an edge that comes, 0 for one that goes.
    """
    nodes = space.num_nodes
    row, place = (toggles >= 0).nonzero(as_tuple=True)
    ids = toggles[row, place]
    u, v = space.ends(ids)
    start = row * (nodes * nodes)
    places = torch.cat([start + u * nodes + v, start + v * nodes + u])
    return places, (space.slots(ids) < 0).float().repeat(2)


def adjacency(space: PairSpace, toggles: Tensor, base: Tensor) -> Tensor:
    """Dense adjacency matrices of all candidates [candidates, n, n].

    Args:
        space: The graph that is edited.
        toggles: Normalised, allowed candidates [candidates, width].
        base: The graph's own adjacency, from `base_adjacency` [n, n].
    """
    matrices = base.repeat(toggles.size(0), 1, 1)
    places, values = edited_cells(space, toggles)
    matrices.view(-1)[places] = values
    return matrices


def base_adjacency(space: PairSpace) -> Tensor:
    """The graph's adjacency matrix with ones on the diagonal, as `dense_logits` takes it [n, n]."""
    matrix = torch.zeros(space.num_nodes, space.num_nodes)
    source, target = space.graph.edge_index.cpu()
    matrix[source, target] = 1.0
    return matrix.fill_diagonal_(1.0)


class AnswerStore:
    """Answers by candidate key, looked up and added in whole blocks.

    Keys are kept in a few sorted runs, each at least twice as long as the next, so that adding a
    block costs a small merge and a look-up a few binary searches. Keys are handed in ascending
    order: sorted once by the caller, all of these steps are quick walks through memory.
    """

    def __init__(self, num_columns: int) -> None:
        self._columns = num_columns
        self._runs: list[tuple[Tensor, Tensor]] = []

    def __len__(self) -> int:
        """Number of remembered answers."""
        return sum(keys.numel() for keys, _ in self._runs)

    def find(self, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Which ascending keys are known [keys], and their answers, NaN where unknown [keys, columns]."""
        known = torch.zeros(keys.numel(), dtype=torch.bool)
        answers = torch.full((keys.numel(), self._columns), torch.nan)
        for run_keys, run_answers in self._runs:
            place = torch.searchsorted(run_keys, keys).clamp_(max=run_keys.numel() - 1)
            hit = run_keys[place] == keys
            if bool(hit.any()):
                answers[hit] = run_answers[place[hit]]
                known |= hit
        return known, answers

    def add(self, keys: Tensor, answers: Tensor) -> None:
        """Remember answers of ascending keys that are not known yet."""
        if not keys.numel():
            return
        self._runs.append((keys, answers))
        while len(self._runs) > 1 and self._runs[-2][0].numel() < 2 * self._runs[-1][0].numel():
            (old_keys, old_answers), (new_keys, new_answers) = self._runs[-2:]
            merged, order = torch.cat([old_keys, new_keys]).sort()
            self._runs[-2:] = [(merged, torch.cat([old_answers, new_answers])[order])]


def first_occurrences(keys: Tensor) -> Tensor:
    """True at the first place of every distinct key [keys]."""
    ordered, order = torch.sort(keys, stable=True)
    fresh = torch.ones_like(ordered, dtype=torch.bool)
    fresh[1:] = ordered[1:] != ordered[:-1]
    mask = torch.empty_like(fresh)
    mask[order] = fresh
    return mask
