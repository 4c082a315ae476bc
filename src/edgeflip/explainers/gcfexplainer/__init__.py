"""GCFExplainer: counterfactual graphs for a whole class, by a vertex-reinforced random walk."""

from edgeflip.explainers.gcfexplainer.config import GCFConfig
from edgeflip.explainers.gcfexplainer.explainer import GCFExplainer, asker
from edgeflip.explainers.gcfexplainer.summary import Summary, summarize
from edgeflip.explainers.gcfexplainer.vertices import Aim

__all__ = ["Aim", "GCFConfig", "GCFExplainer", "Summary", "asker", "summarize"]
