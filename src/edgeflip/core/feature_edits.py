"""Features that change, alone or with edges that come and go: in one search and one ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from edgeflip.core.batching import assemble
from edgeflip.core.brute_force import keeps_limits_plainly
from edgeflip.core.candidates import PAD
from edgeflip.core.constraint_words import in_words
from edgeflip.core.constraints import FREE, Constraints, stays_connected
from edgeflip.core.edits import EdgeFill, EditSet
from edgeflip.core.feature_moves import FeatureEditSet, FeatureMoves
from edgeflip.core.fill_json import fill_from_dict, fill_to_dict
from edgeflip.core.graph_json import graph_from_dict, graph_to_dict
from edgeflip.core.graphs import PairSpace, fingerprint
from edgeflip.core.move_levels import MoveLevel, costs_plainly, sorted_rows
from edgeflip.core.names import edits_in_words, node_names
from edgeflip.core.pair_edits import PairEdits
from edgeflip.errors import ArtifactError, ConstraintError, EditError
from edgeflip.support import STRICT, read_settings


@dataclass(frozen=True, eq=False)
class FeatureEdits:
    """Features of nodes that change, and edges that come and go where that is allowed.

    Ids of edges are those of their pairs; a feature that gets a value follows them. Build it with
    `FeatureEdits.of`.

    Attributes:
        pairs: The graph and the numbering of its node pairs.
        moves: Which features may change.
        constraints: What may change; a frozen node keeps its features, too.
        fill: The attributes of added edges.
        lost_rules: Names of rules in Python that a saved space had.

    Example:
        >>> edge_index = torch.tensor([[0, 1], [1, 0]])
        >>> graph = Data(x=torch.tensor([[1.0, 0.0], [0.0, 1.0]]), edge_index=edge_index)
        >>> space = FeatureEdits.of(graph, FeatureMoves(blocks={"kind": (0, 1)}, edges=1))
        >>> [str(each) for each in space.edits(space.allowed[:, None])]
        ['-(0, 1)', 'kind(0)→1', 'kind(1)→0']
    """

    pairs: PairSpace
    moves: FeatureMoves
    constraints: Constraints = FREE
    fill: EdgeFill | None = None
    lost_rules: tuple[str, ...] = ()

    kind: ClassVar[str] = "features"

    @classmethod
    def of(
        cls,
        graph: Data,
        moves: FeatureMoves,
        constraints: Constraints = FREE,
        fill: EdgeFill | None = None,
    ) -> FeatureEdits:
        """The edits of a graph.

        Raises:
            GraphError: If the moves do not fit its features.
            ConstraintError: If nothing may change.
        """
        moves.check(graph.x)
        space = cls(PairSpace.of(graph), moves, constraints, fill)
        constraints.check_nodes(space.pairs)
        if moves.edges is not None:
            PairEdits.of(graph, constraints, fill)
        if not len(space.allowed) or not space.max_cost:
            raise ConstraintError(
                "expected at least one feature or edge that may change, got none; allow more."
            )
        return space

    def __repr__(self) -> str:
        """The size of the graph and what may change."""
        return f"FeatureEdits({self.pairs!r}, {', '.join(self.moves.names)})"

    @property
    def input(self) -> Data:
        """The graph; never changed."""
        return self.pairs.graph

    @cached_property
    def _edges(self) -> PairEdits | None:
        """The edges that may come and go; none where edges stay."""
        if self.moves.edges is None:
            return None
        # What edits cost together is limited here, whatever they change.
        own = replace(self.constraints, max_edits=None)
        return PairEdits(self.pairs, own, self.fill)

    @property
    def _first(self) -> int:
        """The first id of a feature."""
        return self.pairs.num_pairs

    @cached_property
    def _wide(self) -> int:
        return max((len(self.moves.values(name)) for name in self.moves.names), default=1)

    @cached_property
    def _table(self) -> dict[int, tuple[int, str, float]]:
        """Every change of a feature that may be made, by id."""
        x, moves, frozen = self.input.x, self.moves, self.constraints.frozen_nodes
        region, names = self.constraints.within, moves.names
        found: dict[int, tuple[int, str, float]] = {}
        for node in range(self.pairs.num_nodes):
            outside = region is not None and node not in region
            if node in frozen or outside or (moves.nodes is not None and node not in moves.nodes):
                continue
            for place, name in enumerate(names):
                slot = node * len(names) + place
                if name in moves.blocks:
                    now = float(x[node, list(moves.blocks[name])].argmax())
                else:
                    now = float(x[node, moves.grids[name].column])
                for index, value in enumerate(moves.values(name)):
                    if abs(value - now) > 1e-6 * max(1.0, abs(now)):
                        found[self._first + slot * self._wide + index] = (node, name, value)
        return found

    @cached_property
    def groups(self) -> Mapping[str, Tensor]:
        """Ids of edges that may go and come, and of changes by the name of the feature."""
        edges = dict(self._edges.groups) if self._edges is not None else {}
        for name in self.moves.names:
            ids = [id_ for id_, (_, own, _) in self._table.items() if own == name]
            edges[name] = torch.tensor(ids, dtype=torch.long)
        return edges

    @cached_property
    def allowed(self) -> Tensor:
        """Ids of the moves that may be made, ascending [moves]."""
        ids = [torch.empty(0, dtype=torch.long), *self.groups.values()]
        return torch.cat(ids).sort().values

    @property
    def max_cost(self) -> int:
        """What the largest allowed set may cost."""
        slots = len({(node, name) for node, name, _ in self._table.values()})
        price = max((self.moves.price(name) for name in self.moves.names), default=1)
        whole = slots * price
        if self._edges is not None:
            whole += self._edges.limits.max_edits * (self.moves.edges or 1)
        most = self.constraints.max_edits
        return whole if most is None else min(most, whole)

    @property
    def combines_freely(self) -> bool:
        """A feature takes one value at a time."""
        return False

    @property
    def has_rules(self) -> bool:
        """Whether the constraints have rules in Python that `check` does not ask."""
        return bool(self.constraints.own_rules)

    @property
    def conditions(self) -> str:
        """The constraints in words, with the names of lost rules; empty where there are none."""
        return in_words(self.constraints, self.lost_rules)

    def slots(self, ids: Tensor) -> Tensor:
        """The pair, or the feature of a node, that each move changes."""
        slot = self._first + (ids - self._first) // self._wide
        return torch.where(ids < self._first, ids, slot)

    @cached_property
    def _prices(self) -> Tensor:
        own = [self.moves.price(name) for name in self.moves.names] or [1]
        return torch.tensor(own)

    def costs(self, ids: Tensor) -> Tensor:
        """What each move costs, 0 for padding."""
        place = (ids - self._first).clamp(min=0) // self._wide % max(1, len(self.moves.names))
        price = torch.where(ids < self._first, self.moves.edges or 1, self._prices[place])
        return torch.where(ids == PAD, 0, price)

    def normalise(self, rows: Tensor) -> Tensor:
        """Rows sorted; a move that is named twice is made once."""
        return sorted_rows(rows)

    def check(self, rows: Tensor) -> Tensor:
        """Which sets are within the limits [rows]."""
        ordered = sorted_rows(rows)
        used = ordered != PAD
        fine = (torch.isin(ordered, self.allowed) | ~used).all(dim=1) & used.any(dim=1)
        slots = self.slots(ordered)
        fine &= ~((slots[:, 1:] == slots[:, :-1]) & used[:, 1:]).any(dim=1)
        fine &= self.costs(ordered).sum(dim=1) <= self.max_cost
        edges = self._edge_part(ordered)
        some = fine & (edges != PAD).any(dim=1)
        if self._edges is not None and bool(some.any()):
            fine[some] = self._edges.check(edges[some])
        return fine

    def _edge_part(self, rows: Tensor) -> Tensor:
        """The edges of rows, sorted, padded last."""
        return torch.where(rows < self._first, rows, PAD).sort(dim=1, descending=True).values

    def rules_allow(self, row: Tensor) -> bool:
        """Whether every rule accepts a set."""
        return self._rules.rules_allow(self.input, self.edits(row[None])[0])

    @cached_property
    def _rules(self) -> Constraints:
        return Constraints(rules=self.constraints.own_rules)

    def level(self, cost: int) -> MoveLevel:
        """All sets of a cost."""
        ids = self.allowed if cost <= self.max_cost else self.allowed[:0]
        return MoveLevel.of(cost, ids, self.costs(ids), lambda rows: rows)

    def plainly(self, cost: int) -> Iterator[FeatureEditSet]:
        """The same, written apart."""
        if cost > self.max_cost:
            return
        singles = {
            place: self.edits(id_.reshape(1, 1))[0] for place, id_ in enumerate(self.allowed)
        }
        prices = {
            place: (self.moves.edges or 1) if each.edges else self.moves.price(each.changes[0][1])
            for place, each in singles.items()
        }
        for chosen in costs_plainly(prices, cost):
            parts = [singles[place] for place in chosen]
            changes = [change for each in parts for change in each.changes]
            if len({(node, name) for node, name, _ in changes}) < len(changes):
                continue
            added = frozenset[Any]().union(*(each.added for each in parts))
            removed = frozenset[Any]().union(*(each.removed for each in parts))
            edges = EditSet(added=added, removed=removed)
            own = replace(self.constraints, max_edits=None)
            if len(edges) and not keeps_limits_plainly(self.input, own, edges):
                continue
            yield FeatureEditSet(tuple(sorted(changes)), edges, cost)

    def plainly_allows(self, edits: Any) -> bool:
        """Whether limits and rules allow a set."""
        own = replace(self.constraints, max_edits=None)
        fine = not len(edits.edges) or keeps_limits_plainly(self.input, own, edits.edges)
        within = edits.cost <= self.max_cost
        return fine and within and self._rules.rules_allow(self.input, edits)

    def _features(self, rows: Tensor) -> Tensor:
        """The features after each set [rows, nodes, columns]."""
        after: Tensor = self.input.x.repeat(len(rows), 1, 1)
        row, column = (rows >= self._first).nonzero(as_tuple=True)
        for place, id_ in zip(row.tolist(), rows[row, column].tolist(), strict=True):
            node, name, value = self._change(id_)
            if name in self.moves.blocks:
                columns = list(self.moves.blocks[name])
                after[place, node, columns] = 0
                after[place, node, columns[int(value)]] = 1
            else:
                after[place, node, self.moves.grids[name].column] = value
        return after

    def _change(self, id_: int) -> tuple[int, str, float]:
        slot, index = divmod(id_ - self._first, self._wide)
        node, place = divmod(slot, len(self.moves.names))
        name = self.moves.names[place]
        return node, name, self.moves.values(name)[index]

    def apply(self, rows: Tensor) -> list[Data]:
        """The edited graphs; what edits do not change is the graph's own, not a copy."""
        graphs = PairEdits(self.pairs, FREE, self.fill).apply(self._edge_part(rows))
        for graph, x in zip(graphs, self._features(rows), strict=True):
            graph.x = x
        return graphs

    def edited(self, edits: Any) -> Data:
        """The graph after the edits, a copy."""
        (graph,) = self.apply(self.row(edits)[None])
        copied: Data = graph.clone()
        return copied

    def batch(self, rows: Tensor, device: torch.device | None = None) -> Batch:
        """All edited graphs as one block-diagonal batch."""
        batch = assemble(self.pairs, self._edge_part(rows), fill=self.fill, device=device)
        batch.x = self._features(rows).flatten(0, 1).to(batch.edge_index.device)
        return batch

    def edits(self, rows: Tensor) -> list[FeatureEditSet]:
        """Rows as edits."""
        edges = PairEdits(self.pairs).edits(self._edge_part(rows))
        costs = self.costs(rows).sum(dim=1).tolist()
        found = []
        for row, own, cost in zip(rows.tolist(), edges, costs, strict=True):
            changes = sorted(self._change(id_) for id_ in row if id_ >= self._first)
            found.append(FeatureEditSet(tuple(changes), own, cost))
        return found

    def in_words(self, edits: FeatureEditSet) -> str:
        """What edits do, as the subject of a sentence."""
        names = node_names(self.input)
        told = [
            f"setting {name} of {names[node]} to {value:g}" for node, name, value in edits.changes
        ]
        if len(edits.edges) or not told:
            told.append(edits_in_words(self.input, edits.edges))
        *first, last = told
        return f"{', '.join(first)} and {last}" if first else last

    def row(self, edits: FeatureEditSet) -> Tensor:
        """Edits as ids, checked against the graph.

        Raises:
            EditError: If one of them is none of the moves.
        """
        if not isinstance(edits, FeatureEditSet):
            raise EditError(
                f"expected edits of features, got {type(edits).__name__}; take them from "
                "answer.counterfactuals."
            )
        known = {change: id_ for id_, change in self._table.items()}
        wrong = [change for change in edits.changes if change not in known]
        if wrong:
            raise EditError(
                f"expected changes that are allowed, got {wrong[0]}; correct the edits."
            )
        own = torch.tensor([known[change] for change in edits.changes], dtype=torch.long)
        return torch.cat([own, PairEdits(self.pairs).row(edits.edges)])

    def read(self, payload: Mapping[str, Any]) -> FeatureEditSet:
        """Edits from their plain form; they must be moves of the graph."""
        edits = FeatureEditSet.from_dict(payload)
        if int(self.costs(self.row(edits)).sum()) != edits.cost:
            raise EditError(f"expected edits of another cost, got {edits.cost}; correct the file.")
        return edits

    def on(self, noisy: Data, rows: Tensor) -> tuple[FeatureEdits, Tensor]:
        """The same on a noisy copy: edges that the noise has toggled already are left out of the rows."""
        copy = FeatureEdits(PairSpace.of(noisy), self.moves, FREE, self.fill)
        pair, ids = rows < self._first, rows.clamp(min=0, max=max(0, self._first - 1))
        same = self.pairs.is_edge(ids) == copy.pairs.is_edge(ids)
        return copy, sorted_rows(torch.where(pair & ~same, PAD, rows))

    def under(self, constraints: Constraints | None) -> FeatureEdits:
        """The space with the rules that a saved one lost.

        Raises:
            ConstraintError: If rules are missing, or the constraints are others.
        """
        edges = PairEdits(self.pairs, self.constraints, self.fill, lost_rules=self.lost_rules)
        found = edges.under(constraints).constraints
        return replace(self, constraints=found, lost_rules=())

    def to_dict(self) -> dict[str, Any]:
        """Graph, moves, constraints and fill; rules by name."""
        own = self.constraints.to_dict()
        return {
            "kind": self.kind,
            "graph": graph_to_dict(self.input),
            "fingerprint": fingerprint(self.input),
            "moves": self.moves.to_dict(),
            "constraints": {**own, "rules": [*own["rules"], *self.lost_rules]},
            "fill": fill_to_dict(self.fill),
        }

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`.

        Raises:
            ArtifactError: If it is incomplete, or the graph is not the one that was saved.
        """
        saved = read_settings(_SavedSpace, payload, where="a saved space", error=ArtifactError)
        graph = graph_from_dict(saved.graph)
        if fingerprint(graph) != saved.fingerprint:
            raise ArtifactError(
                "expected the graph that was explained, got one that is not the one (its fingerprint "
                "differs); explain it again."
            )
        plain = dict(saved.constraints)
        rules = plain.pop("rules", [])
        lost = tuple(name for name in rules if name != stays_connected.__name__)
        constraints = Constraints.from_dict({**plain, "rules": []})
        moves = read_settings(
            FeatureMoves, saved.moves, where="the moves of a saved space", error=ArtifactError
        )
        space = cls(PairSpace.of(graph), moves, constraints, fill_from_dict(saved.fill), lost)
        moves.check(graph.x)
        constraints.check_nodes(space.pairs)
        return space


@dataclass(frozen=True)
class _SavedSpace:
    """What `FeatureEdits.to_dict` gives."""

    __pydantic_config__ = STRICT

    kind: str
    graph: Mapping[str, Any]
    fingerprint: str
    moves: Mapping[str, Any]
    constraints: Mapping[str, Any]
    fill: Any = None
