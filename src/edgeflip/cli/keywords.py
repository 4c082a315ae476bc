"""The keywords of `explain` as options: their help and their defaults are read from one definition."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import typer


def _keyword(default: Any, text: str) -> Any:
    return field(default=default, metadata={"help": text})


@dataclass(frozen=True)
class ExplainOptions:
    """The keywords of `explain` that the command line takes."""

    target: str | None = _keyword(
        None, "The wanted class, by number or name; any other class by default."
    )
    keep: int = _keyword(20, "At most this many counterfactuals are kept, the best ones.")
    number: int | None = _keyword(
        None, "At most this many, chosen to be good and different from each other."
    )
    diversity: float = _keyword(
        0.5, "How much being different counts beside the score, from 0 to 1."
    )
    robust: int = _keyword(
        0, "Try the best on this many noisy copies of the graph; robust ones come first."
    )
    seed: int = _keyword(0, "Same seed, same result.")


_FIELDS = {each.name: each for each in fields(ExplainOptions)}


def from_field(name: str, *, metavar: str) -> Any:
    """The option of a keyword of `explain`, with the keyword's help."""
    return typer.Option(help=_FIELDS[name].metadata["help"], metavar=metavar)


def default_of(name: str) -> Any:
    """The default of a keyword of `explain`."""
    return _FIELDS[name].default
