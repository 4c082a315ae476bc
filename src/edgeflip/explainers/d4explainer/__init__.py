"""D4Explainer: counterfactuals drawn by a discrete denoising diffusion model."""

from edgeflip.explainers.d4explainer.config import D4Config, DenoiserConfig, DiffusionConfig
from edgeflip.explainers.d4explainer.explainer import D4Explainer

__all__ = ["D4Config", "D4Explainer", "DenoiserConfig", "DiffusionConfig"]
