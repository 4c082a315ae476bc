"""What a check works with, and how answers are compared."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import EdgeFill
from edgeflip.explainers import CounterfactualExplainer
from edgeflip.oracle import Budget, Oracle
from edgeflip.search import CounterfactualSet
from edgeflip.support import seeded
from edgeflip.testing.oracles import CountingOracle
from edgeflip.testing.states import changed_keys, disturbed, module_of, moved_since, random_states


@dataclass(frozen=True)
class Case:
    """What a check works with.

    Attributes:
        explainer: The fitted explainer.
        oracle: The oracle it was fitted on.
        train: Graphs it was fitted on.
        graphs: Graphs to explain.
        budget: The budget of every call.
        fresh: The explainer as it was before it was fitted; checks fit copies of it.
        untouched: Copies of `graphs` from before the first call.
        fill: The attributes of added edges, for graphs that have some.
        expect_found: Whether at least one graph must get a counterfactual.
        changed: Names of graph attributes that were other after a call than before.
    """

    explainer: CounterfactualExplainer[Any]
    oracle: Oracle
    train: Sequence[Data]
    graphs: Sequence[Data]
    budget: Budget
    fresh: CounterfactualExplainer[Any]
    untouched: Sequence[Data]
    fill: EdgeFill | None = None
    expect_found: bool = True
    changed: set[str] = field(default_factory=set)

    def explain(self, graph: Data, **options: Any) -> CounterfactualSet:
        """The answer for one graph, which is compared before and after."""
        given = {"budget": self.budget, "fill": self.fill, "seed": 3, **options}
        before = graph.clone()
        try:
            return self.explainer.explain(graph, **given)
        finally:
            self.changed.update(changed_keys(before, graph))

    def answers(self, **options: Any) -> list[CounterfactualSet]:
        """Answers for all graphs, asked anew."""
        return [self.explain(graph, **options) for graph in self.graphs]

    @cached_property
    def plain(self) -> list[CounterfactualSet]:
        """Answers for all graphs without any options, asked once for all checks."""
        return self.answers()

    @cached_property
    def watched_fit(self) -> WatchedFit:
        """A fit of its own on an oracle that counts, with a look at everything around it."""
        explainer, counter = copy.deepcopy(self.fresh), CountingOracle(self.oracle)
        before = [graph.clone() for graph in self.train]
        with seeded(11), disturbed(module_of(self.oracle)) as model_changes:
            states = random_states()
            returned = explainer.fit(self.train, counter, seed=5)
            changes = [
                *model_changes(),
                *(f"fit moved the random state of {name}" for name in moved_since(states)),
            ]
        for old, new in zip(before, self.train, strict=True):
            changes += [f"fit changed the {key} of a graph" for key in changed_keys(old, new)]
        if returned is not explainer:
            changes.append("fit must return the explainer itself")
        return WatchedFit(explainer, counter, sorted(set(changes)))


@dataclass(frozen=True)
class WatchedFit:
    """A fitted explainer, the counting oracle it asks, and what its fit should have left alone."""

    explainer: CounterfactualExplainer[Any]
    counter: CountingOracle
    changes: list[str]


def same_answer(one: CounterfactualSet, two: CounterfactualSet) -> bool:
    """Whether two answers agree in everything but the seconds they took."""
    return _timeless(one) == _timeless(two)


def _timeless(answer: CounterfactualSet) -> dict[str, Any]:
    payload = answer.to_dict()
    del payload["checksum"]
    for stage in payload["trace"]["stages"].values():
        del stage["seconds"], stage["cpu_seconds"]
    return payload


class DoesNotApply(Exception):  # noqa: N818 - not an error
    """Raised by a check that makes no sense for the case."""


def described(error: Exception) -> str:
    """The kind and the words of an error."""
    return f"{type(error).__name__}: {error}"


def ask_one(oracle: Oracle, graph: Data) -> Tensor:
    """Probabilities of one graph [C]."""
    return torch.as_tensor(oracle.predict_proba([graph])).detach().float().cpu()[0]


def agree(proba: Tensor, reported: Sequence[float]) -> bool:
    """Whether probabilities are those that an answer reports, up to the last digits."""
    # Single precision in batches of another size moves the last digits.
    return float((proba - torch.tensor(reported)).abs().max()) < 1e-5
