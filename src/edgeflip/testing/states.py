"""What an explainer must leave as it is: random states, graphs and models."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch_geometric.data import Data


def random_states() -> dict[str, Any]:
    """The states of all generators that are shared by a process."""
    return {
        "Python": random.getstate(),
        "NumPy": np.random.get_state(),
        "torch": torch.random.get_rng_state(),
    }


def moved_since(states: Mapping[str, Any]) -> list[str]:
    """Names of the generators whose state is another."""
    return [
        name
        for name, now in random_states().items()
        if not all(
            bool(np.array_equal(one, two))
            for one, two in zip(_parts(states[name]), _parts(now), strict=True)
        )
    ]


def _parts(state: Any) -> tuple[Any, ...]:
    return state if isinstance(state, tuple) else (state,)


def changed_keys(before: Data, after: Data) -> list[str]:
    """Names of the attributes that are not the same, bit for bit."""
    old, new = before.to_dict(), after.to_dict()
    return sorted(
        key
        for key in old.keys() | new.keys()
        if key not in old or key not in new or not same_value(old[key], new[key])
    )


def same_value(one: Any, two: Any) -> bool:
    """Whether two values are the same, bit for bit."""
    if isinstance(one, Tensor) and isinstance(two, Tensor):
        if one.dtype != two.dtype or one.shape != two.shape:
            return False
        # NaN, as in labels that nobody measured, is not equal to itself.
        return torch.equal(one, two) or torch.equal(_bits(one), _bits(two))
    if isinstance(one, Tensor) or isinstance(two, Tensor):
        return False
    return bool(np.array_equal(one, two)) if isinstance(one, np.ndarray) else bool(one == two)


def _bits(value: Tensor) -> Tensor:
    return value.detach().cpu().contiguous().flatten().view(torch.uint8)


def module_of(oracle: object) -> nn.Module | None:
    """The torch module behind an oracle, if there is one."""
    model = getattr(oracle, "model", None)
    return model if isinstance(model, nn.Module) else None


@dataclass(frozen=True)
class ModelState:
    """Everything about a module that an explainer could leave changed."""

    modes: list[bool]
    values: dict[str, Tensor]
    flags: dict[str, bool]
    gradients: dict[str, Tensor | None]

    @classmethod
    def of(cls, model: nn.Module) -> ModelState:
        """The state now, in copies."""
        parameters = dict(model.named_parameters())
        values = {**parameters, **dict(model.named_buffers())}
        return cls(
            modes=[module.training for module in model.modules()],
            values={name: value.detach().clone() for name, value in values.items()},
            flags={name: each.requires_grad for name, each in parameters.items()},
            gradients={
                name: None if each.grad is None else each.grad.clone()
                for name, each in parameters.items()
            },
        )

    def changes(self, model: nn.Module) -> list[str]:
        """What has changed since, in sentences."""
        now = ModelState.of(model)
        found = []
        if now.modes != self.modes:
            found.append("the model was left in another mode (training or evaluation)")
        if now.flags != self.flags:
            found.append("requires_grad of the model's parameters changed")
        if now.gradients.keys() == self.gradients.keys():
            for name, before in self.gradients.items():
                after = now.gradients[name]
                if before is None and after is not None:
                    found.append("gradients were left behind")
                elif before is not None and not same_value(before, after):
                    found.append("gradients that were there before were cleared or changed")
        same = now.values.keys() == self.values.keys() and all(
            same_value(value, now.values[name]) for name, value in self.values.items()
        )
        if not same:
            found.append("the model's weights changed")
        return sorted(set(found))

    def restore(self, model: nn.Module) -> None:
        """Put the state back."""
        for module, mode in zip(model.modules(), self.modes, strict=False):
            module.training = mode
        parameters = dict(model.named_parameters())
        with torch.no_grad():
            for name, value in {**parameters, **dict(model.named_buffers())}.items():
                if name in self.values and not same_value(value, self.values[name]):
                    value.copy_(self.values[name])
        for name, parameter in parameters.items():
            if name in self.flags:
                parameter.requires_grad_(self.flags[name])
                parameter.grad = self.gradients[name]


@contextmanager
def restored(model: nn.Module | None) -> Iterator[None]:
    """A block after which the model is as before, whatever an explainer did to it."""
    if model is None:
        yield
        return
    # Parameters that take their shape from the first input have none yet.
    lazy = any(nn.parameter.is_lazy(each) for each in model.parameters())
    state = None if lazy else ModelState.of(model)
    try:
        yield
    finally:
        if state is not None:
            state.restore(model)


@contextmanager
def disturbed(model: nn.Module | None) -> Iterator[Callable[[], list[str]]]:
    """A block with a model in a state that is easily lost; yields what tells the changes since.

    It trains, but for its last part; every second parameter has a gradient; the first needs none.
    """
    if model is None:
        yield list
        return
    with restored(model):
        model.train()
        parts = list(model.modules())
        if len(parts) > 1:
            parts[-1].eval()
        for index, parameter in enumerate(model.parameters()):
            floating = parameter.is_floating_point()
            parameter.requires_grad_(index > 0 and floating)
            parameter.grad = torch.ones_like(parameter) if floating and index % 2 == 0 else None
        state = ModelState.of(model)
        yield lambda: state.changes(model)
