"""The catalogue of known datasets (`catalogue.toml`) and the reading of their files."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
import tomllib
import zlib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter

from edgeflip.errors import DatasetError

MAX_BYTES = 256 * 2**20
"""No file is read, and no archive unpacked, beyond this size."""


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
        return packed if packed.is_file() and not plain.is_file() else plain

    def read(self, data_dir: Path, *, otherwise: str) -> bytes:
        """The content of the file, refused unless it is the catalogued one.

        Args:
            data_dir: the data folder.
            otherwise: what the user can do when the file is not there, as the end of a sentence.
        """
        location = self.place(data_dir)
        if not location.exists():
            raise DatasetError(f"expected the file {location}, found none; {otherwise}.")
        content = read_inside(location, data_dir)
        if location.suffix == ".gz" and not self.path.endswith(".gz"):
            content = unpacked(content, location)
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise DatasetError(
                f"expected {location} to have sha256 {self.sha256}, got {found} "
                f"({len(content)} bytes); the file is damaged or another one, fetch it again."
            )
        return content


def read_inside(place: Path, folder: Path) -> bytes:
    """The content of a file, refused when a link leads out of the folder or the file is too large."""
    try:
        if not place.resolve().is_relative_to(folder.resolve()):
            raise DatasetError(
                f"expected {place} to be a file in {folder}, got a link to {place.resolve()}; "
                "put the file itself there."
            )
        size = place.stat().st_size
        if size > MAX_BYTES:
            raise DatasetError(
                f"expected at most {MAX_BYTES} bytes in {place}, got {size}; split the file."
            )
        return place.read_bytes()
    except OSError as error:
        raise DatasetError(
            f"expected to read {place}, got '{error.strerror}'; check that it is a file and its "
            "permissions."
        ) from None


def unpacked(content: bytes, place: Path) -> bytes:
    """The content of a gzip file, refused when it is damaged or would grow beyond `MAX_BYTES`."""
    unpacker = zlib.decompressobj(wbits=31)
    try:
        plain = unpacker.decompress(content, MAX_BYTES)
    except zlib.error as error:
        raise DatasetError(
            f"expected a gzip file at {place}, got '{error}'; fetch it again."
        ) from None
    if unpacker.unconsumed_tail:
        raise DatasetError(
            f"expected at most {MAX_BYTES} bytes when {place} is unpacked, got more; do not trust it."
        )
    if not unpacker.eof:
        raise DatasetError(f"expected a whole gzip file at {place}, got a part; fetch it again.")
    return plain


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
        return [file.path for file in self.files if not file.place(data_dir).is_file()]


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
