"""Training the denoiser: towards graphs like the input that the oracle takes for another class."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import torch
from torch import Tensor
from torch.nn import functional
from torch_geometric.data import Data

from edgeflip.core import PairSpace, fingerprint
from edgeflip.errors import NotApplicableError, TrainingError
from edgeflip.explainers.d4explainer.batches import GraphBatch, Stack, flip_pairs, stacked
from edgeflip.explainers.d4explainer.checkpoints import Progress, read_checkpoint, write_checkpoint
from edgeflip.explainers.d4explainer.config import DiffusionConfig
from edgeflip.explainers.d4explainer.denoiser import Denoiser
from edgeflip.explainers.d4explainer.report import DiffusionReport, Look, Stopped
from edgeflip.oracle import Oracle
from edgeflip.support import checksum, kept_memory, progress_bar

PAIR_VALUES = 1_000_000
"""Values of one layer over all pairs of the graphs denoised at once: what suits a processor's caches."""

# Seconds between two checkpoints; each one is written at the end of an epoch.
_CHECKPOINT_SECONDS = 20.0


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
        self._born = generator.initial_seed()
        order = torch.randperm(len(graphs), generator=generator)
        order = order[: config.max_graphs or len(graphs)]
        held_out = int(len(order) * config.validation)
        self._spaces = [PairSpace.of(graphs[index]) for index in order.tolist()]
        self._labels = proba.argmax(dim=1)[order]
        self._validation = list(range(held_out))
        self._training = list(range(held_out, len(order)))
        # The validation graphs get the same noise in every look, so that looks can be compared.
        self._look_seed = int(torch.randint(2**62, (1,), generator=generator))
        probe, expected = self._batch(self._training[: config.batch_size]), proba[order][held_out:]
        for stack in probe.stacks:
            if not bool(stack.soft.agree(expected[stack.members]).all()):
                raise NotApplicableError(
                    "expected an oracle to which a weight of 1 is an ordinary edge, got one that "
                    "answers otherwise; use a method that needs no soft graphs."
                )

    def run(self, *, progress: bool = False, checkpoint: Path | None = None) -> DiffusionReport:
        """Train, and leave the denoiser as it was at its best epoch.

        Args:
            progress: Whether a progress bar is shown, with an estimate of the time left.
            checkpoint: A folder; a training that was killed goes on from what it left there.

        Raises:
            ArtifactError: If the folder holds the checkpoint of another training.
        """
        config = self.config
        optimizer = torch.optim.Adam(self.denoiser.parameters(), lr=config.learning_rate)
        identity = self._identity() if checkpoint is not None else ""
        done = Progress()
        if checkpoint is not None:
            parts = (self.denoiser, optimizer, self._generator)
            done = read_checkpoint(checkpoint, identity, *parts) or done
        self.earlier = done.seconds, done.cpu_seconds
        started, cpu_started = time.perf_counter(), time.process_time()
        stopped = self._over(done)
        written = started
        try:
            with progress_bar(
                "diffusion", total=config.epochs, unit="epoch", shown=progress, done=done.epoch
            ) as bar:
                while stopped is None:
                    for group in optimizer.param_groups:
                        group["lr"] = config.learning_rate * config.decay**done.epoch
                    self._epoch(optimizer)
                    done.epoch += 1
                    done.cpu_seconds = self.earlier[1] + time.process_time() - cpu_started
                    done.seconds = self.earlier[0] + time.perf_counter() - started
                    stopped = self._over(done)
                    if stopped or done.epoch % config.check_every == 0:
                        self._check(done)
                        stopped = stopped or self._over(done)
                        found = done.curve[-1]
                        told = {"flips": f"{found.flip_rate:.2f}", "edits": f"{found.edits:.1f}"}
                        bar.set_postfix(told, refresh=False)
                    if checkpoint is not None and (
                        stopped or time.perf_counter() - written >= _CHECKPOINT_SECONDS
                    ):
                        parts = (self.denoiser, optimizer, self._generator)
                        write_checkpoint(checkpoint, identity, done, *parts)
                        written = time.perf_counter()
                    bar.total = self._expected(done)
                    bar.update()
        except KeyboardInterrupt:
            stopped = "interrupted"
        if done.best is not None:
            self.denoiser.load_state_dict(done.best)
        self.denoiser.eval()
        flips, edits = self.look() if done.best is None else done.merit
        return DiffusionReport(
            epochs=done.epoch,
            best_epoch=done.best_epoch if done.best is not None else done.epoch,
            flip_rate=flips,
            edits=edits,
            stopped=stopped or "finished",
            cpu_seconds=self.earlier[1] + time.process_time() - cpu_started,
            curve=tuple(done.curve),
        )

    def _over(self, done: Progress) -> Stopped | None:
        """Why the training ends here, None if it goes on."""
        config = self.config
        if done.epoch >= config.epochs:
            return "finished"
        # As of the last look: what was not looked at cannot have been better.
        looked_at = done.curve[-1].epoch if done.curve else 0
        if config.patience is not None and looked_at - done.best_epoch >= config.patience:
            return "patience"
        if config.max_cpu_minutes is not None and done.epoch:
            left = 60 * config.max_cpu_minutes - done.cpu_seconds
            if left < done.cpu_seconds / done.epoch:
                return "time"
        return None

    def _expected(self, done: Progress) -> int:
        """How many epochs there will be at this speed."""
        config = self.config
        if config.max_cpu_minutes is None:
            return config.epochs
        fit = int(60 * config.max_cpu_minutes * done.epoch / max(done.cpu_seconds, 1e-9))
        return max(done.epoch, min(config.epochs, fit))

    def _check(self, done: Progress) -> None:
        """Look at the validation graphs, and keep the denoiser if it was never better."""
        found = self.look()
        done.curve.append(Look(done.epoch, *found))
        if done.best is None or self._merit(*found) > self._merit(*done.merit):
            state = self.denoiser.state_dict()
            done.best = {name: value.clone() for name, value in state.items()}
            done.best_epoch, done.merit = done.epoch, found

    def _merit(self, rate: float, edits: float) -> tuple[float, float]:
        return (rate, -edits) if self.config.choose == "flips" else (-edits, rate)

    def _identity(self) -> str:
        """A checksum of all that shapes the training, but not how long it may take."""
        settings = {**asdict(self.config), "max_cpu_minutes": None}
        return checksum(
            {
                "settings": settings,
                "denoiser": {name: list(v.shape) for name, v in self.denoiser.state_dict().items()},
                "levels": self._draw_levels,
                "seed": self._born,
                "graphs": [fingerprint(space.graph) for space in self._spaces],
                "labels": self._labels.tolist(),
            }
        )

    @kept_memory()
    def _epoch(self, optimizer: torch.optim.Optimizer) -> None:
        self.denoiser.train()
        for indices in self._batches(self._training):
            batch = self._batch(indices)
            optimizer.zero_grad()
            # Stack after stack: the slopes add up to those of the whole batch, in much less memory.
            for loss in self._losses(batch):
                loss.backward()
                if not math.isfinite(float(loss.detach())):
                    raise TrainingError(
                        "expected a finite loss of the denoiser, got NaN or infinity; lower "
                        "learning_rate."
                    )
            optimizer.step()

    def loss(self, batch: GraphBatch) -> Tensor:
        """L_dist + α_cf · L_cf of a batch under freshly drawn noise."""
        return torch.stack(list(self._losses(batch))).sum()

    def _losses(self, batch: GraphBatch) -> Iterator[Tensor]:
        """The loss of a batch, as parts that add up to it, one for each stack."""
        config = self.config
        levels, count = config.levels, batch.count
        sigma = config.max_noise * torch.rand(levels, generator=self._generator)
        weights = 1 - 2 * sigma + 1 / levels
        spread = weights[:, None].expand(levels, count)
        if config.parity:
            # As published: laid out graph by graph, while the samples come level by level.
            spread = spread.t().reshape(levels, count)
        for stack in batch.stacks:
            logits = self._denoised(stack, sigma)
            entropy = functional.binary_cross_entropy_with_logits(
                logits,
                stack.on_pairs(stack.adjacency).expand_as(logits),
                pos_weight=torch.tensor(config.edge_weight),
                reduction="none",
            )
            own = spread[:, stack.members].repeat_interleave(len(stack.cells), dim=1)
            loss = (entropy * own).sum() / (levels * batch.pairs)
            if config.counterfactual:
                answers = stack.soft.logits(logits.mean(dim=0).sigmoid())
                share = config.counterfactual * len(stack.members) / count
                loss = loss + share * other_class_loss(answers, stack.labels)
            yield loss

    def _denoised(
        self, stack: Stack, sigma: Tensor, generator: torch.Generator | None = None
    ) -> Tensor:
        """Logits of unordered pairs under levels of noise [levels, pairs]."""
        generator = self._generator if generator is None else generator
        levels = len(sigma)
        each = sigma.repeat_interleave(len(stack.members))
        noisy = flip_pairs(stack.adjacency.repeat(levels, 1, 1), each, generator)
        return stack.on_pairs(self.denoiser(noisy, stack.x, each, generator))

    @torch.no_grad()
    def look(self) -> tuple[float, float]:
        """Share of validation graphs that one of a few draws flips, and the mean number of edits.

        The edits of a graph are those of its smallest flip, or of its draws if none flips.
        """
        self.denoiser.eval()
        generator = torch.Generator().manual_seed(self._look_seed)
        flips, edits = 0.0, 0.0
        looked_at = self._validation or self._training[: self.config.batch_size]
        for start in range(0, len(looked_at), self.config.batch_size):
            batch = self._batch(looked_at[start : start + self.config.batch_size])
            for stack in batch.stacks:
                truth = stack.on_pairs(stack.adjacency)[0]
                changed, sizes = [], []
                for _ in range(self.config.check_draws):
                    sigma = torch.rand(self._draw_levels, generator=generator)
                    # Thresholded: only what the oracle says of hard graphs counts.
                    logits = self._denoised(stack, self.config.max_noise * sigma, generator)
                    hard = (logits.mean(dim=0) > 0).float()
                    changed.append(stack.soft.logits(hard).argmax(dim=1) != stack.labels)
                    sizes.append(stack.soft.per_graph((hard != truth).float()))
                hits, size = torch.stack(changed), torch.stack(sizes)
                smallest = torch.where(hits, size, torch.inf).amin(dim=0)
                edits += float(torch.where(hits.any(dim=0), smallest, size.mean(dim=0)).sum())
                flips += float(hits.any(dim=0).sum())
        return flips / len(looked_at), edits / len(looked_at)

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
        cells = PAIR_VALUES // (self.denoiser.last.in_features * self.config.levels)
        return stacked(spaces, self._labels[torch.tensor(places)], self.oracle, cells=cells)


def other_class_loss(logits: Tensor, labels: Tensor) -> Tensor:
    """Mean of −log(1 − p_y), in a form that stays finite.

    Args:
        logits: The oracle's [graphs, C].
        labels: The classes y to leave [graphs].
    """
    others = logits.scatter(1, labels[:, None], -torch.inf)
    return (logits.logsumexp(dim=1) - others.logsumexp(dim=1)).mean()
