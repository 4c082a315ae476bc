"""GIST: overshoot into another class, then come back by style transfer."""

from edgeflip.explainers.gist.explainer import GIST
from edgeflip.explainers.gist.training import GISTConfig

__all__ = ["GIST", "GISTConfig"]
