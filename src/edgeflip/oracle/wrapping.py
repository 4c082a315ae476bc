"""Whatever people pass as a model, as an oracle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import nn

from edgeflip.errors import ConfigError
from edgeflip.oracle.model import ModelOracle


def as_oracle(model: Any, *, class_names: Sequence[str] | None = None) -> Any:
    """A model as an oracle; what is one already stays as it is.

    Args:
        model: An oracle, or whatever `ModelOracle` takes: a torch module or a function of graphs.
        class_names: Names of the classes, for a model that has none yet.

    Raises:
        ConfigError: If it is neither, or an oracle is given names it cannot take.

    Example:
        >>> from edgeflip.oracle import GCNClassifier
        >>> as_oracle(GCNClassifier(num_features=3, num_classes=2)).num_classes
        2
    """
    names = dir(model)
    asks_classes = hasattr(type(model), "predict_proba") and "num_classes" in names
    if asks_classes or (hasattr(type(model), "predict_values") and "num_outputs" in names):
        if class_names is not None:
            raise ConfigError(
                "expected class_names with a model, got them with an oracle; give them to the oracle."
            )
        return model
    if isinstance(model, nn.Module) or callable(model):
        known = getattr(getattr(model, "config", None), "num_classes", None)
        number = known if isinstance(known, int) else None
        return ModelOracle(model, num_classes=number, class_names=class_names)
    raise ConfigError(
        f"expected a model (a torch module or a function of graphs) or an oracle with num_classes and "
        f"predict_proba, got {type(model).__name__}; pass the trained model itself."
    )
