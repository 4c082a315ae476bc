"""How much a file may ask for: every limit has a name, a default and a variable that raises it.

A limit is checked before memory is taken for what it limits.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import NamedTuple

from edgeflip.errors import ConfigError, DatasetError, EdgeflipError


class Limit(NamedTuple):
    """One limit.

    Attributes:
        default: Its value unless the user's environment says otherwise.
        unit: What is counted, in words.
    """

    default: int
    unit: str


LIMITS: Mapping[str, Limit] = {
    "file_bytes": Limit(256 * 2**20, "bytes"),
    "array_bytes": Limit(4 * 2**30, "bytes"),
    "spec_bytes": Limit(2**20, "bytes"),
    "values": Limit(10_000_000, "values"),
    "nesting": Limit(64, "levels of nesting"),
    "graphs": Limit(200_000, "graphs"),
    "nodes": Limit(10_000, "nodes"),
    "edges": Limit(2_000_000, "edges"),
    "columns": Limit(10_000, "columns of features"),
    "features": Limit(100_000_000, "numbers of features"),
    "classes": Limit(10_000, "classes"),
    "atoms": Limit(1_000, "atoms"),
}
"""All limits; docs/guides/own_data.md says what each is for."""


def variable(name: str) -> str:
    """The environment variable of a limit.

    Example:
        >>> variable("nodes")
        'EDGEFLIP_MAX_NODES'
    """
    return f"EDGEFLIP_MAX_{name.upper()}"


def limit(name: str) -> int:
    """What a limit is now: the value of its variable, or its default.

    Raises:
        ConfigError: If the variable holds no whole number.

    Example:
        >>> limit("nodes")
        10000
    """
    text = os.environ.get(variable(name), "").strip().replace("_", "")
    if not text:
        return LIMITS[name].default
    if not (text.isascii() and text.isdecimal() and len(text) < 19):
        raise ConfigError(
            f"expected a whole number of {LIMITS[name].unit} in {variable(name)}, got '{text[:40]}'; "
            f"write one, such as {LIMITS[name].default}, or unset it."
        )
    return int(text)


def check_limit(
    name: str, count: int, where: str, error: type[EdgeflipError] = DatasetError
) -> None:
    """Refuse what is more than a limit allows.

    Args:
        name: The limit.
        count: How much there is.
        where: In what, for the message.
        error: What to raise.
    """
    most = limit(name)
    if count > most:
        found = f"{count:,}" if count < 10**30 else "far more"
        raise error(
            f"expected at most {most:,} {LIMITS[name].unit} in {where}, got {found}; if that is right, "
            f"allow more with the environment variable {variable(name)}."
        )
