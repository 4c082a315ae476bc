"""Datasets by name: what there is, and the loader of each.

This file loads nothing heavy, so that a misspelt name is answered at once.
"""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from edgeflip.datasets.catalogue import CatalogueEntry, catalogue
from edgeflip.datasets.family_names import family_name, is_family_name
from edgeflip.errors import DatasetError, EdgeflipError, shown, unknown_name

if TYPE_CHECKING:
    from edgeflip.datasets.bundle import DatasetBundle

DATA_VARIABLE = "EDGEFLIP_DATA"
ENTRY_POINT_GROUP = "edgeflip.datasets"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class DatasetEntry:
    """One line of the list of datasets.

    Attributes:
        graphs: number of graphs; none for a plugin, which has to be loaded to tell.
        classes: number of classes; none for a plugin.
        split: numbers of training, validation and test graphs; empty for a plugin.
        at_hand: whether `load_dataset` can be expected to work now.
        source: `"file"` (or another package), `"generated"` or `"missing"`.
        note: what is missing and how to get it, or where the data come from.
    """

    name: str
    title: str
    graphs: int | None
    classes: int | None
    class_names: tuple[str, ...]
    split: tuple[int, ...]
    at_hand: bool
    source: Literal["file", "generated", "missing"]
    note: str


def list_datasets(data_dir: str | os.PathLike[str] | None = None) -> list[DatasetEntry]:
    """All datasets, ours first, and whether each is at hand; no graph is read.

    Args:
        data_dir: the data folder; by default the one `EDGEFLIP_DATA` names, if set.

    Example:
        >>> [entry.name for entry in list_datasets()][:2]
        ['ba_2motifs', 'ba_2motifs_3class']
    """
    folder = _data_folder(data_dir)
    ours = [_describe(entry, folder) for entry in catalogue().values()]
    return ours + [_describe_plugin(name, point) for name, point in _plugins().items()]


def load_dataset(name: str, data_dir: str | os.PathLike[str] | None = None) -> DatasetBundle:
    """Load a dataset by name; case and `-` against `_` do not matter.

    Args:
        name: one of `list_datasets()`; or a data set of PyG or OGB such as `tu:PROTEINS`,
            `moleculenet:Tox21/NR-AR`, `gnnbench:MNIST` or `ogb:molhiv`, which PyG or OGB downloads.
        data_dir: the data folder; by default the one `EDGEFLIP_DATA` names, if set. With a data
            folder the published graphs are read and never replaced by generated ones.

    Example:
        >>> bundle = load_dataset("BA-2Motifs")
        >>> len(bundle.train), bundle.class_names
        (800, ('cycle', 'house'))
    """
    folder = _data_folder(data_dir)
    if is_family_name(name):
        from edgeflip.datasets.ecosystem import load_named

        return load_named(family_name(name), folder)
    wanted = canonical_name(name)
    if wanted in catalogue():
        return _load_catalogued(catalogue()[wanted], folder)
    check_dataset(name)
    return _load_plugin(wanted, _plugins()[wanted], folder)


def check_dataset(name: str) -> None:
    """Refuse the name of a dataset that does not exist; none is loaded.

    Raises:
        UnknownNameError: With the nearest name there is.
    """
    if is_family_name(name):
        family_name(name)
        return
    known = [*catalogue(), *_plugins()]
    if canonical_name(name) not in known:
        raise unknown_name("dataset", name, known)


def known_classes(name: str) -> tuple[str, ...]:
    """The classes of a catalogued dataset; none for others, which have to be loaded to tell.

    Example:
        >>> known_classes("BA-2Motifs")
        ('cycle', 'house')
    """
    entry = catalogue().get(canonical_name(name))
    return () if entry is None else entry.class_names


def canonical_name(name: str) -> str:
    """A dataset's name as it is kept: case and `-` against `_` do not matter, but in those of PyG and OGB.

    Example:
        >>> canonical_name("BA-2Motifs"), canonical_name("TU:IMDB-BINARY")
        ('ba_2motifs', 'tu:IMDB-BINARY')
    """
    if is_family_name(name):
        return str(family_name(name))
    return str(name).strip().lower().replace("-", "_")


def _data_folder(data_dir: str | os.PathLike[str] | None) -> Path | None:
    # An empty variable counts as unset: that is how shells and CI files switch one off.
    if not (data_dir is None or isinstance(data_dir, str | os.PathLike)):
        raise DatasetError(
            f"expected data_dir as a path, got {shown(data_dir)}; give a text or a pathlib.Path."
        )
    given = os.fspath(data_dir) if data_dir is not None else os.environ.get(DATA_VARIABLE, "")
    if not given:
        return None
    folder = Path(os.path.expanduser(given))
    if not folder.is_dir():
        origin = "data_dir" if data_dir is not None else DATA_VARIABLE
        raise DatasetError(
            f"expected {origin} to name a folder, got '{given}', which is none; "
            f"correct it, or leave it out to use generated graphs."
        )
    return folder


def _describe(entry: CatalogueEntry, folder: Path | None) -> DatasetEntry:
    source: Literal["file", "generated", "missing"]
    if folder is None and entry.generated:
        source, note = "generated", "same make-up as the published graphs"
    elif folder is None:
        source, note = "missing", f"set {DATA_VARIABLE}: {entry.obtain}"
    elif missing := entry.missing(folder):
        source, note = "missing", f"no {', '.join(missing)} in the data folder: {entry.obtain}"
    elif packages := entry.missing_packages():
        source = "missing"
        note = f"no package {', '.join(packages)}: " + " and ".join(
            f"pip install 'edgeflip[{extra}]'" for extra in dict.fromkeys(packages.values())
        )
    else:
        source, note = "file", entry.source
    return DatasetEntry(
        name=entry.name,
        title=entry.title,
        graphs=entry.graphs,
        classes=len(entry.class_names),
        class_names=entry.class_names,
        split=entry.split,
        at_hand=source != "missing",
        source=source,
        note=note,
    )


def _load_catalogued(entry: CatalogueEntry, folder: Path | None) -> DatasetBundle:
    module, _, function = entry.loader.partition(":")
    loader: Callable[[str, Path | None], DatasetBundle] = getattr(
        importlib.import_module(module), function
    )
    return loader(entry.name, folder)


def _plugins() -> dict[str, EntryPoint]:
    """Datasets of other packages by name; a name of ours is not given away."""
    found: dict[str, EntryPoint] = {}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        name = canonical_name(point.name)
        if name in catalogue() or name in found:
            _log.warning("dataset '%s' of %s is ignored: the name is taken", name, point.value)
        else:
            found[name] = point
    return found


def _describe_plugin(name: str, point: EntryPoint) -> DatasetEntry:
    origin = point.dist.name if point.dist is not None else point.value
    source: Literal["file", "missing"] = "file"
    note = f"from the package {origin}"
    try:
        point.load()
    except Exception as error:  # whatever a stranger's import raises, the list must still come
        source, note = "missing", f"{note}, which fails to import ({type(error).__name__}: {error})"
    return DatasetEntry(name, name, None, None, (), (), source == "file", source, note)


def _load_plugin(name: str, point: EntryPoint, folder: Path | None) -> DatasetBundle:
    try:
        bundle = point.load()(folder)
    except EdgeflipError:
        raise
    except Exception as error:
        raise DatasetError(
            f"expected the plugin {point.value} to load dataset '{name}', "
            f"got {type(error).__name__}: {error}; update or remove the package that offers it."
        ) from error
    from edgeflip.datasets.bundle import DatasetBundle

    if not isinstance(bundle, DatasetBundle):
        raise DatasetError(
            f"expected the plugin {point.value} to return a DatasetBundle for '{name}', "
            f"got {type(bundle).__name__}; update or remove the package that offers it."
        )
    return bundle
