"""Every option that more than one command takes, written once, and what its values stand for.

Nothing here may import torch at the top, for the help reads these options.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from edgeflip.cli.groups import OptionGroup
from edgeflip.cli.keywords import default_of, from_field
from edgeflip.cli.names import FACTUALS, PROFILES, check_name, check_ranking
from edgeflip.cli.reading import (
    check_folder,
    check_one_model,
    read_nodes,
    read_overrides,
    read_value,
)
from edgeflip.cli.terminal import note, waiting
from edgeflip.errors import ConfigError

if TYPE_CHECKING:
    from edgeflip.core import Constraints
    from edgeflip.datasets import DatasetBundle
    from edgeflip.explainers import CounterfactualExplainer
    from edgeflip.oracle import Budget, ModelOracle

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
DataDir = Annotated[
    Path | None,
    typer.Option(metavar="FOLDER", help="Folder of dataset files; by default $EDGEFLIP_DATA."),
]
DatasetName = Annotated[
    str, typer.Argument(metavar="DATASET", help="Name of a dataset; see 'edgeflip datasets'.")
]
Split = Annotated[
    str, typer.Option(metavar="NAME", help="Part of the data: test, val, train or all.")
]
Resume = Annotated[
    bool,
    typer.Option(
        show_default=False,
        help="Whether to go on with an earlier run in the folder; yes by default.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Replace a setting of the method; may be repeated."
    ),
]


@dataclass(frozen=True)
class Source(OptionGroup):
    """Where graphs come from: a dataset by name, or files of the user."""

    title: ClassVar[str] = "Data"

    dataset: Annotated[
        str | None,
        typer.Argument(
            metavar="DATASET",
            help="Name of a dataset, or of one of PyG or OGB such as tu:PROTEINS; see 'edgeflip datasets'.",
        ),
    ] = None
    data_dir: DataDir = None
    data: Annotated[
        Path | None,
        typer.Option(
            metavar="PATH",
            help="Your own graphs instead of a dataset: a CSV of SMILES or a folder of graphs.",
        ),
    ] = None
    label_column: Annotated[
        str, typer.Option(metavar="NAME", help="With --data: column of the labels.")
    ] = "label"
    smiles_column: Annotated[
        str, typer.Option(metavar="NAME", help="With --data: column of the molecules.")
    ] = "smiles"
    labels: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="With --data: the labels of a folder of graphs."),
    ] = None
    stratified: Annotated[
        bool, typer.Option("--stratified", help="With --data: split every class alike.")
    ] = False
    skip_invalid: Annotated[
        bool, typer.Option("--skip-invalid", help="With --data: leave out invalid SMILES.")
    ] = False

    def check_early(self) -> None:
        """Refuse a dataset that does not exist, and files that are not there."""
        from edgeflip.datasets import check_dataset

        if self.dataset is not None and self.data is not None:
            raise ConfigError(
                "expected the name of a dataset or --data PATH, got both; leave one of them out."
            )
        if self.dataset is not None:
            self._check_is_no_path(self.dataset)
            check_dataset(self.dataset)
        for flag, path in (("--data", self.data), ("--labels", self.labels)):
            if path is not None and not path.exists():
                raise ConfigError(f"expected {flag} to name a file, got no {path}; check the path.")

    def _check_is_no_path(self, name: str) -> None:
        if Path(name).exists() and ("." in name or "/" in name):
            raise ConfigError(
                f"expected the name of a dataset, got the path {name}; write --data {name}."
            )

    @property
    def is_given(self) -> bool:
        """Whether the user named any data."""
        return self.dataset is not None or self.data is not None

    def bundle(self) -> DatasetBundle:
        """The graphs, split and labelled."""
        from edgeflip.datasets import is_family_name, load_dataset, load_graphs

        if not self.is_given:
            raise ConfigError(
                "expected the name of a dataset or --data PATH, got neither; see 'edgeflip datasets'."
            )
        if self.data is None:
            with waiting(f"loading {self.dataset}"):
                bundle = load_dataset(str(self.dataset), self.data_dir)
            if is_family_name(bundle.name):
                _tell_of(bundle)
            return bundle
        # A table has a bar with an estimate.
        with waiting(f"reading {self.data}") if self.data.is_dir() else nullcontext():
            bundle = load_graphs(
                self.data,
                label_column=self.label_column,
                smiles_column=self.smiles_column,
                labels=self.labels,
                stratified=self.stratified,
                skip_invalid=self.skip_invalid,
                progress=True,
            )
        _tell_of(bundle)
        return bundle


def _tell_of(bundle: DatasetBundle) -> None:
    """Say what was left out or done to data that nobody catalogued, and how they were split."""
    if bundle.card.notes:
        note(bundle.card.notes)
    train, val, test = bundle.split.sizes
    note(
        f"Split: {bundle.card.split} ({train:,} training, {val:,} validation and {test:,} test graphs)."
    )


@dataclass(frozen=True)
class Training(OptionGroup):
    """How models are trained, and what makes it repeatable."""

    title: ClassVar[str] = "Training"

    profile: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="Settings: paper (as published), cpu or smoke (seconds)."
        ),
    ] = "cpu"
    seed: Annotated[int, from_field("seed", metavar="N")] = default_of("seed")

    def check_early(self) -> None:
        """Refuse a profile that does not exist."""
        check_name("profile", self.profile, PROFILES)

    def check_seed(self) -> None:
        """Refuse a seed that cannot be one before any work is done."""
        from edgeflip.support import check_seed

        check_seed(self.seed)

    def folder(self, bundle: DatasetBundle, named: Path | None) -> Path:
        """Where the oracle of a dataset is kept, in the folder the user named or in a default one."""
        from edgeflip.datasets import list_datasets
        from edgeflip.training import data_checksum

        name = bundle.folder_name
        if named is None and bundle.name not in {entry.name for entry in list_datasets()}:
            # Another file of the same name, or another label in it, is other data.
            name = f"{name}-{data_checksum(bundle.graphs)[:8]}"
        folder = named or Path("runs") / f"{name}-{self.profile}-s{self.seed}" / "oracle"
        check_folder(folder)
        return folder


@dataclass(frozen=True)
class TrainedOracle(Training):
    """The oracle of a dataset: read from its folder, or trained when it is not there."""

    title: ClassVar[str] = "Oracle"

    oracles: Annotated[
        list[Path] | None,
        typer.Option(
            "--oracle",
            metavar="FOLDER",
            help="An oracle that 'edgeflip train' made; without it one is trained in runs/. Several, and an "
            "answer changes the mind of all.",
        ),
    ] = None

    @property
    def oracle(self) -> Path | None:
        """The first of the folders, None where none was named."""
        return self.oracles[0] if self.oracles else None

    def check_early(self) -> None:
        """Refuse a folder that holds no oracle: a typo must not train another one."""
        super().check_early()
        for folder in self.oracles or ():
            check_one_model(folder, None)

    def check_is_one(self, command: str) -> None:
        """Refuse several oracles where one is asked."""
        if len(self.oracles or ()) > 1:
            raise ConfigError(
                f"expected one --oracle for '{command}', got {len(self.oracles or ())}; name one."
            )

    def several(self) -> list[ModelOracle]:
        """The oracles, where more than one folder was named."""
        from edgeflip.training import load_oracle

        named = self.oracles or []
        return [load_oracle(folder) for folder in named] if len(named) > 1 else []

    def load(self, bundle: DatasetBundle) -> tuple[ModelOracle, Path]:
        """The oracle and its folder."""
        from edgeflip.training import oracle_for

        folder = self.folder(bundle, self.oracle)
        if self.oracle is None and not folder.exists():
            note(f"No oracle for {bundle.name} yet: training one in {folder}.")
        trained = oracle_for(bundle, folder, profile=self.profile, seed=self.seed, progress=True)
        return trained, folder


@dataclass(frozen=True)
class Method(OptionGroup):
    """An explainer by name, with its settings."""

    title: ClassVar[str] = "Method"

    method: Annotated[
        str, typer.Option(metavar="NAME", help="How to search; see 'edgeflip methods'.")
    ] = "edgeflip"
    ranking: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What is best: paper, smallest, confident, plausible, robust, or a mix such as "
            "paper=1,plausible=0.5.",
        ),
    ] = None
    denoise: Annotated[
        bool | None, typer.Option(help="With dr-cfgnn: first leave out unlikely edges.")
    ] = None
    one_hot: Annotated[
        bool | None, typer.Option(help="Tell the link predictor the wanted class.")
    ] = None
    factual: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Factual explainer: subgraphx or occlusion."),
    ] = None
    settings: Settings = None

    def check_early(self) -> None:
        """Refuse names of methods, rankings and factual explainers that do not exist."""
        from edgeflip.explainers import check_method

        check_method(self.method)
        check_ranking(self.ranking)
        check_name("factual explainer", self.factual, FACTUALS)
        read_overrides(self.settings or [])

    def explainer(self, dataset: str | None, profile: str) -> CounterfactualExplainer[Any]:
        """The explainer with the preset of a dataset and what the user replaced of it."""
        from edgeflip.explainers import make_explainer
        from edgeflip.presets import preset_name

        overrides = read_overrides(self.settings or [])
        flags = {"denoise": self.denoise, "one_hot": self.one_hot, "factual": self.factual}
        overrides |= {key: value for key, value in flags.items() if value is not None}
        return make_explainer(
            self.method,
            dataset=preset_name(dataset),
            profile=profile,
            overrides=overrides,
            ranking=self.ranking,
        )


@dataclass(frozen=True)
class Limits(OptionGroup):
    """What may change, and how much may be spent on it."""

    title: ClassVar[str] = "Limits"

    additions: Annotated[
        bool, typer.Option(show_default=False, help="Whether edges may be added; yes by default.")
    ] = True
    removals: Annotated[
        bool, typer.Option(show_default=False, help="Whether edges may be removed; yes by default.")
    ] = True
    max_edits: Annotated[int | None, typer.Option(metavar="N", help="At most this many edits.")] = (
        None
    )
    within: Annotated[
        str | None,
        typer.Option(metavar="NODES", help="Edits only among these nodes, such as 0-99,120."),
    ] = None
    edges: Annotated[bool, typer.Option("--edges", help="Edit bonds alone, nothing else.")] = False
    chemistry: Annotated[
        bool,
        typer.Option(
            show_default=False, help="Whether possible molecules come first; yes by default."
        ),
    ] = True
    fill: Annotated[
        str | None,
        typer.Option(
            metavar="VALUE",
            help="Attributes of added edges: zeros, mean, mode, a number or a row such as [0,1].",
        ),
    ] = None
    calls: Annotated[
        int | None, typer.Option(metavar="N", help="At most this many oracle calls per graph.")
    ] = None
    seconds: Annotated[
        float | None, typer.Option(metavar="S", help="At most this many seconds per graph.")
    ] = None

    def constraints(self) -> Constraints:
        """What may change in any graph."""
        from edgeflip.core import Constraints

        return Constraints(
            allow_additions=self.additions,
            allow_removals=self.removals,
            max_edits=self.max_edits,
            within=None if self.within is None else read_nodes(self.within),
        )

    def constraints_for(self, graph: Any, bundle: DatasetBundle | None) -> Constraints:
        """What may change in one graph, by its data set too; the rules of chemistry only come first."""
        from edgeflip.datasets import molecule_constraints

        plain = self.constraints()
        if bundle is None or bundle.constraints is molecule_constraints or not self.chemistry:
            return plain
        return bundle.constraints_for(graph) & plain

    def constraints_of(self, bundle: DatasetBundle) -> Any:
        """The same as `constraints_for`, for all graphs of a data set: constraints, or a function of one."""
        from edgeflip.datasets import molecule_constraints

        rule = bundle.constraints
        if rule is None or rule is molecule_constraints or not self.chemistry:
            return self.constraints()
        return WithRule(self.constraints(), rule)

    def fill_of(self, bundle: DatasetBundle | None) -> Any:
        """Attributes of added edges: what the user says, otherwise what suits the data."""
        if self.fill is None:
            return None if bundle is None else bundle.fill
        return read_value(self.fill)

    def budget(self, default: Budget) -> Budget:
        """How much may be spent on a graph; what the user left open is the method's own."""
        from edgeflip.oracle import Budget

        return Budget(
            oracle_calls=default.oracle_calls if self.calls is None else self.calls,
            seconds=default.seconds if self.seconds is None else self.seconds,
        )


class WithRule:
    """Constraints of a user beside those that a data set has for each graph.

    Args:
        plain: What the user says.
        rule: What the data set says of a graph.
    """

    def __init__(self, plain: Constraints, rule: Any) -> None:
        self._plain, self._rule = plain, rule
        self.__qualname__ = f"{getattr(rule, '__qualname__', rule)} and {plain}"

    def __call__(self, graph: Any) -> Constraints:
        """What may change in a graph."""
        both: Constraints = self._rule(graph) & self._plain
        return both
