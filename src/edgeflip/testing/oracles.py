"""Oracles to check explainers with."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import edge_pairs
from edgeflip.oracle import Oracle


class WrappedOracle:
    """An oracle around another, with whatever else that one offers."""

    def __init__(self, inner: Oracle) -> None:
        self.inner = inner
        # On the instance, since a protocol check does not see what __getattr__ would give.
        for name in ("predict_edits", "soft_logits"):
            if hasattr(inner, name):
                setattr(self, name, getattr(self, f"_{name}"))

    def __getattr__(self, name: str) -> Any:
        """Everything that is not here is the inner oracle's."""
        if name == "inner" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        return self.inner.num_classes

    def predict_proba(self, graphs: Sequence[Data]) -> Tensor:
        """Class probabilities [len(graphs), C]."""
        return self._seen(torch.as_tensor(self.inner.predict_proba(graphs)))

    def _predict_edits(self, *args: Any, **options: Any) -> Tensor:
        inner: Any = self.inner
        return self._seen(inner.predict_edits(*args, **options))

    def _soft_logits(self, *args: Any, **options: Any) -> Tensor:
        inner: Any = self.inner
        logits: Tensor = inner.soft_logits(*args, **options)
        return logits

    def _seen(self, proba: Tensor) -> Tensor:
        return proba


class CountingOracle(WrappedOracle):
    """An oracle that counts the graphs it is asked about, whoever asks.

    Attributes:
        calls: Graphs asked about since it was last set to 0.
    """

    def __init__(self, inner: Oracle) -> None:
        super().__init__(inner)
        self.calls = 0

    def _seen(self, proba: Tensor) -> Tensor:
        self.calls += len(proba)
        return proba


class RotatedOracle(WrappedOracle):
    """An oracle with every class called by the number of the next."""

    def _seen(self, proba: Tensor) -> Tensor:
        return proba.roll(1, dims=1)

    def _soft_logits(self, *args: Any, **options: Any) -> Tensor:
        return super()._soft_logits(*args, **options).roll(1, dims=1)

    def fingerprint(self) -> str:
        """Another than the inner oracle's."""
        return "rotated"


class ConstantOracle:
    """An oracle that says the same of every graph."""

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes

    def predict_proba(self, graphs: Sequence[Data]) -> Tensor:
        """Class probabilities, the first class always the likeliest [len(graphs), C]."""
        return self._logits().softmax(dim=0).repeat(len(graphs), 1)

    def soft_logits(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor, batch: Tensor
    ) -> Tensor:
        """Logits with a gradient of zero [graphs, C]."""
        return self._logits().repeat(int(batch.max()) + 1, 1) + 0.0 * edge_weight.sum()

    def _logits(self) -> Tensor:
        return torch.arange(self.num_classes, 0, -1).float()


class AttributeOracle:
    """An oracle that takes `edge_attr`: one edge more or less is the next class, nearly.

    The sum of the attributes moves the probabilities, but too little to hide a flip.
    """

    def __init__(self, num_classes: int) -> None:
        self.num_classes = num_classes

    def predict_proba(self, graphs: Sequence[Data]) -> Tensor:
        """Class probabilities, around a circle [len(graphs), C]."""
        turns = torch.tensor(
            [len(edge_pairs(graph)) + 0.05 * float(graph.edge_attr.sum()) for graph in graphs]
        )
        classes = torch.arange(self.num_classes)
        angle = (turns[:, None] - classes) * (2 * math.pi / self.num_classes)
        return (3 * angle.cos()).softmax(dim=1)
