"""Explainers that are fitted once and found again: by what shaped them, never by name alone."""

from __future__ import annotations

import hashlib
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from torch_geometric.data import Data

from edgeflip.core import fingerprint
from edgeflip.datasets import DatasetBundle
from edgeflip.explainers import CounterfactualExplainer, LinkExplainer
from edgeflip.links import LinkModel, LinkSettings, fit_links
from edgeflip.oracle import ModelOracle
from edgeflip.support import checksum, code_version, read_json, write_json

_DONE = "fit.json"
_CHECKPOINT = "training"


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
    graphs: Sequence[Data] | None = None,
) -> Fit:
    """An explainer fitted on a dataset's training graphs, read from disk when it was fitted before.

    Methods that ask a link predictor share one: it is trained once for settings, data and seed. A fit that
    was killed goes on where it was, for methods that can (`resumes`).

    Args:
        explainer: An explainer with its settings.
        bundle: The dataset.
        oracle: The oracle to explain.
        folder: Where fitted explainers are kept, each under a name made of everything that shaped it:
            the graphs, the oracle's weights, the settings of its fit, the seed and the code.
        seed: Seed of the fit.
        with_validation: Whether it learns from the validation graphs too, as published; only for
            explaining test graphs.
        graphs: What it learns from instead; only for a method that was published so.
    """
    if graphs is None:
        graphs = [*bundle.train, *bundle.val] if with_validation else bundle.train
    if not explainer.learns:
        return Fit(explainer.fit(graphs, oracle, seed=seed), 0.0, 0.0)
    if isinstance(explainer, LinkExplainer) and explainer.links is None:
        return _fit_on_links(explainer, graphs, oracle, folder, seed)
    folder = _place(explainer.name, explainer.fit_settings(), graphs, oracle, folder, seed)
    if (folder / _DONE).exists():
        times = read_json(folder / _DONE)
        fitted = explainer.restore(folder, oracle)
        return Fit(fitted, float(times["seconds"]), float(times["cpu_seconds"]))
    if explainer.resumes:
        explainer.checkpoint = folder / _CHECKPOINT
    started, cpu_started = time.perf_counter(), time.process_time()
    explainer.fit(graphs, oracle, seed=seed)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    # What it took before it was killed counts too.
    earlier, cpu_earlier = getattr(explainer, "earlier_", (0.0, 0.0))
    seconds, cpu_seconds = seconds + earlier, cpu_seconds + cpu_earlier
    explainer.save(folder)
    write_json(folder / _DONE, {"seconds": seconds, "cpu_seconds": cpu_seconds})
    shutil.rmtree(folder / _CHECKPOINT, ignore_errors=True)
    return Fit(explainer, seconds, cpu_seconds)


@dataclass(frozen=True, eq=False)
class LinkFit:
    """A link model and what training it took, now or when it was done."""

    links: LinkModel
    seconds: float
    cpu_seconds: float


def links_once(
    settings: LinkSettings,
    graphs: Sequence[Data],
    oracle: ModelOracle,
    folder: Path,
    *,
    seed: int = 0,
    progress: bool = False,
    **knowledge: Any,
) -> LinkFit:
    """A link model trained on graphs, read from disk when it was trained before.

    Args:
        settings: Its shape and training.
        graphs: What it learns from.
        oracle: Whose classes count where graphs have none of their own.
        folder: Where trained models are kept.
        seed: Seed of the training.
        progress: Whether a progress bar is shown.
        knowledge: `required_edges` and `forbidden_pairs`, as for `fit_links`.
    """
    words = {name: repr(value) for name, value in knowledge.items() if value is not None}
    folder = _place("links", {**asdict(settings), **words}, graphs, oracle, folder, seed)
    if (folder / _DONE).exists():
        times = read_json(folder / _DONE)
        links = LinkModel.load(folder)
        return LinkFit(links, float(times["seconds"]), float(times["cpu_seconds"]))
    started, cpu_started = time.perf_counter(), time.process_time()
    links = fit_links(graphs, oracle, settings, seed=seed, progress=progress, **knowledge)
    seconds, cpu_seconds = time.perf_counter() - started, time.process_time() - cpu_started
    if links.report.stopped == "interrupted":
        raise KeyboardInterrupt
    links.save(folder)
    write_json(folder / _DONE, {"seconds": seconds, "cpu_seconds": cpu_seconds})
    return LinkFit(links, seconds, cpu_seconds)


def _fit_on_links(
    explainer: LinkExplainer[Any],
    graphs: Sequence[Data],
    oracle: ModelOracle,
    folder: Path,
    seed: int,
) -> Fit:
    usable = [graph for graph in graphs if graph.num_nodes != 1]
    found = links_once(
        explainer.link_settings,
        usable,
        oracle,
        folder,
        seed=seed,
        progress=explainer.progress,
        required_edges=explainer.required_edges,
        forbidden_pairs=explainer.forbidden_pairs,
    )
    explainer.links = found.links
    return Fit(explainer.fit(graphs, oracle, seed=seed), found.seconds, found.cpu_seconds)


def _place(
    name: str,
    settings: Mapping[str, Any],
    graphs: Sequence[Data],
    oracle: ModelOracle,
    folder: Path,
    seed: int,
) -> Path:
    """A folder named after everything that shapes a fit."""
    shaped_by = {
        "settings": settings,
        "oracle": oracle.fingerprint(),
        "graphs": data_checksum(graphs),
        "seed": seed,
        "code": code_version(),
    }
    return folder / f"{name}-{checksum(shaped_by)[:16]}"


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
