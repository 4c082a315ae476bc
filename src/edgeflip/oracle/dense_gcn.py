"""The dense way through a GCN, for many edited versions of one graph: plain tensors, chunk by chunk.

Edits never change the node features, so the first product `X W` is shared by all versions. It also
bounds what every channel can ever become, whatever edges there are. Channels that provably move no
logit by more than rounding does are left out: training with weight decay leaves many of them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Literal, TypeAlias

import torch
from torch import Tensor
from torch.nn import functional

Readout: TypeAlias = Literal["mean", "max", "sum"]

# Values per intermediate matrix: larger stacks are worked off in chunks that stay in the processor's
# cache (measured on 1024 graphs of 25 nodes: twice as fast as one pass). A search leaves room there for
# what it does between its questions.
_CHUNK_VALUES, _SEARCH_VALUES = 215_000, 80_000

# By how much all channels that are left out may move a logit, or the difference of two, together.
_NEGLIGIBLE = 1e-6

# Channels are kept in groups of so many: products of other widths round differently with the number of
# rows, so that a version of a graph would get other last digits in a block of another size.
_LANES = 16

# Of narrower layers, or where fewer of the products can be saved, sorting channels out is not worth its
# time.
_WIDE, _WORTH = 48, 0.7


@dataclass(frozen=True, eq=False)
class DenseLayers:
    """Convolutions after the first product, and the readout.

    Attributes:
        weights: Weight matrices of all layers but the first [out, in].
        biases: Biases of all layers.
        readout: How node embeddings become one per graph.
        normalize: Whether messages are divided by the square roots of both degrees.
    """

    weights: Sequence[Tensor]
    biases: Sequence[Tensor]
    readout: Readout
    normalize: bool

    def messages(self, adjacency: Tensor) -> Tensor:
        """The matrix [graphs, nodes, nodes] every layer multiplies with."""
        if not self.normalize:
            return adjacency
        scale = adjacency.sum(dim=2, keepdim=True).rsqrt()
        return (adjacency * scale).mul_(scale.transpose(1, 2))

    def embedding(self, projected: Tensor, edges: Tensor, sizes: Tensor | None = None) -> Tensor:
        """One row per graph [graphs, width].

        Args:
            projected: The first product, [nodes, width] or [graphs, nodes, width].
            edges: What `messages` gave [graphs, nodes, nodes].
            sizes: Nodes of each graph where some are padding [graphs].
        """
        graphs, nodes, _ = edges.shape
        if projected.dim() == 2:
            # One large product is faster than one small product per graph.
            hidden = torch.addmm(self.biases[0], edges.reshape(graphs * nodes, nodes), projected)
        else:
            hidden = torch.baddbmm(self.biases[0], edges, projected).flatten(0, 1)
        hidden = hidden.relu_()
        for weight, bias in zip(self.weights, self.biases[1:], strict=True):
            gathered = torch.bmm(edges, hidden.unflatten(0, (graphs, nodes))).flatten(0, 1)
            hidden = torch.addmm(bias, gathered, weight.t()).relu_()
        return self._read(hidden.unflatten(0, (graphs, nodes)), sizes)

    def gradient(
        self, projected: Tensor, edges: Tensor, pull: Callable[[Tensor], Tensor]
    ) -> Tensor:
        """What follows from embeddings, differentiated in `edges` [graphs, nodes, nodes].

        Written out, since two short walks through three layers take half the time of a recorded one.

        Args:
            projected: The first product [nodes, width].
            edges: What `messages` gave [graphs, nodes, nodes].
            pull: The derivative in the embeddings [graphs, width], from the embeddings.
        """
        graphs, nodes, _ = edges.shape
        hidden = torch.addmm(self.biases[0], edges.reshape(graphs * nodes, nodes), projected)
        layers = [hidden.relu_().unflatten(0, (graphs, nodes))]
        sources: list[Tensor] = []
        for weight, bias in zip(self.weights, self.biases[1:], strict=True):
            sources.append(layers[-1] @ weight.t())
            layers.append(torch.bmm(edges, sources[-1]).add_(bias).relu_())
        top = layers.pop()
        embedding = self._read(top, None)
        back = (pull(embedding)[:, None] * self._shares(top, embedding)).to(edges.dtype)
        found = torch.zeros_like(edges)
        for weight, source, below in zip(
            reversed(self.weights), reversed(sources), reversed(layers), strict=True
        ):
            found.baddbmm_(back, source.transpose(1, 2))
            back = torch.bmm(edges.transpose(1, 2), back) @ weight
            back *= below > 0
        return found.add_(back @ projected.t())

    def _shares(self, hidden: Tensor, embedding: Tensor) -> Tensor:
        """How the readout passes on a derivative, with that of the last ReLU [graphs, nodes, width]."""
        positive = hidden > 0
        if self.readout == "max":
            largest = positive & (hidden == embedding[:, None])
            return largest / largest.sum(dim=1, keepdim=True).clamp(min=1)
        return positive / (hidden.size(1) if self.readout == "mean" else 1)

    def chunk(self, nodes: int, *, searching: bool = False) -> int:
        """Graphs per pass."""
        values = _SEARCH_VALUES if searching else _CHUNK_VALUES
        return max(1, values // (nodes * max(nodes, self._widest)))

    @cached_property
    def _widest(self) -> int:
        return max(len(bias) for bias in self.biases)

    def _read(self, hidden: Tensor, sizes: Tensor | None) -> Tensor:
        """One row per graph from one row per node, [graphs, nodes, width] to [graphs, width]."""
        if sizes is not None:
            # Hidden values are at least 0 after the ReLU, so a zero counts in no readout.
            real = torch.arange(hidden.size(1), device=hidden.device) < sizes[:, None]
            hidden = hidden * real[:, :, None]
            if self.readout == "mean":
                return hidden.sum(dim=1) / sizes[:, None]
        if self.readout == "mean":
            return hidden.mean(dim=1)
        if self.readout == "sum":
            return hidden.sum(dim=1)
        return hidden.amax(dim=1)


@dataclass(frozen=True, eq=False)
class DenseGraph:
    """A GCN bound to the features of one graph, to be asked about versions of its edges.

    Attributes:
        layers: The convolutions.
        projected: The first product [nodes, width].
        classify: Weight and bias of the last layer.
    """

    layers: DenseLayers
    projected: Tensor
    classify: tuple[Tensor, Tensor]

    def logits(self, adjacency: Tensor) -> Tensor:
        """Logits of versions [versions, C].

        Args:
            adjacency: Their matrices, ones on the diagonal [versions, nodes, nodes].
        """
        chunk = self.layers.chunk(adjacency.size(1), searching=True)
        if adjacency.size(0) <= chunk:
            return self.logits_of_messages(self.layers.messages(adjacency))
        parts = adjacency.split(chunk)
        return torch.cat([self.logits_of_messages(self.layers.messages(part)) for part in parts])

    def logits_of_messages(self, edges: Tensor) -> Tensor:
        """The same from the matrices that every layer multiplies with."""
        embedding = self.layers.embedding(self.projected, edges)
        return functional.linear(at_least_two(embedding), *self.classify)[: len(embedding)]

    def slim(self) -> DenseGraph:
        """The same without channels that move a logit, or the difference of two, by less than 1e-6 in all.

        That holds for every set of edges on these nodes. Logits that cannot reach 1 move by less than a
        millionth of what they can reach. Where it saves little, the graph itself.
        """
        if self.layers._widest < _WIDE:
            return self
        widths = [len(bias) for bias in self.layers.biases]
        live = self._live_channels()
        kept = [int(mask.sum()) for mask in live]
        if _products(kept) > _WORTH * _products(widths) or min(kept) < 1:
            return self
        first, *later = live
        weights = [
            weight[after][:, before].contiguous()
            for weight, before, after in zip(self.layers.weights, live, later, strict=False)
        ]
        biases = [bias[mask] for bias, mask in zip(self.layers.biases, live, strict=True)]
        layers = DenseLayers(weights, biases, self.layers.readout, self.layers.normalize)
        weight, bias = self.classify
        classify = weight[:, live[-1]].contiguous(), bias
        return DenseGraph(layers, self.projected[:, first].contiguous(), classify)

    def _live_channels(self) -> list[Tensor]:
        """Which channels of each layer may matter, by bounds that hold for any edges [width] each."""
        nodes = self.projected.size(0)
        # The sum of a row: of a normalised matrix at most the root of the degree.
        reach = nodes**0.5 if self.layers.normalize else float(nodes)
        biases = self.layers.biases
        peaks = [(reach * self.projected.amax(dim=0).clamp(min=0) + biases[0]).relu()]
        for weight, bias in zip(self.layers.weights, biases[1:], strict=True):
            peaks.append((reach * (weight.clamp(min=0) @ peaks[-1]) + bias).relu())
        weight = self.classify[0]
        # Of classes only differences matter; a lone logit, and each of several values, stands for itself.
        pull = torch.maximum(weight.amax(dim=0) - weight.amin(dim=0), weight.abs().amax(dim=0))
        pull = pull * (nodes if self.layers.readout == "sum" else 1)
        # Values may be small as a whole, and are then told apart more finely.
        allowed = _NEGLIGIBLE * min(1.0, float((pull @ peaks[-1]).detach())) / len(peaks)
        live: list[Tensor] = []
        for index in reversed(range(len(peaks))):
            live.insert(0, _beyond(pull * peaks[index], allowed))
            if index:
                matters = pull * (peaks[index] > 0)
                pull = reach * (self.layers.weights[index - 1].abs().t() @ matters)
        return live


def at_least_two(rows: Tensor) -> Tensor:
    """Rows for a linear layer, a lone one twice, where nobody learns [rows, width].

    One row alone goes through another routine, whose last digits differ: a graph would get another
    answer alone than among others.
    """
    return rows.expand(2, -1) if len(rows) == 1 and not torch.is_grad_enabled() else rows


def _beyond(effects: Tensor, allowed: float) -> Tensor:
    """All but the smallest effects that add up to no more than what is allowed, in whole groups [effects]."""
    ordered, order = effects.sort()
    kept = math.ceil(int((ordered.cumsum(dim=0) > allowed).sum()) / _LANES) * _LANES
    mask = torch.zeros_like(order, dtype=torch.bool)
    mask[order[max(0, len(order) - kept) :]] = True
    return mask


def _products(widths: Sequence[int]) -> int:
    """A measure of the work of layers: the sizes of their weights."""
    return widths[0] + sum(a * b for a, b in pairwise(widths))
