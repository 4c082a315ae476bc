"""The catalogue of known datasets (`catalogue.toml`) and the reading of their files."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter

from edgeflip.errors import DatasetError


@dataclass(frozen=True)
class RequiredFile:
    """A file a dataset is read from: its place in the data folder and the sha256 of its content.

    Beside its name, the file may lie there packed, under the name with `.gz`; the checksum is that of
    the unpacked content.

    Attributes:
        url: where `edgeflip data get` finds the file; none when it cannot be downloaded.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    path: str
    sha256: str
    url: str | None = None

    def place(self, data_dir: Path) -> Path:
        """Where the file is, packed or not; the name without `.gz` when it is nowhere."""
        plain = data_dir / self.path
        packed = plain.with_name(f"{plain.name}.gz")
        return packed if os.path.isfile(packed) and not os.path.isfile(plain) else plain

    def read(self, data_dir: Path, *, otherwise: str) -> bytes:
        """The content of the file, refused unless it is the catalogued one.

        Args:
            data_dir: the data folder.
            otherwise: what the user can do when the file is not there, as the end of a sentence.
        """
        # Imported here: the list of datasets is shown without it.
        from edgeflip.support import read_packed, unpacked

        location = self.place(data_dir)
        if not os.path.exists(location):
            raise DatasetError(f"expected the file {location}, found none; {otherwise}.")
        content = read_packed(location, inside=data_dir)
        if location.suffix == ".gz" and not self.path.endswith(".gz"):
            content = unpacked(content, location)
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise DatasetError(
                f"expected {location} to have sha256 {self.sha256}, got {found} "
                f"({len(content)} bytes); the file is damaged or another one, fetch it again."
            )
        return content


@dataclass(frozen=True)
class CatalogueEntry:
    """One table of `catalogue.toml`.

    Attributes:
        loader: `module:function`; the function takes the dataset's name and a data folder or none.
        generated: whether graphs of the same make-up can be made when no data folder is given.
        obtain: how to get the files, as the end of a sentence.
        needs: packages the loader imports that a plain install does not bring, and the extra that does.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    name: str
    title: str
    loader: str
    graphs: int
    class_names: tuple[str, ...]
    split: tuple[int, int, int]
    generated: bool
    licence: str
    citation: str
    source: str
    obtain: str
    files: tuple[RequiredFile, ...]
    needs: dict[str, str] = field(default_factory=dict)

    def missing_packages(self) -> dict[str, str]:
        """The packages that are not installed, with the extra that brings each; none is imported."""
        return {name: extra for name, extra in self.needs.items() if not _is_installed(name)}

    def missing(self, data_dir: Path) -> list[str]:
        """The files, by their place in the data folder, that are not there."""
        return [file.path for file in self.files if not os.path.isfile(file.place(data_dir))]


def _is_installed(package: str) -> bool:
    # A module that was set to None, as tests do, counts as absent; find_spec would raise.
    if package in sys.modules:
        return sys.modules[package] is not None
    return importlib.util.find_spec(package) is not None


@cache
def catalogue() -> dict[str, CatalogueEntry]:
    """All catalogued datasets by name.

    Example:
        >>> catalogue()["ba_4motifs"].class_names
        ('cycle', 'house', 'four-clique', 'five-clique')
    """
    text = resources.files("edgeflip.datasets").joinpath("catalogue.toml").read_text("utf-8")
    adapter = TypeAdapter(CatalogueEntry)
    return {
        name: adapter.validate_python({"name": name, **table})
        for name, table in tomllib.loads(text).items()
    }
