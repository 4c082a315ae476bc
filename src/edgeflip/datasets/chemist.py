"""What a chemist says of the edits of a molecule: the rules to keep, and what is wrong with an answer."""

from __future__ import annotations

from typing import Any, ClassVar

from torch_geometric.data import Data

from edgeflip.core import Constraints, EditSet, count_parts, edge_pairs
from edgeflip.datasets.chemistry import (
    SMALLEST_RING,
    NoSmallRing,
    PossibleMolecule,
    constraints_of,
    is_molecule,
    molecule,
    smallest_new_ring,
)
from edgeflip.datasets.edited_molecules import edited_molecule
from edgeflip.errors import GraphError


class Chemist:
    """Judges the edits of one molecule.

    Attributes:
        rules: What may change for it to stay a possible molecule, see `molecule_constraints`.

    Example:
        >>> from edgeflip.datasets import molecule_graph
        >>> chemist = chemist_for(molecule_graph("CC(C)(C)C.F"))  # doctest: +SKIP
        >>> chemist.fault(EditSet(added={(1, 5)}))  # doctest: +SKIP
        'not a possible molecule, C (1) would have 5 bonds and has room for 4 and F (5) would …'
    """

    name: ClassVar[str] = "the rules of chemistry"

    def __init__(self, graph: Data, base: Any) -> None:
        self._graph, self._base = graph, base
        self.rules: Constraints = constraints_of(graph, base)

    def fault(self, edits: EditSet) -> str:
        """What is wrong with the molecule after the edits, in words that follow a colon; empty if nothing."""
        edited = edited_molecule(self._base, edits)
        wrong: list[str] = []
        if edited.mol is None:
            crowded = [
                f"{self._name(atom.node)} would have {atom.bonds} bond{'s'[: atom.bonds != 1]} and has "
                f"room for {atom.room or 'none'}"
                for atom in edited.crowded
            ]
            wrong.append(f"not a possible molecule, {' and '.join(crowded) or edited.refusal}")
        before = edge_pairs(self._graph)
        atoms = self._base.GetNumAtoms()
        parts = count_parts(atoms, (before - edits.removed) | edits.added)
        if parts > count_parts(atoms, before):
            wrong.append(f"not one molecule, it falls into {parts} parts")
        ring = smallest_new_ring(self._graph, edits, below=SMALLEST_RING)
        if ring is not None:
            wrong.append(f"strained by a new ring of {ring} atoms")
        return "; ".join(wrong)

    def asked_by(self, constraints: Constraints) -> bool:
        """Whether constraints have rules of chemistry already, perhaps with other settings."""
        return any(isinstance(rule, NoSmallRing | PossibleMolecule) for rule in constraints.rules)

    def _name(self, node: int) -> str:
        return f"{self._base.GetAtomWithIdx(node).GetSymbol()} ({node})"


def chemist_for(graph: Data) -> Chemist | None:
    """Who judges the edits of a graph; none if it is no molecule, or no possible one to begin with.

    Raises:
        ConfigError: If it may be one and RDKit is not installed.
    """
    if not is_molecule(graph):
        return None
    try:
        return Chemist(graph, molecule(graph))
    except GraphError:
        return None
