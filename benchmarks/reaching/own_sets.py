"""Two sets that no setting of any search was chosen on, with models from PyG's layers.

`coloured_houses`: 15 to 40 nodes of five colours. Graphs of the one class hold a house whose nodes have
certain colours, up to three times; those of the other hold the same nodes, joined otherwise. A GIN tells
them apart.

`most_ties`: 20 to 60 nodes of three colours. The class is the pair of unlike colours between which most
edges run, by two to eight edges more than between any other two. A GAT tells them apart, which takes no edge
weights: for slopes it is a black box.

This file imports nothing of edgeflip, so that other versions can ask the same models.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GINConv, global_add_pool, global_max_pool, global_mean_pool

Edges = set[tuple[int, int]]

_HOUSE = ((0, 1), (1, 2), (2, 3), (3, 0), (0, 4), (1, 4))
_DECOY = ((0, 2), (2, 4), (4, 3), (3, 1), (1, 0), (0, 4))
_HOUSE_COLOURS = (0, 1, 2, 2, 3)
_TIES = ((0, 1), (1, 2), (0, 2))


class HouseGIN(nn.Module):
    """Three layers of GIN, mean and maximal node states."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        widths = [5, width, width, width]
        self.layers = nn.ModuleList(
            GINConv(
                nn.Sequential(
                    nn.Linear(before, after),
                    nn.BatchNorm1d(after),
                    nn.ReLU(),
                    nn.Linear(after, after),
                ),
                train_eps=True,
            )
            for before, after in pairwise(widths)
        )
        self.head = nn.Sequential(nn.Linear(2 * width, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """Logits [graphs, 2]."""
        for layer in self.layers:
            x = layer(x, edge_index).relu()
        together = torch.cat([global_mean_pool(x, batch), global_max_pool(x, batch)], dim=1)
        return cast(Tensor, self.head(together))


class TiesGAT(nn.Module):
    """Three layers of GAT with four heads, summed node states."""

    def __init__(self, width: int = 48) -> None:
        super().__init__()
        widths = [3, width, width, width]
        self.layers = nn.ModuleList(
            GATConv(before, after // 4, heads=4) for before, after in pairwise(widths)
        )
        self.own = nn.ModuleList(nn.Linear(before, after) for before, after in pairwise(widths))
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor) -> Tensor:
        """Logits [graphs, 3]."""
        for layer, own in zip(self.layers, self.own, strict=True):
            x = (layer(x, edge_index) + own(x)).relu()
        return cast(Tensor, self.head(global_add_pool(x, batch) / 10))


@dataclass(frozen=True)
class OwnSet:
    """How a set is made.

    Attributes:
        draw: A graph of it.
        model: Its untrained model.
        num_classes: Of both.
        epochs: Of training.
        learning_rate: At its beginning.
    """

    draw: Callable[[random.Random], Data]
    model: Callable[[], nn.Module]
    num_classes: int
    epochs: int
    learning_rate: float


@dataclass(frozen=True)
class Graphs:
    """The graphs of a set by what they are for."""

    train: list[Data]
    val: list[Data]
    test: list[Data]


def _house_graph(chance: random.Random) -> Data:
    """A tree with some edges more and one to three houses, or decoys, hung on it."""
    label = chance.randrange(2)
    copies = chance.choice([1, 1, 1, 2, 2, 3])
    nodes = chance.randint(max(15, 5 * copies + 6), 40)
    base = nodes - 5 * copies
    colours = [chance.randrange(5) for _ in range(base)]
    edges: Edges = {(chance.randrange(node), node) for node in range(1, base)}
    for _ in range(chance.randint(0, base // 4)):
        one, two = sorted(chance.sample(range(base), 2))
        edges.add((one, two))
    for copy in range(copies):
        start = base + 5 * copy
        colours += _HOUSE_COLOURS
        for one, two in _HOUSE if label else _DECOY:
            edges.add((min(start + one, start + two), max(start + one, start + two)))
        edges.add((chance.randrange(base), start + chance.randrange(5)))
    return _graph(colours, edges, 5, label)


def _ties_graph(chance: random.Random) -> Data:
    """A connected graph in which edges between two certain colours are the most."""
    while True:
        nodes = chance.randint(20, 60)
        colours = [chance.randrange(3) for _ in range(nodes)]
        edges: Edges = {(chance.randrange(node), node) for node in range(1, nodes)}
        wanted = chance.randrange(3)
        for _ in range(chance.randint(nodes // 4, nodes)):
            one, two = sorted(chance.sample(range(nodes), 2))
            likes = {colours[one], colours[two]} == set(_TIES[wanted])
            if likes or chance.random() < 0.7:
                edges.add((one, two))
        counts = [
            sum({colours[one], colours[two]} == set(tie) for one, two in edges) for tie in _TIES
        ]
        order = sorted(counts, reverse=True)
        if counts[wanted] == order[0] and 2 <= order[0] - order[1] <= 8:
            return _graph(colours, edges, 3, wanted)


OWN_SETS = {
    "coloured_houses": OwnSet(_house_graph, HouseGIN, 2, epochs=30, learning_rate=0.005),
    "most_ties": OwnSet(_ties_graph, TiesGAT, 3, epochs=40, learning_rate=0.005),
}


def own_graphs(name: str, *, count: int = 3000) -> Graphs:
    """The graphs of a set, the same whenever they are made."""
    chance = random.Random(f"{name} 20")
    graphs = [OWN_SETS[name].draw(chance) for _ in range(count)]
    tenth = count // 10
    return Graphs(graphs[: 8 * tenth], graphs[8 * tenth : 9 * tenth], graphs[9 * tenth :])


def own_model(name: str, folder: Path, graphs: Graphs, *, epochs: int | None = None) -> nn.Module:
    """The model of a set, trained if the folder has none."""
    made = OWN_SETS[name]
    weights = folder / "model.safetensors"
    if not weights.exists():
        model, report = _trained(made, graphs, epochs or made.epochs)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "report.json").write_text(json.dumps(report) + "\n", "utf-8")
        save_file(model.state_dict(), weights)
    model = made.model()
    model.load_state_dict(load_file(weights))
    return model.eval()


def _trained(made: OwnSet, graphs: Graphs, epochs: int) -> tuple[nn.Module, dict[str, Any]]:
    """A model trained with Adam; the epoch of the best validation accuracy is kept."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = made.model()
        optimiser = torch.optim.Adam(model.parameters(), lr=made.learning_rate, weight_decay=1e-4)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
        best, kept = -1.0, {}
        for _ in range(epochs):
            model.train()
            for batch in DataLoader(graphs.train, batch_size=64, shuffle=True):
                optimiser.zero_grad()
                logits = model(batch.x, batch.edge_index, batch.batch)
                nn.functional.cross_entropy(logits, batch.y).backward()
                optimiser.step()
            schedule.step()
            accuracy = _accuracy(model, graphs.val)
            if accuracy > best:
                best = accuracy
                kept = {name: value.clone() for name, value in model.state_dict().items()}
        model.load_state_dict(kept)
        return model, {"val_accuracy": best, "test_accuracy": _accuracy(model, graphs.test)}


def _accuracy(model: nn.Module, graphs: list[Data]) -> float:
    model.eval()
    right = 0
    with torch.no_grad():
        for batch in DataLoader(graphs, batch_size=256):
            logits = model(batch.x, batch.edge_index, batch.batch)
            right += int((logits.argmax(dim=1) == batch.y).sum())
    return right / len(graphs)


def _graph(colours: list[int], edges: Edges, width: int, label: int) -> Data:
    order = torch.tensor(sorted(edges)).t()
    return Data(
        x=torch.eye(width)[colours],
        edge_index=torch.cat([order, order.flip(0)], dim=1),
        y=torch.tensor([label]),
    )
