"""Typed edits of a molecule in words."""

from __future__ import annotations

from edgeflip.datasets.molecule_moves import (
    BOND_WORDS,
    KINDS,
    MoleculeEditSet,
    MoleculeMove,
)
from edgeflip.datasets.molecule_reading import ReadMolecule

# Of more edits than this a sentence only says how many there are.
_NAMED = 6


def moves_in_words(read: ReadMolecule, edits: MoleculeEditSet) -> str:
    """What typed edits do, as the subject of a sentence.

    Example:
        >>> from edgeflip.datasets import MoleculeEdits, molecule_graph  # doctest: +SKIP
        >>> space = MoleculeEdits.of(molecule_graph("CCCl"))  # doctest: +SKIP
        >>> space.in_words(space.edits(space.groups["drop"][:1, None])[0])  # doctest: +SKIP
        'dropping C (0)'
    """
    if not edits.moves:
        return "no edit"
    if len(edits) > _NAMED:
        return f"{len(edits)} typed edits"
    ordered = sorted(edits.moves, key=lambda move: (KINDS.index(move.kind), move))
    told = [move_in_words(read, move) for move in ordered]
    *first, last = told
    return f"{', '.join(first)} and {last}" if first else last


def move_in_words(read: ReadMolecule, move: MoleculeMove) -> str:
    """What one typed edit does."""
    name = "–".join(read.names[node] for node in move.atoms)
    if move.kind == "bond":
        return f"making the {BOND_WORDS[int(move.was)]} bond {name} {BOND_WORDS[int(move.to)]}"
    if move.kind == "open":
        return f"opening the ring at {name}"
    if move.kind == "close":
        return f"closing a ring at {name}"
    if move.kind == "charge":
        return f"charging {name} with {move.to}"
    if move.kind == "attach":
        double = "double-bonded " if move.to.startswith("=") else ""
        return f"adding {double}{move.to.removeprefix('=')} at {name}{_where(read, move)}"
    if move.kind == "drop":
        return f"dropping {name}{_where(read, move)}"
    return f"replacing {name}{_where(read, move)} by {move.to}"


def _where(read: ReadMolecule, move: MoleculeMove) -> str:
    """Where an atom is, as far as a chemist would say so."""
    atom = read.base.mol.GetAtomWithIdx(int(read.owners[move.atoms[0]]))
    if atom.IsInRing():
        return " in the ring"
    if any(other.IsInRing() for other in atom.GetNeighbors()):
        return " on the ring"
    return ""
