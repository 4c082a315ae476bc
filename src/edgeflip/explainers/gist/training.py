"""Training GIST on pairs: a graph whose style is wanted, and an overshoot whose content is kept."""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data

from edgeflip.core import DenseGraphs, size_buckets
from edgeflip.errors import ConfigError, TrainingError
from edgeflip.explainers.gist.network import (
    Styled,
    StyleNetwork,
    adjacency_spectrum,
    laplacian_spectrum,
    relaxed,
    symmetric,
)
from edgeflip.support import STEEPEST, STRICT, WIDEST, check_at_most, progress_bar


@dataclass(frozen=True)
class GISTConfig:
    """Settings of `GIST`.

    Attributes:
        hidden: Width between the attention layers, shared by the heads.
        heads: Heads of the first attention layer.
        edge_width: Hidden width of the edge head.
        dropout: Share of attention left out in training.
        temperature: Of the relaxed edge samples.
        alpha: α, the weight of content against style.
        style: `"reference"` measures style on drawn graphs, as published: it has no gradient, and
            only helps to choose the epoch. `"differentiable"` learns from the relaxed graphs.
        negatives: Which pairs without an edge the head learns from: those inside each `"graph"`, or
            all pairs of the `"batch"`, across its graphs too, as published.
        epochs: Passes over the pairs.
        batch_size: Pairs per step.
        learning_rate: Of Adam.
        weight_decay: Of Adam.
        validation: Share of the pairs held out to choose the epoch.
        tries: At most this many overshoots per explained graph.
        deterministic: Whether edges are those above .5 instead of drawn.
        seconds: The deadline when a call names no budget, None for none.
    """

    __pydantic_config__ = STRICT

    hidden: int = 16
    heads: int = 2
    edge_width: int = 16
    dropout: float = 0.1
    temperature: float = 1.0
    alpha: float = 0.9
    style: Literal["reference", "differentiable"] = "reference"
    negatives: Literal["graph", "batch"] = "graph"
    epochs: int = 50
    batch_size: int = 16
    learning_rate: float = 1e-3
    weight_decay: float = 1e-5
    validation: float = 0.05
    tries: int = 1
    deterministic: bool = False
    seconds: float | None = 60.0

    def __post_init__(self) -> None:
        """Refuse settings that make no network or no training."""
        counts = (
            self.hidden,
            self.heads,
            self.edge_width,
            self.epochs,
            self.batch_size,
            self.tries,
        )
        if min(counts) < 1 or self.hidden % self.heads:
            raise ConfigError(
                "expected hidden, heads, edge_width, epochs, batch_size and tries of at least 1, and "
                f"hidden to be a multiple of heads, got {self}; correct the setting."
            )
        if not (0 <= self.alpha <= 1 and 0 <= self.dropout < 1 and 0 <= self.validation < 1):
            raise ConfigError(
                "expected alpha in 0..1, and dropout and validation of at least 0 and below 1, got "
                f"{self.alpha}, {self.dropout} and {self.validation}; correct the setting."
            )
        rates = (self.temperature, self.learning_rate)
        if not all(0 < rate < math.inf for rate in rates) or not 0 <= self.weight_decay < math.inf:
            raise ConfigError(
                "expected temperature and learning rate above 0 and a weight decay of at least 0, got "
                f"{self.temperature}, {self.learning_rate} and {self.weight_decay}."
            )
        check_at_most(
            self,
            hidden=WIDEST,
            edge_width=WIDEST,
            learning_rate=STEEPEST,
            weight_decay=STEEPEST,
            temperature=STEEPEST,
        )
        if self.style not in ("reference", "differentiable"):
            raise ConfigError(f"expected style reference or differentiable, got {self.style!r}.")
        if self.negatives not in ("graph", "batch"):
            raise ConfigError(f"expected negatives graph or batch, got {self.negatives!r}.")


@dataclass(frozen=True)
class GISTReport:
    """How the training went.

    Attributes:
        pairs: Pairs learned from.
        unpaired: Graphs without an overshoot: none of another class has as many nodes.
        epochs: Epochs run; 0 without pairs.
        loss: Best loss on the pairs held out.
        interrupted: Whether Ctrl-C ended it.
    """

    pairs: int
    unpaired: int
    epochs: int
    loss: float
    interrupted: bool


def overshoot_pairs(
    sizes: Sequence[int], labels: Sequence[int], generator: torch.Generator
) -> list[tuple[int, int]]:
    """Places of graphs, each with a random graph of another class and of as many nodes.

    Example:
        >>> overshoot_pairs([5, 5, 7, 5], [0, 1, 1, 0], torch.Generator().manual_seed(0))[0]
        (0, 1)
    """
    size, label = torch.tensor(sizes), torch.tensor(labels)
    pairs = []
    for index in range(len(sizes)):
        fitting = ((size == size[index]) & (label != label[index])).nonzero().flatten()
        if fitting.numel():
            drawn = torch.randint(fitting.numel(), (1,), generator=generator)
            pairs.append((index, int(fitting[drawn])))
    return pairs


class StyleTrainer:
    """Trains a network and keeps its best state by the loss on pairs held out.

    Args:
        network: The network, changed in place.
        graphs: Graphs the pairs are made of.
        pairs: Places of a graph and its overshoot.
        config: How.
        generator: All random choices but dropout come from it.
    """

    def __init__(
        self,
        network: StyleNetwork,
        graphs: Sequence[Data],
        pairs: Sequence[tuple[int, int]],
        config: GISTConfig,
        generator: torch.Generator,
    ) -> None:
        self.network, self.graphs, self.config, self.generator = network, graphs, config, generator
        order = torch.randperm(len(pairs), generator=generator).tolist()
        held = math.ceil(config.validation * len(pairs)) if len(pairs) > 1 else 0
        self.held = [pairs[index] for index in order[:held]]
        self.train = [pairs[index] for index in order[held:]]
        self.optimizer = torch.optim.Adam(
            network.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.best_loss = math.inf
        self.best_state = copy.deepcopy(network.state_dict())
        self._noise_seed = int(torch.randint(2**31, (1,), generator=generator))

    def run(self, *, unpaired: int = 0, progress: bool = False) -> GISTReport:
        """Train to the end or to Ctrl-C; the best state so far is kept."""
        done, interrupted, epochs = 0, False, self.config.epochs
        try:
            with progress_bar("style transfer", total=epochs, unit="epoch", shown=progress) as bar:
                for _ in range(epochs):
                    self._epoch()
                    done += 1
                    loss = self.validation_loss()
                    # Without pairs held out every epoch is as good, and the last one counts.
                    if loss <= self.best_loss:
                        self.best_loss = loss
                        self.best_state = copy.deepcopy(self.network.state_dict())
                    bar.set_postfix(loss=f"{self.best_loss:.4f}", refresh=False)
                    bar.update()
        except KeyboardInterrupt:
            interrupted = True
        self.network.load_state_dict(self.best_state)
        self.network.eval()
        count = len(self.train) + len(self.held)
        return GISTReport(count, unpaired, done, self.best_loss, interrupted)

    def _epoch(self) -> None:
        self.network.train()
        order = torch.randperm(len(self.train), generator=self.generator).tolist()
        step = self.config.batch_size
        for start in range(0, len(order), step):
            loss = self.loss([self.train[index] for index in order[start : start + step]])
            if not bool(torch.isfinite(loss)):
                raise TrainingError(
                    f"expected a finite loss of GIST, got {loss.item()} at learning rate "
                    f"{self.config.learning_rate:.2g}; lower the learning rate or scale the features."
                )
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def validation_loss(self) -> float:
        """Mean loss of the pairs held out, with the same noise whenever it is asked for."""
        if not self.held:
            return 0.0
        self.network.eval()
        generator = torch.Generator().manual_seed(self._noise_seed)
        step, total = self.config.batch_size, 0.0
        for start in range(0, len(self.held), step):
            part = self.held[start : start + step]
            total += len(part) * float(self.loss(part, with_style=True, generator=generator))
        return total / len(self.held)

    def loss(
        self,
        pairs: Sequence[tuple[int, int]],
        *,
        with_style: bool = False,
        generator: torch.Generator | None = None,
    ) -> Tensor:
        """α · content + (1 − α) · style of a batch of pairs.

        Args:
            pairs: Places of graphs and their overshoots.
            with_style: Whether the style is measured even where it has no gradient.
            generator: Where the noise comes from; the trainer's own by default.
        """
        generator, alpha = generator or self.generator, self.config.alpha
        # Few large graphs among many small ones must not widen the stack of all.
        sizes = [int(self.graphs[after].num_nodes or 0) for _, after in pairs]
        parts = [self._styled([pairs[place] for place in group]) for group in size_buckets(sizes)]
        gap = torch.cat([part.moved for part in parts]).abs().mean()
        loss = alpha * (gap + self._edge_loss(parts, generator))
        if alpha < 1 and (with_style or self.config.style == "differentiable"):
            gaps = torch.cat([self._style_gaps(part, generator) for part in parts])
            loss = loss + (1 - alpha) * gaps.mean()
        return loss

    def _styled(self, pairs: Sequence[tuple[int, int]]) -> _Part:
        """What the network makes of the overshoots of pairs, in one stack."""
        overshoots = DenseGraphs.of([self.graphs[after] for _, after in pairs])
        wanted = [self.graphs[before] for before, _ in pairs]
        return _Part(overshoots, self.network(overshoots), wanted)

    def _edge_loss(self, parts: Sequence[_Part], generator: torch.Generator) -> Tensor:
        """Cross-entropy of relaxed samples against the overshoots' own edges."""
        losses = torch.cat([self._inside(part, generator) for part in parts])
        if self.config.negatives == "graph":
            return losses.mean()
        nodes, inside = sum(int(part.graphs.mask.sum()) for part in parts), len(losses)
        across = nodes * (nodes - 1) - inside
        return (losses.sum() + across * self._across(parts, inside, generator)) / (inside + across)

    def _inside(self, part: _Part, generator: torch.Generator) -> Tensor:
        """Cross-entropy of every ordered pair of nodes of the same graph [pairs]."""
        there = part.graphs.pairs
        logits = self.network.logits(part.styled.low, part.styled.high)[there]
        return self._entropies(logits, part.graphs.adjacency[there], generator)

    def _across(self, parts: Sequence[_Part], count: int, generator: torch.Generator) -> Tensor:
        """Mean cross-entropy of pairs across graphs, from some of them, drawn anew every time.

        There are many more of them than inside the graphs, and all are non-edges: a draw has the
        same expected gradient.
        """
        sizes = torch.cat([part.graphs.mask.sum(dim=1) for part in parts])
        graph = torch.arange(len(sizes)).repeat_interleave(sizes)
        low = torch.cat([part.styled.low[part.graphs.mask] for part in parts])
        high = torch.cat([part.styled.high[part.graphs.mask] for part in parts])
        first, second = torch.randint(len(graph), (2, count), generator=generator)
        apart = graph[first] != graph[second]
        logits = self.network.score(low[first[apart]], high[second[apart]])
        losses = self._entropies(logits, torch.zeros_like(logits), generator)
        return losses.sum() / max(1, len(losses))

    def _entropies(self, logits: Tensor, edges: Tensor, generator: torch.Generator) -> Tensor:
        samples = relaxed(logits, self.config.temperature, generator)
        return functional.binary_cross_entropy_with_logits(samples, edges, reduction="none")

    def _style_gaps(self, part: _Part, generator: torch.Generator) -> Tensor:
        """How far the spectra of sampled graphs are from those whose style is wanted [b]."""
        graphs = part.graphs
        logits = self.network.logits(part.styled.low, part.styled.high)
        soft = relaxed(logits, self.config.temperature, generator).sigmoid()
        soft = symmetric(soft) * graphs.pairs
        # A pair's graphs have as many nodes each, so both stacks are padded alike.
        target = DenseGraphs.of([_without_features(graph) for graph in part.wanted]).adjacency
        if self.config.style == "reference":
            with torch.no_grad():
                upper = torch.rand(soft.shape, generator=generator).triu(1)
                drawn = ((upper < soft) & (upper > 0)).float()
                spectra = adjacency_spectrum(drawn + drawn.transpose(1, 2))
                return (spectra - adjacency_spectrum(target)).abs().mean(dim=1)
        gaps = (laplacian_spectrum(soft) - laplacian_spectrum(target)).abs().sum(dim=1)
        return gaps / graphs.mask.sum(dim=1)


@dataclass(frozen=True, eq=False)
class _Part:
    """Pairs of a batch whose graphs are of similar size.

    Attributes:
        graphs: The overshoots.
        styled: What the network makes of them.
        wanted: The graphs whose style is wanted.
    """

    graphs: DenseGraphs
    styled: Styled
    wanted: list[Data]

    @property
    def moved(self) -> Tensor:
        """By how much the features of nodes are new ones [nodes, F]."""
        return (self.styled.x - self.graphs.x)[self.graphs.mask]


def _without_features(graph: Data) -> Data:
    return Data(edge_index=graph.edge_index, num_nodes=graph.num_nodes)
