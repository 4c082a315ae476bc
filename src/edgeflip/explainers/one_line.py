"""One line to an answer: a model, a graph, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Unpack, overload

from torch_geometric.data import Data

from edgeflip.explainers.options import ExplainOptions
from edgeflip.explainers.registry import make_explainer
from edgeflip.oracle import Model, Oracle, as_oracle
from edgeflip.search import CounterfactualSet


@overload
def explain(
    model: Oracle | Model,
    graph: Data,
    *,
    method: str = ...,
    class_names: Sequence[str] | None = ...,
    **options: Unpack[ExplainOptions],
) -> CounterfactualSet: ...


@overload
def explain(  # type: ignore[overload-cannot-match]  # PyG has no types for us
    model: Oracle | Model,
    graph: Sequence[Data],
    *,
    method: str = ...,
    class_names: Sequence[str] | None = ...,
    **options: Unpack[ExplainOptions],
) -> list[CounterfactualSet]: ...


def explain(
    model: Oracle | Model,
    graph: Data | Sequence[Data],
    *,
    method: str = "edgeflip",
    class_names: Sequence[str] | None = None,
    **options: Unpack[ExplainOptions],
) -> Any:
    """Which few edits would make a model change its mind about a graph?

    Nothing is learned and nothing is kept: for many graphs of one model, `EdgeFlip().fit(graphs, model)`
    learns which edits are plausible, and explains as often as you like.

    Args:
        model: A trained PyG model, a function of graphs, or an oracle.
        graph: The graph, or a list of graphs.
        method: Name of a method that needs no training graphs.
        class_names: Names of the model's classes.
        options: As for `CounterfactualExplainer.explain`: target, constraints, budget, number, …

    Returns:
        The answer; for a list of graphs a list of answers, in their order.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> answer = explain(example_oracle().model, example_graphs(1, seed=4)[0])
        >>> answer.found
        True
    """
    oracle = as_oracle(model, class_names=class_names)
    explainer = make_explainer(method).fit([], oracle)
    if isinstance(graph, Data):
        return explainer.explain(graph, **options)
    return explainer.explain_many(graph, **options)
