"""edgeflip in PyG's `Explainer`: counterfactuals and SubgraphX as explanation algorithms.

from edgeflip.integrations.pyg import CounterfactualAlgorithm

explainer = Explainer(model, CounterfactualAlgorithm("edgeflip"), explanation_type="model", …)
"""

from edgeflip.integrations.pyg.algorithm import CounterfactualAlgorithm
from edgeflip.integrations.pyg.explanation import EditExplanation, to_pyg
from edgeflip.integrations.pyg.subgraphx import SubgraphXAlgorithm

__all__ = ["CounterfactualAlgorithm", "EditExplanation", "SubgraphXAlgorithm", "to_pyg"]
