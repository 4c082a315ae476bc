"""What edits make of a molecule: hydrogens, faults and facts, for every state that can be shown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import combinations
from typing import Any, TypeAlias

from edgeflip.core import EditSet
from edgeflip.datasets import CrowdedAtom, EditedMolecule, edited_molecule, molecule_similarity
from edgeflip.draw.molecule_sketch import Sketch
from edgeflip.draw.scene import When, made
from edgeflip.draw.subject import Fact, Fault, Move, Subject

Keys: TypeAlias = frozenset[str]

# Of a counterfactual with more edits only the whole is told about, and one with more edits at a single
# atom does not get its hydrogens counted: there are too many combinations.
_SUBSETS, _SUBSETS_AT_ATOM = 4, 6


class States:
    """The states of a molecule: the edits of a counterfactual, all or some of them made.

    Args:
        subject: The graph and its edits.
        base: The molecule of the input.
        sketch: The same, laid out.
    """

    def __init__(self, subject: Subject, base: Any, sketch: Sketch) -> None:
        self._subject, self._base, self._sketch = subject, base, sketch
        self._moves = {move.key: move for move in subject.moves}
        self._choices = [frozenset(move.key for move in choice) for choice in subject.choices]
        self._known: dict[Keys, EditedMolecule] = {}

    def after(self, keys: Keys) -> EditedMolecule:
        """The molecule with some edits made."""
        if keys not in self._known:
            moves = [self._moves[key] for key in keys]
            edits = EditSet(
                added={move.ends for move in moves if move.kind == "added"},
                removed={move.ends for move in moves if move.kind == "removed"},
            )
            self._known[keys] = edited_molecule(self._base, edits)
        return self._known[keys]

    def at(self, node: int) -> list[Keys]:
        """The combinations of edits at an atom that one counterfactual has, none of them included."""
        touching = self._subject.touching(node)
        found: dict[Keys, None] = {frozenset(): None}
        for choice in self._choices:
            here = choice & touching
            few = len(here) <= _SUBSETS_AT_ATOM
            found.update(dict.fromkeys(_subsets(here) if few else [here]))
        return list(found)

    def shown_at(self, node: int, keys: Keys) -> When:
        """When just these of the edits at an atom are made."""
        return When(all=keys, none=self._subject.touching(node) - keys)

    def countable(self, node: int) -> bool:
        """Whether every combination of edits at an atom is among those of `at`."""
        touching = self._subject.touching(node)
        return all(len(choice & touching) <= _SUBSETS_AT_ATOM for choice in self._choices)

    def hydrogens(self, node: int, keys: Keys) -> int:
        """How many hydrogens an atom carries: a bond that goes leaves some, one that comes takes one."""
        count = self._sketch.atoms[node].hydrogens
        for key in keys:
            move = self._moves[key]
            bond = self._sketch.bonds.get(move.ends)
            count += bond.order if move.kind == "removed" and bond else -1
        return max(0, count)

    def neighbours(self, node: int, keys: Keys) -> list[int]:
        """The atoms that an atom is bonded to."""
        near = set(self._sketch.neighbours[node])
        for key in keys:
            move = self._moves[key]
            other = move.ends[0] if move.ends[1] == node else move.ends[1]
            near = near | {other} if move.kind == "added" else near - {other}
        return sorted(near)

    def crowd(self, node: int, keys: Keys) -> CrowdedAtom | None:
        """An atom with too many bonds, none if it has room for all."""
        found = self.after(keys).crowded
        return next((atom for atom in found if atom.node == node), None)

    @cached_property
    def told(self) -> list[tuple[Keys, When]]:
        """The states that facts are told about, each with when it is shown."""
        found: dict[Keys, None] = {}
        for choice in self._choices:
            found.update(dict.fromkeys(_subsets(choice) if len(choice) <= _SUBSETS else [choice]))
        return [(keys, self._exactly(keys)) for keys in found]

    def _exactly(self, keys: Keys) -> When:
        # Whatever is made belongs to one counterfactual, so other edits need not be ruled out.
        others = frozenset[str]().union(*(choice for choice in self._choices if keys <= choice))
        return When(all=keys, none=others - keys)

    def facts(self) -> tuple[tuple[Fact, ...], tuple[Fact, ...]]:
        """What is written beneath the molecule before and after."""
        before = self.after(frozenset())
        first = Fact("SMILES", str(before.smiles), mono=True)
        facts = self._removed()
        for keys, when in self.told or [(frozenset[str](), When())]:
            edited = self.after(keys)
            if edited.smiles is None:
                facts.append(Fact("SMILES", f"none: {self.reason(edited)}", when=when))
                continue
            facts.append(Fact("SMILES", edited.smiles, mono=True, when=when))
            if keys:
                alike = f"{molecule_similarity(self._base, edited.mol):.2f}".removeprefix("0")
                facts.append(Fact("Similarity", f"Tanimoto {alike} (ECFP4)", when=when))
            if (edited.parts or 1) > (before.parts or 1):
                facts.append(Fact("Parts", f"falls into {edited.parts} parts", when=when))
        return (first,), tuple(facts)

    def _removed(self) -> list[Fact]:
        """Which removed bonds were more than single: a drawing shows them as one dashed line."""
        kinds = {move.key: self._kind(move) for move in self._subject.moves}
        return [
            Fact("Removed", f"{kinds[move.key]} bond {move.name}", when=made(move.key))
            for move in self._subject.moves
            if kinds[move.key]
        ]

    def _kind(self, move: Move) -> str:
        bond = self._base.GetBondBetweenAtoms(*move.ends) if move.kind == "removed" else None
        if bond is None:
            return ""
        if bond.GetIsAromatic():
            return "aromatic"
        return {2: "double", 3: "triple"}.get(int(bond.GetBondTypeAsDouble()), "")

    def faults(self) -> tuple[Fault, ...]:
        """Why some of the edited molecules cannot exist."""
        return tuple(
            Fault(
                "Not a possible molecule",
                f"{self.reason(self.after(keys))}. The model was asked about it all the same, so this "
                "says something about the model and nothing about chemistry.",
                when,
            )
            for keys, when in self.told
            if self.after(keys).mol is None
        )

    def reason(self, edited: EditedMolecule) -> str:
        """Why an edited molecule is impossible."""
        atoms = [
            f"atom {self._subject.names[atom.node]} would have {_bonds(atom)} and has {_room(atom)}"
            for atom in edited.crowded
        ]
        return "; ".join(atoms) or edited.refusal


def crowd_words(atom: CrowdedAtom) -> str:
    """What is written at an atom with too many bonds."""
    return f"{_bonds(atom)}, {_room(atom)}"


def _bonds(atom: CrowdedAtom) -> str:
    return f"{atom.bonds} bond{'s'[: atom.bonds > 1]}"


def _room(atom: CrowdedAtom) -> str:
    return f"room for {atom.room or 'none'}"


def _subsets(keys: Iterable[str]) -> Iterator[Keys]:
    ordered = sorted(keys)
    for size in range(len(ordered) + 1):
        yield from map(frozenset, combinations(ordered, size))
