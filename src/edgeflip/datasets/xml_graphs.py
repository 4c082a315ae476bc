"""Graphs in XML: GraphML and GEXF, looked through before networkx reads them."""

from __future__ import annotations

import io
from typing import Any
from xml.parsers import expat

import networkx as nx
from torch_geometric.data import Data

from edgeflip.datasets.building import check_distinct, check_ends, graph_from_networkx
from edgeflip.errors import DatasetError
from edgeflip.support import check_limit, limit, reading


def graph_from_xml(content: bytes, kind: str, name: str) -> Data:
    """A graph from GraphML or GEXF.

    Args:
        content: of the file.
        kind: `".graphml"` or `".gexf"`.
        name: of the file, for errors.
    """
    outline = _Outline(name)
    with reading(f"{kind[1:]} in {name}", advice="export it again"):
        outline.read(content)
        outline.check()
        read = nx.read_graphml if kind == ".graphml" else nx.read_gexf
        graph = read(io.BytesIO(content))
    with reading(f"a graph in {name}", advice="export it again"):
        return graph_from_networkx(graph, where=name)


class _Outline:
    """Nodes and edges of a file, taken down while it is read and nothing else is kept."""

    def __init__(self, name: str) -> None:
        self.name = name
        # Looked up once: there can be a million parts.
        self.most = {key: limit(key) for key in ("nesting", "values", "nodes", "edges")}
        self.depth = self.parts = self.graphs = 0
        self.nodes: list[str | None] = []
        self.ends: list[tuple[str | None, str | None]] = []

    def read(self, content: bytes) -> None:
        """Read the XML once; a DTD, which can blow a file up, ends the reading."""
        parser = expat.ParserCreate(namespace_separator="}")
        parser.StartDoctypeDeclHandler = self._refuse_dtd
        parser.EntityDeclHandler = self._refuse_dtd
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.Parse(content, True)

    def check(self) -> None:
        """Refuse what networkx would merge, drop or make up."""
        if self.graphs != 1:
            raise DatasetError(
                f"expected one graph in {self.name}, got {self.graphs}; write each to a file of its own."
            )
        if None in self.nodes or any(None in pair for pair in self.ends):
            raise DatasetError(
                f"expected nodes with an id and edges with source and target in {self.name}, got one "
                "without; export it again."
            )
        check_distinct(self.nodes, self.name)
        check_ends(self.ends, set(self.nodes), self.name)

    def _refuse_dtd(self, *about: Any) -> None:
        raise DatasetError(
            f"expected plain XML in {self.name}, got one with a DTD; remove the DTD."
        )

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.parts += 1 + len(attributes)
        self._count("nesting", self.depth)
        self._count("values", self.parts)
        word = tag.rpartition("}")[2]
        if word == "graph":
            self.graphs += 1
        elif word == "node":
            self.nodes.append(attributes.get("id"))
            self._count("nodes", len(self.nodes))
        elif word == "edge":
            self.ends.append((attributes.get("source"), attributes.get("target")))
            self._count("edges", len(self.ends))

    def _end(self, tag: str) -> None:
        self.depth -= 1

    def _count(self, name: str, count: int) -> None:
        if count > self.most[name]:
            check_limit(name, count, self.name)
