"""What a preset holds: settings of the oracle, tables for the methods, results to expect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from edgeflip.errors import ConfigError
from edgeflip.support import STEEPEST, STRICT, WIDEST, check_at_most


@dataclass(frozen=True)
class OracleSettings:
    """How an oracle is built and trained.

    Attributes:
        layers: width of each graph convolution.
        readout: how node embeddings become one per graph.
        normalize: whether the convolutions divide by the square roots of the degrees.
        epochs: at most this many passes over the training graphs.
        batch_size: graphs per step.
        learning_rate: of Adam.
        weight_decay: of Adam.
        patience: stop after this many epochs without a better one; none trains all epochs.
        clip_value: bound on the size of each gradient entry; none for no bound.
        tie_break: which of two epochs of equal validation accuracy is better: the `"first"`, as
            published, or the one of lower validation `"loss"`.
        average: share of the old in a moving average of the weights, taken after every step; the
            average is what is validated and kept. 0 keeps the weights themselves, as published.
    """

    __pydantic_config__ = STRICT

    layers: tuple[int, ...] = (20, 20, 20)
    readout: Literal["mean", "max", "sum"] = "mean"
    normalize: bool = True
    epochs: int = 200
    batch_size: int = 64
    learning_rate: float = 0.001
    weight_decay: float = 0.0
    patience: int | None = None
    clip_value: float | None = 2.0
    tie_break: Literal["first", "loss"] = "first"
    average: float = 0.0

    def __post_init__(self) -> None:
        self._require("layers", bool(self.layers) and min(self.layers) >= 1, "widths of at least 1")
        self._require("epochs", self.epochs >= 1, "at least 1")
        self._require("batch_size", self.batch_size >= 1, "at least 1")
        self._require("learning_rate", 0 < self.learning_rate < float("inf"), "above 0")
        self._require("weight_decay", 0 <= self.weight_decay < float("inf"), "at least 0")
        self._require("patience", self.patience is None or self.patience >= 1, "at least 1")
        self._require("clip_value", self.clip_value is None or self.clip_value > 0, "above 0")
        check_at_most(
            self,
            layers=WIDEST,
            learning_rate=STEEPEST,
            weight_decay=STEEPEST,
            clip_value=STEEPEST,
        )
        self._require("average", 0 <= self.average < 1, "at least 0 and below 1")
        self._require("readout", self.readout in ("mean", "max", "sum"), "mean, max or sum")
        self._require("tie_break", self.tie_break in ("first", "loss"), "first or loss")

    def _require(self, name: str, holds: bool, wanted: str) -> None:
        if not holds:
            raise ConfigError(
                f"expected the oracle's {name} to be {wanted}, got {getattr(self, name)!r}; "
                "correct the setting."
            )


@dataclass(frozen=True)
class ExpectedResult:
    """A method's published results on a dataset; none where the paper prints none.

    Attributes:
        size: mean number of edits of the best counterfactual.
        first_size: the same of the first one found.
        factual_proximity: as motif proximity, to the factual subgraph where there is no motif.
        ecan: edge consistency after noise.
        training_seconds: of the explainer, on the authors' machine.
        seconds: mean per graph, there too.
        factual_seconds: mean per graph of finding the factual subgraph, not part of `seconds`.
        dropped_edges: mean number of edges that denoising took from a graph.
        auc: validation AUC of the link predictor.
    """

    __pydantic_config__ = STRICT

    validity: float | None = None
    fidelity: float | None = None
    size: float | None = None
    first_size: float | None = None
    motif_proximity: float | None = None
    factual_proximity: float | None = None
    minimality: float | None = None
    ecan: float | None = None
    training_seconds: float | None = None
    seconds: float | None = None
    factual_seconds: float | None = None
    dropped_edges: float | None = None
    auc: float | None = None


@dataclass(frozen=True)
class DatasetStatistics:
    """The published statistics of a dataset."""

    __pydantic_config__ = STRICT

    classes: int
    features: int
    nodes: float
    edges: float
    train: int
    val: int
    test: int


@dataclass(frozen=True)
class Expected:
    """The published results on a dataset.

    Attributes:
        oracle_accuracy: the oracle's, on the test graphs.
        methods: by method, named as printed.
        by_class: by method and target class, where every graph was asked for one class.
        statistics: of the dataset.
    """

    oracle_accuracy: float | None = None
    methods: Mapping[str, ExpectedResult] = field(default_factory=dict)
    by_class: Mapping[str, Mapping[int, ExpectedResult]] = field(default_factory=dict)
    statistics: DatasetStatistics | None = None


@dataclass(frozen=True)
class Preset:
    """One preset file, read and checked.

    Attributes:
        dataset: the dataset it is for; none for the one that suits any data.
        profile: `"paper"`, `"cpu"` or `"smoke"`.
        oracle: how to build and train the oracle.
        methods: settings by method, as plain tables; the explainers check their own.
        expected: what was published; only in the `paper` profile.
    """

    dataset: str | None
    profile: str
    oracle: OracleSettings
    methods: Mapping[str, Mapping[str, Any]]
    expected: Expected | None = None

    def method(self, name: str) -> dict[str, Any]:
        """The table of a method, empty if there is none; case and `-` against `_` do not matter."""
        return dict(self.methods.get(name.strip().lower().replace("-", "_"), {}))
