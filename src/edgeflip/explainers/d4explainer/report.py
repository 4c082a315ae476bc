"""How the training of a denoiser went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

Stopped = Literal["finished", "patience", "time", "interrupted"]
_ENDINGS: tuple[Stopped, ...] = get_args(Stopped)


@dataclass(frozen=True)
class Look:
    """What an epoch's denoiser does to the validation graphs.

    Attributes:
        epoch: The epoch.
        flip_rate: Share of the graphs that one of a few draws flips.
        edits: Mean number of edits of the smallest of these draws.
    """

    epoch: int
    flip_rate: float
    edits: float


@dataclass(frozen=True)
class DiffusionReport:
    """How the training of a denoiser went.

    Attributes:
        epochs: Epochs run.
        best_epoch: The epoch that was kept.
        flip_rate: Share of the validation graphs that its denoised versions flip.
        edits: Mean number of edits of the smallest of these versions.
        stopped: `"finished"` after all epochs, `"patience"` when the validation graphs had told of no better
            epoch for long enough, `"time"` when the CPU time was used up, or `"interrupted"`.
        cpu_seconds: CPU seconds of the training, those before it was killed and resumed included.
        curve: What the validation graphs told, epoch by epoch.
    """

    epochs: int
    best_epoch: int
    flip_rate: float
    edits: float
    stopped: Stopped
    cpu_seconds: float = 0.0
    curve: tuple[Look, ...] = ()

    def notes(self) -> dict[str, Any]:
        """What tables tell of the fit: its epochs stand in the label of its column."""
        curve = [[look.epoch, look.flip_rate, look.edits] for look in self.curve]
        named = ("epochs", "best_epoch", "flip_rate", "edits", "stopped")
        return {**{name: getattr(self, name) for name in named}, "curve": curve}

    def to_tensors(self) -> dict[str, Tensor]:
        """The report as tensors, to be saved beside weights."""
        numbers = [self.epochs, self.best_epoch, self.flip_rate, self.edits, self.cpu_seconds]
        ending = _ENDINGS.index(self.stopped)
        return {
            "report": torch.tensor([*numbers, ending], dtype=torch.float64),
            "curve": curve_tensor(self.curve),
        }

    @classmethod
    def from_tensors(cls, report: Tensor, curve: Tensor) -> DiffusionReport:
        """What `to_tensors` gave."""
        epochs, best, rate, edits, cpu_seconds, ending = report.tolist()
        stopped = _ENDINGS[int(ending)]
        return cls(int(epochs), int(best), rate, edits, stopped, cpu_seconds, curve_of(curve))


def curve_tensor(curve: tuple[Look, ...] | list[Look]) -> Tensor:
    """Looks as rows of numbers [looks, 3]."""
    rows = [[look.epoch, look.flip_rate, look.edits] for look in curve]
    return torch.tensor(rows, dtype=torch.float64).reshape(-1, 3)


def curve_of(rows: Tensor) -> tuple[Look, ...]:
    """Looks from rows of numbers [looks, 3]."""
    return tuple(Look(int(epoch), rate, edits) for epoch, rate, edits in rows.tolist())
