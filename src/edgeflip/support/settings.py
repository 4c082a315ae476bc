"""Settings and other tables from outside: dataclasses checked by Pydantic, unknown keys refused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, TypeVar, get_args, get_type_hints

from pydantic import ConfigDict, TypeAdapter, ValidationError

from edgeflip.errors import ConfigError, EdgeflipError, shown, unknown_name
from edgeflip.support.numbers import is_too_large
from edgeflip.support.plain_json import reading

T = TypeVar("T")

STRICT = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
"""Give a settings dataclass `__pydantic_config__ = STRICT`, so that a misspelt key is an error."""

_UNKNOWN = ("unexpected_keyword_argument", "extra_forbidden")
_MISSING = ("missing", "missing_argument")


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
        ConfigError: Naming the key and what is wrong with it; for an unknown key, those there are.
    """
    wanted = f"settings for {where}" if error is ConfigError else where
    if not isinstance(values, Mapping):
        raise error(f"expected {wanted}, got {shown(values)}, which is no table.")
    names = [item.name for item in fields(kind)]  # type: ignore[arg-type]
    unknown = next((str(key) for key in values if key not in names), None)
    if unknown is not None:
        raise error(f"expected {wanted}, got an {unknown_name('key', unknown, names)}")
    with reading(wanted, advice="correct it", error=error):
        large = _too_large(values)
        if large is not None:
            raise error(
                f"expected {wanted}, got a number of more than 64 bits for '{_place(large)}'; give a "
                "smaller one."
            )
        try:
            made: T = _adapter(kind).validate_python(dict(values))  # type: ignore[arg-type]
        except ValidationError as problem:
            first = problem.errors(include_url=False)[0]
            if first["type"] in _UNKNOWN:
                known = _table_at(kind, first["loc"][:-1])
                hint = unknown_name("key", _place(first["loc"]), known)
                raise error(f"expected {wanted}, got an {hint}") from None
            raise error(f"expected {wanted}, got {first_problem(problem)}.") from None
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
    first = error.errors(include_url=False)[0]
    if first["type"] in _MISSING:
        return f"nothing for '{_place(first['loc'])}'"
    return f"{shown(first['input'])} for '{_place(first['loc'])}' ({first['msg']})"


def _too_large(value: Any) -> tuple[int | str, ...] | None:
    """Where the first whole number is that torch and NumPy cannot hold; None if there is none."""
    if is_too_large(value):
        return ()
    if isinstance(value, Mapping):
        inner = list(value.items())
    else:
        inner = list(enumerate(value)) if isinstance(value, list | tuple) else []
    for key, part in inner:
        place = _too_large(part)
        if place is not None:
            return (key, *place)
    return None


def _place(parts: Sequence[int | str]) -> str:
    return ".".join(str(part)[:60] for part in parts[:6]) or "the table"


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
