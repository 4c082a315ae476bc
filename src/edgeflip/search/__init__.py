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
    confirm_together,
    reduce_flips,
)
from edgeflip.search.outcome import (
    Ended,
    Outcome,
)
from edgeflip.search.problem import (
    Preference,
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
from edgeflip.search.result import Certificate, Counterfactual, CounterfactualSet, Provenance
from edgeflip.search.selection import (
    Selection,
)
from edgeflip.search.session import (
    Search,
    Watch,
)
from edgeflip.search.summary import (
    counted_edits,
    fault_in_short,
    proof_in_words,
)
from edgeflip.search.trace import Stage, Status, Step, StopReason, Trace
from edgeflip.search.trust import (
    Trust,
    plain_goal,
    trust_of,
)
from edgeflip.search.writing import (
    timeless,
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
    "Preference",
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
    "Trust",
    "Watch",
    "certificate_of",
    "certify",
    "confirm_together",
    "counted_edits",
    "fault_in_short",
    "make_ranking",
    "needs_of",
    "plain_goal",
    "proof_in_words",
    "ranking_name",
    "reduce_flips",
    "timeless",
    "trust_of",
    "verify_certificate",
]
