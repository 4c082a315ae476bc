"""Numbers as people have them: of NumPy and torch as well as Python's own."""

from __future__ import annotations

from typing import Any

from edgeflip.errors import ConfigError, shown

LARGEST = 2**63 - 1
"""The largest whole number that torch and NumPy hold; Python's own have no end."""


WIDEST = 10_000
"""The widest layer of a network: more would not fit into memory."""

STEEPEST = 1e30
"""The largest rate or factor of a training: single precision holds no number that is much larger."""


def is_too_large(value: Any) -> bool:
    """Whether a value is a whole number that torch and NumPy cannot hold.

    Example:
        >>> is_too_large(10**30), is_too_large(LARGEST), is_too_large(1e30)
        (True, False, False)
    """
    return isinstance(value, int) and not -LARGEST <= value <= LARGEST


def plain_number(value: Any) -> Any:
    """A number of NumPy or torch as Python's own; everything else as it is.

    Example:
        >>> import numpy, torch
        >>> plain_number(numpy.int64(3)), plain_number(torch.tensor(3)), plain_number("3")
        (3, 3, '3')
    """
    if isinstance(value, bool | int | float | str) and type(value) in (bool, int, float, str):
        return value
    item = getattr(value, "item", None)
    if not callable(item):
        return value
    try:
        return item()
    except (TypeError, ValueError, RuntimeError):
        # An array of several numbers is none.
        return value


def check_at_most(made: Any, **most: float) -> None:
    """Refuse settings that no machine can keep to, before memory is taken for them.

    Args:
        made: The settings, a dataclass.
        most: The largest value of each field; of a tuple each entry counts, and None is no value.

    Raises:
        ConfigError: Naming the first field that is larger.

    Example:
        >>> from types import SimpleNamespace
        >>> check_at_most(SimpleNamespace(width=10**12), width=WIDEST)
        Traceback (most recent call last):
        edgeflip.errors.ConfigError: expected width of at most 10,000, got 1000000000000; give a smaller one.
    """
    for name, largest in most.items():
        value = getattr(made, name)
        for each in value if isinstance(value, tuple) else (value,):
            if each is not None and each > largest:
                limit = f"{largest:,}" if isinstance(largest, int) else f"{largest:g}"
                raise ConfigError(
                    f"expected {name} of at most {limit}, got {shown(each)}; give a smaller one."
                )
