"""What the message-passing graph itself says of its nodes and pairs, before any learning.

A plain GCN sees degrees and little more on graphs whose features are constant. These few features are
cheap (some matrix products per graph) and say what a link predictor needs: how far apart two nodes
are, how many neighbours they share, whether short cycles close nearby, how large their parts are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from edgeflip.core import Buckets, size_buckets

NODE_FEATURES = 13
PAIR_FEATURES = 15

_HOPS = 5

# Cells of matrices in one stack: what stays in the processor's cache.
_STACK_CELLS = 50_000


@dataclass(frozen=True, eq=False)
class Structure:
    """What a stack of graphs says.

    Attributes:
        node: Features of nodes [b, n, NODE_FEATURES].
        ends: What pairs take from their nodes: logs of degrees, shares of nodes in their part, logs of
            that part's size, three of [b, n].
        parts: How many parts a graph has for each of its nodes [b, n].
        shared: Numbers of common neighbours, plain and weighted, two of [b, n, n].
        walks: Chances of walks of two, three and four steps, three of [b, n, n].
        reached: Who reaches whom within one to four hops and at all, five of [b, n, n].
    """

    node: Tensor
    ends: Sequence[Tensor]
    parts: Tensor
    shared: Sequence[Tensor]
    walks: Sequence[Tensor]
    reached: Sequence[Tensor]

    @classmethod
    def of(cls, adjacency: Tensor, mask: Tensor) -> Structure:
        """The structure of graphs.

        Args:
            adjacency: 0/1, symmetric, without self-loops [b, n, n].
            mask: Which nodes are there, as graphs are padded to one size [b, n].
        """
        degree = adjacency.sum(dim=2)
        walk = adjacency / degree.clamp(min=1).unsqueeze(2)
        steps = [walk]
        for _ in range(6):
            steps.append(steps[-1] @ walk)
        reached, part = _reachability(adjacency, mask)
        returns = [step.diagonal(dim1=1, dim2=2) for step in steps[1:]]
        logs = torch.log1p(degree)
        count = mask.sum(dim=1, keepdim=True).clamp(min=1)
        # How many parts and edges the whole graph has tells how much is missing.
        parts = (mask / (part * count).clamp(min=1)).sum(dim=1, keepdim=True) / count
        density = degree.sum(dim=1, keepdim=True) / count
        heaviest = (adjacency * logs.unsqueeze(1)).amax(dim=2)
        sizes = torch.log1p(part * count)
        node = torch.stack(
            [
                logs,
                part,
                (degree == 0).float(),
                sizes,
                parts.expand_as(logs),
                density.expand_as(logs),
                heaviest,
                *returns,
            ],
            dim=2,
        )
        common = adjacency @ adjacency
        adamic = adjacency @ (adjacency / torch.log(degree + 1.7).unsqueeze(2))
        return cls(
            node * mask.unsqueeze(2),
            (logs, part, sizes),
            parts.expand_as(logs).contiguous(),
            (common, adamic),
            steps[1:4],
            reached[1:],
        )

    def all_pairs(self) -> Tensor:
        """Features of all pairs, symmetric [b, n, n, PAIR_FEATURES]."""
        return _of_pairs(
            [each.unsqueeze(2) for each in self.ends],
            [each.unsqueeze(1) for each in self.ends],
            self.parts.unsqueeze(2),
            self.shared,
            [step + step.transpose(1, 2) for step in self.walks],
            self.reached,
        )

    def pairs(self, graph: Tensor, u: Tensor, v: Tensor) -> Tensor:
        """Features of chosen pairs [pairs, PAIR_FEATURES].

        Args:
            graph: The place of each pair's graph in the stack [pairs].
            u: Its first node [pairs].
            v: Its second node [pairs].
        """
        nodes = self.node.size(1)
        first, second = graph * nodes + u, graph * nodes + v
        there, back = first * nodes + v, second * nodes + u

        def at(matrices: Sequence[Tensor], cells: Tensor) -> list[Tensor]:
            return [each.flatten().index_select(0, cells) for each in matrices]

        walks = zip(at(self.walks, there), at(self.walks, back), strict=True)
        return _of_pairs(
            at(self.ends, first),
            at(self.ends, second),
            self.parts.flatten()[first],
            at(self.shared, there),
            [forth + again for forth, again in walks],
            at(self.reached, there),
        )


def features_of_rows(
    sizes: Sequence[int], messages: Tensor, pairs: Tensor
) -> tuple[Tensor, Tensor]:
    """Features of all nodes [nodes, NODE_FEATURES] and of chosen pairs [pairs, PAIR_FEATURES].

    Args:
        sizes: Nodes of each graph.
        messages: Edges as graph, first and second node [3, edges].
        pairs: Pairs, likewise [3, pairs].
    """
    buckets = Buckets(sizes, size_buckets(sizes, cells=_STACK_CELLS))
    of_pairs = torch.empty(pairs.size(1), PAIR_FEATURES)
    of_nodes = []
    for stack, part in zip(buckets.adjacency(messages), buckets.parts, strict=True):
        structure = Structure.of(stack, part.mask)
        of_nodes.append(structure.node)
        own = part.places[pairs[0]]
        chosen = (own >= 0).nonzero().flatten()
        graph, u, v = own[chosen], *pairs[1:, chosen]
        of_pairs[chosen] = structure.pairs(graph, u, v)
    return buckets.rows(of_nodes), of_pairs


def _of_pairs(
    first: Sequence[Tensor],
    second: Sequence[Tensor],
    parts: Tensor,
    shared: Sequence[Tensor],
    walks: Sequence[Tensor],
    reached: Sequence[Tensor],
) -> Tensor:
    """Features of pairs from those of their ends and what matrices say of them […]."""
    (one, one_part, one_size), (other, other_part, other_size) = first, second
    common, adamic = shared
    near = [reached[hop] - reached[hop - 1] for hop in range(1, _HOPS - 1)]
    apart = 1.0 - reached[-1]
    features = [
        torch.log1p(common),
        adamic,
        one + other,
        one * other,
        *walks,
        *near,
        apart,
        one_part + other_part,
        torch.minimum(one_size, other_size) * apart,
        apart * parts,
        torch.maximum(one, other),
    ]
    return torch.stack(features, dim=-1)


def _reachability(adjacency: Tensor, mask: Tensor) -> tuple[list[Tensor], Tensor]:
    """Who reaches whom within 0, 1, … hops and at all, and the share of nodes in each node's part."""
    size = adjacency.size(1)
    eye = torch.eye(size).expand_as(adjacency)
    steps = adjacency + eye
    reached = [eye, (steps > 0).float()]
    for _ in range(2, _HOPS):
        reached.append(((reached[-1] @ steps) > 0).float())
    whole = reached[-1]
    hops = _HOPS - 1
    while hops < size:
        whole = ((whole @ whole) > 0).float()
        hops *= 2
    reached.append(whole)
    count = mask.sum(dim=1, keepdim=True).clamp(min=1)
    return reached, (whole * mask.unsqueeze(1)).sum(dim=2) / count
