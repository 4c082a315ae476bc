"""Typed edits of a molecule: the space whose moves change bond orders, atoms and terminal atoms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from edgeflip.core import (
    FREE,
    PAD,
    Constraints,
    MoveLevel,
    PairEdits,
    PairSpace,
    fingerprint,
    graph_to_dict,
    register_space,
    sorted_rows,
)
from edgeflip.datasets.chemistry import rdkit_chem, without_hydrogens
from edgeflip.datasets.molecule_arrays import (
    WIDTH,
    Ints,
    MoleculeArrays,
    Numbering,
    Versions,
    are_sound,
    versions_of,
)
from edgeflip.datasets.molecule_building import Builder
from edgeflip.datasets.molecule_candidates import conceivable_moves
from edgeflip.datasets.molecule_features import (
    Featured,
    OneByOne,
    batch_of,
    graphs_of,
)
from edgeflip.datasets.molecule_limits import Limits
from edgeflip.datasets.molecule_moves import (
    ANY_MOVES,
    MoleculeEditSet,
    MoleculeMove,
    MoleculeMoves,
)
from edgeflip.datasets.molecule_naming import move_of
from edgeflip.datasets.molecule_noise import NoisyMolecules
from edgeflip.datasets.molecule_plainly import move_sets_plainly
from edgeflip.datasets.molecule_reading import ReadMolecule, featuriser_for, read_molecule
from edgeflip.datasets.molecule_saving import saved_molecule
from edgeflip.datasets.molecule_symmetry import Symmetry
from edgeflip.datasets.molecule_words import moves_in_words
from edgeflip.errors import ArtifactError, ConstraintError, EdgeflipError, EditError

# Versions that are worked out at once.
_AT_ONCE = 4096


@dataclass(frozen=True, eq=False)
class MoleculeEdits:
    """Typed edits: a move changes a bond's order, an atom's element, or adds or drops a terminal atom.

    Every move is possible by itself, and every set of them is a molecule. Features follow: the model sees the
    edited molecule as it would have been read. Build it with `MoleculeEdits.of`.

    Attributes:
        source: The molecule, and what its graph is made of.
        moves: Which sorts of moves there are, what they cost, and what must stay.
        constraints: Limits on the number of edits, frozen atoms and bonds, rules of one's own.
        lost_rules: Names of rules in Python that a saved space had.

    Example:
        >>> from edgeflip.datasets import molecule_graph
        >>> space = MoleculeEdits.of(molecule_graph("CCCl"))  # doctest: +SKIP
        >>> {name: len(ids) for name, ids in space.groups.items()}  # doctest: +SKIP
        {'bond': 2, 'replace': 10, 'attach': 15, 'drop': 2}
    """

    source: ReadMolecule
    moves: MoleculeMoves = ANY_MOVES
    constraints: Constraints = FREE
    lost_rules: tuple[str, ...] = ()

    kind: ClassVar[str] = "molecule"

    @classmethod
    def of(
        cls,
        graph: Data,
        moves: MoleculeMoves | None = None,
        constraints: Constraints = FREE,
    ) -> MoleculeEdits:
        """The typed edits of a molecule.

        Raises:
            GraphError: If it is no molecule, or its features cannot be made of one.
            ConstraintError: If nothing may change.
        """
        space = cls(read_molecule(graph), moves or ANY_MOVES, constraints)
        space.limits.check_constraints()
        _ = space.featuriser
        if not len(space.allowed) or not space.max_cost:
            raise ConstraintError(
                "expected at least one typed edit that may be made, got none; allow more sorts of moves, "
                "more elements or more edits."
            )
        return space

    def __repr__(self) -> str:
        """What may change."""
        return f"MoleculeEdits({self.base.count} atoms, {len(self.allowed)} moves)"

    @property
    def input(self) -> Data:
        """The graph; never changed."""
        return self.source.graph

    @property
    def base(self) -> MoleculeArrays:
        """The molecule as integers."""
        return self.source.base

    @cached_property
    def numbering(self) -> Numbering:
        """What ids stand for."""
        return Numbering.of(self.base.count, self.moves)

    @cached_property
    def builder(self) -> Builder:
        """Who asks RDKit."""
        return Builder(self.base, self.numbering)

    @cached_property
    def featuriser(self) -> Any:
        """Who makes the model's graphs."""
        return featuriser_for(self.source, self.moves.features, self.builder)

    @cached_property
    def limits(self) -> Limits:
        """What must stay, on this molecule."""
        return Limits(self.source, self.moves, self.constraints, self.numbering)

    @cached_property
    def _possible(self) -> Ints:
        """Every move that is possible by itself, ascending [moves]."""
        ids = np.array(
            sorted(conceivable_moves(self.base, self.numbering, self.moves)), dtype=np.int64
        )
        ids = ids[self.limits.leave_alone(ids)]
        rows = ids[:, None]
        return ids[self._sound(rows)] if len(ids) else ids

    @cached_property
    def allowed(self) -> Tensor:
        """Ids of the moves that may be made, ascending [moves]."""
        return torch.from_numpy(self._possible)

    @cached_property
    def groups(self) -> Mapping[str, Tensor]:
        """Ids of the moves by sort."""
        kinds = self.kinds_of(self._possible)
        return {
            kind: self.allowed[torch.from_numpy(kinds == kind)]
            for kind in dict.fromkeys(kinds.tolist())
        }

    def kinds_of(self, ids: Ints) -> Any:
        """The sort of each move [moves]."""
        n = self.base.count
        slots, values = ids // WIDTH, ids % WIDTH
        u, v = self.numbering.ends(slots)
        new = self.base.bond_of[u, v] < 0 if len(ids) else np.zeros(0, dtype=np.bool_)
        pair = np.where(values == 0, "open", np.where(new, "close", "bond"))
        atom = np.where(values == self.numbering.dropped, "drop", "replace")
        rest = np.where(slots < 2 * n, "attach", np.where(slots < 3 * n, "charge", pair))
        return np.where(slots < n, atom, rest)

    @cached_property
    def _prices(self) -> Ints:
        kinds = self.kinds_of(self._possible).tolist()
        return np.array([self.moves.price(kind) or 1 for kind in kinds] + [0], dtype=np.int64)

    @property
    def max_cost(self) -> int:
        """What the largest allowed set may cost; of the molecule itself there is no limit but its atoms."""
        most = self.constraints.max_edits
        whole = 2 * self.base.count
        return whole if most is None else min(most, whole)

    # Valences decide which moves may stand together.
    combines_freely: ClassVar[bool] = False

    @property
    def merges_alike(self) -> bool:
        """Whether sets that the molecule's symmetry makes the same have one form."""
        return not self._symmetry.is_trivial

    @property
    def has_rules(self) -> bool:
        """Whether there is anything that only RDKit, or a rule in Python, can tell."""
        return bool(self.constraints.own_rules) or self.moves.has_slow_limits

    @property
    def conditions(self) -> str:
        """The constraints in words, with the names of lost rules; empty where there are none."""
        return self.limits.describe(self.lost_rules)

    def slots(self, ids: Tensor) -> Tensor:
        """The atom, the place at it, or the pair that each move changes."""
        return torch.where(ids == PAD, PAD, ids // WIDTH)

    def costs(self, ids: Tensor) -> Tensor:
        """What each move costs."""
        places = np.searchsorted(self._possible, ids.numpy())
        found = self._prices[np.minimum(places, len(self._prices) - 1)]
        return torch.from_numpy(np.where(ids.numpy() == PAD, 0, found))

    def normalise(self, rows: Tensor) -> Tensor:
        """Rows sorted, each in the form that stands for all that the molecule's symmetry makes the same."""
        ordered = sorted_rows(rows)
        if self._symmetry.is_trivial:
            return ordered
        return torch.from_numpy(self._symmetry.first_forms(ordered.numpy()))

    @cached_property
    def _symmetry(self) -> Symmetry:
        labels = self.limits.labels
        return Symmetry(self.base, self.numbering, self._possible, labels)

    def check(self, rows: Tensor) -> Tensor:
        """Which sets are molecules within the limits [rows]."""
        ids = sorted_rows(rows).numpy()
        if not len(ids):
            return torch.zeros(0, dtype=torch.bool)
        used = ids != PAD
        places = np.searchsorted(self._possible, ids)
        known = np.append(self._possible, PAD - 1)[places] == ids
        fine = (known | ~used).all(axis=1) & used.any(axis=1)
        cost = np.where(used, self._prices[np.where(known, places, -1)], 0).sum(axis=1)
        fine &= cost <= self.max_cost
        slots = np.where(used, ids // WIDTH, -1)
        fine &= ~((slots[:, 1:] == slots[:, :-1]) & used[:, 1:]).any(axis=1)
        left = fine.nonzero()[0]
        for start in range(0, len(left), _AT_ONCE):
            part = left[start : start + _AT_ONCE]
            fine[part] = self._sound(ids[part])
        return torch.from_numpy(fine)

    def _sound(self, ids: Ints) -> Any:
        """Which sets of moves of different slots are molecules within the limits [rows]."""
        n = self.base.count
        slots = np.where(ids != PAD, ids // WIDTH, -1)
        made = self._versions(ids)
        fine = are_sound(self.base, made) & self.limits.keep(made)
        if ids.shape[1] > 1:
            # Nothing else is done to an atom that goes.
            gone = ~made.alive[:, :n]
            row, column = ((slots >= n) & (slots < 3 * n)).nonzero()
            fine[row[gone[row, slots[row, column] % n]]] = False
            row, column = (slots >= 3 * n).nonzero()
            u, v = self.numbering.ends(slots[row, column])
            fine[row[gone[row, u] | gone[row, v]]] = False
        return fine

    def _versions(self, ids: Ints) -> Versions:
        return versions_of(self.base, self.numbering, ids)

    def rules_allow(self, row: Tensor) -> bool:
        """Whether slow limits and every rule accept a set."""
        ids = self.normalise(row[None])
        if self.moves.has_slow_limits and not self.limits.slow_ones_keep(self._mols(ids)[0]):
            return False
        (edits,) = self.edits(ids)
        return self.limits.rules_allow(edits)

    def level(self, cost: int) -> MoveLevel:
        """All sets of a cost, each in one form."""
        ids = self.allowed if cost <= self.max_cost else self.allowed[:0]
        return MoveLevel.of(cost, ids, self.costs(ids), self._blanked)

    def _blanked(self, rows: Tensor) -> Tensor:
        """Rows of which each that is another in disguise is blank."""
        ordered = sorted_rows(rows)
        other = (self.normalise(ordered) != ordered).any(dim=1)
        return ordered.masked_fill(other[:, None], PAD)

    def plainly(self, cost: int) -> Iterator[MoleculeEditSet]:
        """The same, written apart."""
        if cost <= self.max_cost:
            yield from move_sets_plainly(self, cost)

    def plainly_allows(self, edits: Any) -> bool:
        """Whether slow limits and rules allow a set, and RDKit does."""
        try:
            (mol,) = self._mols(self.row(edits)[None])
        except (EdgeflipError, ValueError):
            return False
        slow = not self.moves.has_slow_limits or self.limits.slow_ones_keep(mol)
        return slow and self.limits.rules_allow(edits)

    def _mols(self, rows: Tensor) -> list[Any]:
        ids = sorted_rows(rows).numpy()
        made = self._versions(ids)
        return [self.builder.molecule(row, made, i) for i, row in enumerate(ids.tolist())]

    def molecule(self, edits: Any = None) -> Any:
        """The RDKit molecule after edits, or of the input; heavy atoms in the order of the nodes."""
        if edits is None:
            return self.base.mol
        return self._mols(self.row(edits)[None])[0]

    def smiles(self, edits: Any = None) -> str:
        """The canonical SMILES after edits, or of the input."""
        mol = without_hydrogens(self.molecule(edits))
        return str(rdkit_chem().MolToSmiles(mol))

    def _featured(self, rows: Tensor) -> Featured:
        ids = sorted_rows(rows).numpy()
        found: Featured = self.featuriser.featured(ids, self._versions(ids))
        return found

    def apply(self, rows: Tensor) -> list[Data]:
        """The graphs of the edited molecules."""
        if isinstance(self.featuriser, OneByOne):
            ids = sorted_rows(rows).numpy()
            return self.featuriser.graphs(ids, self._versions(ids))
        return graphs_of(self._featured(rows), self.input)

    def edited(self, edits: Any) -> Data:
        """The graph of the edited molecule, with its canonical SMILES as `written`."""
        (graph,) = self.apply(self.row(edits)[None])
        graph.written = self.smiles(edits)
        return graph

    def batch(self, rows: Tensor, device: torch.device | None = None) -> Batch:
        """The graphs of edited molecules as one batch."""
        if isinstance(self.featuriser, OneByOne):
            batch: Batch = Batch.from_data_list(self.apply(rows))
            return batch if device is None else batch.to(device)
        return batch_of(self._featured(rows), self.input, device)

    def edits(self, rows: Tensor) -> list[MoleculeEditSet]:
        """Rows as typed edits."""
        found = []
        for row in sorted_rows(rows):
            ids = row[row != PAD]
            moves = sorted(self._move(each) for each in ids.tolist())
            found.append(MoleculeEditSet(tuple(moves), int(self.costs(ids).sum())))
        return found

    def _move(self, id_: int) -> MoleculeMove:
        (kind,) = self.kinds_of(np.array([id_])).tolist()
        return move_of(self.source, self.numbering, kind, id_)

    @cached_property
    def _id_of(self) -> dict[MoleculeMove, int]:
        return {self._move(id_): id_ for id_ in self._possible.tolist()}

    def row(self, edits: MoleculeEditSet) -> Tensor:
        """Typed edits as ids, checked against the molecule.

        Raises:
            EditError: If one of them is none of the molecule's moves.
        """
        if not isinstance(edits, MoleculeEditSet):
            raise EditError(
                f"expected typed edits of a molecule, got {type(edits).__name__}; take them from "
                "answer.counterfactuals."
            )
        unknown = [move for move in edits.moves if move not in self._id_of]
        if unknown:
            raise EditError(
                f"expected moves that the molecule allows, got {unknown[0]}; correct the edits."
            )
        ids = torch.tensor([self._id_of[move] for move in edits.moves], dtype=torch.long)
        slots = self.slots(ids)
        if len(slots.unique()) < len(slots):
            raise EditError(f"expected one move for each atom and bond, got {edits}; correct it.")
        return ids

    def in_words(self, edits: Any) -> str:
        """What edits do, as the subject of a sentence."""
        return moves_in_words(self.source, edits)

    def read(self, payload: Mapping[str, Any]) -> MoleculeEditSet:
        """Typed edits from their plain form; they must be moves of the molecule."""
        edits = MoleculeEditSet.from_dict(payload)
        cost = int(self.costs(self.row(edits)).sum())
        if cost != edits.cost:
            raise EditError(f"expected edits of cost {cost}, got {edits.cost}; correct the file.")
        return edits

    # Copies, files, and back.

    def on(self, noisy: Data, rows: Tensor) -> tuple[Any, Tensor]:
        """Typed edits on a copy with noise: the noise is put on the edited molecules."""
        return NoisyMolecules(self, noisy), rows

    def under(self, constraints: Constraints | None) -> MoleculeEdits:
        """The space with the rules that a saved one lost.

        Raises:
            ConstraintError: If rules are missing, or the constraints are others.
        """
        pairs = PairSpace.of(self.input)
        edges = PairEdits(pairs, self.constraints, lost_rules=self.lost_rules)
        return replace(self, constraints=edges.under(constraints).constraints, lost_rules=())

    def to_dict(self) -> dict[str, Any]:
        """Graph, sorts of moves and constraints; rules by name.

        Raises:
            ArtifactError: If the features are made by a function, which no file can keep.
        """
        moves = self.moves.to_dict()
        if callable(self.moves.features):
            raise ArtifactError(
                "expected features that a file can name ('ogb-like', 'atom-types'), got a function; the "
                "answer can be used, not saved."
            )
        own = self.constraints.to_dict()
        return {
            "kind": self.kind,
            "graph": graph_to_dict(self.input),
            "fingerprint": fingerprint(self.input),
            "moves": moves,
            "constraints": {**own, "rules": [*own["rules"], *self.lost_rules]},
        }

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Self:
        """The inverse of `to_dict`.

        Raises:
            ArtifactError: If it is incomplete, or the graph is not the one that was saved.
        """
        saved = saved_molecule(payload)
        space = cls(read_molecule(saved.graph), saved.moves, saved.constraints, saved.lost_rules)
        space.limits.check_constraints()
        return space


register_space(MoleculeEdits.kind, MoleculeEdits.from_dict)
