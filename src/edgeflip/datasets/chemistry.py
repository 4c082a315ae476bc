"""Molecules stay molecules: what may change in one, and the way back to SMILES.

A graph is a molecule when it has a `smiles`, whose atoms are its nodes in order, or atomic numbers
`z`. With `smiles`, bonds are those of the SMILES. With `z` alone, as in Mutag0, nothing tells a single bond
from a double one: bond orders are inferred where they are needed, unless the graph says which SMILES it
was `read_from`. An atom's free valence is the number of its hydrogens that are no nodes: where they are
nodes, as in Mutag0, it has none until one of its bonds goes.

An added bond is single. A bond that goes leaves hydrogens behind, as many as its order.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import Constraints, Edge, EditSet, Rule, edge_noun, edge_pairs, no_graph
from edgeflip.datasets.bond_orders import with_bond_orders
from edgeflip.errors import ConfigError, GraphError, shown
from edgeflip.search import Counterfactual, CounterfactualSet
from edgeflip.support import check_limit, checked_call

SINGLE_BOND = torch.tensor([1, 0, 0])
"""The row that PyG's `from_smiles` gives a single bond: the fill for added bonds."""

READ_FROM = "read_from"
"""Where a graph with hydrogens as nodes keeps its SMILES, whose atoms come first; edits leave it."""

WRITTEN = "written"
"""Where a graph made by typed edits keeps its canonical SMILES."""

SMALLEST_RING = 5
"""An added bond closes no ring of fewer atoms, unless the user allows it."""

_HYDROGEN = 1
_ELEMENTS = 118


def rdkit_chem() -> ModuleType:
    """RDKit's module `Chem`, or one sentence that names the extra to install."""
    try:
        from rdkit import Chem
    except ImportError:
        raise ConfigError(
            "expected RDKit for molecules, got none installed; run pip install 'edgeflip[chem]'."
        ) from None
    module: ModuleType = Chem
    return module


@checked_call(GraphError)
def molecule_graph(smiles: str, *, bonds: bool = False) -> Data:
    """The graph of a SMILES with PyG's nine atom features as numbers.

    Args:
        smiles: the molecule; several parts, separated by dots, are fine.
        bonds: whether bonds carry PyG's three features as `edge_attr`.

    Raises:
        GraphError: if it is no molecule, with the reason where RDKit gives one.
    """
    chem = rdkit_chem()
    check_smiles(smiles)
    from rdkit import rdBase
    from torch_geometric.utils import from_smiles

    with rdBase.BlockLogs():
        # PyG makes an empty graph of what RDKit cannot read, and raises for what it has no number for.
        try:
            if not smiles.isascii() or "\0" in smiles:
                raise ValueError("it has letters that no SMILES has")
            graph: Data = from_smiles(smiles)
            reason = _dropped(smiles) if graph.num_nodes else _reason(chem, smiles)
        except (ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())
    if reason:
        raise GraphError(
            f"expected a SMILES that is a molecule, got {shown(smiles)} ({reason}); correct it."
        )
    graph.z = graph.x[:, 0].clone()
    graph.x = graph.x.float()
    if not bonds:
        del graph.edge_attr
    return graph


def molecule_or_none(smiles: str, *, bonds: bool = False) -> Data | None:
    """The graph of a SMILES, none if it is no molecule; for files, where that is counted."""
    try:
        return molecule_graph(smiles, bonds=bonds)
    except GraphError:
        return None


def _dropped(smiles: str) -> str:
    """What RDKit would leave out without a word, as a sentence; empty if nothing."""
    return "RDKit would drop the text after its first space" if smiles.split()[1:] else ""


def _reason(chem: ModuleType, smiles: str) -> str:
    """Why RDKit cannot read a SMILES."""
    if not smiles.strip():
        return "it is empty"
    loose = chem.MolFromSmiles(smiles, sanitize=False)
    if loose is None:
        return "RDKit cannot parse it: look for an open ring, an open bracket or an unknown atom"
    problems = chem.DetectChemistryProblems(loose)
    return " ".join(problems[0].Message().split()) if problems else "RDKit finds no atoms in it"


_ATOM = re.compile(r"\[[^\]]*\]|Br|Cl|[BCNOSPFIbcnosp*]")
# Bonds, rings, branches and what stands in brackets around an atom.
_LETTERS_PER_ATOM = 20


def check_smiles(smiles: str) -> None:
    """Refuse a SMILES of more atoms than allowed, before RDKit reads it.

    Raises:
        GraphError: If it is too long.
    """
    check_limit("atoms", len(smiles) // _LETTERS_PER_ATOM, "a SMILES", GraphError)
    check_limit("atoms", len(_ATOM.findall(smiles)), "a SMILES", GraphError)


def is_molecule(graph: Data) -> bool:
    """Whether a graph says what atoms it is made of."""
    return _smiles(graph) is not None or edge_noun(graph) == "bond"


def molecule(graph: Data) -> Any:
    """The RDKit molecule of a graph, atoms in the order of its nodes, sanitised.

    An edited graph has no `smiles` of its own but that of the molecule it was `edited_from`, and is that
    molecule with bonds added and removed. With `z` alone, bond orders are inferred; open valences become
    hydrogens.

    Raises:
        GraphError: if the graph says nothing of its atoms, or is chemically impossible.
    """
    try:
        return with_edits(*_parsed(graph))
    except ImpossibleError as error:
        raise GraphError(
            f"expected a graph that is a possible molecule, got one where {error}; "
            "explain with the rules of chemistry to get possible ones only."
        ) from None


def valid_share(graphs: Iterable[Data]) -> float | None:
    """The share of graphs that are possible molecules; None without graphs."""
    verdicts = []
    for graph in graphs:
        try:
            molecule(graph)
        except GraphError:
            verdicts.append(0.0)
        else:
            verdicts.append(1.0)
    return sum(verdicts) / len(verdicts) if verdicts else None


def to_smiles(what: Data | CounterfactualSet, counterfactual: Counterfactual | None = None) -> str:
    """The canonical SMILES of a molecule, or of the counterfactual molecule of an answer.

    Args:
        what: a graph with `smiles` or `z`, or an answer for one.
        counterfactual: which one of the answer; the best by default.

    Example:
        >>> graph = molecule_graph("OC(=O)c1ccccc1")  # doctest: +SKIP
        >>> to_smiles(EditSet(removed={(1, 3)}).apply(graph))  # doctest: +SKIP
        'O=CO.c1ccccc1'
    """
    chem = rdkit_chem()
    if isinstance(what, Data):
        if isinstance(what.to_dict().get(WRITTEN), str):
            return str(what[WRITTEN])
        return str(chem.MolToSmiles(without_hydrogens(molecule(what))))
    if not isinstance(what, CounterfactualSet):
        raise no_graph(what)
    chosen = counterfactual or what.best
    if chosen is None:
        raise GraphError("expected an answer with a counterfactual, got none; see answer.found.")
    if what.space.kind == "molecule":
        space: Any = what.space
        return str(space.smiles(chosen.edits))
    try:
        edited = with_edits(molecule(what.graph), chosen.edits)
        return str(chem.MolToSmiles(without_hydrogens(edited)))
    except ImpossibleError as error:
        raise GraphError(
            f"expected a counterfactual that is a possible molecule, got one where {error}; "
            "explain with the rules of chemistry to get possible ones only."
        ) from None


@checked_call()
def molecule_constraints(
    graph: Data,
    *,
    keep_connected: bool = True,
    smallest_ring: int = SMALLEST_RING,
    keep_aromatic: bool = False,
) -> Constraints:
    """What may change in a molecule for it to stay one.

    No atom gets more bonds than its valence allows and hydrogens that are nodes keep their bond; both
    is checked before the oracle is asked. What flips the prediction is then sanitised by RDKit.

    Args:
        graph: a molecule, see `molecule`.
        keep_connected: whether the molecule must not fall into more parts than it has.
        smallest_ring: an added bond may not close a ring of fewer atoms; 3 allows every ring.
        keep_aromatic: whether bonds of aromatic rings must stay.
    """
    try:
        base = with_edits(*_parsed(graph))
    except ImpossibleError:
        # Bond orders could not be inferred; degrees still limit what may come.
        base = None
    return constraints_of(
        graph,
        base,
        keep_connected=keep_connected,
        smallest_ring=smallest_ring,
        keep_aromatic=keep_aromatic,
    )


def constraints_of(
    graph: Data,
    base: Any | None,
    *,
    keep_connected: bool = True,
    smallest_ring: int = SMALLEST_RING,
    keep_aromatic: bool = False,
) -> Constraints:
    """The same for a graph whose molecule is known, or known to be impossible: then there is none."""
    numbers = (
        _atomic_numbers(graph) if base is None else [a.GetAtomicNum() for a in base.GetAtoms()]
    )
    hydrogens = {node for node, number in enumerate(numbers) if number == _HYDROGEN}
    room = dict.fromkeys((node for node in range(len(numbers)) if node not in hydrogens), 0)
    rules: list[Rule] = [NoSmallRing(smallest_ring)] if smallest_ring > 3 else []
    aromatic: frozenset[Edge] = frozenset()
    if base is not None:
        # Hydrogens that are nodes are none that an added bond could take the place of.
        room |= {node: base.GetAtomWithIdx(node).GetTotalNumHs() for node in room}
        if keep_aromatic:
            aromatic = frozenset(_pair(bond) for bond in base.GetBonds() if bond.GetIsAromatic())
        rules.append(PossibleMolecule(base))
    return Constraints(
        frozen_nodes=frozenset(hydrogens),
        frozen_edges=aromatic,
        room=room,
        keep_connected=keep_connected,
        rules=tuple(rules),
    )


@dataclass(frozen=True)
class NoSmallRing:
    """A rule: no added bond closes a ring of fewer atoms than this."""

    atoms: int

    def __call__(self, graph: Data, edits: EditSet) -> bool:
        """Whether the edits keep the rule."""
        return smallest_new_ring(graph, edits, below=self.atoms) is None


def smallest_new_ring(graph: Data, edits: EditSet, *, below: int) -> int | None:
    """Atoms of the smallest ring that an added bond closes, None if none has fewer than a number."""
    if not edits.added:
        return None
    near: dict[int, set[int]] = defaultdict(set)
    for u, v in (edge_pairs(graph) - edits.removed) | edits.added:
        near[u].add(v)
        near[v].add(u)
    found = [_ring_of(near, bond, below) for bond in edits.added]
    return min((atoms for atoms in found if atoms is not None), default=None)


def _ring_of(near: Mapping[int, set[int]], bond: Edge, below: int) -> int | None:
    """Atoms of the smallest ring that a bond is in, None if it has not fewer than a number."""
    start, end = bond
    known, front = {start}, near[start] - {end}
    for atoms in range(2, below):
        if end in front:
            return atoms
        known |= front
        front = {other for node in front for other in near[node]} - known
    return None


class PossibleMolecule:
    """A rule: RDKit accepts the edited molecule."""

    def __init__(self, base: Any) -> None:
        self.base = base

    def __call__(self, graph: Data, edits: EditSet) -> bool:
        """Whether RDKit accepts the edited molecule."""
        try:
            with_edits(self.base, edits)
        except ImpossibleError:
            return False
        return True


class ImpossibleError(Exception):
    """Edits that leave no molecule; the message ends the sentence "where …"."""


def with_edits(base: Any, edits: EditSet | None) -> Any:
    """The molecule after the edits, sanitised; the base is left as it is."""
    if edits is None:
        return base
    chem = rdkit_chem()
    changed = chem.RWMol(base)
    # Without aromatic flags every bond has a whole order, and its end is a clear number of hydrogens.
    chem.Kekulize(changed, clearAromaticFlags=True)
    freed: Counter[int] = Counter()
    for u, v in edits.removed:
        order = int(changed.GetBondBetweenAtoms(u, v).GetBondTypeAsDouble())
        freed.update({u: order, v: order})
        changed.RemoveBond(u, v)
    for u, v in edits.added:
        freed.subtract((u, v))
        changed.AddBond(u, v, chem.BondType.SINGLE)
    for node in {end for edge in edits.edges for end in edge}:
        atom = changed.GetAtomWithIdx(node)
        hydrogens = base.GetAtomWithIdx(node).GetTotalNumHs() + freed[node]
        if hydrogens < 0:
            raise ImpossibleError(
                f"atom {node} ({atom.GetSymbol()}) has more bonds than its valence"
            )
        atom.SetNoImplicit(True)
        atom.SetNumExplicitHs(hydrogens)
        atom.SetChiralTag(chem.ChiralType.CHI_UNSPECIFIED)
    return _sanitised(changed)


def _sanitised(editable: Any) -> Any:
    chem = rdkit_chem()
    from rdkit import rdBase

    with rdBase.BlockLogs():
        try:
            chem.SanitizeMol(editable)
            chem.AssignStereochemistry(editable, cleanIt=True, force=True)
        except (ValueError, RuntimeError) as error:
            raise ImpossibleError(f"RDKit says '{' '.join(str(error).split())}'") from None
    return editable.GetMol()


def without_hydrogens(mol: Any) -> Any:
    """The molecule with hydrogens that are nodes folded into their atoms, where they can be."""
    from rdkit import rdBase

    with rdBase.BlockLogs():
        return rdkit_chem().RemoveHs(mol)


def _parsed(graph: Data) -> tuple[Any, EditSet | None]:
    """The molecule a graph speaks of, and the edits that lead from it to the graph."""
    chem = rdkit_chem()
    smiles = _smiles(graph)
    if smiles is None:
        numbers, edges = _atomic_numbers(graph), edge_pairs(graph)
        whole = _with_hydrogens(graph, numbers)
        if whole is None:
            return _sanitised(with_bond_orders(chem, numbers, edges)), None
        return whole, _edits_between(whole, edges)
    base = _read(smiles)
    if base is None or base.GetNumAtoms() != graph.num_nodes:
        found = "no molecule" if base is None else f"{base.GetNumAtoms()} atoms"
        raise GraphError(
            f"expected a smiles with one atom per node ({graph.num_nodes}), got {found} in "
            f"'{smiles}'; make the graph with molecule_graph."
        )
    return base, _edits_between(base, edge_pairs(graph))


def _read(smiles: str) -> Any | None:
    """The molecule of a SMILES; none if it is no molecule."""
    check_smiles(smiles)
    from rdkit import rdBase

    with rdBase.BlockLogs():
        if not smiles.isascii() or "\0" in smiles:
            return None
        return rdkit_chem().MolFromSmiles(smiles)


def _with_hydrogens(graph: Data, numbers: list[int]) -> Any | None:
    """The molecule that a graph with hydrogens as nodes was read from; none if it does not say."""
    smiles = graph.to_dict().get(READ_FROM)
    base = _read(smiles) if isinstance(smiles, str) else None
    whole = None if base is None else rdkit_chem().AddHs(base)
    known = whole is not None and [atom.GetAtomicNum() for atom in whole.GetAtoms()] == numbers
    return whole if known else None


def _edits_between(base: Any, edges: frozenset[Edge]) -> EditSet | None:
    """The edits that lead from the bonds of a molecule to edges; none if they are the same."""
    bonds = frozenset(_pair(bond) for bond in base.GetBonds())
    return None if bonds == edges else EditSet(added=edges - bonds, removed=bonds - edges)


def _smiles(graph: Data) -> str | None:
    """The SMILES of a graph, or of the one it was edited from."""
    if not isinstance(graph, Data):
        raise no_graph(graph)
    known = graph.to_dict()
    smiles = known.get("smiles", known.get("edited_from"))
    return smiles if isinstance(smiles, str) else None


def _atomic_numbers(graph: Data) -> list[int]:
    smiles, numbers = _smiles(graph), graph.to_dict().get("z")
    if smiles is not None:
        base, _ = _parsed(graph)
        return [atom.GetAtomicNum() for atom in base.GetAtoms()]
    if not isinstance(numbers, Tensor) or numbers.shape != (graph.num_nodes,):
        raise GraphError(
            "expected a molecule, a graph with smiles or with atomic numbers z of shape [nodes], got "
            "neither; make it with molecule_graph, or explain without chemistry."
        )
    if not bool(((numbers >= 0) & (numbers <= _ELEMENTS)).all()):
        raise GraphError(
            f"expected atomic numbers z in 0..{_ELEMENTS}, got {int(numbers.min())}..{int(numbers.max())}; "
            "correct z."
        )
    return [int(number) for number in numbers]


def _pair(bond: Any) -> Edge:
    u, v = sorted((bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()))
    return u, v
