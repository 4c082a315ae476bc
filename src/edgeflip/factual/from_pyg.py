"""Explanation algorithms of PyG as factual explainers."""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch, Data
from torch_geometric.explain import (
    AttentionExplainer,
    Explainer,
    ExplainerAlgorithm,
    GNNExplainer,
    GraphMaskExplainer,
    ModelConfig,
    PGExplainer,
)
from torch_geometric.nn import MessagePassing

from edgeflip.core import FactualSubgraph, edge_attributes
from edgeflip.errors import ConfigError, EdgeflipError, NotApplicableError, unknown_name
from edgeflip.factual.growth import grow
from edgeflip.oracle import MeteredOracle, ModelOracle, Oracle, one_line, space_of
from edgeflip.support import STRICT, seeded


def _graph_mask(num_layers: int, log: bool = False, **options: Any) -> ExplainerAlgorithm:
    # PyG writes weights into a table that all GraphMaskExplainers share; each gets one of its own.
    shared = GraphMaskExplainer.coeffs
    before = dict(shared)
    try:
        made = GraphMaskExplainer(num_layers, log=log, **options)
        made.coeffs = dict(shared)
    finally:
        shared.clear()
        shared.update(before)
    return made


ALGORITHMS: Mapping[str, Callable[..., ExplainerAlgorithm]] = {
    "gnn-explainer": GNNExplainer,
    "attention-explainer": AttentionExplainer,
    "graphmask-explainer": _graph_mask,
}
"""Algorithms that can be named in a file of settings: those that need no training of their own."""


def _options_of(name: str) -> list[str]:
    """What a named algorithm can be made with, by its signature and its table of weights."""
    made: Any = {
        "gnn-explainer": GNNExplainer,
        "attention-explainer": AttentionExplainer,
        "graphmask-explainer": GraphMaskExplainer,
    }[name]
    named = [
        each.name
        for each in inspect.signature(made.__init__).parameters.values()
        if each.name != "self" and each.kind is each.POSITIONAL_OR_KEYWORD
    ]
    return [*named, *getattr(made, "default_coeffs", getattr(made, "coeffs", {}))]


_KNOWN = (GNNExplainer, PGExplainer, AttentionExplainer, GraphMaskExplainer)

# PyG draws from the global random numbers, which all threads share: one at a time.
_GLOBAL_DRAWS = threading.Lock()


@dataclass(frozen=True)
class FromPyG:
    """A connected subgraph of the edges that an explanation algorithm of PyG masks highest.

    Attributes:
        algorithm: A GNNExplainer, PGExplainer, AttentionExplainer or GraphMaskExplainer of PyG, or
            `"gnn-explainer"`, `"attention-explainer"` or `"graphmask-explainer"`, which is made anew for
            every graph. A PGExplainer must be trained.
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
        """Refuse an empty answer, and what is none of the algorithms."""
        if self.max_nodes < 1:
            raise ConfigError(f"expected max_nodes of at least 1, got {self.max_nodes!r}.")
        named = isinstance(self.algorithm, str)
        if named and self.algorithm not in ALGORITHMS:
            advice = (
                "" if "pg" not in str(self.algorithm).lower() else "; pass a trained PGExplainer"
            )
            raise ConfigError(
                f"expected an algorithm of PyG or one of {', '.join(ALGORITHMS)}, got "
                f"{self.algorithm!r}{advice}."
            )
        if not named and not isinstance(self.algorithm, _KNOWN):
            raise ConfigError(
                f"expected {', '.join(each.__name__ for each in _KNOWN[:-1])} or {_KNOWN[-1].__name__} of "
                f"PyG, got {type(self.algorithm).__name__}; use one of these, SubgraphX or Occlusion."
            )
        if self.options and not isinstance(self.algorithm, str):
            raise ConfigError(
                "expected options for a named algorithm only, got some for a ready one; "
                "give them to the algorithm itself."
            )
        for option in self.options:
            # PyG takes any name and does nothing with those that it does not know.
            if option not in (known := _options_of(str(self.algorithm))):
                raise unknown_name(f"option of '{self.algorithm}'", option, known)

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
        # Those who search without gradients need them here.
        with _GLOBAL_DRAWS, seeded(seed), own.frozen(), torch.enable_grad():
            model = _OneGraph(own, _loops_last(graph), meter)
            mask = torch.zeros(graph.edge_index.size(1), dtype=torch.double)
            mask[_order(graph)] = self._edge_mask(model, label)
        # An edge is as important as its two directions together.
        return grow(space, mask[space.columns].mean(dim=1), self.max_nodes)

    def _edge_mask(self, model: _OneGraph, label: int) -> Tensor:
        """What the algorithm says of each column of `edge_index` [columns]."""
        name = str(self.algorithm)
        try:
            algorithm = self._algorithm_for(model)
            name = type(algorithm).__name__
            explanation = _explanation(model, algorithm, label)
            mask: Tensor = explanation.edge_mask.detach().double().cpu()
        except EdgeflipError:
            raise
        except Exception as error:
            raise NotApplicableError(
                f"expected '{name}' of PyG to mask the model's edges, got {type(error).__name__}: "
                f"{one_line(error).rstrip('.')}; use Occlusion or SubgraphX."
            ) from error
        return mask

    def _algorithm_for(self, model: nn.Module) -> ExplainerAlgorithm:
        if not isinstance(self.algorithm, str):
            # The Explainer connects an algorithm with its settings; the caller's stays as it is.
            return copy.deepcopy(self.algorithm)
        options = dict(self.options)
        if self.algorithm == "graphmask-explainer":
            layers = [each for each in model.modules() if isinstance(each, MessagePassing)]
            options.setdefault("num_layers", len(layers))
        return ALGORITHMS[self.algorithm](**options)


def _explanation(model: _OneGraph, algorithm: ExplainerAlgorithm, label: int) -> Any:
    """What PyG's `Explainer` makes of a model, an algorithm and a label."""
    # Attention says what the model looks at, whatever it predicts.
    attention = isinstance(algorithm, AttentionExplainer)
    masks_nodes = isinstance(algorithm, GraphMaskExplainer)
    explainer = Explainer(
        model,
        algorithm,
        explanation_type="model" if attention else "phenomenon",
        node_mask_type="common_attributes" if masks_nodes else None,
        edge_mask_type="object",
        model_config=ModelConfig(
            mode="multiclass_classification",
            task_level="graph",
            return_type="raw" if model.returns == "logits" else "probs",
        ),
    )
    batch = model.batch
    target = torch.tensor([label], device=batch.edge_index.device)
    return explainer(batch.x, batch.edge_index, target=None if attention else target)


def _order(graph: Data) -> Tensor:
    """The columns of a graph, self-loops last."""
    source, target = graph.edge_index.cpu()
    order: Tensor = (source == target).long().argsort(stable=True)
    return order


def _loops_last(graph: Data) -> Data:
    """A graph with its self-loops last: attention layers drop them and append their own."""
    order = _order(graph)
    sorted_graph = copy.copy(graph)
    for name in ("edge_index", *edge_attributes(graph)):
        dim = 1 if name == "edge_index" else 0
        sorted_graph[name] = graph[name].index_select(dim, order.to(graph[name].device))
    return sorted_graph


class _OneGraph(nn.Module):
    """A model on one graph, called as PyG's explainers call: features and edges in, scores out."""

    def __init__(self, oracle: ModelOracle, graph: Data, meter: MeteredOracle | None) -> None:
        super().__init__()
        self.model = oracle.model  # registered, so that masks and hooks find its layers
        self.returns = oracle.returns
        self.batch = oracle.place.put(Batch.from_data_list([graph]))
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
