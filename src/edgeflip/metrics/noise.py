"""The noise that robustness is measured against; it stands in `edgeflip.core.noise`."""

from edgeflip.core import EdgeNoise, Noise, add_noise

__all__ = ["EdgeNoise", "Noise", "add_noise"]
