"""Asking about different graphs at once, in groups that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import PairEdits
from edgeflip.oracle.budget import AnyOracle, checked_answers
from edgeflip.oracle.dense_path import binds_graphs, logits_of_many
from edgeflip.oracle.model import ModelOracle

# Graphs of a group, and their nodes and columns of edges; of larger ones there are fewer in a group.
_GRAPHS, _SIZE = 64, 20_000

# Graphs of a batch whose answers are told to people.
_VERIFIED = 16

# Cells of the matrices that are made at once.
_CELLS = 2_000_000


def verified_answers(oracle: AnyOracle, graphs: Sequence[Data]) -> Tensor:
    """What an oracle says of versions of one graph, for people to read [graphs, columns].

    In batches whose size depends on nothing but the graphs: the last digits of a probability depend on
    what else is in a batch, and the same answer must have the same ones whoever explained how many graphs
    at once, in batches of whatever size.

    Args:
        oracle: The oracle.
        graphs: Versions of one graph.
    """
    if isinstance(oracle, ModelOracle):
        return oracle.verified(graphs, _VERIFIED)
    parts = [graphs[start : start + _VERIFIED] for start in range(0, len(graphs), _VERIFIED)]
    return torch.cat([checked_answers(oracle, part) for part in parts or [graphs]])


def answers_together(oracle: AnyOracle, parts: Sequence[Sequence[Data]]) -> list[Tensor]:
    """What an oracle says of different graphs, for each part what it says of its graphs [graphs, columns].

    Args:
        oracle: The oracle.
        parts: Versions of one graph each; none is empty.
    """
    return [verified_answers(oracle, part) for part in parts]


def edits_together(
    oracle: AnyOracle, parts: Sequence[tuple[PairEdits, Tensor]]
) -> dict[int, Tensor]:
    """What an oracle says of edited versions of different graphs, by place [rows, columns] each.

    Graphs of one size go through the dense path of our own GCN at once. Of others there is no answer here:
    most of what asking about them takes is the model's own time.

    Args:
        oracle: The oracle.
        parts: Graphs, and the normalised edits of their versions [rows, width].
    """
    found: dict[int, Tensor] = {}
    if not isinstance(oracle, ModelOracle) or not binds_graphs(type(oracle.model)):
        return found
    alike: dict[Any, list[int]] = {}
    for place, (space, rows) in enumerate(parts):
        if len(rows) and oracle.uses_dense_path(space.input):
            x = space.input.x
            alike.setdefault((tuple(x.shape), x.dtype), []).append(place)
    for places in alike.values():
        most = max(len(parts[place][1]) for place in places)
        step = max(1, _CELLS // (most * parts[places[0]][0].pairs.num_nodes ** 2))
        for start in range(0, len(places), step):
            some = places[start : start + step]
            found |= zip(some, _edits_alike(oracle, [parts[place] for place in some]), strict=True)
    return found


def _edits_alike(
    oracle: ModelOracle, parts: Sequence[tuple[PairEdits, Tensor]]
) -> Sequence[Tensor]:
    counts = [len(rows) for _, rows in parts]
    outputs = oracle.predict_with(
        lambda: torch.cat(logits_of_many(oracle.model, parts, oracle.place)), sum(counts)
    )
    return torch.split(outputs, counts)


def groups_of(graphs: Sequence[Data]) -> Iterator[range]:
    """Places of graphs that follow each other and are explained together.

    Larger groups would gain little and take memory: the edited graphs of all their answers exist at
    the same time.
    """
    start = size = 0
    for place, graph in enumerate(graphs):
        own = _size(graph)
        if place > start and (place - start >= _GRAPHS or size + own > _SIZE):
            yield range(start, place)
            start, size = place, 0
        size += own
    if start < len(graphs):
        yield range(start, len(graphs))


def _size(graph: Data) -> int:
    """Nodes and columns of edges; PyG's own counts look at all there is in a graph."""
    x: Any = graph.x
    edges: Any = graph.edge_index
    nodes = x.size(0) if isinstance(x, Tensor) and x.dim() else int(graph.num_nodes or 0)
    return nodes + (edges.size(-1) if isinstance(edges, Tensor) and edges.dim() else 0)
