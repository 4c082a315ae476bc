"""Explainers by name: ours as strings, so that nothing is imported early, others by entry point."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Any

from edgeflip.errors import ConfigError, unknown_name

if TYPE_CHECKING:
    from edgeflip.explainers.base import CounterfactualExplainer
    from edgeflip.oracle import Model, Oracle
    from edgeflip.search import Ranking

EXPLAINERS: Mapping[str, str] = {
    "c2explainer": "edgeflip.explainers.c2explainer:C2Explainer",
    "cf-gnnexplainer": "edgeflip.explainers.cf_gnnexplainer:CFGNNExplainer",
    "cf2": "edgeflip.explainers.cf2:CF2",
    "d4explainer": "edgeflip.explainers.d4explainer:D4Explainer",
    "dr-cfgnn": "edgeflip.explainers.dr_cfgnn:DRCFGNN",
    "edgeflip": "edgeflip.explainers.edgeflip:EdgeFlip",
    "gcfexplainer": "edgeflip.explainers.gcfexplainer:GCFExplainer",
    "gist": "edgeflip.explainers.gist:GIST",
    "random": "edgeflip.explainers.random_search:RandomSearch",
    "rsgg-ce": "edgeflip.explainers.rsgg_ce:RSGG",
    "xplore": "edgeflip.explainers.xplore:XPlore",
}

ENTRY_POINTS = "edgeflip.explainers"
"""Group under which other packages register explainers."""


def list_explainers() -> list[str]:
    """Names of all explainers, ours and those of installed packages.

    Example:
        >>> "random" in list_explainers()
        True
    """
    return sorted({*EXPLAINERS, *_foreign()})


def explainer_class(name: str) -> type[CounterfactualExplainer[Any]]:
    """The class of an explainer, by a name in any case and with `-` or `_`.

    Raises:
        UnknownNameError: With the nearest name there is.
    """
    check_method(name)
    wanted = _spelt(name)
    if wanted in EXPLAINERS:
        module, attribute = EXPLAINERS[wanted].split(":")
        found: type[CounterfactualExplainer[Any]] = getattr(import_module(module), attribute)
        return found
    try:
        loaded: type[CounterfactualExplainer[Any]] = _foreign()[wanted].load()
    except Exception as error:
        raise ConfigError(
            f"expected the installed explainer '{name}' to load, got {type(error).__name__}: {error}; "
            "repair or remove the package that brings it."
        ) from error
    return loaded


def check_method(name: str) -> None:
    """Refuse the name of a method that does not exist; none is loaded.

    Raises:
        UnknownNameError: With the nearest name there is.
    """
    if not isinstance(name, str) or _spelt(name) not in list_explainers():
        raise unknown_name("method", str(name), list_explainers())


def make_explainer(
    name: str,
    *,
    dataset: str | None = None,
    profile: str = "cpu",
    overrides: Mapping[str, Any] | None = None,
    ranking: Ranking | str | None = None,
) -> CounterfactualExplainer[Any]:
    """An explainer by name, with the preset of a dataset.

    Args:
        name: One of `list_explainers()`.
        dataset: Dataset whose preset to use; None for settings that suit any data.
        profile: `"paper"`, `"cpu"` or `"smoke"`.
        overrides: Settings that replace the preset's.
        ranking: How counterfactuals are scored; the method's own ranking when left out.

    Example:
        >>> make_explainer("random", dataset="ba_3motifs").config.max_added
        5
    """
    return explainer_class(name).for_dataset(
        dataset, profile=profile, overrides=overrides, ranking=ranking
    )


def load_explainer(folder: str | Path, oracle: Oracle | Model) -> CounterfactualExplainer[Any]:
    """Read any explainer that `save` wrote, for the same oracle."""
    from edgeflip.explainers.saving import saved_method

    return explainer_class(saved_method(folder)).load(folder, oracle)


def _spelt(name: str) -> str:
    return name.strip().lower().replace("_", "-")


def _foreign() -> dict[str, Any]:
    return {point.name: point for point in entry_points(group=ENTRY_POINTS)}
