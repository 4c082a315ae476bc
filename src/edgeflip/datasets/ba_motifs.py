"""BA-2Motifs and the three sets derived from it, read from the published file or generated.

Every graph is a random tree (nodes 0..19) with a motif (nodes 20..24) linked to node 0. The derived
sets replay the published construction draw by draw, so that our test graphs are the published ones.
"""

from __future__ import annotations

import io
import random
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import torch
from torch_geometric.data import Data

from edgeflip.datasets.bundle import DatasetBundle, DatasetCard, random_split
from edgeflip.datasets.catalogue import CatalogueEntry, catalogue
from edgeflip.errors import unknown_name

Edge = tuple[int, int]

TREE_NODES = 20
MOTIF = range(TREE_NODES, 25)
CYCLE: tuple[Edge, ...] = ((20, 21), (20, 24), (21, 22), (22, 23), (23, 24))
HOUSE: tuple[Edge, ...] = ((20, 21), (20, 23), (20, 24), (21, 22), (21, 24), (22, 23))
FIVE_CLIQUE: tuple[Edge, ...] = tuple(combinations(MOTIF, 2))
# The four-clique leaves node 24 over; it hangs from node 20 so that the motif keeps five nodes.
FOUR_CLIQUE: tuple[Edge, ...] = (*combinations(range(20, 24), 2), (20, 24))
LINK: Edge = (0, 20)
SELF_LOOP: Edge = (20, 20)

# The edges one of which the three-class set takes away. The published code drew from a Python set;
# these are CPython's iteration orders of those sets, written down so that the same draws hit the
# same edges whatever the interpreter. The house keeps 20-21, its wall to the link, always.
CYCLE_REMOVABLE: tuple[Edge, ...] = ((20, 24), (21, 22), (22, 23), (23, 24), (20, 21))
HOUSE_REMOVABLE: tuple[Edge, ...] = ((20, 24), (20, 23), (21, 22), (22, 23), (21, 24))

_CLASS_SIZE = 500
_UNLINKED_PER_CLASS = 20
_DERIVATION_SEED = 42
_GENERATOR_SEED = 0
_FEATURES, _FEATURE_VALUE = 10, 0.1


@dataclass(frozen=True)
class MotifGraph:
    """A graph as its undirected edges `(u, v)`, `u <= v`, and its label."""

    edges: frozenset[Edge]
    label: int

    def with_motif(self, motif: Iterable[Edge], label: int) -> MotifGraph:
        """The same tree, link and self loop with another motif; a self loop is no motif edge."""
        outside = {(u, v) for u, v in self.edges if u < TREE_NODES or u == v}
        return MotifGraph(frozenset(outside.union(motif)), label)

    def without(self, edge: Edge, label: int | None = None) -> MotifGraph:
        """The same graph less one edge, if it has it."""
        return MotifGraph(self.edges - {edge}, self.label if label is None else label)


def load(name: str, data_dir: Path | None) -> DatasetBundle:
    """Load one of the four BA motif sets.

    Args:
        name: `ba_2motifs`, `ba_2motifs_3class`, `ba_3motifs` or `ba_4motifs`.
        data_dir: the folder with the published file; none generates graphs of the same make-up.

    Example:
        >>> bundle = load("ba_3motifs", None)
        >>> bundle.class_names, bundle.split.sizes, bundle.card.origin
        (('cycle', 'house', 'clique'), (800, 100, 100), 'generated')
    """
    if name not in _DERIVATIONS:
        raise unknown_name("BA motif dataset", name, _DERIVATIONS)
    entry = catalogue()[name]
    originals = generate_originals() if data_dir is None else _read_originals(entry, data_dir)
    motif_graphs = _DERIVATIONS[name](originals)
    return DatasetBundle(
        name=name,
        graphs=tuple(_as_data(graph) for graph in motif_graphs),
        split=random_split(len(motif_graphs)),
        class_names=entry.class_names,
        motif_nodes=_motif_nodes,
        drawing="plain",
        card=_card(entry, generated=data_dir is None),
    )


def generate_originals(seed: int = _GENERATOR_SEED) -> list[MotifGraph]:
    """1000 graphs of the make-up of BA-2Motifs: 500 cycles, then 500 houses.

    As in the published file, 20 graphs of each class carry a self loop at node 20 in place of the
    link, so that their motif is a component of its own.
    """
    rng = random.Random(seed)
    graphs = []
    for label, motif in enumerate((CYCLE, HOUSE)):
        unlinked = set(rng.sample(range(_CLASS_SIZE), _UNLINKED_PER_CLASS))
        for position in range(_CLASS_SIZE):
            attachment = SELF_LOOP if position in unlinked else LINK
            edges = frozenset([*_preferential_tree(rng), *motif, attachment])
            graphs.append(MotifGraph(edges, label))
    return graphs


def generated_graphs(seed: int = _GENERATOR_SEED) -> Iterator[Data]:
    """Graphs of the make-up of BA-2Motifs without end, cycles and houses in turn.

    Args:
        seed: Another one gives other graphs.

    Example:
        >>> graphs = generated_graphs()
        >>> [next(graphs).num_nodes for _ in range(3)]
        [25, 25, 25]
    """
    rng = random.Random(f"{seed} without end")
    while True:
        for label, motif in enumerate((CYCLE, HOUSE)):
            edges = frozenset([*_preferential_tree(rng), *motif, LINK])
            yield _as_data(MotifGraph(edges, label))


def _preferential_tree(rng: random.Random) -> list[Edge]:
    """A Barabasi-Albert tree: each new node joins an old one with chance proportional to degree."""
    edges = [(0, 1)]
    ends = [0, 1]  # every node once per edge end, so that a uniform draw is a draw by degree
    for node in range(2, TREE_NODES):
        neighbour = rng.choice(ends)
        edges.append((neighbour, node))
        ends += (neighbour, node)
    return edges


def _read_originals(entry: CatalogueEntry, data_dir: Path) -> list[MotifGraph]:
    content = entry.files[0].read(
        data_dir,
        otherwise="put it there, or leave out data_dir (and EDGEFLIP_DATA) to generate graphs of "
        "the same make-up",
    )
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        ends, starts, labels = arrays["edge_index"], arrays["edge_ptr"], arrays["y"]
    return [
        MotifGraph(
            frozenset((int(u), int(v)) for u, v in ends[:, first:last].T if u <= v), int(label)
        )
        for first, last, label in zip(starts[:-1], starts[1:], labels, strict=True)
    ]


def _two_motifs(originals: list[MotifGraph]) -> list[MotifGraph]:
    return originals


def _three_classes(originals: list[MotifGraph]) -> list[MotifGraph]:
    """One motif edge less, and label 2, in a third of either class."""
    rng = random.Random(_DERIVATION_SEED)
    origins = _by_origin(originals)
    # Both samples come before any edge is drawn: the order of the draws is part of the data.
    samples = [rng.sample(range(len(origin)), len(origin) // 3) for origin in origins]
    for origin, sample, removable in zip(
        origins, samples, (CYCLE_REMOVABLE, HOUSE_REMOVABLE), strict=True
    ):
        for position in sample:
            (edge,) = rng.sample(removable, 1)
            origin[position] = origin[position].without(edge, label=2)
    return [*origins[0], *origins[1]]


def _three_motifs(originals: list[MotifGraph]) -> list[MotifGraph]:
    """Five-cliques, and label 2, in a third of either class."""
    rng = random.Random(_DERIVATION_SEED)
    origins = _by_origin(originals)
    for origin in origins:
        for position in rng.sample(range(len(origin)), len(origin) // 3):
            origin[position] = origin[position].with_motif(FIVE_CLIQUE, label=2)
    return [*origins[0], *origins[1]]


def _four_motifs(originals: list[MotifGraph]) -> list[MotifGraph]:
    """Half the cycles become five-cliques (label 3), half the houses four-cliques (label 2)."""
    rng = random.Random(_DERIVATION_SEED)
    origins = _by_origin([graph.without(SELF_LOOP) for graph in originals])
    for origin, motif, label in zip(origins, (FIVE_CLIQUE, FOUR_CLIQUE), (3, 2), strict=True):
        kept = set(rng.sample(range(len(origin)), len(origin) // 2))
        for position in range(len(origin)):
            if position not in kept:
                origin[position] = origin[position].with_motif(motif, label)
    return [*origins[0], *origins[1]]


def _by_origin(originals: list[MotifGraph]) -> tuple[list[MotifGraph], list[MotifGraph]]:
    return (
        [graph for graph in originals if graph.label == 0],
        [graph for graph in originals if graph.label == 1],
    )


def _as_data(graph: MotifGraph) -> Data:
    directed = sorted({*graph.edges, *((v, u) for u, v in graph.edges)})
    return Data(
        x=torch.full((MOTIF.stop, _FEATURES), _FEATURE_VALUE),
        edge_index=torch.tensor(directed, dtype=torch.long).t().contiguous(),
        y=torch.tensor([graph.label]),
    )


def _motif_nodes(graph: Data) -> frozenset[int]:
    """The last five nodes, in every graph of these sets."""
    return frozenset(MOTIF)


def _card(entry: CatalogueEntry, *, generated: bool) -> DatasetCard:
    return DatasetCard(
        title=entry.title,
        licence="that of edgeflip, which made the graphs" if generated else entry.licence,
        citation=entry.citation,
        source=f"generated by edgeflip with seed {_GENERATOR_SEED}" if generated else entry.source,
        checksum=None if generated else entry.files[0].sha256,
        origin="generated" if generated else "file",
        notes="Same make-up as the published graphs, but not the same trees." if generated else "",
    )


_DERIVATIONS = {
    "ba_2motifs": _two_motifs,
    "ba_2motifs_3class": _three_classes,
    "ba_3motifs": _three_motifs,
    "ba_4motifs": _four_motifs,
}
