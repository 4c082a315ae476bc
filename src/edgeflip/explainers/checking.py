"""What comes from outside is looked at before any work: oracles, graphs, targets."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import is_dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

from torch import Tensor
from torch_geometric.data import Data

from edgeflip.core import FREE, Constraints, PairSpace, no_graph
from edgeflip.errors import (
    ConfigError,
    ConstraintError,
    EdgeflipError,
    GraphError,
    NotApplicableError,
    OracleError,
    TargetError,
    one_line,
    shown,
)
from edgeflip.explainers.options import ExplainOptions
from edgeflip.explainers.registry import EXPLAINERS, explainer_class
from edgeflip.oracle import (
    Allowance,
    Budget,
    ClassGoal,
    JointOracle,
    ValueGoal,
    checked_answers,
    gives_values,
    outputs_of,
)
from edgeflip.search import Problem, Ranking, needs_of, ranking_name
from edgeflip.support import checked_call

LARGEST_MARGIN = 16
"""More single precision cannot tell: a probability of 1 − 1e-7."""

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer


def listed(graphs: Any, advice: str) -> list[Data]:
    """Graphs as a list, or a sentence what came in their place, and what to do."""
    if isinstance(graphs, Data):
        raise GraphError(f"expected a list of graphs, got one graph; {advice}.")
    if isinstance(graphs, str):
        raise no_graph(graphs)
    try:
        given = list(graphs)
    except TypeError:
        got = type(graphs).__name__
        raise GraphError(f"expected a list of graphs, got {got}; {advice}.") from None
    for graph in given:
        if not isinstance(graph, Data):
            raise no_graph(graph)
    return given


def training_graphs(graphs: Any, method: str, *, needed: bool) -> list[Data]:
    """The graphs of `fit`, each checked, without those of one node.

    Args:
        graphs: What came.
        method: Name of the method, for messages.
        needed: Whether it cannot do without graphs.

    Raises:
        GraphError: If that is no list of graphs, or there are none where some are needed.
    """
    given = listed(graphs, "pass fit([graph], model), or fit([], model) to learn from none")
    if needed and not given:
        raise GraphError(f"expected graphs for '{method}' to learn from, got none; pass some.")
    # One node has no pair to learn from; such molecules are in many files.
    kept = [graph for graph in given if graph.num_nodes != 1]
    if needed and not kept:
        raise GraphError(
            f"expected graphs of at least two nodes for '{method}' to learn from, got none; pass some."
        )
    for graph in kept:
        PairSpace.of(graph)
    check_widths(kept)
    return kept


def check_task(oracle: Any, explainer: CounterfactualExplainer[Any]) -> None:
    """Refuse a model of values for a method that needs classes, before it learns anything."""
    if gives_values(oracle) and explainer.goals is not None and not _takes_values(explainer):
        able = [name for name in EXPLAINERS if _takes_values(explainer_class(name))]
        raise NotApplicableError(
            f"expected a model of classes for '{explainer.name}', got one of values; use the method "
            f"{' or '.join(repr(name) for name in able)}, which need no classes."
        )


def check_has_classes(oracle: Any) -> None:
    """Refuse a model of values where an answer for each class is wanted."""
    if gives_values(oracle):
        raise TargetError(
            "expected a model of classes for an answer to each class, got one of values; call explain with a "
            "target such as '>0.5'."
        )


def _takes_values(method: Any) -> bool:
    # Goals of another kind are values too, of a package of one's own.
    return method.goals is not None and any(kind != ClassGoal.kind for kind in method.goals)


def posed(
    oracle: Any, graph: Data, output: Tensor, given: ExplainOptions
) -> tuple[Any, Tensor, ClassGoal | ValueGoal]:
    """Who is asked about a graph, what they say of it now, and what a call wants of them.

    Raises:
        TargetError: If the target makes no sense, or is reached already.
    """
    aim = partial(_goal_of, oracle, given=given)
    if isinstance(oracle, JointOracle):
        several, now, goal = oracle.of_so_many(given["agree"]).about(graph, output, aim)
        return several, now, cast(ClassGoal | ValueGoal, goal)
    if given["agree"] is not None:
        raise ConfigError(
            "expected several models for agree=, got one; pass a list of models, or leave agree out."
        )
    return oracle, output, aim(output)


def _goal_of(oracle: Any, output: Tensor, given: ExplainOptions) -> ClassGoal | ValueGoal:
    """What a call wants of a graph, by what the oracle says of it now."""
    before, target, margin = tuple(output.tolist()), given["target"], given["margin"]
    if gives_values(oracle):
        if margin:
            raise ConfigError(
                f"expected no margin for a model of values, got {shown(margin)}; ask for it with the target, "
                "such as '>0.7'."
            )
        return ValueGoal.asked(target, before)
    names = getattr(oracle, "class_names", None)
    label = int(output.argmax())
    return ClassGoal(before, check_target(target, label, len(before), names), names, float(margin))


def know_classes(oracle: Any, graphs: Sequence[Data]) -> None:
    """Let an oracle that does not know its number of classes learn it from a first answer."""
    if len(graphs) and not knows_columns(oracle):
        checked_answers(oracle, [graphs[0]])


def knows_columns(oracle: Any) -> bool:
    """Whether an oracle can tell its number of classes or values."""
    try:
        return outputs_of(oracle) > 0
    except OracleError:
        return False


def check_options(given: ExplainOptions) -> None:
    """Refuse keywords of `explain` that are of another type than they must be."""
    for name, kind, example in (
        ("constraints", Constraints, "Constraints(max_edits=3)"),
        ("budget", Budget, "Budget(oracle_calls=5_000)"),
    ):
        value: Any = given.get(name)
        if name == "constraints" and callable(value) and not isinstance(value, type):
            continue
        if value is not None and not isinstance(value, kind):
            raise ConfigError(
                f"expected {name} such as {example}, got {type(value).__name__}; import it from edgeflip."
            )
    margin: Any = given.get("margin")
    is_number = isinstance(margin, int | float) and not isinstance(margin, bool)
    if not (is_number and 0 <= margin <= LARGEST_MARGIN):
        raise ConfigError(
            f"expected margin as log-odds from 0 to {LARGEST_MARGIN}, got {shown(margin)}; 1 is a "
            "probability of .73, 3 one of .95."
        )
    chemistry: Any = given.get("chemistry")
    if chemistry is not None and not isinstance(chemistry, bool):
        raise ConfigError(
            f"expected chemistry as True or False, got {shown(chemistry)}; pass False for no rules."
        )
    watch: Any = given.get("watch")
    if watch is not None and not callable(watch):
        raise ConfigError(
            f"expected watch as a function of a step, got {type(watch).__name__}; pass one or leave it out."
        )


def constraints_on(graph: Data, given: ExplainOptions) -> Constraints:
    """What may change in a graph: the same for all graphs, or what the caller's function tells of this one.

    Raises:
        ConstraintError: If that function fails, or returns something else.
    """
    wanted = given["constraints"]
    if wanted is None or isinstance(wanted, Constraints):
        return FREE if wanted is None else wanted
    what = "expected constraints as a function of a graph that returns Constraints"
    try:
        # A shallow copy, like the one that is searched.
        made: Any = wanted(copy.copy(graph))
    except EdgeflipError:
        raise
    except Exception as error:
        raise ConstraintError(
            f"{what}, got {type(error).__name__}: {one_line(error)}; correct it."
        ) from error
    if made is not None and not isinstance(made, Constraints):
        raise ConstraintError(f"{what}, got one that returned {shown(made)}; correct it.")
    return FREE if made is None else made


# Settings that belong to another one's choice.
_OF_A_PART = ("factual_settings",)


@checked_call()
def overridden(table: Mapping[str, Any], overrides: Mapping[str, Any] | None) -> dict[str, Any]:
    """The settings of a preset with those that the caller gave in their place.

    Of a group of settings those that the caller does not name stay. Settings of a part that the caller
    chooses belong to that part, so they are replaced together.

    Example:
        >>> overridden({"beam": {"width": 8, "moves": 16}}, {"beam": {"width": 4}})
        {'beam': {'width': 4, 'moves': 16}}
    """
    merged = dict(table)
    for key, value in (overrides or {}).items():
        known = merged.get(key)
        if isinstance(known, Mapping) and isinstance(value, Mapping) and key not in _OF_A_PART:
            value = {**known, **value}
        merged[key] = value
    return merged


def allowance(explainer: CounterfactualExplainer[Any], budget: Budget | None = None) -> Allowance:
    """What a call may spend, in numbers: a limit that it does not name is the method's own."""
    return (budget or Budget()).over(explainer.default_budget())


def check_ranking(ranking: Ranking, method: str, *, rates_edges: bool) -> None:
    """Refuse what is no ranking, and a ranking that asks what a method cannot tell."""
    if "likelihood" in needs_of(ranking) and not rates_edges:
        raise ConfigError(
            f"expected a ranking that '{method}' can give, got "
            f"'{ranking_name(ranking) or ranking_words(ranking)}', which asks how likely edits are; use the "
            "method 'edgeflip' or 'dr-cfgnn', or another ranking."
        )


def fingerprint_of(oracle: Any) -> str:
    """What tells an oracle from others: a hash of its weights where it has some."""
    return str(oracle.fingerprint()) if hasattr(oracle, "fingerprint") else type(oracle).__name__


def ranking_words(ranking: Ranking) -> str:
    """A policy in words: all its settings where it is a dataclass, its name otherwise."""
    if is_dataclass(ranking):
        return repr(ranking)
    return str(getattr(ranking, "__qualname__", type(ranking).__qualname__))


def recorded(settings: Any) -> Any:
    """Settings as an answer records them: an object that is no plain value by the name of its class.

    Example:
        >>> recorded({"factual_settings": {"algorithm": object(), "max_nodes": 4}})
        {'factual_settings': {'algorithm': 'object', 'max_nodes': 4}}
    """
    if isinstance(settings, Mapping):
        return {key: recorded(value) for key, value in settings.items()}
    if isinstance(settings, list | tuple):
        return type(settings)(recorded(value) for value in settings)
    plain = settings is None or isinstance(settings, str | int | float)
    return settings if plain else type(settings).__name__


def check_widths(graphs: Sequence[Data]) -> None:
    """Refuse graphs whose nodes have features of several widths."""
    widths = [width_of(graph) for graph in graphs]
    for index, width in enumerate(widths):
        if width is not None and width != widths[0]:
            raise GraphError(
                f"expected node features of one width in all graphs, got {widths[0]} in the first and "
                f"{width} in graph {index}; prepare all graphs alike."
            )


def width_of(graph: Data) -> int | None:
    """Width of the node features, None where there are none."""
    x: Any = graph.x
    return int(x.numel() // len(x)) if isinstance(x, Tensor) and x.dim() and len(x) else None


def check_target(
    target: int | str | None, label: int, num_classes: int, names: Sequence[str] | None
) -> int | None:
    """The wanted class by number; refused if it does not exist or is predicted already."""
    if target is None:
        return None
    if isinstance(target, str) and names and target in names:
        target = list(names).index(target)
    classes = ", ".join(f"{i} {name}" for i, name in enumerate(names)) if names else ""
    known = f"; classes are {classes}" if classes else ""
    if isinstance(target, str) and not names:
        known = "; pass class_names= to ask for a class by its name"
    if isinstance(target, str) and target[:1] in ("<", ">", "+", "-"):
        raise TargetError(
            f"expected a class as target, got {target!r}, which is for values; pass task='regression' "
            "(mode='regression' to PyG's Explainer) if the model gives values."
        )
    if isinstance(target, bool) or not isinstance(target, int) or not 0 <= target < num_classes:
        raise TargetError(f"expected a target in 0..{num_classes - 1}, got {target!r}{known}.")
    if target == label:
        raise TargetError(
            f"expected a target other than the predicted class, got {target}, which the oracle "
            f"predicts already{known}; name another class or leave the target out."
        )
    return target


def check_width(graph: Data, num_features: int | None) -> None:
    """Refuse a graph whose features have another width than those that were learned from."""
    if not isinstance(graph, Data):
        PairSpace.of(graph)
    width = (width_of(graph) or 0) if isinstance(graph, Data) and graph.num_nodes else None
    if num_features is not None and width is not None and width != num_features:
        raise GraphError(
            f"expected {num_features} features per node, as in the graphs of fit, got {width}; "
            "prepare the graph as the training graphs were."
        )


def check_kinds(explainer: CounterfactualExplainer[Any], problem: Problem[Any, Any]) -> None:
    """Refuse a space or a goal that a method cannot search."""
    for what, kind, known in (
        ("space", problem.space.kind, explainer.spaces),
        ("goal", problem.goal.kind, explainer.goals),
    ):
        if known is not None and kind not in known:
            raise NotApplicableError(
                f"expected a {what} of kind {' or '.join(known)} for '{explainer.name}', got '{kind}'; use "
                "another method."
            )


def frozen(oracle: Any) -> AbstractContextManager[None]:
    """The oracle's own context for evaluation mode, when it has one."""
    context: AbstractContextManager[None] = (
        oracle.frozen() if hasattr(oracle, "frozen") else nullcontext()
    )
    return context
