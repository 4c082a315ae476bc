"""How values of options are read: folders, classes, splits and settings."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeflip.cli.names import SPLITS
from edgeflip.errors import ConfigError, TargetError, unknown_name

if TYPE_CHECKING:
    from torch_geometric.data import Data

    from edgeflip.datasets import DatasetBundle


# A node, or the first and last of several; of more digits than these no graph has nodes.
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)
_MOST_NODES = 1_000_000


def check_folder(path: Path | None) -> None:
    """Refuse a path that cannot become a folder before any work is done for it."""
    from edgeflip.support import check_name

    if path is None:
        return
    if not path.exists():
        check_name(path, ConfigError)
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


def check_oracle(folder: Path) -> None:
    """Refuse a folder without an oracle; the nearest one in it or around it is suggested."""
    parts = ("config.json", "model.safetensors")
    if any((folder / name).exists() for name in parts):
        return
    near = _nearest_oracle(folder, parts[0])
    hint = f", did you mean {near}?" if near else "."
    got = f"no {parts[0]} there" if folder.exists() else "no such folder"
    raise ConfigError(
        f"expected a trained oracle in {folder}, got {got}{hint} To make one, run 'edgeflip train' with "
        f"--out {folder}, or leave --oracle out."
    )


def _nearest_oracle(folder: Path, mark: str) -> Path | None:
    """The oracle that was probably meant by a folder without one: those of own data lie two folders deep."""
    places = (
        (folder, "*", 0.0),
        (folder.parent, "*", 0.4),
        (folder.parent, "*/oracle", 0.4),
        (folder.parent.parent, "*/*", 0.6),
    )
    for place, pattern, cutoff in places:
        found = sorted(path.parent for path in place.glob(f"{pattern}/{mark}"))
        known = {path.relative_to(place).as_posix(): path for path in found}
        wanted = folder.relative_to(place).as_posix()
        near = difflib.get_close_matches(wanted, known, n=1, cutoff=cutoff)
        if near:
            return known[near[0]]
    return None


def check_one_model(oracle: Path | None, model: str | None, *, needed: bool = False) -> None:
    """Refuse two models at once, and none where one is needed."""
    if oracle is not None and model is not None:
        raise ConfigError("expected --oracle or --model, got both; leave one of them out.")
    if needed and oracle is None and model is None:
        raise ConfigError(
            "expected --oracle FOLDER or --model FILE.PY:FUNCTION, got neither; name what was explained."
        )
    if oracle is not None:
        check_oracle(oracle)


def check_models(oracles: Sequence[Path] | None, model: str | None) -> None:
    """Refuse folders without an oracle, oracles beside a model, and neither."""
    if not oracles:
        check_one_model(None, model, needed=True)
    for folder in oracles or ():
        check_one_model(folder, model, needed=True)


def split_spec(spec: str) -> tuple[Path, str]:
    """File and function of a `--model`; the file must exist."""
    file, _, function = spec.rpartition(":")
    path = Path(file)
    if not file or path.suffix != ".py" or not path.is_file():
        got = f"no file {path}" if path.suffix == ".py" else f"'{spec}'"
        raise ConfigError(
            f"expected --model FILE.PY:FUNCTION of a file that exists, got {got}; for example --model "
            "my_model.py:build."
        )
    return path, function


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
        value = read_value(text)
        *path, last = key.split(".")
        table = values
        for part in path:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise ConfigError(f"expected --set to name each setting once, got '{key}' twice.")
        table[last] = value
    return values


def read_nodes(text: str) -> frozenset[int]:
    """Nodes given by number and as ranges with both ends.

    Example:
        >>> sorted(read_nodes("0-3,12"))
        [0, 1, 2, 3, 12]
    """
    nodes: set[int] = set()
    for part in text.split(","):
        found = _RANGE.fullmatch(part.strip())
        first, last = (int(found[1]), int(found[2] or found[1])) if found else (1, 0)
        if first > last:
            raise ConfigError(
                f"expected --within as nodes and ranges such as 0-99,120, got '{text}'; correct it."
            )
        if last - first >= _MOST_NODES:
            raise ConfigError(
                f"expected --within with at most {_MOST_NODES:,} nodes, got '{text}'; name fewer."
            )
        nodes.update(range(first, last + 1))
    return frozenset(nodes)


def read_value(text: str) -> Any:
    """A value as JSON where it is some, otherwise as text.

    Example:
        >>> read_value("[0, 1]"), read_value("mode")
        ([0, 1], 'mode')
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def graphs_of(bundle: DatasetBundle, split: str) -> Sequence[Data]:
    """The graphs of a split by its name."""
    parts = (bundle.test, bundle.val, bundle.train, bundle.graphs)
    return dict(zip(SPLITS, parts, strict=True))[split.strip().lower()]
