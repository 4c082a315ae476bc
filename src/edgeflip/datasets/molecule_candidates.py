"""Every move that the sorts of typed edits allow in a molecule, possible or not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from edgeflip.datasets.chemistry import rdkit_chem
from edgeflip.datasets.molecule_arrays import (
    CHARGES,
    VALENCES,
    WIDTH,
    MoleculeArrays,
    Numbering,
)
from edgeflip.datasets.molecule_moves import MoleculeMoves


def conceivable_moves(base: MoleculeArrays, own: Numbering, moves: MoleculeMoves) -> Iterator[int]:
    """Every move that its sort allows, possible or not."""
    n = base.count
    u, v = base.ends
    free = base.plain & (base.numbers > 1) & (base.radicals == 0)
    for atom in free.nonzero()[0].tolist():
        if moves.replace and not base.charges[atom] and int(base.numbers[atom]) in VALENCES:
            for value, number in enumerate(own.elements):
                if number != base.numbers[atom] and number in VALENCES:
                    yield atom * WIDTH + value
        if moves.drop and base.degrees[atom] == 1 and n > 2:
            yield atom * WIDTH + own.dropped
        if moves.attach and base.hydrogens[atom]:
            for value, (_, order) in enumerate(own.attached):
                if order <= base.hydrogens[atom]:
                    yield (n + atom) * WIDTH + value
        if moves.charge and int(base.numbers[atom]) in VALENCES:
            for value, charge in enumerate(CHARGES):
                if charge != base.charges[atom]:
                    yield (2 * n + atom) * WIDTH + value
    for bond, (one, two) in enumerate(zip(u.tolist(), v.tolist(), strict=True)):
        if not (free[one] and free[two]):
            continue
        slot = int(own.pair(one, two))
        if moves.bond:
            orders = (order for order in (1, 2, 3) if order != base.orders[bond])
            yield from (slot * WIDTH + order for order in orders)
        if moves.rings and base.ring_bonds[bond]:
            yield slot * WIDTH
    if moves.rings:
        apart = np.array(rdkit_chem().GetDistanceMatrix(base.mol))
        near = (apart >= 4) & (apart <= 6) & free[:, None] & free[None]
        for one, two in np.argwhere(np.triu(near)).tolist():
            yield int(own.pair(one, two)) * WIDTH + 1
