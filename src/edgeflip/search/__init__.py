"""How answers are found and kept: one search for every method, ranking, selection, proofs, results."""

from edgeflip.search.certificate import (
    verify_certificate,
)
from edgeflip.search.finish import (
    Answers,
    Finish,
    certificate_of,
    certify,
    reduce_flips,
)
from edgeflip.search.problem import (
    Problem,
)
from edgeflip.search.ranking import (
    Flips,
    Mix,
    Ranking,
    SizeWeightedFidelity,
    SmallestFirst,
    make_ranking,
    needs_of,
    ranking_name,
)
from edgeflip.search.result import (
    Certificate,
    Counterfactual,
    CounterfactualSet,
    Provenance,
    Stage,
    Step,
    Trace,
)
from edgeflip.search.selection import (
    Selection,
)
from edgeflip.search.session import (
    Ended,
    Outcome,
    Search,
    Watch,
)

__all__ = [
    "Answers",
    "Certificate",
    "Counterfactual",
    "CounterfactualSet",
    "Ended",
    "Finish",
    "Flips",
    "Mix",
    "Outcome",
    "Problem",
    "Provenance",
    "Ranking",
    "Search",
    "Selection",
    "SizeWeightedFidelity",
    "SmallestFirst",
    "Stage",
    "Step",
    "Trace",
    "Watch",
    "certificate_of",
    "certify",
    "make_ranking",
    "needs_of",
    "ranking_name",
    "reduce_flips",
    "verify_certificate",
]
