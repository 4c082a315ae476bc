"""Sets inside others: which candidates have needless moves, and what they are without them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import torch
from torch import Tensor

from edgeflip.core import PAD, EditSpace, candidate_keys, widened

Forms: TypeAlias = Callable[[Tensor], Tensor]
"""Brings rows to the one form that stands for all that are alike; see `forms_of`."""

# Of more moves than this not all subsets are asked about: 10 moves have a thousand of them.
_SUBSET_MOVES = 10

# Flips that are looked through for needless moves at once.
_EXAMINED = 2000


class Reductions:
    """Smaller versions of candidates, which tell whether all their moves are needed; of each one once."""

    def __init__(self) -> None:
        self._known: set[int] = set()

    def fresh(self, rows: Tensor) -> Tensor:
        """Which candidates have smaller versions that were not given yet [candidates]."""
        keys = candidate_keys(rows).tolist()
        fresh = torch.tensor([key not in self._known for key in keys], dtype=torch.bool)
        return fresh & ((rows != PAD).sum(dim=1) >= 2)

    def of(self, rows: Tensor) -> Tensor:
        """The smaller versions of candidates [subsets, width]."""
        self._known.update(candidate_keys(rows).tolist())
        return _smaller_versions(rows)


def _smaller_versions(rows: Tensor) -> Tensor:
    """All non-empty proper subsets of candidates, padded [subsets, width].

    Of many moves only those with one fewer: what flips among them is reduced in its turn. Those of
    the first candidate come first.
    """
    rows = rows.sort(dim=1, descending=True).values
    sizes = (rows != PAD).sum(dim=1)
    parts, owners = [], []
    for size in sizes.unique().tolist():
        if size > _SUBSET_MOVES:
            chosen = ~torch.eye(size, dtype=torch.bool)
        else:
            masks = torch.arange(1, 2**size - 1)
            chosen = (masks[:, None] >> torch.arange(size)) & 1 > 0
        indices = (sizes == size).nonzero().flatten()
        smaller = torch.where(chosen, rows[indices, None, :size], PAD)
        parts.append(widened(smaller.flatten(end_dim=1), rows.size(1)))
        owners.append(indices.repeat_interleave(len(chosen)))
    return torch.cat(parts)[torch.cat(owners).argsort(stable=True)]


def forms_of(space: EditSpace) -> Forms | None:
    """What tells sets apart that look different and are the same; None where none are."""
    return space.normalise if getattr(space, "merges_alike", False) else None


def without_supersets(
    order: Tensor, rows: Tensor, *, limit: int, forms: Forms | None = None
) -> Tensor:
    """The first entries of an order, without those that contain another flip.

    Args:
        order: Indices of flips, best first.
        rows: All flips [flips, width].
        limit: At most this many.
        forms: What a part of a flip is known by, where that is not its moves alone.
    """
    if not len(order) or rows.size(1) == 1:
        return order[:limit]
    sizes = (rows != PAD).sum(dim=1)
    least, most = sizes.aminmax()
    if least == most:
        return order[:limit]
    known = candidate_keys(rows).sort().values
    kept: list[Tensor] = []
    # Mostly the first few are enough: all subsets of many flips are a lot.
    first, next_ = 2 * limit, 10 * limit
    for part in (order[:first], order[first:next_], *order[next_:].split(_EXAMINED)):
        kept.append(part[~_have_redundant_moves(rows[part], known, forms)])
        if sum(map(len, kept)) >= limit:
            break
    return torch.cat(kept)[:limit]


def contain_others(rows: Tensor) -> Tensor:
    """Which candidates hold all moves of another, smaller one of them [candidates].

    Example:
        >>> contain_others(torch.tensor([[3, 1], [1, PAD], [4, 3]])).tolist()
        [True, False, False]
    """
    ids, places = rows.unique(return_inverse=True)
    member = torch.zeros(len(rows), len(ids)).scatter_(1, places, 1.0)[:, ids != PAD]
    shared, sizes = member @ member.T, member.sum(dim=1)
    return ((shared == sizes) & (sizes < sizes[:, None])).any(dim=1)


def _have_redundant_moves(rows: Tensor, known: Tensor, forms: Forms | None) -> Tensor:
    """Which flips contain another; keys of all of them are known, in order [flips]."""
    rows = rows.sort(dim=1, descending=True).values
    sizes = (rows != PAD).sum(dim=1)
    redundant = torch.zeros(len(rows), dtype=torch.bool)
    for size in sizes.unique().tolist():
        if size >= 2:
            indices = (sizes == size).nonzero().flatten()
            own = rows[indices, :size]
            if forms is None:
                keys = _subset_keys(own)
            else:
                keys = candidate_keys(forms(_smaller_versions(own))).view(len(own), -1)
            found = known[torch.searchsorted(known, keys).clamp_(max=known.numel() - 1)] == keys
            redundant[indices] = found.any(dim=1)
    return redundant


def _subset_keys(rows: Tensor) -> Tensor:
    """Keys of the smaller versions of candidates of one size, see `_smaller_versions` [rows, …]."""
    single = candidate_keys(rows.reshape(-1, 1)).view_as(rows)
    if rows.size(1) > _SUBSET_MOVES:
        # Keys are combined by exclusive or, so what is combined twice is taken out.
        return candidate_keys(rows)[:, None] ^ single
    keys = torch.zeros(len(rows), 1, dtype=torch.long)
    for column in single.unbind(dim=1):
        keys = torch.cat([keys, keys ^ column[:, None]], dim=1)
    return keys[:, 1:-1].contiguous()
