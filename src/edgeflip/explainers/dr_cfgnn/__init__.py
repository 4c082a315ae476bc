"""DR-CFGNN, the paper's method, stage by stage."""

from edgeflip.explainers.dr_cfgnn.config import DRCFGNNConfig
from edgeflip.explainers.dr_cfgnn.explainer import DRCFGNN

__all__ = ["DRCFGNN", "DRCFGNNConfig"]
