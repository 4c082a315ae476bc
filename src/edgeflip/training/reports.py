"""How a training went."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from edgeflip.datasets import Drawing, Origin
from edgeflip.presets import OracleSettings
from edgeflip.support import STRICT


@dataclass(frozen=True)
class EpochReport:
    """How one epoch went.

    Attributes:
        epoch: counted from 1.
        epochs: how many there are at most.
        improved: whether this is the best epoch so far.
    """

    epoch: int
    epochs: int
    train_loss: float
    val_loss: float
    val_accuracy: float
    improved: bool


@dataclass(frozen=True)
class OracleData:
    """What a saved oracle was trained on, as far as it says.

    Attributes:
        dataset: Its name.
        drawing: What kind of graphs these were.
        num_features: How many numbers a node has.
    """

    dataset: str | None
    drawing: str | None
    num_features: int


@dataclass(frozen=True)
class TrainingReport:
    """How a training went.

    Attributes:
        origin: whether the graphs were the published ones (`"file"`) or `"generated"`.
        epochs: how many were run.
        best_epoch: the one whose weights were kept, counted from 1; 0 if none was finished.
        stopped: `"finished"` all epochs, `"early"` for want of improvement, or `"interrupted"`.
        drawing: What kind of graphs these were; none where an older version trained.
    """

    __pydantic_config__ = STRICT

    dataset: str
    origin: Origin
    seed: int
    settings: OracleSettings
    class_names: tuple[str, ...]
    train_accuracy: float
    val_accuracy: float
    test_accuracy: float
    epochs: int
    best_epoch: int
    wall_seconds: float
    cpu_seconds: float
    stopped: Literal["finished", "early", "interrupted"]
    drawing: Drawing | None = None

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)
