"""What the methods of one dataset and seed share: the graphs, the oracle and a referee of links."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.bench.spec import BenchSpec, Sources, graphs_of
from edgeflip.bench.timing import Clock
from edgeflip.core import PairSpace, RealGraphs, fingerprint
from edgeflip.datasets import DatasetBundle
from edgeflip.explainers import DRCFGNN, EdgeFlip
from edgeflip.factual import make_factual
from edgeflip.links import LinkModel
from edgeflip.metrics import Descriptors, MotifNodes, describe
from edgeflip.oracle import ModelOracle
from edgeflip.presets import preset_name
from edgeflip.support import Row, checksum, code_version, read_json, write_json
from edgeflip.training import data_checksum, links_once, oracle_for

# Oracles from other seeds, and seeds that no run names.
_OTHERS, _OTHER_SEEDS = 2, 7_000


@dataclass(eq=False)
class Ground:
    """What the methods of one dataset and seed share: the graphs and the oracle.

    Attributes:
        spec: The benchmark.
        bundle: The dataset.
        graphs: Those of its graphs that are explained.
        seed: The seed.
        models: Folder of what was trained before.
        clock: Where the seconds go.
        progress: Whether methods that train long show how long it will take.
    """

    spec: BenchSpec
    bundle: DatasetBundle
    graphs: Sequence[Data]
    seed: int
    models: Path
    clock: Clock = field(default_factory=Clock)
    progress: bool = False

    @classmethod
    def load(
        cls, spec: BenchSpec, dataset: str, seed: int, models: Path, sources: Sources
    ) -> Ground:
        """Read the dataset."""
        bundle = sources.load(spec, dataset)
        return cls(spec, bundle, graphs_of(bundle, spec.split), seed, models)

    @cached_property
    def oracle(self) -> ModelOracle:
        """The oracle, trained if it never was."""
        settings = self.spec.oracle_settings(self.bundle.name)
        shaped_by = {
            "settings": repr(settings),
            "graphs": data_checksum([*self.bundle.train, *self.bundle.val]),
            "seed": self.seed,
            "code": code_version(),
        }
        self._place = self.models / f"oracle-{self.bundle.folder_name}-{checksum(shaped_by)[:16]}"
        started, cpu_started = time.perf_counter(), time.process_time()
        known = (self._place / "time.json").exists()
        with self.clock.of("training"):
            oracle = oracle_for(self.bundle, self._place, settings=settings, seed=self.seed)
        if not known:
            times = {
                "seconds": time.perf_counter() - started,
                "cpu_seconds": time.process_time() - cpu_started,
            }
            write_json(self._place / "time.json", times)
        return oracle

    @property
    def learns_from_validation(self) -> bool:
        """Whether methods learn from the validation graphs too, as published; not if asked about them."""
        return self.spec.split == "test"

    @cached_property
    def predicted(self) -> list[int]:
        """The oracle's classes of the graphs."""
        labels: list[int] = self.oracle.predict(self.graphs).tolist()
        return labels

    @cached_property
    def places(self) -> list[int]:
        """Which of the graphs are explained."""
        truth = [truth_of(graph) for graph in self.graphs]
        chosen = [
            index
            for index, (label, true) in enumerate(zip(self.predicted, truth, strict=True))
            if label == true or not self.spec.only_correct
        ]
        return chosen[: self.spec.most_graphs(self.bundle.name)]

    def row(self) -> Row:
        """What is to be known of the oracle."""
        truth = [truth_of(graph) for graph in self.graphs]
        times = read_json(self._place / "time.json")
        hits = sum(a == b for a, b in zip(self.predicted, truth, strict=True))
        return {
            "kind": "oracle",
            "dataset": self.bundle.name,
            "seed": self.seed,
            "accuracy": hits / len(truth),
            "graphs": len(self.places),
            f"{self.spec.split}_graphs": len(truth),
            "class_names": list(self.bundle.class_names),
            "origin": self.bundle.card.origin,
            "split": self.spec.split,
            "split_made": self.bundle.card.split,
            "title": self.bundle.card.title,
            "has_motif": self.bundle.motif_nodes is not None,
            "statistics": self._statistics(),
            "seconds": times["seconds"],
            "cpu_seconds": times["cpu_seconds"],
        }

    def _statistics(self) -> Row:
        """The dataset in numbers, by the names of `DatasetStatistics`."""
        bundle = self.bundle
        train, val, test = bundle.split.sizes
        return {
            "classes": bundle.num_classes,
            "features": bundle.num_features,
            "nodes": fmean(int(graph.num_nodes or 0) for graph in bundle.graphs),
            "edges": fmean(PairSpace.of(graph).edge_ids.numel() for graph in bundle.graphs),
            "train": train,
            "val": val,
            "test": test,
        }

    @cached_property
    def factual_nodes(self) -> MotifNodes | None:
        """The factual subgraph's nodes of a graph, as the paper's search has it without denoising.

        None if the spec does not ask for them, or the dataset has motifs to hold edits against.
        """
        if not self.spec.factual_proximity or self.bundle.motif_nodes is not None:
            return None
        published = DRCFGNN.for_dataset(preset_name(self.bundle.name), profile="paper").config
        # As published where nothing is set: half of an average graph.
        largest = published.max_nodes or max(1, round(self._statistics()["nodes"] / 2))
        settings = {"max_nodes": largest, **published.factual_settings}
        explainer = make_factual(published.factual, settings)
        known: dict[str, frozenset[int]] = {}

        def nodes(graph: Data) -> frozenset[int]:
            key = fingerprint(graph)
            if key not in known:
                label = int(self.oracle.predict([graph])[0])
                found = explainer.explain(self.oracle, graph, label, seed=self.seed)
                known[key] = frozenset(found.nodes)
            return known[key]

        return nodes

    @cached_property
    def other_oracles(self) -> tuple[ModelOracle, ...]:
        """Oracles of the same kind from other seeds, where the spec asks for trust."""
        if not self.spec.trust:
            return ()
        first = self.oracle.fingerprint()
        with self.clock.of("training"):
            found = [
                oracle_for(
                    self.bundle,
                    self._place.with_name(f"{self._place.name}-other-{number}"),
                    settings=self.spec.oracle_settings(self.bundle.name),
                    seed=_OTHER_SEEDS + 10 * self.seed + number,
                )
                for number in range(_OTHERS)
            ]
        return tuple(oracle for oracle in found if oracle.fingerprint() != first)

    @cached_property
    def real_graphs(self) -> RealGraphs | None:
        """The training graphs to compare edited graphs with, where the spec asks for trust."""
        return RealGraphs(self.bundle.train) if self.spec.trust else None

    @cached_property
    def referee(self) -> LinkModel:
        """A link predictor that rates edges, the same for every method."""
        settings = asks_referee(self.spec, self.bundle.name).link_settings
        graphs = [*self.bundle.train, *(self.bundle.val if self.learns_from_validation else ())]
        with self.clock.of("training"):
            return links_once(settings, graphs, self.oracle, self.models, seed=self.seed).links

    @cached_property
    def training_graphs(self) -> Descriptors:
        """The training graphs' degrees, clustering and spectra."""
        return describe(self.bundle.train)


def asks_referee(spec: BenchSpec, dataset: str) -> EdgeFlip:
    """An explainer with the link predictor that rates edges."""
    profile = "smoke" if spec.profile == "smoke" else "cpu"
    return EdgeFlip.for_dataset(preset_name(dataset), profile=profile, overrides={"one_hot": False})


def truth_of(graph: Data) -> int:
    """The class a graph has by its label, -1 if it has none."""
    return int(graph.y) if isinstance(graph.y, Tensor) else -1
