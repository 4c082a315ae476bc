"""From a dataset to an oracle, or to several that differ in their seeds alone."""

from __future__ import annotations

from typing import overload

from edgeflip.datasets import DatasetBundle
from edgeflip.errors import ConfigError, shown
from edgeflip.oracle import ModelOracle
from edgeflip.presets import OracleSettings, load_preset
from edgeflip.support import checked_call
from edgeflip.training.oracles import OnEpoch, fit_classifier, oracle_of


@overload
def train_oracle(
    bundle: DatasetBundle,
    *,
    profile: str = ...,
    seed: int = ...,
    seeds: None = ...,
    settings: OracleSettings | None = ...,
    progress: bool = ...,
    on_epoch: OnEpoch | None = ...,
) -> ModelOracle: ...


@overload
def train_oracle(
    bundle: DatasetBundle,
    *,
    profile: str = ...,
    seed: int = ...,
    seeds: int,
    settings: OracleSettings | None = ...,
    progress: bool = ...,
    on_epoch: OnEpoch | None = ...,
) -> list[ModelOracle]: ...


@checked_call()
def train_oracle(
    bundle: DatasetBundle,
    *,
    profile: str = "cpu",
    seed: int = 0,
    seeds: int | None = None,
    settings: OracleSettings | None = None,
    progress: bool = False,
    on_epoch: OnEpoch | None = None,
) -> ModelOracle | list[ModelOracle]:
    """Train a graph classifier on a dataset and make it an oracle.

    Args:
        bundle: the dataset.
        profile: the preset whose settings are used, see `load_preset`.
        seed: same seed, same weights; the caller's random state is left as it was.
        seeds: train this many, from `seed` on, and return them in a list: to explain them together, or to
            check the answers for one with the others.
        settings: used instead of the preset's.
        progress: show a progress bar on stderr.
        on_epoch: called after every epoch.

    Raises:
        TrainingInterrupted: on Ctrl-C, with the best model so far.

    Example:
        >>> from edgeflip.datasets import load_dataset
        >>> bundle = load_dataset("ba_2motifs")
        >>> oracle = train_oracle(bundle, settings=OracleSettings(normalize=False, epochs=1))
        >>> oracle.class_names
        ('cycle', 'house')
    """
    chosen = settings or load_preset(bundle.name, profile).oracle
    if seeds is not None and seeds < 1:
        raise ConfigError(
            f"expected seeds of at least 1, got {shown(seeds)}; leave it out for one."
        )
    trained = [
        fit_classifier(bundle, chosen, each, progress=progress, on_epoch=on_epoch).model
        for each in range(seed, seed + (1 if seeds is None else seeds))
    ]
    oracles = [oracle_of(model, bundle.class_names) for model in trained]
    return oracles[0] if seeds is None else oracles
