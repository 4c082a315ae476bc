"""What must stay in a molecule under typed edits: atoms, scaffold, weight, similarity, accessibility."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np

from edgeflip.core import SYMBOLS, Constraints, PairSpace, constraints_in_words, count_parts
from edgeflip.datasets.chemistry import rdkit_chem
from edgeflip.datasets.edited_molecules import molecule_similarity
from edgeflip.datasets.molecule_arrays import WIDTH, Flags, Ints, Numbering, Versions
from edgeflip.datasets.molecule_moves import MoleculeMoves
from edgeflip.datasets.molecule_reading import ReadMolecule
from edgeflip.errors import ConfigError, ConstraintError


class Limits:
    """Limits on one molecule.

    Args:
        read: The molecule.
        moves: Limits of chemistry.
        constraints: Frozen atoms and bonds, a region, a number of edits, rules.
        numbering: What ids stand for.
    """

    def __init__(
        self,
        read: ReadMolecule,
        moves: MoleculeMoves,
        constraints: Constraints,
        numbering: Numbering,
    ) -> None:
        self._read, self._moves, self._numbering = read, moves, numbering
        self._constraints = constraints
        # A molecule stays whole in any case.
        self._rules = Constraints(rules=constraints.own_rules)

    def check_constraints(self) -> None:
        """Refuse constraints that speak of edges that come and go.

        Raises:
            ConstraintError: If there are any, or they name atoms that are not there.
        """
        given = self._constraints
        given.check_nodes(PairSpace.of(self._read.graph))
        for name in ("room", "max_added", "max_removed", "forbidden_pairs"):
            if getattr(given, name) not in (None, {}, frozenset()):
                raise ConstraintError(
                    f"expected constraints for typed edits, got {name}, which speaks of edges that come and "
                    "go; leave it out, or edit edges (edits='edges')."
                )

    def rules_allow(self, edits: Any) -> bool:
        """Whether every rule of the user's accepts typed edits."""
        return self._rules.rules_allow(self._read.graph, edits)

    def describe(self, lost_rules: Iterable[str]) -> str:
        """All limits in words; empty where there are none."""
        own = constraints_in_words(self._constraints, tuple(lost_rules))
        return " and ".join(part for part in (own, self._moves.describe()) if part)

    # Moves that are none of this molecule's.

    @cached_property
    def _fixed_atoms(self) -> Flags:
        """Atoms at which nothing may change [n]."""
        nodes, given = self._read.nodes, self._constraints
        fixed = np.isin(nodes, list(given.frozen_nodes))
        if given.within is not None:
            fixed |= ~np.isin(nodes, list(given.within))
        return np.asarray(fixed)

    @cached_property
    def scaffold(self) -> Flags:
        """Atoms of the rings and of what joins them, with what is doubly bonded there [n]."""
        from rdkit.Chem.Scaffolds import MurckoScaffold

        base = self._read.base
        find: Any = MurckoScaffold.GetScaffoldForMol
        mol = rdkit_chem().Mol(base.mol)
        for atom in mol.GetAtoms():
            atom.SetIntProp("_place", atom.GetIdx())
        core = find(mol)
        kept = [a.GetIntProp("_place") for a in core.GetAtoms()]
        found = np.zeros(base.count, dtype=np.bool_)
        found[kept] = True
        return found

    def leave_alone(self, ids: Ints) -> Flags:
        """Which moves touch nothing that must stay [moves]."""
        base, n, given = self._read.base, self._read.base.count, self._constraints
        slots, values = ids // WIDTH, ids % WIDTH
        pairs = slots >= 3 * n
        u, v = self._numbering.ends(slots)
        atom = np.where(pairs, 0, slots % max(1, n))
        drops = (slots < n) & (values == self._numbering.dropped)
        attaches = (slots >= n) & (slots < 2 * n)
        fixed = self._fixed_atoms
        fine = np.where(pairs, ~fixed[u] & ~fixed[v], ~fixed[atom]) if n else ids < 0
        # What goes with an atom is a bond of its neighbour's.
        neighbour = np.zeros(n, dtype=np.int64)
        neighbour[base.ends[0]], neighbour[base.ends[1]] = base.ends[1], base.ends[0]
        fine &= ~drops | ~fixed[neighbour[atom]]
        for edge in given.frozen_edges:
            one, two = sorted(int(self._read.owners[node]) for node in edge)
            frozen = pairs & (u == one) & (v == two)
            frozen |= drops & ((atom == one) | (atom == two))
            fine &= ~frozen
        comes = attaches | (pairs & (base.bond_of[u, v] < 0))
        goes = drops | (pairs & (values == 0))
        if not given.allow_additions:
            fine &= ~comes
        if not given.allow_removals:
            fine &= ~goes
        if self._moves.keep_scaffold:
            own = self.scaffold
            double = np.array([order > 1 for _, order in self._numbering.attached])
            doubly = attaches & double[np.minimum(values, len(double) - 1)]
            touched = np.where(pairs, own[u] | own[v], own[atom] & (~attaches | doubly))
            fine &= ~touched
        return np.asarray(fine, dtype=np.bool_)

    @cached_property
    def labels(self) -> Ints:
        """What a symmetry must keep of the atoms: those features that depend on their order [n, any]."""
        tags = [int(atom.GetChiralTag()) for atom in self._read.base.mol.GetAtoms()]
        return np.array(tags, dtype=np.int64)[:, None]

    # Limits on whole sets.

    def keep(self, made: Versions) -> Flags:
        """Which versions keep the limits that arrays tell [versions]."""
        fine = self._are_whole(made)
        if self._moves.max_weight is not None:
            masses = _masses()
            atoms = (masses[made.numbers] * made.alive).sum(axis=1)
            weight = atoms + masses[1] * (made.hydrogens * made.alive).sum(axis=1)
            fine &= weight <= self._moves.max_weight
        return fine

    def _are_whole(self, made: Versions) -> Flags:
        """Which versions are in no more parts than the molecule; only opened rings can make more."""
        base, n = self._read.base, self._read.base.count
        fine = np.asarray(made.alive.any(axis=1))
        u, v = base.ends
        opened = (~made.bonds & made.alive[:, u] & made.alive[:, v]).sum(axis=1)
        if not bool((opened > 0).any()):
            return np.asarray(fine)
        before = count_parts(n, _pairs(u, v))
        for place in (opened > 1).nonzero()[0].tolist():
            kept = made.bonds[place]
            new = made.new[place]
            new = new[(new[:, 2] > 0) & (new[:, 1] < n)]
            gone = int((~made.alive[place, :n]).sum())
            edges = _pairs(u[kept], v[kept]) | _pairs(new[:, 0], new[:, 1])
            fine[place] &= count_parts(n, edges) - gone <= before
        return np.asarray(fine)

    def slow_ones_keep(self, mol: Any) -> bool:
        """Whether a molecule keeps the limits that RDKit tells."""
        moves = self._moves
        if moves.max_accessibility is not None and accessibility(mol) > moves.max_accessibility:
            return False
        least = moves.min_similarity
        return least is None or molecule_similarity(self._read.base.mol, mol) >= least


def _pairs(u: Ints, v: Ints) -> frozenset[tuple[int, int]]:
    return frozenset(zip(u.tolist(), v.tolist(), strict=True))


def _masses() -> Any:
    table = rdkit_chem().GetPeriodicTable()
    return np.array([0.0, *(table.GetAtomicWeight(i) for i in range(1, len(SYMBOLS) + 1))])


def accessibility(mol: Any) -> float:
    """How hard a molecule is to make, from 1, easy, to 10 (Ertl and Schuffenhauer).

    Raises:
        ConfigError: If the installed RDKit comes without it.
    """
    try:
        from rdkit.Contrib.SA_Score import sascorer
    except ImportError:
        raise ConfigError(
            "expected an RDKit with its Contrib folder for synthetic accessibility, got one without; install "
            "the wheel from PyPI, or leave max_accessibility out."
        ) from None
    return float(sascorer.calculateScore(mol))
