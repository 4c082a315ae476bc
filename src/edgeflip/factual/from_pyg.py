"""Any explanation algorithm of PyG as a factual explainer."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explainer, ExplainerAlgorithm, GNNExplainer, ModelConfig

from edgeflip.core import FactualSubgraph
from edgeflip.errors import ConfigError, EdgeflipError, NotApplicableError
from edgeflip.factual.growth import grow
from edgeflip.oracle import MeteredOracle, ModelOracle, Oracle, one_line, space_of
from edgeflip.support import STRICT, seeded

ALGORITHMS: Mapping[str, Callable[..., ExplainerAlgorithm]] = {"gnn-explainer": GNNExplainer}
"""Algorithms that can be named in a file of settings."""

# PyG draws from the random numbers of the process: one thread at a time.
_DRAWS = threading.RLock()


@dataclass(frozen=True)
class FromPyG:
    """A connected subgraph of the edges that an explanation algorithm of PyG masks highest.

    Attributes:
        algorithm: A `torch_geometric.explain.ExplainerAlgorithm` that yields edge masks, or a name
            in `ALGORITHMS`, which is made anew for every graph.
        max_nodes: Most nodes of the answer, the paper's N'.
        options: Arguments of a named algorithm, such as `{"epochs": 200}`.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> graph = example_graphs(1, seed=0)[0]
        >>> explainer = FromPyG(max_nodes=4, options={"epochs": 3})
        >>> len(explainer.explain(example_oracle(), graph, 0, seed=0).nodes)
        4
    """

    __pydantic_config__ = STRICT

    algorithm: ExplainerAlgorithm | str = "gnn-explainer"
    max_nodes: int = 6
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse an empty answer and a name without an algorithm."""
        if self.max_nodes < 1:
            raise ConfigError(f"expected max_nodes of at least 1, got {self.max_nodes!r}.")
        if isinstance(self.algorithm, str) and self.algorithm not in ALGORITHMS:
            raise ConfigError(
                f"expected an algorithm of PyG or one of {', '.join(ALGORITHMS)}, "
                f"got {self.algorithm!r}."
            )
        if self.options and not isinstance(self.algorithm, str):
            raise ConfigError(
                "expected options for a named algorithm only, got some for a ready one; "
                "give them to the algorithm itself."
            )

    def explain(self, oracle: Oracle, graph: Data, label: int, *, seed: int = 0) -> FactualSubgraph:
        """The part of a graph that speaks most for a label.

        The algorithm reads the model's gradients, not the oracle's answers; a `MeteredOracle` is
        charged one call for each time the model runs.

        Args:
            oracle: A `ModelOracle` of a PyG module, or a `MeteredOracle` of one.
            graph: The graph; it is not changed.
            label: The class to explain, usually the predicted one.
            seed: Of everything the algorithm draws; global random states are put back.

        Raises:
            NotApplicableError: If there is no model that PyG can look into.
            BudgetExhausted: If the budget of a `MeteredOracle` runs out.
        """
        space = space_of(oracle, graph).pairs
        meter = oracle if isinstance(oracle, MeteredOracle) else None
        inner = meter.oracle if meter is not None else oracle
        if not isinstance(inner, ModelOracle) or not isinstance(inner.model, nn.Module):
            raise NotApplicableError(
                "expected a ModelOracle of a torch module, which PyG can look into, got "
                f"{type(getattr(inner, 'model', inner)).__name__}; use Occlusion or SubgraphX."
            )
        if not space.edge_ids.numel():
            return grow(space, torch.empty(0), self.max_nodes)
        # PyG leaves masks, hooks and modes behind in the model it explains; let it have a copy.
        own = copy.deepcopy(inner)
        with _DRAWS, seeded(seed), own.frozen():
            mask = self._edge_mask(_OneGraph(own, graph, meter), label)
        # An edge is as important as its two directions together.
        return grow(space, mask[space.columns].mean(dim=1), self.max_nodes)

    def _edge_mask(self, model: _OneGraph, label: int) -> Tensor:
        """What the algorithm says of each column of `edge_index` [columns]."""
        algorithm = self.algorithm
        try:
            if isinstance(algorithm, str):
                algorithm = ALGORITHMS[algorithm](**self.options)
            explainer = Explainer(
                model,
                algorithm,
                explanation_type="phenomenon",
                edge_mask_type="object",
                model_config=ModelConfig(
                    mode="multiclass_classification",
                    task_level="graph",
                    return_type="raw" if model.returns == "logits" else "probs",
                ),
            )
            batch = model.batch
            target = torch.tensor([label], device=batch.edge_index.device)
            explanation = explainer(batch.x, batch.edge_index, target=target)
            mask: Tensor = explanation.edge_mask.detach().double().cpu()
        except EdgeflipError:
            raise
        except Exception as error:
            raise NotApplicableError(
                f"expected '{_name(algorithm)}' of PyG to mask the model's edges, got "
                f"{type(error).__name__}: {one_line(error)}; use Occlusion or SubgraphX."
            ) from error
        return mask


class _OneGraph(nn.Module):
    """A model on one graph, called as PyG's explainers call: features and edges in, scores out."""

    def __init__(self, oracle: ModelOracle, graph: Data, meter: MeteredOracle | None) -> None:
        super().__init__()
        self.model = oracle.model  # registered, so that masks and hooks find its layers
        self.returns = oracle.returns
        self.batch = Batch.from_data_list([graph]).to(oracle.device)
        self._call = oracle._call
        self._meter = meter

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        """Scores of the graph with other features and edges [1, C]."""
        if self._meter is not None:
            if self._meter.out_of() is not None:
                raise self._meter.exhausted()
            self._meter.calls += 1
        batch = copy.copy(self.batch)
        batch.x, batch.edge_index = x, edge_index
        scores: Tensor = self._call.on_batch(batch).reshape(1, -1)
        if scores.size(1) > 1:
            return scores
        other = torch.zeros_like(scores) if self.returns == "logits" else 1 - scores
        return torch.cat([other, scores], dim=1)


def _name(algorithm: ExplainerAlgorithm | str) -> str:
    return algorithm if isinstance(algorithm, str) else type(algorithm).__name__
