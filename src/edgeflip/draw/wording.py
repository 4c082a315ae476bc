"""Numbers as charts write them, never rounded to something that would not be true."""

from __future__ import annotations

import math


def percent(value: float) -> str:
    """A share in percent; what is not all is not called 100 %, and what is not nothing not 0 %.

    Example:
        >>> percent(0.968), percent(1.0), percent(0.9996), percent(0.0004)
        ('97 %', '100 %', '99.9 %', '0.1 %')
    """
    whole = f"{100 * value:.0f}"
    if whole == "100" and value < 1:
        return f"{min(99.9, math.floor(1000 * value) / 10):g} %"
    if whole in ("0", "-0") and value:
        return f"{math.copysign(max(0.1, abs(round(100 * value, 1))), value):g} %".replace("-", "−")
    return f"{whole} %".replace("-", "−")


def quantity(value: float, unit: str, one: str) -> str:
    """A number with its unit: one decimal, more if it is small, none if it is large.

    Example:
        >>> (
        ...     quantity(2.758, "edits", "edit"),
        ...     quantity(1, "edits", "edit"),
        ...     quantity(0.0123, "s", "s"),
        ... )
        ('2.8 edits', '1 edit', '0.012 s')
    """
    if value == 1:
        return f"1 {one}"
    if value < 1:
        return f"{value:.2g} {unit}"
    return f"{value:.1f} {unit}" if value < 100 else f"{value:,.0f} {unit}"


def at_most(value: float) -> str:
    """A bound that holds: one decimal, rounded up.

    Example:
        >>> at_most(3.152), at_most(3.0), at_most(0.0123)
        ('3.2', '3', '0.013')
    """
    places = 1 if value >= 1 or value <= 0 else 1 - math.floor(math.log10(value))
    shown = math.ceil(round(value * 10**places, 6)) / 10**places
    return f"{shown:,.{places}f}".rstrip("0").rstrip(".")
