"""DR-CFGNN, the paper's method and nothing else."""

from edgeflip.explainers.dr_cfgnn.config import DRCFGNNConfig, PublishedCode
from edgeflip.explainers.dr_cfgnn.explainer import DRCFGNN

__all__ = ["DRCFGNN", "DRCFGNNConfig", "PublishedCode"]
