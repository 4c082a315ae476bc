"""How likely an edge is: the class-conditioned link predictor and its training."""

from edgeflip.links.model import (
    MOST_NODES,
    LinkModel,
    LinkSettings,
    check_links,
    fit_links,
)
from edgeflip.links.predictor import (
    PredictorConfig,
)
from edgeflip.links.supervision import (
    Knowledge,
    known_pairs,
)
from edgeflip.links.training import (
    LinkTrainingConfig,
    LinkTrainingReport,
)

__all__ = [
    "MOST_NODES",
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
