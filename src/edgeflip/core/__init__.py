"""What is edited: graphs, edits, constraints, and candidates as blocks of ids."""

from edgeflip.core.batching import (
    assemble,
    base_adjacency,
    edited_cells,
)
from edgeflip.core.buckets import (
    Buckets,
    size_buckets,
)
from edgeflip.core.candidates import (
    NO_ROWS,
    PAD,
    AnswerStore,
    cancelled,
    candidate_keys,
    first_occurrences,
    padded,
    rows_from_mask,
    widened,
)
from edgeflip.core.combinatorics import (
    COUNT_LIMIT,
    PairLevel,
    RandomOrder,
    unrank,
)
from edgeflip.core.constraint_words import (
    in_words as constraints_in_words,
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
    check_fill,
    edge_attributes,
)
from edgeflip.core.feature_edits import (
    FeatureEdits,
)
from edgeflip.core.feature_moves import (
    FeatureEditSet,
    FeatureMoves,
    Grid,
)
from edgeflip.core.graph_json import (
    graph_from_dict,
    graph_to_dict,
)
from edgeflip.core.graphs import (
    Edge,
    PairSpace,
    all_finite,
    check_edges,
    check_names,
    edge_pairs,
    fingerprint,
    id_pairs,
    no_graph,
    non_edges,
    pair_ids,
)
from edgeflip.core.missing import (
    TABLE_LIMIT,
    MissingPairs,
)
from edgeflip.core.move_levels import (
    MoveLevel,
    costs_plainly,
    sorted_rows,
)
from edgeflip.core.names import (
    SYMBOLS,
    Phrase,
    edge_noun,
    node_names,
    node_noun,
)
from edgeflip.core.noise import (
    Noise,
    add_noise,
)
from edgeflip.core.padding import (
    DenseGraphs,
    gcn_normalised,
    node_features,
    plain_adjacency,
    stacked_adjacency,
    stacked_rows,
)
from edgeflip.core.pair_edits import (
    PairEdits,
)
from edgeflip.core.parts import count_parts
from edgeflip.core.space import (
    Edits,
    EditSpace,
    Level,
    register_space,
    space_from_dict,
)
from edgeflip.core.subgraph import (
    FactualSubgraph,
)

__all__ = [
    "COUNT_LIMIT",
    "FREE",
    "NO_ROWS",
    "PAD",
    "SYMBOLS",
    "TABLE_LIMIT",
    "AllowedEdits",
    "AnswerStore",
    "Buckets",
    "Constraints",
    "DenseGraphs",
    "Edge",
    "EdgeFill",
    "EditSet",
    "EditSpace",
    "Edits",
    "FactualSubgraph",
    "FeatureEditSet",
    "FeatureEdits",
    "FeatureMoves",
    "Grid",
    "Level",
    "MissingPairs",
    "MoveLevel",
    "Noise",
    "PairEdits",
    "PairLevel",
    "PairSpace",
    "Phrase",
    "RandomOrder",
    "Rule",
    "add_noise",
    "all_finite",
    "assemble",
    "base_adjacency",
    "cancelled",
    "candidate_keys",
    "check_edges",
    "check_fill",
    "check_names",
    "constraints_in_words",
    "costs_plainly",
    "count_parts",
    "edge_attributes",
    "edge_noun",
    "edge_pairs",
    "edited_cells",
    "fingerprint",
    "first_occurrences",
    "gcn_normalised",
    "graph_from_dict",
    "graph_to_dict",
    "id_pairs",
    "no_graph",
    "node_features",
    "node_names",
    "node_noun",
    "non_edges",
    "padded",
    "pair_ids",
    "plain_adjacency",
    "register_space",
    "rows_from_mask",
    "size_buckets",
    "sorted_rows",
    "space_from_dict",
    "stacked_adjacency",
    "stacked_rows",
    "unrank",
    "widened",
]
