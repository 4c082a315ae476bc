"""Whether edits and edited graphs are plausible: link likelihoods, distances to real graphs, chemistry.

Every function is a metric, see `edgeflip.metrics.METRICS`: the first four of one explained graph, the
others of all edited graphs of a method.
"""

from __future__ import annotations

from edgeflip.datasets import chemist_for, valid_share
from edgeflip.metrics.case import AnswerCase, GraphSet


def validity_possible(case: AnswerCase) -> float:
    """Whether a counterfactual was found that keeps the rules of chemistry."""
    if case.answer is None or not case.answer.found:
        return 0.0
    chemist = chemist_for(case.answer.graph)
    told = (*case.answer.counterfactuals, case.answer.smallest)
    return float(
        chemist is not None
        and any(entry is not None and not chemist.fault(entry.edits) for entry in told)
    )


def added_likelihood(case: AnswerCase) -> float | None:
    """Mean probability of the added edges, None without any."""
    return case.likelihoods[0]


def removed_likelihood(case: AnswerCase) -> float | None:
    """Mean probability of the removed edges, None without any."""
    return case.likelihoods[1]


def plausibility(case: AnswerCase) -> float | None:
    """Mean likelihood of the edits: that added edges are there, and that removed ones are not."""
    edits = case.best.edits
    return pooled_likelihood((len(edits.added), len(edits.removed)), case.likelihoods)


def pooled_likelihood(
    counts: tuple[int, int], likelihoods: tuple[float | None, float | None]
) -> float | None:
    """The plausibility of edits, from the number and the likelihood of added and of removed edges.

    Example:
        >>> pooled_likelihood((1, 3), (0.5, 0.1))
        0.8
        >>> pooled_likelihood((0, 0), (None, None)) is None
        True
    """
    added, removed = likelihoods
    parts = zip(counts, (added, None if removed is None else 1 - removed), strict=True)
    known = [(count, value) for count, value in parts if count and value is not None]
    total = sum(count for count, _ in known)
    return sum(count * value for count, value in known) / total if total else None


def degree_mmd(graphs: GraphSet) -> float:
    """Distance of the degrees from those of the training graphs, NaN without graphs."""
    return graphs.distances["degree_mmd"]


def clustering_mmd(graphs: GraphSet) -> float:
    """Distance of the clustering coefficients from those of the training graphs."""
    return graphs.distances["clustering_mmd"]


def spectrum_mmd(graphs: GraphSet) -> float:
    """Distance of the spectra from those of the training graphs."""
    return graphs.distances["spectrum_mmd"]


def valid_molecules(graphs: GraphSet) -> float | None:
    """Share of the molecules that are chemically possible."""
    return valid_share(graphs.graphs)
