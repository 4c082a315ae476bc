"""Reading spaces of typed edits from files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch_geometric.data import Data

from edgeflip.core import Constraints, fingerprint, graph_from_dict
from edgeflip.datasets.molecule_moves import MoleculeMoves
from edgeflip.errors import ArtifactError
from edgeflip.support import STRICT, read_settings

# The rule that `keep_connected` stands for; typed edits keep a molecule whole in any case.
_WHOLE = "stays_connected"


@dataclass(frozen=True, eq=False)
class SavedMolecule:
    """A space of typed edits from a file.

    Attributes:
        graph: The molecule.
        moves: The sorts of moves.
        constraints: The constraints, without rules in Python.
        lost_rules: The names of these.
    """

    graph: Data
    moves: MoleculeMoves
    constraints: Constraints
    lost_rules: tuple[str, ...]


@dataclass(frozen=True)
class _Plain:
    """What `MoleculeEdits.to_dict` gives."""

    __pydantic_config__ = STRICT

    kind: str
    graph: Mapping[str, Any]
    fingerprint: str
    moves: Mapping[str, Any]
    constraints: Mapping[str, Any]


def saved_molecule(payload: Mapping[str, Any]) -> SavedMolecule:
    """What `MoleculeEdits.to_dict` wrote, checked.

    Raises:
        ArtifactError: If it is incomplete, or the graph is not the one that was saved.
    """
    saved = read_settings(_Plain, payload, where="a saved space", error=ArtifactError)
    graph = graph_from_dict(saved.graph)
    if fingerprint(graph) != saved.fingerprint:
        raise ArtifactError(
            "expected the molecule that was explained, got one that is not the one (its fingerprint "
            "differs); explain it again."
        )
    plain = dict(saved.constraints)
    rules = plain.pop("rules", [])
    lost = tuple(name for name in rules if name != _WHOLE)
    moves = read_settings(
        MoleculeMoves, saved.moves, where="the moves of a saved space", error=ArtifactError
    )
    return SavedMolecule(graph, moves, Constraints.from_dict({**plain, "rules": []}), lost)
