"""Moves a chemist would make: which sorts there are, what they cost, and what people see of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any, Literal, TypeAlias

from torch_geometric.data import Data

from edgeflip.core import SYMBOLS, Constraints
from edgeflip.errors import ConfigError, EditError, shown
from edgeflip.support import STRICT, check_fields, plain_number, read_settings

Kind: TypeAlias = Literal["bond", "replace", "attach", "drop", "open", "close", "charge"]

KINDS: tuple[Kind, ...] = ("bond", "replace", "attach", "drop", "open", "close", "charge")
"""The sorts of moves, in the order in which they are told."""

Featuriser: TypeAlias = Callable[[Any], Any]
"""Makes the graph of an RDKit molecule, a node for each atom in their order."""

BOND_WORDS = {1: "single", 2: "double", 3: "triple"}
"""What bonds are called, by their order."""


@dataclass(frozen=True)
class MoleculeMoves:
    """Which typed edits a molecule allows, what each sort costs, and what must stay.

    A cost is a whole number of at least 1; None switches a sort of moves off.

    Attributes:
        bond: Cost of setting a bond to another order.
        replace: Cost of replacing an atom by another element.
        attach: Cost of adding a terminal atom in place of hydrogens: with a single bond, or a doubly bonded
            oxygen.
        drop: Cost of dropping a terminal atom.
        rings: Cost of opening or closing a ring, of five to seven atoms. Off by default: closing rings makes
            cages that nobody can build.
        charge: Cost of setting an atom's formal charge; it is kept by default.
        elements: The elements that atoms may become; those that chemists add most.
        keep_scaffold: Whether rings and what joins them stay as they are (the Murcko scaffold).
        max_weight: The largest molecular weight.
        min_similarity: The least Tanimoto similarity to the input (Morgan, radius 2).
        max_accessibility: The largest synthetic accessibility, from 1, easy, to 10.
        features: How the model's graph is made of an edited molecule: `"ogb-like"` are PyG's nine atom
            features, `"atom-types"` one column per element with hydrogens as nodes, as in Mutag0; a function
            makes it of an RDKit molecule. None for what gives the input as it is.

    Example:
        >>> moves = MoleculeMoves(drop=None, replace=2, elements=("C", "N"))
        >>> moves.price("replace"), moves.price("drop")
        (2, None)
    """

    __pydantic_config__ = STRICT

    bond: int | None = 1
    replace: int | None = 1
    attach: int | None = 1
    drop: int | None = 1
    rings: int | None = None
    charge: int | None = None
    elements: tuple[str, ...] = ("C", "N", "O", "F", "S", "Cl", "Br", "I")
    keep_scaffold: bool = False
    max_weight: float | None = None
    min_similarity: float | None = None
    max_accessibility: float | None = None
    features: Any = None

    def __post_init__(self) -> None:
        """Refuse costs and limits that mean nothing."""
        object.__setattr__(self, "elements", _elements(self.elements))
        check_fields(self, error=ConfigError, advice="write MoleculeMoves(replace=2, rings=None)")
        for name in ("bond", "replace", "attach", "drop", "rings", "charge"):
            cost = plain_number(getattr(self, name))
            object.__setattr__(self, name, cost)
            whole = isinstance(cost, int) and not isinstance(cost, bool)
            if cost is not None and not (whole and 1 <= cost <= 1000):
                raise ConfigError(
                    f"expected the cost of '{name}' as a whole number of 1 to 1000, or None to switch such "
                    f"moves off, got {shown(cost)}; correct it."
                )
        for name, least, most in (
            ("max_weight", 0.0, 1e6),
            ("min_similarity", 0.0, 1.0),
            ("max_accessibility", 1.0, 10.0),
        ):
            limit = plain_number(getattr(self, name))
            if limit is not None and not least <= limit <= most:
                raise ConfigError(
                    f"expected {name} from {least:g} to {most:g}, or None, got {shown(limit)}; correct it."
                )
        if not (self.features is None or callable(self.features)) and self.features not in (
            "ogb-like",
            "atom-types",
        ):
            raise ConfigError(
                "expected features as 'ogb-like', 'atom-types' or a function of an RDKit molecule, got "
                f"{shown(self.features)}; leave it out for what gives the input as it is."
            )

    def price(self, kind: Kind) -> int | None:
        """What a move of a sort costs, None where it is switched off."""
        cost: int | None = self.rings if kind in ("open", "close") else getattr(self, kind)
        return cost

    @property
    def has_slow_limits(self) -> bool:
        """Whether there are limits that RDKit must be asked about."""
        return self.min_similarity is not None or self.max_accessibility is not None

    def space_of(self, graph: Data, constraints: Constraints, fill: Any = None) -> Any:
        """The typed edits of a molecule, as `MoleculeEdits.of` makes them."""
        from edgeflip.datasets.molecule_edits import MoleculeEdits

        return MoleculeEdits.of(graph, self, constraints)

    def describe(self) -> str:
        """What they forbid, in words that go on after "with"; empty for the defaults."""
        default, told = MoleculeMoves(), []
        off = [
            name for name in ("bond", "replace", "attach", "drop") if getattr(self, name) is None
        ]
        if off:
            told.append("no moves of the sort" + "s"[: len(off) > 1] + f" {', '.join(off)}")
        if self.elements != default.elements:
            told.append(f"elements {', '.join(self.elements)}")
        if self.keep_scaffold:
            told.append("the scaffold kept")
        for name, words in (
            ("max_weight", "a weight of at most"),
            ("min_similarity", "a similarity of at least"),
            ("max_accessibility", "an accessibility of at most"),
        ):
            limit = getattr(self, name)
            if limit is not None:
                told.append(f"{words} {limit:g}")
        return " and ".join(told)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; a function of one's own by name only."""
        plain = {item.name: getattr(self, item.name) for item in fields(self)}
        plain["elements"] = list(self.elements)
        if callable(self.features):
            plain["features"] = getattr(self.features, "__name__", type(self.features).__name__)
        return plain


def _elements(given: Any) -> tuple[str, ...]:
    names = tuple(given) if isinstance(given, list | tuple | set | frozenset) else ()
    known = [name for name in names if isinstance(name, str) and name in SYMBOLS]
    if not names or len(known) < len(names) or len(set(names)) < len(names):
        raise ConfigError(
            f"expected elements by their symbols, each once, got {shown(given)}; write ('C', 'N', 'O')."
        )
    return names


ANY_MOVES = MoleculeMoves()
"""The usual ones: bonds, elements, and terminal atoms."""


@dataclass(frozen=True, order=True)
class MoleculeMove:
    """One typed edit.

    Attributes:
        kind: Its sort.
        atoms: The atom, or the two ends of the bond.
        to: What comes: an order as a digit, an element, an element after `=` where its bond is double,
            or a charge with its sign; empty for what goes.
        was: What was there before.
    """

    __pydantic_config__ = STRICT

    kind: Kind
    atoms: tuple[int, ...]
    to: str
    was: str

    def __str__(self) -> str:
        """In short: `Cl(3)→F`."""
        name = "-".join(map(str, self.atoms))
        return {
            "attach": f"+{self.to.removeprefix('=')}({name})",
            "drop": f"-{self.was}({name})",
        }.get(self.kind, f"{self.was}({name})→{self.to or 'none'}")


@dataclass(frozen=True)
class MoleculeEditSet:
    """Typed edits of one molecule.

    Attributes:
        moves: The edits, in order.
        cost: What they cost together.
    """

    moves: tuple[MoleculeMove, ...]
    cost: int

    def __len__(self) -> int:
        """Number of edits."""
        return len(self.moves)

    def __str__(self) -> str:
        """In short."""
        return " ".join(map(str, self.moves)) or "no edit"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        moves = [[each.kind, list(each.atoms), each.to, each.was] for each in self.moves]
        return {"moves": moves, "cost": self.cost}

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> MoleculeEditSet:
        """The inverse of `to_dict`."""
        saved = read_settings(_Saved, payload, where="saved edits of a molecule", error=EditError)
        return cls(tuple(MoleculeMove(*each) for each in saved.moves), saved.cost)


@dataclass(frozen=True)
class _Saved:
    """What `MoleculeEditSet.to_dict` gives."""

    __pydantic_config__ = STRICT

    moves: tuple[tuple[Kind, tuple[int, ...], str, str], ...]
    cost: int
