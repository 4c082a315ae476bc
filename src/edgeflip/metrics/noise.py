"""The noise that robustness is measured against; it stands in `edgeflip.noise`."""

from edgeflip.noise import EdgeNoise, Noise, add_noise

__all__ = ["EdgeNoise", "Noise", "add_noise"]
