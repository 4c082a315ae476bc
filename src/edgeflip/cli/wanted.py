"""The options that say which answers are wanted; nothing here may import torch at the top."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import typer

from edgeflip.cli.groups import OptionGroup
from edgeflip.cli.keywords import default_of, from_field
from edgeflip.errors import ConfigError

# Answers in a table, unless the user says how many.
_FEW = 5


@dataclass(frozen=True)
class Wanted(OptionGroup):
    """Which counterfactuals are wanted, and how many."""

    title: ClassVar[str] = "Answers"

    target: Annotated[str | None, from_field("target", metavar="CLASS")] = default_of("target")
    each_class: Annotated[
        bool, typer.Option("--each-class", help="One answer for every other class.")
    ] = False
    margin: Annotated[float, from_field("margin", metavar="X")] = default_of("margin")
    agree: Annotated[int | None, from_field("agree", metavar="N")] = default_of("agree")
    check_with: Annotated[
        list[str] | None,
        typer.Option(
            "--check",
            metavar="MODEL",
            help="Another model, a folder or FILE.PY:FUNCTION, asked whether it agrees; may be repeated.",
        ),
    ] = None
    keep: Annotated[int, from_field("keep", metavar="N")] = default_of("keep")
    number: Annotated[int | None, from_field("number", metavar="N")] = default_of("number")
    diversity: Annotated[float, from_field("diversity", metavar="X")] = default_of("diversity")
    robust: Annotated[int, from_field("robust", metavar="N")] = default_of("robust")
    stable: Annotated[int, from_field("stable", metavar="N")] = default_of("stable")

    def check_early(self) -> None:
        """Refuse two wishes at once."""
        if self.keep < 1 or self.keep > 2**31:
            raise ConfigError(
                f"expected --keep from 1 to 2**31, got {self.keep}; give such a number."
            )
        if self.each_class and self.target is not None:
            raise ConfigError("expected --target or --each-class, got both; leave one of them out.")

    def check(self) -> None:
        """Refuse what makes no sense before any work is done."""
        from edgeflip.search import Selection

        Selection(self.keep, self.number, self.diversity, self.robust, stable=self.stable)

    @property
    def rows(self) -> int | None:
        """How many answers are shown; all of them, if the user said how many."""
        asked = self.number is not None or self.keep != default_of("keep")
        return None if asked else _FEW

    def keywords(self) -> dict[str, Any]:
        """The keywords of `explain` and `explain_each_class` that they become."""
        return {
            "keep": self.keep,
            "number": self.number,
            "diversity": self.diversity,
            "robust": self.robust,
            "stable": self.stable,
            "margin": self.margin,
            "agree": self.agree,
        }
