"""Factual explainers: which part of a graph carries its prediction?

Each is a small frozen value with settings and one method:

    from edgeflip.factual import SubgraphX
    subgraph = SubgraphX(max_nodes=6).explain(oracle, graph, label, seed=0)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable

from torch_geometric.data import Data

from edgeflip.core import FactualSubgraph
from edgeflip.errors import unknown_name
from edgeflip.factual.from_pyg import FromPyG
from edgeflip.factual.growth import grow
from edgeflip.factual.occlusion import Occlusion, occluded, occlusions
from edgeflip.factual.subgraphx import SubgraphX
from edgeflip.oracle import Oracle
from edgeflip.support import read_settings

__all__ = [
    "FACTUAL",
    "FactualExplainer",
    "FromPyG",
    "Occlusion",
    "SubgraphX",
    "grow",
    "make_factual",
    "occluded",
    "occlusions",
]


@runtime_checkable
class FactualExplainer(Protocol):
    """Finds the part of a graph that carries its prediction."""

    def explain(self, oracle: Oracle, graph: Data, label: int, *, seed: int = 0) -> FactualSubgraph:
        """The part of a graph that speaks most for a label; the graph is not changed."""
        ...


FACTUAL: Mapping[str, type[SubgraphX] | type[Occlusion] | type[FromPyG]] = {
    "subgraphx": SubgraphX,
    "occlusion": Occlusion,
    "from-pyg": FromPyG,
}
"""Factual explainers by name."""


def make_factual(name: str, settings: Mapping[str, Any] | None = None) -> FactualExplainer:
    """A factual explainer by name.

    Args:
        name: One of `FACTUAL`, in any case and with `-` or `_`.
        settings: Fields of the explainer that differ from its defaults.

    Raises:
        UnknownNameError: With the nearest name there is.
        ConfigError: If a setting is unknown or out of range.

    Example:
        >>> make_factual("subgraphx", {"max_nodes": 8}).max_nodes
        8
    """
    kind = FACTUAL.get(name.strip().lower().replace("_", "-"))
    if kind is None:
        raise unknown_name("factual explainer", name, FACTUAL)
    made: FactualExplainer = read_settings(kind, settings or {}, where=f"'{name}'")
    return made
