"""Small graphs and an oracle whose prediction depends on single edges."""

from __future__ import annotations

import random

import torch
from torch_geometric.data import Data

from edgeflip.oracle import GCNClassifier, ModelOracle
from edgeflip.support import seeded


def example_graphs(count: int, *, seed: int, num_nodes: int = 9, features: int = 4) -> list[Data]:
    """Small random connected graphs with a label, made of a tree and a few more edges."""
    graphs = []
    rng = random.Random(seed)
    for _ in range(count):
        edges = {(rng.randrange(node), node) for node in range(1, num_nodes)}
        wanted = num_nodes - 1 + rng.randrange(1, 5)
        while len(edges) < wanted:
            u, v = sorted(rng.sample(range(num_nodes), 2))
            edges.add((u, v))
        both = sorted(edges | {(v, u) for u, v in edges})
        with seeded(rng.randrange(2**31)):
            x = 0.9 + 0.2 * torch.rand(num_nodes, features)
        label = int(len(edges) > num_nodes + 1)
        graphs.append(
            Data(x=x, edge_index=torch.tensor(both).t().contiguous(), y=torch.tensor([label]))
        )
    return graphs


def example_oracle(*, features: int = 4, classes: int = 2, seed: int = 0) -> ModelOracle:
    """A small GCN whose prediction depends on single edges: its decision is centred on the examples.

    Another seed gives another model of the same kind.
    """
    with seeded(seed):
        model = GCNClassifier(features, classes, layers=(8, 8))
    graphs = example_graphs(40, seed=7, features=features)
    oracle = ModelOracle(model, num_classes=classes)
    with torch.no_grad():
        logits = torch.cat([model(graph.x, graph.edge_index) for graph in graphs])
        model.classify.bias.sub_(logits.mean(dim=0))
    return oracle
