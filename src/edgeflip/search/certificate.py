"""Checking a proof of smallness again, by other means than those that made it.

The search makes certificates from tensors of candidates, an oracle path for edits and remembered
answers. The check here uses none of them: sets come from `EditSpace.plainly`, which is written apart,
every input is really edited, and the oracle sees plain graphs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import torch

from edgeflip.core import Edits, EditSpace
from edgeflip.errors import CertificateError, ConstraintError, EdgeflipError
from edgeflip.oracle import AnyModel, AnyOracle, as_oracle, checked_answers, joint_of
from edgeflip.search.result import Counterfactual, CounterfactualSet
from edgeflip.search.summary import conditions_of

_AT_ONCE = 256

# Batch size alone moves the last digits. What it could move over the border is a tie, which says nothing
# against an answer or a proof.
_TOLERANCE, _TIE = 1e-3, 1e-5


def verify_certificate(
    answer: CounterfactualSet, oracle: AnyModel | AnyOracle, *, constraints: Any = None
) -> int:
    """Check the certificate of an answer by trying everything again.

    Args:
        answer: An answer with a certificate, such as one read by `CounterfactualSet.load_json`.
        oracle: The oracle it was made for, or the bare model; the list of models where it was made
            for several.
        constraints: The constraints of the call that made it; only needed when they have rules in
            Python, of which a saved answer keeps the names alone.

    Returns:
        How many edited inputs were asked about: every answer, and every smaller set.

    Raises:
        CertificateError: If the answer has no certificate, if one of its counterfactuals is not what it
            says, if something smaller exists, or if there was nothing to try. In which order they stand
            and how they were found is not looked into.

    Example:
        >>> from edgeflip import EdgeFlip
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> graphs, oracle = example_graphs(8, seed=0), example_oracle()
        >>> answer = EdgeFlip().fit([], oracle).explain(graphs[0])
        >>> verify_certificate(answer, oracle) >= sum(answer.certificate.tried)
        True
    """
    if not isinstance(answer, CounterfactualSet):
        raise CertificateError(
            f"expected an answer first and the oracle second, got {type(answer).__name__}; call "
            "verify_certificate(answer, oracle)."
        )
    asked: Any = oracle
    if not (hasattr(oracle, "predict_proba") or hasattr(oracle, "predict_values")):
        asked = as_oracle(oracle, task="regression" if answer.goal.kind == "value" else None)
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
    known = getattr(asked, "fingerprint", None)
    if callable(known) and known() != answer.provenance.oracle:
        raise CertificateError(
            "expected the oracle that the certificate was made for, got another (its weights differ)."
        )
    asked = joint_of(asked, answer.goal, answer.provenance.selection.get("agree"))
    # What was predicted then must still be, or the goal would be another.
    output = checked_answers(asked, [answer.graph])
    before = answer.goal.describe(answer.output)
    own = getattr(answer.goal, "before", None)
    own = own if isinstance(own, tuple | list) else answer.output
    if bool(answer.goal.reached(output)[0]) or any(
        _far(output[0], claimed) for claimed in (answer.output, own)
    ):
        raise CertificateError(
            f"expected the input to be predicted {before}, got "
            f"{answer.goal.describe(output[0].tolist())}; this is another oracle."
        )
    total = _check_answers(answer, space, asked)
    for cost, claimed in enumerate(proof.tried, start=1):
        tried = _try_all(answer, space, asked, cost)
        if tried != claimed:
            raise CertificateError(
                f"expected {claimed} sets of cost {cost} as certified, got {tried}; the certificate is "
                "wrong."
            )
        total += tried
    if not total:
        raise CertificateError(
            "expected an answer with something to verify, got one without counterfactuals whose "
            f"constraints ({proof.within or 'none'}) allow no edit set below {proof.below} edits: there "
            "was nothing to try; explain the graph again under wider constraints."
        )
    return total


def _far(output: torch.Tensor, claimed: Sequence[float]) -> bool:
    if len(output) != len(claimed):
        return True
    wanted = torch.tensor(claimed)
    # A single value is compared relative to its size, probabilities as they are.
    scale = wanted.abs().clamp(min=1e-30) if len(wanted) == 1 else torch.ones_like(wanted)
    return bool(((output - wanted).abs() / scale > _TOLERANCE).any())


def _are_ties(answer: CounterfactualSet, outputs: torch.Tensor) -> torch.Tensor:
    """Which outputs lie so near the border that rounding decides [outputs]."""
    scale = outputs.abs().amax(dim=1).clamp(min=1.0)
    return answer.goal.margins(outputs).amax(dim=1).abs() <= _TIE * scale


def _told(answer: CounterfactualSet) -> list[Counterfactual]:
    """Every counterfactual of an answer, each once."""
    others = [entry for entry in (answer.smallest, answer.first) if entry is not None]
    return list(dict.fromkeys([*answer.counterfactuals, *others]))


def _check_claim(answer: CounterfactualSet) -> None:
    """What a certificate says must be consistent, and hold for the answers beside it."""
    proof = answer.certificate
    assert proof is not None
    if proof.below < 1 or len(proof.tried) != proof.below - 1 or min(proof.tried, default=0) < 0:
        raise CertificateError(
            f"expected a number of tried sets for every cost below {proof.below}, got "
            f"{list(proof.tried)}; the certificate was changed."
        )
    if proof.within != conditions_of(answer.space):
        raise CertificateError(
            f"expected a certificate under the constraints of its answer ({conditions_of(answer.space)}), "
            f"got one that names others ({proof.within}); the certificate was changed."
        )
    costs = [entry.cost for entry in _told(answer)]
    smallest = min(costs, default=proof.below)
    if answer.smallest is not None and answer.smallest.cost != smallest:
        raise CertificateError(
            f"expected the smallest answer to have {smallest} edits as another one of them, got "
            f"{answer.smallest.cost}; the answer was changed."
        )
    if proof.below == 1 and min(costs, default=2) > 1:
        raise CertificateError(
            "expected a counterfactual of one edit as certified, got none; the certificate was changed."
        )
    if smallest < proof.below:
        raise CertificateError(
            f"expected no counterfactual with fewer than {proof.below} edits, got one with {smallest} in "
            "the same answer; the certificate was changed."
        )


def _check_answers(answer: CounterfactualSet, space: EditSpace, oracle: AnyOracle) -> int:
    """Every answer must be allowed, reach the goal, and get the output that it claims."""
    entries = _told(answer)
    if not entries:
        return 0
    try:
        edited = [space.edited(entry.edits) for entry in entries]
    except EdgeflipError as error:
        raise CertificateError(
            f"expected edits that fit the input, got others ({error}); the answer was changed."
        ) from error
    outputs = checked_answers(oracle, edited)
    reached = (answer.goal.reached(outputs) | _are_ties(answer, outputs)).tolist()
    falls = answer.goal.fall(outputs).tolist()
    columns = zip(entries, outputs, reached, falls, strict=True)
    for entry, output, hit, fall in columns:
        if not space.plainly_allows(entry.edits):
            raise CertificateError(
                f"expected answers within the constraints, got {entry.edits}; the answer was changed."
            )
        if not hit:
            raise CertificateError(
                f"expected {entry.edits} to change the prediction, got "
                f"{answer.goal.describe(output.tolist())}; the answer was changed."
            )
        if _far(output, entry.output) or abs(fall - entry.fidelity) > _TOLERANCE:
            raise CertificateError(
                f"expected {entry.edits} to give {answer.goal.describe(entry.output)}, got "
                f"{answer.goal.describe(output.tolist())}; the answer was changed."
            )
    return len(edited)


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
        reached = answer.goal.reached(outputs) & ~_are_ties(answer, outputs)
        hits = reached.nonzero().flatten().tolist()
        flips = [part[index] for index in hits]
        yield len(part), [edits for edits in flips if space.plainly_allows(edits)]
