"""What people pass to public calls: checked against the annotations that are there anyway."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import fields, is_dataclass
from functools import cache, partial, wraps
from inspect import Parameter, signature
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic import (
    BeforeValidator,
    Field,
    Strict,
    TypeAdapter,
    ValidationError,
    WrapValidator,
)

from edgeflip.errors import ConfigError, EdgeflipError, shown
from edgeflip.support.numbers import LARGEST, is_too_large, plain_number

P = ParamSpec("P")
R = TypeVar("R")

_WORDS: Mapping[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "True or False",
    str: "a text",
    type(None): "None",
    Any: "anything",
}


def check_fields(
    made: Any, *, error: type[EdgeflipError] = ConfigError, advice: str = "correct it"
) -> None:
    """Check the fields of a frozen dataclass against their annotations; call it in `__post_init__`.

    Numbers of NumPy and torch become Python's own, and collections what their annotation says. Whole
    numbers of more than 64 bits are refused, or become a float where one may be. Fields that are
    annotated with types of other kinds are left to the class. A default is not looked at.

    Args:
        made: What was made.
        error: What to raise.
        advice: What to do, as the end of a sentence.

    Raises:
        ConfigError: Naming the first field that is of another type, and what came.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(frozen=True)
        ... class Size:
        ...     width: int = 1
        ...
        ...     def __post_init__(self) -> None:
        ...         check_fields(self)
        >>> Size("x")
        Traceback (most recent call last):
        edgeflip.errors.ConfigError: expected width to be a whole number, got 'x'; correct it.
    """
    for name, default, hint in _fields_of(type(made)):  # type: ignore[arg-type]
        value = getattr(made, name)
        if value is not default:
            object.__setattr__(made, name, _checked(hint, name, value, error, advice))


def checked_call(
    error: type[EdgeflipError] = ConfigError, advice: str = "correct it"
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator for public calls: arguments are checked against their annotations, as fields are.

    Args:
        error: What to raise.
        advice: What to do, as the end of a sentence.

    Example:
        >>> @checked_call()
        ... def twice(number: int) -> int:
        ...     return 2 * number
        >>> twice(None)
        Traceback (most recent call last):
        edgeflip.errors.ConfigError: expected number to be a whole number, got None; correct it.
    """

    def decorate(call: Callable[P, R]) -> Callable[P, R]:
        places = signature(call).parameters
        names = [
            name
            for name, place in places.items()
            if place.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
        ]

        @wraps(call)
        def checked(*args: P.args, **kwargs: P.kwargs) -> R:
            hints = _hints_of(call)

            def look(name: str, value: Any) -> Any:
                # What cannot be bound is Python's to refuse.
                if name not in hints or value is places[name].default:
                    return value
                return _checked(hints[name], name, value, error, advice)

            first = [look(*pair) for pair in zip(names, args, strict=False)]
            rest = {name: look(name, value) for name, value in kwargs.items()}
            plain: Callable[..., R] = call
            return plain(*first, *args[len(first) :], **rest)

        return checked

    return decorate


def _checked(hint: Any, name: str, value: Any, error: type[EdgeflipError], advice: str) -> Any:
    try:
        # What can be gone through only once is left for the second way.
        quick = None if isinstance(value, Iterator) else _quick_adapter(hint)
        if quick is not None:
            with suppress(ValidationError):
                return quick.validate_python(value)
        return _adapter(hint).validate_python(value)
    except ValidationError as problem:
        inner = problem.errors(include_url=False)[0]["input"]
        got = shown(value) if inner is value else f"{shown(inner)} in it"
        numbers = {int, float} & set(_leaves(hint))
        got += ", which is too large" if numbers and is_too_large(inner) else ""
    except Exception as problem:
        # Objects of strange types raise when they are looked at.
        got = f"{type(value).__name__}, which raises {type(problem).__name__}"
    raise error(f"expected {name} to be {_in_words(hint)}, got {got}; {advice}.")


@cache
def _adapter(hint: Any) -> TypeAdapter[Any]:
    return TypeAdapter(_exact(hint))


@cache
def _quick_adapter(hint: Any) -> TypeAdapter[Any] | None:
    """For Python's own whole numbers, many at a time; none where a float would be converted."""
    return None if float in _leaves(hint) else TypeAdapter(_exact(hint, quick=True))


def _leaves(hint: Any) -> list[Any]:
    inner = [] if get_origin(hint) is Literal else get_args(hint)
    return [leaf for each in inner for leaf in _leaves(each)] if inner else [hint]


@cache
def _fields_of(kind: type[Any]) -> tuple[tuple[str, Any, Any], ...]:
    hints = {}
    for base in reversed(kind.__mro__):
        hints.update(_hints_of(base))
    return tuple(
        (each.name, each.default, hints[each.name]) for each in fields(kind) if each.name in hints
    )


@cache
def _hints_of(owner: Any) -> dict[str, Any]:
    """The annotations that can be checked; others need types that are not at hand, or are no values."""
    found = {}
    names = vars(sys.modules[owner.__module__])
    for name, hint in getattr(owner, "__annotations__", {}).items():
        try:
            own = get_type_hints(types.SimpleNamespace(__annotations__={name: hint}), names)[name]
            _exact(own)
        except (NameError, _OtherKindError):
            continue
        found[name] = own
    return found


class _OtherKindError(Exception):
    """An annotation that is neither a plain value nor a collection of them."""


def _as_it_came(value: Any, check: Callable[[Any], Any]) -> Any:
    """A number that was checked, not converted: 1 stays 1 where a float may be."""
    plain = plain_number(value)
    checked = check(plain)
    if not is_too_large(plain):
        return plain
    if isinstance(checked, int):
        raise ValueError("too large")
    # Torch multiplies by 1e30, but not by 10**30.
    return checked


def _one_of(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"no {kind.__name__}")
    return value


def _listed(value: Any) -> Any:
    if callable(getattr(value, "tolist", None)):
        return value.tolist()
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable):
        return value
    return list(value)


def _tabled(value: Any) -> Any:
    try:
        return dict(value)
    except (TypeError, ValueError):
        return value


def _exact(hint: Any, *, quick: bool = False) -> Any:
    """An annotation as Pydantic shall check it: numbers exactly, collections as people write them."""
    origin, inner = get_origin(hint), get_args(hint)
    if quick and hint is int:
        return Annotated[int, Strict(), Field(ge=-LARGEST, le=LARGEST)]
    if quick and hint is bool:
        return Annotated[bool, Strict()]
    if hint in (int, float, bool):
        return Annotated[hint, Strict(), WrapValidator(_as_it_came)]
    if hint is str:
        return Annotated[str, Strict()]
    if hint in (Any, type(None)) or origin is Literal:
        return hint
    if isinstance(hint, type) and is_dataclass(hint):
        return Annotated[Any, BeforeValidator(partial(_one_of, hint))]
    if origin in (Union, types.UnionType):
        return Union[tuple(_exact(each, quick=quick) for each in inner)]  # noqa: UP007
    if origin in (tuple, frozenset):
        parts = tuple(each if each is ... else _exact(each, quick=quick) for each in inner)
        if quick:
            return Annotated[origin[parts], Strict()] if origin is tuple else origin[parts]
        return Annotated[origin[parts], BeforeValidator(_listed)]
    if origin is Mapping:
        return Annotated[dict[_exact(inner[0]), _exact(inner[1])], BeforeValidator(_tabled)]  # type: ignore[misc]
    raise _OtherKindError


def _in_words(hint: Any) -> str:
    """What an annotation asks for, in words that go on after "to be"."""
    origin, inner = get_origin(hint), get_args(hint)
    if hint in _WORDS:
        return _WORDS[hint]
    if isinstance(hint, type):
        return f"a {hint.__name__}"
    if origin is Literal:
        return " or ".join(repr(each) for each in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(_in_words(each) for each in inner)
    if origin is Mapping:
        return f"a table from {_in_words(inner[0])} to {_in_words(inner[1])}"
    if origin is tuple and ... not in inner:
        return f"({', '.join(_in_words(each) for each in inner)})"
    return f"a list of which each is {_in_words(inner[0])}"
