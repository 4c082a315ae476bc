"""A model of the user: a function in a Python file builds it, a safetensors file has its weights."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from edgeflip.cli.reading import split_spec
from edgeflip.errors import ConfigError, EdgeflipError, unknown_name


def build_model(spec: str, weights: Path | None) -> nn.Module:
    """A model that a function of a Python file builds, with weights from a safetensors file.

    Args:
        spec: `file.py:function`; the function takes nothing and returns a module.
        weights: a safetensors file; none when the function loads them itself.
    """
    path, function = split_spec(spec)
    try:
        with _neighbours_of(path):
            model = _built(path, function)
    except (EdgeflipError, KeyboardInterrupt):
        raise
    except (Exception, SystemExit) as error:  # whatever a stranger's code raises
        reason = " ".join(str(error).split())[:300]
        raise ConfigError(
            f"expected {function}() of {path} to build a model, got {type(error).__name__}: {reason}; "
            "fix the file."
        ) from error
    if not isinstance(model, nn.Module):
        raise ConfigError(
            f"expected {function}() of {path} to return a torch module, got {type(model).__name__}; "
            "return the model."
        )
    if weights is not None:
        _take_weights(model, weights)
    return model.eval()


def _built(path: Path, function: str) -> Any:
    name = f"edgeflip_user_{path.stem}"
    loader = importlib.util.spec_from_file_location(name, path)
    assert loader is not None
    assert loader.loader is not None
    module = importlib.util.module_from_spec(loader)
    # Dataclasses look their module up by its name.
    sys.modules[name] = module
    loader.loader.exec_module(module)
    build = getattr(module, function, None)
    if not callable(build):
        defined = [name for name in vars(module) if inspect.isfunction(getattr(module, name))]
        raise unknown_name(f"function in {path.name}", function, defined)
    return build()


@contextmanager
def _neighbours_of(path: Path) -> Iterator[None]:
    """Let a file import the files beside it, as it can when Python runs it."""
    folder = str(path.resolve().parent)
    sys.path.insert(0, folder)
    try:
        yield
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


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
