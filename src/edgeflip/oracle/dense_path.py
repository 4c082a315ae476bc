"""One graph on the dense path: what edits do not change is made once, matrices stay from call to call."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor

from edgeflip.core import PairEdits, PairSpace, base_adjacency
from edgeflip.oracle.dense_gcn import DenseGraph
from edgeflip.oracle.placing import Placement

# Candidates beyond which matrices are made for no more of them than are there.
_FEW = 64


class DenseVersions:
    """A model with a dense path, bound to the nodes of one graph.

    The matrices of a batch are the largest thing there is. They are laid out once per graph, in the room
    that an earlier graph of the same size has left, and the few cells that differ are set before and set
    back after each call.

    Args:
        model: A model with `project` and `dense_logits`.
        pairs: The graph.
        place: Where the model runs.
        most: Matrices at most.
        earlier: A graph that nobody asks about any more.

    Attributes:
        pairs: The graph.
        bound: Our own GCN bound to it; None for other models.
    """

    def __init__(
        self,
        model: Any,
        pairs: PairSpace,
        place: Placement,
        most: int,
        earlier: DenseVersions | None = None,
    ) -> None:
        x = place.put(pairs.graph.x)
        self.pairs, self._device, self._most = pairs, place.device, most
        self.bound: DenseGraph | None = model.on_graph(x) if binds_graphs(type(model)) else None
        self._logits: Callable[[Tensor], Tensor]
        if self.bound is not None:
            self._logits, kind = self.bound.logits, self.bound.projected
        else:
            kind = projected = model.project(x)
            self._logits = lambda matrices: model.dense_logits(projected, matrices)
        self._base = base_adjacency(pairs).to(kind)
        # Matrices, of which so many are those of the graph.
        self._room, self._ready = self._base.new_empty(0, *self._base.shape), 0
        if earlier is not None and _are_alike(earlier._base, self._base):
            self._room = earlier._room

    def logits(self, space: PairEdits, rows: Tensor) -> Tensor:
        """Logits of edited graphs [rows, C]."""
        room = self._matrices(len(rows))
        indices, values = space.cells(rows)
        cells, places, after = _writable(room, indices, values)
        cells[places] = after
        try:
            return self._logits(room[: len(rows)])
        finally:
            cells[places] = 1.0 - after

    def matrices(self, space: PairEdits, rows: Tensor) -> Tensor:
        """Adjacency matrices of edited graphs, ones on the diagonal, to keep [rows, n, n]."""
        made = self._base.repeat(len(rows), 1, 1)
        indices, values = space.cells(rows)
        made.view(-1)[indices.to(self._device)] = values.to(made)
        return made

    def _matrices(self, count: int) -> Tensor:
        if len(self._room) < count:
            # Where a few are needed, soon a few more will be; making many takes longer than asking.
            limit = count if count > _FEW else 4 * count
            self._room = self._base.new_empty(min(limit, self._most), *self._base.shape)
            self._ready = 0
        if self._ready < count:
            self._room[self._ready : count] = self._base
            self._ready = count
        return self._room


def logits_of_many(
    model: Any, parts: Sequence[tuple[PairEdits, Tensor]], place: Placement
) -> list[Tensor]:
    """Logits of edited versions of graphs that have as many nodes and features each [rows, C] each.

    Args:
        model: A model with `project` and `dense_logits`.
        parts: Graphs, and the edits of their versions.
        place: Where the model runs.
    """
    counts = torch.tensor([len(rows) for _, rows in parts])
    features = place.put(torch.stack([space.input.x for space, _ in parts]))
    bases = torch.stack([base_adjacency(space.pairs) for space, _ in parts])
    matrices = bases.repeat_interleave(counts, dim=0)
    starts = ((counts.cumsum(0) - counts) * bases[0].numel()).tolist()
    cells = [space.cells(rows) for space, rows in parts]
    indices = torch.cat([own + start for (own, _), start in zip(cells, starts, strict=True)])
    matrices.view(-1)[indices] = torch.cat([values for _, values in cells])
    projected = model.project(features)
    logits = model.dense_logits(
        projected.repeat_interleave(counts.to(place.device), dim=0), matrices.to(projected)
    )
    return list(logits.split(counts.tolist()))


def _are_alike(one: Tensor, two: Tensor) -> bool:
    return (one.shape, one.dtype, one.device) == (two.shape, two.dtype, two.device)


def _writable(room: Tensor, indices: Tensor, values: Tensor) -> tuple[Any, Any, Any]:
    """The cells of matrices, and which become what: as NumPy's on the CPU, where setting few is quicker."""
    flat, values = room.view(-1), values.to(room)
    if room.device.type == "cpu" and room.dtype == torch.float32:
        return flat.numpy(), indices.numpy(), values.numpy()
    return flat, indices.to(room.device), values


def binds_graphs(kind: Any) -> bool:
    """Whether the class that defines `on_graph` also defines the ways it must agree with."""
    return _first_defines_all(kind, ("on_graph", "dense_logits", "project", "forward"))


def offers_dense_path(kind: Any) -> bool:
    """Whether the class that defines `dense_logits` also defines the `forward` it must agree with."""
    return _first_defines_all(kind, ("dense_logits", "forward")) and hasattr(kind, "project")


@lru_cache(maxsize=64)
def _first_defines_all(kind: type, names: tuple[str, ...]) -> bool:
    """Whether the first class of the line that has one of some methods has all of them."""
    for base in kind.__mro__:
        own = vars(base)
        if any(name in own for name in names):
            return all(name in own for name in names)
    return False
