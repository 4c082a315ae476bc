"""Whatever people pass as a model, as an oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from torch import nn

from edgeflip.errors import ConfigError
from edgeflip.oracle.joint import JointOracle
from edgeflip.oracle.model import Model, ModelOracle
from edgeflip.oracle.outputs import Task
from edgeflip.oracle.protocols import Oracle, gives_values
from edgeflip.support import checked_call

AnyModel: TypeAlias = Oracle | Model | Sequence[Oracle | Model]
"""What people may pass as a model: one, or a list of several that are asked as one."""


@checked_call()
def as_oracle(
    model: Any, *, class_names: Sequence[str] | None = None, task: Task | None = None
) -> Any:
    """A model as an oracle; what is one already stays as it is.

    Args:
        model: An oracle, whatever `ModelOracle` takes (a torch module or a function of graphs), or an
            object whose `predict_proba` takes a list of graphs, as in scikit-learn. A list of these is
            one oracle too, see `JointOracle`.
        class_names: Names of the classes, for a model that has none yet.
        task: `"regression"` for a model that gives values.

    Raises:
        ConfigError: If it is none of these, or an oracle is given what it cannot take.

    Example:
        >>> from edgeflip.oracle import GCNClassifier
        >>> as_oracle(GCNClassifier(num_features=3, num_classes=2)).num_classes
        2
    """
    if isinstance(model, list | tuple):
        members = [as_oracle(each, class_names=class_names, task=task) for each in model]
        return JointOracle(tuple(members))
    names = dir(model)
    asks_classes = hasattr(type(model), "predict_proba") and "num_classes" in names
    if asks_classes or (hasattr(type(model), "predict_values") and "num_outputs" in names):
        _check_given(model, class_names, task)
        return model
    chosen: Task = "classification" if task is None else task
    if isinstance(model, nn.Module) or callable(model):
        known = getattr(getattr(model, "config", None), "num_classes", None)
        number = known if isinstance(known, int) and chosen == "classification" else None
        return ModelOracle(model, num_classes=number, class_names=class_names, task=chosen)
    asks = getattr(model, "predict" if chosen == "regression" else "predict_proba", None)
    if callable(asks) and not isinstance(model, type):
        returns: Any = "logits" if chosen == "regression" else "probabilities"
        return ModelOracle(asks, returns=returns, class_names=class_names, task=chosen)
    raise ConfigError(
        f"expected a model (a torch module, a function of graphs or an object with predict_proba) or an "
        f"oracle with num_classes and predict_proba, got {_named(model)}; pass the trained model itself."
    )


def _check_given(oracle: Any, class_names: Sequence[str] | None, task: Task | None) -> None:
    """Refuse what belongs to a model when an oracle came."""
    if class_names is not None:
        raise ConfigError(
            "expected class_names with a model, got them with an oracle; give them to the oracle."
        )
    if task is not None and gives_values(oracle) != (task == "regression"):
        raise ConfigError(
            f"expected an oracle for the task, got {type(oracle).__name__} for another than '{task}'; "
            "make it with ModelOracle(model, task=...)."
        )


def _named(model: Any) -> str:
    return f"the class {model.__name__}" if isinstance(model, type) else type(model).__name__
