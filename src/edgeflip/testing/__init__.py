"""The conformance suite: what every explainer must keep, ours and other people's.

    from edgeflip.testing import check_explainer
    check_explainer(MyExplainer())

Each check is a function of a `Case` that raises `AssertionError` with a sentence; `check_explainer`
runs them all and reports every one that failed.

One thing is not checked: that answers do not depend on the order in which Python walks through sets of
strings (`PYTHONHASHSEED`). It would take two fresh processes, which costs more than all else here.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from torch_geometric.data import Data

from edgeflip.core import EdgeFill, check_fill
from edgeflip.errors import ConfigError
from edgeflip.explainers import CounterfactualExplainer
from edgeflip.oracle import Budget, Oracle
from edgeflip.support import seeded
from edgeflip.testing.case import Case, DoesNotApply, WatchedFit, described, same_answer
from edgeflip.testing.checks import CHECKS
from edgeflip.testing.examples import example_graphs, example_oracle
from edgeflip.testing.oracles import CountingOracle
from edgeflip.testing.states import module_of, restored

__all__ = [
    "CHECKS",
    "Case",
    "CountingOracle",
    "WatchedFit",
    "check_explainer",
    "example_graphs",
    "example_oracle",
    "same_answer",
]


def check_explainer(
    explainer: CounterfactualExplainer[Any],
    *,
    oracle: Oracle | None = None,
    train: Sequence[Data] | None = None,
    graphs: Sequence[Data] | None = None,
    budget: Budget | None = None,
    fill: EdgeFill | None = None,
    expect_found: bool = True,
) -> list[str]:
    """Check that an explainer keeps the contract of `CounterfactualExplainer`.

    The oracle's model and the caller's random state are left as they were; graphs are copied.

    Args:
        explainer: An explainer with its settings; it is fitted here.
        oracle: The oracle to use; a small trained-like GCN on four features by default.
        train: Graphs to fit on; `graphs` when only those are given, else small random graphs.
        graphs: Graphs to explain; the first of `train` when only those are given, else small random
            graphs that single additions and single removals flip.
        budget: The budget of every call; 400 oracle calls by default.
        fill: The attributes of added edges, for graphs that have some.
        expect_found: Whether it is a failure to find nothing at all, with or without a target. Pass
            False only where the method cannot flip any of the graphs.

    Returns:
        Names of the checks that passed. A check that makes no sense for the oracle, such as the look
        at a model it does not have, is left out.

    Raises:
        AssertionError: Naming every check that failed, and why.
        EdgeflipError: If there are no graphs, they have edge attributes and no fill, or the oracle
            cannot read them.

    Example:
        >>> from edgeflip import make_explainer
        >>> len(check_explainer(make_explainer("random"))) == len(CHECKS)
        True
    """
    oracle = oracle or example_oracle()
    if graphs is None:
        graphs = train[:4] if train is not None and len(train) else example_graphs(4, seed=4)
        train = example_graphs(12, seed=1) if train is None else train
    train = [graph.clone() for graph in (graphs if train is None else train)]
    untouched = [graph.clone() for graph in graphs]
    if not untouched:
        raise ConfigError("expected graphs to explain, got none; pass some or leave graphs out.")
    for graph in untouched:
        check_fill(graph, fill)
    with seeded(0), restored(module_of(oracle)):
        # An oracle may learn from its first answer how many classes there are.
        oracle.predict_proba(untouched[:1])
        fresh = copy.deepcopy(explainer)
        try:
            explainer.fit(train, oracle, seed=5)
        except Exception as error:
            raise AssertionError(
                f"'{explainer.name}' breaks the contract: fit raised {described(error)}"
            ) from error
        copies = [graph.clone() for graph in untouched]
        case = Case(
            explainer,
            oracle,
            train,
            copies,
            budget or Budget(oracle_calls=400),
            fresh,
            untouched,
            fill,
            expect_found,
        )
        passed, failures = _run(case)
    assert not failures, f"'{explainer.name}' breaks the contract: " + "; ".join(failures)
    return passed


def _run(case: Case) -> tuple[list[str], list[str]]:
    """Names of the checks that passed, and a sentence for each that failed."""
    passed, failures = [], []
    for check in CHECKS:
        name = check.__name__.removeprefix("check_").replace("_", " ")
        try:
            check(case)
        except DoesNotApply:
            continue
        except AssertionError as error:
            failures.append(f"{name}: {error}")
        except Exception as error:
            failures.append(f"{name}: {described(error)}")
        else:
            passed.append(name)
    return passed, failures
