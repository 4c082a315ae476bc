"""Which graphs `edgeflip explain` explains, and who works where they are many."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from edgeflip.cli.groups import OptionGroup
from edgeflip.cli.names import ENGINES, FORMS, SPLITS, check_name
from edgeflip.cli.options import Source, Split, TrainedOracle
from edgeflip.cli.own_model import UserModel
from edgeflip.errors import ConfigError


@dataclass(frozen=True)
class WhichGraphs(OptionGroup):
    """Which graphs are explained: by their place in the data, or read from files."""

    title: ClassVar[str] = "Graphs to explain"

    index: Annotated[
        list[int] | None,
        typer.Option(metavar="N", help="Place in the split, from 0; may be repeated."),
    ] = None
    split: Split = "test"
    graph_files: Annotated[
        list[Path] | None,
        typer.Option(
            "--graph", metavar="FILE", help="A JSON, GraphML or GEXF file; may be repeated."
        ),
    ] = None
    smiles: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="A molecule in quotes, as a SMILES; may be repeated."),
    ] = None

    every: Annotated[
        bool, typer.Option("--all", help="Every graph of the split, into the folder --out.")
    ] = False

    def check_early(self) -> None:
        """Refuse a split that does not exist, and a call that names no graph or two kinds of them."""
        check_name("split", self.split, SPLITS)
        if self.every and self.number:
            raise ConfigError("expected --all or single graphs, got both; leave one of them out.")
        if not self.number and not self.every:
            raise ConfigError(
                "expected --index, --graph, --smiles or --all, got none; say which graph to explain."
            )
        for flag, others in (("--index", self.index), ("--graph", self.graph_files)):
            if self.smiles and others:
                raise ConfigError(f"expected --smiles or {flag}, got both; leave one of them out.")

    @property
    def number(self) -> int:
        """How many graphs are explained."""
        return sum(len(chosen or ()) for chosen in (self.index, self.graph_files, self.smiles))

    def check_asked(self, source: Source, trained: TrainedOracle, user_model: UserModel) -> None:
        """Refuse molecules that nobody can be asked about."""
        anybody = source.is_given or trained.oracle or user_model.model
        if self.smiles and not anybody:
            raise ConfigError(
                "expected a model to ask about --smiles, got none; give --oracle FOLDER, --model "
                "FILE.PY:FUNCTION or the name of a dataset of molecules, such as bbbp."
            )


Engine = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Who works: inline (this process), local (several), ray."),
]
Address = Annotated[
    str | None, typer.Option(metavar="ADDRESS", help="The Ray cluster, with --engine ray.")
]


@dataclass(frozen=True)
class ManyGraphs(OptionGroup):
    """Who works where all graphs are explained."""

    title: ClassVar[str] = "With --all"

    engine: Engine = None
    workers: Annotated[
        int | None,
        typer.Option(metavar="N", help="How many processes; one for each core by default."),
    ] = None
    address: Address = None
    deadline: Annotated[
        float | None,
        typer.Option(
            metavar="S", help="End the process of a graph after so many seconds; not inline."
        ),
    ] = None
    form: Annotated[
        str, typer.Option(metavar="NAME", help="Files of the folder: parquet or jsonl.")
    ] = "parquet"

    def check_early(self) -> None:
        """Refuse names that do not exist."""
        check_name("engine", self.engine, ENGINES)
        check_name("form", self.form, FORMS)

    def check(self, which: WhichGraphs, out: Path | None, *, others: bool) -> None:
        """Refuse what does not go with many graphs, and what is for them alone.

        Args:
            which: The graphs.
            out: Where answers go.
            others: Whether something is asked that many graphs have no room for.
        """
        if not which.every:
            if self != ManyGraphs():
                raise ConfigError(
                    "expected --all with --engine, --workers, --address, --deadline and --form, got single "
                    "graphs; add --all or leave these out."
                )
            return
        if out is None or out.suffix:
            raise ConfigError(
                f"expected --out FOLDER with --all, got {out or 'none'}; name a folder for the answers."
            )
        if others:
            raise ConfigError(
                "expected --all without --each-class, --html and --json, got one of them; leave it out."
            )
