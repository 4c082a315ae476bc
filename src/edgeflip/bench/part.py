"""What one session does of a spec, and what is refused before anything runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from edgeflip.bench.spec import BenchSpec, MethodSpec, Sources
from edgeflip.datasets import DatasetBundle, canonical_name, is_family_name, list_datasets
from edgeflip.errors import ConfigError, shown, unknown_name


@dataclass(frozen=True)
class Part:
    """What one session does of a spec.

    Attributes:
        spec: The spec.
        datasets: The datasets.
        labels: The columns.
    """

    spec: BenchSpec
    datasets: tuple[str, ...]
    labels: tuple[str, ...]

    @classmethod
    def of(
        cls, spec: BenchSpec, datasets: Sequence[str] | None, methods: Sequence[str] | None
    ) -> Part:
        """The part with these datasets and columns; None for all."""
        for name, given in (("datasets", datasets), ("methods", methods)):
            if not (given is None or isinstance(given, list | tuple)):
                raise ConfigError(
                    f"expected {name} as a list of names, got {shown(given)}; write {name}=[...]."
                )
        labels = [spec.label(method) for method in spec.methods]
        chosen = [canonical_name(name) for name in datasets or spec.datasets]
        for name in chosen:
            if name not in spec.datasets:
                raise unknown_name("dataset of the spec", name, spec.datasets)
        for label in methods or ():
            if label not in labels:
                raise unknown_name("method of the spec", label, labels)
        return cls(
            spec,
            datasets=tuple(name for name in spec.datasets if name in chosen),
            labels=tuple(label for label in labels if not methods or label in methods),
        )

    def seeds_on(self, dataset: str) -> tuple[int, ...]:
        """The seeds that some method runs with on a dataset."""
        return tuple(seed for seed in self.spec.seeds if self.methods_on(dataset, seed))

    def methods_on(self, dataset: str, seed: int | None = None) -> list[MethodSpec]:
        """The methods that run on a dataset, with a seed or with any."""
        return [
            method
            for method in self.spec.methods_on(dataset)
            if self.spec.label(method) in self.labels
            and (seed is None or seed in self.spec.seeds_of(method))
        ]


def sources_of(
    spec: BenchSpec, data_dir: Path | None, bundles: Mapping[str, DatasetBundle]
) -> Sources:
    """Where the graphs come from.

    Raises:
        ConfigError: If graphs in memory have a name of something else, or settings are of no method.
        UnknownNameError: If a dataset does not exist at all.
    """
    sources = Sources(data_dir, _named(spec, bundles))
    known = [*(entry.name for entry in list_datasets()), *spec.data, *sources.bundles]
    for dataset in spec.datasets:
        if dataset not in known and not is_family_name(dataset):
            raise unknown_name("dataset", dataset, known)
        for method in spec.methods_on(dataset):
            spec.make_explainer(method, dataset)
    return sources


def _named(spec: BenchSpec, bundles: Mapping[str, DatasetBundle]) -> dict[str, DatasetBundle]:
    """Graphs in memory by the names of the spec, which nothing else may have."""
    taken = {entry.name for entry in list_datasets()} | set(spec.data)
    found = {canonical_name(name): bundle for name, bundle in bundles.items()}
    for name in found:
        if name not in spec.datasets or name in taken:
            raise ConfigError(
                f"expected bundles under names of their own among the spec's datasets {list(spec.datasets)}, "
                f"got '{name}'; name it there."
            )
    return found
