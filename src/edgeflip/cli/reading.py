"""How values of options are read: folders, classes, splits and settings."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeflip.errors import ConfigError, TargetError, unknown_name

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from edgeflip.datasets import DatasetBundle


def check_folder(path: Path | None) -> None:
    """Refuse a path that cannot become a folder before any work is done for it."""
    if path is None:
        return
    for part in (path, *path.parents):
        if part.exists():
            if not part.is_dir():
                raise ConfigError(
                    f"expected a folder at {path}, got the file {part}; give another path."
                )
            if not os.access(part, os.W_OK):
                raise ConfigError(
                    f"expected a folder that can be written, got {part}; give another path."
                )
            return


def class_number(bundle: DatasetBundle | None, target: str) -> int:
    """A class by number or name."""
    names = [name.lower() for name in bundle.class_names] if bundle is not None else []
    if target.lower() in names:
        return names.index(target.lower())
    try:
        return int(target)
    except ValueError:
        error = unknown_name("class", target, names)
        raise TargetError(str(error)) from None


def read_overrides(settings: Sequence[str]) -> dict[str, Any]:
    """Settings given as key=value, the value read as JSON where it is."""
    values: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        if not equals or not key:
            raise ConfigError(
                f"expected --set key=value, got '{setting}'; for example --set beam.width=24."
            )
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
        *path, last = key.split(".")
        table = values
        for part in path:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise ConfigError(f"expected --set to name each setting once, got '{key}' twice.")
        table[last] = value
    return values


def graphs_of(bundle: DatasetBundle, split: str) -> Sequence[Data]:
    """The graphs of a split by its name."""
    parts = {"test": bundle.test, "val": bundle.val, "train": bundle.train, "all": bundle.graphs}
    if split not in parts:
        raise unknown_name("split", split, parts)
    return parts[split]
