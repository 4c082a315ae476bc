"""Edges that come and go: the space whose moves toggle node pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import torch
from pydantic import Field
from torch import Tensor
from torch_geometric.data import Batch, Data

from edgeflip.core.batching import assemble, edited_cells
from edgeflip.core.brute_force import edit_sets_plainly, keeps_limits_plainly
from edgeflip.core.candidates import PAD, cancelled
from edgeflip.core.combinatorics import PairLevel
from edgeflip.core.constraint_words import in_short, in_words
from edgeflip.core.constraints import FREE, AllowedEdits, Constraints, stays_connected
from edgeflip.core.edits import EdgeFill, EditSet, check_fill, toggle_pairs
from edgeflip.core.fill_json import fill_from_dict, fill_to_dict
from edgeflip.core.graph_json import graph_from_dict, graph_to_dict
from edgeflip.core.graphs import Edge, PairSpace, fingerprint
from edgeflip.core.missing import TABLE_LIMIT
from edgeflip.core.names import Phrase, edge_noun, edit_phrases, edits_in_words, node_noun
from edgeflip.core.parts import more_parts
from edgeflip.errors import ArtifactError, ConstraintError, EditError, shown
from edgeflip.support import STRICT, read_settings


@dataclass(frozen=True, eq=False)
class PairEdits:
    """Edges that come and go: a move toggles an unordered node pair, and its id is the pair's.

    Build it with `PairEdits.of`, which checks graph, constraints and fill.

    Attributes:
        pairs: The graph and the numbering of its node pairs.
        constraints: What may change.
        fill: The attributes of added edges.
        lost_rules: Names of rules in Python that a saved space had; only their names were kept.
        lost_fill: Whether a saved space had a fill that older versions did not keep.

    Example:
        >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> space = PairEdits.of(path)
        >>> {name: ids.tolist() for name, ids in space.groups.items()}
        {'remove': [0, 2], 'add': [1]}
        >>> print(space.edits(torch.tensor([[0, 1]]))[0])
        +(0, 2) -(0, 1)
    """

    pairs: PairSpace
    constraints: Constraints = FREE
    fill: EdgeFill | None = None
    lost_rules: tuple[str, ...] = ()
    lost_fill: bool = False

    kind: ClassVar[str] = "pairs"

    @classmethod
    def of(
        cls, graph: Data, constraints: Constraints = FREE, fill: EdgeFill | None = None
    ) -> PairEdits:
        """The moves of a graph within constraints.

        Raises:
            GraphError: If the graph cannot be edited.
            ConstraintError: If nothing may change.
            EditError: If added edges have attributes that nobody gave.
        """
        space = cls(PairSpace.of(graph), constraints, fill)
        limits = space.limits
        if len(limits.missing) and limits.max_added:
            check_fill(graph, fill)
        return space

    def __repr__(self) -> str:
        """The size of the graph and what may change."""
        return f"PairEdits({self.pairs!r}, {self.constraints!r})"

    @cached_property
    def limits(self) -> AllowedEdits:
        """The constraints on this graph, as tensors."""
        return self.constraints.on(self.pairs)

    @property
    def input(self) -> Data:
        """The graph; never changed."""
        return self.pairs.graph

    @cached_property
    def groups(self) -> Mapping[str, Tensor]:
        """Ids of the edges that may go, `"remove"`, and of the pairs that may come, `"add"`."""
        limits = self.limits
        removals = limits.removals if limits.max_removed else limits.removals[:0]
        additions = limits.additions if limits.max_added else limits.additions[:0]
        return {"remove": removals, "add": additions}

    @property
    def num_allowed(self) -> int:
        """How many pairs may come or go; they are counted, not listed."""
        limits = self.limits
        removals = limits.removals.numel() if limits.max_removed else 0
        return removals + (len(limits.missing) if limits.max_added else 0)

    @property
    def is_large(self) -> bool:
        """Whether there are too many allowed pairs for tables over all of them."""
        return self.num_allowed > TABLE_LIMIT

    @cached_property
    def allowed(self) -> Tensor:
        """Ids of all pairs that may come or go, ascending."""
        return torch.cat(list(self.groups.values())).sort().values

    @property
    def max_cost(self) -> int:
        """At most this many edits."""
        return self.limits.max_edits

    @property
    def combines_freely(self) -> bool:
        """Whether limits on numbers alone decide which allowed edits may stand together."""
        return not (self.constraints.room or self.constraints.keep_connected)

    @property
    def has_rules(self) -> bool:
        """Whether the constraints have rules in Python that `check` does not ask."""
        return bool(self.constraints.own_rules)

    @property
    def conditions(self) -> str:
        """The constraints in words, with the names of lost rules; empty where there are none."""
        return in_words(self.constraints, self.lost_rules)

    @property
    def conditions_in_short(self) -> str:
        """The same for readers: `under the rules of chemistry`."""
        nouns = node_noun(self.input), edge_noun(self.input)
        return in_short(self.constraints, self.lost_rules, nouns)

    def limited(self, *, max_removed: int, max_added: int) -> PairEdits:
        """The same with at most so many edges that go and come."""
        return replace(
            self,
            constraints=self.constraints
            & Constraints(max_removed=max_removed, max_added=max_added),
        )

    def slots(self, ids: Tensor) -> Tensor:
        """Every pair is a slot of its own."""
        return ids

    def costs(self, ids: Tensor) -> Tensor:
        """1 for every edit."""
        return (ids != PAD).long()

    def normalise(self, rows: Tensor) -> Tensor:
        """Rows sorted; a pair that is toggled twice is not toggled."""
        return cancelled(rows)

    def check(self, rows: Tensor) -> Tensor:
        """Which rows keep every limit [rows]."""
        return self.limits.check(rows)

    def rules_allow(self, row: Tensor) -> bool:
        """Whether every rule accepts the edits of a row."""
        return self.constraints.rules_allow(self.input, self.edits(row[None])[0])

    def level(self, cost: int) -> PairLevel:
        """All edit sets of a size within the limits on numbers and pairs."""
        limits = self.limits
        limit = cost if cost <= limits.max_edits else -1
        return PairLevel.of(
            cost,
            limits.removals,
            limits.missing.listed,
            max_removed=min(limits.max_removed, limit),
            max_added=min(limits.max_added, limit),
        )

    def plainly(self, cost: int) -> Iterator[EditSet]:
        """The same, written apart."""
        return edit_sets_plainly(self.input, self.constraints, cost)

    def plainly_allows(self, edits: Any) -> bool:
        """Whether the edits keep every limit, and every rule accepts them."""
        limits = self.constraints
        return keeps_limits_plainly(self.input, limits, edits) and limits.rules_allow(
            self.input, edits
        )

    def disconnects(self, rows: Tensor) -> Tensor:
        """Which edits leave the graph in more parts than it has [rows]."""
        return more_parts(self.pairs, rows)

    def apply(self, rows: Tensor) -> list[Data]:
        """The edited graphs; what edits do not change is the graph's own, not a copy."""
        return toggle_pairs(self.pairs, rows, fill=self.fill)

    def edited(self, edits: Any) -> Data:
        """The graph after the edits, a copy."""
        done: Data = edits.apply(self.input, fill=self.fill)
        return done

    def batch(self, rows: Tensor, device: torch.device | None = None) -> Batch:
        """All edited graphs as one block-diagonal batch."""
        return assemble(self.pairs, rows, fill=self.fill, device=device)

    def cells(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Where the adjacency matrices of edited graphs differ from the graph's own, and how."""
        return edited_cells(self.pairs, rows)

    def edits(self, rows: Tensor) -> list[EditSet]:
        """Rows as edit sets."""
        pairs, ids = self.pairs, rows.clamp(min=0)
        columns = zip(
            (rows != PAD).tolist(),
            pairs.is_edge(ids).tolist(),
            *pairs.ends(ids).tolist(),
            strict=True,
        )
        found = []
        for row in columns:
            added: list[Edge] = []
            removed: list[Edge] = []
            for used, exists, u, v in zip(*row, strict=True):
                if used:
                    (removed if exists else added).append((u, v))
            found.append(EditSet.of_pairs(added, removed))
        return found

    def in_words(self, edits: EditSet) -> str:
        """What edits do, as the subject of a sentence."""
        return edits_in_words(self.input, edits)

    def phrases(self, edits: EditSet) -> list[Phrase]:
        """The same in pieces, with the names of edges apart."""
        return edit_phrases(self.input, edits)

    def row(self, edits: EditSet) -> Tensor:
        """An edit set as pair ids, checked against the graph.

        Raises:
            EditError: If an edge to add is there, or one to remove is not.
        """
        pairs = self.pairs
        for edges, exists in ((edits.added, False), (edits.removed, True)):
            if bool((pairs.is_edge(pairs.ids_of(sorted(edges))) != exists).any()):
                verb = "remove that exist" if exists else "add that are not there yet"
                raise EditError(f"expected edges to {verb}, got {edits}; correct the edits.")
        return pairs.ids_of(edits.edges)

    def read(self, payload: Mapping[str, Any]) -> EditSet:
        """An edit set from its plain form; its nodes must be nodes of the graph."""
        edits = EditSet.from_dict(payload)
        self.pairs.ids_of(edits.edges)
        return edits

    def on(self, noisy: Data, rows: Tensor) -> tuple[PairEdits, Tensor]:
        """The same on a noisy copy: what the noise has done already is left out of the rows."""
        copy = PairEdits(PairSpace.of(noisy), FREE, self.fill)
        ids = rows.clamp(min=0)
        kept = (rows != PAD) & (self.pairs.is_edge(ids) == copy.pairs.is_edge(ids))
        return copy, cancelled(torch.where(kept, rows, PAD))

    def under(self, constraints: Constraints | None) -> PairEdits:
        """The space with the rules that a saved one lost.

        Raises:
            ConstraintError: If rules are missing, or the constraints are others.
        """
        if self.lost_fill:
            raise ConstraintError(
                "expected an answer that knows the attributes of added edges, got one that an older edgeflip "
                "saved without them; explain the graph again."
            )
        if constraints is None:
            if self.lost_rules:
                raise ConstraintError(
                    "expected the constraints of the call, of whose rules only the names were kept "
                    f"({', '.join(self.lost_rules)}), got none; pass constraints=."
                )
            return self
        if not isinstance(constraints, Constraints):
            raise ConstraintError(
                f"expected the constraints that the answer was made under, got {shown(constraints)}; pass "
                "those of the call to explain."
            )
        if constraints.to_dict() != self.constraints_to_dict():
            raise ConstraintError(
                "expected the constraints that the answer was made under, got others; pass those of the "
                "call to explain."
            )
        return replace(self, constraints=constraints, lost_rules=())

    def constraints_to_dict(self) -> dict[str, Any]:
        """The constraints as plain values, with the names of lost rules."""
        own = self.constraints.to_dict()
        return {**own, "rules": [*own["rules"], *self.lost_rules]}

    def to_dict(self) -> dict[str, Any]:
        """Graph, constraints and fill; rules by name.

        Raises:
            ArtifactError: If the fill is a function, which no file can keep.
        """
        return {
            "kind": self.kind,
            "graph": graph_to_dict(self.input),
            "fingerprint": fingerprint(self.input),
            "constraints": self.constraints_to_dict(),
            "fill": fill_to_dict(self.fill),
            "fill_kept": not self.lost_fill,
        }

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`.

        Raises:
            ArtifactError: If it is incomplete, or the graph is not the one that was saved.
        """
        saved = read_settings(_SavedPairs, payload, where="a saved space", error=ArtifactError)
        graph = graph_from_dict(saved.graph)
        pairs = PairSpace.of(graph)
        if fingerprint(graph) != saved.fingerprint:
            raise ArtifactError(
                "expected the graph that was explained, got one that is not the one (its fingerprint "
                "differs); explain it again."
            )
        plain = asdict(saved.constraints)
        lost = tuple(name for name in plain.pop("rules") if name != stays_connected.__name__)
        constraints = Constraints.from_dict(plain)
        constraints.check_nodes(pairs)
        return cls(
            pairs,
            constraints,
            fill_from_dict(saved.fill),
            lost_rules=lost,
            lost_fill=not saved.fill_kept,
        )


_Count = Annotated[int, Field(ge=0)]
_Pair = tuple[_Count, _Count]


@dataclass(frozen=True)
class _SavedConstraints:
    """What `Constraints.to_dict` gives."""

    __pydantic_config__ = STRICT

    allow_additions: bool
    allow_removals: bool
    max_added: _Count | None
    max_removed: _Count | None
    max_edits: _Count | None
    frozen_nodes: tuple[_Count, ...]
    frozen_edges: tuple[_Pair, ...]
    forbidden_pairs: tuple[_Pair, ...]
    room: tuple[_Pair, ...]
    keep_connected: bool
    rules: tuple[str, ...]
    within: tuple[_Count, ...] | None = None


@dataclass(frozen=True)
class _SavedPairs:
    """What `PairEdits.to_dict` gives."""

    __pydantic_config__ = STRICT

    kind: str
    graph: Mapping[str, Any]
    fingerprint: str
    constraints: _SavedConstraints
    fill: Any = None
    fill_kept: bool = True
