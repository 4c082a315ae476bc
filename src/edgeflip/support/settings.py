"""Settings from plain tables: dataclasses checked by Pydantic, unknown keys refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from edgeflip.errors import ConfigError

T = TypeVar("T")

STRICT = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
"""Give a settings dataclass `__pydantic_config__ = STRICT`, so that a misspelt key is an error."""


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """Working out how to check a dataclass takes longer than checking it."""
    return TypeAdapter(kind)


def read_settings(kind: type[T], values: Mapping[str, Any], *, where: str) -> T:
    """A settings dataclass from a plain table.

    Args:
        kind: The dataclass to make.
        values: Its fields, as TOML or JSON gives them.
        where: What the table is, for the error message.

    Raises:
        ConfigError: Naming the key, what is wrong with it and which keys are allowed.
    """
    try:
        made: T = _adapter(kind).validate_python(dict(values))  # type: ignore[arg-type]
        return made
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"]) or "the table"
        allowed = ", ".join(sorted(item.name for item in fields(kind)))  # type: ignore[arg-type]
        if first["type"] == "unexpected_keyword_argument":
            problem = f"got the unknown key '{key}'"
        else:
            problem = f"got {first['input']!r} for '{key}' ({first['msg']})"
        raise ConfigError(
            f"expected settings for {where} with the keys {allowed}; {problem}."
        ) from error
