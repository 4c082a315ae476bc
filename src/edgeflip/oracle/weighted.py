"""What an oracle says when edges have weights between 0 and 1, for methods that learn through it.

A weight of 0 is a removed edge, a weight of 1 an ordinary edge. Weights enter the model as
`edge_weight`, before degrees are normalised, so that a graph of zeros and ones gets the answer of the
graph that is really edited.

Many graphs are asked about at once. Our own GCN gets those of similar size as one stack of adjacency
matrices, smaller graphs padded with nodes that nothing is connected to; other models get all as one
block-diagonal graph. In both, no graph's answer depends on another's weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data

from edgeflip.core import PairSpace, size_buckets, stacked_adjacency, stacked_rows
from edgeflip.errors import NotApplicableError, OracleError
from edgeflip.oracle.batch_sizes import DENSE_NODE_LIMIT
from edgeflip.oracle.budget import AnyOracle, MeteredOracle
from edgeflip.oracle.masking import is_plain_gcn
from edgeflip.oracle.model import ModelOracle
from edgeflip.oracle.protocols import DifferentiableOracle

# Cells of all adjacency matrices in one stack: 100 graphs of 128 nodes.
_STACK_CELLS = 1_600_000

# Soft and hard answers may differ in their last digits, but not by more than this.
_TOLERANCE = 1e-3

BACKWARD_PASSES = 2
"""What a backward pass counts beside a forward one, since it takes about twice as long."""


class SoftGraphs:
    """Graphs with weights on some of their node pairs.

    Args:
        oracle: An oracle with `soft_logits`; a `MeteredOracle` is looked through.
        spaces: The graphs.
        pairs: Ids of the pairs that have weights, for each graph; edges among them can fade, other
            pairs can appear. All other edges keep the weight 1.

    Attributes:
        owner: The graph of each weighted pair [pairs].
        original: The weights of the unchanged graphs: 1 for edges, 0 for other pairs [pairs].
        passes: Model passes so far for each of the graphs. Answers that gradients are taken of count two
            more, for the pass backward.

    Raises:
        NotApplicableError: If the oracle takes no weights.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> spaces = [PairSpace.of(graph) for graph in example_graphs(2, seed=0)]
        >>> soft = SoftGraphs(example_oracle(), spaces, [space.edge_ids for space in spaces])
        >>> soft.logits(soft.original).shape
        torch.Size([2, 2])
    """

    def __init__(
        self, oracle: AnyOracle, spaces: Sequence[PairSpace], pairs: Sequence[Tensor]
    ) -> None:
        inner = oracle.oracle if isinstance(oracle, MeteredOracle) else oracle
        if not hasattr(inner, "soft_logits"):
            raise NotApplicableError(
                f"expected an oracle that takes edge weights (soft_logits), got {type(inner).__name__}; "
                "use a method that needs no soft graphs."
            )
        counts = torch.tensor([ids.numel() for ids in pairs])
        self.owner = torch.arange(len(spaces)).repeat_interleave(counts)
        self.original = torch.cat(
            [space.is_edge(ids) for space, ids in zip(spaces, pairs, strict=True)]
        ).float()
        self.passes = 0
        self._counts: list[int] = counts.tolist()
        self._backend: _Backend = (
            _Stacks(cast(ModelOracle, inner), spaces, pairs)
            if _fits_stack(inner, spaces)
            else _Blocks(inner, spaces, pairs)
        )

    def __len__(self) -> int:
        """Number of graphs."""
        return len(self._counts)

    def logits(self, weights: Tensor) -> Tensor:
        """Logits of the weighted graphs, differentiable in the weights.

        Args:
            weights: From 0 to 1, for all graphs one after the other [pairs]; several versions of all
                graphs at once as [versions, pairs].

        Returns:
            Logits [graphs, C], or [versions, graphs, C].
        """
        versions = weights.reshape(weights.shape[:-1].numel(), weights.size(-1))
        differentiated = torch.is_grad_enabled() and versions.requires_grad
        self.passes += (1 + BACKWARD_PASSES * differentiated) * len(versions)
        logits = self._backend.logits(versions)
        return logits.reshape(*weights.shape[:-1], len(self), -1)

    def agree(self, proba: Tensor) -> Tensor:
        """Whether the unchanged graphs with weights get the answers they get without [graphs].

        They do not when the model reads something of an edge that a weight does not stand for.

        Args:
            proba: The oracle's probabilities of the graphs [graphs, C].

        Raises:
            NotApplicableError: If the model cannot be asked about graphs that have features, edges
                and weights alone.
        """
        try:
            with torch.no_grad():
                soft = self.logits(self.original).softmax(dim=1)
        except OracleError as error:
            raise NotApplicableError(
                "expected a model that can be asked with features, edges and edge weights alone, got "
                f"an error: {error}"
            ) from error
        gaps: Tensor = (soft - proba).abs().amax(dim=1)
        return gaps < _TOLERANCE

    def per_graph(self, values: Tensor) -> Tensor:
        """Sums of values of pairs by graph [graphs]."""
        return values.new_zeros(len(self)).index_add(0, self.owner, values)

    def split(self, values: Tensor) -> list[Tensor]:
        """Values of pairs, graph by graph."""
        return list(values.split(self._counts))


def batches(spaces: Sequence[PairSpace]) -> list[list[int]]:
    """Places of graphs that are best asked about together: many at once, but of similar size."""
    return size_buckets([space.num_nodes for space in spaces], cells=_STACK_CELLS)


class _Backend(Protocol):
    """A way to ask about weighted graphs."""

    def logits(self, versions: Tensor) -> Tensor:
        """Logits of all graphs in several versions [versions · graphs, C]."""
        ...


def _fits_stack(oracle: Any, spaces: Sequence[PairSpace]) -> bool:
    return all(
        is_plain_gcn(oracle, space.graph)
        and oracle.returns == "logits"
        and space.num_nodes <= DENSE_NODE_LIMIT
        for space in spaces
    )


class _Stacks:
    """Our own GCN on stacks of adjacency matrices, one for all graphs of similar size."""

    def __init__(
        self, oracle: ModelOracle, spaces: Sequence[PairSpace], pairs: Sequence[Tensor]
    ) -> None:
        groups = [sorted(group) for group in batches(spaces)]
        self._stacks = [
            _Stack(oracle, [spaces[index] for index in group], [pairs[index] for index in group])
            for group in groups
        ]
        own = torch.arange(sum(len(ids) for ids in pairs)).split([len(ids) for ids in pairs])
        self._pairs = [torch.cat([own[index] for index in group]) for group in groups]
        self._order = torch.tensor([index for group in groups for index in group]).argsort()

    def logits(self, versions: Tensor) -> Tensor:
        """See `_Backend`."""
        if len(self._stacks) == 1:
            return self._stacks[0].logits(versions)
        parts = zip(self._stacks, self._pairs, strict=True)
        logits = [
            stack.logits(versions[:, own]).unflatten(0, (len(versions), -1)) for stack, own in parts
        ]
        return torch.cat(logits, dim=1)[:, self._order].flatten(0, 1)


class _Stack:
    """Our own GCN on one stack of adjacency matrices."""

    def __init__(
        self, oracle: ModelOracle, spaces: Sequence[PairSpace], pairs: Sequence[Tensor]
    ) -> None:
        self._oracle = oracle
        model: Any = oracle.model
        self._model = model
        adjacency, mask = stacked_adjacency([space.graph for space in spaces])
        nodes = adjacency.size(1)
        # Ones on the diagonal of padding too: a degree of 0 would be divided by.
        matrices = adjacency + torch.eye(nodes)
        with torch.no_grad():
            own = [model.project(oracle.place.put(space.graph.x)).cpu() for space in spaces]
        projected = stacked_rows(own)
        indices = []
        for row, (space, ids) in enumerate(zip(spaces, pairs, strict=True)):
            u, v = space.ends(ids)
            indices.append(row * nodes * nodes + torch.stack([u * nodes + v, v * nodes + u], dim=1))
        device = oracle.device
        self._shape = (nodes, nodes)
        self._cells = matrices.flatten().to(device, projected.dtype)
        self._places = torch.cat(indices).flatten().to(device)
        self._projected = projected.to(device)
        self._sizes = None if bool(mask.all()) else mask.sum(dim=1).to(device)

    def logits(self, versions: Tensor) -> Tensor:
        """See `_Backend`."""
        count = len(versions)
        weights = versions.to(self._cells).repeat_interleave(2, dim=1)
        cells = self._cells.expand(count, -1).index_copy(1, self._places, weights)
        matrices = cells.view(-1, *self._shape)
        projected = self._projected.repeat(count, 1, 1)
        sizes = None if self._sizes is None else self._sizes.repeat(count)
        return self._oracle.logits_with(
            lambda: self._model.dense_logits(projected, matrices, sizes), len(matrices)
        )


class _Blocks:
    """Any model that takes edge weights, on one block-diagonal graph."""

    def __init__(
        self, oracle: AnyOracle, spaces: Sequence[PairSpace], pairs: Sequence[Tensor]
    ) -> None:
        self._oracle = cast(DifferentiableOracle, oracle)
        features, edges, bases, owners = [], [], [], []
        start = 0
        indices, offset = [], 0
        for row, (space, ids) in enumerate(zip(spaces, pairs, strict=True)):
            own = _weighted_edges(space, ids)
            features.append(_features(space.graph))
            edges.append(own.edge_index + start)
            bases.append(own.base)
            indices.append(torch.where(own.pair >= 0, own.pair + offset, -1))
            owners.append(torch.full((space.num_nodes,), row))
            start += space.num_nodes
            offset += ids.numel()
        self._x = torch.cat(features)
        self._edge_index = torch.cat(edges, dim=1)
        self._base = torch.cat(bases)
        self._batch = torch.cat(owners)
        self._graphs, self._nodes = len(spaces), start
        # Edges without a weight of their own take the last one, a 1 that follows the weights.
        self._place = torch.cat(indices)

    def logits(self, versions: Tensor) -> Tensor:
        """See `_Backend`."""
        count = len(versions)
        shift = torch.arange(count)
        own = functional.pad(versions, (0, 1), value=1.0)[:, self._place] * self._base
        edges = self._edge_index[:, None] + shift[None, :, None] * self._nodes
        batch = self._batch + shift[:, None] * self._graphs
        return self._oracle.soft_logits(
            self._x.repeat(count, *[1] * (self._x.dim() - 1)),
            edges.flatten(1),
            own.flatten(),
            batch.flatten(),
        )


@dataclass(frozen=True, eq=False)
class _Edges:
    """All edges of a graph and the pairs that may become some, in both directions.

    Attributes:
        edge_index: The edges [2, edges].
        base: What a weight of 1 stands for [edges].
        pair: Which of the weights is an edge's, -1 for none [edges].
    """

    edge_index: Tensor
    base: Tensor
    pair: Tensor


def _weighted_edges(space: PairSpace, ids: Tensor) -> _Edges:
    edge_index = cast(Tensor, space.graph.edge_index).cpu()
    own = space.graph.to_dict().get("edge_weight")
    base = torch.ones(edge_index.size(1)) if own is None else own.cpu().float()
    pair = torch.full((edge_index.size(1),), -1)
    slots = space.slots(ids)
    exists = slots >= 0
    order = torch.arange(ids.numel())
    pair[space.columns[slots[exists]]] = order[exists][:, None]
    u, v = space.ends(ids[~exists])
    new = torch.stack([torch.cat([u, v]), torch.cat([v, u])])
    return _Edges(
        torch.cat([edge_index, new], dim=1),
        torch.cat([base, torch.ones(new.size(1))]),
        torch.cat([pair, order[~exists].repeat(2)]),
    )


def _features(graph: Data) -> Tensor:
    if not isinstance(graph.x, Tensor):
        raise NotApplicableError(
            "expected a graph with node features x for soft edges, got one without; use a method that "
            "needs no soft graphs."
        )
    return graph.x.cpu()
