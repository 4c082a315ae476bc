"""Edited graphs in bulk: many candidates of one graph as one PyG batch, or as adjacency matrices."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from edgeflip.core.edits import (
    EdgeFill,
    both_directions,
    edge_attributes,
    edited_columns,
    fill_rows,
    without_stale,
)
from edgeflip.core.graphs import PairSpace


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
    _repeat_other_attributes(without_stale(graph), batch, count, skip={"edge_index", *edge_keys})
    target = device or graph.edge_index.device
    return batch if target.type == "cpu" else batch.to(target)


def _unique_fill(space: PairSpace, ids: Tensor, key: str, fill: EdgeFill | None) -> Tensor:
    """Fill rows per added pair, asking a fill function once per distinct pair."""
    distinct, index = torch.unique(ids, return_inverse=True)
    return fill_rows(space, distinct, key, fill)[index]


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
    return copies + shift.reshape([-1 if index == axis else 1 for index in range(value.dim())])


def edited_cells(space: PairSpace, toggles: Tensor) -> tuple[Tensor, Tensor]:
    """Where the adjacency matrices of candidates differ from the graph's own.

    Args:
        space: The graph that is edited.
        toggles: Normalised, allowed candidates [candidates, width].

    Returns:
        Places in the flattened matrices [candidates · n · n], both directions of every edit, and
        what stands there after the edit: 1 for an edge that comes, 0 for one that goes.
    """
    nodes, ids = space.num_nodes, toggles.numpy()
    used = ids >= 0
    start = (np.arange(len(ids)) * (nodes * nodes)).repeat(used.sum(axis=1))
    moves = torch.from_numpy(ids[used])
    u, v = space.ends(moves).numpy()
    indices = np.concatenate([start + u * nodes + v, start + v * nodes + u])
    values = (space.slots(moves).numpy() < 0).astype(np.float32)
    return torch.from_numpy(indices), torch.from_numpy(np.concatenate([values, values]))


def adjacency(space: PairSpace, toggles: Tensor, base: Tensor) -> Tensor:
    """Dense adjacency matrices of all candidates [candidates, n, n].

    Args:
        space: The graph that is edited.
        toggles: Normalised, allowed candidates [candidates, width].
        base: The graph's own adjacency, from `base_adjacency` [n, n].
    """
    matrices = base.repeat(toggles.size(0), 1, 1)
    indices, values = edited_cells(space, toggles)
    matrices.view(-1)[indices] = values
    return matrices


def base_adjacency(space: PairSpace) -> Tensor:
    """The graph's adjacency matrix with ones on the diagonal, as `dense_logits` takes it [n, n]."""
    matrix = np.eye(space.num_nodes, dtype=np.float32)
    source, target = space.graph.edge_index.cpu().numpy()
    matrix[source, target] = 1.0
    return torch.from_numpy(matrix)
