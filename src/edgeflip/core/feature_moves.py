"""Which features of nodes may change, how far and at what cost, and what people see of it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core.constraints import Constraints
from edgeflip.core.edits import EditSet
from edgeflip.core.graphs import Edge
from edgeflip.errors import ConfigError, EditError, GraphError, shown
from edgeflip.support import STRICT, plain_number, read_settings

# Values of one feature at most.
_MOST_VALUES = 10_000


@dataclass(frozen=True)
class Grid:
    """The values that a continuous feature may take: low, low + step, … up to high.

    Attributes:
        column: Its column of `x`.
        low: The smallest value.
        high: The largest.
        step: How far apart they are.

    Example:
        >>> Grid(0, low=0, high=1, step=0.5).values
        (0.0, 0.5, 1.0)
    """

    __pydantic_config__ = STRICT

    column: int
    low: float
    high: float
    step: float

    def __post_init__(self) -> None:
        """Refuse grids without values."""
        numbers = [plain_number(getattr(self, name)) for name in ("low", "high", "step")]
        fine = all(
            isinstance(each, int | float) and not isinstance(each, bool) and math.isfinite(each)
            for each in numbers
        )
        if not fine or not (numbers[2] > 0 and numbers[0] <= numbers[1]):
            raise ConfigError(
                "expected a grid with low of at most high and a step above 0, got "
                f"{shown(numbers)}; write Grid(column=0, low=0, high=1, step=0.1)."
            )
        for name, number in zip(("low", "high", "step"), numbers, strict=True):
            object.__setattr__(self, name, float(number))
        if (self.high - self.low) / self.step >= _MOST_VALUES:
            raise ConfigError(
                f"expected a grid of at most {_MOST_VALUES:,} values, got more; take a larger step."
            )

    @property
    def values(self) -> tuple[float, ...]:
        """The values."""
        count = math.floor((self.high - self.low) / self.step + 1e-9) + 1
        return tuple(self.low + place * self.step for place in range(count))


@dataclass(frozen=True)
class FeatureMoves:
    """Which features of nodes may change, and whether edges may.

    Attributes:
        blocks: Categorical features: a name, and the columns of its one-hot block.
        grids: Continuous features: a name, and the values that they may take.
        costs: What changing each costs, by name; 1 where nothing is said.
        nodes: The nodes whose features may change; None for all.
        edges: Cost of an edge that comes or goes; None where edges stay.

    Example:
        >>> FeatureMoves(blocks={"kind": (0, 1, 2)}, grids={"charge": Grid(3, -1, 1, 0.5)}).names
        ('kind', 'charge')
    """

    __pydantic_config__ = STRICT

    blocks: Mapping[str, tuple[int, ...]] = field(default_factory=dict, hash=False)
    grids: Mapping[str, Grid] = field(default_factory=dict, hash=False)
    costs: Mapping[str, int] = field(default_factory=dict, hash=False)
    nodes: frozenset[int] | None = None
    edges: int | None = None

    def __post_init__(self) -> None:
        """Refuse moves that mean nothing."""
        if not isinstance(self.blocks, Mapping) or not isinstance(self.grids, Mapping):
            raise ConfigError(
                "expected blocks and grids by name, got "
                f"{shown(self.blocks)} and {shown(self.grids)}; write blocks={{'kind': (0, 1, 2)}}."
            )
        blocks = {name: tuple(columns) for name, columns in self.blocks.items()}
        object.__setattr__(self, "blocks", blocks)
        if self.nodes is not None:
            object.__setattr__(self, "nodes", frozenset(self.nodes))
        names = [*blocks, *self.grids]
        columns: list[Any] = [c for each in blocks.values() for c in each]
        columns += [getattr(grid, "column", None) for grid in self.grids.values()]
        whole = all(isinstance(c, int) and not isinstance(c, bool) and c >= 0 for c in columns)
        if not whole or len(set(columns)) < len(columns) or len(set(names)) < len(names):
            raise ConfigError(
                "expected every column in one block or grid at most, and every name once, got columns "
                f"{shown(columns)} and names {shown(names)}; correct them."
            )
        if any(len(each) < 2 for each in blocks.values()):
            raise ConfigError(
                "expected at least two columns in every one-hot block, got fewer; a single column is a "
                "grid, such as Grid(column, 0, 1, 1)."
            )
        prices = {**self.costs, **({} if self.edges is None else {"edges": self.edges})}
        unknown = [name for name in self.costs if name not in names]
        if unknown or not all(
            isinstance(price, int) and not isinstance(price, bool) and 1 <= price <= 1000
            for price in prices.values()
        ):
            raise ConfigError(
                f"expected whole costs of 1 to 1000 for {', '.join(names) or 'no feature'}, got "
                f"{shown(prices)}; correct them."
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features, categorical ones first."""
        return (*self.blocks, *self.grids)

    def price(self, name: str) -> int:
        """What changing a feature costs."""
        return self.costs.get(name, 1)

    def values(self, name: str) -> tuple[float, ...]:
        """What a feature may become: places of a block, or values of a grid."""
        if name in self.blocks:
            return tuple(map(float, range(len(self.blocks[name]))))
        return self.grids[name].values

    def check(self, x: Any) -> Tensor:
        """The features of a graph, where these moves fit them.

        Raises:
            GraphError: If columns are missing, or a block is not one-hot.
        """
        if not isinstance(x, Tensor) or x.dim() != 2:
            raise GraphError(
                "expected node features x [nodes, columns] to change, got none; edit edges alone."
            )
        columns = [c for each in self.blocks.values() for c in each]
        columns += [grid.column for grid in self.grids.values()]
        if max(columns, default=0) >= x.size(1):
            raise GraphError(
                f"expected columns in 0..{x.size(1) - 1}, got {max(columns)}; correct the moves."
            )
        for name, each in self.blocks.items():
            block = x[:, list(each)]
            if not bool(((block == 0) | (block == 1)).all() & (block.sum(dim=1) == 1).all()):
                raise GraphError(
                    f"expected one 1 and else 0 in the block '{name}' of every node, got other values; name "
                    "its columns, or make it a grid."
                )
        outside = [node for node in self.nodes or () if not 0 <= node < len(x)]
        if outside:
            raise GraphError(
                f"expected nodes in 0..{len(x) - 1}, got {outside[0]}; correct the moves."
            )
        return x

    def space_of(self, graph: Data, constraints: Constraints, fill: Any = None) -> Any:
        """The edits of a graph, as `FeatureEdits.of` makes them."""
        from edgeflip.core.feature_edits import FeatureEdits

        return FeatureEdits.of(graph, self, constraints, fill)

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return {
            "blocks": {name: list(columns) for name, columns in self.blocks.items()},
            "grids": {name: dict(vars(grid)) for name, grid in self.grids.items()},
            "costs": dict(self.costs),
            "nodes": None if self.nodes is None else sorted(self.nodes),
            "edges": self.edges,
        }


@dataclass(frozen=True)
class FeatureEditSet:
    """Features that change, and edges that come and go.

    Attributes:
        changes: Node, name of the feature, and what it becomes: a place of its block or a value; in order.
        edges: The edges.
        cost: What all of it costs together.
    """

    changes: tuple[tuple[int, str, float], ...]
    edges: EditSet
    cost: int

    def __len__(self) -> int:
        """Number of edits."""
        return len(self.changes) + len(self.edges)

    def __str__(self) -> str:
        """In short."""
        told = [f"{name}({node})→{value:g}" for node, name, value in self.changes]
        return " ".join([*told, *([str(self.edges)] if len(self.edges) else [])]) or "no edit"

    @property
    def added(self) -> frozenset[Edge]:
        """The edges that come."""
        return self.edges.added

    @property
    def removed(self) -> frozenset[Edge]:
        """The edges that go."""
        return self.edges.removed

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        changes = [list(each) for each in self.changes]
        return {**self.edges.to_dict(), "changes": changes, "cost": self.cost}

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> FeatureEditSet:
        """The inverse of `to_dict`."""
        plain = dict(payload)
        own = {key: plain.pop(key, None) for key in ("changes", "cost")}
        saved = read_settings(_Saved, own, where="saved edits of features", error=EditError)
        return cls(tuple(saved.changes), EditSet.from_dict(plain), saved.cost)


@dataclass(frozen=True)
class _Saved:
    """What `FeatureEditSet.to_dict` gives beside edges."""

    __pydantic_config__ = STRICT

    changes: tuple[tuple[int, str, float], ...]
    cost: int
