"""Phase I, denoising: leave out the edges the link predictor finds least likely."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from edgeflip.errors import ConfigError
from edgeflip.support import STRICT

KeepsLabel = Callable[[Tensor], Tensor]
"""Whether the label stays after removing edges; rows of pair ids, padded with -1 [sets, width]."""


@dataclass(frozen=True)
class DenoiseConfig:
    """Settings of the denoising step.

    Attributes:
        share: p, the share of the area under the sorted edge probabilities that may go.
        leave_one_out: Whether each edge is scored as if it were missing, which is what the link
            predictor was trained on; the published code scores existing edges in place.
        stop_at_first: Whether the first edge that must stay ends the step, as in the published code;
            otherwise it stays and the next may go, as in the paper.
    """

    __pydantic_config__ = STRICT

    share: float = 0.01
    leave_one_out: bool = True
    stop_at_first: bool = False

    def __post_init__(self) -> None:
        """Refuse shares outside their range."""
        if not 0 <= self.share < 1:
            raise ConfigError(f"expected a denoising share in [0, 1), got {self.share}.")


def edges_below(probabilities: Tensor, share: float) -> Tensor:
    """Places of the least likely edges, least first, up to a share of the area under the curve.

    Args:
        probabilities: One per edge [m].
        share: Share of their sum that may go.

    Example:
        >>> edges_below(torch.tensor([0.9, 0.02, 0.5, 0.01]), share=0.03).tolist()
        [3, 1]
    """
    ordered, places = torch.sort(probabilities, stable=True)
    area = ordered.double().cumsum(dim=0)
    return places[area <= share * float(ordered.double().sum()) + 1e-12]


def drop_unlikely(
    edge_ids: Tensor, probabilities: Tensor, config: DenoiseConfig, keeps_label: KeepsLabel
) -> Tensor:
    """Ids of the edges that go, so that G becomes G_DeN.

    An edge whose removal, after those before it, would change the oracle's label stays. All
    prefixes are asked about at once; only an edge that must stay costs another question.
    """
    pending = edge_ids[edges_below(probabilities, config.share)].tolist()
    dropped: list[int] = []
    while pending:
        prefixes = [dropped + pending[: length + 1] for length in range(len(pending))]
        width = len(prefixes[-1])
        rows = torch.tensor([row + [-1] * (width - len(row)) for row in prefixes])
        stays = keeps_label(rows).tolist()
        good = stays.index(False) if False in stays else len(stays)
        dropped += pending[:good]
        if good == len(pending) or config.stop_at_first:
            break
        pending = pending[good + 1 :]
    return torch.tensor(dropped, dtype=torch.long)
