"""How many checks of the contract a method can pass: those of spaces that it does not name are not for it."""

from typing import Any

from edgeflip.testing import CHECKS

_SPACES = ("features", "molecule")


def number_of_checks(explainer: Any) -> int:
    """Of all checks, those that ask of the method what it says it does."""
    named = vars(type(explainer)).get("spaces") or ()
    return len(CHECKS) - sum(kind not in named for kind in _SPACES)
