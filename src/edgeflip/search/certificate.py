"""Checking a proof of smallness again, by other means than those that made it.

The search makes certificates from tensors of candidates, an oracle path for edits and remembered
answers. The check here uses none of them: sets come from `EditSpace.plainly`, which is written apart,
every input is really edited, and the oracle sees plain graphs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch

from edgeflip.core import Edits, EditSpace
from edgeflip.errors import CertificateError, ConstraintError
from edgeflip.oracle import AnyOracle, checked_answers
from edgeflip.search.result import CounterfactualSet

_AT_ONCE = 256


def verify_certificate(
    answer: CounterfactualSet, oracle: AnyOracle, *, constraints: Any = None
) -> int:
    """Check the certificate of an answer by trying everything again.

    Args:
        answer: An answer with a certificate, such as one read by `CounterfactualSet.load_json`.
        oracle: The oracle it was made for.
        constraints: The constraints of the call that made it; only needed when they have rules in
            Python, of which a saved answer keeps the names alone.

    Returns:
        How many sets were tried, the smallest answer among them.

    Raises:
        CertificateError: If the answer has no certificate, or anything in it is not so.

    Example:
        >>> from edgeflip import EdgeFlip
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> graphs, oracle = example_graphs(8, seed=0), example_oracle()
        >>> answer = EdgeFlip().fit([], oracle).explain(graphs[0])
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
    try:
        space = answer.space.under(constraints)
    except ConstraintError as error:
        raise CertificateError(str(error)) from error
    known = getattr(oracle, "fingerprint", None)
    if callable(known) and known() != answer.provenance.oracle:
        raise CertificateError(
            "expected the oracle that the certificate was made for, got another (its weights differ)."
        )
    # What was predicted then must still be, or the goal would be another.
    output = checked_answers(oracle, [answer.graph])
    before = answer.goal.describe(answer.output)
    if bool(answer.goal.reached(output)[0]) or _far(output[0], answer.output):
        raise CertificateError(
            f"expected the input to be predicted {before}, got "
            f"{answer.goal.describe(output[0].tolist())}; this is another oracle."
        )
    total = _check_smallest(answer, space, oracle)
    for cost, claimed in enumerate(proof.tried, start=1):
        tried = _try_all(answer, space, oracle, cost)
        if tried != claimed:
            raise CertificateError(
                f"expected {claimed} sets of cost {cost} as certified, got {tried}; the certificate is "
                "wrong."
            )
        total += tried
    return total


def _far(output: torch.Tensor, claimed: tuple[float, ...]) -> bool:
    # Batch size alone moves the last digits.
    return bool(((output - torch.tensor(claimed)).abs() > 1e-3).any())


def _check_claim(answer: CounterfactualSet) -> None:
    """What a certificate says must be consistent, and hold for the answers beside it."""
    proof = answer.certificate
    assert proof is not None
    if proof.below < 1 or len(proof.tried) != proof.below - 1 or min(proof.tried, default=0) < 0:
        raise CertificateError(
            f"expected a number of tried sets for every cost below {proof.below}, got "
            f"{list(proof.tried)}; the certificate was changed."
        )
    smallest = min((entry.cost for entry in answer.counterfactuals), default=proof.below)
    if smallest < proof.below:
        raise CertificateError(
            f"expected no counterfactual with fewer than {proof.below} edits, got one with {smallest} in "
            "the same answer; the certificate was changed."
        )


def _check_smallest(answer: CounterfactualSet, space: EditSpace, oracle: AnyOracle) -> int:
    """The smallest answer must reach the goal, and where one edit is claimed, some edit must."""
    proof = answer.certificate
    assert proof is not None
    smallest = min(answer.counterfactuals, key=lambda entry: entry.cost, default=None)
    asked = 0
    if proof.below == 1 and (smallest is None or smallest.cost != 1):
        # Larger ones may have scored higher, so that it was not kept.
        for count, flips in _asked(answer, space, oracle, 1):
            asked += count
            if flips:
                break
        else:
            raise CertificateError(
                "expected a counterfactual of one edit as certified, got none; the certificate is wrong."
            )
    if smallest is None:
        return asked
    output = checked_answers(oracle, [space.edited(smallest.edits)])
    if not bool(answer.goal.reached(output)[0]):
        raise CertificateError(
            f"expected {smallest.edits} to change the prediction, got "
            f"{answer.goal.describe(output[0].tolist())}; the answer was changed."
        )
    return asked + 1


def _try_all(answer: CounterfactualSet, space: EditSpace, oracle: AnyOracle, cost: int) -> int:
    """Ask about every allowed set of a cost, and count them."""
    tried = 0
    for count, flips in _asked(answer, space, oracle, cost):
        if flips:
            raise CertificateError(
                f"expected no counterfactual of cost {cost} as certified, got one: {flips[0]}; "
                "the certificate is wrong."
            )
        tried += count
    return tried


def _asked(
    answer: CounterfactualSet, space: EditSpace, oracle: AnyOracle, cost: int
) -> Iterator[tuple[int, list[Edits]]]:
    """All allowed sets of a cost, some at a time: how many were asked about, and which reach the goal."""
    stream = iter(space.plainly(cost))
    while part := list(islice(stream, _AT_ONCE)):
        outputs = checked_answers(oracle, [space.edited(edits) for edits in part])
        hits = answer.goal.reached(outputs).nonzero().flatten().tolist()
        flips = [part[index] for index in hits]
        yield len(part), [edits for edits in flips if space.plainly_allows(edits)]
