"""How likely an edge is: the class-conditioned link predictor and its training."""

from edgeflip.links.model import (
    LinkModel,
    LinkSettings,
    check_links,
    fit_links,
)
from edgeflip.links.predictor import (
    PredictorConfig,
)
from edgeflip.links.training import (
    Knowledge,
    LinkTrainingConfig,
    LinkTrainingReport,
    known_pairs,
)

__all__ = [
    "Knowledge",
    "LinkModel",
    "LinkSettings",
    "LinkTrainingConfig",
    "LinkTrainingReport",
    "PredictorConfig",
    "check_links",
    "fit_links",
    "known_pairs",
]
