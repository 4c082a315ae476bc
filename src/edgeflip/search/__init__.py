"""How answers are found and kept: one search for every method, ranking, selection, proofs, results."""

from edgeflip.search.answer_list import (
    AnswerList,
)
from edgeflip.search.certificate import (
    verify_certificate,
)
from edgeflip.search.effects import (
    MOST_MOVES,
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
    Status,
    Step,
    StopReason,
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
from edgeflip.search.summary import (
    counted_edits,
    proof_in_words,
)

__all__ = [
    "MOST_MOVES",
    "AnswerList",
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
    "Status",
    "Step",
    "StopReason",
    "Trace",
    "Watch",
    "certificate_of",
    "certify",
    "counted_edits",
    "make_ranking",
    "needs_of",
    "proof_in_words",
    "ranking_name",
    "reduce_flips",
    "verify_certificate",
]
