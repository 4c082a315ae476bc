"""Who is asked: the model behind one interface, budgets, weighted and masked graphs."""

from edgeflip.oracle.budget import (
    Budget,
    MeteredOracle,
    checked_proba,
    space_of,
)
from edgeflip.oracle.gcn import (
    GCNClassifier,
    GCNConfig,
)
from edgeflip.oracle.masking import (
    MaskedOracle,
    Masking,
    masked_graph,
    masked_proba,
)
from edgeflip.oracle.model import (
    DifferentiableOracle,
    EditOracle,
    ModelOracle,
    Oracle,
    one_line,
)
from edgeflip.oracle.weighted import (
    SoftGraphs,
    batches,
)

__all__ = [
    "Budget",
    "DifferentiableOracle",
    "EditOracle",
    "GCNClassifier",
    "GCNConfig",
    "MaskedOracle",
    "Masking",
    "MeteredOracle",
    "ModelOracle",
    "Oracle",
    "SoftGraphs",
    "batches",
    "checked_proba",
    "masked_graph",
    "masked_proba",
    "one_line",
    "space_of",
]
