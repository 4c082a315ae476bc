"""edgeflip inside other libraries: algorithms and explanations for PyG's `Explainer`."""

from edgeflip.integrations.pyg import (
    CounterfactualAlgorithm,
    EditExplanation,
    SubgraphXAlgorithm,
    to_pyg,
)

__all__ = ["CounterfactualAlgorithm", "EditExplanation", "SubgraphXAlgorithm", "to_pyg"]
