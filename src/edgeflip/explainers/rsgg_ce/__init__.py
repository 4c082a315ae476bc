"""RSGG-CE: a residual GAN per class, and edits drawn from its edge probabilities."""

from edgeflip.explainers.rsgg_ce.config import RSGGConfig
from edgeflip.explainers.rsgg_ce.explainer import RSGG

__all__ = ["RSGG", "RSGGConfig"]
