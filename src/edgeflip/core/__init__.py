"""What is edited: graphs, edits, constraints, and candidates as blocks of ids."""

from edgeflip.core.candidates import (
    PAD,
    AnswerStore,
    ProposalBlock,
    assemble,
    base_adjacency,
    candidate_keys,
    edited_cells,
    first_occurrences,
    widened,
)
from edgeflip.core.combinatorics import (
    COUNT_LIMIT,
    Level,
    RandomOrder,
    unrank,
)
from edgeflip.core.constraints import (
    FREE,
    AllowedEdits,
    Constraints,
    Rule,
)
from edgeflip.core.edits import (
    EdgeFill,
    EditSet,
    apply_edits,
    check_fill,
    edge_attributes,
    toggle_pairs,
)
from edgeflip.core.graphs import (
    Edge,
    PairSpace,
    edge_pairs,
    fingerprint,
)
from edgeflip.core.noise import (
    EdgeNoise,
    Noise,
    add_noise,
)
from edgeflip.core.padding import (
    DenseGraphs,
    gcn_normalised,
    node_features,
)

__all__ = [
    "COUNT_LIMIT",
    "FREE",
    "PAD",
    "AllowedEdits",
    "AnswerStore",
    "Constraints",
    "DenseGraphs",
    "Edge",
    "EdgeFill",
    "EdgeNoise",
    "EditSet",
    "Level",
    "Noise",
    "PairSpace",
    "ProposalBlock",
    "RandomOrder",
    "Rule",
    "add_noise",
    "apply_edits",
    "assemble",
    "base_adjacency",
    "candidate_keys",
    "check_fill",
    "edge_attributes",
    "edge_pairs",
    "edited_cells",
    "fingerprint",
    "first_occurrences",
    "gcn_normalised",
    "node_features",
    "toggle_pairs",
    "unrank",
    "widened",
]
