"""What the nodes of a graph are called, and edits in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Literal, TypeAlias

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core.edits import EditSet
from edgeflip.core.graphs import Edge
from edgeflip.support import shown_name

_ELEMENTS = """
H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr
Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm
Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No
Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og
"""

SYMBOLS = tuple(_ELEMENTS.split())
"""Symbols of the elements, by atomic number less one."""

# Of more edits than this a sentence only says how many there are.
_NAMED = 12


def node_names(graph: Data) -> tuple[str, ...]:
    """A name for every node: its own, its word, its atom, or its number.

    Names come from `node_names`, words from `tokens`, atoms from atomic numbers `z`. An atom is named by
    its symbol and its number, so that nobody reads chlorine gas in `Cl2`; a name that stands for several
    nodes gets their numbers too.

    Example:
        >>> import torch
        >>> node_names(Data(num_nodes=2, z=torch.tensor([6, 8])))
        ('C (0)', 'O (1)')
        >>> node_names(Data(num_nodes=3, tokens=["so", "so", "good"]))
        ('so (0)', 'so (1)', 'good')
    """
    count = int(graph.num_nodes or 0)
    store = graph.to_dict()
    atoms = _symbols(store.get("z"), count)
    if atoms is not None:
        return tuple(f"{symbol} ({node})" for node, symbol in enumerate(atoms))
    for key in ("node_names", "tokens"):
        names = _names(store.get(key), count)
        if names:
            return _distinct(names)
    return tuple(map(str, range(count)))


Phrase: TypeAlias = tuple[str, Literal["", "added", "removed"]]
"""A piece of a sentence, and what it is the name of: an edge that comes, one that goes, or nothing."""


def edits_in_words(graph: Data, edits: EditSet) -> str:
    """What edits do, as the subject of a sentence.

    Example:
        >>> import torch
        >>> graph = Data(num_nodes=4, edge_index=torch.tensor([[0, 1], [1, 0]]))
        >>> edits_in_words(graph, EditSet(added={(1, 2), (2, 3)}, removed={(0, 1)}))
        'adding the edges 1–2 and 2–3 and removing the edge 0–1'
    """
    return "".join(text for text, _ in edit_phrases(graph, edits))


def edit_phrases(graph: Data, edits: EditSet) -> list[Phrase]:
    """The same in pieces, so that the names of edges can be told apart from the words between them."""
    noun = edge_noun(graph)
    parts: tuple[tuple[str, Literal["added", "removed"], list[Edge]], ...] = (
        ("adding", "added", sorted(edits.added)),
        ("removing", "removed", sorted(edits.removed)),
    )
    if len(edits) > _NAMED:
        verbs = [f"{verb} {len(edges)}" for verb, _, edges in parts if edges]
        return [(f"{' and '.join(verbs)} {noun}s", "")]
    names = node_names(graph)
    told: list[Phrase] = []
    for verb, kind, edges in parts:
        if edges:
            told.append((f"{' and ' if told else ''}{verb} the {noun}{'s'[: len(edges) > 1]} ", ""))
            told += _listed([f"{names[u]}–{names[v]}" for u, v in edges], kind)
    return told or [("no edit", "")]


def edge_noun(graph: Data) -> str:
    """What an edge of a graph is called: `bond` between atoms, `link` between words, else `edge`."""
    store, count = graph.to_dict(), int(graph.num_nodes or 0)
    if _symbols(store.get("z"), count) is not None:
        return "bond"
    return "link" if _names(store.get("tokens"), count) else "edge"


def node_noun(graph: Data) -> str:
    """What a node of a graph is called: `atom`, `word`, else `node`."""
    return {"bond": "atom", "link": "word"}.get(edge_noun(graph), "node")


def _listed(names: Sequence[str], kind: Literal["added", "removed"]) -> list[Phrase]:
    told: list[Phrase] = []
    for place, name in enumerate(names):
        if place:
            told.append((" and " if place == len(names) - 1 else ", ", ""))
        told.append((name, kind))
    return told


def _names(names: object, count: int) -> list[str]:
    """Names of all nodes, none if these are no such names."""
    fits = isinstance(names, list | tuple) and len(names) == count
    return (
        [shown_name(str(name)) for name in names]
        if fits and isinstance(names, list | tuple)
        else []
    )


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    times = Counter(names)
    return tuple(f"{name} ({node})" if times[name] > 1 else name for node, name in enumerate(names))


def _symbols(numbers: object, count: int) -> list[str] | None:
    """Symbols of atomic numbers, None if they are none."""
    if not isinstance(numbers, Tensor) or numbers.shape != (count,) or not count:
        return None
    known: Iterable[int] = numbers.tolist()
    listed = list(known)
    if any(number != int(number) or not 1 <= number <= len(SYMBOLS) for number in listed):
        return None
    return [SYMBOLS[int(number) - 1] for number in listed]
