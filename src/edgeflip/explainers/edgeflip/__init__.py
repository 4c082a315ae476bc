"""Our own search: the smallest, surest edits, found in rings from the likely to the far-fetched."""

from edgeflip.explainers.edgeflip.config import EdgeFlipConfig
from edgeflip.explainers.edgeflip.explainer import EdgeFlip

__all__ = ["EdgeFlip", "EdgeFlipConfig"]
