"""The part of a graph that carries its prediction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

from edgeflip.core.graphs import Edge
from edgeflip.errors import ArtifactError
from edgeflip.support import read_settings


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
        return read_settings(cls, payload, where="a saved subgraph", error=ArtifactError)

    def in_short(self) -> FactualSubgraph:
        """The same without the last digits of the score, which depend on how many were asked at a time."""
        return replace(self, score=round(self.score, 4))
