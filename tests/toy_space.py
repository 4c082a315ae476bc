"""Six switches with three positions each: a space whose moves are no node pairs, with a goal about a value.

Nothing here is known to the engine. A fresh process that imports this file can read answers about it.
"""

from __future__ import annotations

import hashlib
import itertools
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from edgeflip.core import PAD, register_space
from edgeflip.errors import ConstraintError, EditError
from edgeflip.explainers import CounterfactualExplainer
from edgeflip.oracle import Goal, ValueOracle, register_goal
from edgeflip.search import Ended, Problem, Search

SWITCHES, POSITIONS = 6, 3


# What is edited.


@dataclass(frozen=True)
class Settings:
    """Switches and their new positions.

    Attributes:
        moves: Pairs of switch and position, in order.
        cost: What they cost together.
    """

    moves: tuple[tuple[int, int], ...]
    cost: int

    def __len__(self) -> int:
        return len(self.moves)

    def __str__(self) -> str:
        return ", ".join(f"switch {switch} to {position}" for switch, position in self.moves)

    def to_dict(self) -> dict[str, Any]:
        return {"moves": [list(move) for move in self.moves], "cost": self.cost}


@dataclass(frozen=True)
class Limits:
    """What may be set.

    Attributes:
        forbidden: Ids of moves that may not be made.
        max_cost: What a set of moves may cost at most.
        rule: A rule in Python, which is saved by name only.
    """

    forbidden: frozenset[int] = frozenset()
    max_cost: int = 3 * SWITCHES
    rule: Callable[[Settings], bool] | None = None

    def to_dict(self) -> dict[str, Any]:
        name = None if self.rule is None else self.rule.__name__
        return {"forbidden": sorted(self.forbidden), "max_cost": self.max_cost, "rule": name}


class SwitchLevel:
    """All allowed sets of one cost, as a table."""

    def __init__(self, table: Tensor) -> None:
        self._table = table

    @property
    def count(self) -> int:
        return len(self._table)

    def rows(self, ranks: Tensor) -> Tensor:
        return self._table[ranks]

    def draw(self, rng: random.Random) -> Tensor:
        return self._table[[rng.randrange(self.count) for _ in range(64)]]


@dataclass(frozen=True, eq=False)
class SwitchSpace:
    """A move sets one switch to another position; its id is `switch · 3 + position`.

    Attributes:
        input: The positions now, as `x` [switches, 1].
        prices: What each move costs, by id.
        limits: What may be set.
        lost_rule: Name of a rule that a saved space had.
    """

    input: Data
    prices: tuple[int, ...]
    limits: Limits = Limits()
    lost_rule: str | None = None

    kind: ClassVar[str] = "switches"

    @cached_property
    def now(self) -> Tensor:
        """Positions now [switches]."""
        now: Tensor = self.input.x[:, 0]
        return now

    @cached_property
    def allowed(self) -> Tensor:
        ids = torch.arange(SWITCHES * POSITIONS)
        other = self.now[ids // POSITIONS] != ids % POSITIONS
        return ids[other & ~torch.isin(ids, torch.tensor(sorted(self.limits.forbidden)))]

    @cached_property
    def groups(self) -> Mapping[str, Tensor]:
        higher = (self.allowed % POSITIONS) > self.now[self.allowed // POSITIONS]
        return {"up": self.allowed[higher], "down": self.allowed[~higher]}

    @property
    def max_cost(self) -> int:
        return int(self._table[1].max()) if len(self._table[1]) else 0

    @property
    def has_rules(self) -> bool:
        return self.limits.rule is not None

    def slots(self, ids: Tensor) -> Tensor:
        return torch.where(ids == PAD, PAD, ids // POSITIONS)

    def costs(self, ids: Tensor) -> Tensor:
        return torch.tensor([*self.prices, 0])[ids]

    def normalise(self, rows: Tensor) -> Tensor:
        """Sorted; a move that is made twice is made once."""
        ordered = rows.sort(dim=1, descending=True).values
        again = torch.zeros_like(ordered, dtype=torch.bool)
        again[:, 1:] = ordered[:, 1:] == ordered[:, :-1]
        return torch.where(again, PAD, ordered).sort(dim=1, descending=True).values

    def check(self, rows: Tensor) -> Tensor:
        known = torch.isin(rows, self.allowed) | (rows == PAD)
        slots = self.slots(rows)
        twice = (slots[:, 1:] == slots[:, :-1]) & (slots[:, 1:] != PAD)
        cheap = self.costs(rows).sum(dim=1) <= self.limits.max_cost
        return known.all(dim=1) & ~twice.any(dim=1) & cheap & (rows != PAD).any(dim=1)

    def rules_allow(self, row: Tensor) -> bool:
        return self.plainly_allows(self.edits(row[None])[0])

    @cached_property
    def _table(self) -> tuple[Tensor, Tensor]:
        """All allowed sets, and what they cost."""
        choices = torch.tensor([-1, *range(POSITIONS)])
        chosen = torch.cartesian_prod(*[choices] * SWITCHES)
        ids = torch.where(chosen >= 0, torch.arange(SWITCHES) * POSITIONS + chosen, PAD)
        rows = self.normalise(ids)
        rows = rows[self.check(rows)]
        return rows, self.costs(rows).sum(dim=1)

    def level(self, cost: int) -> SwitchLevel:
        rows, costs = self._table
        return SwitchLevel(rows[costs == cost])

    def plainly(self, cost: int) -> Iterator[Settings]:
        """By `itertools`, without a tensor."""
        if cost > self.limits.max_cost:
            return
        now = self.input.x[:, 0].tolist()
        for positions in itertools.product(range(POSITIONS), repeat=SWITCHES):
            moves = tuple((s, p) for s, p in enumerate(positions) if p != now[s])
            ids = [switch * POSITIONS + position for switch, position in moves]
            barred = any(each in self.limits.forbidden for each in ids)
            if not barred and sum(self.prices[each] for each in ids) == cost:
                yield Settings(moves, cost)

    def plainly_allows(self, edits: Any) -> bool:
        return self.limits.rule is None or self.limits.rule(edits)

    def _positions(self, rows: Tensor) -> Tensor:
        """Positions after each set of moves [rows, switches]."""
        after = self.now.repeat(len(rows), 1)
        row, column = (rows != PAD).nonzero(as_tuple=True)
        ids = rows[row, column]
        after[row, ids // POSITIONS] = (ids % POSITIONS).to(after.dtype)
        return after

    def apply(self, rows: Tensor) -> list[Data]:
        index = self.input.edge_index
        return [Data(x=each[:, None], edge_index=index) for each in self._positions(rows)]

    def edited(self, edits: Any) -> Data:
        edited = self.input.clone()
        for switch, position in edits.moves:
            edited.x[switch, 0] = position
        return edited

    def batch(self, rows: Tensor, device: torch.device | None = None) -> Batch:
        batch = Batch(
            x=self._positions(rows).reshape(-1, 1),
            edge_index=self.input.edge_index,
            batch=torch.arange(len(rows)).repeat_interleave(SWITCHES),
        )
        return batch.to(device or "cpu")

    def edits(self, rows: Tensor) -> list[Any]:
        costs = self.costs(rows).sum(dim=1).tolist()
        return [
            Settings(tuple(sorted(divmod(e, POSITIONS) for e in row if e != PAD)), cost)
            for row, cost in zip(rows.tolist(), costs, strict=True)
        ]

    def in_words(self, edits: Settings) -> str:
        return f"setting {edits}"

    def row(self, edits: Any) -> Tensor:
        ids = torch.tensor([s * POSITIONS + p for s, p in edits.moves], dtype=torch.long)
        if not bool(torch.isin(ids, torch.arange(SWITCHES * POSITIONS)).all()):
            raise EditError(f"expected switches that are there, got {edits}; correct the edits.")
        return ids

    def read(self, payload: Mapping[str, Any]) -> Settings:
        return Settings(tuple((s, p) for s, p in payload["moves"]), payload["cost"])

    def on(self, noisy: Data, rows: Tensor) -> tuple[SwitchSpace, Tensor]:
        copy = SwitchSpace(noisy, self.prices)
        # A switch that the noise has set already needs no move.
        return copy, self.normalise(torch.where(torch.isin(rows, copy.allowed), rows, PAD))

    def under(self, constraints: Limits | None) -> SwitchSpace:
        if constraints is None and self.lost_rule is None:
            return self
        wanted = {**self.limits.to_dict(), "rule": self.lost_rule}
        if constraints is None or constraints.to_dict() != wanted:
            raise ConstraintError(f"expected limits with {wanted}, got {constraints}; pass those.")
        return replace(self, limits=constraints, lost_rule=None)

    def to_dict(self) -> dict[str, Any]:
        limits = self.limits.to_dict()
        limits["rule"] = limits["rule"] or self.lost_rule
        return {
            "kind": self.kind,
            "positions": self.now.tolist(),
            "prices": list(self.prices),
            "limits": limits,
        }

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> SwitchSpace:
        limits = payload["limits"]
        return cls(
            switches(payload["positions"]),
            tuple(payload["prices"]),
            Limits(frozenset(limits["forbidden"]), limits["max_cost"]),
            limits["rule"],
        )


def switches(positions: Sequence[float]) -> Data:
    """Switches in given positions."""
    return Data(
        x=torch.tensor(positions, dtype=torch.float)[:, None],
        edge_index=torch.empty(2, 0, dtype=torch.long),
    )


# What is wanted.


@dataclass(frozen=True)
class ValueAbove:
    """A value above a threshold.

    Attributes:
        before: The value on the input.
        threshold: What must be exceeded.
    """

    before: float
    threshold: float

    kind: ClassVar[str] = "value above"
    # A rise by this much counts as much as any.
    FULL: ClassVar[float] = 16.0

    @property
    def ceiling(self) -> float:
        return 1.0

    def reached(self, outputs: Tensor) -> Tensor:
        return outputs[:, 0] > self.threshold

    def margins(self, outputs: Tensor) -> Tensor:
        return outputs[:, :1] - self.threshold

    def fall(self, outputs: Tensor) -> Tensor:
        return ((outputs[:, 0] - self.before) / self.FULL).clamp(0, 1)

    def decidedness(self, outputs: Tensor) -> Tensor:
        return ((outputs[:, 0] - self.threshold) / self.FULL).clamp(0, 1)

    def describe(self, output: Sequence[float]) -> str:
        return f"{output[0]:.3f}"

    def row(self, before: Sequence[float], after: Sequence[float]) -> dict[str, Any]:
        return {"from": before[0], "to": after[0]}

    @property
    def wanted(self) -> str:
        return f"a value above {self.threshold}"

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "before": self.before, "threshold": self.threshold}

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> ValueAbove:
        return cls(payload["before"], payload["threshold"])


# Who is asked.


class Polynomial:
    """A random polynomial of the positions, with products of two and three of them.

    Coefficients are sixteenths, so that no value is rounded.
    """

    num_outputs = 1

    def __init__(self, seed: int) -> None:
        rng = random.Random(f"polynomial {seed}")
        self.terms = {
            chosen: rng.randint(-16, 16) / 16
            for degree in (1, 2, 3)
            for chosen in itertools.combinations(range(SWITCHES), degree)
            if degree < 3 or rng.random() < 0.3
        }

    def value(self, positions: Sequence[float]) -> float:
        """The value for some positions, without a tensor."""
        total = 0.0
        for chosen, factor in self.terms.items():
            for switch in chosen:
                factor *= positions[switch]
            total += factor
        return total

    def values(self, positions: Tensor) -> Tensor:
        """The same for many [inputs, switches] -> [inputs, 1]."""
        total = torch.zeros(len(positions))
        for chosen, factor in self.terms.items():
            total += factor * positions[:, list(chosen)].prod(dim=1)
        return total[:, None]

    def predict_values(self, graphs: Sequence[Data]) -> Tensor:
        return self.values(torch.stack([graph.x[:, 0] for graph in graphs]))

    def fingerprint(self) -> str:
        return hashlib.sha256(repr(self.terms).encode()).hexdigest()


class BatchedPolynomial(Polynomial):
    """One that answers whole blocks of moves, by way of the space's batches."""

    def predict_edits(self, space: SwitchSpace, rows: Tensor) -> Tensor:
        return self.values(space.batch(rows).x.view(-1, SWITCHES))


# Who searches.


@dataclass(frozen=True)
class AskSettings:
    """Settings of `AskEverything`.

    Attributes:
        large_only: Whether only sets of three moves or more are asked about.
        minimal: Whether answers with needless moves are left out.
        certify: How many sets a certificate may try.
    """

    large_only: bool = False
    minimal: bool = False
    certify: int = 0


class AskEverything(CounterfactualExplainer[AskSettings]):
    """Asks about all moves, then about all sets, cost by cost; knows nothing of what it edits."""

    name = "ask-everything"
    config_type = AskSettings
    learns = False
    spaces = None
    goals = None

    def _wants_minimal(self) -> bool:
        return self.config.minimal

    def _certifies(self) -> int:
        return self.config.certify

    def _search(self, search: Search[Any, Any]) -> Ended | None:
        space = search.space
        if not self.config.large_only:
            search.ask(space.allowed[:, None])
        for cost in range(1, space.max_cost + 1):
            level = space.level(cost)
            rows = level.rows(torch.arange(level.count))
            if self.config.large_only:
                rows = rows[(rows != PAD).sum(dim=1) >= 3]
            for part in rows.split(100):
                search.ask(part)
        return None


# One problem of each seed.


def polynomial(seed: int) -> Polynomial:
    """The oracle of a seed; that of every other seed answers blocks of moves."""
    return (Polynomial, BatchedPolynomial)[seed % 2](seed)


def problem(seed: int, rule: Callable[[Settings], bool] | None = None) -> Problem[Any, Any]:
    """A random input, limits and goal; the goal of some seeds cannot be reached."""
    rng = random.Random(f"switches {seed}")
    prices = tuple(rng.randint(1, 3) for _ in range(SWITCHES * POSITIONS))
    forbidden = frozenset(rng.sample(range(SWITCHES * POSITIONS), rng.randint(0, 4)))
    graph = switches([rng.randrange(POSITIONS) for _ in range(SWITCHES)])
    space = SwitchSpace(graph, prices, Limits(forbidden, rng.randint(2, 7), rule))
    oracle = polynomial(seed)
    before = oracle.value(graph.x[:, 0].tolist())
    # Never hit exactly: values are sixteenths.
    threshold = before + rng.randint(0, 200) / 16 + 1 / 32
    output = oracle.predict_values([graph])[0]
    return Problem(space, ValueAbove(before, threshold), output, oracle, str(seed))


register_space(SwitchSpace.kind, SwitchSpace.from_dict)
register_goal(ValueAbove.kind, ValueAbove.from_dict)

_: Goal = ValueAbove(0.0, 1.0)
__: ValueOracle = Polynomial(0)
