"""SubgraphX as an algorithm of PyG's `Explainer`."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.explain import ExplainerAlgorithm, Explanation
from torch_geometric.explain.config import ExplainerConfig, MaskType, ModelMode

from edgeflip.errors import ConfigError
from edgeflip.factual import SubgraphX
from edgeflip.integrations.pyg.algorithm import NotSupportedError, check_level
from edgeflip.integrations.pyg.inputs import Inputs, labels_of, oracle_for, read


class SubgraphXAlgorithm(ExplainerAlgorithm):  # type: ignore[misc]  # PyG has no types
    """The connected subgraph with the highest Shapley value, as an algorithm of PyG's `Explainer`.

    It explains models of whole graphs, each graph of a batch by itself. `node_mask` is 1 for nodes of
    the subgraph, `edge_mask` for edges between them; ask for one mask, `"object"`, or for both.

    Args:
        search: Settings of the search; `SubgraphX.published()` has those of the paper.
        seed: Of its random samples.

    Example:
        >>> from torch_geometric.explain import Explainer
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> explainer = Explainer(
        ...     example_oracle().model,
        ...     SubgraphXAlgorithm(SubgraphX(max_nodes=4)),
        ...     explanation_type="model",
        ...     node_mask_type="object",
        ...     edge_mask_type="object",
        ...     model_config={
        ...         "mode": "multiclass_classification",
        ...         "task_level": "graph",
        ...         "return_type": "raw",
        ...     },
        ... )
        >>> graph = example_graphs(1, seed=4)[0]
        >>> 1 <= int(explainer(graph.x, graph.edge_index).node_mask.sum()) <= 4
        True
    """

    def __init__(self, search: SubgraphX | None = None, *, seed: int = 0) -> None:
        super().__init__()
        if search is not None and not isinstance(search, SubgraphX):
            raise ConfigError(
                f"expected settings such as SubgraphX(max_nodes=6), got {type(search).__name__}; import "
                "it from edgeflip.factual."
            )
        self.search = search or SubgraphX()
        self.seed = seed

    def supports(self) -> bool:
        """Whether it can work with the settings of PyG's `Explainer`; a sentence says what it cannot.

        Raises:
            NotSupportedError: If it cannot.
        """
        check_level(self.model_config)
        if self.model_config.mode == ModelMode.regression:
            raise NotSupportedError(
                "expected a model of classes for SubgraphX, got one of values; use "
                "CounterfactualAlgorithm, which needs no classes."
            )
        settings: ExplainerConfig = self.explainer_config
        if settings.node_mask_type not in (None, MaskType.object):
            raise NotSupportedError(
                f"expected node_mask_type='object' or none, got '{settings.node_mask_type.value}'; "
                "SubgraphX chooses whole nodes."
            )
        return True

    def forward(
        self,
        model: nn.Module,
        x: Tensor,
        edge_index: Tensor,
        *,
        target: Tensor,
        index: int | Tensor | None = None,
        **keywords: Any,
    ) -> Explanation:
        """The subgraph of every graph that speaks most for its target; PyG's `Explainer` calls this.

        Args:
            model: The model that is explained.
            x: Node features.
            edge_index: Undirected edges, both directions of each.
            target: The class of each graph that is explained.
            index: The graphs of a batch that are explained.
            keywords: All further arguments of the model.
        """
        inputs = Inputs.of(x, edge_index, keywords)
        prediction = inputs.ask(model)
        classes = read(prediction, inputs.count, self.model_config).size(1)
        labels = labels_of(target, inputs, classes)
        oracle = oracle_for(model, inputs, prediction, self.model_config, None)
        inside = torch.zeros(len(x), dtype=torch.bool)
        for place in inputs.chosen(index):
            found = self.search.explain(oracle, inputs.graph(place), labels[place], seed=self.seed)
            inside[inputs.nodes[place][list(found.nodes)]] = True
        settings: ExplainerConfig = self.explainer_config
        inside = inside.to(edge_index.device)
        edges = inside[edge_index[0]] & inside[edge_index[1]]
        return Explanation(
            node_mask=None if settings.node_mask_type is None else inside[:, None].float(),
            edge_mask=None if settings.edge_mask_type is None else edges.float(),
        )

    def __repr__(self) -> str:
        """The settings of its search."""
        return f"{type(self).__name__}({self.search!r})"
