"""Numbers as people have them: of NumPy and torch as well as Python's own."""

from __future__ import annotations

from typing import Any


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
