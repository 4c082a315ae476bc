"""Training the link predictor on many graphs, so that it holds for graphs it has never seen."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

import torch
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn import functional

from edgeflip.errors import ConfigError, GraphError, TrainingError
from edgeflip.links.predictor import LinkPredictor, Shown
from edgeflip.links.supervision import Draws, LinkGraphs, Supervision, draw_supervision
from edgeflip.support import STEEPEST, STRICT, check_at_most, progress_bar

# Values of features and of adjacency matrices in one look at validation graphs; more are worked off in parts.
_LOOK_VALUES = 20_000_000

# Cells of adjacency matrices of all batches that are drawn together.
_CELLS_AT_ONCE = 500_000


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
class Batch:
    """Graphs and what is shown and asked of them.

    Attributes:
        graphs: The graphs.
        shown: What the predictor is shown of them.
        targets: 1 for edges, 0 for non-edges, for each pair that is asked about [pairs].
    """

    graphs: LinkGraphs
    shown: Shown
    targets: Tensor

    def part(self, first: int, end: int) -> Batch:
        """Some of the graphs that follow each other."""
        targets = self.targets[self.shown.asked(first, end)]
        return Batch(self.graphs.part(first, end), self.shown.part(first, end), targets)


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
        graphs: LinkGraphs,
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
        self._drawn = self._draw(self.val, low=0.2, high=0.2, order_leak=True)
        self.exam = self._looks(self._drawn)
        self.steps_per_epoch = -(-len(self.train) // config.batch_size)
        self.optimizer = torch.optim.AdamW(
            model.parameters(),
            lr=config.learning_rate,
            weight_decay=config.weight_decay,
            foreach=True,  # the same steps in fewer calls
        )
        self.schedule = torch.optim.lr_scheduler.OneCycleLR(
            self.optimizer,
            max_lr=config.learning_rate,
            total_steps=max(2, config.epochs * self.steps_per_epoch),
            pct_start=config.warm_up,
        )
        self.best_auc = -1.0
        self.best_state = copy.deepcopy(model.state_dict())
        self._fixed: list[Batch] = []
        cells = sum(size**2 for size in self.train.sizes) / len(self.train) * config.batch_size
        self._batches_at_once = max(1, int(_CELLS_AT_ONCE / cells))

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
        free = self._looks(replace(self._drawn, pairs=_oriented(self._drawn.pairs)))
        return LinkTrainingReport(self.auc(self.exam), self.auc(free), done, skipped, stopped)

    @torch.no_grad()
    def auc(self, exam: Sequence[Batch]) -> float:
        """Area under the ROC curve over all pairs of the validation graphs."""
        self.model.eval()
        logits = torch.cat(
            [self._logits(batch, self._classes(batch.graphs, dropout=0.0)) for batch in exam]
        )
        targets = torch.cat([batch.targets for batch in exam])
        if not bool(torch.isfinite(logits).all()):
            raise TrainingError(
                "expected finite scores of the link predictor, got NaN or infinity on the validation "
                f"graphs at learning rate {self.schedule.get_last_lr()[0]:.2g}; lower the learning rate."
            )
        if len(set(targets.tolist())) < 2:
            return 0.5
        return float(roc_auc_score(targets.numpy(), logits.numpy()))

    def _logits(self, batch: Batch, classes: Tensor | None) -> Tensor:
        logits: Tensor = self.model(batch.graphs.x, batch.shown, classes)
        return logits

    def _epoch(self, epoch: int) -> None:
        self.model.train()
        for batch, classes in self._batches():
            logits = self._logits(batch, classes)
            loss = functional.binary_cross_entropy_with_logits(logits, batch.targets)
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

    def _batches(self) -> Iterator[tuple[Batch, Tensor | None]]:
        """The batches of an epoch and the classes that are shown of them."""
        order = torch.randperm(len(self.train), generator=self.generator)
        config = self.config
        if not config.redraw and self._fixed:
            for index in torch.randperm(len(self._fixed), generator=self.generator).tolist():
                yield self._fixed[index], self._classes(self._fixed[index].graphs)
        elif config.redraw and not config.order_leak:
            for places in order.split(self._batches_at_once * config.batch_size):
                yield from self._drawn_together(self.train.take(places))
        else:
            for places in order.split(config.batch_size):
                graphs = self.train.take(places)
                drawn = self._draw(
                    graphs,
                    low=config.disjoint_low,
                    high=config.disjoint,
                    order_leak=config.order_leak,
                )
                batch = self._batch(graphs, drawn)
                if not config.redraw:
                    self._fixed.append(batch)
                yield batch, self._classes(graphs)

    def _drawn_together(self, graphs: LinkGraphs) -> Iterator[tuple[Batch, Tensor | None]]:
        """Several batches, whose random numbers are drawn in turn and worked off at once."""
        config, draws = self.config, Draws(graphs)
        cuts = list(pairwise([*range(0, len(graphs), config.batch_size), len(graphs)]))
        classes = []
        for first, end in cuts:
            draws.draw(first, end, self.generator)
            classes.append(self._classes(graphs.part(first, end)))
        drawn = draws.supervision(
            low=config.disjoint_low,
            high=config.disjoint,
            negative_ratio=config.negative_ratio,
        )
        whole = self._batch(graphs, drawn)
        for (first, end), given in zip(cuts, classes, strict=True):
            yield whole.part(first, end), given

    def _batch(self, graphs: LinkGraphs, drawn: Supervision) -> Batch:
        shown = self.model.show(graphs.sizes, drawn.messages, drawn.pairs)
        return Batch(graphs, shown, drawn.targets)

    def _looks(self, drawn: Supervision) -> list[Batch]:
        """The validation graphs in parts that fit into one forward pass."""
        whole, cuts, values = self._batch(self.val, drawn), [0], 0
        for place, x in enumerate(self.val.features):
            own = len(x) ** 2 + x.numel()
            if values and values + own > _LOOK_VALUES:
                cuts.append(place)
                values = 0
            values += own
        return [whole.part(first, end) for first, end in pairwise([*cuts, len(self.val)])]

    def _draw(
        self, graphs: LinkGraphs, *, low: float, high: float, order_leak: bool
    ) -> Supervision:
        return draw_supervision(
            graphs,
            low=low,
            high=high,
            negative_ratio=self.config.negative_ratio,
            order_leak=order_leak,
            generator=self.generator,
        )

    def _classes(self, graphs: LinkGraphs, *, dropout: float | None = None) -> Tensor | None:
        """One-hot ground-truth classes, c = y, some of them left out in training."""
        if not self.model.num_classes:
            return None
        share = self.config.class_dropout if dropout is None else dropout
        given = functional.one_hot(graphs.labels, self.model.num_classes).float()
        kept = torch.rand(len(graphs), 1, generator=self.generator) >= share
        return given * kept


def _oriented(pairs: Tensor) -> Tensor:
    graph, u, v = pairs
    return torch.stack([graph, torch.minimum(u, v), torch.maximum(u, v)])
