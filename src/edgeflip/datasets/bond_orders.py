"""Bond orders where only the elements of a molecule and its bonds are known."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

import networkx as nx

from edgeflip.core import Edge


def with_bond_orders(chem: ModuleType, numbers: list[int], edges: frozenset[Edge]) -> Any:
    """An editable molecule with bond orders, charges and missing hydrogens that suit its valences.

    Every atom gets the lowest common valence that fits its neighbours; what is left open is paired
    along bonds, as many pairs as possible, and what cannot be paired is filled with hydrogens.
    """
    skeleton = nx.empty_graph(len(numbers))
    skeleton.add_edges_from(edges)
    charges = _charges(numbers, skeleton)
    free = {
        node: max(0, _valence(number, node, numbers, skeleton, charges) - skeleton.degree[node])
        for node, number in enumerate(numbers)
    }
    orders = dict.fromkeys(edges, 1)
    for _ in range(2):  # the second round makes triple bonds and cumulated double ones
        for u, v in _pairing(edges, free, skeleton):
            orders[u, v] += 1
            free[u] -= 1
            free[v] -= 1
    editable = chem.RWMol()
    for node, number in enumerate(numbers):
        atom = chem.Atom(number)
        atom.SetFormalCharge(charges.get(node, 0))
        atom.SetNoImplicit(True)
        atom.SetNumExplicitHs(free[node])
        editable.AddAtom(atom)
    kinds = {1: chem.BondType.SINGLE, 2: chem.BondType.DOUBLE, 3: chem.BondType.TRIPLE}
    for (u, v), order in orders.items():
        editable.AddBond(u, v, kinds[order])
    return editable


def are_unambiguous(whole: Any, edges: frozenset[Edge]) -> bool:
    """Whether bonds and valences leave one way only to place double bonds, but for aromatic resonance.

    Every hydrogen must be an atom of the molecule: nothing is known of those that are not.

    Args:
        whole: The molecule that was inferred, sanitised.
        edges: Its bonds.
    """
    if any(atom.GetTotalNumHs() or atom.GetNumRadicalElectrons() for atom in whole.GetAtoms()):
        return False
    kekule = type(whole)(whole)
    aromatic = {}
    for bond in kekule.GetBonds():
        ends = sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
        aromatic[ends[0], ends[1]] = bond.GetIsAromatic()
    from rdkit.Chem import Kekulize

    Kekulize(kekule, clearAromaticFlags=True)
    more = {
        (u, v): int(kekule.GetBondBetweenAtoms(u, v).GetBondTypeAsDouble()) - 1 for u, v in edges
    }
    free = dict.fromkeys(range(whole.GetNumAtoms()), 0)
    for (u, v), count in more.items():
        free[u] += count
        free[v] += count
    for (u, v), count in more.items():
        if aromatic[u, v] or not (free[u] and free[v]):
            continue
        for other in range(min(free[u], free[v], 2) + 1):
            left = {**free, u: free[u] - other, v: free[v] - other}
            if other != count and _can_be_paired(edges - {(u, v)}, left):
                return False
    return True


def _can_be_paired(edges: frozenset[Edge], free: Mapping[int, int]) -> bool:
    """Whether open valences can all be paired along bonds."""
    spots = nx.Graph()
    spots.add_nodes_from((node, copy) for node, count in free.items() for copy in range(count))
    for u, v in edges:
        spots.add_edges_from(
            ((u, one), (v, two)) for one in range(free[u]) for two in range(free[v])
        )
    if len(spots) % 2:
        return False
    return 2 * len(nx.max_weight_matching(spots, maxcardinality=True)) == len(spots)


def _pairing(edges: frozenset[Edge], free: Mapping[int, int], skeleton: Any) -> list[Edge]:
    """Bonds between atoms with open valences, no atom twice, as many as possible."""
    open_bonds = nx.Graph()
    for u, v in sorted(edges):
        if free[u] and free[v]:
            ends_there = 1 in (skeleton.degree[u], skeleton.degree[v])
            open_bonds.add_edge(u, v, weight=2 if ends_there else 1)
    matched = nx.max_weight_matching(open_bonds, maxcardinality=True)
    return sorted((min(pair), max(pair)) for pair in matched)


def _charges(numbers: list[int], skeleton: Any) -> dict[int, int]:
    """Formal charges of the groups that need them: nitro, N-oxide, azide, onium."""
    charges: dict[int, int] = {}
    for node, number in enumerate(numbers):
        degree = skeleton.degree[node]
        ends = sorted(other for other in skeleton[node] if skeleton.degree[other] == 1)
        oxygens = [other for other in ends if numbers[other] == 8]
        if number == 7 and degree in (3, 4) and oxygens:
            charges |= {node: 1, oxygens[0]: -1}
        elif number == 7 and degree == 2 and (tails := [o for o in ends if numbers[o] == 7]):
            charges |= {node: 1, tails[0]: -1}
        elif (number, degree) in ((7, 4), (8, 3), (15, 4), (16, 3)) and not oxygens:
            sulphides = [other for other in ends if numbers[other] == 16]
            if not (number == 15 and sulphides):
                charges[node] = 1
    return charges


def _valence(
    number: int, node: int, numbers: list[int], skeleton: Any, charges: Mapping[int, int]
) -> int:
    charge, degree = charges.get(node, 0), skeleton.degree[node]
    if number in (7, 8, 15, 16) and charge:
        base = {7: 3, 8: 2, 15: 3, 16: 2}[number]
        return base + charge
    choices = {5: (3,), 6: (4,), 7: (3,), 8: (2,), 15: (3, 5), 16: (2, 4, 6)}.get(number, (1,))
    terminal = sum(
        numbers[other] in (8, 16) and skeleton.degree[other] == 1 for other in skeleton[node]
    )
    needed = degree + (terminal if number in (15, 16) else 0)
    return next((valence for valence in choices if valence >= needed), choices[-1])
