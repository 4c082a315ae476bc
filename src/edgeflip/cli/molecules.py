"""Molecules on the command line: SMILES that become graphs, and answers that become SMILES."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from torch_geometric.data import Data

from edgeflip.datasets import (
    SINGLE_BOND,
    DatasetBundle,
    MoleculeEdits,
    accessibility,
    edited_molecule,
    molecule,
    molecule_graph,
    molecule_similarity,
    smiles_reader,
    to_smiles,
)
from edgeflip.errors import ConfigError, EdgeflipError, GraphError
from edgeflip.oracle import checked_answers
from edgeflip.search import CounterfactualSet
from edgeflip.training import OracleData, oracle_data

Reader: TypeAlias = Callable[[str], Data]
"""What makes a graph of a SMILES, as the model that is asked knows them."""

# Columns of the nodes that `molecule_graph` makes.
_FEATURES = 9


def check_molecules(texts: Sequence[str]) -> None:
    """Refuse a SMILES that is no molecule, before anything is loaded for it."""
    for text in texts:
        _named(molecule_graph, text)


def reader_of_bundle(bundle: DatasetBundle) -> Reader:
    """How a dataset makes a graph of a SMILES.

    Raises:
        ConfigError: If it is none of molecules.
    """
    if bundle.from_smiles is None:
        raise ConfigError(
            f"expected a dataset of molecules for --smiles, got {bundle.name}; name bbbp, mutag0 or a CSV of "
            "SMILES, or choose a graph of it with --index."
        )
    return bundle.from_smiles


def reader_of_oracle(folder: Path) -> Reader:
    """The same for an oracle in a folder, which knows what it was trained on.

    Raises:
        ConfigError: If these were no molecules.
    """
    data: OracleData = oracle_data(folder)
    reader = smiles_reader(data.dataset)
    other = data.drawing not in (None, "molecule")
    if reader is molecule_graph and (other or data.num_features != _FEATURES):
        raise ConfigError(
            f"expected an oracle of molecules for --smiles, got one of '{data.dataset}' with "
            f"{data.num_features} features in {folder}; train one with 'edgeflip train bbbp' or "
            "'edgeflip train --data molecules.csv'."
        )
    return reader


@dataclass(frozen=True)
class ReadMolecules:
    """Molecules for a model of the user's own.

    Attributes:
        graphs: One for each SMILES.
        bonds: Whether their bonds have attributes, which the model then wants.
    """

    graphs: list[Data]
    bonds: bool = False

    @property
    def fill(self) -> Any:
        """The attributes of an added bond."""
        return SINGLE_BOND if self.bonds else None


def molecules_for_model(texts: Sequence[str], oracle: Any) -> ReadMolecules:
    """The graphs of SMILES, with attributes of bonds if the model cannot do without."""
    plain = read_molecules(molecule_graph, texts)
    try:
        checked_answers(oracle, plain[:1])
    except EdgeflipError as error:
        with_bonds = [molecule_graph(text, bonds=True) for text in texts]
        try:
            checked_answers(oracle, with_bonds[:1])
        except EdgeflipError:
            raise type(error)(f"--model and --smiles: {error}") from error
        return ReadMolecules(with_bonds, bonds=True)
    return ReadMolecules(plain)


def read_molecules(reader: Reader, texts: Sequence[str]) -> list[Data]:
    """The graph of every SMILES."""
    return [_named(reader, text) for text in texts]


def _named(reader: Reader, text: str) -> Data:
    try:
        return reader(text)
    except GraphError as error:
        raise GraphError(f"--smiles: {error}") from error


@dataclass(frozen=True)
class MoleculeFacts:
    """An answer about a molecule, in the words of chemists; what is impossible is None.

    Attributes:
        before: The SMILES of the input.
        smallest: That of the smallest counterfactual.
        each: Those of all counterfactuals, best first.
        similarity: Tanimoto of input and smallest counterfactual (ECFP4).
        found: Whether there is a counterfactual.
        accessibility: How hard input and smallest counterfactual are to make, from 1 to 10; for typed edits.
    """

    before: str | None
    smallest: str | None
    each: tuple[str | None, ...]
    similarity: float | None
    found: bool
    accessibility: tuple[float, float] | None = None

    @classmethod
    def of(cls, answer: CounterfactualSet) -> MoleculeFacts | None:
        """The facts of an answer; none where its graph is no molecule."""
        if not ("smiles" in answer.graph or "z" in answer.graph):
            return None
        each = tuple(_smiles(answer, entry) for entry in answer.counterfactuals)
        smallest = None if answer.smallest is None else _smiles(answer, answer.smallest)
        alike = None if smallest is None else _similarity(answer)
        hard = _accessibility(answer)
        return cls(_smiles(answer, None), smallest, each, alike, answer.found, hard)

    def lines(self) -> list[str]:
        """What people read; each SMILES starts at the same place, and ends its line."""
        none = "no possible molecule"
        told = [f"SMILES    {self.before or none}"]
        if self.found:
            told.append(f"becomes   {self.smallest or none}")
        if self.similarity is not None:
            alike = f"{self.similarity:.2f}".removeprefix("0")
            told.append(f"Tanimoto  {alike} (ECFP4)")
        if self.accessibility is not None:
            before, after = self.accessibility
            told.append(f"SA score  {before:.1f} → {after:.1f} (1 easy to make, 10 hard)")
        return told

    def to_dict(self) -> dict[str, Any]:
        """What programs read."""
        plain: dict[str, Any] = {"smiles": [self.before, *self.each]}
        if self.found:
            plain |= {"smallest_smiles": self.smallest, "smallest_tanimoto": self.similarity}
        if self.accessibility is not None:
            plain["accessibility"] = list(self.accessibility)
        return plain


def _smiles(answer: CounterfactualSet, entry: Any) -> str | None:
    try:
        return to_smiles(answer.graph) if entry is None else to_smiles(answer, entry)
    except EdgeflipError:
        return None


def _similarity(answer: CounterfactualSet) -> float | None:
    assert answer.smallest is not None
    if isinstance(answer.space, MoleculeEdits):
        own = answer.space
        return molecule_similarity(own.molecule(), own.molecule(answer.smallest.edits))
    base = molecule(answer.graph)
    edited = edited_molecule(base, answer.smallest.edits).mol
    return None if edited is None else molecule_similarity(base, edited)


def _accessibility(answer: CounterfactualSet) -> tuple[float, float] | None:
    space = answer.space
    if not isinstance(space, MoleculeEdits) or answer.smallest is None:
        return None
    after = space.molecule(answer.smallest.edits)
    return accessibility(space.molecule()), accessibility(after)
