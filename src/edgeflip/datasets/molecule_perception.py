"""What chemists perceive in edited molecules: aromatic bonds, hybridisation, rings, stereocentres.

It agrees with RDKit and is worked out for many versions at once. RDKit itself is asked where an edit touches
a ring, once for all versions that do the same there, and where symmetry may have undone a stereocentre.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from edgeflip.core import PAD, SYMBOLS
from edgeflip.datasets.chemistry import rdkit_chem
from edgeflip.datasets.molecule_arrays import WIDTH, Flags, Ints, MoleculeArrays, Versions
from edgeflip.datasets.molecule_building import Builder

_Key: TypeAlias = tuple[int, ...]

# PyG's numbers of hybridisations by orbitals that an atom needs; four are sp2 where the atom is conjugated.
_HYBRIDS = np.array([1, 1, 2, 3, 4, 5, 6])
_SP2, _SP3, _OTHER = 3, 4, 0

# Rounds in which atoms learn of their surroundings, to see whether those of a stereocentre differ.
_ROUNDS = 6


@dataclass(frozen=True, eq=False)
class Bonds:
    """The bonds of versions in both directions, in order; atoms count on from version to version.

    Attributes:
        ends: From which atom to which [2, bonds].
        orders: Their orders [bonds].
        aromatic: Which are aromatic [bonds].
    """

    ends: Ints
    orders: Ints
    aromatic: Flags


@dataclass(frozen=True, eq=False)
class Perceived:
    """What is perceived in versions, for all their atoms one version after the other.

    Attributes:
        bonds: The bonds.
        chirality: PyG's numbers of chiral tags [atoms].
        hybridisation: PyG's numbers of hybridisations [atoms].
        aromatic: Which atoms are aromatic [atoms].
        in_ring: Which are in a ring [atoms].
    """

    bonds: Bonds
    chirality: Ints
    hybridisation: Ints
    aromatic: Flags
    in_ring: Flags


class Perception:
    """Perceives versions of one molecule.

    Args:
        base: The molecule.
        builder: Who asks RDKit.
    """

    def __init__(self, base: MoleculeArrays, builder: Builder) -> None:
        self._base, self._builder = base, builder
        self._known: dict[_Key, Flags] = {(): base.aromatic}
        atoms = list(base.mol.GetAtoms())
        self._in_ring = np.array([atom.IsInRing() for atom in atoms], dtype=np.bool_)
        self._tags = np.array([int(atom.GetChiralTag()) for atom in atoms], dtype=np.int64)
        self._isotopes = np.array([atom.GetIsotope() for atom in atoms], dtype=np.int64)
        self._tables = _tables()
        n = base.count
        # Bonds of rings, and bonds that lead to one.
        self._at_ring = self._in_ring[base.ends].any(axis=0) if n else np.zeros(0, dtype=np.bool_)

    def of(self, rows: Ints, made: Versions) -> Perceived:
        """What is perceived in versions, whose moves these are."""
        base = self._base
        n, count = base.count, len(rows)
        alive = made.alive
        rings = self._changes_rings(made)
        aromatic, mols = self._aromatic_bonds(rows, made, rings)
        bonds = self._bonds(made, aromatic)
        total = int(alive.sum())
        is_aromatic = np.zeros(total, dtype=np.bool_)
        is_aromatic[bonds.ends[0][bonds.aromatic]] = True
        inside = np.pad(np.broadcast_to(self._in_ring, (count, n)), _wider(alive, n))
        for place in rings.nonzero()[0].tolist():
            inside[place, alive[place]] = [atom.IsInRing() for atom in mols[place].GetAtoms()]
        return Perceived(
            bonds,
            self._chirality(rows, made, bonds, mols),
            self._hybridisation(made, bonds),
            is_aromatic,
            inside[alive],
        )

    def _changes_rings(self, made: Versions) -> Flags:
        """Which versions have rings opened or closed [versions]."""
        base = self._base
        closed = (made.new[:, :, 2] > 0) & (made.new[:, :, 1] < base.count)
        u, v = base.ends
        lost = ~made.bonds & made.alive[:, u] & made.alive[:, v]
        return np.asarray(closed.any(axis=1) | lost.any(axis=1))

    # Aromatic bonds.

    def _aromatic_bonds(
        self, rows: Ints, made: Versions, rings: Flags
    ) -> tuple[Flags, dict[int, Any]]:
        """Which of the molecule's bonds, and of the new ones, are aromatic [versions, m + width]."""
        m, width = self._base.ends.shape[1], rows.shape[1]
        found = np.zeros((len(rows), m + width), dtype=np.bool_)
        mols: dict[int, Any] = {}
        touches = self._touches_rings(rows, made)
        keys = np.where(touches, rows, PAD)
        for place, row in enumerate(keys.tolist()):
            key = tuple(id_ for id_ in row if id_ != PAD)
            if rings[place]:
                mols[place] = self._builder.molecule(rows[place].tolist(), made, place)
                found[place] = self._read_aromatic(mols[place], made, place)
                continue
            if key not in self._known:
                mols[place] = self._builder.molecule(rows[place].tolist(), made, place)
                self._known[key] = self._read_aromatic(mols[place], made, place)[:m]
            found[place, :m] = self._known[key]
        found[:, :m] &= made.bonds
        return found, mols

    def _touches_rings(self, rows: Ints, made: Versions) -> Flags:
        """Which moves can change what is aromatic [versions, width].

        An atom that hangs on a ring by a single bond does not; one in the ring, or doubly bonded to it, does.
        """
        base, n = self._base, self._base.count
        used = rows != PAD
        slots, values = np.where(used, rows // WIDTH, 0), rows % WIDTH
        u, v = self._builder.numbering.ends(slots)
        pairs = used & (slots >= 3 * n)
        found = pairs & (self._in_ring[u] | self._in_ring[v])
        atom = slots % max(1, n)
        # The atoms doubly bonded to a ring, before or after.
        multiple = np.maximum(made.orders, base.orders) > 1
        near = ((multiple & self._at_ring).astype(np.int64) @ base.at)[:, :n] > 0
        row = np.arange(len(rows))[:, None]
        found |= used & (slots < n) & (self._in_ring[atom] | near[row, atom])
        attached = used & (slots >= n) & (slots < 2 * n)
        orders = np.array([order for _, order in self._builder.numbering.attached] or [1])
        doubly = orders[np.minimum(values, len(orders) - 1)] > 1
        found |= attached & doubly & self._in_ring[atom]
        return np.asarray(found | (used & (slots >= 2 * n) & (slots < 3 * n)))

    def _read_aromatic(self, mol: Any, made: Versions, place: int) -> Flags:
        base = self._base
        m, alive = base.ends.shape[1], made.alive[place]
        flags = np.zeros(m + made.new.shape[1], dtype=np.bool_)
        places = alive.nonzero()[0]
        pairs = self._builder.aromatic_pairs(mol)
        if len(pairs):
            one, two = np.sort(places[pairs], axis=1).T
            own = two < base.count
            bond = np.where(own, base.bond_of[one, np.where(own, two, 0)], -1)
            flags[bond[bond >= 0]] = True
            for column, (u, v, order) in enumerate(made.new[place].tolist()):
                if order and bool(((one == min(u, v)) & (two == max(u, v))).any()):
                    flags[m + column] = True
        return flags

    def _bonds(self, made: Versions, aromatic: Flags) -> Bonds:
        base, m = self._base, self._base.ends.shape[1]
        index = made.alive.cumsum().reshape(made.alive.shape) - 1
        row, bond = made.bonds.nonzero()
        parts = [
            (
                index[row, base.ends[0][bond]],
                index[row, base.ends[1][bond]],
                made.orders[row, bond],
                aromatic[row, bond],
            )
        ]
        row, column = (made.new[:, :, 2] > 0).nonzero()
        if len(row):
            ends = made.new[row, column]
            parts.append(
                (
                    index[row, ends[:, 0]],
                    index[row, ends[:, 1]],
                    ends[:, 2],
                    aromatic[row, m + column],
                )
            )
        one, two, orders, flags = (np.concatenate([part[i] for part in parts]) for i in range(4))
        source, target = np.concatenate([one, two]), np.concatenate([two, one])
        order = np.argsort(source * max(1, int(made.alive.sum())) + target)
        both = np.stack([source[order], target[order]])
        return Bonds(both, np.tile(orders, 2)[order], np.tile(flags, 2)[order])

    # Hybridisation.

    def _hybridisation(self, made: Versions, bonds: Bonds) -> Ints:
        """PyG's numbers of hybridisations [atoms]."""
        alive, tables = made.alive, self._tables
        numbers, charges = made.numbers[alive], made.charges[alive]
        degrees = (made.degrees + made.hydrogens)[alive]
        width = alive.shape[1] - self._base.count
        radicals = np.broadcast_to(np.pad(self._base.radicals, (0, width)), alive.shape)[alive]
        size = len(numbers)
        explicit = np.bincount(bonds.ends[0], weights=bonds.orders, minlength=size).astype(np.int64)
        valence = explicit + made.hydrogens[alive]
        outer = tables.outer[numbers]
        free = outer - (valence + charges)
        below = valence + outer - charges < 8
        pairs = np.where(below, _half(free - radicals) + radicals, _half(free))
        orbitals = np.where(numbers <= 1, degrees, degrees + pairs)
        found = np.where(
            (orbitals >= 0) & (orbitals < len(_HYBRIDS)),
            _HYBRIDS[np.clip(orbitals, 0, len(_HYBRIDS) - 1)],
            _OTHER,
        )
        flat = (found == _SP3) & (degrees <= 3)
        if flat.any():
            count = explicit - np.bincount(bonds.ends[0], minlength=size)
            electrons = self._electrons(numbers, charges, degrees, radicals, count)
            found[flat & self._conjugated(numbers, degrees, electrons, bonds)] = _SP2
        return np.asarray(found)

    def _electrons(
        self, numbers: Ints, charges: Ints, degrees: Ints, radicals: Ints, unsaturated: Ints
    ) -> Ints:
        """Electrons that an atom could give to a π system [atoms]."""
        valence = self._tables.valence[numbers]
        lone = np.maximum(self._tables.outer[numbers] - valence - charges, 0)
        found = valence - degrees + lone - radicals
        found = np.where((found > 1) & (unsaturated > 1), 1, found)
        return np.where((valence <= 1) | (degrees > 3), -1, found)

    def _conjugated(self, numbers: Ints, degrees: Ints, electrons: Ints, bonds: Bonds) -> Flags:
        """Which atoms have a conjugated bond [atoms]."""
        outer = self._tables.outer[numbers]
        able = (
            (numbers <= 10) | ((outer != 5) & (outer != 6)) | ((outer == 6) & (degrees < 2))
        ) & (electrons > 0)
        centre = able & (degrees >= 2) & (degrees <= 3)
        one, two = bonds.ends
        size = len(numbers)
        multiple = (bonds.orders > 1) | bonds.aromatic
        multiple &= able[two]
        partner = able[two] & (degrees[two] <= 3)
        multiples = np.bincount(one[multiple], minlength=size)
        partners = np.bincount(one[partner], minlength=size)
        joined = centre[one] & (
            (multiple & (partners[one] - partner > 0)) | (partner & (multiples[one] - multiple > 0))
        )
        joined |= bonds.aromatic
        found = np.zeros(size, dtype=np.bool_)
        found[one[joined]] = found[two[joined]] = True
        return found

    # Stereocentres.

    def _chirality(self, rows: Ints, made: Versions, bonds: Bonds, mols: dict[int, Any]) -> Ints:
        """PyG's numbers of chiral tags [atoms]."""
        alive, n = made.alive, self._base.count
        if not self._tags.any():
            return np.zeros(int(alive.sum()), dtype=np.int64)
        tags = np.pad(np.broadcast_to(self._tags, (len(rows), n)), _wider(alive, n))
        tags = np.where(made.changed, 0, tags)
        doubtful = tags[alive] > 0
        if not doubtful.any():
            return np.asarray(tags[alive])
        doubtful &= ~self._differ_around(made, bonds)
        owner = np.broadcast_to(np.arange(len(rows))[:, None], alive.shape)[alive]
        for place in np.unique(owner[doubtful]).tolist():
            mol = mols.get(place)
            if mol is None:
                mol = self._builder.molecule(rows[place].tolist(), made, place)
            tags[place, alive[place]] = [int(atom.GetChiralTag()) for atom in mol.GetAtoms()]
        return np.asarray(tags[alive])

    def _differ_around(self, made: Versions, bonds: Bonds) -> Flags:
        """Atoms whose neighbours surely differ from each other [atoms]."""
        alive, n = made.alive, self._base.count
        isotopes = np.pad(np.broadcast_to(self._isotopes, (len(alive), n)), _wider(alive, n))
        seen = _mixed(made.numbers[alive] * 512 + np.where(made.changed, 0, isotopes)[alive])
        hydrogens = _mixed(made.hydrogens[alive])
        one, two = bonds.ends
        kind = np.where(bonds.aromatic, 7, bonds.orders).astype(np.uint64)
        size = len(seen)
        starts = np.searchsorted(one, np.arange(size))
        lonely = np.bincount(one, minlength=size) == 0
        for _ in range(_ROUNDS):
            around = np.add.reduceat(np.append(_mixed(seen[two] + kind), np.uint64(0)), starts)
            around[lonely] = 0
            seen = _mixed(seen * np.uint64(3) + _mixed(around) + hydrogens)
        ordered = np.lexsort([seen[two], one])
        same = (one[ordered][1:] == one[ordered][:-1]) & (
            seen[two][ordered][1:] == seen[two][ordered][:-1]
        )
        alike = np.zeros(size, dtype=np.bool_)
        alike[one[ordered][1:][same]] = True
        return np.asarray(~alike & (made.hydrogens[alive] <= 1))


@dataclass(frozen=True, eq=False)
class _Tables:
    """The periodic table, by atomic number."""

    outer: Ints
    valence: Ints


def _tables() -> _Tables:
    table = rdkit_chem().GetPeriodicTable()
    numbers = range(1, len(SYMBOLS) + 1)
    outer = [0, *(table.GetNOuterElecs(number) for number in numbers)]
    valence = [0, *(table.GetDefaultValence(number) for number in numbers)]
    return _Tables(np.array(outer, dtype=np.int64), np.array(valence, dtype=np.int64))


def _wider(alive: Flags, n: int) -> Any:
    return ((0, 0), (0, alive.shape[1] - n))


def _half(values: Ints) -> Ints:
    """Half of whole numbers, rounded towards 0 as C does."""
    return np.asarray(np.trunc(values / 2).astype(np.int64))


def _mixed(values: Any) -> npt.NDArray[np.uint64]:
    mixed = np.asarray(values).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(mixed ^ (mixed >> np.uint64(31)))
