"""What an oracle says when only some nodes of a graph take part.

A mask names the nodes that take part. The graph keeps all of its nodes, so a masked node still counts
in the readout; what is taken from it is, by choice,

- `"split"`: its edges (self-loops stay, as they do in all edits), or
- `"zero"`: its features, which become zeros.

Every way to an answer is here: many masks of one graph share one matrix product for our own GCN, are
one block-diagonal batch for other models, and a list of graphs for an oracle we know nothing about.
"""

from __future__ import annotations

import copy
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from typing import Any, Literal, TypeAlias, cast, get_args

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import (
    PAD,
    AnswerStore,
    PairEdits,
    PairSpace,
    assemble,
    base_adjacency,
    edge_attributes,
)
from edgeflip.errors import ConfigError, GraphError, NotApplicableError
from edgeflip.oracle.budget import MeteredOracle, checked_proba
from edgeflip.oracle.gcn import GCNClassifier
from edgeflip.oracle.model import ModelOracle
from edgeflip.oracle.protocols import EditOracle, Oracle

Masking: TypeAlias = Literal["split", "zero"]

SHARED_NODE_LIMIT = 400
"""Up to this many nodes one dense product for all masks beats a block-diagonal batch."""

# Values per intermediate matrix: what stays in the processor's cache (measured on 25 nodes: a third
# faster than chunks four times as large).
_CHUNK_VALUES = 200_000

# Most nodes for which a mask fits into the bits of one 64-bit key.
_EXACT_KEYS = 62


def masked_proba(
    oracle: Oracle, space: PairSpace, masks: Tensor, *, masking: Masking = "split"
) -> Tensor:
    """Class probabilities when only the nodes of each mask take part [masks, C].

    Args:
        oracle: Any oracle; a `MeteredOracle` counts every distinct mask as one call.
        space: The graph.
        masks: The nodes that take part, as booleans [masks, n]; repeated rows are asked about once.
        masking: What is taken from the other nodes: `"split"` their edges, `"zero"` their features.

    Raises:
        BudgetExhausted: If the masks do not fit the budget of a `MeteredOracle`.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> space = PairSpace.of(example_graphs(1, seed=0)[0])
        >>> everything = torch.ones(1, space.num_nodes, dtype=torch.bool)
        >>> oracle = example_oracle()
        >>> whole = oracle.predict_proba([space.graph])
        >>> bool(torch.allclose(masked_proba(oracle, space, everything), whole, atol=1e-6))
        True
    """
    return MaskedOracle(oracle, space, masking=masking).proba(masks)


class MaskedOracle:
    """One graph's answers by mask; what was asked once is remembered.

    Args:
        oracle: Any oracle; a `MeteredOracle` is charged for every mask that is really asked about.
        space: The graph.
        masking: What is taken from masked nodes, see `masked_proba`.

    Attributes:
        asked: Masks the oracle was really asked about.
    """

    def __init__(self, oracle: Oracle, space: PairSpace, *, masking: Masking = "split") -> None:
        if masking not in get_args(Masking):
            raise ConfigError(
                f"expected masking to be one of {', '.join(get_args(Masking))}, got {masking!r}."
            )
        if masking == "zero" and not isinstance(space.graph.x, Tensor):
            raise NotApplicableError(
                "expected a graph with node features x to zero, got one without; use masking='split'."
            )
        self.oracle = oracle
        self.space = space
        self.masking = masking
        self.asked = 0
        self._inner = oracle.oracle if isinstance(oracle, MeteredOracle) else oracle
        self._store: AnswerStore | None = None

    def frozen(self) -> AbstractContextManager[None]:
        """The model in evaluation mode for as long as many masks are asked about, if there is one.

        Every call sees to that itself; around many calls it is done once.
        """
        if isinstance(self._inner, ModelOracle):
            return self._inner.frozen()
        return nullcontext()

    def proba(self, masks: Tensor) -> Tensor:
        """Class probabilities of masked graphs [masks, C]; see `masked_proba`."""
        if masks.dim() != 2 or masks.size(1) != self.space.num_nodes or masks.dtype != torch.bool:
            raise GraphError(
                f"expected boolean masks [masks, {self.space.num_nodes}], got {masks.dtype} "
                f"{list(masks.shape)}; give one row per mask and one column per node."
            )
        if not len(masks):
            return torch.empty(0, self._inner.num_classes)
        keys, first, index = _distinct(masks, self._key_weights)
        if self._store is None:
            answers = self._ask(masks[first])
            self._store = AnswerStore(answers.size(1))
            self._store.add(keys.numpy(), answers.numpy())
            return answers[index]
        known, answers = (torch.from_numpy(part) for part in self._store.find(keys.numpy()))
        missing = ~known
        if bool(missing.any()):
            answers[missing] = self._ask(masks[first[missing]])
            self._store.add(keys[missing].numpy(), answers[missing].numpy())
        return answers[index]

    def _ask(self, masks: Tensor) -> Tensor:
        """Ask the oracle, chunk by chunk, and charge the meter if there is one."""
        meter = self.oracle if isinstance(self.oracle, MeteredOracle) else None
        if meter is not None:
            meter.refuse_if_ended()
            if len(masks) > meter.remaining:
                raise meter.exhausted()
        answers = []
        for part in masks.split(self._chunk):
            if meter is not None and meter.out_of() == "timeout":
                raise meter.exhausted()
            answers.append(self._answer(part))
            self.asked += len(part)
            if meter is not None:
                meter.calls += len(part)
                meter.tell()
        return torch.cat(answers) if len(answers) > 1 else answers[0]

    def _answer(self, masks: Tensor) -> Tensor:
        if self._shared is not None:
            return self._shared.proba(masks)
        if self.masking == "split" and hasattr(self._inner, "predict_edits"):
            toggles = removals(self.space, masks)
            return cast(EditOracle, self._inner).predict_edits(PairEdits(self.space), toggles)
        if isinstance(self._inner, ModelOracle) and self._inner.takes_batches:
            return _zeroed_batch(self._inner, self.space, masks)
        graphs = [masked_graph(self.space, mask, masking=self.masking) for mask in masks]
        return checked_proba(self._inner, graphs)

    @cached_property
    def _shared(self) -> _SharedGCN | None:
        fits = is_plain_gcn(self._inner, self.space.graph)
        if not fits or self.space.num_nodes > SHARED_NODE_LIMIT:
            return None
        return _SharedGCN(cast(ModelOracle, self._inner), self.space, self.masking)

    @cached_property
    def _chunk(self) -> int:
        if self._shared is not None:
            return self._shared.chunk
        batch_size = getattr(self._inner, "batch_size", 256)
        return batch_size if isinstance(batch_size, int) and batch_size > 0 else 256

    @cached_property
    def _key_weights(self) -> Tensor:
        """A number per node; a mask's key is the sum of its nodes' numbers [n]."""
        nodes = self.space.num_nodes
        if nodes <= _EXACT_KEYS:
            return torch.ones(nodes, dtype=torch.long) << torch.arange(nodes)
        # Random 64-bit numbers: two of a million masks meet with a chance of one in 10 million.
        generator = torch.Generator().manual_seed(0)
        return torch.randint(-(2**63), 2**63 - 1, (nodes,), generator=generator)


def is_plain_gcn(oracle: Oracle, graph: Data) -> bool:
    """Whether an oracle is our own GCN, called its own way, on a graph of features and edges only."""
    return (
        type(oracle) is ModelOracle
        and type(oracle.model) is GCNClassifier
        and oracle.call is None
        and oracle.path != "sparse"
        and isinstance(graph.x, Tensor)
        and graph.x.dim() == 2
        and not edge_attributes(graph)
    )


def removals(space: PairSpace, masks: Tensor) -> Tensor:
    """The edges that go with masked nodes, as candidates [masks, m]."""
    u, v = space.ends(space.edge_ids)
    stays = masks[:, u] & masks[:, v]
    toggles = torch.where(stays, PAD, space.edge_ids)
    return toggles.sort(dim=1, descending=True).values


def masked_graph(space: PairSpace, mask: Tensor, *, masking: Masking = "split") -> Data:
    """One masked graph as ordinary data.

    Args:
        space: The graph.
        mask: The nodes that take part [n].
        masking: What is taken from the others, see `masked_proba`.
    """
    graph = copy.copy(space.graph)
    if masking == "zero":
        x = cast(Tensor, graph.x)
        graph.x = torch.where(_over_rows(mask.to(x.device), x), x, torch.zeros_like(x))
        return graph
    edge_index = cast(Tensor, graph.edge_index)
    source, target = edge_index
    mask = mask.to(edge_index.device)
    stays = mask[source] & mask[target] | (source == target)
    for key in edge_attributes(graph):
        graph[key] = graph[key][stays]
    graph.edge_index = edge_index[:, stays]
    return graph


def _zeroed_batch(oracle: ModelOracle, space: PairSpace, masks: Tensor) -> Tensor:
    """Answers of a model on one block-diagonal batch of graphs with masked features [masks, C]."""
    no_edits = torch.empty(len(masks), 0, dtype=torch.long)
    batch = oracle.place.put(assemble(space, no_edits, device=oracle.device))
    mask = _over_rows(masks.flatten().to(batch.x.device), batch.x)
    batch.x = torch.where(mask, batch.x, torch.zeros_like(batch.x))
    return oracle.predict_batch(batch, len(masks))


def _over_rows(mask: Tensor, rows: Tensor) -> Tensor:
    """A mask over rows, shaped to be used with the rows [rows, 1, …]."""
    return mask.reshape(-1, *[1] * (rows.dim() - 1))


def _distinct(masks: Tensor, weights: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Ascending keys of the distinct masks, a row of each, and where each mask's key stands."""
    keys, index = torch.unique(masks.long() @ weights, return_inverse=True)
    first = torch.empty_like(keys)
    first[index] = torch.arange(len(masks))  # any row of a key will do: they are equal
    return keys, first, index


class _SharedGCN:
    """Our GCN on many masks of one graph at once.

    All masks share the adjacency matrix, so hidden states are laid out [nodes, masks, width]: one
    product with the matrix gathers for all masks, and one with the weights transforms for all.
    With "split" masks, `keep ⊙ A (keep ⊙ H)` is what removing the edges of masked nodes gives.
    """

    def __init__(self, oracle: ModelOracle, space: PairSpace, masking: Masking) -> None:
        model: Any = oracle.model
        x = cast(Tensor, space.graph.x)
        self._oracle = oracle
        self._model = model
        self._masking = masking
        with oracle.frozen(), torch.no_grad():
            self._projected: Tensor = model.project(oracle.place.put(x))
        matrix = base_adjacency(space).to(self._projected)
        if masking == "split":
            self._matrix = matrix.fill_diagonal_(0.0)
        elif model.config.normalize:
            scale = matrix.sum(dim=1).rsqrt()
            self._matrix = matrix * scale[:, None] * scale
        else:
            self._matrix = matrix
        widest = max(model.config.layers)
        self.chunk: int = max(1, _CHUNK_VALUES // (space.num_nodes * widest))

    def proba(self, masks: Tensor) -> Tensor:
        """Class probabilities [masks, C]."""
        return self._oracle.predict_with(lambda: self._logits(masks), len(masks))

    def _logits(self, masks: Tensor) -> Tensor:
        keep = masks.t().to(self._projected)[:, :, None]
        gather = self._split(keep) if self._masking == "split" else self._whole
        first, *later = self._model.convs
        start = self._projected[:, None]
        if self._masking == "zero":
            start = start * keep
        hidden = gather(start).add_(first.bias).relu_()
        for conv in later:
            gathered = gather(hidden)
            flat = torch.addmm(conv.bias, gathered.flatten(0, 1), conv.lin.weight.t())
            hidden = flat.relu_().unflatten(0, gathered.shape[:2])
        readout = self._model.config.readout
        if readout == "max":
            pooled = hidden.amax(dim=0)
        else:
            pooled = hidden.mean(dim=0) if readout == "mean" else hidden.sum(dim=0)
        logits: Tensor = self._model.classify(pooled)
        return logits

    def _whole(self, hidden: Tensor) -> Tensor:
        return self._product(hidden)

    def _split(self, keep: Tensor) -> Any:
        """The gathering step without the edges of masked nodes, which other degrees go with."""
        if not self._model.config.normalize:
            return lambda hidden: self._product(hidden * keep).mul_(keep).add_(hidden)
        degree = self._product(keep).mul_(keep).add_(1.0)
        scale = keep * degree.rsqrt()
        own = degree.reciprocal()
        return lambda hidden: self._product(hidden * scale).mul_(scale).addcmul_(own, hidden)

    def _product(self, hidden: Tensor) -> Tensor:
        product = torch.mm(self._matrix, hidden.flatten(1))
        return product.view(hidden.shape)
