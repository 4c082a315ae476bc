"""The options of `edgeflip summarize`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import typer

from edgeflip.cli.groups import OptionGroup
from edgeflip.cli.names import SPLITS, check_name
from edgeflip.cli.options import Settings, Split
from edgeflip.cli.reading import read_overrides
from edgeflip.errors import ConfigError, shown

# Years of walking.
_MOST_STEPS = 10**9


@dataclass(frozen=True)
class Patterns(OptionGroup):
    """Which counterfactual graphs stand for a class, and how they are looked for."""

    title: ClassVar[str] = "Patterns"

    from_class: Annotated[
        str, typer.Option(metavar="CLASS", help="The class to summarize, by number or name.")
    ] = "0"
    to_class: Annotated[
        str | None,
        typer.Option(metavar="CLASS", help="The class to become; any other by default."),
    ] = None
    patterns: Annotated[
        int, typer.Option(min=1, metavar="N", help="How many patterns to show.")
    ] = 5
    theta: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="A pattern covers graphs within this share of their nodes and edges."
        ),
    ] = None
    steps: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Length of the walk; by default the preset's."),
    ] = None
    split: Split = "test"
    settings: Settings = None

    def check_early(self) -> None:
        """Refuse a split that does not exist, settings that cannot be read, and a walk without end."""
        check_name("split", self.split, SPLITS)
        read_overrides(self.settings or [])
        if self.steps is not None and self.steps > _MOST_STEPS:
            raise ConfigError(
                f"expected --steps of at most {_MOST_STEPS:,}, got {shown(self.steps)}; give fewer."
            )
