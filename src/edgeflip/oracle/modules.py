"""The modules of a model, gone through once per explanation without torch's generators.

A small model answers in less time than `modules()`, `parameters()`, `eval()` and `state_dict()` take.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from edgeflip.errors import OracleError


@dataclass(frozen=True, eq=False)
class Freeze:
    """What a model was like before it was put into evaluation mode, without gradients for its parameters.

    Attributes:
        training: Every module, and whether it was in training mode.
        learning: Every parameter, and whether it had gradients.
    """

    training: tuple[tuple[nn.Module, bool], ...] = ()
    learning: tuple[tuple[Tensor, bool], ...] = ()

    @classmethod
    def before(cls, model: nn.Module) -> Freeze:
        """What it is like now.

        Raises:
            OracleError: If masks of PyG are in it.
        """
        modules = _modules_of(model)
        check_unmasked(modules)
        parameters = [each for module in modules for each in module._parameters.values()]
        return cls(
            tuple((module, module.training) for module in modules),
            tuple((each, each.requires_grad) for each in parameters if each is not None),
        )

    def begin(self, model: nn.Module) -> None:
        """Put the model into evaluation mode."""
        switched = [module for module, training in self.training if training]
        if all(_switches_plainly(module) for module in switched):
            for module in switched:
                vars(module)["training"] = False
        else:
            model.eval()
        for parameter, learns in self.learning:
            if learns:
                parameter.requires_grad_(False)

    def end(self) -> None:
        """Make everything as it was."""
        for module, training in self.training:
            if module.training is training:
                continue
            if _switches_plainly(module):
                vars(module)["training"] = training
            else:
                module.training = training
        for parameter, learns in self.learning:
            if parameter.requires_grad is not learns:
                parameter.requires_grad_(learns)


def check_unmasked(modules: Iterable[nn.Module]) -> None:
    """Refuse a model in which an interrupted explanation of PyG left its masks: it is not the model.

    Raises:
        OracleError: If there are any.
    """
    for module in modules:
        # A mask that was once learned is a parameter.
        mask = vars(module).get("_edge_mask", module._parameters.get("_edge_mask"))
        if mask is not None and vars(module).get("_explain"):
            raise OracleError(
                f"expected a model without edge masks, got {type(module).__name__} with one that PyG left "
                "behind when a call failed; run torch_geometric.explain.algorithm.utils.clear_masks(model)."
            )


def _switches_plainly(module: nn.Module) -> bool:
    """Whether evaluation mode is nothing but a flag of the module."""
    kind = type(module)
    return (
        kind.train is nn.Module.train
        and kind.eval is nn.Module.eval
        and kind.__setattr__ is nn.Module.__setattr__
    )


def _modules_of(model: nn.Module) -> list[nn.Module]:
    """Every module once."""
    found, known = [model], {id(model)}
    # The list grows while it is gone through.
    for module in found:
        for child in module._modules.values():
            if child is not None and id(child) not in known:
                known.add(id(child))
                found.append(child)
    return found


def state_of(model: nn.Module) -> list[tuple[str, Any]]:
    """What `state_dict` has, sorted by name."""
    state: dict[str, Any] = {}
    waiting = [("", model)]
    for prefix, module in waiting:
        listened = module._state_dict_hooks or module._state_dict_pre_hooks
        if listened or type(module).state_dict is not nn.Module.state_dict:
            return sorted(model.state_dict().items())
        module._save_to_state_dict(state, prefix, keep_vars=True)
        waiting += [
            (f"{prefix}{name}.", child)
            for name, child in module._modules.items()
            if child is not None
        ]
    return sorted(state.items())


def bytes_of(value: Tensor) -> bytes:
    """The numbers of a tensor as they lie in memory."""
    plain = value.detach().cpu().contiguous()
    # NumPy knows most types of numbers, but not all.
    known = plain.dtype in (torch.float32, torch.float64)
    flat = plain if known or not plain.numel() else plain.flatten().view(torch.uint8)
    return flat.numpy().tobytes()
