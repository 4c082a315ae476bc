"""What may be edited: a space of moves on one input.

A *move* is the smallest change there is, known by a number, its id. A set of moves is a row of ids,
padded with `PAD`. Ids are stable keys, not positions. Moves of one *slot* exclude each other, and
every move has a cost. The search knows nothing else of what it edits; `PairEdits`, where a move adds
or removes an edge, is one such space.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Protocol

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from edgeflip.core.feature_edits import FeatureEdits
from edgeflip.core.pair_edits import PairEdits
from edgeflip.errors import ArtifactError, shown


class Edits(Protocol):
    """A set of moves as people see it; equal and hashable by what it does."""

    @property
    def cost(self) -> int:
        """What its moves cost together."""
        ...

    def __len__(self) -> int:
        """Number of moves."""
        ...

    def to_dict(self) -> Mapping[str, Any]:
        """Plain values for JSON; `EditSpace.read` is the inverse."""
        ...


class Level(Protocol):
    """All sets of moves of one cost, numbered."""

    @property
    def count(self) -> int:
        """How many there are."""
        ...

    def rows(self, ranks: Tensor) -> Tensor:
        """The sets of given numbers, from 0 to `count - 1` [ranks, width]."""
        ...

    def draw(self, rng: random.Random) -> Tensor:
        """A block of independent random sets, for levels too large to number [block, width]."""
        ...


class EditSpace(Protocol):
    """Which moves one input allows, and what becomes of it."""

    @property
    def kind(self) -> str:
        """What sort of space it is; written into saved answers."""
        ...

    @property
    def input(self) -> Data:
        """The input; never changed."""
        ...

    @property
    def allowed(self) -> Tensor:
        """Ids of the moves that may be made, ascending [moves]."""
        ...

    @property
    def groups(self) -> Mapping[str, Tensor]:
        """The same by sort."""
        ...

    @property
    def max_cost(self) -> int:
        """What the largest allowed set costs."""
        ...

    @property
    def has_rules(self) -> bool:
        """Whether `rules_allow` may refuse anything."""
        ...

    def slots(self, ids: Tensor) -> Tensor:
        """The slot of each move; any shape."""
        ...

    def costs(self, ids: Tensor) -> Tensor:
        """What each move costs, a whole number of at least 1, and 0 for `PAD`; any shape."""
        ...

    def normalise(self, rows: Tensor) -> Tensor:
        """Rows in the one form that keys are made of: sorted, cancelled, padded."""
        ...

    def check(self, rows: Tensor) -> Tensor:
        """Which rows are allowed, rules aside [rows]."""
        ...

    def rules_allow(self, row: Tensor) -> bool:
        """Whether the user's rules in Python accept a set; slow, so asked about few."""
        ...

    def level(self, cost: int) -> Level:
        """All allowed sets of a cost."""
        ...

    def plainly(self, cost: int) -> Iterator[Edits]:
        """The same, written apart from `level`, for whoever verifies; rules are not asked."""
        ...

    def plainly_allows(self, edits: Edits) -> bool:
        """Whether limits and rules allow a set, written apart from `check`."""
        ...

    def apply(self, rows: Tensor) -> list[Data]:
        """The really edited inputs, to be looked at only [rows]."""
        ...

    def edited(self, edits: Edits) -> Data:
        """The input after one set of edits, a copy."""
        ...

    def batch(self, rows: Tensor, device: torch.device | None = None) -> Batch:
        """All edited inputs as one PyG batch."""
        ...

    def edits(self, rows: Tensor) -> list[Any]:
        """Rows as people see them."""
        ...

    def in_words(self, edits: Any) -> str:
        """What edits do, as the subject of a sentence: "adding the edge 0–1"."""
        ...

    def row(self, edits: Any) -> Tensor:
        """A set of edits as ids, checked against the input [moves]."""
        ...

    def read(self, payload: Mapping[str, Any]) -> Any:
        """Edits from what their `to_dict` gave."""
        ...

    def on(self, noisy: Data, rows: Tensor) -> tuple[EditSpace, Tensor]:
        """The space of a noisy copy, and the moves that do there what the rows do here."""
        ...

    def under(self, constraints: Any) -> EditSpace:
        """The space with the rules that a saved one lost; `None` where it had none.

        Raises:
            ConstraintError: If these are not the constraints it was made with.
        """
        ...

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the `kind`; `space_from_dict` is the inverse."""
        ...


_READERS: dict[str, Callable[[Mapping[str, Any]], EditSpace]] = {
    PairEdits.kind: PairEdits.from_dict,
    FeatureEdits.kind: FeatureEdits.from_dict,
}

# Rooms further down register these when they are loaded.
_BROUGHT_BY = {"molecule": "edgeflip.datasets.molecule_edits"}


def register_space(kind: str, read: Callable[[Mapping[str, Any]], EditSpace]) -> None:
    """Tell how saved answers about a kind of space are read.

    Args:
        kind: The `kind` of the space.
        read: The inverse of its `to_dict`.
    """
    _READERS[kind] = read


def space_from_dict(payload: Mapping[str, Any]) -> EditSpace:
    """A space from what its `to_dict` gave.

    Raises:
        ArtifactError: If nobody has told how such a space is read.
    """
    kind = payload.get("kind") if isinstance(payload, Mapping) else None
    if kind in _BROUGHT_BY and kind not in _READERS:
        import_module(_BROUGHT_BY[kind])
    if not isinstance(kind, str) or kind not in _READERS:
        raise ArtifactError(
            f"expected a space of a known kind ({', '.join(_READERS)}), got {shown(kind)}; import the "
            "package that defines it, or call register_space."
        )
    return _READERS[kind](payload)
