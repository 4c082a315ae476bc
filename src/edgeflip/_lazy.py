"""Names that are imported when they are first used, so that `edgeflip --help` loads no torch."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazily(package: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's `__getattr__` that imports public names on first use.

    Args:
        package: The module whose names they are.
        names: Where each public name is defined, by name.
    """

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(names[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return load
