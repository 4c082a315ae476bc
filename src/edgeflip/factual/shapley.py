"""Sampled local Shapley values of coalitions of nodes.

What a coalition C is worth is what the label's probability gains when C joins a random set S of its
neighbourhood. In a random order of the players (the nodes around C, and C as one of them), S is what
comes before C. That order need not be drawn: give every node, and C, a uniform number; S are the nodes
with a smaller number than C. Nodes outside the neighbourhood always take part.

The numbers may be the same for all coalitions. Then coalitions are compared on common ground, most
masks of one are also masks of another, and each is asked about once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

from edgeflip.core import PairSpace
from edgeflip.errors import ConfigError
from edgeflip.factual.coalitions import Topology, as_masks
from edgeflip.oracle import MaskedOracle, Masking, Oracle, checked_proba, masked_graph

# Booleans per block of masks: bounds memory on large graphs, far above what small ones need.
_BLOCK_VALUES = 16_000_000

# Steps of the golden ratio spread points evenly over (0, 1), wherever the sequence is cut.
_GOLDEN = 0.6180339887498949


class CoalitionScorer(Protocol):
    """Anything that can tell what coalitions are worth."""

    def scores(self, coalitions: Sequence[int], samples: int) -> list[float]:
        """The value of each coalition, from so many samples."""
        ...


def draw_joiners(samples: int, num_nodes: int, generator: torch.Generator) -> Tensor:
    """Random sets of nodes that come before a coalition [samples, n].

    A set holds each node with a chance t that is uniform over the sets. Sets come in pairs of a set
    and its complement, and the chances are spread evenly: both lower the variance, neither biases.

    Example:
        >>> sets = draw_joiners(4, 3, torch.Generator().manual_seed(0))
        >>> bool((sets[0] == ~sets[1]).all())
        True
    """
    pairs = (samples + 1) // 2
    start = torch.rand(1, generator=generator, dtype=torch.double)
    chance = (start + _GOLDEN * torch.arange(pairs)).remainder(1.0)
    sets = torch.rand(pairs, num_nodes, generator=generator, dtype=torch.double) < chance[:, None]
    return torch.stack([sets, ~sets], dim=1).flatten(0, 1)[:samples]


def coalition_masks(coalitions: Tensor, regions: Tensor, joiners: Tensor) -> Tensor:
    """The masks whose answers make up coalitions' values.

    Args:
        coalitions: Nodes of each coalition [k, n].
        regions: Their neighbourhoods, themselves included [k, n].
        joiners: Nodes that come before a coalition [samples, n].

    Returns:
        Masks without and with the coalition [2, k, samples, n].
    """
    before = joiners[None] | ~regions[:, None]
    members = coalitions[:, None]
    return torch.stack([before & ~members, before | members])


@dataclass(eq=False)
class BatchedShapley:
    """Values of many coalitions at once, with the same joiners for all.

    Args:
        masked: Answers for masks, remembered.
        label: The class whose probability is shared out.
        topology: The graph's topology.
        radius: Hops, this many less one, that the neighbourhood of a coalition extends.
        joiners: Joiners to use, the first of them when fewer samples are asked for [samples, n].
    """

    masked: MaskedOracle
    label: int
    topology: Topology
    radius: int
    joiners: Tensor

    def __post_init__(self) -> None:
        """Work out which nodes are near which, once for all coalitions."""
        self._reach = self.topology.reach(self.radius - 1).float()

    def scores(self, coalitions: Sequence[int], samples: int) -> list[float]:
        """The value of each coalition, from the first `samples` joiners."""
        joiners = self.joiners[:samples]
        if len(joiners) < samples:
            raise ConfigError(
                f"expected at most {len(joiners)} samples, got {samples}; draw more joiners."
            )
        nodes = self.topology.num_nodes
        step = max(1, _BLOCK_VALUES // max(1, 2 * samples * nodes))
        values: list[float] = []
        for start in range(0, len(coalitions), step):
            block = as_masks(coalitions[start : start + step], nodes)
            values += self._block(block, joiners)
        return values

    def _block(self, coalitions: Tensor, joiners: Tensor) -> list[float]:
        regions = (coalitions.float() @ self._reach) > 0
        masks = coalition_masks(coalitions, regions, joiners)
        answers = self.masked.proba(masks.flatten(0, 2))[:, self.label].double()
        without, joined = answers.view(masks.shape[:3])
        result: list[float] = (joined - without).mean(dim=1).tolist()
        return result


@dataclass(eq=False)
class PlainShapley:
    """Values of coalitions the plain way, one coalition at a time: for comparison and tests.

    Every sample's two graphs are made as PyG data, which the oracle collates; nothing is shared
    and nothing remembered.

    Args:
        oracle: The oracle.
        label: The class whose probability is shared out.
        space: The graph.
        topology: Its topology.
        radius: As in `BatchedShapley`.
        generator: Draws new joiners for every coalition.
        joiners: Joiners to use instead of new ones [samples, n].
        masking: What is taken from masked nodes, see `masked_proba`.
    """

    oracle: Oracle
    label: int
    space: PairSpace
    topology: Topology
    radius: int
    generator: torch.Generator
    joiners: Tensor | None = None
    masking: Masking = "split"

    def __post_init__(self) -> None:
        """Work out which nodes are near which, once for all coalitions."""
        self._reach = self.topology.reach(self.radius - 1).float()

    def scores(self, coalitions: Sequence[int], samples: int) -> list[float]:
        """The value of each coalition."""
        return [self._score(coalition, samples) for coalition in coalitions]

    def _score(self, coalition: int, samples: int) -> float:
        nodes = self.topology.num_nodes
        joiners = self.joiners
        if joiners is None:
            joiners = draw_independent(samples, nodes, self.generator)
        members = as_masks([coalition], nodes)
        regions = (members.float() @ self._reach) > 0
        without, joined = coalition_masks(members, regions, joiners[:samples])[:, 0]
        gain = self._label_proba(joined) - self._label_proba(without)
        return float(gain.double().mean())

    def _label_proba(self, masks: Tensor) -> Tensor:
        graphs = [masked_graph(self.space, mask, masking=self.masking) for mask in masks]
        return checked_proba(self.oracle, graphs)[:, self.label]


def draw_independent(samples: int, num_nodes: int, generator: torch.Generator) -> Tensor:
    """Random sets of nodes that come before a coalition, each drawn by itself [samples, n]."""
    chance = torch.rand(samples, 1, generator=generator, dtype=torch.double)
    return torch.rand(samples, num_nodes, generator=generator, dtype=torch.double) < chance
