"""Which of many sets of moves do most: asked about many at once, then about parts of those that did most."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from edgeflip.core import padded
from edgeflip.explainers.beginning import GraphSearch


@dataclass(frozen=True, eq=False)
class Found:
    """Sets that were asked about by themselves in the end.

    Attributes:
        places: Which they are [found].
        margins: How near to the goal each led [found].
    """

    places: Tensor
    margins: Tensor


def by_parts(
    search: GraphSearch,
    sets: Sequence[Tensor],
    promise: Callable[[Tensor], Tensor],
    *,
    parts: int,
    kept: int,
) -> Found:
    """The sets of moves that do most, found with few questions.

    All sets are dealt out to some dozen parts, and each part is made as a whole. The most promising parts
    are divided, until they are single sets.

    Args:
        search: The search; what is asked is not meant as an answer.
        sets: The sets.
        promise: How promising margins are [parts] -> [parts].
        parts: Questions of a round.
        kept: Parts of the last round that are divided.
    """
    places = [part for part in torch.arange(len(sets)).tensor_split(parts) if len(part)]
    while True:
        rows = padded([torch.cat([sets[i] for i in part.tolist()]).unique() for part in places])
        margins = search.goal.margins(search.probe(rows)).amax(dim=1)
        if all(len(part) == 1 for part in places):
            return Found(torch.cat(places), margins)
        best = promise(margins).topk(min(kept, len(places))).indices.tolist()
        divided = [places[index].tensor_split(parts // kept) for index in best]
        places = [part for each in divided for part in each if len(part)]
