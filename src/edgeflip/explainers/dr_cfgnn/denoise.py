"""Phase I, denoising: leave out the edges the link predictor finds least likely."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from edgeflip.core import padded

KeepsLabel = Callable[[Tensor], Tensor]
"""Whether the label stays after removing edges; rows of pair ids, padded with -1 [sets, width]."""


def edges_below(probabilities: Tensor, share: float) -> Tensor:
    """Indices of the least likely edges, least first, up to a share of the area under the curve.

    Args:
        probabilities: One per edge [m].
        share: Share of their sum that may go.

    Example:
        >>> edges_below(torch.tensor([0.9, 0.02, 0.5, 0.01]), share=0.03).tolist()
        [3, 1]
    """
    ordered, indices = torch.sort(probabilities, stable=True)
    area = ordered.double().cumsum(dim=0)
    return indices[area <= share * float(ordered.double().sum()) + 1e-12]


def drop_unlikely(
    edge_ids: Tensor,
    probabilities: Tensor,
    share: float,
    keeps_label: KeepsLabel,
    *,
    stops_at_first: bool = False,
) -> Tensor:
    """Ids of the edges that go, so that G becomes G_DeN.

    An edge whose removal, after those before it, would change the oracle's label stays. All
    prefixes are asked about at once; only an edge that must stay costs another question.

    Args:
        edge_ids: All edges [m].
        probabilities: How likely each is [m].
        share: Share of the area under the sorted probabilities that may go.
        keeps_label: Whether the label stays.
        stops_at_first: Whether the first edge that must stay ends the step, as in the published code.
    """
    pending = edge_ids[edges_below(probabilities, share)].tolist()
    dropped: list[int] = []
    while pending:
        prefixes = [dropped + pending[: length + 1] for length in range(len(pending))]
        stays = keeps_label(padded([torch.tensor(row) for row in prefixes])).tolist()
        good = stays.index(False) if False in stays else len(stays)
        dropped += pending[:good]
        if good == len(pending) or stops_at_first:
            break
        pending = pending[good + 1 :]
    return torch.tensor(dropped, dtype=torch.long)
