"""A molecule made ready to be drawn: its atoms, its bonds with their orders, and a place for each atom.

Places come from RDKit and are those of the input. What is drawn after an edit stands at the same places.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from statistics import median
from typing import Any, Literal, TypeAlias

from edgeflip.core import Edge
from edgeflip.datasets import rdkit_chem
from edgeflip.draw.scene import Point

Wedge: TypeAlias = Literal["", "wedge", "hash"]

_HYDROGEN = 1
# Bonds are no longer than this, so that a small molecule does not fill its panel.
_LONGEST = 42.0
# Turning by these keeps the angles of a chemist's drawing; another way up must be worth it.
_TURNS = (0, 90, 30, 150, 60, 120)
_WORTH_TURNING = 1.15


@dataclass(frozen=True)
class Atom:
    """An atom as it is in the input.

    Attributes:
        symbol: Of its element.
        hydrogens: How many it carries that are not drawn as atoms.
        charge: Its formal charge.
        isotope: Its mass number, 0 for the natural mixture.
        radicals: Its unpaired electrons.
    """

    symbol: str
    hydrogens: int = 0
    charge: int = 0
    isotope: int = 0
    radicals: int = 0


@dataclass(frozen=True)
class Bond:
    """A bond of the input.

    Attributes:
        ends: Its atoms, the smaller first.
        order: 1, 2 or 3.
        wedge: Whether its wide end points to the reader, away, or neither.
        narrow: The atom at its narrow end.
        ring: Atoms of the ring in which its second line lies; none outside rings.
    """

    ends: Edge
    order: int = 1
    wedge: Wedge = ""
    narrow: int = -1
    ring: tuple[int, ...] = ()


@dataclass(frozen=True)
class Sketch:
    """A molecule with places that have no scale yet, y downwards."""

    atoms: Mapping[int, Atom]
    bonds: Mapping[Edge, Bond]
    places: Mapping[int, Point]
    neighbours: Mapping[int, tuple[int, ...]] = field(init=False)

    def __post_init__(self) -> None:
        """Note who is bonded to whom."""
        near: dict[int, list[int]] = {node: [] for node in self.atoms}
        for u, v in sorted(self.bonds):
            near[u].append(v)
            near[v].append(u)
        whole = {node: tuple(others) for node, others in near.items()}
        object.__setattr__(self, "neighbours", whole)


def sketch_of(mol: Any, touched: Collection[int], *, fold_hydrogens: bool) -> Sketch:
    """Lay a molecule out.

    Args:
        mol: A sanitised RDKit molecule.
        touched: The atoms that edits change.
        fold_hydrogens: Whether hydrogens that are atoms of their own are written at their neighbour,
            as chemists do, unless they or their neighbour are touched.
    """
    chem = rdkit_chem()
    whole = chem.RWMol(mol)
    rings = _rings(mol)
    # The same form that edits start from, so that both pictures agree in their double bonds.
    chem.Kekulize(whole, clearAromaticFlags=True)
    for atom in whole.GetAtoms():
        atom.SetIntProp("_node", atom.GetIdx())
    folded = _folded(mol, touched) if fold_hydrogens else {}
    whole.BeginBatchEdit()
    for node in folded:
        whole.RemoveAtom(node)
    whole.CommitBatchEdit()
    whole.UpdatePropertyCache(strict=False)
    chem.FastFindRings(whole)
    _lay_out(whole)
    nodes = {atom.GetIdx(): atom.GetIntProp("_node") for atom in whole.GetAtoms()}
    hosts = list(folded.values())
    atoms = {
        node: Atom(
            symbol=mol.GetAtomWithIdx(node).GetSymbol(),
            hydrogens=mol.GetAtomWithIdx(node).GetTotalNumHs() + hosts.count(node),
            charge=mol.GetAtomWithIdx(node).GetFormalCharge(),
            isotope=mol.GetAtomWithIdx(node).GetIsotope(),
            radicals=mol.GetAtomWithIdx(node).GetNumRadicalElectrons(),
        )
        for node in nodes.values()
    }
    drawn = [_bond(bond, nodes, rings) for bond in whole.GetBonds()]
    found = whole.GetConformer().GetPositions()
    places = {node: (float(found[at][0]), -float(found[at][1])) for at, node in nodes.items()}
    return Sketch(atoms, {bond.ends: bond for bond in drawn}, places)


def _folded(mol: Any, touched: Collection[int]) -> dict[int, int]:
    """Hydrogens that are not drawn, each with the atom that it is written at."""
    folded = {}
    for atom in mol.GetAtoms():
        if atom.GetAtomicNum() != _HYDROGEN or atom.GetDegree() != 1 or atom.GetIsotope():
            continue
        (host,) = atom.GetNeighbors()
        if host.GetAtomicNum() != _HYDROGEN and not {atom.GetIdx(), host.GetIdx()} & set(touched):
            folded[atom.GetIdx()] = host.GetIdx()
    return folded


def _rings(mol: Any) -> list[tuple[int, ...]]:
    """Rings, those first that second lines are drawn into: aromatic ones, then six-membered ones."""

    def rank(ring: tuple[int, ...]) -> tuple[bool, bool, int]:
        aromatic = all(mol.GetAtomWithIdx(node).GetIsAromatic() for node in ring)
        return not aromatic, len(ring) != 6, len(ring)

    return sorted((tuple(ring) for ring in mol.GetRingInfo().AtomRings()), key=rank)


def _lay_out(mol: Any) -> None:
    from rdkit.Chem import rdDepictor

    # RDKit's own layout whatever the user has chosen, so that pictures are the same everywhere.
    rdDepictor.Compute2DCoords(mol, canonOrient=True, forceRDKit=True, useRingTemplates=True)
    # Bonds are normalised by those between heavy atoms: without any, as in H2, places would be no numbers.
    if any(_heavy(bond) for bond in mol.GetBonds()):
        rdDepictor.NormalizeDepiction(mol)
        rdDepictor.StraightenDepiction(mol)
    rdkit_chem().WedgeMolBonds(mol, mol.GetConformer())


def _heavy(bond: Any) -> bool:
    return all(atom.GetAtomicNum() > _HYDROGEN for atom in (bond.GetBeginAtom(), bond.GetEndAtom()))


def _bond(bond: Any, nodes: Mapping[int, int], rings: list[tuple[int, ...]]) -> Bond:
    chem = rdkit_chem()
    begin, end = nodes[bond.GetBeginAtomIdx()], nodes[bond.GetEndAtomIdx()]
    wedges: dict[Any, Wedge] = {
        chem.BondDir.BEGINWEDGE: "wedge",
        chem.BondDir.BEGINDASH: "hash",
    }
    return Bond(
        (min(begin, end), max(begin, end)),
        max(1, min(3, int(bond.GetBondTypeAsDouble()))),
        wedges.get(bond.GetBondDir(), ""),
        begin,
        next(
            (ring for ring in rings if begin in ring and end in ring and _next(ring, begin, end)),
            (),
        ),
    )


def _next(ring: tuple[int, ...], one: int, other: int) -> bool:
    """Whether two atoms of a ring are neighbours in it."""
    apart = abs(ring.index(one) - ring.index(other))
    return apart in (1, len(ring) - 1)


@dataclass(frozen=True)
class Scale:
    """Places in pixels.

    Attributes:
        places: Of the atoms.
        length: Of an ordinary bond.
    """

    places: Mapping[int, Point]
    length: float


def scaled(sketch: Sketch, room: tuple[float, float], margins: tuple[float, float]) -> Scale:
    """A sketch in the middle of a panel, as large as fits.

    Args:
        sketch: The molecule.
        room: Width and height of the panel.
        margins: What stays free at the sides, and above and below.
    """
    lengths = [math.dist(*(sketch.places[end] for end in ends)) for ends in sketch.bonds]
    usual = median(lengths) if lengths else 1.5
    inside = [max(1.0, side - 2 * margin) for side, margin in zip(room, margins, strict=True)]

    def fit(places: Mapping[int, Point]) -> float:
        wide, high = _extent(places)
        return min(_LONGEST / usual, inside[0] / max(wide, 1e-6), inside[1] / max(high, 1e-6))

    best, factor = dict(sketch.places), fit(sketch.places)
    for turn in _TURNS[1:]:
        turned = _turned(sketch.places, turn)
        if fit(turned) > factor * _WORTH_TURNING:
            best, factor = turned, fit(turned)
    columns, rows = zip(*best.values(), strict=True)
    middle = (min(columns) + max(columns)) / 2, (min(rows) + max(rows)) / 2
    places = {
        node: (
            room[0] / 2 + (x - middle[0]) * factor,
            room[1] / 2 + (y - middle[1]) * factor,
        )
        for node, (x, y) in best.items()
    }
    return Scale(places, usual * factor)


def _extent(places: Mapping[int, Point]) -> Point:
    columns, rows = zip(*places.values(), strict=True)
    return max(columns) - min(columns), max(rows) - min(rows)


def _turned(places: Mapping[int, Point], degrees: float) -> dict[int, Point]:
    cosine, sine = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return {node: (x * cosine - y * sine, x * sine + y * cosine) for node, (x, y) in places.items()}
