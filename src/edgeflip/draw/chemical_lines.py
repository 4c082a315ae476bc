"""The SMILES of answers about molecules, for small pictures, cards and tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from edgeflip.core import EditSet
from edgeflip.datasets import edited_molecule, molecule, molecule_similarity
from edgeflip.draw.look import TEXTS, shortened, text_width
from edgeflip.draw.page_parts import graph_size
from edgeflip.draw.subject import drawer_name
from edgeflip.draw.svg import plain_text
from edgeflip.errors import EdgeflipError
from edgeflip.search import CounterfactualSet

# Letters of a SMILES that stand for it on a card or in a table.
_LETTERS = 40
_LEAD = "becomes "


@dataclass(frozen=True)
class Chemical:
    """An answer about a molecule.

    Attributes:
        before: The SMILES of the input.
        after: That of the smallest counterfactual; empty without one, or if it is impossible.
        similarity: How alike they are, such as `Tanimoto .45`; empty without a molecule after.
    """

    before: str
    after: str = ""
    similarity: str = ""

    @classmethod
    def of(cls, answer: CounterfactualSet) -> Chemical | None:
        """What an answer says of a molecule; none where its graph is drawn as something else."""
        if answer.space.kind == "molecule":
            return cls._typed(answer)
        if answer.space.kind != "pairs" or drawer_name(answer.graph) != "molecule":
            return None
        try:
            base = molecule(answer.graph)
            before = edited_molecule(base, EditSet()).smiles or ""
        except EdgeflipError:
            return None
        edited = None if answer.smallest is None else edited_molecule(base, answer.smallest.edits)
        if edited is None or edited.mol is None:
            return cls(before)
        alike = f"{molecule_similarity(base, edited.mol):.2f}".removeprefix("0")
        return cls(before, edited.smiles or "", f"Tanimoto {alike}")

    @classmethod
    def _typed(cls, answer: CounterfactualSet) -> Chemical:
        space: Any = answer.space
        before, entry = space.smiles(), answer.smallest
        if entry is None:
            return cls(before)
        alike = molecule_similarity(space.molecule(), space.molecule(entry.edits))
        told = f"Tanimoto {alike:.2f}".replace("0.", ".", 1)
        return cls(before, space.smiles(entry.edits), told)

    def line(self, style: str, room: float) -> str:
        """The molecule after and how alike it is, the SMILES cut so that both fit."""
        return _line(
            self,
            lambda text, rest: shortened(text, TEXTS[style], room - _wide(_LEAD + rest, style)),
        )

    @property
    def whole_line(self) -> str:
        """The same with all of the SMILES."""
        return _line(self, lambda text, rest: text)


def _line(chemical: Chemical, cut: Callable[[str, str], str]) -> str:
    if not chemical.after:
        return ""
    rest = f", {chemical.similarity}"
    return f"{_LEAD}{cut(chemical.after, rest)}{rest}"


def _wide(text: str, style: str) -> float:
    return text_width(text, TEXTS[style])


def smiles_html(text: str) -> str:
    """A SMILES for a page: a short one whole, a long one cut, and whole when the mouse rests on it."""
    if len(text) <= _LETTERS:
        return f'<span class="mono">{plain_text(text)}</span>'
    cut = plain_text(f"{text[: _LETTERS - 1]}…")
    return f'<span class="mono" title="{plain_text(text)}">{cut}</span>'


def title_html(title: str, answer: CounterfactualSet, chemical: Chemical | None) -> str:
    """What was explained: a title, whose size of the graph gives way to the molecule where it is known."""
    size = graph_size(answer)
    if chemical is None or not chemical.before or not title.endswith(size):
        return plain_text(title)
    return f"{plain_text(title.removesuffix(size))}{smiles_html(chemical.before)}"
