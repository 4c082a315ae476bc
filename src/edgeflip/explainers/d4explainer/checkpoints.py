"""What a training that was killed goes on from: the state at the end of an epoch, as safetensors and JSON."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import Tensor, nn

from edgeflip.errors import ArtifactError
from edgeflip.explainers.d4explainer.report import Look, curve_of, curve_tensor
from edgeflip.support import CONFIG_FILE, building, read_artifact, write_artifact

_KIND = "d4explainer training"


@dataclass(eq=False)
class Progress:
    """How far a training has come.

    Attributes:
        epoch: Epochs done.
        seconds: Wall-clock seconds that they took.
        cpu_seconds: CPU seconds that they took.
        curve: What the validation graphs told.
        best: The weights of the best epoch, None before the first look.
        best_epoch: That epoch.
        merit: What the validation graphs told of it: share that flips, and edits.
    """

    epoch: int = 0
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    curve: list[Look] = field(default_factory=list)
    best: dict[str, Tensor] | None = None
    best_epoch: int = 0
    merit: tuple[float, float] = (0.0, 0.0)


def write_checkpoint(
    folder: Path,
    identity: str,
    progress: Progress,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
) -> None:
    """Write the state at the end of an epoch, whole or not at all.

    Args:
        folder: Where to.
        identity: Of the training, asked for again when it is read.
        progress: How far it has come.
        model: What is trained.
        optimizer: Its Adam.
        generator: Where all chance comes from.
    """
    tensors = {f"model.{name}": value for name, value in model.state_dict().items()}
    tensors |= {f"best.{name}": value for name, value in (progress.best or {}).items()}
    for index, moments in optimizer.state_dict()["state"].items():
        tensors |= {f"optimizer.{index}.{name}": value for name, value in moments.items()}
    tensors |= {"generator": generator.get_state(), "curve": curve_tensor(progress.curve)}
    config = {
        "identity": identity,
        "epoch": progress.epoch,
        "seconds": progress.seconds,
        "cpu_seconds": progress.cpu_seconds,
        "best_epoch": progress.best_epoch,
        "merit": list(progress.merit),
    }
    write_artifact(folder, kind=_KIND, config=config, tensors=tensors)


def read_checkpoint(
    folder: Path,
    identity: str,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    generator: torch.Generator,
) -> Progress | None:
    """Take up the state that a training left, None if it left none.

    Raises:
        ArtifactError: If the folder holds the state of another training.
    """
    if not os.path.exists(folder / CONFIG_FILE):
        return None
    config, tensors = read_artifact(folder, _KIND)
    if config.get("identity") != identity:
        raise ArtifactError(
            f"expected a checkpoint of this training in {folder}, got one of other graphs, settings or "
            "seed; give another folder or remove it."
        )
    with building(f"a checkpoint in {folder}", tensors, advice="remove it to train from the start"):
        model.load_state_dict(_part(tensors, "model."))
        state: dict[int, dict[str, Tensor]] = {}
        for name, value in _part(tensors, "optimizer.").items():
            index, _, key = name.partition(".")
            state.setdefault(int(index), {})[key] = value
        optimizer.load_state_dict({**optimizer.state_dict(), "state": state})
        generator.set_state(tensors["generator"])
        rate, edits = config["merit"]
        return Progress(
            epoch=int(config["epoch"]),
            seconds=float(config["seconds"]),
            cpu_seconds=float(config["cpu_seconds"]),
            curve=list(curve_of(tensors["curve"])),
            best=_part(tensors, "best.") or None,
            best_epoch=int(config["best_epoch"]),
            merit=(float(rate), float(edits)),
        )


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {
        name.removeprefix(prefix): value
        for name, value in tensors.items()
        if name.startswith(prefix)
    }
