"""Occlusion: remove each edge once and see how far the prediction falls."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import PAD, FactualSubgraph, PairEdits, PairSpace
from edgeflip.errors import ConfigError
from edgeflip.factual.asking import check_label
from edgeflip.factual.coalitions import as_bits, as_masks
from edgeflip.factual.growth import grow
from edgeflip.oracle import Goal, MeteredOracle, Oracle, masked_proba, space_of
from edgeflip.support import STRICT


@dataclass(frozen=True)
class Occlusion:
    """A connected subgraph around the edges whose removal hurts the prediction most.

    One oracle call per edge, and one for the graph itself.

    Attributes:
        max_nodes: Most nodes of the answer, the paper's N'.
        nodes_too: Also take away all edges of each node once, and answer with the better of the two
            subgraphs, that which keeps the label better on its own: a call per node and two more.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> graph = example_graphs(1, seed=0)[0]
        >>> len(Occlusion(max_nodes=4).explain(example_oracle(), graph, 0, seed=0).nodes)
        4
    """

    __pydantic_config__ = STRICT

    max_nodes: int = 6
    nodes_too: bool = False

    def __post_init__(self) -> None:
        """Refuse an empty answer."""
        if not isinstance(self.max_nodes, int) or self.max_nodes < 1:
            raise ConfigError(f"expected max_nodes of at least 1, got {self.max_nodes!r}.")

    def explain(self, oracle: Oracle, graph: Data, label: int, *, seed: int = 0) -> FactualSubgraph:
        """The part of a graph that speaks most for a label.

        Args:
            oracle: Any oracle; with a `MeteredOracle` every graph is counted.
            graph: The graph; it is not changed.
            label: The class to explain, usually the predicted one.
            seed: Not used: nothing is random.

        Raises:
            BudgetExhausted: If the budget of a `MeteredOracle` runs out.
        """
        check_label(oracle, label)
        space = space_of(oracle, graph)
        pairs = space.pairs
        by_edges = grow(pairs, edge_importance(oracle, space, label), self.max_nodes)
        if not self.nodes_too or not pairs.edge_ids.numel():
            return by_edges
        by_nodes = grow(pairs, node_importance(oracle, pairs, label), self.max_nodes)
        masks = as_masks([as_bits(by_edges.nodes), as_bits(by_nodes.nodes)], pairs.num_nodes)
        alone = log_odds(masked_proba(oracle, pairs, masks), label)
        return by_edges if bool(alone[0] >= alone[1]) else by_nodes


def occluded(
    oracle: MeteredOracle, space: PairEdits, goal: Goal, max_nodes: int
) -> FactualSubgraph:
    """A connected subgraph around the edges whose removal leads nearest to a goal of any kind.

    Args:
        oracle: The metered oracle; one call per edge, and one for the graph itself.
        space: The graph.
        goal: What is wanted; its margins say how near an output is.
        max_nodes: Most nodes of the answer.
    """
    margins = goal.margins(oracle.predict_edits(space, occlusions(space))).amax(dim=1)
    return grow(space.pairs, margins[1:] - margins[0], max_nodes)


def edge_importance(oracle: Oracle, space: PairEdits, label: int) -> Tensor:
    """How far the label's log-odds fall when an edge goes, in the order of `edge_ids` [m]."""
    meter = oracle if isinstance(oracle, MeteredOracle) else MeteredOracle(oracle)
    if not space.pairs.edge_ids.numel():
        return torch.empty(0, dtype=torch.double)
    odds = log_odds(meter.predict_edits(space, occlusions(space)), label)
    return odds[0] - odds[1:]


def occlusions(space: PairEdits) -> Tensor:
    """What is asked about: the graph as it is, then without each of its edges [m + 1, 1]."""
    return torch.cat([torch.tensor([PAD]), space.pairs.edge_ids])[:, None]


def node_importance(oracle: Oracle, space: PairSpace, label: int) -> Tensor:
    """How far the label's log-odds fall when an end's edges go, both ends added up per edge [m]."""
    others = ~torch.eye(space.num_nodes, dtype=torch.bool)
    kept = log_odds(masked_proba(oracle, space, others), label)
    u, v = space.ends(space.edge_ids)
    return -(kept[u] + kept[v])


def log_odds(proba: Tensor, label: int) -> Tensor:
    """Log-odds of a class [graphs]: where probabilities are close to 1, they still tell apart."""
    values = proba.numpy().astype(np.float64)
    own = values[:, label]
    # Added up, since what is left of a number near 1 has few digits.
    others = np.delete(values, label, axis=1).sum(axis=1)
    smallest = np.finfo(np.float32).tiny
    return torch.from_numpy(
        np.log(np.maximum(own, smallest)) - np.log(np.maximum(others, smallest))
    )
