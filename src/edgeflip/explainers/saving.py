"""Explainers on disk: what was learned, with the settings and the oracle it belongs to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torch import Tensor

from edgeflip.errors import ArtifactError, ConfigError
from edgeflip.explainers.checking import fingerprint_of, knows_columns, ranking_words
from edgeflip.oracle import Oracle, outputs_of
from edgeflip.search import ranking_name
from edgeflip.support import STRICT, read_artifact, read_settings, write_artifact

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer

_KIND = "explainer"


@dataclass(frozen=True)
class SavedExplainer:
    """What is written of an explainer beside what it learned."""

    __pydantic_config__ = STRICT

    method: str
    config: Mapping[str, Any]
    seed: int
    ranking: str
    ranking_name: str | None
    num_features: int | None
    num_classes: int | None
    oracle: str


@dataclass(frozen=True, eq=False)
class SavedState:
    """What an explainer needs to go on where it was saved."""

    tensors: Mapping[str, Tensor]
    seed: int
    num_features: int | None


def save_explainer(
    explainer: CounterfactualExplainer[Any], folder: str | Path, state: Mapping[str, Tensor]
) -> Path:
    """Write settings and what was learned."""
    config = {
        "method": explainer.name,
        "config": asdict(explainer.config),
        "seed": explainer.seed_,
        "ranking": ranking_words(explainer.ranking),
        "ranking_name": ranking_name(explainer.ranking),
        "num_features": explainer.num_features_,
        "num_classes": outputs_of(explainer.oracle_),
        "oracle": fingerprint_of(explainer.oracle_),
    }
    return write_artifact(folder, kind=_KIND, config=config, tensors=state)


def read_saved(
    kind: type[CounterfactualExplainer[Any]], folder: str | Path
) -> tuple[Any, str | None, str]:
    """Settings of a saved explainer, the name of its ranking, and that ranking in words."""
    saved, _ = _read(folder)
    _check_method(kind, saved, folder)
    where = f"the saved '{kind.name}'"
    settings = read_settings(kind.config_type, saved.config, where=where)
    return settings, saved.ranking_name, saved.ranking


def saved_method(folder: str | Path) -> str:
    """The name of the method that was saved in a folder."""
    return _read(folder)[0].method


def _read(folder: str | Path) -> tuple[SavedExplainer, dict[str, Tensor]]:
    config, tensors = read_artifact(folder, kind=_KIND)
    where = f"a saved explainer in {folder}"
    return read_settings(SavedExplainer, config, where=where, error=ArtifactError), tensors


def saved_state(
    explainer: CounterfactualExplainer[Any], folder: str | Path, oracle: Oracle
) -> SavedState:
    """What a saved explainer learned; refused for another method or oracle."""
    saved, tensors = _read(folder)
    _check_method(type(explainer), saved, folder)
    if knows_columns(oracle) and saved.num_classes != outputs_of(oracle):
        raise ConfigError(
            f"expected an oracle with {saved.num_classes} classes, as the saved explainer had, "
            f"got {outputs_of(oracle)}."
        )
    if saved.oracle != fingerprint_of(oracle):
        raise ConfigError(
            f"expected the oracle that the explainer in {folder} was fitted on, got another "
            "(its weights differ); fit the explainer again."
        )
    return SavedState(tensors, saved.seed, saved.num_features)


def _check_method(
    kind: type[CounterfactualExplainer[Any]], saved: SavedExplainer, folder: str | Path
) -> None:
    if saved.method != kind.name:
        raise ConfigError(
            f"expected a saved '{kind.name}', got '{saved.method}' in {folder}; "
            "use load_explainer to read any."
        )


def forget_learned(explainer: CounterfactualExplainer[Any]) -> None:
    """Take away what `fit` set: all attributes that end in `_`."""
    learned = [key for key in vars(explainer) if key.endswith("_") and not key.startswith("_")]
    for attribute in learned:
        delattr(explainer, attribute)
