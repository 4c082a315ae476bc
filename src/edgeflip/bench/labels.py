"""Labels are true: a column with a published name runs the published method, and says what differs."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

from edgeflip.errors import ConfigError
from edgeflip.explainers import (
    DRCFGNN,
    CounterfactualExplainer,
    PublishedCode,
    explainer_class,
    list_explainers,
)
from edgeflip.presets import preset_name

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
    """Settings in which a column with a published name differs from the published ones.

    Example:
        >>> explainer = DRCFGNN.for_dataset("ba_2motifs", overrides={"denoise": False})
        >>> differing_settings("dr-cfgnn -DeN +OH", explainer, "ba_2motifs")
        ('predictor', 'training')
    """
    published = _published(label, dataset)
    own: Any = explainer.config
    if published is None or type(published) is not type(own):
        return ()
    names = [item.name for item in fields(own)]
    return tuple(name for name in names if getattr(published, name) != getattr(own, name))


def check_label(
    label: str, explainer: CounterfactualExplainer[Any], dataset: str, *, chemistry: bool = False
) -> None:
    """Refuse a published label for anything but the published method.

    Args:
        label: The label of a column.
        explainer: What the column runs.
        dataset: On which dataset.
        chemistry: Whether molecules must stay possible molecules, which the paper does not ask for.

    Raises:
        ConfigError: Saying what the column would run.
    """
    meant = _KNOWN.get(_plain(label))
    if meant is not None and meant != label:
        raise ConfigError(
            f"expected the label '{meant}' in that spelling, got '{label}', which reads the same; correct "
            "it or choose another label."
        )
    if label in list_explainers() and explainer.name != label:
        raise ConfigError(
            f"expected the label '{label}' to stand for that method, got '{explainer.name}'; choose another "
            "label."
        )
    if _VARIANT.fullmatch(label) is None:
        return
    if not isinstance(explainer, DRCFGNN):
        raise ConfigError(
            f"expected the label '{label}' to stand for the paper's method 'dr-cfgnn', got "
            f"'{explainer.name}'; choose another label."
        )
    wrong = [n for n in differing_settings(label, explainer, dataset) if n not in MAY_DIFFER]
    wrong += ["chemistry"] if chemistry else []
    if wrong:
        raise ConfigError(
            f"expected '{label}' on {dataset} to differ from the published settings at most in "
            f"{', '.join(MAY_DIFFER)}, got another {', '.join(wrong)}; correct the settings or the label."
        )


def _plain(label: str) -> str:
    """A label as people read it: case, spaces and kinds of dashes do not matter."""
    return "".join(label.split()).casefold().translate(_DASHES)


_DASHES = str.maketrans(dict.fromkeys("‐‑‒–—−", "-") | {"²": "2"})

# The paper's columns and their names in tables, each by how it reads.
_KNOWN = {
    **{_plain(name): name for name in PUBLISHED},
    **{_plain(f"{name} (code)"): f"{name} (code)" for name in VARIANTS},
}


def _published(label: str, dataset: str) -> Any:
    """The published settings of the column that a label names."""
    if label in PUBLISHED and label not in VARIANTS:
        return explainer_class(label).for_dataset(preset_name(dataset), profile="paper").config
    found = _VARIANT.fullmatch(label)
    if found is None:
        return None
    denoise, one_hot, code = found.groups()
    overrides = {
        "denoise": denoise == "+",
        "one_hot": one_hot == "+",
        "published_code": PublishedCode() if code else None,
    }
    return DRCFGNN.for_dataset(preset_name(dataset), profile="paper", overrides=overrides).config
