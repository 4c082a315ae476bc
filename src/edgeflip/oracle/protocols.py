"""What an oracle is: the little that methods may know of a model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import EditSpace


@runtime_checkable
class Oracle(Protocol):
    """All that most methods may know of a classifier."""

    @property
    def num_classes(self) -> int:
        """Number of classes C."""
        ...

    def predict_proba(self, graphs: Sequence[Data]) -> Tensor:
        """Class probabilities [len(graphs), C]."""
        ...


@runtime_checkable
class ValueOracle(Protocol):
    """An oracle that gives values and no classes, for goals about values."""

    @property
    def num_outputs(self) -> int:
        """Values per input."""
        ...

    def predict_values(self, graphs: Sequence[Data]) -> Tensor:
        """Values [len(graphs), num_outputs]."""
        ...


def gives_values(oracle: object) -> bool:
    """Whether an oracle gives values and no classes; one that can do either says so by its `task`."""
    task = getattr(oracle, "task", None)
    if task in ("classification", "regression"):
        return bool(task == "regression")
    return hasattr(oracle, "predict_values")


@runtime_checkable
class EditOracle(Oracle, Protocol):
    """An oracle that answers whole blocks of edits, sharing the work that edits do not change."""

    def predict_edits(self, space: EditSpace, rows: Tensor) -> Tensor:
        """Class probabilities of the edited inputs [rows, C]."""
        ...


@runtime_checkable
class DifferentiableOracle(Oracle, Protocol):
    """An oracle that can be asked about soft graphs, for methods that learn through the model."""

    def soft_logits(
        self, x: Tensor, edge_index: Tensor, edge_weight: Tensor, batch: Tensor
    ) -> Tensor:
        """Logits of graphs with weighted edges, differentiable in the weights [graphs, C]."""
        ...
