"""What answers should keep where they can: possible molecules come first, others where none is found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from edgeflip.core import EditSpace, PairEdits
from edgeflip.datasets import MoleculeEdits, chemist_for, is_molecule
from edgeflip.errors import ConfigError, ConstraintError
from edgeflip.oracle import Allowance
from edgeflip.search import Counterfactual, CounterfactualSet, Preference, Search

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer
    from edgeflip.explainers.options import ExplainOptions

# Until something possible is found so much of the budget may be spent on it; the rest is for a second try.
_FIRST_SHARE = 0.5

_NO_RDKIT = (
    "RDKit is not installed, so nobody looked whether this is a possible molecule: run pip install "
    "'edgeflip[chem]'."
)
_UNREAD = "RDKit cannot read the graph as a possible molecule, so no rules of chemistry were kept."


@dataclass(frozen=True)
class Preferred:
    """What is searched first.

    Attributes:
        space: What may be edited in the first try.
        preference: What that keeps by preference alone, if anything.
        notes: Notes for the answer.
    """

    space: EditSpace
    preference: Preference[Any] | None = None
    notes: Mapping[str, Any] = field(default_factory=dict)


def preferred(
    explainer: CounterfactualExplainer[Any], space: EditSpace, given: ExplainOptions
) -> Preferred:
    """What is searched first: where possible molecules are preferred, the edits that leave one.

    Args:
        explainer: The method, whose default counts where the call does not say.
        space: What may be edited.
        given: The keywords of the call.
    """
    wanted = explainer.chemistry if given["chemistry"] is None else given["chemistry"]
    if not wanted or not isinstance(space, PairEdits):
        return Preferred(space)
    try:
        chemist = chemist_for(space.input)
    except ConfigError:
        return Preferred(space, notes={"warnings": [_NO_RDKIT]})
    if chemist is None:
        return Preferred(space, notes={"warnings": [_UNREAD]} if is_molecule(space.input) else {})
    if chemist.asked_by(space.constraints):
        return Preferred(space)
    preference = Preference(chemist.name, space, chemist.fault)
    first = replace(space, constraints=space.constraints & chemist.rules)
    try:
        first.limits  # noqa: B018 - raises where nothing may change
    except ConstraintError:
        first = space
    return Preferred(first, preference)


def until_found(budget: Allowance) -> Allowance:
    """What the first of two tries may spend until it has found something."""
    calls, seconds = budget.oracle_calls, budget.seconds
    return Allowance(
        None if calls is None else math.ceil(calls * _FIRST_SHARE),
        None if seconds is None else seconds * _FIRST_SHARE,
    )


def first_try(search: Search[Any, Any], stopped_by: str) -> dict[str, Any]:
    """What is noted of a search that found nothing within what was preferred."""
    preference = search.problem.preference
    assert preference is not None
    return {
        "within": preference.name,
        "stopped_by": stopped_by,
        "oracle_calls": sum(stage.oracle_calls for stage in search.clock.stages().values()),
        "proposals": search.proposals,
    }


def judged(answer: CounterfactualSet, search: Search[Any, Any]) -> CounterfactualSet:
    """An answer whose counterfactuals say what is wrong with them by what was preferred.

    Where a second try came upon some without a fault, these alone are kept.
    """
    preference = search.problem.preference
    if preference is None:
        return _possible(answer) if isinstance(search.space, MoleculeEdits) else answer
    kept = search.problem.keeps_preference
    others = [entry for entry in (answer.smallest, answer.first) if entry is not None]
    told = {
        entry: replace(entry, fault="" if kept else preference.fault(entry.edits))
        for entry in (*answer.counterfactuals, *others)
    }
    if not kept and any(entry.possible for entry in told.values()):
        return _possible_alone(answer, told)
    answer = replace(
        answer,
        counterfactuals=tuple(told[entry] for entry in answer.counterfactuals),
        smallest=None if answer.smallest is None else told[answer.smallest],
        first=None if answer.first is None else told[answer.first],
    )
    return answer if kept else _warned(answer, preference.name)


def _possible(answer: CounterfactualSet) -> CounterfactualSet:
    """An answer by typed edits, none of which leaves anything but a molecule."""
    known = [replace(entry, fault="") for entry in answer.counterfactuals]
    others = [
        None if entry is None else replace(entry, fault="")
        for entry in (answer.smallest, answer.first)
    ]
    return replace(answer, counterfactuals=tuple(known), smallest=others[0], first=others[1])


def _possible_alone(
    answer: CounterfactualSet, told: Mapping[Counterfactual, Counterfactual]
) -> CounterfactualSet:
    """The answer with those of its counterfactuals that have no fault."""
    ranked = [told[entry] for entry in answer.counterfactuals if told[entry].possible]
    entries = ranked or [entry for entry in told.values() if entry.possible][:1]
    proof = answer.certificate
    # That something of cost 1 was found, which is left out now, proves nothing of the others.
    if proof is not None and proof.below == 1 and min(entry.cost for entry in entries) > 1:
        proof = None
    return replace(
        answer, counterfactuals=tuple(entries), smallest=None, first=None, certificate=proof
    )


def _warned(answer: CounterfactualSet, name: str) -> CounterfactualSet:
    """The answer with a sentence about the second try."""
    notes = answer.trace.notes
    first = notes.get("first_try")
    if answer.trace.status == "not_applicable":
        return answer
    if first is None:
        sentence = f"There is no edit within {name}, so they were set aside."
    elif answer.found:
        asked = first["oracle_calls"]
        sentence = (
            f"Nothing was found within {name}, for which the model was asked about {asked:,} "
            f"graph{'s'[: asked != 1]}, so they were set aside."
        )
    else:
        sentence = f"It was tried within {name} and without them."
    warnings = [sentence, *notes.get("warnings", [])]
    return replace(answer, trace=replace(answer.trace, notes={**notes, "warnings": warnings}))
