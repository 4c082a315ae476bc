"""The few counterfactual graphs that lie near most inputs, and the walk that finds them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import Edge, PairSpace
from edgeflip.explainers.gcfexplainer.config import GCFConfig
from edgeflip.explainers.gcfexplainer.distances import (
    Array,
    Shapes,
    aligned_edits,
    assignment_edits,
    lower_bound,
    node_labels,
    place_ends,
    sizes,
    within,
)
from edgeflip.explainers.gcfexplainer.vertices import Aim, Start
from edgeflip.explainers.gcfexplainer.walk import Walk, edited_shape

Ask: TypeAlias = Callable[[PairSpace, Tensor], Tensor]
"""Class probabilities of edited versions of a graph."""


@dataclass(frozen=True, eq=False)
class Summary:
    """Counterfactual graphs of one walk, in the order in which they cover most inputs.

    Attributes:
        aim: What the walk wanted.
        inputs: The graphs it started from.
        members: Which of the graphs it was given these are; of an explainer, which of those of `fit`
            [inputs].
        patterns: The counterfactual graphs: first those that each cover further inputs, then the
            others from the most to the least visited.
        lineage: The input each descends from [patterns].
        wanted: The oracle's probability of the wanted outcome [patterns].
        visits: How often each counts as visited [patterns].
        distance: Edits between each pattern and each input, by a bound that is never too low
            [patterns, inputs].
        theta: Share of nodes and edges within which a pattern covers an input.
        hits: Counterfactuals that the walk saw near each input [inputs].
    """

    aim: Aim
    inputs: Shapes
    members: Array
    patterns: Shapes
    lineage: Array
    wanted: Array
    visits: Array
    distance: Array
    theta: float
    hits: Array

    def __len__(self) -> int:
        """Number of patterns."""
        return len(self.patterns)

    @cached_property
    def covers(self) -> Array:
        """Which inputs each pattern covers [patterns, inputs]."""
        return within(self.distance, sizes(self.patterns, self.inputs), self.theta)

    def _repr_html_(self) -> str:
        from edgeflip.draw import summary_html

        return summary_html(self)

    def coverage(self, count: int) -> float:
        """Share of the inputs that the first patterns cover."""
        return float(self.covers[:count].any(axis=0).mean()) if count and len(self) else 0.0

    def cost(self, count: int) -> float:
        """Median over inputs of the edits to the nearest of the first patterns; NaN without any."""
        if not count or not len(self):
            return float("nan")
        return float(np.median(self.distance[:count].min(axis=0)))

    @property
    def useful(self) -> int:
        """How many patterns it takes to cover all that can be covered."""
        covered = np.logical_or.accumulate(self.covers, axis=0).sum(axis=1)
        return int(np.argmax(covered == covered[-1])) + 1 if len(self) and covered[-1] else 0

    def edges(self, row: int) -> list[Edge]:
        """Edges of a pattern."""
        return _edges(self.patterns.places[row])

    def edits(self, row: int) -> tuple[list[Edge], list[Edge]]:
        """What a pattern adds to and removes from the input it descends from."""
        before = self.inputs.places[int(self.lineage[row])]
        after = self.patterns.places[row]
        return _edges(np.setdiff1d(after, before)), _edges(np.setdiff1d(before, after))

    def state(self, prefix: str) -> dict[str, Tensor]:
        """Everything as tensors, to be saved."""
        aim = [-1 if each is None else each for each in (self.aim.source, self.aim.target)]
        arrays = {key: getattr(self, key) for key in _ARRAYS}
        return {
            f"{prefix}aim": torch.tensor(aim),
            f"{prefix}theta": torch.tensor(self.theta, dtype=torch.float64),
            **{f"{prefix}{key}": torch.from_numpy(value.copy()) for key, value in arrays.items()},
            **self.inputs.state(f"{prefix}inputs."),
            **self.patterns.state(f"{prefix}patterns."),
        }

    @classmethod
    def from_state(cls, tensors: Mapping[str, Tensor], prefix: str) -> Summary:
        """The inverse of `state`."""
        source, target = (None if x < 0 else x for x in tensors[f"{prefix}aim"].tolist())
        return cls(
            aim=Aim(source, target),
            inputs=Shapes.from_state(tensors, f"{prefix}inputs."),
            patterns=Shapes.from_state(tensors, f"{prefix}patterns."),
            theta=float(tensors[f"{prefix}theta"]),
            **{key: tensors[f"{prefix}{key}"].numpy() for key in _ARRAYS},
        )


_ARRAYS = ("members", "lineage", "wanted", "visits", "distance", "hits")


def summarize(
    graphs: Sequence[Data],
    proba: Tensor,
    aim: Aim,
    ask: Ask,
    config: GCFConfig,
    rng: np.random.Generator,
    *,
    steps: int | None = None,
    before_step: Callable[[], object] = lambda: None,
) -> Summary:
    """Walk from graphs and pick the counterfactuals that lie near most of them.

    Args:
        graphs: Graphs that the oracle does not predict as wanted yet.
        proba: Its class probabilities on them [graphs, C].
        aim: What it should predict.
        ask: Answers for edited graphs.
        config: Settings.
        rng: Where all chance comes from.
        steps: Length of the walk; by the settings when left out.
        before_step: Called before every step.
    """
    members = np.arange(len(graphs))
    if config.max_inputs is not None and len(graphs) > config.max_inputs:
        members = np.sort(rng.choice(members, size=config.max_inputs, replace=False))
    spaces = [PairSpace.of(graphs[index]) for index in members.tolist()]
    rows = proba.double().numpy()[members]
    starts = [Start(space, row) for space, row in zip(spaces, rows, strict=True)]
    walk = Walk(starts, Shapes.of(spaces), aim, config, rng)
    for _ in range(steps or config.steps_per_input * len(starts)):
        before_step()
        candidates = walk.unasked()
        if candidates is not None:
            walk.learn(ask(walk.space, candidates))
        walk.move()
    return _summary_of(walk, members, config)


def _summary_of(walk: Walk, members: Array, config: GCFConfig) -> Summary:
    found, inputs = walk.table.found(), walk.inputs
    shapes = [
        edited_shape(space, vertex.toggles, node_labels(space.graph))
        for vertex in found
        for space in [walk.starts[vertex.start].space]
    ]
    labels = [shape.own_labels(0) for shape in shapes]
    patterns = Shapes.build([shape.places[0] for shape in shapes], labels)
    distance = edits_between(patterns, inputs, matched=config.distance == "assignment")
    near = within(distance, sizes(patterns, inputs), config.summary_theta)
    order = _greedy(near)
    return Summary(
        aim=walk.aim,
        inputs=inputs,
        members=members,
        patterns=Shapes.build(
            [patterns.places[row] for row in order], [labels[row] for row in order]
        ),
        lineage=np.array([found[row].start for row in order], dtype=np.int64),
        wanted=np.array([found[row].wanted for row in order], dtype=np.float64),
        visits=np.array([found[row].frequency for row in order], dtype=np.int64),
        distance=distance[order],
        theta=config.summary_theta,
        hits=walk.table.hits.copy(),
    )


def _greedy(near: Array) -> Array:
    """Rows in the order of greedy maximum coverage; those that add nothing follow as they stand."""
    left = np.ones(near.shape[1], dtype=bool)
    rest, chosen = list(range(len(near))), []
    while rest:
        gains = near[rest][:, left].sum(axis=1)
        best = int(gains.argmax())
        if not gains[best]:
            break
        left &= ~near[rest[best]]
        chosen.append(rest.pop(best))
    return np.array([*chosen, *rest], dtype=np.int64)


def edits_between(patterns: Shapes, inputs: Shapes, *, matched: bool) -> Array:
    """Edits between patterns and graphs, never too few [patterns, graphs].

    Args:
        patterns: Some graphs.
        inputs: Others.
        matched: Whether nodes are also matched, beside being kept at their numbers.
    """
    edits = aligned_edits(patterns, inputs)
    if not matched:
        return edits
    for row, column in np.ndindex(*edits.shape):
        if lower_bound(patterns, row, inputs, column) < edits[row, column]:
            found = assignment_edits(patterns, row, inputs, column)
            edits[row, column] = min(edits[row, column], found)
    return edits


def _edges(places: Array) -> list[Edge]:
    u, v = place_ends(np.sort(places))
    return sorted(zip(u.tolist(), v.tolist(), strict=True))
