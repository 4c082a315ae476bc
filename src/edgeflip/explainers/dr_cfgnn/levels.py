"""What the paper's space holds, all at once or size by size; a removal set is scored when it is needed."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import TypeAlias

import torch
from torch import Tensor

from edgeflip.core import PAD, widened
from edgeflip.explainers.dr_cfgnn.config import DRCFGNNConfig
from edgeflip.pools import Pools, Shape, draw_blocks, shapes_of
from edgeflip.search import Problem

Score: TypeAlias = Callable[[Tensor], list[Tensor]]
"""Likely additions for removal sets, lines 9 to 13: for every target [sets, candidates]."""

BLOCK = 2048
"""Candidates drawn at once."""

# An edge matters when without it the label's probability falls by this share.
_HURTS = 0.1


class Level:
    """Shapes that are drawn from together.

    Args:
        least: Edits of its smallest candidate.
        shapes: Makes the shapes per target; called when the level is reached.
        rng: Chooses among them.
    """

    def __init__(
        self, least: int, shapes: Callable[[], list[list[Shape]]], rng: random.Random
    ) -> None:
        self.least = least
        self._make, self._rng = shapes, rng
        self._made: list[list[Shape]] | None = None

    @property
    def _shapes(self) -> list[list[Shape]]:
        if self._made is None:
            self._made = self._make()
        return self._made

    @property
    def any_left(self) -> bool:
        """Whether a candidate was not drawn yet."""
        return any(shape.left for part in self._shapes for shape in part)

    def blocks(self) -> Iterator[Tensor]:
        """Blocks of candidates as rows of pair ids, each with a share from every target."""
        streams = [draw_blocks(part, BLOCK, self._rng) for part in self._shapes]
        while True:
            parts = [
                rows for rows in (next(stream, None) for stream in streams) if rows is not None
            ]
            if not parts:
                return
            width = max(rows.size(1) for rows in parts)
            yield torch.cat([widened(rows, width) for rows in parts])


def sets_without_predictor(
    problem: Problem, config: DRCFGNNConfig, removable: Tensor
) -> Generator[Tensor, Tensor, None]:
    """What needs no link predictor, step by step, each made when it is reached [rows, edits].

    Single removals, single additions between nodes of the factual subgraph, pairs of removals. Where any
    other class will do, only additions at the edge that matters most, none if nothing may go: elsewhere
    one may lead to another class too, but says nothing of what made this one.

    Args:
        problem: The graph to explain, its factual subgraph known.
        config: How many may be removed, added and tried.
        removable: Edges of the factual subgraph that may go.

    Yields:
        Edit sets; it is sent their probabilities, NaN where a set was refused [rows, C].
    """
    centre = removable[:0]
    allowed = problem.allowed
    most = min(config.iterations, config.widening.near)
    most_removed = min(config.remove.max, allowed.max_removed, allowed.max_edits)
    if most_removed and len(removable):
        proba = yield removable[:, None]
        centre = _most_important(problem, removable, proba)
    within = _additions_within(problem, None if problem.aims_at_one_class else centre)[:most]
    if config.add.max and allowed.max_added and len(within):
        yield within[:, None]
    if most_removed >= 2 and 1 <= math.comb(len(removable), 2) <= most:
        yield torch.combinations(removable, 2)


def _most_important(problem: Problem, removable: Tensor, proba: Tensor) -> Tensor:
    """The edge whose loss hurts the label most, none if it hardly does [at most 1]."""
    left, place = proba[:, problem.label].nan_to_num(nan=1.0).min(dim=0)
    hurts = bool(left <= (1 - _HURTS) * problem.proba[problem.label])
    return removable[place][None] if hurts else removable[:0]


def _additions_within(problem: Problem, centre: Tensor | None) -> Tensor:
    """Missing edges between nodes of the factual subgraph, all or those at an edge [additions]."""
    additions = problem.allowed.additions
    if problem.factual is None:
        return additions[:0]
    ends = problem.space.ends(additions)
    nodes = torch.tensor(problem.factual.nodes, dtype=torch.long)
    chosen = torch.isin(ends, nodes).all(dim=0)
    if centre is not None:
        chosen &= torch.isin(ends, problem.space.ends(centre)).any(dim=0)
    return additions[chosen]


class PaperSpace:
    """All choices among removal sets and the additions that are likely after each.

    Args:
        problem: The graph to explain.
        config: Sizes and their order.
        sets: Removal sets, smallest first [sets, R].
        score: Scores removal sets for every target.
        rng: Orders the choices.
    """

    def __init__(
        self,
        problem: Problem,
        config: DRCFGNNConfig,
        sets: Tensor,
        score: Score,
        rng: random.Random,
    ) -> None:
        self._rng = rng
        self._problem, self._config, self._sets = problem, config, sets
        self._score = score
        self._lengths = (sets >= 0).sum(dim=1)
        self._scored: dict[int, list[Tensor]] = {}

    def levels(self, most_edits: int) -> Iterator[Level]:
        """One level of everything in the order drawn, or a level per number of edits."""
        if self._config.order == "drawn":
            yield Level(1, self._everything, self._rng)
            return
        for size in range(1, most_edits + 1):
            yield Level(size, partial(self._of_size, size), self._rng)

    def _everything(self) -> list[list[Shape]]:
        return [self._shapes(Pools(self._sets, scored)) for scored in self._score(self._sets)]

    def _of_size(self, size: int) -> list[list[Shape]]:
        """Candidates of so many edits; removal sets of that size leave no room for additions."""
        few = self._sets[self._lengths <= size]
        by_target = zip(*(self._of_length(length) for length in range(size)), strict=True)
        found = []
        for parts in by_target:
            width = max((part.size(1) for part in parts), default=1)
            missing = torch.full((len(few) - sum(map(len, parts)), width), PAD)
            additions = torch.cat([*(widened(part, width) for part in parts), missing])
            found.append(self._shapes(Pools(few, additions), size))
        return found

    def _of_length(self, length: int) -> list[Tensor]:
        """Likely additions for the removal sets of a size, for every target, scored once."""
        if length not in self._scored:
            self._scored[length] = self._score(self._sets[self._lengths == length])
        return self._scored[length]

    def _shapes(self, pools: Pools, size: int | None = None) -> list[Shape]:
        """What can be drawn from pools within the constraints, of one size or of any."""
        config, allowed = self._config, self._problem.allowed

        def fits(r: int, k: int) -> bool:
            within = k <= allowed.max_added and r + k <= allowed.max_edits
            return within and size in (None, r + k)

        return shapes_of(pools, config.remove, config.add, self._rng, fits=fits)
