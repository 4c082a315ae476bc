"""What becomes of a molecule when bonds come and go, possible or not.

`molecule` makes the RDKit molecule of a graph and refuses impossible ones. Here an impossible one has a
place too: which atoms got more bonds than they have room for, or what RDKit says against it.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from edgeflip.core import EditSet
from edgeflip.datasets.chemistry import (
    ImpossibleError,
    rdkit_chem,
    with_edits,
    without_hydrogens,
)

_RADIUS, _BITS = 2, 2048


@dataclass(frozen=True)
class CrowdedAtom:
    """An atom with more bonds than it has room for; a double bond counts twice.

    Attributes:
        node: Its number.
        bonds: How many bonds it would have.
        room: How many it can have, those to its hydrogens in the input included.
    """

    node: int
    bonds: int
    room: int


@dataclass(frozen=True)
class EditedMolecule:
    """A molecule after edits.

    Attributes:
        mol: The RDKit molecule, atoms in the order of the nodes; none if it is impossible.
        crowded: The atoms that make it impossible.
        refusal: What RDKit says against it where no atom is crowded; empty for a possible molecule.
    """

    mol: Any | None
    crowded: tuple[CrowdedAtom, ...] = ()
    refusal: str = ""

    @cached_property
    def smiles(self) -> str | None:
        """Its canonical SMILES, as `to_smiles` writes it; none if it is impossible."""
        if self.mol is None:
            return None
        return str(rdkit_chem().MolToSmiles(without_hydrogens(self.mol)))

    @cached_property
    def parts(self) -> int | None:
        """Into how many parts it falls, 1 for a whole molecule; none if it is impossible."""
        return None if self.mol is None else len(rdkit_chem().GetMolFrags(self.mol))


def edited_molecule(base: Any, edits: EditSet) -> EditedMolecule:
    """A molecule after edits, whether it is possible or not.

    Args:
        base: The molecule of the input, from `molecule`; it is left as it is.
        edits: The bonds that come and go.

    Example:
        >>> from edgeflip.datasets import molecule, molecule_graph
        >>> base = molecule(molecule_graph("CCl"))  # doctest: +SKIP
        >>> edited_molecule(base, EditSet(removed={(0, 1)})).smiles  # doctest: +SKIP
        'C.Cl'
    """
    crowded = _crowded_atoms(base, edits)
    if crowded:
        return EditedMolecule(None, crowded)
    try:
        return EditedMolecule(with_edits(base, edits))
    except ImpossibleError as error:
        return EditedMolecule(None, refusal=str(error))


def _crowded_atoms(base: Any, edits: EditSet) -> tuple[CrowdedAtom, ...]:
    chem = rdkit_chem()
    whole = chem.Mol(base)
    # Without aromatic flags every bond has a whole order, and the bonds of an atom can be counted.
    chem.Kekulize(whole, clearAromaticFlags=True)
    change: Counter[int] = Counter()
    for u, v in edits.added:
        change.update((u, v))
    for u, v in edits.removed:
        order = int(whole.GetBondBetweenAtoms(u, v).GetBondTypeAsDouble())
        change.subtract({u: order, v: order})
    crowded = []
    for node, more in sorted(change.items()):
        atom = whole.GetAtomWithIdx(node)
        bonds = sum(int(bond.GetBondTypeAsDouble()) for bond in atom.GetBonds())
        room = bonds + base.GetAtomWithIdx(node).GetTotalNumHs()
        if bonds + more > room:
            crowded.append(CrowdedAtom(node, bonds + more, room))
    return tuple(crowded)


def molecule_similarity(one: Any, other: Any) -> float:
    """How alike two molecules are: Tanimoto of their Morgan fingerprints (radius 2, 2048 bits).

    The fingerprint is also known as ECFP4. Hydrogens that are nodes play no part in it.

    Args:
        one: An RDKit molecule.
        other: Another.
    """
    from rdkit import DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    generator = rdFingerprintGenerator.GetMorganGenerator(radius=_RADIUS, fpSize=_BITS)
    prints = [generator.GetFingerprint(without_hydrogens(mol)) for mol in (one, other)]
    return float(DataStructs.TanimotoSimilarity(*prints))
