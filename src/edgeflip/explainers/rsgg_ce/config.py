"""Settings of RSGG-CE."""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeflip.errors import ConfigError
from edgeflip.support import STEEPEST, STRICT, WIDEST, check_at_most


@dataclass(frozen=True)
class RSGGConfig:
    """Settings of `RSGG`.

    Attributes:
        epochs: Training steps per class, one batch each, as in the published runs; passes over the
            class's graphs with `full_epochs`.
        full_epochs: Whether an epoch goes through all graphs of the class.
        batch_size: Graphs of the class, and of the other classes, per step.
        learning_rate: Of plain gradient descent, for both networks.
        discriminator_width: Width of the discriminator's convolution; None for ⌊√F⌋ + 1, as published.
        noise: Standard deviation of the noise inside the discriminator.
        dropout: Share of the discriminator's units left out in training.
        additions: At most this many edges are added, one at a time.
        restarts: How often edits are drawn from the start; with more than one all flips are kept, and
            the ranking chooses.
        block: Additions asked about at once; the answer does not depend on it.
        seconds: The deadline when a call names no budget, None for none.
    """

    __pydantic_config__ = STRICT

    epochs: int = 30
    full_epochs: bool = False
    batch_size: int = 4
    learning_rate: float = 1e-3
    discriminator_width: int | None = None
    noise: float = 0.2
    dropout: float = 0.4
    additions: int = 500
    restarts: int = 1
    block: int = 64
    seconds: float | None = 60.0

    def __post_init__(self) -> None:
        """Refuse settings that leave nothing to learn or to try."""
        width = 1 if self.discriminator_width is None else self.discriminator_width
        counts = (self.batch_size, self.restarts, self.block, width)
        if min(counts) < 1 or min(self.epochs, self.additions) < 0:
            raise ConfigError(
                "expected batch_size, restarts, block and discriminator_width of at least 1, epochs "
                f"and additions of at least 0, got {self}; correct the setting."
            )
        if not (0 < self.learning_rate < math.inf and 0 <= self.noise < math.inf):
            raise ConfigError(
                "expected a finite learning rate above 0 and noise of at least 0, got "
                f"{self.learning_rate} and {self.noise}; correct the setting."
            )
        check_at_most(self, discriminator_width=WIDEST, learning_rate=STEEPEST, noise=STEEPEST)
        if not 0 <= self.dropout < 1:
            raise ConfigError(
                f"expected dropout of at least 0 and below 1, got {self.dropout}; use 0 for none."
            )
