"""The graph classifier we train as an oracle: a GCN with a sparse and a dense way to the same logits.

The sparse way (`forward`) takes any batch PyG can make. The dense way (`project`, then
`dense_logits`) is for many edited versions of one graph, or for graphs of one size: edits never
change the node features, so the first product `X W` is shared by all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.nn import GCNConv, global_add_pool, global_max_pool, global_mean_pool
from torch_geometric.nn.conv.gcn_conv import gcn_norm

from edgeflip.errors import ConfigError
from edgeflip.oracle.dense_gcn import DenseGraph, DenseLayers, Readout, at_least_two
from edgeflip.support import check_fields, check_limit

_SPARSE_READOUT = {"mean": global_mean_pool, "max": global_max_pool, "sum": global_add_pool}


def _as_numbers(x: Tensor) -> Tensor:
    """Features that layers can multiply: those of many data sets are whole numbers."""
    return x if x.is_floating_point() else x.float()


def _convolved(conv: GCNConv, x: Tensor, edges: Tensor, weights: Tensor | None) -> Tensor:
    """What a layer gives; where nobody learns or listens, without PyG's way there, which takes longer."""
    listened = conv.explain or conv._forward_hooks or conv._forward_pre_hooks
    if torch.is_grad_enabled() or listened:
        out: Tensor = conv(x, edges, weights)
        return out
    sent = functional.linear(x, conv.lin.weight)
    received = sent.index_select(0, edges[0])
    if weights is not None:
        received = weights[:, None] * received
    summed: Tensor = torch.zeros_like(sent).index_add_(0, edges[1], received) + conv.bias
    return summed


@dataclass(frozen=True)
class GCNConfig:
    """The arguments of a `GCNClassifier`: all that is needed to build it again."""

    num_features: int
    num_classes: int
    layers: tuple[int, ...] = (20, 20, 20)
    readout: Readout = "mean"
    normalize: bool = False
    dropout: float = 0.0

    def __post_init__(self) -> None:
        check_fields(self, advice="for example use layers=(20, 20, 20)")
        widths = (self.num_features, self.num_classes, *self.layers)
        if not self.layers or min(widths) < 1:
            raise ConfigError(
                "a GCN needs whole numbers of at least 1 for features, classes and one or more "
                f"layers, got {self.num_features}, {self.num_classes} and {self.layers}; "
                "for example use layers=(20, 20, 20)."
            )
        ways = pairwise((self.num_features, *self.layers, self.num_classes))
        largest = max(before * after for before, after in ways)
        check_limit("features", largest, "a layer of a GCN", ConfigError)
        if not 0.0 <= self.dropout < 1.0:
            raise ConfigError(
                f"dropout must be at least 0 and below 1, got {self.dropout}; use 0 for none."
            )


class GCNClassifier(nn.Module):
    """A graph classifier: graph convolutions with ReLU after each, a readout, one linear layer.

    Every node sends its features to itself with weight 1, whether or not the input has a self loop
    there, so a self loop in the input changes nothing.

    Args:
        num_features: width of the node features.
        num_classes: number of logits.
        layers: width of each convolution.
        readout: how node embeddings become one per graph.
        normalize: divide messages by the square roots of both degrees; without it the aggregation
            is the plain sum `(A + I) X W + b`.
        dropout: share of the readout dropped while training.

    Attributes:
        config: these arguments as one value; `GCNClassifier(**asdict(config))` builds the same.

    Example:
        >>> model = GCNClassifier(num_features=4, num_classes=3)
        >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
        >>> model(torch.ones(3, 4), path).shape
        torch.Size([1, 3])
    """

    def __init__(
        self,
        num_features: int,
        num_classes: int,
        layers: tuple[int, ...] = (20, 20, 20),
        readout: Readout = "mean",
        normalize: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        config = GCNConfig(num_features, num_classes, layers, readout, normalize, dropout)
        self.config = config
        widths = (config.num_features, *config.layers)
        # Self loops and norms are the same for all layers; `forward` makes them once for all.
        self.convs = nn.ModuleList(
            GCNConv(before, after, normalize=False, add_self_loops=False)
            for before, after in pairwise(widths)
        )
        self.classify = nn.Linear(widths[-1], config.num_classes)

    def forward(
        self,
        x: Tensor,
        edge_index: Tensor,
        batch: Tensor | None = None,
        edge_weight: Tensor | None = None,
    ) -> Tensor:
        """Logits [graphs, classes] of a batch of graphs.

        Args:
            x: node features [nodes, features].
            edge_index: edges, both directions [2, edges].
            batch: the graph of each node [nodes]; by default all belong to one graph.
            edge_weight: from 0, as good as removed, to 1, an ordinary edge [edges].
        """
        hidden = _as_numbers(x)
        edges, weights = self._messages(edge_index, edge_weight, hidden)
        for conv in self.convs:
            hidden = _convolved(conv, hidden, edges, weights).relu()
        if batch is None:
            batch = edge_index.new_zeros(x.size(0))
        return self._classify(_SPARSE_READOUT[self.config.readout](hidden, batch))

    def project(self, x: Tensor) -> Tensor:
        """First product `X W` [..., nodes, width], the part of the work that edits do not change.

        Args:
            x: node features [..., nodes, features].
        """
        weight: Tensor = self._convolutions()[0].lin.weight
        return functional.linear(_as_numbers(x), weight)

    def dense_logits(
        self, projected: Tensor, adjacency: Tensor, sizes: Tensor | None = None
    ) -> Tensor:
        """Logits [graphs, classes] of graphs as matrices, equal to those of `forward`.

        Args:
            projected: what `project` made of the features, [nodes, width] when all graphs share
                them or [graphs, nodes, width].
            adjacency: symmetric, 0 or 1 (or weights in between), ones on the diagonal for what every
                node sends itself [graphs, nodes, nodes]; left as it is.
            sizes: how many nodes each graph has, when smaller ones are padded with nodes that have
                no edge [graphs]; by default all have the matrix's.
        """
        layers = self._layers()
        chunk = layers.chunk(adjacency.size(1))
        parts = adjacency.split(chunk)
        features = [projected] * len(parts) if projected.dim() == 2 else projected.split(chunk)
        counts = [None] * len(parts) if sizes is None else sizes.split(chunk)
        logits = [
            self._classify(layers.embedding(own, layers.messages(part), count))
            for own, part, count in zip(features, parts, counts, strict=True)
        ]
        return logits[0] if len(logits) == 1 else torch.cat(logits)

    def on_graph(self, x: Tensor) -> DenseGraph:
        """The model bound to the features of one graph, for many versions of its edges.

        Dropout is left out, as in evaluation.

        Args:
            x: node features [nodes, features].
        """
        classify = (self.classify.weight, self.classify.bias)
        return DenseGraph(self._layers(), self.project(x), classify).slim()

    def _layers(self) -> DenseLayers:
        convs = self._convolutions()
        return DenseLayers(
            [conv.lin.weight for conv in convs[1:]],
            [conv.bias for conv in convs],
            self.config.readout,
            self.config.normalize,
        )

    def _convolutions(self) -> list[GCNConv]:
        return list(self.convs)  # typed: a ModuleList only knows modules

    def _classify(self, embedding: Tensor) -> Tensor:
        if self.training:
            embedding = functional.dropout(embedding, self.config.dropout)
        logits: Tensor = self.classify(at_least_two(embedding))
        return logits[: len(embedding)]

    def _messages(
        self, edge_index: Tensor, edge_weight: Tensor | None, x: Tensor
    ) -> tuple[Tensor, Tensor | None]:
        """Edges and weights with exactly one self loop of weight 1 per node, normalised if asked.

        Input self loops are dropped first rather than kept: kept, one of weight 0 would take away
        the node's message to itself, which a removed self loop does not.
        """
        ordinary = edge_index[0] != edge_index[1]
        if not bool(ordinary.all()):
            edge_index = edge_index[:, ordinary]
            edge_weight = None if edge_weight is None else edge_weight[ordinary]
        nodes = torch.arange(x.size(0), device=edge_index.device)
        edges = torch.cat([edge_index, nodes.expand(2, -1)], dim=1)
        if edge_weight is not None:
            edge_weight = torch.cat([edge_weight, edge_weight.new_ones(x.size(0))])
        if self.config.normalize:
            return gcn_norm(  # type: ignore[no-any-return]
                edges, edge_weight, x.size(0), add_self_loops=False, dtype=x.dtype
            )
        return edges, edge_weight
