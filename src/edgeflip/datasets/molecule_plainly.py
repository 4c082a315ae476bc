"""Every set of typed edits of a cost, written apart from the search: atom by atom, for whoever checks.

Moves are combined by `itertools` and made one by one in dictionaries; nothing here is shared with the arrays
that the search works with.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from edgeflip.core import SYMBOLS, costs_plainly
from edgeflip.datasets.molecule_moves import MoleculeEditSet, MoleculeMove

if TYPE_CHECKING:
    from edgeflip.datasets.molecule_edits import MoleculeEdits

_VALENCE = {
    "B": 3, "C": 4, "N": 3, "O": 2, "F": 1, "Si": 4, "P": 3, "S": 2, "Cl": 1, "Se": 2, "Br": 1, "I": 1,
}  # fmt: skip
_MORE_BONDS = {"P": (3, 5), "S": (2, 4, 6), "Se": (2, 4, 6)}


def move_sets_plainly(space: MoleculeEdits, cost: int) -> Iterator[MoleculeEditSet]:
    """All sets of a cost that are molecules within the limits, one of those that symmetry makes the same."""
    plain = _Plain(space)
    prices = dict(enumerate(plain.prices))
    seen: set[Any] = set()
    for chosen in costs_plainly(prices, cost):
        moves = [plain.moves[place] for place in chosen]
        if not plain.is_molecule(moves):
            continue
        key = min(plain.seen_from(moves))
        if key not in seen:
            seen.add(key)
            yield MoleculeEditSet(tuple(sorted(moves)), cost)


class _Plain:
    """A molecule in dictionaries."""

    def __init__(self, space: MoleculeEdits) -> None:
        singles = [space.edits(id_.reshape(1, 1))[0] for id_ in space.allowed]
        self.moves: list[MoleculeMove] = [each.moves[0] for each in singles]
        self.prices = [each.cost for each in singles]
        self._space = space
        mol, nodes = space.base.mol, space.source.nodes.tolist()
        self._atoms = {
            node: (atom.GetSymbol(), atom.GetFormalCharge(), atom.GetTotalNumHs())
            for node, atom in zip(nodes, mol.GetAtoms(), strict=True)
        }
        self._orders: dict[frozenset[int], int] = {}
        self._ring: set[frozenset[int]] = set()
        for bond in space.base.kekule.GetBonds():
            ends = frozenset((nodes[bond.GetBeginAtomIdx()], nodes[bond.GetEndAtomIdx()]))
            whole = bond.GetBondTypeAsDouble()
            self._orders[ends] = int(whole) if whole in (1.0, 2.0, 3.0) else 0
            if mol.GetBondBetweenAtoms(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()).IsInRing():
                self._ring.add(ends)
        self._parts = self._count_parts(self._atoms, self._orders)
        self._most = space.moves.max_weight
        self._turns = list(self._symmetries(mol, nodes))
        self._known = set(self.moves)
        self._aromatic = {
            frozenset((nodes[bond.GetBeginAtomIdx()], nodes[bond.GetEndAtomIdx()]))
            for bond in mol.GetBonds()
            if bond.GetIsAromatic()
        }

    def _symmetries(self, mol: Any, nodes: list[int]) -> Iterator[tuple[dict[int, int], bool]]:
        """Maps of nodes that leave the molecule as it is, and whether each bond keeps its order."""
        from edgeflip.datasets.molecule_symmetry import MOST_SYMMETRIES

        yield {node: node for node in nodes}, True
        found = mol.GetSubstructMatches(
            mol, uniquify=False, useChirality=True, maxMatches=MOST_SYMMETRIES + 1
        )
        if len(found) > MOST_SYMMETRIES:
            return
        tags = [int(atom.GetChiralTag()) for atom in mol.GetAtoms()]
        radicals = [atom.GetNumRadicalElectrons() for atom in mol.GetAtoms()]
        for match in found:
            turn = {nodes[i]: nodes[j] for i, j in enumerate(match)}
            same = all(
                self._atoms[node] == self._atoms[turn[node]]
                and tags[i] == tags[match[i]]
                and radicals[i] == radicals[match[i]]
                for i, node in enumerate(nodes)
            )
            if not same:
                continue
            exact = all(
                self._orders.get(frozenset(turn[node] for node in ends)) == order
                for ends, order in self._orders.items()
            )
            yield turn, exact

    def seen_from(self, moves: list[MoleculeMove]) -> Iterator[tuple[Any, ...]]:
        """What a set of moves looks like from every side of the molecule."""
        turns_bonds = any(
            move.kind in ("bond", "open") and frozenset(move.atoms) in self._aromatic
            for move in moves
        )
        for turn, exact in self._turns:
            if turns_bonds and not exact:
                continue
            turned = [self._turned(move, turn) for move in moves]
            if all(self._turn_is_allowed(turn, exact) for _ in (0,)):
                yield tuple(sorted(turned))

    def _turned(self, move: MoleculeMove, turn: dict[int, int]) -> MoleculeMove:
        atoms = tuple(sorted(turn[node] for node in move.atoms))
        return MoleculeMove(move.kind, atoms, move.to, move.was)

    def _turn_is_allowed(self, turn: dict[int, int], exact: bool) -> bool:
        """Whether constraints tell nothing apart that a symmetry makes the same."""
        key = tuple(sorted(turn.items()))
        known: dict[Any, bool] = self.__dict__.setdefault("_allowed_turns", {})
        if key not in known:
            known[key] = all(
                self._turned(move, turn) in self._known
                for move in self.moves
                if exact
                or not (move.kind in ("bond", "open") and frozenset(move.atoms) in self._aromatic)
            )
        return known[key]

    def is_molecule(self, moves: list[MoleculeMove]) -> bool:
        """Whether moves together leave a molecule within the limits."""
        slots = [(_slot(move), move.atoms) for move in moves]
        if len(set(slots)) < len(slots):
            return False
        atoms, orders = dict(self._atoms), dict(self._orders)
        gone = {move.atoms[0] for move in moves if move.kind == "drop"}
        if any(gone & set(move.atoms) for move in moves if move.kind != "drop"):
            return False
        fresh: set[int] = set()
        for place, move in enumerate(moves):
            node = move.atoms[0]
            if move.kind in ("bond", "close"):
                orders[frozenset(move.atoms)] = int(move.to)
            elif move.kind == "open":
                del orders[frozenset(move.atoms)]
            elif move.kind == "replace":
                atoms[node] = (move.to, atoms[node][1], 0)
                fresh.add(node)
            elif move.kind == "charge":
                atoms[node] = (atoms[node][0], int(move.to), 0)
                fresh.add(node)
            elif move.kind == "attach":
                new = -1 - place
                atoms[new] = (move.to.removeprefix("="), 0, 0)
                orders[frozenset((node, new))] = 2 if move.to.startswith("=") else 1
                fresh.add(new)
        orders = {ends: order for ends, order in orders.items() if not ends & gone}
        atoms = {node: atom for node, atom in atoms.items() if node not in gone}
        if not atoms or self._count_parts(atoms, orders) > self._parts:
            return False
        hydrogens = {node: self._room(node, atoms, orders, fresh) for node in atoms}
        if min(hydrogens.values()) < 0 or self._is_strained(atoms, orders, fresh):
            return False
        return self._most is None or self._weight(atoms, hydrogens) <= self._most

    def _room(
        self, node: int, atoms: dict[int, Any], orders: dict[frozenset[int], int], fresh: set[int]
    ) -> int:
        """Hydrogens of an atom, below 0 where there is no room for its bonds."""
        symbol, charge, before = atoms[node]
        now = sum(order for ends, order in orders.items() if node in ends)
        if node in fresh:
            if symbol not in _VALENCE:
                return -1
            change = -abs(charge) if symbol in ("C", "Si") else charge
            return int(_VALENCE[symbol] + (-charge if symbol == "B" else change) - now)
        then = sum(order for ends, order in self._orders.items() if node in ends)
        touched = {ends for ends in {*orders, *self._orders} if node in ends}
        if all(orders.get(ends) == self._orders.get(ends) for ends in touched):
            return int(before)
        if symbol in _MORE_BONDS and not charge and not before:
            known = [each for each in _MORE_BONDS[symbol] if each >= now]
            if not known:
                return -1
            spare = known[0] - now
            return int(spare) if not spare or known[0] == _MORE_BONDS[symbol][0] else -1
        return int(int(before) + then - now)

    def _is_strained(
        self, atoms: dict[int, Any], orders: dict[frozenset[int], int], fresh: set[int]
    ) -> bool:
        """Whether an atom has got two double bonds, or a triple one, of rings."""
        for node in atoms:
            touched = {ends for ends in {*orders, *self._orders} if node in ends}
            if node not in fresh and all(
                orders.get(ends) == self._orders.get(ends) for ends in touched
            ):
                continue
            now, then = (
                sum(max(0, known.get(ends, 0) - 1) for ends in self._ring if node in ends)
                for known in (orders, self._orders)
            )
            if now > 1 >= then:
                return True
        return False

    @staticmethod
    def _weight(atoms: dict[int, Any], hydrogens: dict[int, int]) -> float:
        from rdkit.Chem import GetPeriodicTable

        table = GetPeriodicTable()
        own = sum(table.GetAtomicWeight(SYMBOLS.index(each[0]) + 1) for each in atoms.values())
        return float(own + table.GetAtomicWeight(1) * sum(hydrogens.values()))

    @staticmethod
    def _count_parts(atoms: dict[int, Any], orders: dict[frozenset[int], int]) -> int:
        left, parts = set(atoms), 0
        near: dict[int, set[int]] = {node: set() for node in atoms}
        for ends in orders:
            u, v = ends
            near[u].add(v)
            near[v].add(u)
        while left:
            parts, front = parts + 1, [left.pop()]
            while front:
                more = near[front.pop()] & left
                left -= more
                front += more
        return parts


def _slot(move: MoleculeMove) -> str:
    """What only one move of a set may change."""
    slots = {"replace": "atom", "drop": "atom", "attach": "at", "charge": "charge"}
    return slots.get(move.kind, "pair")
