"""What a benchmark runs: datasets × methods × seeds, read from a TOML file and checked."""

from __future__ import annotations

import hashlib
import math
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias

from torch_geometric.data import Data

from edgeflip.bench.labels import check_label
from edgeflip.datasets import (
    DatasetBundle,
    canonical_name,
    is_family_name,
    list_datasets,
    load_dataset,
    load_graphs,
)
from edgeflip.errors import ConfigError, DatasetError, unknown_name
from edgeflip.explainers import CounterfactualExplainer, explainer_class, make_explainer
from edgeflip.presets import OracleSettings, load_preset, preset_name
from edgeflip.support import STRICT, as_path, checksum, read_file, read_settings, reading

Split: TypeAlias = Literal["val", "test"]
Learning: TypeAlias = Literal["training", "explained"]
SPLITS: Mapping[Split, str] = {"test": "test graphs", "val": "validation graphs"}
"""The parts of a dataset that can be explained, and what their graphs are called."""


@dataclass(frozen=True)
class MethodSpec:
    """One column of the tables.

    Attributes:
        name: Name of the explainer.
        label: Name of the column; the explainer's by default. Methods on other datasets may share it. A
            label of the published tables, such as `"dr-cfgnn -DeN +OH"`, gets its figures beside it, and
            only the published method may have it; see `edgeflip.bench.labels`.
        settings: Settings that replace those of the preset.
        profile: Profile of the preset; the benchmark's by default.
        datasets: The datasets it runs on; all of the benchmark's by default.
        seeds: The seeds it runs with; all of the benchmark's by default. Fewer suit a method whose
            training is dear; the tables then say so.
        chemistry: Whether molecules must stay possible molecules; the paper has no such rules.
        noise: Whether it takes part when graphs are explained again under noise.
        targets: Whether it takes part when every other class is asked for.
        learns_from: The training graphs, or all graphs of the split that is explained. The latter is only for
            what was published so, as GCFExplainer's walks, which start from the graphs that are explained.
    """

    __pydantic_config__ = STRICT

    name: str
    label: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    profile: Literal["paper", "cpu", "smoke"] | None = None
    datasets: tuple[str, ...] | None = None
    seeds: tuple[int, ...] | None = None
    chemistry: bool = False
    noise: bool = True
    targets: bool = True
    learns_from: Learning = "training"

    def __post_init__(self) -> None:
        """Spell datasets as they are known."""
        if self.datasets is not None:
            object.__setattr__(self, "datasets", tuple(map(canonical_name, self.datasets)))

    @property
    def explains_together(self) -> bool:
        """Whether it explains many graphs at once; each then has an even share of the time."""
        return explainer_class(self.name).explains_together


@dataclass(frozen=True)
class OwnData:
    """Your own graphs as a dataset of a benchmark: a CSV of SMILES or a folder of graphs.

    Attributes:
        path: The file or folder; in a spec file as seen from that file.
        label_column: The column of the labels.
        smiles_column: The column of the molecules.
        labels: The label file of a folder of graphs; `labels.csv` in the folder by default.
        stratified: Whether the split has the same shares of every class.
        skip_invalid: Whether rows that are no molecule are left out.
        sha256: Checksum of the files; filled in when a spec file is read, so that results on two versions
            of the data are never mixed.
    """

    __pydantic_config__ = STRICT

    path: str
    label_column: str = "label"
    smiles_column: str = "smiles"
    labels: str | None = None
    stratified: bool = False
    skip_invalid: bool = False
    sha256: str = ""

    def within(self, folder: Path) -> OwnData:
        """The same with paths that are seen from a folder made absolute, and the checksum filled in."""
        labels = None if self.labels is None else str((folder / self.labels).absolute())
        found = replace(self, path=str((folder / self.path).absolute()), labels=labels)
        if not Path(found.path).exists():
            raise ConfigError(
                f"expected a CSV or a folder at {found.path}, got none; correct path in the spec."
            )
        return replace(found, sha256=self.sha256 or found.contents())

    def load(self, name: str) -> DatasetBundle:
        """The graphs, refused when the files are not those of the checksum."""
        if self.sha256 and self.contents() != self.sha256:
            raise ConfigError(
                f"expected the files of {self.path} with sha256 {self.sha256[:12]}…, got others; give "
                "the run another folder, or leave sha256 out of the spec."
            )
        settings = asdict(self)
        del settings["path"], settings["sha256"]
        return load_graphs(self.path, name=name, **settings)

    def contents(self) -> str:
        """The checksum of the files."""
        place = Path(self.path)
        files = sorted(place.rglob("*")) if place.is_dir() else [place]
        files += [] if self.labels is None else [Path(self.labels)]
        digest = hashlib.sha256()
        for file in files:
            if file.is_file():
                digest.update(file.name.encode())
                digest.update(file.read_bytes())
        return digest.hexdigest()


@dataclass(frozen=True)
class BenchSpec:
    """A benchmark.

    Attributes:
        title: What it shows, in a line.
        datasets: Names of datasets.
        methods: The methods to compare.
        profile: Profile of the oracles, and of the methods that name none.
        seeds: Every method is run with each. A seed trains an oracle and a link predictor of its own, and
            seeds what methods learn and draw.
        split: Which graphs are explained: `"test"`, or `"val"` to choose settings by. Validation graphs
            are explained by methods that learned from the training graphs alone.
        graphs: At most this many of these graphs per dataset, or a number by dataset; None for all.
        only_correct: Whether only graphs that the oracle gets right are explained, as published.
        keep: Counterfactuals kept per graph.
        seconds: Deadline per graph; None for each method's own.
        noise: Whether every graph is explained again under noise, for VaN and ECaN.
        targets: Whether every other class is asked for in turn, for the table by class.
        plausibility: Whether edits are rated by a link predictor, and edited graphs compared with the
            training graphs.
        replacements: Whether methods that can are also judged by graphs that replace the input, as in
            their papers.
        factual_proximity: Whether edits are held against the factual subgraph where there is no motif.
        oracle: Settings that replace those of the oracles' preset, such as to choose among several.
        trust: Whether two oracles from other seeds, real graphs and the oracle's embeddings are asked how far
            the answers can be believed.
        data: Your own graphs by the name that they have in `datasets`.
    """

    __pydantic_config__ = STRICT

    title: str
    datasets: tuple[str, ...]
    methods: tuple[MethodSpec, ...]
    profile: Literal["paper", "cpu", "smoke"] = "cpu"
    seeds: tuple[int, ...] = (0,)
    split: Split = "test"
    graphs: int | Mapping[str, int] | None = None
    only_correct: bool = True
    keep: int = 20
    seconds: float | None = None
    noise: bool = False
    targets: bool = False
    plausibility: bool = False
    replacements: bool = False
    factual_proximity: bool = False
    oracle: Mapping[str, Any] = field(default_factory=dict)
    trust: bool = False
    data: Mapping[str, OwnData] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what cannot be run, and name the columns."""
        self._name_data()
        for name, values in (
            ("datasets", self.datasets),
            ("methods", self.methods),
            ("seeds", self.seeds),
        ):
            if not values:
                raise ConfigError(f"expected at least one entry in '{name}', got none; add one.")
        object.__setattr__(self, "datasets", tuple(map(canonical_name, self.datasets)))
        if isinstance(self.graphs, Mapping):
            named = {canonical_name(name): limit for name, limit in self.graphs.items()}
            object.__setattr__(self, "graphs", named)
            if elsewhere := sorted(set(named) - set(self.datasets)):
                raise ConfigError(
                    f"expected graphs for datasets of the benchmark, got '{elsewhere[0]}'; name some of "
                    f"{list(self.datasets)}."
                )
        limits = [limit for name in self.datasets if (limit := self.most_graphs(name)) is not None]
        if min(self.seeds) < 0 or self.keep < 1 or min(limits, default=1) < 1:
            raise ConfigError(
                "expected seeds of at least 0, and keep and graphs of at least 1, got "
                f"{list(self.seeds)}, {self.keep} and {self.graphs}."
            )
        if self.seconds is not None and not 0 < self.seconds < math.inf:
            raise ConfigError(
                f"expected seconds above 0, got {self.seconds}; leave it out for none."
            )
        if any(len(set(entries)) < len(entries) for entries in (self.seeds, self.datasets)):
            raise ConfigError(
                "expected every dataset and seed once, got "
                f"{list(self.datasets)} and {list(self.seeds)}; leave repeats out."
            )
        for dataset in self.datasets:
            labels = [self.label(method) for method in self.methods_on(dataset)]
            for label in labels:
                if labels.count(label) > 1:
                    raise ConfigError(
                        "expected every method on a dataset to have a label of its own, got "
                        f"'{label}' more than once on {dataset}; set label, or datasets."
                    )
        for dataset in self.datasets:
            self.oracle_settings(dataset)
        for method in self.methods:
            self._check_method(method)

    def _check_method(self, method: MethodSpec) -> None:
        explainer_class(method.name)
        elsewhere = sorted(set(method.datasets or ()) - set(self.datasets))
        if elsewhere or method.datasets == ():
            got = f"'{elsewhere[0]}'" if elsewhere else "none"
            raise ConfigError(
                f"expected '{self.label(method)}' to run on some of the benchmark's datasets, got "
                f"{got}; name some of {list(self.datasets)}."
            )
        foreign = [seed for seed in method.seeds or () if seed not in self.seeds]
        repeated = len(set(method.seeds or ())) < len(method.seeds or ())
        if foreign or repeated or method.seeds == ():
            raise ConfigError(
                f"expected seeds of '{self.label(method)}' among those of the benchmark, each once, got "
                f"{list(method.seeds or ())}; name some of {list(self.seeds)}."
            )
        for dataset in method.datasets or self.datasets:
            check_label(
                self.label(method),
                self.make_explainer(method, dataset),
                dataset,
                chemistry=method.chemistry,
            )

    def _name_data(self) -> None:
        own = {canonical_name(name): data for name, data in self.data.items()}
        object.__setattr__(self, "data", own)
        for name in own:
            if is_family_name(name) or name in {entry.name for entry in list_datasets()}:
                raise ConfigError(
                    f"expected a name of its own for [data.{name}], got that of a known dataset; choose "
                    "another."
                )
            if name not in map(canonical_name, self.datasets):
                raise ConfigError(
                    f"expected '{name}' of [data.{name}] among the datasets, got {list(self.datasets)}; add "
                    "it there."
                )

    def load(self, dataset: str, data_dir: Path | None = None) -> DatasetBundle:
        """The graphs of a dataset, known or your own."""
        if dataset in self.data:
            return self.data[dataset].load(dataset)
        return load_dataset(dataset, data_dir)

    def label(self, method: MethodSpec) -> str:
        """The column of a method."""
        return method.label or method.name

    def most_graphs(self, dataset: str) -> int | None:
        """At most so many graphs of a dataset; None for all."""
        return self.graphs.get(dataset) if isinstance(self.graphs, Mapping) else self.graphs

    def methods_on(self, dataset: str) -> list[MethodSpec]:
        """The methods that run on a dataset."""
        return [m for m in self.methods if m.datasets is None or dataset in m.datasets]

    def seeds_of(self, method: MethodSpec) -> tuple[int, ...]:
        """The seeds of a method."""
        return self.seeds if method.seeds is None else method.seeds

    def make_explainer(self, method: MethodSpec, dataset: str) -> CounterfactualExplainer[Any]:
        """The explainer of a method on a dataset, not fitted yet."""
        return make_explainer(
            method.name,
            dataset=preset_name(dataset),
            profile=method.profile or self.profile,
            overrides=dict(method.settings),
        )

    def oracle_settings(self, dataset: str) -> OracleSettings:
        """How the oracles of a dataset are built and trained."""
        settings = load_preset(dataset, self.profile).oracle
        changed = {**asdict(settings), **self.oracle}
        return read_settings(OracleSettings, changed, where="[oracle] of the spec")

    def to_dict(self) -> dict[str, Any]:
        """The spec as plain values."""
        return asdict(self)

    def checksum(self) -> str:
        """Changes with anything that shapes the results; the title does not."""
        # Files may be moved; what is in them counts.
        own = {
            name: asdict(replace(data, path="", labels=None)) for name, data in self.data.items()
        }
        return checksum({**self.to_dict(), "title": "", "data": own})


@dataclass(frozen=True)
class Sources:
    """Where the graphs of a benchmark come from, beside its spec.

    Attributes:
        data_dir: The data folder; by default the one that `EDGEFLIP_DATA` names.
        bundles: Graphs in memory by the name that they have in the spec.
    """

    data_dir: Path | None = None
    bundles: Mapping[str, DatasetBundle] = field(default_factory=dict)

    def load(self, spec: BenchSpec, dataset: str) -> DatasetBundle:
        """The graphs of a dataset, under the name that the spec has for it."""
        if dataset in self.bundles:
            return replace(self.bundles[dataset], name=dataset)
        return spec.load(dataset, self.data_dir)


def graphs_of(bundle: DatasetBundle, split: Split) -> list[Data]:
    """The graphs of a dataset that are explained.

    Raises:
        DatasetError: If there are none.
    """
    found = bundle.val if split == "val" else bundle.test
    if not found:
        raise DatasetError(
            f"expected {SPLITS[split]} in '{bundle.name}', got none; explain another split."
        )
    return found


def list_specs() -> dict[str, str]:
    """Names and titles of the specs that come with the package.

    Example:
        >>> "smoke" in list_specs()
        True
    """
    folder = files("edgeflip") / "bench" / "specs"
    found = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda e: e.name
    )
    return {
        entry.name.removesuffix(".toml"): str(tomllib.loads(entry.read_text("utf-8"))["title"])
        for entry in found
    }


def load_spec(spec: str | Path) -> tuple[str, BenchSpec]:
    """A spec by the name of one that comes with the package, or by the path of a TOML file.

    Returns:
        Its name and what it says.

    Raises:
        ConfigError: Naming the key that is wrong and the keys there are.
    """
    path = as_path(spec, ConfigError)
    if str(spec) in list_specs():
        name = str(spec)
        content = (files("edgeflip") / "bench" / "specs" / f"{name}.toml").read_bytes()
    elif path.suffix == ".toml":
        name = path.stem
        content = read_file(path, error=ConfigError, most="spec_bytes")
    else:
        raise unknown_name("spec", str(spec), list_specs())
    with reading(f"TOML in the spec '{spec}'", advice="correct the file", error=ConfigError):
        table = tomllib.loads(content.decode("utf-8"))
    methods = table.get("methods")
    if isinstance(methods, list):
        # One by one, so that an error names the keys of a method.
        table["methods"] = [
            read_settings(MethodSpec, entry, where=f"method {index + 1} of the spec '{name}'")
            if isinstance(entry, dict)
            else entry
            for index, entry in enumerate(methods)
        ]
    own = table.get("data")
    if isinstance(own, dict):
        table["data"] = {
            key: read_settings(OwnData, entry, where=f"[data.{key}] of the spec '{name}'").within(
                path.parent
            )
            if isinstance(entry, dict)
            else entry
            for key, entry in own.items()
        }
    return name, read_settings(BenchSpec, table, where=f"the spec '{name}'")
