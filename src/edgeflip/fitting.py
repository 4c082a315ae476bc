"""Explainers that are fitted once and found again: by what shaped them, never by name alone."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from edgeflip.base import CounterfactualExplainer
from edgeflip.datasets import DatasetBundle
from edgeflip.oracle import ModelOracle
from edgeflip.storage import checksum


def fitted_explainer(
    explainer: CounterfactualExplainer[Any],
    bundle: DatasetBundle,
    oracle: ModelOracle,
    folder: Path,
    *,
    seed: int = 0,
) -> CounterfactualExplainer[Any]:
    """An explainer fitted on a dataset's training graphs, read from disk when it was fitted before.

    Args:
        explainer: An explainer with its settings.
        bundle: The dataset.
        oracle: The oracle to explain.
        folder: Where fitted explainers are kept, each under a name made of everything that shaped it.
        seed: Seed of the fit.
    """
    if not explainer.learns:
        return explainer.fit(bundle.train, oracle, seed=seed)
    shaped_by = {
        "config": asdict(explainer.config),
        "oracle": oracle.fingerprint(),
        "dataset": [bundle.name, bundle.card.origin],
        "seed": seed,
    }
    place = folder / f"{explainer.name}-{checksum(shaped_by)[:10]}"
    if (place / "config.json").exists():
        return type(explainer).load(place, oracle)
    explainer.fit(bundle.train, oracle, seed=seed)
    explainer.save(place)
    return explainer
