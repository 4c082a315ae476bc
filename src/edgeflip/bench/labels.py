"""Labels are true: a column with a published name runs the published method, and says what differs."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from edgeflip.errors import ConfigError
from edgeflip.explainers import DRCFGNN, CounterfactualExplainer, DRCFGNNConfig, PublishedCode

VARIANTS = (
    "dr-cfgnn -DeN -OH",
    "dr-cfgnn +DeN -OH",
    "dr-cfgnn -DeN +OH",
    "dr-cfgnn +DeN +OH",
)
"""The paper's four variants, as its tables name them."""

PUBLISHED = ("random", "gcfexplainer", "cf2", "d4explainer", "rsgg-ce", "gist", *VARIANTS)
"""All columns of the paper's tables, in their order."""

MAY_DIFFER = ("predictor", "training", "iterations", "seconds")
"""In these settings alone a column with the paper's name may differ from the published ones."""

_VARIANT = re.compile(r"dr-cfgnn ([+-])DeN ([+-])OH( \(code\))?")


def differing_settings(
    label: str, explainer: CounterfactualExplainer[Any], dataset: str
) -> tuple[str, ...]:
    """Settings in which a column of the paper's method differs from the published ones.

    Example:
        >>> explainer = DRCFGNN.for_dataset("ba_2motifs", overrides={"denoise": False})
        >>> differing_settings("dr-cfgnn -DeN +OH", explainer, "ba_2motifs")
        ('predictor', 'training')
    """
    published = _published(label, dataset)
    if published is None or not isinstance(explainer, DRCFGNN):
        return ()
    names = [item.name for item in fields(DRCFGNNConfig)]
    return tuple(n for n in names if getattr(published, n) != getattr(explainer.config, n))


def check_label(label: str, explainer: CounterfactualExplainer[Any], dataset: str) -> None:
    """Refuse a published label for anything but the published method.

    Raises:
        ConfigError: Saying what the column would run.
    """
    if label in PUBLISHED and label not in VARIANTS and explainer.name != label:
        raise ConfigError(
            f"expected the label '{label}' to stand for that method, got '{explainer.name}'; choose a label "
            "that the paper does not have."
        )
    if _VARIANT.fullmatch(label) is None:
        return
    if not isinstance(explainer, DRCFGNN):
        raise ConfigError(
            f"expected the label '{label}' to stand for the paper's method 'dr-cfgnn', got "
            f"'{explainer.name}'; choose another label."
        )
    wrong = [n for n in differing_settings(label, explainer, dataset) if n not in MAY_DIFFER]
    if wrong:
        raise ConfigError(
            f"expected '{label}' on {dataset} to differ from the published settings at most in "
            f"{', '.join(MAY_DIFFER)}, got another {', '.join(wrong)}; correct the settings or the label."
        )


def _published(label: str, dataset: str) -> DRCFGNNConfig | None:
    """The published settings of the variant that a label names."""
    found = _VARIANT.fullmatch(label)
    if found is None:
        return None
    denoise, one_hot, code = found.groups()
    overrides = {
        "denoise": denoise == "+",
        "one_hot": one_hot == "+",
        "published_code": PublishedCode() if code else None,
    }
    return DRCFGNN.for_dataset(dataset, profile="paper", overrides=overrides).config
