"""Settings from plain tables: dataclasses checked by Pydantic, unknown keys refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from edgeflip.errors import ConfigError, unknown_name

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
        if first["type"] == "unexpected_keyword_argument":
            table = _table_at(kind, first["loc"][:-1])
            raise ConfigError(
                f"expected settings for {where}, got an {unknown_name('key', key, table)}"
            ) from error
        raise ConfigError(
            f"expected settings for {where}, got {first['input']!r} for '{key}' ({first['msg']})."
        ) from error


def _table_at(kind: type[Any], place: Sequence[Any]) -> list[str]:
    """The keys there are in the table at a place within the settings, each with its whole path."""
    found, path = kind, ""
    for part in place:
        inner = get_type_hints(found).get(str(part)) if is_dataclass(found) else None
        options = [each for each in (inner, *get_args(inner)) if is_dataclass(each)]
        if not options or not isinstance(options[0], type):
            break
        found, path = options[0], f"{path}{part}."
    return [f"{path}{item.name}" for item in fields(found)]
