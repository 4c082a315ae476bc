"""How likely an edge is: the class-conditioned link predictor and its training."""

from edgeflip.links.predictor import (
    LinkPredictor,
    PredictorConfig,
)
from edgeflip.links.training import (
    Knowledge,
    LinkTrainer,
    LinkTrainingConfig,
    LinkTrainingReport,
    known_pairs,
    pad_graphs,
)

__all__ = [
    "Knowledge",
    "LinkPredictor",
    "LinkTrainer",
    "LinkTrainingConfig",
    "LinkTrainingReport",
    "PredictorConfig",
    "known_pairs",
    "pad_graphs",
]
