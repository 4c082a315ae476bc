"""One line to an answer: a model, a graph, and nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Unpack, cast, overload

from torch.utils.data import Dataset
from torch_geometric.data import Data

from edgeflip.explainers.options import ExplainOptions
from edgeflip.explainers.registry import make_explainer
from edgeflip.oracle import AnyModel, Task, as_oracle
from edgeflip.search import AnswerList, CounterfactualSet


# Lists come first: mypy, for which PyG has no types, would otherwise take one for a graph.
@overload
def explain(
    model: AnyModel,
    graph: Sequence[Data],
    *,
    method: str = ...,
    class_names: Sequence[str] | None = ...,
    task: Task | None = ...,
    **options: Unpack[ExplainOptions],
) -> AnswerList: ...


@overload
def explain(
    model: AnyModel,
    graph: Data,
    *,
    method: str = ...,
    class_names: Sequence[str] | None = ...,
    task: Task | None = ...,
    **options: Unpack[ExplainOptions],
) -> CounterfactualSet: ...


def explain(
    model: AnyModel,
    graph: Data | Sequence[Data],
    *,
    method: str = "edgeflip",
    class_names: Sequence[str] | None = None,
    task: Task | None = None,
    **options: Unpack[ExplainOptions],
) -> Any:
    """Which few edits would make a model change its mind about a graph?

    Nothing is learned and nothing is kept: for many graphs of one model, `EdgeFlip().fit(graphs, model)`
    learns which edits are plausible, and explains as often as you like.

    Args:
        model: A trained PyG model, a function of a list of graphs, an object with `predict_proba`, or
            an oracle. A list of models, of one kind or of several, is asked for edits that change the
            mind of all of them, or of as many as `agree` says.
        graph: The graph, or a list of graphs.
        method: Name of a method that needs no training graphs.
        class_names: Names of the model's classes.
        task: `"regression"` for a model that gives values; the target is then such as `">0.5"`.
        options: As for `CounterfactualExplainer.explain`: target, constraints, budget, number, … Possible
            molecules come first whatever the method, unless `chemistry=False`.

    Returns:
        The answer; for a list of graphs a list of answers, in their order.

    Example:
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> answer = explain(example_oracle().model, example_graphs(1, seed=4)[0])
        >>> answer.found
        True
    """
    oracle = as_oracle(model, class_names=class_names, task=task)
    explainer = make_explainer(method).fit([], oracle)
    options = {"chemistry": True, **options}
    if isinstance(graph, Sequence | Iterator | Dataset) and not isinstance(graph, Data | str):
        graphs = list(cast(Iterable[Any], graph))
        if all(isinstance(each, Data) for each in graphs):
            return explainer.explain_many(graphs, **options)
    return explainer.explain(cast(Data, graph), **options)
