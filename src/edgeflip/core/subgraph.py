"""The part of a graph that carries its prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from edgeflip.core.graphs import Edge


@dataclass(frozen=True)
class FactualSubgraph:
    """The part of a graph that carries its prediction.

    Attributes:
        nodes: Its nodes.
        edges: Its edges.
        score: What the factual explainer gave it.
    """

    nodes: tuple[int, ...]
    edges: tuple[Edge, ...]
    score: float

    @classmethod
    def from_dict(cls, payload: Mapping[str, Any]) -> Self:
        """The inverse of `dataclasses.asdict`, after a trip through JSON."""
        edges = tuple((int(u), int(v)) for u, v in payload["edges"])
        return cls(tuple(payload["nodes"]), edges, payload["score"])
