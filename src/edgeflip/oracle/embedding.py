"""What a model makes of a graph before it decides: the input of its last linear layer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from edgeflip.oracle.model import ModelOracle


def embeddings_of(oracle: Any, graphs: Sequence[Data]) -> Tensor | None:
    """Embeddings of graphs, None where a model has no linear layer that sees a row for every graph.

    Args:
        oracle: Any oracle.
        graphs: The graphs.

    Returns:
        A row for each graph [graphs, width].
    """
    model = getattr(oracle, "model", None)
    if type(oracle) is not ModelOracle or not isinstance(model, nn.Module) or not len(graphs):
        return None
    linear = [module for module in model.modules() if isinstance(module, nn.Linear)]
    if not linear:
        return None
    seen: list[Tensor] = []
    hook = linear[-1].register_forward_pre_hook(lambda _, given: seen.append(given[0].detach()))
    try:
        # One by one: a batch may be padded or cut.
        rows = []
        for graph in graphs:
            seen.clear()
            oracle.predict_proba([graph]) if oracle.task == "classification" else (
                oracle.predict_values([graph])
            )
            if len(seen) != 1 or seen[0].dim() != 2:
                return None
            rows.append(seen[0][0])
    finally:
        hook.remove()
    return torch.stack(rows).cpu()
