"""Explainers that are fitted once and found again: by what shaped them, never by name alone."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from edgeflip.core import fingerprint
from edgeflip.datasets import DatasetBundle
from edgeflip.explainers import CounterfactualExplainer
from edgeflip.oracle import ModelOracle
from edgeflip.support import checksum, code_version, read_json, write_json

_DONE = "fit.json"


@dataclass(frozen=True)
class Fit:
    """A fitted explainer and what fitting it took, now or when it was done.

    Attributes:
        explainer: The explainer, ready to explain.
        seconds: Wall-clock seconds of the fit.
        cpu_seconds: Its CPU seconds.
    """

    explainer: CounterfactualExplainer[Any]
    seconds: float
    cpu_seconds: float


def fit_once(
    explainer: CounterfactualExplainer[Any],
    bundle: DatasetBundle,
    oracle: ModelOracle,
    folder: Path,
    *,
    seed: int = 0,
    with_validation: bool = False,
) -> Fit:
    """An explainer fitted on a dataset's training graphs, read from disk when it was fitted before.

    Args:
        explainer: An explainer with its settings.
        bundle: The dataset.
        oracle: The oracle to explain.
        folder: Where fitted explainers are kept, each under a name made of everything that shaped it:
            the graphs, the oracle's weights, the settings of its fit, the seed and the code.
        seed: Seed of the fit.
        with_validation: Whether it learns from the validation graphs too, as published; only for
            explaining test graphs.
    """
    graphs = [*bundle.train, *bundle.val] if with_validation else bundle.train
    if not explainer.learns:
        return Fit(explainer.fit(graphs, oracle, seed=seed), 0.0, 0.0)
    shaped_by = {
        "settings": explainer.fit_settings(),
        "oracle": oracle.fingerprint(),
        "graphs": data_checksum(graphs),
        "seed": seed,
        "code": code_version(),
    }
    place = folder / f"{explainer.name}-{checksum(shaped_by)[:16]}"
    if (place / _DONE).exists():
        times = read_json(place / _DONE)
        fitted = explainer.restore(place, oracle)
        return Fit(fitted, float(times["seconds"]), float(times["cpu_seconds"]))
    started, cpu_started = time.perf_counter(), time.process_time()
    explainer.fit(graphs, oracle, seed=seed)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    explainer.save(place)
    write_json(place / _DONE, {"seconds": seconds, "cpu_seconds": cpu_seconds})
    return Fit(explainer, seconds, cpu_seconds)


def fitted_explainer(
    explainer: CounterfactualExplainer[Any],
    bundle: DatasetBundle,
    oracle: ModelOracle,
    folder: Path,
    *,
    seed: int = 0,
) -> CounterfactualExplainer[Any]:
    """`fit_once`, when only the explainer is wanted."""
    return fit_once(explainer, bundle, oracle, folder, seed=seed).explainer


def data_checksum(graphs: Sequence[Data]) -> str:
    """A checksum of graphs in their order."""
    digest = hashlib.sha256()
    for graph in graphs:
        digest.update(fingerprint(graph).encode())
    return digest.hexdigest()
