"""The catalogue of known datasets (`catalogue.toml`) and the reading of their files."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from pydantic import ConfigDict, TypeAdapter

from edgeflip.errors import DatasetError


@dataclass(frozen=True)
class RequiredFile:
    """A file a dataset is read from: its place in the data folder and the sha256 of its content."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    path: str
    sha256: str

    def read(self, data_dir: Path, *, otherwise: str) -> bytes:
        """The content of the file, refused unless it is the catalogued one.

        Args:
            data_dir: the data folder.
            otherwise: what the user can do when the file is not there, as the end of a sentence.
        """
        place = data_dir / self.path
        try:
            content = place.read_bytes()
        except FileNotFoundError:
            raise DatasetError(f"expected the file {place}, found none; {otherwise}.") from None
        except OSError as error:
            raise DatasetError(
                f"expected to read {place}, got '{error.strerror}'; check its permissions."
            ) from None
        found = hashlib.sha256(content).hexdigest()
        if found != self.sha256:
            raise DatasetError(
                f"expected {place} to have sha256 {self.sha256}, got {found} "
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

    def missing(self, data_dir: Path) -> list[str]:
        """The files, by their place in the data folder, that are not there."""
        return [file.path for file in self.files if not (data_dir / file.path).is_file()]


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
