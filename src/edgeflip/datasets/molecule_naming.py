"""What an id of a typed edit stands for, as people see it."""

from __future__ import annotations

import numpy as np

from edgeflip.core import SYMBOLS
from edgeflip.datasets.molecule_arrays import CHARGES, WIDTH, Numbering
from edgeflip.datasets.molecule_moves import Kind, MoleculeMove
from edgeflip.datasets.molecule_reading import ReadMolecule


def move_of(read: ReadMolecule, own: Numbering, kind: Kind, id_: int) -> MoleculeMove:
    """The move of an id.

    Args:
    read: The molecule.
    own: What ids stand for.
    kind: The sort of the move.
    id_: The id.
    """
    base, n = read.base, read.base.count
    slot, value = divmod(id_, WIDTH)
    nodes = read.nodes
    if slot >= 3 * n:
        ends = own.ends(np.array([slot]))
        u, v = int(ends[0][0]), int(ends[1][0])
        bond = base.bond_of[u, v]
        was = "" if bond < 0 else str(base.orders[bond])
        pair = tuple(sorted((int(nodes[u]), int(nodes[v]))))
        return MoleculeMove(kind, pair, str(value) if value else "", was)
    atom = slot % n
    symbol = SYMBOLS[base.numbers[atom] - 1]
    node = (int(nodes[atom]),)
    if kind == "charge":
        return MoleculeMove(kind, node, f"{CHARGES[value]:+d}", f"{base.charges[atom]:+d}")
    if kind == "attach":
        number, order = own.attached[value]
        return MoleculeMove(kind, node, "=" * (order > 1) + SYMBOLS[number - 1], symbol)
    to = "" if kind == "drop" else SYMBOLS[own.elements[value] - 1]
    return MoleculeMove(kind, node, to, symbol)
