"""Settings of D4Explainer."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

from edgeflip.errors import ConfigError
from edgeflip.support import STEEPEST, STRICT, WIDEST, check_at_most


@dataclass(frozen=True)
class DenoiserConfig:
    """Shape of the denoiser.

    Attributes:
        layers: Number of blocks.
        width: Channels per node pair.
        dropout: Share dropped before the last layer while training.
    """

    __pydantic_config__ = STRICT

    layers: int = 6
    width: int = 64
    dropout: float = 0.001

    def __post_init__(self) -> None:
        """Refuse a denoiser without layers."""
        if min(self.layers, self.width) < 1 or not 0 <= self.dropout < 1:
            raise ConfigError(
                "expected at least one layer and channel and a dropout in 0..1, got "
                f"{self.layers}, {self.width} and {self.dropout}."
            )
        check_at_most(self, layers=1_000, width=WIDEST)


@dataclass(frozen=True)
class DiffusionConfig:
    """How the denoiser is trained.

    Attributes:
        epochs: Passes over the graphs, at most.
        patience: Epochs without a better one, as the held-out graphs tell, after which it ends; None for
            never.
        max_cpu_minutes: CPU time after which no further epoch is begun; None for any.
        batch_size: Graphs per step.
        learning_rate: Of Adam.
        decay: Factor of the learning rate per epoch.
        levels: Levels of noise drawn per step (S).
        max_noise: Levels are drawn between 0 and this: the share of node pairs that noise flips.
        edge_weight: Weight of edges against other pairs in the loss of the distribution.
        counterfactual: Weight of the counterfactual loss (α_cf).
        max_graphs: At most this many graphs, drawn at random; None for all.
        validation: Share of the graphs held out to choose the best epoch by.
        check_every: Epochs between two looks at them.
        check_draws: Draws per held-out graph in such a look.
        choose: What makes an epoch the best: most flips and of those the fewest edits (`"flips"`), or
            fewest edits whether they flip or not (`"edits"`, as in the published code).
        parity: Whether the weights of noise levels go to the wrong samples, as in the published code.
    """

    __pydantic_config__ = STRICT

    epochs: int = 800
    patience: int | None = None
    max_cpu_minutes: float | None = None
    batch_size: int = 32
    learning_rate: float = 1e-3
    decay: float = 0.999
    levels: int = 10
    max_noise: float = 0.4
    edge_weight: float = 2.5
    counterfactual: float = 0.5
    max_graphs: int | None = None
    validation: float = 0.1
    check_every: int = 5
    check_draws: int = 8
    choose: Literal["flips", "edits"] = "flips"
    parity: bool = False

    def __post_init__(self) -> None:
        """Refuse what cannot be trained."""
        checks = (self.check_every, self.check_draws)
        graphs = 1 if self.max_graphs is None else self.max_graphs
        patience = 1 if self.patience is None else self.patience
        counts = (self.epochs, self.batch_size, self.levels, graphs, *checks, patience)
        if min(counts) < 1:
            raise ConfigError(
                "expected epochs, batch_size, levels, max_graphs, check_every, check_draws and patience "
                f"of at least 1, got {counts}."
            )
        if self.max_cpu_minutes is not None and not 0 < self.max_cpu_minutes < math.inf:
            raise ConfigError(
                f"expected max_cpu_minutes above 0, got {self.max_cpu_minutes}; leave it out for no limit."
            )
        rates = (self.learning_rate, self.decay, self.edge_weight)
        if not all(0 < rate < math.inf for rate in rates) or self.counterfactual < 0:
            raise ConfigError(
                "expected learning_rate, decay and edge_weight above 0 and counterfactual of at least "
                f"0, got {rates} and {self.counterfactual}."
            )
        check_at_most(
            self, levels=WIDEST, learning_rate=STEEPEST, decay=STEEPEST, edge_weight=STEEPEST
        )
        if not (0 < self.max_noise <= 1 and 0 <= self.validation < 1):
            raise ConfigError(
                "expected max_noise above 0 and up to 1 and validation from 0 to below 1, got "
                f"{self.max_noise} and {self.validation}."
            )


@dataclass(frozen=True)
class D4Config:
    """Settings of `D4Explainer`.

    Attributes:
        candidates: Graphs that are denoised anew per graph to explain.
        levels: Levels of noise averaged per candidate; None for as many as in training.
        seconds: The deadline when a call names no budget, None for none.
        denoiser: Shape of the denoiser.
        training: How it is trained.
    """

    __pydantic_config__ = STRICT

    candidates: int = 150
    levels: int | None = None
    seconds: float | None = None
    denoiser: DenoiserConfig = field(default_factory=DenoiserConfig)
    training: DiffusionConfig = field(default_factory=DiffusionConfig)

    def __post_init__(self) -> None:
        """Refuse to draw nothing."""
        check_at_most(self, levels=WIDEST)
        if min(self.candidates, 1 if self.levels is None else self.levels) < 1:
            raise ConfigError(
                f"expected candidates and levels of at least 1, got {self.candidates} and {self.levels}."
            )

    @property
    def is_reduced(self) -> bool:
        """Whether anything but the length of training is smaller than published.

        Results are then those of a reduced method; how many epochs were trained, the fit's report tells.
        """
        own, full = self.training, DiffusionConfig()
        return (
            self.candidates < D4Config.candidates
            or (self.levels or own.levels) < full.levels
            or own.levels < full.levels
            or own.max_graphs is not None
            or self.denoiser.layers < DenoiserConfig.layers
            or self.denoiser.width < DenoiserConfig.width
        )
