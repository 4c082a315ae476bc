"""Where a model runs, and on which kind of numbers: all that it is asked goes through here."""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from edgeflip.errors import ConfigError, shown

_Asked = TypeVar("_Asked")


class Placement:
    """The device and the dtype of a model.

    Args:
        model: The model.
        device: Where it runs; the device of its parameters when left out.

    Raises:
        ConfigError: If there is no device of that name.

    Attributes:
        device: Where it runs.
        dtype: What its numbers are, where they are not of single precision.

    Example:
        >>> place = Placement(nn.Linear(2, 1).double())
        >>> place.put(torch.ones(3)).dtype, place.put(torch.ones(3).long()).dtype
        (torch.float64, torch.int64)
    """

    def __init__(self, model: Any, device: torch.device | str | None = None) -> None:
        self.device = _device_for(model, device)
        numbers = model.parameters() if isinstance(model, nn.Module) else ()
        kinds = (each.dtype for each in numbers if each.is_floating_point())
        found = next(kinds, torch.float32)
        self.dtype = None if found == torch.float32 else found

    @property
    def is_plain(self) -> bool:
        """Whether what is asked stays as it is: a model of single precision on the CPU."""
        return self.device.type == "cpu" and self.dtype is None

    def put(self, asked: _Asked) -> _Asked:
        """A tensor, tensors by name or a graph as the model wants them; a graph is changed in place."""
        if self.is_plain:
            return asked
        found: Any = asked
        if isinstance(asked, Tensor):
            found = self._tensor(asked)
        elif isinstance(asked, dict):
            found = {name: self._tensor(value) for name, value in asked.items()}
        else:
            found = found.apply(self._tensor)
        return found  # type: ignore[no-any-return]

    def _tensor(self, tensor: Tensor) -> Tensor:
        kind = self.dtype if tensor.is_floating_point() else None
        return tensor.to(self.device) if kind is None else tensor.to(self.device, kind)


def _device_for(model: object, device: torch.device | str | None) -> torch.device:
    """Where a model runs: on the device that was named, or where its parameters are."""
    if device is None:
        first = next(model.parameters(), None) if isinstance(model, nn.Module) else None
        return torch.device("cpu") if first is None else first.device
    try:
        if not isinstance(device, torch.device | str):
            raise TypeError
        return torch.device(device)
    except (RuntimeError, TypeError):
        raise ConfigError(
            f"expected device to be such as 'cpu' or 'cuda', got {shown(device)}; correct it or leave it out."
        ) from None
