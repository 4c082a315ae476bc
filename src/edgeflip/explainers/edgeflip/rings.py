"""The near rings: what needs no link predictor, and what one finds likely."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from edgeflip.core import PAD, pair_ids
from edgeflip.explainers.beginning import GraphSearch, PairSearch
from edgeflip.explainers.edgeflip.config import EdgeFlipConfig
from edgeflip.links import LinkModel
from edgeflip.oracle import ClassGoal
from edgeflip.pools import PaperSpace, likely_additions, removal_sets

# An edge matters when without it the label's probability falls by this share.
_HURTS = 0.1

# Few candidates first, since most flips are found early.
_FIRST_BLOCK, _BLOCK = 128, 2048

# Rows of the small sets that are asked about at once.
_SMALL_BLOCK = 4096


def small_sets(
    search: GraphSearch, config: EdgeFlipConfig, removable: Tensor, *, few: bool = False
) -> Iterator[int]:
    """Ask about what needs no link predictor, step by step, each made when it is reached.

    Single removals, single additions between nodes of the factual subgraph, pairs of removals. Where any
    other class will do, only additions at the edge that matters most, none if nothing may go: elsewhere
    one may lead to another class too, but says nothing of what made this one.

    Args:
        search: The search, its factual subgraph known.
        config: How many may be removed, added and tried.
        removable: Edges of the factual subgraph that may go.
        few: Whether single removals are enough, since a question takes long.

    Yields:
        How many edits the sets just asked about have.
    """
    goal, centre = search.goal, removable[:0]
    any_class = isinstance(goal, ClassGoal) and not goal.aims_at_one_class
    limits = search.space.limits
    most_removed = min(config.remove.max, limits.max_removed, limits.max_edits)
    if most_removed and len(removable):
        outputs = search.ask(removable[:, None]).outputs
        if isinstance(goal, ClassGoal) and any_class:
            centre = _most_important(search.output, goal.label, removable, outputs)
        yield 1
    if few:
        return
    within = _additions_within(search, centre if any_class else None)
    within = within[: config.ring0_candidates]
    if config.add.max and limits.max_added and len(within):
        search.ask(within[:, None])
        yield 1
    if most_removed >= 2 and 1 <= math.comb(len(removable), 2) <= config.ring0_pairs:
        for part in torch.combinations(removable, 2).split(_SMALL_BLOCK):
            search.ask(part)
        yield 2


def _most_important(before: Tensor, label: int, removable: Tensor, outputs: Tensor) -> Tensor:
    """The edge whose loss hurts the label most, none if it hardly does [at most 1]."""
    values = np.nan_to_num(outputs[:, label].numpy(), nan=1.0)
    index = int(values.argmin())
    hurts = values[index] <= (1 - _HURTS) * float(before[label])
    return removable[index : index + 1] if hurts else removable[:0]


def _additions_within(search: GraphSearch, centre: Tensor | None) -> Tensor:
    """Missing edges between nodes of the factual subgraph, all or those at an edge [additions]."""
    pairs = search.space.pairs
    nodes = () if search.factual is None else search.factual.nodes
    if centre is not None and not len(centre):
        return centre
    one, two = torch.combinations(torch.tensor(nodes, dtype=torch.long), 2).unbind(dim=1)
    ids = pair_ids(one, two, pairs.num_nodes)
    chosen = search.space.limits.missing.contain(ids)
    if centre is not None:
        chosen &= torch.isin(pairs.ends(ids), pairs.ends(centre)).any(dim=0)
    return ids[chosen]


@dataclass(frozen=True, eq=False)
class Deconstructed:
    """What a ring of likely edits draws from.

    Attributes:
        removable: Edges of the factual subgraph that may go.
        threshold: Least probability of a candidate addition.
        max_candidates: At most this many candidate additions per removal set.
    """

    removable: Tensor
    threshold: float
    max_candidates: int


def ask_likely(
    search: PairSearch,
    links: LinkModel,
    config: EdgeFlipConfig,
    found: Deconstructed,
    most_edits: int,
    ceiling: Callable[[int], float],
) -> None:
    """Ask about removals in the factual subgraph with likely additions, smaller sets first.

    Args:
        search: The search; its ring names the random numbers.
        links: The link model.
        config: Sizes and limits.
        found: What is drawn from.
        most_edits: Edits of the largest sets.
        ceiling: What no set of a size or more can score above.
    """
    limits = search.space.limits
    rng = search.rng(f"candidates {search.ring}")
    largest = min(config.remove.max, limits.max_removed, limits.max_edits)
    sets = removal_sets(found.removable, largest, config.max_removal_sets, rng)
    targets = links.targets(search.goal)

    def additions(removed: Tensor) -> list[Tensor]:
        if not config.add.max:
            return [torch.full((len(removed), 1), PAD) for _ in targets]
        with search.stage("reconstruct"):
            return likely_additions(
                links,
                search.space,
                removed,
                targets,
                threshold=found.threshold,
                limit=found.max_candidates,
                may_undo=False,
                check=search.check,
            )

    choices = PaperSpace(
        sets, additions, remove=config.remove, add=config.add, limits=limits, rng=rng
    )
    left, block = config.ring0_candidates, _FIRST_BLOCK
    for drawing in choices.by_size(most_edits):
        if search.best_score >= ceiling(drawing.least):
            return
        for rows in drawing.blocks():
            for part in rows[:left].split(block):
                search.ask(part)
            left, block = left - len(rows), _BLOCK
            if left <= 0:
                return
