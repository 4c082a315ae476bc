"""How a goal's margin changes with every single move, to first order: one backward pass for many states.

A slope is a guess that costs little and is asked of the model itself, not of edited graphs. Searches use
it to choose what to ask about; no answer rests on it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, cast

import torch
from torch import Tensor
from torch.nn import functional

from edgeflip.core import PAD, PairEdits, PairSpace
from edgeflip.errors import NotApplicableError, OracleError
from edgeflip.oracle.budget import AnyOracle, MeteredOracle
from edgeflip.oracle.dense_gcn import DenseGraph
from edgeflip.oracle.goal import ClassGoal, Goal
from edgeflip.oracle.joint import JointOracle, kth_largest
from edgeflip.oracle.model import ModelOracle
from edgeflip.oracle.outputs import two_columns
from edgeflip.oracle.weighted import BACKWARD_PASSES, SoftGraphs

SLOPE_PASSES = 1 + BACKWARD_PASSES
"""What a slope counts beside answers: a pass forward and one backward."""

# What it takes to see whether weights stand for edges: a pass without them, with them, and with a gradient.
_LOOK_PASSES = 3

# Nodes of all states whose slopes are taken together; of more the cache does not keep what they need.
_CACHED_NODES = 20_000


class PairSlopes(Protocol):
    """PairSlopes of the moves of one graph."""

    @property
    def name(self) -> str:
        """What they are taken with respect to, in words."""
        ...

    def of(self, rows: Tensor, ids: Tensor) -> Tensor:
        """By how much each move would raise the best margin of each candidate [rows, moves].

        Args:
            rows: Normalised candidates [rows, width].
            ids: Moves [moves].
        """
        ...


def slopes_of(oracle: AnyOracle | MeteredOracle, space: PairEdits, goal: Goal) -> PairSlopes | None:
    """PairSlopes where the oracle can be differentiated, None where it cannot.

    Args:
        oracle: Any oracle; a `MeteredOracle` is looked through, and counts what finding out takes.
        space: What is edited.
        goal: Whose margin is meant.
    """
    inner = oracle.oracle if isinstance(oracle, MeteredOracle) else oracle
    if isinstance(inner, JointOracle):
        return _JointSlopes.if_all_have_some(oracle, inner, space, goal)
    if not isinstance(inner, ModelOracle) or inner.returns != "logits":
        return None
    with inner.frozen(), torch.no_grad():
        is_dense = inner.dense_versions(space) is not None
    if is_dense:
        return _MessageSlopes(inner, space, goal)
    if inner.task == "regression" or not inner.takes_weights:
        return None
    if isinstance(oracle, MeteredOracle):
        oracle.spend(_LOOK_PASSES)
    return _WeightSlopes.if_they_agree(inner, space, goal)


class _JointSlopes:
    """Of several models: by how much each move would raise the margin of the one that is hardest to convince.

    That may be another model after the move than before it.
    """

    def __init__(self, oracle: JointOracle, space: PairEdits, parts: Sequence[PairSlopes]) -> None:
        self._oracle, self._space, self._parts = oracle, space, parts
        self.name = parts[0].name

    @classmethod
    def if_all_have_some(
        cls, asked: AnyOracle | MeteredOracle, oracle: JointOracle, space: PairEdits, goal: Goal
    ) -> _JointSlopes | None:
        """None where one of the models cannot be differentiated."""
        if isinstance(asked, MeteredOracle):
            asked.spend(_LOOK_PASSES)
        parts = []
        for member in oracle.members:
            part = slopes_of(member, space, goal)
            if part is None:
                return None
            parts.append(part)
        return cls(oracle, space, parts)

    def of(self, rows: Tensor, ids: Tensor) -> Tensor:
        """See `PairSlopes`."""
        with torch.no_grad():
            own = self._oracle.best_margins(self._oracle.each_edit(self._space, rows)).float()
        slopes = torch.stack([part.of(rows, ids) for part in self._parts])
        wanted = self._oracle.wanted
        return kth_largest(own[:, :, None] + slopes, wanted) - kth_largest(own, wanted)[:, None]


class _MessageSlopes:
    """Through the matrix that every layer multiplies with, whose change by a move is known exactly.

    Twice as good a guess as the derivative in the adjacency itself: a move also changes how the
    messages of its two ends are divided by their degrees.
    """

    name = "message matrix"

    def __init__(self, oracle: ModelOracle, space: PairEdits, goal: Goal) -> None:
        self._oracle, self._space, self._goal = oracle, space, goal

    def of(self, rows: Tensor, ids: Tensor) -> Tensor:
        """See `PairSlopes`."""
        oracle = self._oracle
        with oracle.frozen():
            versions = oracle.dense_versions(self._space)
            assert versions is not None
            assert versions.bound is not None
            bound, matrices = versions.bound, versions.matrices(self._space, rows)
            messages = bound.layers.messages(matrices)
            with torch.no_grad():
                gradient = bound.layers.gradient(bound.projected, messages, self._pull(bound))
        both, matrices = (gradient + gradient.transpose(1, 2)).cpu(), matrices.cpu()
        if bound.layers.normalize:
            change = _normalised_change(both, messages.cpu(), matrices)
        else:
            change = torch.where(matrices > 0.5, -both, both)
        u, v = self._space.pairs.ends(ids)
        return change.flatten(1)[:, u * change.size(1) + v]

    def _pull(self, bound: DenseGraph) -> Callable[[Tensor], Tensor]:
        """The derivative of the best margin in the embeddings, from the embeddings."""
        weight, bias = bound.classify
        goal = self._goal

        def pull_of_classes(embeddings: Tensor) -> Tensor:
            # Log-odds of two classes differ as their logits do.
            logits = two_columns(functional.linear(embeddings, weight, bias), "logits")
            rises, falls = cast(ClassGoal, goal).way(logits)
            rows = weight if len(weight) > 1 else torch.cat([torch.zeros_like(weight), weight])
            return rows[rises] - rows[falls]

        def pull(embeddings: Tensor) -> Tensor:
            scores = functional.linear(embeddings, weight, bias).requires_grad_()
            with torch.enable_grad():
                logits = two_columns(scores, "logits")
                outputs = logits if self._oracle.task == "regression" else logits.softmax(dim=1)
                margin = goal.margins(outputs).amax(dim=1).sum()
                (gradient,) = torch.autograd.grad(margin, scores)
            return gradient @ weight

        return pull_of_classes if isinstance(goal, ClassGoal) else pull


def _normalised_change(both: Tensor, messages: Tensor, matrices: Tensor) -> Tensor:
    """Gradient times the exact change of a matrix that is divided by the roots of both degrees.

    Args:
        both: The gradient and its transpose added up [rows, n, n].
        messages: The divided matrices [rows, n, n].
        matrices: Adjacency with self loops [rows, n, n].

    Returns:
        What toggling each pair does [rows, n, n].
    """
    degree = matrices.sum(dim=2)
    pull = both * messages
    loop = pull.diagonal(dim1=1, dim2=2) / 2
    rest = pull.sum(dim=2) - 2 * loop

    def shift(ratio: Tensor) -> Tensor:
        """What it does to all other messages of a node that its degree changes [rows, n]."""
        return (ratio - 1) * rest + (ratio**2 - 1) * loop

    up, down = (degree / (degree + 1)).sqrt(), (degree / (degree - 1).clamp(min=0.5)).sqrt()
    after = (degree + 1).rsqrt()
    gain = _both_ends(shift(up)) + both * after[:, :, None] * after[:, None, :]
    loss = _both_ends(shift(down)) - pull * (_both_ends(down) - 1)
    return torch.where(matrices > 0.5, loss, gain)


def _both_ends(values: Tensor) -> Tensor:
    """Values of the two ends of every pair added up [rows, n] -> [rows, n, n]."""
    return values[:, :, None] + values[:, None, :]


class _WeightSlopes:
    """Through edge weights: edges may fade, and missing edges stand by with weight 0."""

    name = "edge weights"

    def __init__(self, oracle: ModelOracle, space: PairEdits, goal: Goal) -> None:
        self._oracle, self._space, self._goal = oracle, space, goal
        self._known: tuple[Tensor, SoftGraphs] | None = None

    @classmethod
    def if_they_agree(
        cls, oracle: ModelOracle, space: PairEdits, goal: Goal
    ) -> _WeightSlopes | None:
        """None where the model takes no weights, or weights do not stand for all it reads of an edge."""
        made = cls(oracle, space, goal)
        try:
            soft = made._soft(space.pairs.edge_ids[:1])
            same = soft.agree(oracle.predict_proba([space.input]))
            with torch.enable_grad():
                flows = soft.logits(soft.original.clone().requires_grad_()).requires_grad
        except (NotApplicableError, OracleError):
            return None
        return made if flows and bool(same.all()) else None

    def of(self, rows: Tensor, ids: Tensor) -> Tensor:
        """See `PairSlopes`."""
        together = max(1, _CACHED_NODES // self._space.pairs.num_nodes)
        if len(rows) > together:
            return torch.cat([self.of(part, ids) for part in rows.split(together)])
        used = rows[rows != PAD].unique()
        outside = used[~torch.isin(used, ids)]
        soft = self._soft(torch.cat([ids, outside]))
        order = torch.cat([ids, outside])
        toggled = (rows[:, :, None] == order).any(dim=1)
        weights = (soft.original - toggled.float()).abs().requires_grad_()
        with torch.enable_grad():
            logits = soft.logits(weights)[:, 0]
            margin = self._goal.margins(logits.softmax(dim=1)).amax(dim=1).sum()
            (gradient,) = torch.autograd.grad(margin, weights)
        return (gradient * (1 - 2 * weights.detach()))[:, : len(ids)]

    def _soft(self, ids: Tensor) -> SoftGraphs:
        if self._known is None or not torch.equal(self._known[0], ids):
            pairs: PairSpace = self._space.pairs
            self._known = (ids, SoftGraphs(self._oracle, [pairs], [ids]))
        return self._known[1]
