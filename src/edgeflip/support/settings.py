"""Settings and other tables from outside: dataclasses checked by Pydantic, unknown keys refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, TypeVar

from pydantic import ConfigDict, TypeAdapter, ValidationError

from edgeflip.errors import ConfigError, EdgeflipError, nearest, shown
from edgeflip.support.plain_json import reading

T = TypeVar("T")

STRICT = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
"""Give a settings dataclass `__pydantic_config__ = STRICT`, so that a misspelt key is an error."""


@cache
def _adapter(kind: type[Any]) -> TypeAdapter[Any]:
    """Working out how to check a dataclass takes longer than checking it."""
    return TypeAdapter(kind)


def read_settings(
    kind: type[T], values: Any, *, where: str, error: type[EdgeflipError] = ConfigError
) -> T:
    """A dataclass from a plain table.

    Args:
        kind: The dataclass to make.
        values: Its fields, as TOML or JSON gives them.
        where: What the table is, for the error message.
        error: What to raise.

    Raises:
        ConfigError: Naming the key, what is wrong with it and which keys are allowed.
    """
    names = sorted(item.name for item in fields(kind))  # type: ignore[arg-type]
    wanted = f"settings for {where} with the keys {', '.join(names)}"
    if not isinstance(values, Mapping):
        raise error(f"expected {wanted}; got {shown(values)}, which is no table.")
    unknown = next((key for key in values if key not in names), None)
    if unknown is not None:
        raise error(
            f"expected {wanted}; got the unknown key '{str(unknown)[:60]}'{_hint(unknown, names)}."
        )
    with reading(wanted, advice="correct them", error=error):
        try:
            made: T = _adapter(kind).validate_python(dict(values))  # type: ignore[arg-type]
        except ValidationError as problem:
            raise error(f"expected {wanted}; got {first_problem(problem)}.") from None
        return made


def first_problem(error: ValidationError) -> str:
    """The first thing that Pydantic found wrong, as the end of a sentence.

    Example:
        >>> try:
        ...     TypeAdapter(dict[str, int]).validate_python({"a": 1, "b": "x"})
        ... except ValidationError as problem:
        ...     first_problem(problem)
        "'x' for 'b' (Input should be a valid integer, unable to parse string as an integer)"
    """
    first = error.errors(include_url=False, include_context=False)[0]
    key = ".".join(str(part)[:60] for part in first["loc"][:6]) or "the table"
    if first["type"] == "missing" or first["type"] == "missing_argument":
        return f"nothing for '{key}'"
    if first["type"] in ("unexpected_keyword_argument", "extra_forbidden"):
        return f"the unknown key '{key}'"
    return f"{shown(first['input'])} for '{key}' ({first['msg']})"


def _hint(key: Any, names: list[str]) -> str:
    near = nearest(str(key), names)
    return "" if near is None else f", did you mean '{near}'?"
