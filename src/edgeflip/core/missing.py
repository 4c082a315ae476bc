"""The pairs that may become an edge, described and not listed: a large graph has millions of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from edgeflip.core.graphs import PairSpace, id_pairs, pair_ids
from edgeflip.errors import GraphError

TABLE_LIMIT = 100_000
"""Up to this many moves there are tables over all of them; of more, only over those looked at."""


@dataclass(frozen=True, eq=False)
class MissingPairs:
    """Pairs among some nodes, but for a few that are left out; numbered by ascending id.

    What it takes grows with the nodes and the edges of a graph, not with its pairs.

    Attributes:
        space: The graph.
        nodes: The nodes among which edges may come, ascending; None for all of them [nodes].
        left_out: Which of the pairs among these nodes are left out, numbered as if there were no
            other nodes, ascending [left out].

    Example:
        >>> from torch_geometric.data import Data
        >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=4)
        >>> missing = MissingPairs.of(PairSpace.of(path))
        >>> len(missing), missing[torch.arange(4)].tolist(), missing.ids.tolist()
        (4, [1, 2, 4, 5], [1, 2, 4, 5])
        >>> missing.contain(torch.tensor([0, 1])).tolist()
        [False, True]
    """

    space: PairSpace
    nodes: Tensor | None
    left_out: Tensor
    _places: Tensor | None = field(repr=False, default=None)

    @classmethod
    def of(
        cls, space: PairSpace, nodes: Tensor | None = None, forbidden: Tensor | None = None
    ) -> MissingPairs:
        """All pairs without an edge, or those among some nodes.

        Args:
            space: The graph.
            nodes: Where edges may come, as booleans; None for everywhere [n].
            forbidden: Ids of further pairs that are left out.
        """
        ids = space.edge_ids
        if forbidden is not None:
            ids = torch.cat([ids, forbidden]).unique()
        if nodes is None:
            return cls(space, None, ids)
        chosen = nodes.nonzero().flatten()
        places = torch.full((space.num_nodes,), -1)
        places[chosen] = torch.arange(len(chosen))
        u, v = places[space.ends(ids)]
        inside = (u >= 0) & (v >= 0)
        return cls(space, chosen, pair_ids(u[inside], v[inside], len(chosen)), places)

    def __len__(self) -> int:
        """How many there are."""
        return self._num_pairs - self.left_out.numel()

    def __getitem__(self, ranks: Tensor) -> Tensor:
        """The ids of those of given numbers, from 0 to `len - 1`; any shape."""
        # So many that are not left out come before each one that is.
        before = self.left_out - torch.arange(self.left_out.numel())
        return self._ids_of(ranks + torch.searchsorted(before, ranks.contiguous(), right=True))

    @cached_property
    def ids(self) -> Tensor:
        """Ids of all of them, ascending [missing].

        Raises:
            GraphError: If they do not fit into memory.
        """
        try:
            missing = torch.ones(self._num_pairs, dtype=torch.bool)
            missing[self.left_out] = False
            return self._ids_of(missing.nonzero().flatten())
        except (RuntimeError, TypeError, MemoryError):
            raise GraphError(
                f"expected a graph whose node pairs fit into memory, got {self._num_pairs:,} of them; "
                "allow no additions, or edits within a region only: Constraints(within=nodes)."
            ) from None

    @property
    def listed(self) -> Tensor | MissingPairs:
        """Their ids where there are few enough of them to list, themselves where there are more."""
        return self.ids if len(self) <= TABLE_LIMIT else self

    def contain(self, ids: Tensor) -> Tensor:
        """Which pairs are among them; any shape."""
        if self._places is None:
            return ~is_among(ids, self.left_out)
        u, v = self._places[self.space.ends(ids)]
        inside = (u >= 0) & (v >= 0)
        places = pair_ids(u.clamp(min=0), v.clamp(min=0), self._num_nodes)
        found: Tensor = inside & ~is_among(places, self.left_out)
        return found

    @property
    def _num_nodes(self) -> int:
        return self.space.num_nodes if self.nodes is None else len(self.nodes)

    @property
    def _num_pairs(self) -> int:
        return self._num_nodes * (self._num_nodes - 1) // 2

    def _ids_of(self, places: Tensor) -> Tensor:
        """The ids of pairs that are numbered as if there were no other nodes; any shape."""
        if self.nodes is None:
            return places
        u, v = id_pairs(places, self._num_nodes)
        return pair_ids(self.nodes[u], self.nodes[v], self.space.num_nodes)


def is_among(values: Tensor, ordered: Tensor) -> Tensor:
    """Which values are in an ascending list; any shape.

    Example:
        >>> is_among(torch.tensor([3, 4]), torch.tensor([1, 3])).tolist()
        [True, False]
    """
    if not ordered.numel():
        return torch.zeros_like(values, dtype=torch.bool)
    index = torch.searchsorted(ordered, values.contiguous()).clamp_(max=ordered.numel() - 1)
    return ordered[index] == values
