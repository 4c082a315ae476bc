"""Checking a proof of smallness again, by other means than those that made it.

The search makes certificates from tensors of candidates, an oracle path for edits and remembered
answers. The check here uses none of them: node pairs are combined by `itertools`, limits are
compared one by one, every graph is really edited, and the oracle sees plain graphs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, islice

import networkx as nx
import torch

from edgeflip.core import FREE, Constraints, Edge, EditSet, edge_pairs
from edgeflip.errors import CertificateError
from edgeflip.oracle import Oracle, checked_proba
from edgeflip.search.result import CounterfactualSet

_AT_ONCE = 256


def verify_certificate(
    answer: CounterfactualSet, oracle: Oracle, *, constraints: Constraints = FREE
) -> int:
    """Check the certificate of an answer by trying everything again.

    Args:
        answer: An answer with a certificate, such as one read by `CounterfactualSet.load_json`.
        oracle: The oracle it was made for.
        constraints: The constraints of the call that made it.

    Returns:
        How many edit sets were tried, the smallest answer among them.

    Raises:
        CertificateError: If the answer has no certificate, or anything in it is not so.

    Example:
        >>> from edgeflip.explainers.dr_cfgnn import DRCFGNN
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> graphs, oracle = example_graphs(8, seed=0), example_oracle()
        >>> explainer = DRCFGNN.for_dataset(profile="smoke").fit(graphs[1:], oracle)
        >>> answer = explainer.explain(graphs[0])
        >>> verify_certificate(answer, oracle) >= sum(answer.certificate.tried)
        True
    """
    proof = answer.certificate
    if proof is None:
        raise CertificateError(
            "expected an answer with a certificate, got one without; explain the graph with `certify` "
            "above 0."
        )
    _check_claim(answer)
    known = getattr(oracle, "fingerprint", None)
    if callable(known) and known() != answer.provenance.oracle:
        raise CertificateError(
            "expected the oracle that the certificate was made for, got another (its weights differ)."
        )
    if constraints.to_dict() != dict(answer.provenance.constraints):
        raise CertificateError(
            "expected the constraints that the certificate was made under, got others; pass those of the "
            "call to explain."
        )
    proba = checked_proba(oracle, [answer.graph])[0]
    if int(proba.argmax()) != answer.label:
        raise CertificateError(
            f"expected the graph to be predicted {answer.class_name(answer.label)}, got "
            f"{answer.class_name(int(proba.argmax()))}; this is another oracle."
        )
    total = _check_smallest(answer, oracle, constraints)
    for size, claimed in enumerate(proof.tried, start=1):
        tried = _try_all(answer, oracle, constraints, size)
        if tried != claimed:
            raise CertificateError(
                f"expected {claimed} edit sets of {size} edits as certified, got {tried}; the "
                "certificate is wrong."
            )
        total += tried
    return total


def _check_claim(answer: CounterfactualSet) -> None:
    """What a certificate says must hang together, and hold for the answers beside it."""
    proof = answer.certificate
    assert proof is not None
    if proof.below < 1 or len(proof.tried) != proof.below - 1 or min(proof.tried, default=0) < 0:
        raise CertificateError(
            f"expected a number of tried edit sets for every size below {proof.below}, got "
            f"{list(proof.tried)}; the certificate was changed."
        )
    smallest = min((entry.size for entry in answer.counterfactuals), default=proof.below)
    if smallest < proof.below:
        raise CertificateError(
            f"expected no counterfactual with fewer than {proof.below} edits, got one with {smallest} in "
            "the same answer; the certificate was changed."
        )


def _check_smallest(answer: CounterfactualSet, oracle: Oracle, constraints: Constraints) -> int:
    """The smallest answer must change the prediction, and where one edit is claimed, some edit must."""
    proof = answer.certificate
    assert proof is not None
    smallest = min(answer.counterfactuals, key=lambda entry: entry.size, default=None)
    asked = 0
    if proof.below == 1 and (smallest is None or smallest.size != 1):
        # Larger ones may have scored higher, so that it was not kept.
        for count, flips in _asked(answer, oracle, constraints, 1):
            asked += count
            if flips:
                break
        else:
            raise CertificateError(
                "expected a counterfactual of one edit as certified, got none; the certificate is wrong."
            )
    if smallest is None:
        return asked
    label = int(checked_proba(oracle, [answer.edited_graph(smallest)])[0].argmax())
    if label == answer.label or answer.target not in (None, label):
        raise CertificateError(
            f"expected {smallest.edits} to change the prediction, got {answer.class_name(label)}; the answer "
            "was changed."
        )
    return asked + 1


def _try_all(answer: CounterfactualSet, oracle: Oracle, constraints: Constraints, size: int) -> int:
    """Ask about every allowed edit set of a size, and count them."""
    tried = 0
    for count, flips in _asked(answer, oracle, constraints, size):
        if flips:
            raise CertificateError(
                f"expected no counterfactual of {size} edits as certified, got one: {flips[0]}; "
                "the certificate is wrong."
            )
        tried += count
    return tried


def _asked(
    answer: CounterfactualSet, oracle: Oracle, constraints: Constraints, size: int
) -> Iterator[tuple[int, list[EditSet]]]:
    """All allowed edit sets of a size, some at a time: how many were asked about, and which flip."""
    stream = _edit_sets(answer, constraints, size)
    while part := list(islice(stream, _AT_ONCE)):
        graphs = [edits.apply(answer.graph, fill=answer.fill) for edits in part]
        labels = checked_proba(oracle, graphs).argmax(dim=1)
        hits = labels != answer.label if answer.target is None else labels == answer.target
        flips = [part[place] for place in torch.nonzero(hits).flatten().tolist()]
        yield (
            len(part),
            [edits for edits in flips if constraints.rules_allow(answer.graph, edits)],
        )


def _edit_sets(answer: CounterfactualSet, constraints: Constraints, size: int) -> Iterator[EditSet]:
    """All edit sets of a size that keep the limits, in no special order."""
    graph = answer.graph
    edges = edge_pairs(graph)
    pairs = list(combinations(range(int(graph.num_nodes or 0)), 2))
    bridges: set[Edge] = set()
    if constraints.keep_connected:
        bridges = {(min(u, v), max(u, v)) for u, v in nx.bridges(nx.Graph(list(edges)))}
    for chosen in combinations(pairs, size):
        removed = frozenset(chosen) & edges
        added = frozenset(chosen) - edges
        if _keeps_limits(constraints, added, removed, bridges):
            yield EditSet(added=added, removed=removed)


def _keeps_limits(
    limits: Constraints, added: frozenset[Edge], removed: frozenset[Edge], bridges: set[Edge]
) -> bool:
    counts = ((limits.max_added, added), (limits.max_removed, removed))
    if any(most is not None and len(edits) > most for most, edits in counts):
        return False
    if limits.max_edits is not None and len(added) + len(removed) > limits.max_edits:
        return False
    if (added and not limits.allow_additions) or (removed and not limits.allow_removals):
        return False
    touched = {node for edge in added | removed for node in edge}
    if touched & limits.frozen_nodes:
        return False
    if removed & limits.frozen_edges or added & limits.forbidden_pairs:
        return False
    if len(removed & bridges) > len(added):
        return False
    gained = Counter(node for edge in added for node in edge)
    gained.subtract(node for edge in removed for node in edge)
    return all(gained[node] <= room for node, room in limits.room.items())
