"""A molecule as integers, and many edited versions of it at once: atoms, bond orders, hydrogens.

Aromatic systems are kekulised, so that every bond has a whole order. Hydrogens that are no atoms are counts,
so that valence is exact: an atom that is kept keeps its valence, and one that is replaced gets the lowest
of its new element.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from edgeflip.core import PAD, SYMBOLS
from edgeflip.datasets.molecule_moves import MoleculeMoves

Ints: TypeAlias = npt.NDArray[np.int64]
Flags: TypeAlias = npt.NDArray[np.bool_]

VALENCES = {
    5: (3,), 6: (4,), 7: (3,), 8: (2,), 9: (1,), 14: (4,), 15: (3, 5), 16: (2, 4, 6), 17: (1,),
    34: (2, 4, 6), 35: (1,), 53: (1,),
}  # fmt: skip
"""Valences of the elements that atoms may become, the lowest first."""

# Places of a table by atomic number.
_ELEMENTS = len(SYMBOLS) + 1
_LOWEST = np.zeros(_ELEMENTS, dtype=np.int64)
_HIGHER = np.zeros((_ELEMENTS, 2), dtype=np.int64)
for _number, _known in VALENCES.items():
    _LOWEST[_number] = _known[0]
    _HIGHER[_number, : len(_known) - 1] = _known[1:]

# By how much a charge changes the lowest valence: ammonium has one bond more, alkoxide one less.
_ONIUM = np.zeros(_ELEMENTS, dtype=np.int64)
_ONIUM[[7, 8, 9, 15, 16, 17, 34, 35, 53]] = 1
_ONIUM[5] = -1

CHARGES = (-1, 0, 1)
"""The formal charges that an atom may be given."""

_CARBON, _NITROGEN, _OXYGEN = 6, 7, 8

# Values of one slot at most: elements, or atoms to attach, or orders.
WIDTH = 256


@dataclass(frozen=True, eq=False)
class MoleculeArrays:
    """The atoms and bonds of a molecule.

    Attributes:
        mol: The RDKit molecule, as it was read.
        kekule: The same with a whole order for every bond and explicit hydrogens.
        numbers: Atomic numbers [n].
        charges: Formal charges [n].
        hydrogens: Hydrogens that are no atoms [n].
        radicals: Unpaired electrons [n].
        ends: The atoms of every bond, the smaller first [2, m].
        orders: Orders of the bonds, 0 for those that are none of single, double and triple [m].
        aromatic: Which bonds are aromatic [m].
    """

    mol: Any
    kekule: Any
    numbers: Ints
    charges: Ints
    hydrogens: Ints
    radicals: Ints
    ends: Ints
    orders: Ints
    aromatic: Flags

    @classmethod
    def of(cls, chem: Any, mol: Any) -> MoleculeArrays:
        """Of a molecule that RDKit has sanitised."""
        kekule = chem.RWMol(mol)
        chem.Kekulize(kekule, clearAromaticFlags=True)
        atoms, bonds = list(mol.GetAtoms()), list(mol.GetBonds())
        hydrogens = [atom.GetTotalNumHs() for atom in atoms]
        for atom, count in zip(kekule.GetAtoms(), hydrogens, strict=True):
            atom.SetNoImplicit(True)
            atom.SetNumExplicitHs(count)
            # Edited molecules keep it, so that a drawing knows which atom is which.
            atom.SetIntProp("_place", atom.GetIdx())
        kinds = {chem.BondType.SINGLE: 1, chem.BondType.DOUBLE: 2, chem.BondType.TRIPLE: 3}
        ends = [sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())) for bond in bonds]
        return cls(
            mol,
            kekule,
            np.array([atom.GetAtomicNum() for atom in atoms], dtype=np.int64),
            np.array([atom.GetFormalCharge() for atom in atoms], dtype=np.int64),
            np.array(hydrogens, dtype=np.int64),
            np.array([atom.GetNumRadicalElectrons() for atom in atoms], dtype=np.int64),
            np.array(ends, dtype=np.int64).reshape(-1, 2).T.copy(),
            np.array([kinds.get(b.GetBondType(), 0) for b in kekule.GetBonds()], dtype=np.int64),
            np.array([bond.GetIsAromatic() for bond in bonds], dtype=np.bool_),
        )

    @property
    def count(self) -> int:
        """Number of atoms n."""
        return len(self.numbers)

    @cached_property
    def at(self) -> Ints:
        """Which atoms every bond ends at, 0 or 1 [m, n]."""
        found = np.zeros((self.ends.shape[1], self.count), dtype=np.int64)
        for end in self.ends:
            found[np.arange(len(end)), end] = 1
        return found

    @cached_property
    def degrees(self) -> Ints:
        """Number of bonds of each atom [n]."""
        return np.asarray(self.at.sum(axis=0))

    @cached_property
    def totals(self) -> Ints:
        """Bonds and hydrogens of each atom, a double bond counting twice [n]."""
        return self.orders @ self.at + self.hydrogens

    @cached_property
    def plain(self) -> Flags:
        """Atoms whose bonds all have whole orders, so that their valence is known [n]."""
        return np.asarray(((self.orders == 0).astype(np.int64) @ self.at) == 0)

    @cached_property
    def ring_bonds(self) -> Flags:
        """Which bonds are in a ring [m]."""
        return np.array([bond.IsInRing() for bond in self.mol.GetBonds()], dtype=np.bool_)

    @cached_property
    def bond_of(self) -> Ints:
        """The bond between two atoms, -1 where there is none [n, n]."""
        table = np.full((self.count, self.count), -1, dtype=np.int64)
        table[self.ends[0], self.ends[1]] = table[self.ends[1], self.ends[0]] = np.arange(
            self.ends.shape[1]
        )
        return table


@dataclass(frozen=True, eq=False)
class Numbering:
    """What the ids of moves stand for: `slot · 256 + value`.

    Slots are the n atoms (another element, or none), then an atom to attach at each, then their charges, then
    node pairs u < v (an order).

    Attributes:
        count: Number of atoms n.
        elements: Atomic numbers of the elements that atoms may become.
    """

    count: int
    elements: tuple[int, ...]

    @classmethod
    def of(cls, count: int, moves: MoleculeMoves) -> Numbering:
        """For a molecule of so many atoms."""
        return cls(count, tuple(SYMBOLS.index(name) + 1 for name in moves.elements))

    @cached_property
    def attached(self) -> tuple[tuple[int, int], ...]:
        """Element and order of what may be attached, by value."""
        single = tuple((number, 1) for number in self.elements if number in VALENCES)
        return (*single, (_OXYGEN, 2)) if _OXYGEN in self.elements else single

    @property
    def dropped(self) -> int:
        """The value of an atom that goes."""
        return len(self.elements)

    def pair(self, u: Any, v: Any) -> Any:
        """The slot of two atoms u < v."""
        n = self.count
        return 3 * n + u * (2 * n - u - 1) // 2 + (v - u - 1)

    @cached_property
    def _pairs(self) -> tuple[Ints, Ints]:
        one, two = np.triu_indices(self.count, 1)
        return one.astype(np.int64), two.astype(np.int64)

    def ends(self, slots: Ints) -> tuple[Ints, Ints]:
        """The atoms of slots of pairs; of other slots anything."""
        if self.count < 2:
            return np.zeros_like(slots), np.zeros_like(slots)
        places = np.clip(slots - 3 * self.count, 0, len(self._pairs[0]) - 1)
        return self._pairs[0][places], self._pairs[1][places]


@dataclass(frozen=True, eq=False)
class Versions:
    """Edited versions of a molecule, N = n + width places for atoms each.

    Attributes:
        numbers: Atomic numbers [versions, N].
        charges: Formal charges [versions, N].
        hydrogens: Hydrogens that are no atoms; below 0 where there is no room [versions, N].
        alive: Which places hold an atom [versions, N].
        orders: Orders of the molecule's own bonds, 0 for one that is gone [versions, m].
        bonds: Which of these there are [versions, m].
        new: The two ends and the order of a bond that each move adds, order 0 for none [versions, width, 3].
        degrees: Number of bonds of each atom [versions, N].
        changed: Atoms whose element, charge or bonds changed [versions, N].
    """

    numbers: Ints
    charges: Ints
    hydrogens: Ints
    alive: Flags
    orders: Ints
    bonds: Flags
    new: Ints
    degrees: Ints
    changed: Flags


def versions_of(base: MoleculeArrays, numbering: Numbering, rows: Ints) -> Versions:
    """What moves make of a molecule, possible or not.

    Args:
        base: The molecule.
        numbering: What ids stand for.
        rows: Sets of moves, padded [versions, width].
    """
    count, width = rows.shape
    n = base.count
    used = rows != PAD
    slots, values = np.where(used, rows // WIDTH, -1), rows % WIDTH
    empty = ((0, 0), (0, width))
    numbers = np.pad(np.broadcast_to(base.numbers, (count, n)), empty)
    charges = np.pad(np.broadcast_to(base.charges, (count, n)), empty)
    alive = np.pad(np.ones((count, n), dtype=np.bool_), empty)
    orders = np.broadcast_to(base.orders, (count, len(base.orders))).copy()
    bonds = np.ones(orders.shape, dtype=np.bool_)
    new = np.zeros((count, width, 3), dtype=np.int64)
    changed = np.zeros(numbers.shape, dtype=np.bool_)
    replaced = np.zeros(numbers.shape, dtype=np.bool_)

    at_atom = used & (slots < n)
    row, column = at_atom.nonzero()
    atom, value = slots[row, column], values[row, column]
    gone = value == numbering.dropped
    elements = np.array([*numbering.elements, 0])
    alive[row[gone], atom[gone]] = False
    stays = ~gone
    numbers[row[stays], atom[stays]] = elements[value[stays]]
    replaced[row[stays], atom[stays]] = changed[row, atom] = True

    row, column = (used & (slots >= n) & (slots < 2 * n)).nonzero()
    if len(row):
        attached = np.array(numbering.attached)
        what = attached[np.minimum(values[row, column], len(attached) - 1)]
        numbers[row, n + column] = what[:, 0]
        alive[row, n + column] = changed[row, n + column] = replaced[row, n + column] = True
        new[row, column] = np.stack([slots[row, column] - n, n + column, what[:, 1]], axis=1)

    row, column = (used & (slots >= 2 * n) & (slots < 3 * n)).nonzero()
    if len(row):
        atom = slots[row, column] - 2 * n
        charges[row, atom] = np.array(CHARGES)[np.minimum(values[row, column], len(CHARGES) - 1)]
        changed[row, atom] = replaced[row, atom] = True

    row, column = (used & (slots >= 3 * n)).nonzero()
    if len(row):
        u, v = numbering.ends(slots[row, column])
        bond, order = base.bond_of[u, v], values[row, column]
        there = bond >= 0
        orders[row[there], bond[there]] = order[there]
        bonds[row[there], bond[there]] = order[there] > 0
        fresh = ~there
        new[row[fresh], column[fresh]] = np.stack([u, v, order], axis=1)[fresh]
        changed[row, u] = changed[row, v] = True

    return _counted(
        base,
        Versions(numbers, charges, numbers, alive, orders, bonds, new, numbers, changed),
        replaced,
    )


def _counted(base: MoleculeArrays, made: Versions, replaced: Flags) -> Versions:
    """Versions with their hydrogens and degrees, bonds of atoms that went gone."""
    numbers, alive, orders, bonds = made.numbers, made.alive, made.orders, made.bonds
    new, changed, n = made.new, made.changed, base.count
    count, empty = len(numbers), ((0, 0), (0, made.new.shape[1]))
    lost = ~(alive[:, base.ends[0]] & alive[:, base.ends[1]])
    if lost.any():
        orders[lost] = 0
        bonds = bonds & ~lost
        row, bond = lost.nonzero()
        changed[row, base.ends[0][bond]] = changed[row, base.ends[1][bond]] = True
    sums, degrees = np.zeros_like(numbers), np.zeros_like(numbers)
    sums[:, :n], degrees[:, :n] = orders @ base.at, bonds.astype(np.int64) @ base.at
    row, column = (new[:, :, 2] > 0).nonzero()
    for end in (0, 1):
        place = new[row, column, end]
        np.add.at(sums, (row, place), new[row, column, 2])
        np.add.at(degrees, (row, place), 1)
        changed[row, place] = True
    hydrogens = _hydrogens(base, numbers, made.charges, sums, replaced)
    hydrogens[~changed] = np.pad(np.broadcast_to(base.hydrogens, (count, n)), empty)[~changed]
    return replace(made, bonds=bonds, hydrogens=hydrogens, degrees=degrees)


def _hydrogens(
    base: MoleculeArrays, numbers: Ints, charges: Ints, sums: Ints, replaced: Flags
) -> Ints:
    """Hydrogens that fill the valence of every atom, below 0 where there is no room [versions, N]."""
    n = base.count
    # Another element or charge: the lowest valence there is.
    onium = _ONIUM[numbers]
    lowest = _LOWEST[numbers] + np.where(onium == 0, -np.abs(charges), onium * charges)
    found = np.where(_LOWEST[numbers] > 0, lowest - sums, -1)
    # The same atom keeps its valence; sulphur and phosphorus with few bonds fall back to a lower one.
    kept = np.zeros_like(numbers)
    kept[:, :n] = base.totals - sums[:, :n]
    higher = np.zeros_like(numbers, dtype=np.bool_)
    higher[:, :n] = (_HIGHER[base.numbers, 0] > 0) & (base.charges == 0) & (base.hydrogens == 0)
    if higher.any():
        known = np.stack([_LOWEST[numbers], *_HIGHER[numbers].transpose(2, 0, 1)])
        fits = np.where((known >= sums) & (known > 0), known, 99).min(axis=0)
        spare = fits - sums
        # Hydrogens on a sulphone or a phosphate are nothing that one would make.
        possible = (spare == 0) | (fits == _LOWEST[numbers])
        kept = np.where(higher, np.where(possible & (fits < 99), spare, -1), kept)
    return np.where(replaced, found, kept)


def are_sound(base: MoleculeArrays, made: Versions) -> Flags:
    """Which versions are molecules: valences kept, no strained multiple bonds in rings [versions]."""
    sound = ~((made.hydrogens < 0) & made.alive).any(axis=1)
    n = base.count
    # In a ring no atom has two double bonds of the ring, and none has a triple one.
    inside = np.where(base.ring_bonds, np.maximum(made.orders - 1, 0), 0) @ base.at
    before = (np.where(base.ring_bonds, np.maximum(base.orders - 1, 0), 0) @ base.at) > 1
    return np.asarray(sound & ~((inside > 1) & ~before & made.changed[:, :n]).any(axis=1))
