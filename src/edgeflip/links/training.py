"""Training the link predictor on many graphs, so that it holds for graphs it has never seen.

Per graph the edges are parted into message-passing edges, which the encoder sees, and supervision
edges, which the decoder must find again among sampled non-edges.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from operator import index
from typing import Literal, TypeAlias

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data

from edgeflip.core import Edge, PairSpace, node_features, stacked_adjacency, stacked_rows
from edgeflip.errors import ConfigError, GraphError, TrainingError
from edgeflip.links.predictor import LinkPredictor
from edgeflip.links.structure import PAIR_FEATURES
from edgeflip.support import STEEPEST, STRICT, check_at_most, progress_bar, reading

# Values of features and of pair features in one look at validation graphs; more are worked off in parts.
_LOOK_VALUES = 20_000_000

Knowledge: TypeAlias = Callable[[Data], Iterable[Edge]] | Iterable[Edge] | None
"""Pairs of a graph, as a function of the graph or as one list for all graphs."""


@dataclass(frozen=True)
class LinkTrainingConfig:
    """How a link predictor is trained.

    Attributes:
        epochs: At most this many.
        batch_size: Graphs per step.
        learning_rate: The top of the one-cycle schedule.
        weight_decay: Of AdamW.
        disjoint: Share of a graph's edges used for supervision (Disj).
        disjoint_low: The share is drawn anew per graph and epoch between this and `disjoint`; equal
            to `disjoint` for a fixed share.
        negative_ratio: Sampled non-edges per supervision edge (Neg).
        redraw: Whether supervision edges and negatives are drawn anew every epoch.
        order_leak: Whether negatives come in either order while positives always have u < v, as in
            the published training; only an ordered decoder can see it.
        class_dropout: Share of graphs shown without their class, so that one model serves with and
            without a class.
        validation: Share of the graphs held out for early stopping.
        patience: Epochs without a better validation AUC before stopping.
        warm_up: Share of the steps in which the learning rate rises.
    """

    __pydantic_config__ = STRICT

    epochs: int = 60
    batch_size: int = 32
    learning_rate: float = 0.005
    weight_decay: float = 1e-5
    disjoint: float = 0.3
    disjoint_low: float = 0.05
    negative_ratio: float = 2.5
    redraw: bool = True
    order_leak: bool = False
    class_dropout: float = 0.15
    validation: float = 0.17
    patience: int = 15
    warm_up: float = 0.3

    def __post_init__(self) -> None:
        """Refuse shares outside their range."""
        shares = (self.disjoint, self.disjoint_low, self.validation)
        if not all(0 < share < 1 for share in shares) or self.disjoint_low > self.disjoint:
            raise ConfigError(f"expected shares between 0 and 1, disjoint_low lowest, got {self}.")
        if not (0 < self.learning_rate < math.inf and 0 <= self.weight_decay < math.inf):
            raise ConfigError(
                "expected a learning rate above 0 and a weight decay of at least 0, both finite, got "
                f"{self.learning_rate} and {self.weight_decay}."
            )
        check_at_most(self, learning_rate=STEEPEST, weight_decay=STEEPEST)
        if not (0 <= self.class_dropout <= 1 and 0 < self.warm_up < 1):
            raise ConfigError(
                "expected class_dropout in 0..1 and warm_up between 0 and 1, got "
                f"{self.class_dropout} and {self.warm_up}."
            )
        if min(self.epochs, self.batch_size, self.patience) < 1 or not (
            0 < self.negative_ratio < math.inf
        ):
            raise ConfigError(
                "expected epochs, batch size and patience of at least 1 and a finite negative ratio "
                f"above 0, got {self}."
            )


@dataclass(frozen=True)
class LinkTrainingReport:
    """How the training of a link predictor went.

    Attributes:
        auc: Best validation AUC with pairs in the published orientation.
        auc_order_free: The same with every pair as u < v.
        epochs: Epochs run.
        skipped: Graphs with two edges or fewer, which cannot be parted.
        stopped: `"finished"`, `"early"` or `"interrupted"`.
    """

    __pydantic_config__ = STRICT

    auc: float
    auc_order_free: float
    epochs: int
    skipped: int
    stopped: Literal["finished", "early", "interrupted"]


@dataclass(frozen=True, eq=False)
class PaddedGraphs:
    """Graphs as dense stacks, padded to the largest.

    Features are padded only when they are asked for, batch by batch: with hundreds of them per node
    the padded stack of a whole dataset would be the largest thing in memory.

    Attributes:
        features: Node features of each graph, not copied [nodes, F] each.
        adjacency: 0/1 without self-loops [b, n, n].
        mask: Which nodes are there [b, n].
        labels: Classes [b].
        required: Pairs that must be edges [b, n, n].
        forbidden: Pairs that must not [b, n, n].
    """

    features: tuple[Tensor, ...]
    adjacency: Tensor
    mask: Tensor
    labels: Tensor
    required: Tensor
    forbidden: Tensor

    @property
    def x(self) -> Tensor:
        """Node features, padded with zeros [b, n, F]."""
        return stacked_rows(self.features)

    def take(self, places: Tensor) -> PaddedGraphs:
        """Some of the graphs, cut to the largest among them."""
        mask = self.mask[places]
        size = int(mask.sum(dim=1).max())
        return PaddedGraphs(
            tuple(self.features[index] for index in places.tolist()),
            self.adjacency[places, :size, :size],
            mask[:, :size],
            self.labels[places],
            self.required[places, :size, :size],
            self.forbidden[places, :size, :size],
        )

    def __len__(self) -> int:
        """Number of graphs."""
        return len(self.features)


@dataclass(frozen=True, eq=False)
class Supervision:
    """What the decoder must tell apart, and what the encoder may see.

    Attributes:
        messages: Message-passing edges [b, n, n].
        pairs: Graph, first and second node [3, pairs].
        targets: 1 for edges, 0 for sampled non-edges [pairs].
    """

    messages: Tensor
    pairs: Tensor
    targets: Tensor


def pad_graphs(
    graphs: Sequence[Data],
    labels: Sequence[int],
    *,
    required: Knowledge = None,
    forbidden: Knowledge = None,
) -> PaddedGraphs:
    """Stack graphs of any sizes."""
    features = tuple(node_features(graph) for graph in graphs)
    adjacency, mask = stacked_adjacency(graphs)
    must, must_not = torch.zeros(2, *adjacency.shape, dtype=torch.bool)
    for number, graph in enumerate(graphs):
        for known, matrix in ((required, must), (forbidden, must_not)):
            if known is not None:
                _mark(graph, known, matrix[number])
    if bool((must & must_not).any()):
        raise ConfigError(
            "expected required edges and forbidden pairs to be disjoint, got a pair in both; drop it "
            "from one."
        )
    return PaddedGraphs(features, adjacency, mask, torch.tensor(labels), must, must_not)


def known_pairs(known: Knowledge) -> Knowledge:
    """Domain knowledge that can be read again for every graph."""
    if known is None or callable(known):
        return known
    with reading("pairs of nodes", advice="write [(0, 1), (2, 3)]", error=ConfigError):
        return [(index(u), index(v)) for u, v in known]


def _mark(graph: Data, known: Knowledge, matrix: Tensor) -> None:
    space = PairSpace.of(graph)
    if callable(known):
        with reading("pairs from a function of a graph", advice="correct it", error=ConfigError):
            pairs = [(index(u), index(v)) for u, v in known(graph) or ()]
    else:  # One list for graphs of all sizes: a pair means nothing to a graph without its nodes.
        pairs = [pair for pair in known or () if max(pair) < space.num_nodes]
    ids = space.ids_of(pairs)
    u, v = space.ends(ids)
    matrix[u, v] = True
    matrix[v, u] = True


def draw_supervision(
    graphs: PaddedGraphs,
    *,
    low: float,
    high: float,
    negative_ratio: float,
    order_leak: bool,
    generator: torch.Generator,
) -> Supervision:
    """Part the edges of every graph and sample non-edges.

    Required pairs are always positives and forbidden ones always negatives, whatever is drawn.
    """
    count, size, _ = graphs.adjacency.shape
    upper = torch.ones(size, size, dtype=torch.bool).triu(1)
    there = (graphs.mask.unsqueeze(1) & graphs.mask.unsqueeze(2)) & upper
    edges = (graphs.adjacency > 0) & there & ~graphs.forbidden
    share = low + (high - low) * torch.rand(count, generator=generator)
    number = edges.sum(dim=(1, 2))
    # At least one edge to find, and at least one left to see.
    wanted = torch.minimum((share * number).round().clamp(min=1), (number - 1).clamp(min=0))
    drawn = _choose(edges, wanted, generator)
    positives = drawn | (graphs.required & there)
    free = there & ~edges & ~graphs.required
    negatives = _choose(free, (positives.sum(dim=(1, 2)) * negative_ratio).round(), generator)
    negatives |= graphs.forbidden & free
    messages = (edges & ~positives).float()
    # Where every edge is required, those that were not drawn are seen, or nothing would be.
    blind = messages.sum(dim=(1, 2)) == 0
    messages[blind] = (edges & ~drawn)[blind].float()
    messages = messages + messages.transpose(1, 2)
    return _as_pairs(messages, positives, negatives, order_leak=order_leak, generator=generator)


def _choose(options: Tensor, number: Tensor, generator: torch.Generator) -> Tensor:
    """A random subset of the true cells of every matrix, of given sizes [b, n, n]."""
    flat = options.flatten(1)
    keys = torch.rand(flat.shape, generator=generator).masked_fill(~flat, 2.0)
    rank = keys.argsort(dim=1).argsort(dim=1)
    return ((rank < number.unsqueeze(1)) & flat).view_as(options)


def _as_pairs(
    messages: Tensor,
    positives: Tensor,
    negatives: Tensor,
    *,
    order_leak: bool,
    generator: torch.Generator,
) -> Supervision:
    found, missing = positives.nonzero().t(), negatives.nonzero().t()
    if order_leak:
        turned = torch.rand(missing.size(1), generator=generator) < 0.5
        graph, u, v = missing
        missing = torch.stack([graph, torch.where(turned, v, u), torch.where(turned, u, v)])
    targets = torch.cat([torch.ones(found.size(1)), torch.zeros(missing.size(1))])
    return Supervision(messages, torch.cat([found, missing], dim=1), targets)


class LinkTrainer:
    """Trains a predictor and keeps its best state by validation AUC.

    Args:
        model: The predictor, changed in place.
        graphs: What to learn from; the last share is held out for validation.
        config: How.
        generator: All random choices come from it.
    """

    def __init__(
        self,
        model: LinkPredictor,
        graphs: PaddedGraphs,
        config: LinkTrainingConfig,
        generator: torch.Generator,
    ) -> None:
        self.model, self.config, self.generator = model, config, generator
        order = torch.randperm(len(graphs), generator=generator)
        held = min(max(1, round(config.validation * len(graphs))), max(1, len(graphs) - 1))
        if len(graphs) < 2:
            raise GraphError(
                f"expected at least two graphs with three edges or more to learn links from, got "
                f"{len(graphs)}; pass more graphs."
            )
        self.train, self.val = graphs.take(order[held:]), graphs.take(order[:held])
        # As published: one fifth of the edges of every validation graph, drawn once.
        self.exam = self._draw(self.val, low=0.2, high=0.2, order_leak=True)
        self.steps_per_epoch = -(-len(self.train) // config.batch_size)
        self.optimizer = torch.optim.AdamW(
            model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay
        )
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer,
            max_lr=config.learning_rate,
            total_steps=max(2, config.epochs * self.steps_per_epoch),
            pct_start=config.warm_up,
        )
        self.best_auc = -1.0
        self.best_state = copy.deepcopy(model.state_dict())
        self._fixed: list[tuple[PaddedGraphs, Supervision]] = []

    def run(self, *, skipped: int = 0, progress: bool = False) -> LinkTrainingReport:
        """Train to the end, to a standstill or to Ctrl-C; the best state so far is kept."""
        stopped: Literal["finished", "early", "interrupted"] = "finished"
        waited, done = 0, 0
        epochs = self.config.epochs
        try:
            with progress_bar(
                "learning likely edges", total=epochs, unit="epoch", shown=progress
            ) as bar:
                for epoch in range(epochs):
                    self._epoch(epoch)
                    done += 1
                    auc = self.auc(self.exam)
                    waited = 0 if auc > self.best_auc else waited + 1
                    if auc > self.best_auc:
                        self.best_auc = auc
                        self.best_state = copy.deepcopy(self.model.state_dict())
                    bar.set_postfix(auc=f"{self.best_auc:.4f}", refresh=False)
                    bar.update()
                    if waited >= self.config.patience:
                        stopped = "early"
                        break
        except KeyboardInterrupt:
            stopped = "interrupted"
        self.model.load_state_dict(self.best_state)
        self.model.eval()
        free = Supervision(self.exam.messages, _oriented(self.exam.pairs), self.exam.targets)
        return LinkTrainingReport(self.auc(self.exam), self.auc(free), done, skipped, stopped)

    @torch.no_grad()
    def auc(self, exam: Supervision) -> float:
        """Area under the ROC curve over all pairs of the validation graphs."""
        self.model.eval()
        classes = self._classes(self.val.labels, dropout=0.0)
        logits = torch.empty(exam.pairs.size(1))
        for indices in torch.arange(len(self.val)).split(self._graphs_per_look()):
            first, last = int(indices[0]), int(indices[-1])
            chosen = (exam.pairs[0] >= first) & (exam.pairs[0] <= last)
            pairs = exam.pairs[:, chosen] - torch.tensor([[first], [0], [0]])
            part = self.val.take(indices)
            size = part.mask.size(1)
            given = None if classes is None else classes[indices]
            messages = exam.messages[indices, :size, :size]
            logits[chosen] = self.model(part.x, messages, part.mask, given, pairs)
        if not bool(torch.isfinite(logits).all()):
            raise TrainingError(
                "expected finite scores of the link predictor, got NaN or infinity on the validation "
                f"graphs at learning rate {self.schedule.get_last_lr()[0]:.2g}; lower the learning rate."
            )
        if len(set(exam.targets.tolist())) < 2:
            return 0.5
        return float(roc_auc_score(exam.targets.numpy(), logits.numpy()))

    def _graphs_per_look(self) -> int:
        """How many validation graphs fit into one forward pass."""
        size, width = self.val.mask.size(1), self.val.features[0].size(1)
        return max(1, _LOOK_VALUES // (size * (size * PAIR_FEATURES + width)))

    def _epoch(self, epoch: int) -> None:
        self.model.train()
        for graphs, supervision in self._batches():
            classes = self._classes(graphs.labels, dropout=self.config.class_dropout)
            logits = self.model(
                graphs.x, supervision.messages, graphs.mask, classes, supervision.pairs
            )
            loss = functional.binary_cross_entropy_with_logits(logits, supervision.targets)
            if not bool(torch.isfinite(loss)):
                rate = self.schedule.get_last_lr()[0]
                raise TrainingError(
                    f"expected a finite loss of the link predictor, got {loss.item()} in epoch "
                    f"{epoch + 1} at learning rate {rate:.2g}; lower the learning rate or clean the data."
                )
            self.optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.schedule.step()

    def _batches(self) -> Iterator[tuple[PaddedGraphs, Supervision]]:
        order = torch.randperm(len(self.train), generator=self.generator)
        if not self.config.redraw and self._fixed:
            for index in torch.randperm(len(self._fixed), generator=self.generator).tolist():
                yield self._fixed[index]
            return
        for indices in order.split(self.config.batch_size):
            graphs = self.train.take(indices)
            config = self.config
            drawn = self._draw(
                graphs,
                low=config.disjoint_low,
                high=config.disjoint,
                order_leak=config.order_leak,
            )
            batch = (graphs, drawn)
            if not self.config.redraw:
                self._fixed.append(batch)
            yield batch

    def _draw(
        self, graphs: PaddedGraphs, *, low: float, high: float, order_leak: bool
    ) -> Supervision:
        return draw_supervision(
            graphs,
            low=low,
            high=high,
            negative_ratio=self.config.negative_ratio,
            order_leak=order_leak,
            generator=self.generator,
        )

    def _classes(self, labels: Tensor, *, dropout: float) -> Tensor | None:
        """One-hot ground-truth classes, c = y, some of them left out in training."""
        if not self.model.num_classes:
            return None
        given = functional.one_hot(labels, self.model.num_classes).float()
        kept = torch.rand(len(labels), 1, generator=self.generator) >= dropout
        return given * kept


def _oriented(pairs: Tensor) -> Tensor:
    graph, u, v = pairs
    return torch.stack([graph, torch.minimum(u, v), torch.maximum(u, v)])
