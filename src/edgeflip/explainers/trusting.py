"""How far answers can be believed: other models, real graphs and the link predictor are asked."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from edgeflip.core import EditSpace, PairEdits
from edgeflip.errors import ConfigError, NotApplicableError
from edgeflip.links import LinkModel
from edgeflip.oracle import (
    AnyOracle,
    ClassGoal,
    JointOracle,
    as_oracle,
    checked_answers,
    gives_values,
)
from edgeflip.search import Counterfactual, CounterfactualSet, Trust, plain_goal, trust_of

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer
    from edgeflip.explainers.beginning import Call


def others_to_ask(
    explainer: CounterfactualExplainer[Any], check: Any
) -> tuple[AnyOracle, ...] | None:
    """The models of `check=` as oracles, checked before any work is done; None where none is wanted."""
    if check is None:
        return None
    own = explainer.oracle_
    given = list(check) if isinstance(check, list | tuple) else [check]
    asked: list[Any] = []
    for each in given:
        # A bare model is read as the explained one is.
        is_ready = hasattr(type(each), "predict_proba") or hasattr(type(each), "predict_values")
        asked.append(
            as_oracle(each, task=None if is_ready or not gives_values(own) else "regression")
        )
    for oracle in asked:
        if gives_values(oracle) != gives_values(own):
            raise ConfigError(
                "expected other models of the same task for check=, got one of values and one of classes; "
                "pass models that were trained for the same."
            )
    members = own.members if isinstance(own, JointOracle) else (own,)
    known = {id(getattr(member, "model", member)) for member in members}
    if any(id(getattr(oracle, "model", oracle)) in known for oracle in asked):
        raise ConfigError(
            "expected other models for check=, got the one that is explained; leave it out there."
        )
    return tuple(asked)


def with_real(
    explainer: CounterfactualExplainer[Any], answer: CounterfactualSet
) -> CounterfactualSet:
    """The answer with the real graphs that the method learned from, where there are classes to compare."""
    real = getattr(explainer, "real_graphs_", None)
    if real is None or not isinstance(answer.goal, ClassGoal):
        return answer
    return replace(answer, real=real)


def trusted(
    explainer: CounterfactualExplainer[Any], answer: CounterfactualSet, call: Call
) -> CounterfactualSet:
    """The answer, each counterfactual with what speaks for and against it, where the call wants to know."""
    told = [*answer.counterfactuals, answer.smallest, answer.first]
    entries = list(dict.fromkeys(entry for entry in told if entry is not None))
    if call.check is None or not entries:
        return answer
    agreed = _agreement(answer, entries, call.check)
    likely = _likelihoods(answer.space, entries, getattr(explainer, "links_", None))
    known = {
        entry: replace(
            entry,
            trust=trust_of(answer, entry, replace(agreed[place], likelihoods=likely[place])),
        )
        for place, entry in enumerate(entries)
    }
    return replace(
        answer,
        counterfactuals=tuple(known[entry] for entry in answer.counterfactuals),
        smallest=None if answer.smallest is None else known[answer.smallest],
        first=None if answer.first is None else known[answer.first],
    )


def _agreement(
    answer: CounterfactualSet, entries: list[Counterfactual], check: tuple[AnyOracle, ...]
) -> list[Trust]:
    """How many other models change their mind by the edits of each counterfactual."""
    if not check:
        return [Trust(0.0, connected=True)] * len(entries)
    goal = plain_goal(answer.goal)
    inputs = [answer.graph, *(answer.space.edited(entry.edits) for entry in entries)]
    reached = torch.stack([goal.reached(_asked(oracle, inputs)) for oracle in check])
    # A model that says something else already cannot be turned.
    alike = ~reached[:, 0]
    agree = reached[alike, 1:].sum(dim=0).tolist()
    others = int(alike.sum())
    return [
        Trust(0.0, connected=True, others=others, agree=each, otherwise=len(check) - others)
        for each in agree
    ]


def _asked(oracle: Any, inputs: list[Any]) -> Tensor:
    with ExitStack() as stack:
        if hasattr(oracle, "frozen"):
            stack.enter_context(oracle.frozen())
        return checked_answers(oracle, [graph.clone() for graph in inputs])


def _likelihoods(
    space: EditSpace, entries: list[Counterfactual], links: LinkModel | None
) -> list[tuple[float, ...] | None]:
    """How likely every edit is, for spaces of node pairs and methods with a link predictor."""
    nothing: list[tuple[float, ...] | None] = [None] * len(entries)
    if links is None or not isinstance(space, PairEdits):
        return nothing
    pairs = space.pairs
    try:
        links.check_size(pairs)
    except NotApplicableError:
        return nothing
    rows = [space.row(entry.edits) for entry in entries]
    rows = [row[row >= 0] for row in rows]
    used = torch.cat(rows).unique()
    chance = links.pair_probabilities(pairs).clone()
    gone = used[pairs.is_edge(used)]
    # An edge is rated as if it were missing: one that is seen looks other.
    chance[gone] = 1 - links.as_if_missing(pairs, gone)
    return [tuple(chance[row].tolist()) for row in rows]
