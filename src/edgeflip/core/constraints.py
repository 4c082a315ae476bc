"""What may change: for graphs what "features to vary" and "permitted range" are for tables."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, TypeAlias

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core.constraint_words import in_words
from edgeflip.core.edits import EditSet
from edgeflip.core.graphs import Edge, PairSpace, edge_pairs
from edgeflip.core.missing import TABLE_LIMIT, MissingPairs, is_among
from edgeflip.core.parts import count_parts, more_parts
from edgeflip.errors import ConstraintError, EditError, shown
from edgeflip.support import check_fields

Rule: TypeAlias = Callable[[Data, EditSet], bool]
"""A test of a whole edit set on its input graph: true when the edits are allowed."""


@dataclass(frozen=True)
class Constraints:
    """Limits on the edits of one call to `explain`.

    Attributes:
        allow_additions: Whether edges may be added.
        allow_removals: Whether edges may be removed.
        max_added: At most this many additions, None for no limit.
        max_removed: At most this many removals, None for no limit.
        max_edits: At most this many edits in all, None for no limit.
        within: The nodes of a region: edges come and go only between two of them. None for everywhere.
        frozen_nodes: Nodes whose edges stay as they are.
        frozen_edges: Existing edges that must stay.
        forbidden_pairs: Pairs that must not become an edge.
        room: How many more edges than now a node may have, by node; nodes that are not named have
            no limit. For atoms this is their free valence.
        keep_connected: Whether the graph must not fall into more parts than it has.
        rules: Further tests, functions of graph and edits that return True when the edits are
            allowed. They are Python, so they are asked only about edit sets that flip the
            prediction, not about every candidate. `keep_connected` adds one, but is asked of all.

    Example:
        >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
        >>> keep = Constraints(allow_additions=False, frozen_edges=frozenset({(0, 1)}))
        >>> (
        ...     keep.allows(path, EditSet(removed={(1, 2)})),
        ...     keep.allows(path, EditSet(removed={(0, 1)})),
        ... )
        (True, False)
    """

    allow_additions: bool = True
    allow_removals: bool = True
    max_added: int | None = None
    max_removed: int | None = None
    max_edits: int | None = None
    within: frozenset[int] | None = None
    frozen_nodes: frozenset[int] = frozenset()
    frozen_edges: frozenset[Edge] = frozenset()
    forbidden_pairs: frozenset[Edge] = frozenset()
    room: Mapping[int, int] = field(default_factory=dict, hash=False)
    keep_connected: bool = False
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        """Refuse limits that cannot be met and store collections in one form."""
        check_fields(
            self,
            error=ConstraintError,
            advice="write max_edits=3, frozen_nodes={3}, within=range(9), frozen_edges={(0, 1)}, room={3: 1}",
        )
        for name in ("max_added", "max_removed", "max_edits"):
            limit = getattr(self, name)
            if limit is not None and limit < 0:
                raise ConstraintError(
                    f"expected {name} as a number of edges (0 or more) or None, got {limit!r}."
                )
        if min(self.room.values(), default=0) < 0:
            raise ConstraintError(
                f"expected room of 0 or more edges at every node, got {min(self.room.values())}; correct it."
            )
        for name in ("frozen_edges", "forbidden_pairs"):
            object.__setattr__(self, name, _sorted_pairs(getattr(self, name)))
        rules = (self.rules,) if callable(self.rules) else self.rules
        if not isinstance(rules, list | tuple) or not all(callable(rule) for rule in rules):
            raise ConstraintError(
                f"expected rules as functions of graph and edits, got {self.rules!r}; write rules=(rule,)."
            )
        rules = tuple(rules)
        if self.keep_connected and stays_connected not in rules:
            rules = (stays_connected, *rules)
        object.__setattr__(self, "rules", rules)

    def __repr__(self) -> str:
        """What differs from no constraints; of long collections how many there are."""
        parts = []
        for item in fields(self):
            value = getattr(self, item.name)
            if value == item.default or (item.name in ("room", "rules") and not value):
                continue
            if item.name == "rules":
                value = [getattr(rule, "__name__", type(rule).__name__) for rule in value]
            many = isinstance(value, frozenset | Mapping | list) and len(value) > 6
            parts.append(f"{item.name}={f'<{len(value)}>' if many else value}")
        return f"Constraints({', '.join(parts)})"

    def __and__(self, other: Constraints) -> Constraints:
        """Both at once: an edit set is allowed when each of the two allows it.

        Example:
            >>> both = Constraints(max_edits=3) & Constraints(max_edits=2, allow_additions=False)
            >>> both.max_edits, both.allow_additions
            (2, False)
        """
        limits = {}
        for name in ("max_added", "max_removed", "max_edits"):
            given = [getattr(each, name) for each in (self, other)]
            limits[name] = min((limit for limit in given if limit is not None), default=None)
        regions = [each.within for each in (self, other) if each.within is not None]
        nodes = {*self.room, *other.room}
        return Constraints(
            allow_additions=self.allow_additions and other.allow_additions,
            allow_removals=self.allow_removals and other.allow_removals,
            **limits,
            within=frozenset.intersection(*regions) if regions else None,
            frozen_nodes=self.frozen_nodes | other.frozen_nodes,
            frozen_edges=self.frozen_edges | other.frozen_edges,
            forbidden_pairs=self.forbidden_pairs | other.forbidden_pairs,
            room={
                node: min(each.room[node] for each in (self, other) if node in each.room)
                for node in nodes
            },
            keep_connected=self.keep_connected or other.keep_connected,
            rules=_distinct([*self.rules, *other.rules]),
        )

    def on(self, space: PairSpace) -> AllowedEdits:
        """These constraints on one graph, ready to check blocks of candidates."""
        return AllowedEdits.of(self, space)

    def check_nodes(self, space: PairSpace) -> None:
        """Refuse nodes and pairs that the graph does not have."""
        for name, nodes, what in (
            ("within", self.within or (), "a region of nodes"),
            ("frozen_nodes", self.frozen_nodes, "frozen nodes"),
            ("room", self.room, "room of nodes"),
        ):
            wrong = next((node for node in nodes if not 0 <= node < space.num_nodes), None)
            if wrong is not None:
                raise ConstraintError(
                    f"expected {what} in 0..{space.num_nodes - 1}, got {wrong}; correct {name}."
                )
        for name in ("frozen_edges", "forbidden_pairs"):
            for u, v in getattr(self, name):
                if not 0 <= u < v < space.num_nodes:
                    raise ConstraintError(
                        f"expected pairs of different nodes in 0..{space.num_nodes - 1} in {name}, "
                        f"got ({u}, {v}); correct the pair."
                    )
        kept = sorted(self.frozen_edges)
        missing = (~space.is_edge(space.ids_of(kept))).nonzero().flatten().tolist() if kept else []
        if missing:
            raise ConstraintError(
                f"expected frozen_edges that exist, got {kept[missing[0]]}, which is no edge; name pairs "
                "that must not become one in forbidden_pairs."
            )

    def allows(self, graph: Data, edits: EditSet) -> bool:
        """Whether an edit set fits a graph and may be made to it."""
        space = PairSpace.of(graph)
        added, removed = space.ids_of(edits.added), space.ids_of(edits.removed)
        if bool(space.is_edge(added).any()) or not bool(space.is_edge(removed).all()):
            return False
        toggles = torch.cat([added, removed])[None]
        return bool(self.on(space).check(toggles)[0]) and self.rules_allow(graph, edits)

    def rules_allow(self, graph: Data, edits: Any) -> bool:
        """Whether every rule accepts the edits."""
        return all(_ask(rule, graph, edits) for rule in self.rules)

    @property
    def own_rules(self) -> tuple[Rule, ...]:
        """The rules that no limit stands for: all but that of `keep_connected`."""
        if not self.keep_connected:
            return self.rules
        return tuple(rule for rule in self.rules if rule is not stays_connected)

    def describe(self) -> str:
        """What they ask, in words that go on after "with"; empty where they ask nothing.

        Example:
            >>> print(Constraints(frozen_nodes=range(25), max_edits=2).describe())
            at most 2 edits and nodes 0–24 frozen
        """
        return in_words(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Constraints:
        """The inverse of `to_dict`, for constraints without rules in Python.

        Raises:
            ConstraintError: If there are such rules: only their names were kept.

        Example:
            >>> Constraints.from_dict(Constraints(max_edits=2, room={3: 1}).to_dict()).room
            {3: 1}
        """
        if not isinstance(plain, Mapping):
            raise ConstraintError(
                f"expected constraints written by to_dict, got {shown(plain)}; give such a table."
            )
        values = dict(plain)
        rules = values.pop("rules", ())
        if isinstance(rules, list | tuple):
            own = stays_connected.__name__
            rules = [rule for rule in rules if not (isinstance(rule, str) and rule == own)]
        # What is no list may have no truth either, such as a tensor.
        if not isinstance(rules, list | tuple) or rules:
            raise ConstraintError(
                f"expected constraints without rules in Python, got {shown(rules)}; give the constraints "
                "themselves, only the names of their rules were kept."
            )
        try:
            return cls(**values)
        except TypeError as error:
            raise ConstraintError(
                f"expected constraints written by to_dict, got something else ({error})."
            ) from error

    def to_dict(self) -> dict[str, Any]:
        """What JSON can hold: limits and pairs as they are, rules by name."""
        plain: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name == "rules":
                value = [getattr(rule, "__name__", type(rule).__name__) for rule in value]
            elif isinstance(value, Mapping):
                value = [list(entry) for entry in sorted(value.items())]
            elif isinstance(value, frozenset):
                value = sorted(
                    list(entry) if isinstance(entry, tuple) else entry for entry in value
                )
            plain[item.name] = value
        return plain


@dataclass(frozen=True, eq=False)
class AllowedEdits:
    """Constraints on one graph, as tensors.

    Attributes:
        missing: The pairs that may be added, described; a large graph has too many to list.
        removals: Ids of the edges that may be removed, ascending.
        max_added: At most this many additions.
        max_removed: At most this many removals.
        max_edits: At most this many edits.
    """

    space: PairSpace
    missing: MissingPairs
    removals: Tensor
    max_added: int
    max_removed: int
    max_edits: int
    _everything: bool
    _open: Tensor | None = None
    _room: Tensor | None = None
    _connected: bool = False

    @classmethod
    def of(cls, constraints: Constraints, space: PairSpace) -> AllowedEdits:
        """Work out which pairs are open to edits."""
        constraints.check_nodes(space)
        missing, removals = _open_pairs(constraints, space)
        max_added = _limit(constraints.max_added, len(missing))
        max_removed = _limit(constraints.max_removed, removals.numel())
        max_edits = _limit(constraints.max_edits, max_added + max_removed)
        if not max_edits:
            raise ConstraintError(
                f"expected at least one edge that may come or go, got none of {space.num_pairs} node "
                "pairs; relax the constraints, or check that the graph is not complete or empty of edges."
            )
        everything = len(missing) + removals.numel() == space.num_pairs
        mask = None
        if not everything and space.num_pairs <= TABLE_LIMIT:
            mask = torch.zeros(space.num_pairs, dtype=torch.bool)
            mask[missing.ids] = True
            mask[removals] = True
        room = _room_of(constraints, space) if constraints.room else None
        whole = constraints.keep_connected
        return cls(
            space,
            missing,
            removals,
            max_added,
            max_removed,
            max_edits,
            everything,
            mask,
            room,
            whole,
        )

    @cached_property
    def additions(self) -> Tensor:
        """Ids of the pairs that may be added, ascending; a table, for graphs that are not large."""
        return self.missing.ids

    def are_open(self, ids: Tensor) -> Tensor:
        """Which pairs may come or go; any shape."""
        if self._open is not None:
            return self._open[ids]
        return self.missing.contain(ids) | is_among(ids, self.removals)

    def check(self, toggles: Tensor) -> Tensor:
        """Which candidates are allowed.

        Args:
            toggles: Pair ids of each candidate, -1 where a row is shorter [candidates, width].

        Returns:
            True where the candidate keeps every limit [candidates].
        """
        used = toggles >= 0
        if toggles.numel():
            lowest, highest = (int(value) for value in toggles.aminmax())
        else:
            lowest = highest = -1
        if lowest < -1 or highest >= self.space.num_pairs:
            wrong = toggles[(toggles < -1) | (toggles >= self.space.num_pairs)]
            raise EditError(
                f"expected ids of node pairs in 0..{self.space.num_pairs - 1}, and -1 where a row is "
                f"shorter, got {int(wrong[0])}; take them from space.allowed."
            )
        few = toggles.size(1) <= min(self.max_edits, self.max_added, self.max_removed)
        if few and self._everything and self._room is None and not self._connected:
            # Nothing is asked of so few edits but that there are some.
            return used.any(dim=1)
        ids = toggles.clamp(min=0)
        size = used.sum(dim=1)
        allowed = (size <= self.max_edits) & (size > 0)
        if self.max_added < toggles.size(1) or self.max_removed < toggles.size(1):
            removed = (self.space.is_edge(ids) & used).sum(dim=1)
            allowed &= (removed <= self.max_removed) & (size - removed <= self.max_added)
        if not self._everything:
            allowed &= (self.are_open(ids) | ~used).all(dim=1)
        if self._room is not None:
            allowed &= self._fits(ids, used)
        if self._connected:
            left = allowed.nonzero().flatten()
            allowed[left] = ~more_parts(self.space, toggles[left])
        return allowed

    def _fits(self, ids: Tensor, used: Tensor) -> Tensor:
        """Whether no node of a candidate gains more edges than it has room for [candidates]."""
        assert self._room is not None
        nodes = torch.cat(list(self.space.ends(ids)), dim=1)
        change = torch.where(self.space.is_edge(ids), -1, 1) * used
        same = nodes[:, :, None] == nodes[:, None, :]
        gained = (same * torch.cat([change, change], dim=1)[:, None, :]).sum(dim=2)
        fits: Tensor = ((gained <= self._room[nodes]) | ~torch.cat([used, used], dim=1)).all(dim=1)
        return fits


def stays_connected(graph: Data, edits: EditSet) -> bool:
    """Whether a graph has no more parts after the edits than before; a rule."""
    if not edits.removed:
        return True
    edges, nodes = edge_pairs(graph), int(graph.num_nodes or 0)
    return count_parts(nodes, (edges - edits.removed) | edits.added) <= count_parts(nodes, edges)


def _room_of(constraints: Constraints, space: PairSpace) -> Tensor:
    """How many more edges each node may have; more than there are pairs where there is no limit."""
    room = torch.full((space.num_nodes,), space.num_pairs)
    room[list(constraints.room)] = torch.tensor(list(constraints.room.values()))
    return room


def _ask(rule: Rule, graph: Data, edits: EditSet) -> bool:
    try:
        answer = rule(graph, edits)
    except Exception as error:
        raise ConstraintError(
            f"expected a rule that takes a graph and its edits, got {type(error).__name__}: {error}; "
            "correct the rule."
        ) from error
    if answer is None:
        raise ConstraintError(
            "expected a rule to return True (allowed) or False, got None; add a return."
        )
    return bool(answer)


def _distinct(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """Each rule once; an object with settings may have no hash, and is then known by itself."""
    found: dict[Any, Rule] = {}
    for rule in rules:
        try:
            found.setdefault(rule, rule)
        except TypeError:
            found.setdefault(id(rule), rule)
    return tuple(found.values())


def _open_pairs(constraints: Constraints, space: PairSpace) -> tuple[MissingPairs, Tensor]:
    """The pairs that may come, and the edges that may go."""
    removals = space.edge_ids if constraints.allow_removals else space.edge_ids[:0]
    nodes: Tensor | None = None
    if constraints.frozen_nodes or constraints.within is not None:
        nodes = torch.ones(space.num_nodes, dtype=torch.bool)
        if constraints.within is not None:
            nodes[:] = False
            nodes[list(constraints.within)] = True
        nodes[list(constraints.frozen_nodes)] = False
        removals = removals[nodes[space.ends(removals)].all(dim=0)]
    if constraints.frozen_edges:
        kept = space.ids_of(constraints.frozen_edges)
        removals = removals[~torch.isin(removals, kept)]
    if constraints.room:
        # A node without room can still gain an edge in place of one that goes.
        open_nodes = _room_of(constraints, space) > 0
        if constraints.max_removed != 0:
            open_nodes[space.ends(removals).flatten()] = True
        nodes = open_nodes if nodes is None else nodes & open_nodes
    if not constraints.allow_additions:
        nodes = torch.zeros(space.num_nodes, dtype=torch.bool)
    forbidden = constraints.forbidden_pairs
    return MissingPairs.of(space, nodes, space.ids_of(forbidden) if forbidden else None), removals


def _limit(limit: int | None, available: int) -> int:
    return available if limit is None else min(limit, available)


def _sorted_pairs(pairs: Iterable[Edge]) -> frozenset[Edge]:
    return frozenset((min(u, v), max(u, v)) for u, v in pairs)


FREE = Constraints()
"""No constraints at all."""
