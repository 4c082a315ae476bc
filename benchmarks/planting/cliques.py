"""Sparse graphs with planted cliques, and a GIN that looks for them.

Nodes have one of five colours and four neighbours on average. A graph is of class "clique" when five nodes of
the first colour are all joined. Every graph holds near misses too: cliques that lack one to four edges, some
with edges elsewhere in their place, cliques with one node of another colour, stars. Without them a GIN would
only learn that something is dense.
"""

from __future__ import annotations

import json
import math
import random
from dataclasses import dataclass
from itertools import combinations, pairwise
from pathlib import Path
from typing import cast

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import MessagePassing, global_max_pool

from edgeflip.support import progress_bar

Pair = tuple[int, int]

COLOURS, CLIQUE, MEAN_DEGREE = 5, 5, 4
CLASSES = ("no clique", "clique")

# Nodes of the graphs that the GIN learns from.
_SMALLEST, _LARGEST = 60, 400


@dataclass(frozen=True, eq=False)
class Planted:
    """A graph that lacks two edges of a clique.

    Attributes:
        graph: The graph.
        nodes: Those of the clique.
        missing: The two edges.
    """

    graph: Data
    nodes: tuple[int, ...]
    missing: frozenset[Pair]

    def region(self, chance: random.Random, size: int) -> frozenset[int]:
        """The nodes nearest to one of the clique's, which of them by chance."""
        neighbours: list[list[int]] = [[] for _ in range(int(self.graph.num_nodes or 0))]
        for one, two in self.graph.edge_index.t().tolist():
            neighbours[one].append(two)
        found = {chance.choice(self.nodes): None}
        edge = list(found)
        while edge and len(found) < size:
            chance.shuffle(edge)
            edge = [other for node in edge for other in neighbours[node]]
            edge = [node for node in dict.fromkeys(edge) if node not in found]
            found |= dict.fromkeys(edge)
        return frozenset(list(found)[:size])


class _Drawing:
    """A sparse random graph in which things are planted."""

    def __init__(self, nodes: int, chance: random.Random) -> None:
        self.nodes, self.chance = nodes, chance
        self.colours = chance.choices(range(COLOURS), k=nodes)
        self.edges: set[Pair] = set()
        while len(self.edges) < MEAN_DEGREE * nodes // 2:
            one, two = chance.randrange(nodes), chance.randrange(nodes)
            if one != two:
                self.edges.add((min(one, two), max(one, two)))
        order = chance.sample(range(nodes), nodes)
        self.marked = [node for node in order if self.colours[node] == 0]

    def clique(self, missing: int = 0, *, elsewhere: float = 0.0) -> tuple[list[int], list[Pair]]:
        """Five nodes of the first colour, joined but for some edges; these nodes and edges.

        Args:
            missing: Edges that it lacks.
            elsewhere: How often an end of one of these is joined to another node of its colour instead.
        """
        while len(self.marked) < CLIQUE:
            fresh = self.chance.randrange(self.nodes)
            if self.colours[fresh] != 0:
                self.colours[fresh] = 0
                self.marked.append(fresh)
        nodes = sorted(self.marked.pop() for _ in range(CLIQUE))
        pairs = list(combinations(nodes, 2))
        self.edges.update(pairs)
        lacking = self.chance.sample(pairs, missing)
        self.edges.difference_update(lacking)
        ends = [node for pair in lacking for node in pair]
        for node in ends if self.marked else []:
            other = self.chance.choice(self.marked)
            if self.chance.random() < elsewhere:
                self.edges.add((min(node, other), max(node, other)))
        return nodes, lacking

    def near_miss(self) -> None:
        """Something that is nearly a clique of the first colour."""
        chance = self.chance
        kind = chance.random()
        if kind < 0.6:
            self.clique(chance.choice((1, 1, 2, 2, 3, 4)), elsewhere=chance.choice((0.0, 0.0, 0.6)))
        elif kind < 0.8:
            nodes, _ = self.clique()
            self.colours[chance.choice(nodes)] = chance.randrange(1, COLOURS)
        elif len(self.marked) > 2:
            count = min(len(self.marked) - 1, chance.randint(4, 7))
            centre, *leaves = (self.marked.pop() for _ in range(count + 1))
            self.edges.update((min(centre, leaf), max(centre, leaf)) for leaf in leaves)

    def data(self, label: int) -> Data:
        """The graph."""
        order = torch.tensor(sorted(self.edges)).t()
        return Data(
            x=torch.eye(COLOURS)[self.colours],
            edge_index=torch.cat([order, order.flip(0)], dim=1),
            y=torch.tensor([label]),
        )


def any_graph(nodes: int, chance: random.Random) -> Data:
    """A graph of either class."""
    drawing, label = _Drawing(nodes, chance), chance.randrange(2)
    for _ in range(chance.randint(1, 2)):
        drawing.near_miss()
    if label:
        drawing.clique()
    return drawing.data(label)


def lacking_two(nodes: int, chance: random.Random) -> Planted:
    """A graph with one clique, which lacks two edges, among other near misses."""
    drawing = _Drawing(nodes, chance)
    for _ in range(chance.randint(0, 1)):
        drawing.near_miss()
    clique, missing = drawing.clique(2)
    return Planted(drawing.data(0), tuple(clique), frozenset(missing))


class _Layer(MessagePassing):  # type: ignore[misc]
    """A layer of a GIN whose messages have weights."""

    def __init__(self, before: int, after: int) -> None:
        super().__init__(aggr="add")
        self.own = nn.Parameter(torch.zeros(()))
        self.network = nn.Sequential(
            nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU(), nn.Linear(after, after)
        )

    def forward(self, x: Tensor, edge_index: Tensor, edge_weight: Tensor | None) -> Tensor:
        """States of nodes [n, after]."""
        around = self.propagate(edge_index, x=x, edge_weight=edge_weight)
        return cast(Tensor, self.network((1 + self.own) * x + around)).relu()

    def message(self, x_j: Tensor, edge_weight: Tensor | None) -> Tensor:
        """What a neighbour says [edges, before]."""
        return x_j if edge_weight is None else edge_weight[:, None] * x_j


class CliqueGIN(nn.Module):
    """Three layers of GIN and the largest of all node states."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        widths = [COLOURS, width, width, width]
        self.layers = nn.ModuleList(_Layer(before, after) for before, after in pairwise(widths))
        self.head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 2))

    def forward(
        self, x: Tensor, edge_index: Tensor, batch: Tensor, edge_weight: Tensor | None = None
    ) -> Tensor:
        """Logits [graphs, 2]."""
        for layer in self.layers:
            x = layer(x, edge_index, edge_weight)
        return cast(Tensor, self.head(global_max_pool(x, batch)))


def trained_gin(folder: Path, *, count: int, epochs: int, seed: int = 0) -> CliqueGIN:
    """The GIN, trained if the folder has none that learned as long from as many graphs."""
    weights = folder / f"gin-{count}-{epochs}-{seed}.safetensors"
    model = CliqueGIN()
    if not weights.exists():
        folder.mkdir(parents=True, exist_ok=True)
        learned, accuracy = _trained(count, epochs, seed)
        weights.with_suffix(".json").write_text(json.dumps({"val_accuracy": accuracy}), "utf-8")
        save_file(learned.state_dict(), weights)
    model.load_state_dict(load_file(weights))
    return model.eval()


def _trained(count: int, epochs: int, seed: int) -> tuple[CliqueGIN, float]:
    """A GIN trained with Adam on graphs of small and middle size; its accuracy on others of these sizes."""
    chance = random.Random(f"cliques {seed}")
    low, high = math.log(_SMALLEST), math.log(_LARGEST)
    graphs = [any_graph(round(math.exp(chance.uniform(low, high))), chance) for _ in range(count)]
    held_out, graphs = graphs[: count // 10], graphs[count // 10 :]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = CliqueGIN()
        optimiser = torch.optim.Adam(model.parameters(), lr=0.005, weight_decay=1e-5)
        schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, epochs)
        bar = progress_bar("train a GIN", total=epochs, unit="epoch", shown=True)
        for _ in range(epochs):
            model.train()
            for batch in DataLoader(graphs, batch_size=32, shuffle=True):
                optimiser.zero_grad()
                logits = model(batch.x, batch.edge_index, batch.batch)
                nn.functional.cross_entropy(logits, batch.y).backward()
                optimiser.step()
            schedule.step()
            bar.update()
        bar.close()
    return model.eval(), accuracy(model, held_out)


def accuracy(model: CliqueGIN, graphs: list[Data]) -> float:
    """The share of graphs that the model is right about."""
    right = 0
    with torch.no_grad():
        for batch in DataLoader(graphs, batch_size=8):
            logits = model(batch.x, batch.edge_index, batch.batch)
            right += int((logits.argmax(dim=1) == batch.y).sum())
    return right / len(graphs)
