"""Moves that a molecule's own symmetry makes the same: of each set one form is looked at."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeflip.core import PAD
from edgeflip.datasets.molecule_arrays import WIDTH, Ints, MoleculeArrays, Numbering

# Molecules with more symmetries than this are taken to have none: listing them takes longer than it saves.
MOST_SYMMETRIES = 64

_NEVER = np.iinfo(np.int64).max

# Rows times symmetries that are compared at once.
_AT_ONCE = 200_000


def symmetries(base: MoleculeArrays, labels: Ints) -> Ints:
    """Permutations of the atoms that leave the molecule as it is, the identity first [symmetries, n].

    Args:
        base: The molecule.
        labels: What else must stay, such as features of the atoms [n, any].
    """
    n = base.count
    identity = np.arange(n)[None]
    matches = base.mol.GetSubstructMatches(
        base.mol, uniquify=False, useChirality=True, maxMatches=MOST_SYMMETRIES + 1
    )
    if not 1 < len(matches) <= MOST_SYMMETRIES:
        return identity
    found = np.array(matches, dtype=np.int64)
    own = np.column_stack([base.numbers, base.charges, base.hydrogens, base.radicals, labels])
    found = found[(own[found] == own).all(axis=(1, 2))]
    rest = found[(found != identity).any(axis=1)]
    return np.concatenate([identity, rest])


def are_exact(base: MoleculeArrays, found: Ints) -> Any:
    """Which permutations keep the order of every bond, not only of aromatic systems [symmetries]."""
    table = np.zeros((base.count, base.count), dtype=np.int64)
    u, v = base.ends
    table[u, v] = table[v, u] = base.orders + 1
    return (table[found[:, u], found[:, v]] == table[u, v]).all(axis=1)


class Symmetry:
    """The form of sets of moves that stands for all that are the same.

    Args:
        base: The molecule.
        numbering: What ids stand for.
        allowed: The moves that may be made, ascending [moves].
        labels: What symmetries must keep [n, any].
    """

    def __init__(
        self, base: MoleculeArrays, numbering: Numbering, allowed: Ints, labels: Ints
    ) -> None:
        self._allowed = allowed
        found = symmetries(base, labels)
        if len(found) == 1 or not len(allowed):
            self._table = None
            return
        exact = are_exact(base, found)
        slots, values = allowed // WIDTH, allowed % WIDTH
        n = base.count
        table = np.empty((len(found), len(allowed)), dtype=np.int64)
        pairs = slots >= 3 * n
        u, v = numbering.ends(slots)
        # A symmetry of an aromatic system may turn its single bonds into its double ones.
        bond = base.bond_of[u, v]
        aromatic = pairs & (bond >= 0)
        aromatic[aromatic] = base.aromatic[bond[aromatic]]
        for place, each in enumerate(found):
            group, atom = np.divmod(slots, n)
            moved = group * n + each[np.where(pairs, 0, atom)]
            low, high = np.minimum(each[u], each[v]), np.maximum(each[u], each[v])
            ids = np.where(pairs, numbering.pair(low, high), moved) * WIDTH + values
            table[place] = np.where(aromatic & ~exact[place], _NEVER, ids)
        known = np.append(allowed, _NEVER)
        places = np.searchsorted(allowed, table)
        kept = (known[places] == table).all(axis=1)
        # What constraints tell apart is not the same.
        self._table = table[kept] if kept.sum() > 1 else None

    @property
    def is_trivial(self) -> bool:
        """Whether no two moves are the same."""
        return self._table is None

    def first_forms(self, rows: Ints) -> Ints:
        """The form of each row that stands for all that are the same, sorted, padded last.

        Args:
            rows: Sorted rows of allowed moves, padded last [rows, width].
        """
        table = self._table
        if table is None or not rows.size:
            return rows
        if len(rows) * len(table) > _AT_ONCE:
            step = max(1, _AT_ONCE // len(table))
            parts = [self.first_forms(rows[i : i + step]) for i in range(0, len(rows), step)]
            return np.concatenate(parts)
        used = rows != PAD
        places = np.searchsorted(self._allowed, np.where(used, rows, self._allowed[0]))
        known = np.append(self._allowed, PAD)[places] == rows
        moved = np.where(used, table[:, places], PAD)
        # A form with a move that a symmetry does not know is none; neither is one of unknown moves.
        never = (moved == _NEVER).any(axis=2) | ~(known | ~used).all(axis=1)
        moved = -np.sort(-np.where(moved == _NEVER, 0, moved), axis=2)
        best = rows.copy()
        for form, out in zip(moved, never, strict=True):
            less = _is_less(form, best) & ~out
            best[less] = form[less]
        return best


def _is_less(one: Ints, two: Ints) -> Any:
    """Which rows come before others, by their first difference [rows]."""
    differs = one != two
    first = differs.argmax(axis=1)
    row = np.arange(len(one))
    return differs.any(axis=1) & (one[row, first] < two[row, first])
