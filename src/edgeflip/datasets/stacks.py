"""All graphs of a dataset in a form that minibatches are cut from by indexing.

Collating single graphs into a batch costs more than a small model's forward pass, and a training
would do it again in every epoch. Here the work that does not change is done once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import stacked_adjacency
from edgeflip.datasets.bundle import DatasetBundle
from edgeflip.errors import DatasetError
from edgeflip.oracle import GCNClassifier

# A dense stack larger than this is not worth its memory.
_DENSE_BYTES = 256 * 2**20


class GraphStack(Protocol):
    """Graphs by position.

    Attributes:
        labels: class of every graph [graphs].
    """

    labels: Tensor

    def logits(self, model: GCNClassifier, positions: Tensor) -> Tensor:
        """The model's logits [positions, classes] of some of the graphs."""
        ...


class DenseStack:
    """Graphs of one size as adjacency matrices."""

    def __init__(self, graphs: Sequence[Data]) -> None:
        self.labels = _labels(graphs)
        self.adjacency, _ = stacked_adjacency(graphs)
        self.adjacency.diagonal(dim1=1, dim2=2).fill_(1.0)
        features = torch.stack([graph.x.float() for graph in graphs])
        # Where all graphs have the same features, as in the motif sets, one projection serves all.
        self.features = features[0] if bool((features == features[0]).all()) else features

    def logits(self, model: GCNClassifier, positions: Tensor) -> Tensor:
        """The model's logits [positions, classes] of some of the graphs."""
        features = self.features if self.features.dim() == 2 else self.features[positions]
        return model.dense_logits(model.project(features), self.adjacency[positions])


class SparseStack:
    """Graphs of any sizes; a batch is cut by joining a few tensors, and no feature is kept twice."""

    def __init__(self, graphs: Sequence[Data]) -> None:
        self.labels = _labels(graphs)
        self.features = [graph.x for graph in graphs]
        self.edges = [graph.edge_index for graph in graphs]
        self.node_counts = torch.tensor([_nodes(graph) for graph in graphs])
        self.edge_counts = torch.tensor([edges.size(1) for edges in self.edges])

    def logits(self, model: GCNClassifier, positions: Tensor) -> Tensor:
        """The model's logits [positions, classes] of some of the graphs."""
        chosen = positions.tolist()
        nodes = self.node_counts[positions]
        offsets = (nodes.cumsum(0) - nodes).repeat_interleave(self.edge_counts[positions])
        features = torch.cat([self.features[position] for position in chosen]).float()
        edges = torch.cat([self.edges[position] for position in chosen], dim=1) + offsets
        graph_of_node = torch.arange(len(chosen)).repeat_interleave(nodes)
        return model(features, edges, graph_of_node)  # type: ignore[no-any-return]


def stack_graphs(graphs: Sequence[Data]) -> GraphStack:
    """The faster stack for these graphs: dense if they are small and of one size."""
    sizes = {_nodes(graph) for graph in graphs}
    size = max(sizes)
    values = len(graphs) * size * (size + graphs[0].x.size(1))
    if len(sizes) == 1 and 4 * values <= _DENSE_BYTES:
        return DenseStack(graphs)
    return SparseStack(graphs)


def check_trainable(bundle: DatasetBundle) -> None:
    """Refuse, in one sentence, a dataset no classifier can be trained on.

    Raises:
        DatasetError: for an empty part of the split, a graph without nodes, features of another
            width, or a label that is missing or no class.
    """
    if not bundle.class_names:
        raise DatasetError(
            f"expected classes to train a classifier on '{bundle.name}', got values; train a model of your "
            "own and explain it with task='regression'."
        )
    for part in ("train", "val", "test"):
        if not getattr(bundle.split, part):
            raise DatasetError(
                f"expected the split of '{bundle.name}' to have training, validation and test "
                f"graphs, got no {part} graphs; split it anew, for example with random_split."
            )
    for position, graph in enumerate(bundle.graphs):
        problem = _problem(graph, bundle)
        if problem is not None:
            raise DatasetError(
                f"expected every graph of '{bundle.name}' to have {problem} in graph {position}; "
                "correct or leave out that graph."
            )


def _problem(graph: Data, bundle: DatasetBundle) -> str | None:
    """What is wrong with a graph, as `wanted, got found`."""
    if not isinstance(graph.x, Tensor) or graph.x.dim() != 2 or not graph.x.size(0):
        found = list(graph.x.shape) if isinstance(graph.x, Tensor) else type(graph.x).__name__
        return f"features x of shape [nodes, features], got {found}"
    if graph.x.size(1) != bundle.num_features:
        return f"{bundle.num_features} features per node, got {graph.x.size(1)}"
    if not isinstance(graph.edge_index, Tensor):
        return "an edge_index, got none"
    if not isinstance(graph.y, Tensor) or graph.y.numel() != 1:
        found = list(graph.y.shape) if isinstance(graph.y, Tensor) else type(graph.y).__name__
        return f"one label y, got {found}"
    if graph.y.item() not in range(bundle.num_classes):
        return f"a label in 0..{bundle.num_classes - 1}, got {graph.y.item()}"
    return None


def _nodes(graph: Data) -> int:
    return int(graph.x.size(0))


def _labels(graphs: Sequence[Data]) -> Tensor:
    return torch.tensor([int(graph.y) for graph in graphs])
