"""The residual GAN of one class, and its training."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch_geometric.data import Data

from edgeflip.core import DenseGraphs, gcn_normalised
from edgeflip.errors import TrainingError
from edgeflip.explainers.rsgg_ce.config import RSGGConfig


class GraphConvolution(nn.Module):
    """A GCN layer on dense stacks, with a weight as wide as its input unless told otherwise."""

    def __init__(self, width: int, out: int | None = None) -> None:
        super().__init__()
        self.weight = nn.Linear(width, out or width, bias=False)
        self.bias = nn.Parameter(torch.zeros(out or width))
        nn.init.xavier_uniform_(self.weight.weight)

    def forward(self, x: Tensor, messages: Tensor) -> Tensor:
        """Node features [b, n, F] and normalised adjacency [b, n, n] to new features [b, n, out]."""
        gathered: Tensor = messages @ self.weight(x) + self.bias
        return gathered


@dataclass(frozen=True, eq=False)
class Generated:
    """What a generator makes of graphs.

    Attributes:
        logits: Edge logits of all pairs, symmetric [b, n, n].
        x: Node features [b, n, F].
    """

    logits: Tensor
    x: Tensor


class ResidualGenerator(nn.Module):
    """Edge logits Z Zᵀ + A and features of a second branch + X, so that it starts near its input."""

    def __init__(self, num_features: int) -> None:
        super().__init__()
        self.edges = nn.ModuleList(GraphConvolution(num_features) for _ in range(2))
        self.features = nn.ModuleList(GraphConvolution(num_features) for _ in range(2))

    def forward(self, graphs: DenseGraphs) -> Generated:
        """New edges and features for graphs."""
        messages = gcn_normalised(graphs.adjacency)
        branches = []
        for convolutions in (self.edges, self.features):
            hidden = graphs.x
            for convolution in convolutions:
                hidden = convolution(hidden, messages).relu()
            branches.append(hidden)
        embedding, features = branches
        logits = embedding @ embedding.transpose(1, 2) + graphs.adjacency
        return Generated(logits, features + graphs.x)


class Discriminator(nn.Module):
    """Tells graphs of other classes from generated ones: a convolution, then a linear map of all nodes."""

    def __init__(self, num_features: int, max_nodes: int, config: RSGGConfig) -> None:
        super().__init__()
        width = config.discriminator_width or math.isqrt(num_features) + 1
        self.max_nodes = max_nodes
        self.noise = config.noise
        self.convolution = GraphConvolution(num_features, width)
        self.dropout = nn.Dropout(config.dropout)
        self.out = nn.Linear(max_nodes * width, 1)
        nn.init.normal_(self.out.weight, std=0.01)

    def forward(self, x: Tensor, weights: Tensor, mask: Tensor) -> Tensor:
        """Logits of being real [b], from features [b, n, F], edge weights [b, n, n] and nodes [b, n]."""
        hidden = self.convolution(x, gcn_normalised(weights))
        if self.training:
            hidden = hidden + self.noise * torch.randn_like(hidden)
        hidden = self.dropout(hidden.relu()) * mask.unsqueeze(2)
        padded = functional.pad(hidden, (0, 0, 0, self.max_nodes - hidden.size(1)))
        logits: Tensor = self.out(padded.flatten(1))
        return logits.squeeze(1)


@dataclass(frozen=True)
class GanReport:
    """How the training of one class's GAN went.

    Attributes:
        steps: Training steps; 0 where the class or its opposite had no graphs to learn from.
        generator_loss: The generator's last loss.
        discriminator_loss: The discriminator's last loss.
    """

    steps: int
    generator_loss: float
    discriminator_loss: float


class GanTrainer:
    """Trains the GAN of one class.

    Args:
        own: Graphs that the oracle puts in the class; the generator's input.
        others: All other graphs; real to the discriminator.
        trust: How sure the oracle is that each of the others is not of the class [len(others)].
        max_nodes: Nodes of the largest graph.
        config: How.
    """

    def __init__(
        self,
        own: Sequence[Data],
        others: Sequence[Data],
        trust: Tensor,
        max_nodes: int,
        config: RSGGConfig,
    ) -> None:
        self.own, self.others, self.trust, self.config = own, others, trust, config
        width = DenseGraphs.of((*own, *others)[:1]).x.size(2)
        self.generator = ResidualGenerator(width)
        self.discriminator = Discriminator(width, max_nodes, config)

    @property
    def steps(self) -> int:
        """Training steps there are to do."""
        if not self.own or not self.others:
            return 0
        per_epoch = -(-len(self.own) // self.config.batch_size) if self.config.full_epochs else 1
        return self.config.epochs * per_epoch

    def run(self, bar: Any) -> GanReport:
        """Train both networks; the bar is told of every step."""
        networks = (self.generator, self.discriminator)
        rate = self.config.learning_rate
        optimizers = [torch.optim.SGD(each.parameters(), lr=rate) for each in networks]
        own, others = (self._endless(len(part)) for part in (self.own, self.others))
        losses = [math.nan, math.nan]
        for _ in range(self.steps):
            graphs = DenseGraphs.of([self.own[index] for index in next(own)])
            real = next(others)
            losses[1] = _step(optimizers[1], self._judge(graphs, real))
            losses[0] = _step(optimizers[0], self._forge(graphs))
            if not all(map(math.isfinite, losses)):
                raise TrainingError(
                    f"expected finite losses of the GAN, got {losses} at learning rate {rate:.2g}; "
                    "lower the learning rate or scale the features."
                )
            bar.update()
        self.generator.eval()
        return GanReport(self.steps, losses[0], losses[1])

    def _judge(self, graphs: DenseGraphs, real: list[int]) -> Tensor:
        """The discriminator's loss on real and on generated graphs."""
        shown = DenseGraphs.of([self.others[index] for index in real])
        trust = self.trust[real] / self.trust[real].mean().clamp(min=1e-6)
        with torch.no_grad():
            forged = self.generator(graphs)
        logits = self.discriminator(shown.x, shown.adjacency, shown.mask)
        loss_real = trust * functional.softplus(-logits)
        loss_forged = functional.softplus(self._verdict(graphs, forged))
        return torch.cat([loss_real, loss_forged]).mean()

    def _forge(self, graphs: DenseGraphs) -> Tensor:
        """The generator's loss: to be taken for real, and to keep the features."""
        forged = self.generator(graphs)
        gap = (forged.x - graphs.x)[graphs.mask]
        adversarial = functional.softplus(-self._verdict(graphs, forged)).mean()
        return adversarial + functional.mse_loss(gap, torch.zeros_like(gap))

    def _verdict(self, graphs: DenseGraphs, forged: Generated) -> Tensor:
        """The discriminator sees a generated graph as weights on the edges of its original."""
        weights = graphs.adjacency * forged.logits.sigmoid()
        logits: Tensor = self.discriminator(forged.x, weights, graphs.mask)
        return logits

    def _endless(self, count: int) -> Iterator[list[int]]:
        """Batches of places, in a new random order each time all were shown."""
        while count:
            for part in torch.randperm(count).split(self.config.batch_size):
                yield part.tolist()


def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> float:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item()
