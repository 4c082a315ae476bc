"""What may come: for every removal set, the missing edges that a link predictor finds likely."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from edgeflip.core import PAD, PairEdits, edited_cells, node_features, plain_adjacency
from edgeflip.links import LinkModel

# Cells of adjacency matrices made at once.
_STACK_CELLS = 20_000_000


def likely_additions(
    links: LinkModel,
    space: PairEdits,
    sets: Tensor,
    targets: list[int | None],
    *,
    threshold: float,
    limit: int,
    may_undo: bool,
    check: Callable[[], None],
) -> list[Tensor]:
    """For every removal set, the missing edges with a probability above τ.

    Args:
        links: The link model.
        space: The graph and what may change.
        sets: Removal sets, padded with -1 [sets, R].
        targets: Classes to condition on, None for none.
        threshold: τ.
        limit: At most this many, the most likely ones.
        may_undo: Whether an edge of the removal set may come back.
        check: Called now and then; what it raises ends the work.

    Raises:
        NotApplicableError: If the graph is too large to rate all of its pairs.

    Returns:
        For every target pair ids, most likely first, padded with -1 [sets, candidates].
    """
    links.check_size(space.pairs)
    choices = space.limits.additions
    if may_undo:
        choices = torch.cat([choices, sets[sets != PAD].unique()])
    if not (len(sets) and choices.numel()):
        return [torch.full((len(sets), 1), PAD) for _ in targets]
    stack = plain_adjacency(space.input).repeat(len(sets), 1, 1)
    cells, values = edited_cells(space.pairs, sets)
    stack.view(-1)[cells] = values
    # Targets share the encoder's work, but not the memory of large stacks.
    together = len(targets) if len(targets) * stack.numel() <= _STACK_CELLS else 1
    found: list[Tensor] = []
    u, v = space.pairs.ends(choices)
    x, most = node_features(space.input), min(limit, choices.numel())
    for start in range(0, len(targets), together):
        rated = links.predictor.probabilities_to_each(
            x, stack, targets[start : start + together], before_each=check
        )
        likely = rated[:, :, u, v]
        unfit = (stack[:, u, v] != 0) | (likely <= threshold)
        score, index = likely.masked_fill(unfit, -1.0).topk(most, dim=2)
        found += list(choices[index].masked_fill(score < 0, PAD))
    return found
