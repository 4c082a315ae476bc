"""Edited molecules as RDKit has them: built from the input's own atoms in their order, never from SMILES."""

from __future__ import annotations

from typing import Any

import numpy as np

from edgeflip.core import PAD
from edgeflip.datasets.chemistry import rdkit_chem
from edgeflip.datasets.molecule_arrays import (
    CHARGES,
    WIDTH,
    Ints,
    MoleculeArrays,
    Numbering,
    Versions,
)


class Builder:
    """Makes the RDKit molecules of edited versions, and reads off what only RDKit perceives.

    Args:
        base: The molecule.
        numbering: What ids stand for.

    Attributes:
        numbering: The same.
    """

    def __init__(self, base: MoleculeArrays, numbering: Numbering) -> None:
        self._base, self.numbering = base, numbering
        self._chem = chem = rdkit_chem()
        self._bonds = {
            1: chem.BondType.SINGLE,
            2: chem.BondType.DOUBLE,
            3: chem.BondType.TRIPLE,
        }
        self._aromatic = chem.MolFromSmarts("[*]:[*]")
        self._tagged = [
            atom.GetIdx()
            for atom in base.mol.GetAtoms()
            if atom.GetChiralTag() != chem.ChiralType.CHI_UNSPECIFIED
        ]

    def molecule(self, row: list[int], made: Versions, place: int) -> Any:
        """The sanitised molecule of one version; atoms stand in the order of its places.

        Raises:
            ValueError: If RDKit refuses it.
        """
        chem, base, n = self._chem, self._base, self._base.count
        mol = chem.RWMol(base.kekule)
        gone: list[int] = []
        changed = made.changed[place].nonzero()[0].tolist()
        hydrogens = made.hydrogens[place].tolist()
        where: dict[int, int] = {}
        for column, id_ in enumerate(row):
            if id_ == PAD:
                continue
            slot, value = divmod(id_, WIDTH)
            if slot < n:
                if value == self.numbering.dropped:
                    gone.append(slot)
                else:
                    atom = mol.GetAtomWithIdx(slot)
                    atom.SetAtomicNum(self.numbering.elements[value])
                    atom.SetIsotope(0)
            elif slot < 2 * n:
                where[n + column] = mol.AddAtom(chem.Atom(int(made.numbers[place, n + column])))
                mol.GetAtomWithIdx(where[n + column]).SetNoImplicit(True)
            elif slot < 3 * n:
                mol.GetAtomWithIdx(slot - 2 * n).SetFormalCharge(CHARGES[value])
        row_, orders = made.new[place], made.orders[place]
        for u, v, order in row_[row_[:, 2] > 0].tolist():
            mol.AddBond(where.get(u, u), where.get(v, v), self._bonds[order])
        for bond in (orders != base.orders).nonzero()[0].tolist():
            u, v = base.ends[:, bond].tolist()
            order = int(orders[bond])
            if not order:
                mol.RemoveBond(u, v)
            else:
                own = mol.GetBondBetweenAtoms(u, v)
                own.SetBondType(self._bonds[order])
                own.SetStereo(chem.BondStereo.STEREONONE)
        for spot in changed:
            index = where.get(spot, spot)
            if index < mol.GetNumAtoms() and hydrogens[spot] >= 0:
                atom = mol.GetAtomWithIdx(index)
                atom.SetNumExplicitHs(hydrogens[spot])
                atom.SetChiralTag(chem.ChiralType.CHI_UNSPECIFIED)
        for atom_ in sorted(gone, reverse=True):
            mol.RemoveAtom(atom_)
        chem.SanitizeMol(mol)
        if self._tagged:
            chem.AssignStereochemistry(mol, cleanIt=True, force=True)
        return mol

    def aromatic_pairs(self, mol: Any) -> Ints:
        """The two atoms of every aromatic bond [bonds, 2]."""
        hits = mol.GetSubstructMatches(self._aromatic, maxMatches=mol.GetNumBonds() + 1)
        return np.array(hits, dtype=np.int64).reshape(-1, 2)
