"""SubgraphX: Monte Carlo tree search for the connected part of a graph with the highest Shapley value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import FactualSubgraph, PairSpace
from edgeflip.errors import ConfigError
from edgeflip.factual.asking import check_label
from edgeflip.factual.coalitions import Topology, as_bits, as_masks, members, subgraph_of
from edgeflip.factual.growth import grow
from edgeflip.factual.occlusion import edge_importance
from edgeflip.factual.shapley import BatchedShapley, CoalitionScorer, draw_joiners
from edgeflip.oracle import MaskedOracle, Masking, Oracle, space_of
from edgeflip.support import STRICT, check_seed


@dataclass(frozen=True)
class SubgraphX:
    """The connected subgraph with the highest sampled Shapley value, found by tree search.

    The search starts from the whole graph and takes away one node at a time, keeping the largest
    connected part, until few nodes are left; what was worth more is visited again more often.

    Attributes:
        max_nodes: Most nodes of the answer, the paper's N'.
        min_nodes: The search goes no further from coalitions this small; at most `max_nodes`.
        rollouts: Ways from the whole graph down.
        exploration: Weight of a coalition's own value against the outcomes of visits to it.
        children: Most nodes to try to take away from one coalition.
        high_to_low: Whether nodes with many neighbours are tried first.
        samples: Samples per Shapley value of the answer.
        tree_samples: Samples per value inside the tree; the `finalists` best are scored again with
            all samples. None for all samples everywhere, as published.
        finalists: How many coalitions are scored again.
        patience: Rollouts in a row without a better coalition after which no more follow. None for
            all rollouts, as published.
        refinements: How often, at most, the answer is replaced by a better one that a node leaving, a
            neighbour joining or both make of it. As published: 0.
        tolerance: Values this close to the highest are as good, being sampled; among them the edges
            whose loss hurts the prediction most decide. As published: 0.
        radius: Nodes fewer hops than this from a coalition join or not; all others always take part.
        masking: What is taken from nodes that do not take part, see `edgeflip.oracle.masking`.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> graph = example_graphs(1, seed=0)[0]
        >>> len(SubgraphX(max_nodes=4).explain(example_oracle(), graph, 0, seed=0).nodes) <= 4
        True
    """

    __pydantic_config__ = STRICT

    max_nodes: int = 6
    min_nodes: int = 5
    rollouts: int = 20
    exploration: float = 10.0
    children: int = 20
    high_to_low: bool = True
    samples: int = 100
    tree_samples: int | None = 16
    finalists: int = 16
    patience: int | None = 2
    refinements: int = 10
    tolerance: float = 0.005
    radius: int = 4
    masking: Masking = "split"

    def __post_init__(self) -> None:
        """Refuse settings without meaning."""
        for setting in fields(self):
            value = getattr(self, setting.name)
            least = 0 if setting.name in ("exploration", "refinements", "tolerance") else 1
            if isinstance(value, bool | str | None):
                continue
            if not least <= value < math.inf:
                raise ConfigError(f"expected {setting.name} of at least {least}, got {value!r}.")
            if setting.name not in ("exploration", "tolerance") and not isinstance(value, int):
                raise ConfigError(f"expected {setting.name} as a whole number, got {value!r}.")

    @classmethod
    def published(cls, max_nodes: int = 6, **settings: Any) -> Self:
        """The search as published: every rollout, all samples everywhere, nothing refined."""
        plain = {"tree_samples": None, "patience": None, "refinements": 0, "tolerance": 0.0}
        return cls(max_nodes, **{**plain, **settings})

    def explain(self, oracle: Oracle, graph: Data, label: int, *, seed: int = 0) -> FactualSubgraph:
        """The part of a graph that speaks most for a label.

        Args:
            oracle: Any oracle; with a `MeteredOracle` every masked graph is counted.
            graph: The graph; it is not changed.
            label: The class to explain, usually the predicted one.
            seed: Of the random samples.

        Raises:
            BudgetExhausted: If the budget of a `MeteredOracle` runs out.
        """
        check_label(oracle, label)
        check_seed(seed)
        moves = space_of(oracle, graph)
        space = moves.pairs
        topology = Topology.of(space)
        joiners = draw_joiners(
            max(self.samples, self.tree_samples or 0),
            space.num_nodes,
            torch.Generator().manual_seed(seed),
        )
        masked = MaskedOracle(oracle, space, masking=self.masking)
        scorer = BatchedShapley(masked, label, topology, self.radius, joiners)
        with masked.frozen():
            if not self.refinements and not self.tolerance:
                coalition, value = self.search(topology, scorer)
            else:
                importance = edge_importance(oracle, moves, label)
                start = as_bits(grow(space, importance, self.max_nodes).nodes)
                support = partial(total_inside, space, importance)
                coalition, value = self.search(topology, scorer, [start], support)
        return subgraph_of(space, members(coalition), value)

    @property
    def _sizes(self) -> tuple[int, int]:
        """Fewest and most nodes of an answer."""
        return min(self.min_nodes, self.max_nodes), self.max_nodes

    def search(
        self,
        topology: Topology,
        scorer: CoalitionScorer,
        starts: Sequence[int] = (),
        support: Callable[[int], float] | None = None,
    ) -> tuple[int, float]:
        """The best coalition by any scorer, and its value.

        Args:
            topology: The graph's topology.
            scorer: Tells what coalitions are worth.
            starts: Coalitions that are refined beside the best of the tree.
            support: Tells coalitions apart whose values are within the tolerance; higher is better.
        """
        tree = _Tree(self, topology, scorer)
        record, since = -math.inf, 0
        for _ in range(self.rollouts):
            tree.roll_out()
            since = 0 if tree.record > record else since + 1
            record = tree.record
            if since == self.patience:
                break
        final = _Final(self, topology, scorer)
        found = [final.best(tree.candidates())]
        if self.refinements:
            found += final.score(starts)
        winner = min((final.refined(start) for start in found), key=_rank)
        return winner if support is None else final.best_supported(winner, support)


class _Final:
    """What follows the tree search: all samples for the best, and small moves from there."""

    def __init__(self, settings: SubgraphX, topology: Topology, scorer: CoalitionScorer) -> None:
        self._settings = settings
        self._topology = topology
        self._scorer = scorer
        self._values: dict[int, float] = {}

    def score(self, coalitions: Sequence[int]) -> list[tuple[int, float]]:
        """Coalitions with their values from all samples."""
        values = self._scorer.scores(coalitions, self._settings.samples)
        scored = list(zip(coalitions, values, strict=True))
        self._values.update(scored)
        return scored

    def best(self, candidates: Sequence[tuple[int, float]]) -> tuple[int, float]:
        """The best of candidates with values from the tree, by values from all samples."""
        settings = self._settings
        if settings.tree_samples is None or settings.tree_samples == settings.samples:
            self._values.update(candidates)
            return min(candidates, key=_rank)
        leaders = sorted(candidates, key=_rank)[: settings.finalists]
        return min(self.score([bits for bits, _ in leaders]), key=_rank)

    def refined(self, start: tuple[int, float]) -> tuple[int, float]:
        """Where the best single moves lead from a coalition."""
        settings, winner = self._settings, start
        samples = settings.tree_samples or settings.samples
        for _ in range(settings.refinements):
            moves = one_move_away(self._topology, winner[0], *settings._sizes)
            values = self._scorer.scores(moves, samples)
            rival = self.best(list(zip(moves, values, strict=True))) if moves else winner
            if _rank(rival) >= _rank(winner):
                break
            winner = rival
        return winner

    def best_supported(
        self, winner: tuple[int, float], support: Callable[[int], float]
    ) -> tuple[int, float]:
        """Of the coalitions that samples cannot tell from the winner, the best supported one."""
        least = winner[1] - self._settings.tolerance
        near = [winner, *(entry for entry in self._values.items() if entry[1] >= least)]
        return min(near, key=lambda entry: (-round(support(entry[0]), 6), _rank(entry)))


def total_inside(space: PairSpace, importance: Tensor, coalition: int) -> float:
    """How important the edges inside a coalition are, together."""
    inside = as_masks([coalition], space.num_nodes)[0]
    u, v = space.ends(space.edge_ids)
    return float(importance[inside[u] & inside[v]].sum())


def one_move_away(topology: Topology, coalition: int, min_nodes: int, max_nodes: int) -> list[int]:
    """Connected coalitions that come from one by a node leaving, joining, or both; ascending.

    None is larger than `max_nodes`, and none smaller than `min_nodes` unless the given one is.
    """
    found = set()
    for rest in (coalition, *(coalition & ~(1 << node) for node in members(coalition))):
        if topology.largest_component(rest) == rest:
            found.add(rest)
            found |= {rest | 1 << node for node in members(topology.around(rest))}
    least = max(1, min(min_nodes, coalition.bit_count()))
    return sorted(
        bits for bits in found if bits != coalition and least <= bits.bit_count() <= max_nodes
    )


def _rank(candidate: tuple[int, float]) -> tuple[float, int, int]:
    bits, value = candidate
    # The last digits of a probability depend on the size of a batch; no choice should.
    return -round(value, 6), bits.bit_count(), bits


@dataclass(eq=False, slots=True)
class _TreeNode:
    """A coalition in the tree; the same coalition is the same node wherever it is reached from."""

    bits: int
    size: int
    children: list[_TreeNode] = field(default_factory=list)
    value: float | None = None
    total: float = 0.0
    visits: int = 0


class _Tree:
    """The search tree: coalitions, what they are worth, and what visits to them brought.

    A coalition that was never visited leads on to its first child, whatever its children are worth.
    So values are asked for late and many at a time: when a choice depends on them, or a way ends.
    """

    def __init__(self, settings: SubgraphX, topology: Topology, scorer: CoalitionScorer) -> None:
        self._settings = settings
        self._topology = topology
        self._scorer = scorer
        self._smallest, _ = settings._sizes
        self._root = _TreeNode(topology.everything, topology.num_nodes)
        self._nodes: dict[int, _TreeNode] = {self._root.bits: self._root}
        whole = topology.largest_component(self._root.bits) == self._root.bits
        # A graph that is small and in one piece may be the answer itself. Otherwise it is only where
        # the search starts, and no choice depends on its value.
        self._root_may_win = whole and self._root.size <= settings.max_nodes
        self.record = -math.inf
        self._unscored = [self._root] if self._root_may_win else []

    def roll_out(self) -> None:
        """Go down once from the whole graph, and note what it brought along the way."""
        node, way = self._root, []
        while node.size > self._smallest or (node is self._root and not self._root_may_win):
            if not node.children:
                self._expand(node)
            node = self._choose(node)
            way.append(node)
        self._score()
        for step in way:
            step.total += node.value or 0.0
            step.visits += 1

    def candidates(self) -> list[tuple[int, float]]:
        """Coalitions that are small enough, with their values."""
        self._score()
        return [
            (node.bits, node.value)
            for node in self._nodes.values()
            if node.size <= self._settings.max_nodes and node.value is not None
        ]

    def _choose(self, node: _TreeNode) -> _TreeNode:
        visits = sum(child.visits for child in node.children)
        if not visits:
            return node.children[0]
        self._score()
        weight = self._settings.exploration * math.sqrt(visits)

        def promise(child: _TreeNode) -> float:
            outcome = child.total / child.visits if child.visits else 0.0
            return outcome + weight * (child.value or 0.0) / (1 + child.visits)

        return max(node.children, key=promise)

    def _expand(self, node: _TreeNode) -> None:
        topology, settings = self._topology, self._settings
        sign = -1 if settings.high_to_low else 1
        order = sorted(members(node.bits), key=lambda v: sign * topology.degree(v, node.bits))
        children: dict[int, _TreeNode] = {}
        for gone in order[: settings.children]:
            bits = topology.largest_component(node.bits & ~(1 << gone))
            if bits not in children:
                children[bits] = self._node(bits)
        node.children = list(children.values())

    def _node(self, bits: int) -> _TreeNode:
        known = self._nodes.get(bits)
        if known is None:
            known = self._nodes[bits] = _TreeNode(bits, bits.bit_count())
            self._unscored.append(known)
        return known

    def _score(self) -> None:
        if not self._unscored:
            return
        samples = self._settings.tree_samples or self._settings.samples
        values = self._scorer.scores([node.bits for node in self._unscored], samples)
        for node, value in zip(self._unscored, values, strict=True):
            node.value = value
            if node.size <= self._settings.max_nodes:
                self.record = max(self.record, value)
        self._unscored = []
