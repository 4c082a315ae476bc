"""A model of the user: a function in a Python file builds it, a safetensors file has its weights."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from edgeflip.errors import ConfigError, EdgeflipError, unknown_name
from edgeflip.oracle import ModelOracle, Task


def user_oracle(
    spec: str,
    weights: Path | None,
    class_names: tuple[str, ...] | None = None,
    *,
    values: bool = False,
) -> ModelOracle:
    """A model that a function of a Python file builds, with weights from a safetensors file.

    Args:
        spec: `file.py:function`; the function takes nothing and returns a module.
        weights: a safetensors file; none when the function loads them itself.
        class_names: of the model's classes.
        values: whether it gives values and no classes.
    """
    file, _, function = spec.rpartition(":")
    path = Path(file)
    if not file or path.suffix != ".py" or not path.is_file():
        raise ConfigError(
            f"expected --model file.py:function of a file that exists, got '{spec}'; correct it."
        )
    loader = importlib.util.spec_from_file_location(f"edgeflip_user_{path.stem}", path)
    assert loader is not None
    assert loader.loader is not None
    module = importlib.util.module_from_spec(loader)
    try:
        loader.loader.exec_module(module)
        build = getattr(module, function, None)
        if not callable(build):
            defined = [name for name in vars(module) if inspect.isfunction(getattr(module, name))]
            raise unknown_name(f"function in {path.name}", function, defined)
        model = build()
    except EdgeflipError:
        raise
    except Exception as error:  # whatever a stranger's code raises
        raise ConfigError(
            f"expected {function}() of {path} to build a model, got {type(error).__name__}: {error}; "
            "fix the file."
        ) from error
    if not isinstance(model, nn.Module):
        raise ConfigError(
            f"expected {function}() of {path} to return a torch module, got {type(model).__name__}; "
            "return the model."
        )
    if weights is not None:
        _take_weights(model, weights)
    task: Task = "regression" if values else "classification"
    return ModelOracle(model.eval(), class_names=class_names, task=task)


def _take_weights(model: nn.Module, weights: Path) -> None:
    try:
        model.load_state_dict(load_file(weights))
    except FileNotFoundError:
        raise ConfigError(f"expected weights at {weights}, got no file; check the path.") from None
    except (SafetensorError, RuntimeError, OSError) as error:
        reason = " ".join(str(error).split())[:300]
        raise ConfigError(
            f"expected safetensors in {weights} that fit the model, got '{reason}'; save them with "
            "safetensors.torch.save_file(model.state_dict(), path); pickles are never read."
        ) from None
