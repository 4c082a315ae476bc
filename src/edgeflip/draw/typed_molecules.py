"""Typed edits drawn: the molecule before and after, kept atoms at one place, only the change in colour."""

from __future__ import annotations

import math
from typing import Any

from edgeflip.datasets import (
    MoleculeEdits,
    MoleculeEditSet,
    accessibility,
    molecule_similarity,
    rdkit_chem,
)
from edgeflip.draw.scene import Item, Line, Point, Scene, words
from edgeflip.draw.subject import Canvas, Drawing, Fact
from edgeflip.search import Counterfactual, CounterfactualSet

# Bonds are no longer than this; how far lines of a double bond lie apart, and how near letters may come.
_LONGEST, _APART, _LETTERS, _MARGIN = 40.0, 4.5, 10.0, 26.0


def typed_drawing(
    answer: CounterfactualSet, entry: Counterfactual | None, canvas: Canvas
) -> Drawing:
    """The molecule of an answer before and after typed edits.

    Args:
        answer: What was found.
        entry: Which of its counterfactuals; none for the molecule alone.
        canvas: The room for each.
    """
    space: Any = answer.space
    before = _Sketched(space.molecule(), None)
    if entry is None:
        return Drawing((before.scene(canvas, {}, {}),), facts=((_smiles(space, None),),))
    mol = space.molecule(entry.edits)
    after = _Sketched(mol, before)
    gone, new = _changed(space, entry.edits)
    alike = f"{molecule_similarity(space.molecule(), mol):.2f}".removeprefix("0")
    told = (
        _smiles(space, entry.edits),
        Fact("Tanimoto", f"{alike} (ECFP4)"),
        Fact("SA score", f"{accessibility(mol):.1f} (1 easy to make, 10 hard)"),
    )
    panels = (
        before.scene(canvas, *_styles(space, gone, "removed", before)),
        after.scene(canvas, *_styles(space, new, "added", after, _kept(space, entry.edits))),
    )
    return Drawing(panels, facts=((_smiles(space, None),), told))


def _smiles(space: MoleculeEdits, edits: MoleculeEditSet | None) -> Fact:
    return Fact("SMILES", space.smiles(edits), mono=True)


def _kept(space: MoleculeEdits, edits: MoleculeEditSet) -> dict[int, int]:
    """Where each atom of the molecule stands after the edits."""
    owners = space.source.owners
    gone = {int(owners[move.atoms[0]]) for move in edits.moves if move.kind == "drop"}
    stays = [atom for atom in range(space.base.count) if atom not in gone]
    return {atom: place for place, atom in enumerate(stays)}


_Marks = tuple[set[int], set[tuple[int, int]]]


def _changed(space: MoleculeEdits, edits: MoleculeEditSet) -> tuple[_Marks, _Marks]:
    """Atoms and bonds by their places in the input: those that go or change, and those that come."""
    owners, base = space.source.owners, space.base
    gone: _Marks = (set(), set())
    new: _Marks = (set(), set())
    for move in edits.moves:
        atoms = tuple(sorted(int(owners[node]) for node in move.atoms))
        if move.kind in ("replace", "charge"):
            gone[0].add(atoms[0])
            new[0].add(atoms[0])
        elif move.kind == "drop":
            gone[0].add(atoms[0])
            ends = (tuple(pair) for pair in base.ends.T.tolist())
            gone[1].update((u, v) for u, v in ends if atoms[0] in (u, v))
        elif move.kind in ("bond", "open", "close"):
            pair = (atoms[0], atoms[1])
            if move.kind != "close":
                gone[1].add(pair)
            if move.kind != "open":
                new[1].add(pair)
    return gone, new


def _styles(
    space: MoleculeEdits,
    marks: _Marks,
    style: str,
    drawn: _Sketched,
    kept: dict[int, int] | None = None,
) -> tuple[dict[int, str], dict[tuple[int, int], str]]:
    """The styles of changed atoms and bonds, by their places in what is drawn."""
    own = {atom: atom for atom in range(space.base.count)} if kept is None else kept
    atoms = {own[atom]: style for atom in marks[0]}
    bonds = {
        (min(own[u], own[v]), max(own[u], own[v])): style
        for u, v in marks[1]
        if u in own and v in own
    }
    if kept is not None:
        # What was attached follows the atoms that were kept.
        for atom in range(len(kept), drawn.count):
            atoms[atom] = style
            for pair in drawn.bonds:
                if atom in pair:
                    bonds[pair] = style
    return atoms, bonds


class _Sketched:
    """A molecule with places; where it comes of another, kept atoms stand where they stood.

    Args:
        mol: The RDKit molecule.
        like: The molecule before, if there is one.
    """

    def __init__(self, mol: Any, like: _Sketched | None) -> None:
        from rdkit.Chem import rdDepictor
        from rdkit.Geometry import Point2D

        chem = rdkit_chem()
        self._mol = mol = chem.Mol(mol)
        fixed: dict[int, Any] = {}
        if like is not None:
            match = _same_atoms(like._mol, mol)
            fixed = {own: Point2D(*like.places[other]) for other, own in match.items()}
        rdDepictor.Compute2DCoords(mol, coordMap=fixed, canonOrient=like is None)
        found = mol.GetConformer()
        self.places: list[Point] = [
            (found.GetAtomPosition(i).x, found.GetAtomPosition(i).y)
            for i in range(mol.GetNumAtoms())
        ]
        for own, point in fixed.items():
            self.places[own] = (point.x, point.y)
        kekule = chem.RWMol(mol)
        chem.Kekulize(kekule, clearAromaticFlags=True)
        self.bonds = {
            tuple(sorted((b.GetBeginAtomIdx(), b.GetEndAtomIdx()))): max(
                1, int(b.GetBondTypeAsDouble())
            )
            for b in kekule.GetBonds()
        }
        self.count = mol.GetNumAtoms()

    def scene(
        self,
        canvas: Canvas,
        atoms: dict[int, str],
        bonds: dict[tuple[int, int], str],
    ) -> Scene:
        """The molecule in a panel.

        Args:
            canvas: The room there is.
            atoms: Styles of changed atoms.
            bonds: Styles of changed bonds.
        """
        xs, ys = [x for x, _ in self.places], [y for _, y in self.places]
        wide, high = max(xs) - min(xs), max(ys) - min(ys)
        room = canvas.width - 2 * _MARGIN, canvas.height - 2 * _MARGIN
        scale = min(room[0] / max(wide, 1e-6), room[1] / max(high, 1e-6), _LONGEST / 1.5)
        middle = (max(xs) + min(xs)) / 2, (max(ys) + min(ys)) / 2
        at = [
            (
                canvas.width / 2 + scale * (x - middle[0]),
                canvas.height / 2 - scale * (y - middle[1]),
            )
            for x, y in self.places
        ]
        letters = [self._letters(atom, atoms.get(atom)) for atom in range(self.count)]
        items: list[Item] = []
        for pair, order in self.bonds.items():
            style = bonds.get(pair, "bond")
            items += _strokes(at, (pair[0], pair[1]), order, style, letters)
        for atom, text in enumerate(letters):
            if text:
                style = {"removed": "note-removed", "added": "note-added"}.get(
                    atoms.get(atom, ""), "atom"
                )
                x, y = at[atom]
                items.append(words((x, y + 5), text, style, "middle", halo=True))
        return Scene(canvas.width, canvas.height, tuple(items), "molecule")

    def _letters(self, atom: int, style: str | None) -> str:
        """What is written at an atom; nothing at a plain carbon of a chain or a ring."""
        own = self._mol.GetAtomWithIdx(atom)
        charge, symbol = own.GetFormalCharge(), own.GetSymbol()
        plain = symbol == "C" and not charge and not style and own.GetDegree()
        if plain and not own.GetNumRadicalElectrons():
            return ""
        hydrogens = own.GetTotalNumHs()
        told = {0: "", 1: "H"}.get(hydrogens, f"H{_lowered(hydrogens)}")
        sign = {0: "", 1: "⁺", -1: "⁻"}.get(charge, f"{abs(charge)}{'⁺' if charge > 0 else '⁻'}")
        return f"{symbol}{told}{sign}"


def _lowered(number: int) -> str:
    return "".join(chr(0x2080 + int(digit)) for digit in str(number))


def _strokes(
    at: list[Point], pair: tuple[int, int], order: int, style: str, letters: list[str]
) -> list[Item]:
    """The lines of a bond, cut short where letters stand."""
    (x0, y0), (x1, y1) = at[pair[0]], at[pair[1]]
    length = math.dist((x0, y0), (x1, y1)) or 1.0
    dx, dy = (x1 - x0) / length, (y1 - y0) / length
    cut = [min(_LETTERS, length / 3) if letters[end] else 0.0 for end in pair]
    start = x0 + dx * cut[0], y0 + dy * cut[0]
    end = x1 - dx * cut[1], y1 - dy * cut[1]
    shifts = {1: (0.0,), 2: (-0.5, 0.5), 3: (-1.0, 0.0, 1.0)}[min(order, 3)]
    return [
        Line(
            (
                (start[0] - dy * shift * _APART, start[1] + dx * shift * _APART),
                (end[0] - dy * shift * _APART, end[1] + dx * shift * _APART),
            ),
            style,
        )
        for shift in shifts
    ]


def _same_atoms(before: Any, after: Any) -> dict[int, int]:
    """Which atom after is which before: what builds edited molecules notes it on every atom."""
    return {
        atom.GetIntProp("_place"): atom.GetIdx()
        for atom in after.GetAtoms()
        if atom.HasProp("_place") and atom.GetIntProp("_place") < before.GetNumAtoms()
    }
