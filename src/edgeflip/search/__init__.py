"""How answers are found and kept: one search for every method, ranking, selection, proofs, results."""

from edgeflip.search.certificate import (
    verify_certificate,
)
from edgeflip.search.minimal import (
    Reductions,
    without_supersets,
)
from edgeflip.search.ranking import (
    SCORE_DECIMALS,
    Mix,
    Ranking,
    SizeWeightedFidelity,
    SmallestFirst,
    highest_score,
    make_ranking,
    needs_of,
    ranking_name,
    rate,
)
from edgeflip.search.result import (
    Certificate,
    Counterfactual,
    CounterfactualSet,
    FactualSubgraph,
    Provenance,
    Stage,
    StopReason,
    Trace,
)
from edgeflip.search.selection import (
    Choice,
)
from edgeflip.search.session import (
    Outcome,
    Problem,
    Proposal,
    Search,
    StageClock,
    check_proposals,
    frozen,
)

__all__ = [
    "SCORE_DECIMALS",
    "Certificate",
    "Choice",
    "Counterfactual",
    "CounterfactualSet",
    "FactualSubgraph",
    "Mix",
    "Outcome",
    "Problem",
    "Proposal",
    "Provenance",
    "Ranking",
    "Reductions",
    "Search",
    "SizeWeightedFidelity",
    "SmallestFirst",
    "Stage",
    "StageClock",
    "StopReason",
    "Trace",
    "check_proposals",
    "frozen",
    "highest_score",
    "make_ranking",
    "needs_of",
    "ranking_name",
    "rate",
    "verify_certificate",
    "without_supersets",
]
