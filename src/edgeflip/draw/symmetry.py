"""Edits that only a symmetry of the graph tells apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import EditSet, PairSpace, edge_attributes

# Larger graphs are not compared: their drawings show a part only.
_MOST_NODES = 120


def alike(graph: Data, edits: Sequence[EditSet]) -> list[list[int]]:
    """Places of edit sets, those together that a symmetry of the graph turns into one another.

    A symmetry keeps edges, features of nodes and attributes of edges.

    Example:
        >>> path = Data(x=torch.ones(3, 1), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
        >>> alike(
        ...     path,
        ...     [EditSet(removed={(0, 1)}), EditSet(added={(0, 2)}), EditSet(removed={(1, 2)})],
        ... )
        [[0, 2], [1]]
    """
    if int(graph.num_nodes or 0) > _MOST_NODES:
        return [[place] for place in range(len(edits))]
    plain = _Plain(graph)
    groups: list[tuple[Counter[int], nx.Graph, list[int]]] = []
    for place, each in enumerate(edits):
        version, colours = plain.with_edits(each)
        for known, first, places in groups:
            if known == colours and nx.vf2pp_is_isomorphic(first, version, node_label="colour"):
                places.append(place)
                break
        else:
            groups.append((colours, version, [place]))
    return [places for *_, places in groups]


class _Plain:
    """A graph whose edges are nodes too, so that they can have colours."""

    def __init__(self, graph: Data) -> None:
        pairs = PairSpace.of(graph)
        columns = [value for name in ("x", "z") if isinstance(value := graph.get(name), Tensor)]
        self._nodes = [
            tuple(
                bytes(value[node].cpu().contiguous().view(-1).view(torch.uint8))
                for value in columns
            )
            for node in range(pairs.num_nodes)
        ]
        names = edge_attributes(graph)
        edge_index = graph.edge_index.tolist() if graph.edge_index is not None else [[], []]
        self._edges: dict[tuple[int, int], tuple[object, ...]] = {}
        for column, (u, v) in enumerate(zip(*edge_index, strict=True)):
            own = tuple(str(graph[name][column].tolist()) for name in names)
            key = (min(u, v), max(u, v))
            self._edges[key] = tuple(sorted([*self._edges.get(key, ()), own], key=str))

    def with_edits(self, edits: EditSet) -> tuple[nx.Graph, Counter[int]]:
        """The graph with what comes and goes in colours of their own, and how often each colour is there."""
        version = nx.Graph()
        first: dict[object, object] = {node: ("node", own) for node, own in enumerate(self._nodes)}
        for edge, own in self._edges.items():
            first[edge] = ("goes" if edge in edits.removed else "stays", own)
        for edge in edits.added:
            first[edge] = ("comes", ())
        version.add_nodes_from(first)
        for item in first:
            if isinstance(item, tuple):
                version.add_edges_from((item, end) for end in item)
        colours = {node: hash(colour) for node, colour in first.items()}
        count = 0
        # Neighbours tell apart what looks alike, until they tell no more.
        while len(set(colours.values())) != count:
            count = len(set(colours.values()))
            colours = {
                node: hash(
                    (colours[node], tuple(sorted(colours[other] for other in version[node])))
                )
                for node in version
            }
        nx.set_node_attributes(version, colours, "colour")
        return version, Counter(colours.values())
