"""The keywords of `explain` as options: their help and their defaults are read from one definition."""

from __future__ import annotations

from typing import Any

import typer

from edgeflip.explainers import OPTIONS


def from_field(name: str, *, metavar: str) -> Any:
    """The option of a keyword of `explain`, with the keyword's help."""
    return typer.Option(help=OPTIONS[name].help, metavar=metavar)


def default_of(name: str) -> Any:
    """The default of a keyword of `explain`."""
    return OPTIONS[name].default
