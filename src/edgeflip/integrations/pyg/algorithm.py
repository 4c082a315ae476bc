"""Any explainer of edgeflip as an algorithm of PyG's `Explainer`."""

from __future__ import annotations

import copy
from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Unpack, cast

import torch
from torch import Tensor, nn
from torch_geometric.explain import ExplainerAlgorithm
from torch_geometric.explain.config import (
    ExplainerConfig,
    ExplanationType,
    MaskType,
    ModelConfig,
    ModelMode,
    ModelTaskLevel,
)

from edgeflip.errors import (
    ConfigError,
    ConstraintError,
    EditError,
    GraphError,
    NotApplicableError,
    NotFittedError,
    TargetError,
    shown,
    unknown_name,
)
from edgeflip.explainers import (
    OPTIONS,
    CounterfactualExplainer,
    ExplainOptions,
    check_method,
    make_explainer,
)
from edgeflip.integrations.pyg.explanation import (
    EditExplanation,
    Told,
    explanation_of,
    is_taken,
)
from edgeflip.integrations.pyg.inputs import Inputs, labels_of, oracle_for, read
from edgeflip.oracle import Budget, MeteredOracle, ModelOracle, ValueGoal
from edgeflip.search import CounterfactualSet

# How far PyG's prediction and the oracle's may be apart; batch size alone moves the last digits.
_TOLERANCE = 1e-3


class NotSupportedError(NotApplicableError, ValueError):
    """Settings of PyG's `Explainer` that an algorithm cannot work with; PyG promises a `ValueError`."""


class CounterfactualAlgorithm(ExplainerAlgorithm):  # type: ignore[misc]  # PyG has no types
    """Which few edges would have to come or go, as an algorithm of PyG's `Explainer`.

    It explains models of whole graphs with `edge_mask_type="object"`. With `batch=` every graph of the
    batch gets an answer of its own, or those that `index=` names. The masks show the smallest edits that
    were found; where a ranking is asked for, those that rank first.

    The wanted class belongs here: PyG ignores the `target` of a call with `explanation_type="model"`.
    With `"phenomenon"`, `target` is what is true of each graph: where the model is right, edits lead it
    away from there, and where it is wrong, they lead it there, so that PyG's fidelity+ is 1 for edits
    that only remove. A target that is named here stands above that.

    Args:
        explainer: The name of a method that needs no training graphs, or an explainer that was fitted on
            the same model.
        class_names: Names of the classes, for a method by name.
        options: As for `CounterfactualExplainer.explain`: target, constraints, budget, fill, seed, …

    Example:
        >>> from torch_geometric.explain import Explainer
        >>> from edgeflip.testing import example_graphs, example_oracle
        >>> explainer = Explainer(
        ...     example_oracle().model,
        ...     CounterfactualAlgorithm("edgeflip"),
        ...     explanation_type="model",
        ...     edge_mask_type="object",
        ...     model_config={
        ...         "mode": "multiclass_classification",
        ...         "task_level": "graph",
        ...         "return_type": "raw",
        ...     },
        ... )
        >>> graph = example_graphs(1, seed=4)[0]
        >>> explanation = explainer(graph.x, graph.edge_index)
        >>> explanation.cf_found.tolist(), explanation.added_edge_index.size(1)
        ([True], 2)
    """

    def __init__(
        self,
        explainer: CounterfactualExplainer[Any] | str = "edgeflip",
        *,
        class_names: Sequence[str] | None = None,
        **options: Unpack[ExplainOptions],
    ) -> None:
        super().__init__()
        if isinstance(explainer, str):
            check_method(explainer)
        elif not isinstance(explainer, CounterfactualExplainer):
            if isinstance(explainer, type):
                got, instead = f"the class {explainer.__name__}", f"{explainer.__name__}()"
            else:
                got, instead = type(explainer).__name__, '"edgeflip"'
            raise ConfigError(
                f"expected an explainer of edgeflip or the name of one, got {got}; write {instead}."
            )
        elif _is_fitted(explainer) and class_names is not None:
            raise ConfigError(
                "expected class_names with the name of a method, got them with a fitted explainer; give "
                "them to its oracle."
            )
        for name in options:
            if name not in OPTIONS:
                raise unknown_name("keyword", name, [*OPTIONS, "class_names"])
        if not isinstance(options.get("target"), Hashable):
            raise TargetError(
                f"expected one target for all graphs, got {shown(options['target'])}; make an algorithm for "
                "each target, and name its graphs with index=."
            )
        self.explainer = explainer
        self.class_names = None if class_names is None else tuple(class_names)
        self.options = options
        # An explainer before fit; reading its settings takes longer than a small graph.
        self._bare: CounterfactualExplainer[Any] | None = None

    def supports(self) -> bool:
        """Whether it can work with the settings of PyG's `Explainer`; a sentence says what it cannot.

        Raises:
            NotSupportedError: If it cannot.
        """
        check_level(self.model_config)
        settings: ExplainerConfig = self.explainer_config
        if settings.edge_mask_type != MaskType.object or settings.node_mask_type is not None:
            got = "none" if settings.edge_mask_type is None else "a node_mask_type too"
            raise NotSupportedError(
                f"expected edge_mask_type='object' and no node_mask_type, got {got}; edits are about edges."
            )
        if self.model_config.mode == ModelMode.regression and self.options.get("target") is None:
            raise NotSupportedError(
                "expected a target for a model of values, got none; write CounterfactualAlgorithm(…, "
                'target=">0.5"), "<0.5", "+0.3" or "-0.3".'
            )
        return True

    def forward(
        self,
        model: nn.Module,
        x: Tensor,
        edge_index: Tensor,
        *,
        target: Tensor,
        index: int | Tensor | None = None,
        **keywords: Any,
    ) -> EditExplanation:
        """The edits of every graph; PyG's `Explainer` calls this.

        Args:
            model: The model that is explained.
            x: Node features.
            edge_index: Undirected edges, both directions of each.
            target: What PyG explains: the prediction, or with `"phenomenon"` what is true.
            index: The graphs of a batch that are explained.
            keywords: All further arguments of the model.
        """
        taken = next(filter(is_taken, keywords), None)
        if taken is not None:
            raise NotSupportedError(
                f"expected keywords of the model that an explanation has no use for, got '{taken}'; rename "
                "it in the model's forward."
            )
        inputs = Inputs.of(x, edge_index, keywords)
        prediction = inputs.ask(model)
        outputs = read(prediction, inputs.count, self.model_config)
        explainer = self._explainer_for(model, inputs, prediction)
        wanted = self._targets(inputs, inputs.chosen(index), target, outputs)
        by_target: dict[Any, list[int]] = defaultdict(list)
        for place, each in wanted.items():
            by_target[each].append(place)
        found: dict[int, Told] = {}
        ranked = (
            self.options.get("ranking") is not None
            or explainer.ranking != type(explainer).default_ranking
        )
        for each, places in by_target.items():
            options: Any = {**self.options, "target": each}
            answers = _answers(explainer, inputs, places, options)
            for place, answer in zip(places, answers, strict=True):
                _check_same(answer.output, outputs[place])
                found[place] = Told(answer, answer.best if ranked else answer.smallest)
        explanation = explanation_of(inputs, {place: found[place] for place in sorted(found)})
        changed = {name: explanation[f"cf_{name}"] for name in inputs.names("edge")}
        explanation.cf_prediction = inputs.ask(model, explanation.cf_edge_index, changed)
        return explanation

    def __repr__(self) -> str:
        """The method and what was asked of it."""
        name = self.explainer if isinstance(self.explainer, str) else self.explainer.name
        given = "".join(f", {key}={value!r}" for key, value in self.options.items())
        return f"{type(self).__name__}({name!r}{given})"

    def _explainer_for(
        self, model: nn.Module, inputs: Inputs, prediction: Tensor
    ) -> CounterfactualExplainer[Any]:
        """The explainer, fitted on the model; one that was not is fitted without graphs."""
        given = self.explainer
        if not isinstance(given, str) and _is_fitted(given):
            _check_model(given, model)
            return given
        oracle = oracle_for(model, inputs, prediction, self.model_config, self.class_names)
        if self._bare is None:
            self._bare = make_explainer(given) if isinstance(given, str) else given
        # Each call has a model with arguments of its own; what was passed stays as it is.
        made = copy.copy(self._bare)
        try:
            return made.fit([], oracle)
        except GraphError as error:
            raise NotFittedError(
                f"expected a fitted explainer for '{made.name}', which learns from graphs, got one before "
                "fit; pass CounterfactualAlgorithm(make_explainer(name).fit(graphs, model))."
            ) from error

    def _targets(
        self, inputs: Inputs, places: Sequence[int], target: Any, outputs: Tensor
    ) -> Mapping[int, Any]:
        """What is wanted of each graph, as `explain` takes it."""
        wanted = self.options.get("target")
        if self.model_config.mode == ModelMode.regression:
            there = [place for place in places if not _can_be_asked(wanted, outputs[place])]
            # Where none can be asked, the target itself may be the reason.
            if there and len(there) < len(places):
                raise TargetError(
                    f"expected graphs whose value is not {wanted!r} yet, got {there} of the batch; name the "
                    "others with index=."
                )
            return dict.fromkeys(places, wanted)
        predicted = outputs.argmax(dim=1).tolist()
        if wanted is not None:
            names = self.class_names or ()
            number = names.index(wanted) if wanted in names else wanted
            there = [place for place in places if predicted[place] == number]
            if there and len(places) > 1:
                raise TargetError(
                    f"expected graphs that are not predicted {wanted!r} yet, got {there} of the batch; "
                    "name the others with index=."
                )
            return dict.fromkeys(places, wanted)
        if self.explainer_config.explanation_type == ExplanationType.model:
            return dict.fromkeys(places)
        labels = labels_of(target, inputs, outputs.size(1))
        return {
            place: None if labels[place] == predicted[place] else labels[place] for place in places
        }


def check_level(config: ModelConfig) -> None:
    """Refuse models of nodes and links."""
    if config.task_level != ModelTaskLevel.graph:
        raise NotSupportedError(
            f"expected a model of whole graphs (task_level='graph'), got task_level="
            f"'{config.task_level.value}'; wrap the model so that it returns the one row that you mean."
        )


def _answers(
    explainer: CounterfactualExplainer[Any],
    inputs: Inputs,
    places: Sequence[int],
    options: Mapping[str, Any],
) -> Sequence[CounterfactualSet]:
    """An answer for each graph; one that cannot be asked about is named."""
    graphs = [inputs.graph(place) for place in places]
    try:
        return explainer.explain_many(graphs, **options)
    except (ConstraintError, EditError, GraphError) as error:
        if inputs.count == 1:
            raise
        briefly: Any = {**options, "budget": Budget(oracle_calls=1)}
        for place, graph in zip(places, graphs, strict=True):
            try:
                explainer.explain_many([graph], **briefly)
            except type(error) as own:
                raise type(error)(
                    f"{str(own).rstrip('.')} (graph {place} of the batch; index= names the others)."
                ) from error
        raise


def _can_be_asked(target: Any, values: Tensor) -> bool:
    """Whether values leave something to ask for."""
    try:
        ValueGoal.asked(target, values.tolist())
    except TargetError:
        return False
    return True


def _is_fitted(explainer: CounterfactualExplainer[Any]) -> bool:
    return hasattr(explainer, "oracle_")


def _check_model(explainer: CounterfactualExplainer[Any], model: nn.Module) -> None:
    """Refuse an explainer that was fitted on another model."""
    oracle: Any = explainer.oracle_
    if isinstance(oracle, MeteredOracle):
        oracle = oracle.oracle
    if not isinstance(oracle, ModelOracle) or oracle.model is model:
        # What foreign oracles say is compared with what the model says.
        return
    if oracle.fingerprint() != ModelOracle(model, call="data").fingerprint():
        raise NotApplicableError(
            f"expected an explainer fitted on the model of the Explainer, got one fitted on another "
            f"{type(oracle.model).__name__}; fit it on this model."
        )


def _check_same(answered: Sequence[float], predicted: Tensor) -> None:
    """Refuse an oracle that reads the model in another way than PyG does."""
    said = torch.tensor(answered)
    scale = predicted.abs().clamp(min=1.0)
    if said.shape != predicted.shape or bool(((said - predicted).abs() / scale > _TOLERANCE).any()):
        raise NotApplicableError(
            f"expected the explainer's oracle to say what the model says, {_figures(predicted)}, got "
            f"{_figures(said)}; fit the explainer on ModelOracle(model, returns=…) as return_type says."
        )


def _figures(output: Tensor) -> str:
    return "(" + ", ".join(f"{value:.3f}" for value in cast(list[float], output.tolist())) + ")"
