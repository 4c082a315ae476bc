"""Training the denoiser: towards graphs like the input that the oracle takes for another class."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data

from edgeflip.core import Buckets, PairSpace, stacked_adjacency
from edgeflip.errors import NotApplicableError, TrainingError
from edgeflip.explainers.d4explainer.config import DiffusionConfig
from edgeflip.explainers.d4explainer.denoiser import Denoiser
from edgeflip.oracle import Oracle, SoftGraphs
from edgeflip.support import progress_bar


@dataclass(frozen=True)
class DiffusionReport:
    """How the training of a denoiser went.

    Attributes:
        epochs: Epochs run.
        best_epoch: The epoch that was kept.
        flip_rate: Share of the validation graphs that its denoised versions flip.
        edits: Mean number of edits of the smallest of these versions.
        stopped: `"finished"` or `"interrupted"`.
    """

    epochs: int
    best_epoch: int
    flip_rate: float
    edits: float
    stopped: Literal["finished", "interrupted"]


@dataclass(frozen=True, eq=False)
class GraphBatch:
    """Graphs to denoise together.

    Attributes:
        x: Node features, graph after graph [nodes, F].
        adjacency: 0/1 without self-loops, padded to the largest [b, n, n].
        buckets: Which of the graphs are denoised in one stack.
        rows: Graph, first and second node of every unordered pair, u < v [3, pairs].
        labels: What the oracle predicts [b].
        soft: The graphs with weights on all pairs, in the same order.
    """

    x: Tensor
    adjacency: Tensor
    buckets: Buckets
    rows: Tensor
    labels: Tensor
    soft: SoftGraphs

    def on_pairs(self, matrices: Tensor) -> Tensor:
        """Values of unordered pairs from versions of matrices [versions, pairs]."""
        graph, u, v = self.rows
        stacked = matrices.view(-1, len(self.labels), *matrices.shape[1:])
        return stacked[:, graph, u, v]


def stack(spaces: Sequence[PairSpace], labels: Tensor, oracle: Oracle) -> GraphBatch:
    """A batch of graphs.

    Raises:
        NotApplicableError: If the oracle takes no edge weights, or the graphs have no features.
    """
    everything = [torch.arange(space.num_pairs) for space in spaces]
    soft = SoftGraphs(oracle, spaces, everything)
    x = torch.cat([features_of(space.graph) for space in spaces])
    adjacency, _ = stacked_adjacency([space.graph for space in spaces])
    buckets = Buckets([space.num_nodes for space in spaces])
    rows = []
    for index, space in enumerate(spaces):
        ends = space.ends(everything[index])
        rows.append(torch.cat([torch.full((1, space.num_pairs), index), ends]))
    return GraphBatch(x, adjacency, buckets, torch.cat(rows, dim=1), labels, soft)


def features_of(graph: Data) -> Tensor:
    """Node features in single precision [n, F]."""
    if not isinstance(graph.x, Tensor):
        raise NotApplicableError(
            "expected graphs with node features x to learn from, got one without; add features, such "
            "as ones."
        )
    return graph.x.detach().cpu().reshape(graph.x.size(0), -1).float()


def flip_pairs(adjacency: Tensor, sigma: Tensor, generator: torch.Generator) -> Tensor:
    """Every unordered pair flipped with its graph's probability [b, n, n].

    Args:
        adjacency: 0/1, symmetric, without self-loops [b, n, n].
        sigma: Probability of a flip [b].
        generator: Where all chance comes from.
    """
    draws = torch.rand(adjacency.shape, generator=generator).triu(1)
    flips = (draws > 0) & (draws < sigma[:, None, None])
    both = (flips | flips.transpose(1, 2)).float()
    return (adjacency - both).abs()


class DiffusionTrainer:
    """Trains a denoiser on graphs and an oracle that takes edge weights.

    Args:
        denoiser: The denoiser, trained in place.
        graphs: Graphs to learn from.
        proba: The oracle's class probabilities on them [graphs, C].
        oracle: The oracle.
        config: How to train.
        generator: Where all chance comes from.
        draw_levels: Levels of noise per draw when a graph is explained.

    Raises:
        NotApplicableError: If the oracle takes no weights, or weights of 1 are not the same to it as
            ordinary edges.
    """

    def __init__(
        self,
        denoiser: Denoiser,
        graphs: Sequence[Data],
        proba: Tensor,
        oracle: Oracle,
        config: DiffusionConfig,
        generator: torch.Generator,
        *,
        draw_levels: int | None = None,
    ) -> None:
        self._draw_levels = draw_levels or config.levels
        self.denoiser, self.oracle, self.config = denoiser, oracle, config
        self._generator = generator
        order = torch.randperm(len(graphs), generator=generator)
        order = order[: config.max_graphs or len(graphs)]
        held_out = int(len(order) * config.validation)
        self._spaces = [PairSpace.of(graphs[index]) for index in order.tolist()]
        self._labels = proba.argmax(dim=1)[order]
        self._validation = list(range(held_out))
        self._training = list(range(held_out, len(order)))
        probe = self._batch(self._training[: config.batch_size])
        if not bool(probe.soft.agree(proba[order][held_out:][: len(probe.labels)]).all()):
            raise NotApplicableError(
                "expected an oracle to which a weight of 1 is an ordinary edge, got one that answers "
                "otherwise; use a method that needs no soft graphs."
            )

    def run(self, *, progress: bool = False) -> DiffusionReport:
        """Train, and leave the denoiser as it was at its best epoch."""
        config = self.config
        optimizer = torch.optim.Adam(self.denoiser.parameters(), lr=config.learning_rate)
        schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=config.decay)
        best: tuple[tuple[float, float], int, dict[str, Tensor]] | None = None
        epoch, stopped = 0, "finished"
        try:
            with progress_bar(
                "diffusion", total=config.epochs, unit="epoch", shown=progress
            ) as bar:
                for epoch in range(1, config.epochs + 1):
                    self._epoch(optimizer)
                    schedule.step()
                    if epoch % config.check_every == 0 or epoch == config.epochs:
                        rate, edits = self.look()
                        merit = (rate, -edits) if config.choose == "flips" else (-edits, rate)
                        if best is None or merit > best[0]:
                            best = (merit, epoch, copy.deepcopy(self.denoiser.state_dict()))
                        bar.set_postfix(flips=f"{rate:.2f}", edits=f"{edits:.1f}")
                    bar.update()
        except KeyboardInterrupt:
            stopped = "interrupted"
        kept = epoch
        if best is not None:
            _, kept, state = best
            self.denoiser.load_state_dict(state)
        self.denoiser.eval()
        rate, edits = self.look()
        return DiffusionReport(
            epoch, kept, rate, edits, "interrupted" if stopped == "interrupted" else "finished"
        )

    def _epoch(self, optimizer: torch.optim.Optimizer) -> None:
        self.denoiser.train()
        for indices in self._batches(self._training):
            loss = self.loss(self._batch(indices))
            optimizer.zero_grad()
            loss.backward()
            if not bool(torch.isfinite(loss)):
                raise TrainingError(
                    "expected a finite loss of the denoiser, got NaN or infinity; lower learning_rate."
                )
            optimizer.step()

    def loss(self, batch: GraphBatch) -> Tensor:
        """L_dist + α_cf · L_cf of a batch under freshly drawn noise."""
        config = self.config
        levels, count = config.levels, len(batch.labels)
        sigma = config.max_noise * torch.rand(levels, generator=self._generator)
        logits = self._denoised(batch, sigma)
        truth = batch.on_pairs(batch.adjacency)[0]
        weights = 1 - 2 * sigma + 1 / levels
        spread = weights[:, None].expand(levels, count)
        if config.parity:
            # As published: laid out graph by graph, while the samples come level by level.
            spread = spread.t().reshape(levels, count)
        graph = batch.rows[0]
        entropy = functional.binary_cross_entropy_with_logits(
            logits,
            truth.expand_as(logits),
            pos_weight=torch.tensor(config.edge_weight),
            reduction="none",
        )
        likeness = (entropy * spread[:, graph]).mean()
        if not config.counterfactual:
            return likeness
        answers = batch.soft.logits(logits.mean(dim=0).sigmoid())
        return likeness + config.counterfactual * other_class_loss(answers, batch.labels)

    def _denoised(self, batch: GraphBatch, sigma: Tensor) -> Tensor:
        """Logits of unordered pairs under levels of noise [levels, pairs]."""
        levels, count = len(sigma), len(batch.labels)
        each = sigma.repeat_interleave(count)
        noisy = flip_pairs(batch.adjacency.repeat(levels, 1, 1), each, self._generator)
        noisy = noisy.unflatten(0, (levels, count))
        found, order = [], []
        for x, part in zip(batch.buckets.stacks(batch.x), batch.buckets.parts, strict=True):
            nodes = part.mask.size(1)
            there = (part.mask[:, :, None] & part.mask[:, None, :]).float()
            own = (noisy[:, part.members, :nodes, :nodes] * there).flatten(0, 1)
            mask = None if bool(part.mask.all()) else part.mask
            logits = self.denoiser(own, x, sigma.repeat_interleave(len(there)), mask)
            graph, u, v = batch.rows
            chosen = (part.places[graph] >= 0).nonzero().flatten()
            cells = logits.unflatten(0, (levels, -1))
            found.append(cells[:, part.places[graph[chosen]], u[chosen], v[chosen]])
            order.append(chosen)
        return torch.cat(found, dim=1)[:, torch.cat(order).argsort()]

    @torch.no_grad()
    def look(self) -> tuple[float, float]:
        """Share of validation graphs that one of a few draws flips, and the mean number of edits.

        The edits of a graph are those of its smallest flip, or of its draws if none flips.
        """
        self.denoiser.eval()
        flips, edits, count = 0.0, 0.0, 0
        for indices in self._batches(self._validation or self._training[: self.config.batch_size]):
            batch = self._batch(indices)
            truth = batch.on_pairs(batch.adjacency)[0]
            changed, sizes = [], []
            for _ in range(self.config.check_draws):
                sigma = torch.rand(self._draw_levels, generator=self._generator)
                # Thresholded: only what the oracle says of hard graphs counts.
                logits = self._denoised(batch, self.config.max_noise * sigma)
                hard = (logits.mean(dim=0) > 0).float()
                changed.append(batch.soft.logits(hard).argmax(dim=1) != batch.labels)
                sizes.append(batch.soft.per_graph((hard != truth).float()))
            hits, size = torch.stack(changed), torch.stack(sizes)
            smallest = torch.where(hits, size, torch.inf).amin(dim=0)
            edits += float(torch.where(hits.any(dim=0), smallest, size.mean(dim=0)).sum())
            flips += float(hits.any(dim=0).sum())
            count += len(indices)
        return flips / count, edits / count

    def _batches(self, places: Sequence[int]) -> Iterator[list[int]]:
        """Batches of graphs of similar size, in random order."""
        order = torch.randperm(len(places), generator=self._generator).tolist()
        shuffled = sorted((places[each] for each in order), key=lambda p: self._spaces[p].num_nodes)
        step = self.config.batch_size
        starts = torch.randperm(-(-len(shuffled) // step), generator=self._generator) * step
        for start in starts.tolist():
            yield shuffled[start : start + step]

    def _batch(self, places: Sequence[int]) -> GraphBatch:
        spaces = [self._spaces[index] for index in places]
        return stack(spaces, self._labels[torch.tensor(places)], self.oracle)


def other_class_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean of −log(1 − p_y), in a form that stays finite.

    Args:
        logits: The oracle's [graphs, C].
        labels: The classes y to leave [graphs].
    """
    others = logits.scatter(1, labels[:, None], -torch.inf)
    return (logits.logsumexp(dim=1) - others.logsumexp(dim=1)).mean()
