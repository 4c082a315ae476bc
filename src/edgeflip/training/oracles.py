"""Training the oracle: from a dataset to a `ModelOracle`, to disk and back."""

from __future__ import annotations

import copy
import logging
import math
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
from pydantic import Field
from torch import Tensor
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from edgeflip.datasets import (
    DatasetBundle,
    check_trainable,
    is_family_name,
    list_datasets,
    stack_graphs,
)
from edgeflip.errors import ArtifactError, ConfigError, OracleError
from edgeflip.oracle import GCNClassifier, GCNConfig, ModelOracle
from edgeflip.presets import OracleSettings, load_preset
from edgeflip.support import (
    CONFIG_FILE,
    STRICT,
    WEIGHTS_FILE,
    as_path,
    building,
    checked_call,
    one_thread,
    progress_bar,
    read_artifact,
    read_settings,
    seeded,
    write_artifact,
)
from edgeflip.training.reports import EpochReport, OracleData, TrainingReport

_log = logging.getLogger(__name__)

_KIND = "oracle"
_EVALUATION_BATCH = 512
# Up to this many values per layer and step one thread is faster than several (measured on two busy
# cores with the BA sets, 32,000 values: 13 s against 80 s).
_ONE_THREAD_VALUES = 250_000


@dataclass(frozen=True)
class TrainedClassifier:
    """A trained model and how its training went."""

    model: GCNClassifier
    report: TrainingReport


class TrainingInterrupted(KeyboardInterrupt):
    """Ctrl-C during training.

    Attributes:
        trained: the best model so far; its report is marked `"interrupted"`.
    """

    def __init__(self, trained: TrainedClassifier) -> None:
        report = trained.report
        super().__init__(
            f"training on {report.dataset} was stopped after {report.epochs} of "
            f"{report.settings.epochs} epochs, at validation accuracy {report.val_accuracy:.3f}."
        )
        self.trained = trained


OnEpoch = Callable[[EpochReport], None]


def fit_classifier(
    bundle: DatasetBundle,
    settings: OracleSettings,
    seed: int = 0,
    *,
    progress: bool = False,
    on_epoch: OnEpoch | None = None,
) -> TrainedClassifier:
    """Train a `GCNClassifier` and keep the epoch that is best on the validation graphs.

    Adam on the cross entropy, with gradient entries clipped; the test graphs are looked at once,
    after all decisions. Arguments as for `train_oracle`.
    """
    check_trainable(bundle)
    with seeded(seed), one_thread(when=_is_small(bundle, settings)):
        run = _Run(bundle, settings, seed)
        description = f"training on {bundle.name}"
        bar = progress_bar(description, total=settings.epochs, unit="epoch", shown=progress)
        try:
            with bar:
                for epoch in range(1, settings.epochs + 1):
                    report = run.epoch(epoch)
                    bar.set_postfix(val=f"{run.best_accuracy:.3f}", refresh=False)
                    bar.update()
                    if on_epoch is not None:
                        on_epoch(report)
                    if run.out_of_patience:
                        return run.result("early")
        except KeyboardInterrupt:
            raise TrainingInterrupted(run.result("interrupted")) from None
        return run.result("finished")


@checked_call()
def train_and_save(
    bundle: DatasetBundle,
    folder: str | os.PathLike[str],
    *,
    profile: str = "cpu",
    seed: int = 0,
    settings: OracleSettings | None = None,
    progress: bool = False,
    on_epoch: OnEpoch | None = None,
) -> TrainingReport:
    """Train as `train_oracle` does and save oracle and report.

    On Ctrl-C the best model so far is saved, marked as interrupted, unless the folder has an oracle
    already; `oracle_for` trains it again.
    """
    chosen = settings or load_preset(bundle.name, profile).oracle
    try:
        trained = fit_classifier(bundle, chosen, seed, progress=progress, on_epoch=on_epoch)
    except TrainingInterrupted as interruption:
        trained = interruption.trained
        if trained.report.best_epoch and not _holds_oracle(folder):
            save_oracle(oracle_of(trained.model, bundle.class_names), folder, trained.report)
        raise
    save_oracle(oracle_of(trained.model, bundle.class_names), folder, trained.report)
    return trained.report


@checked_call()
def oracle_for(
    bundle: DatasetBundle,
    folder: str | os.PathLike[str],
    *,
    profile: str = "cpu",
    seed: int = 0,
    settings: OracleSettings | None = None,
    progress: bool = False,
) -> ModelOracle:
    """The oracle saved in a folder, trained and saved there first if there is no finished one.

    Args:
        bundle: the dataset; a saved oracle must have its features and classes.
        folder: where the oracle is, or will be.
        profile: the preset used if it must be trained.
        seed: of that training.
        settings: used instead of the preset's.
        progress: show a progress bar on stderr.
    """
    found = _read(folder) if _holds_oracle(folder) else None
    if found is None or (found[0].report or {}).get("stopped") == "interrupted":
        chosen = settings or load_preset(bundle.name, profile).oracle
        train_and_save(bundle, folder, seed=seed, settings=chosen, progress=progress)
        found = _read(folder)
    saved, tensors = found
    oracle = _rebuild(saved, tensors, folder)
    about = _origin(saved)
    wanted = (bundle.name, bundle.card.origin, bundle.num_features, bundle.num_classes)
    published = {entry.name for entry in list_datasets()}
    if published.isdisjoint({about[0], bundle.name}) and not is_family_name(bundle.name):
        # Files of one's own may have any name: an oracle of one of them may be asked about another.
        about = (bundle.name, *about[1:])
    # What the saved oracle does not say of itself cannot speak against it.
    if any(mine not in (None, theirs) for mine, theirs in zip(about, wanted, strict=True)):
        raise ConfigError(
            "expected an oracle for '{}' ({} data, {} features, {} classes)".format(*wanted)
            + " in {}, got one for '{}' ({} data, {} features, {} classes)".format(folder, *about)
            + "; give another folder."
        )
    return oracle


@checked_call()
def save_oracle(
    oracle: ModelOracle, folder: str | os.PathLike[str], report: TrainingReport | None = None
) -> Path:
    """Write an oracle as `config.json` and `model.safetensors`.

    Args:
        oracle: one whose model is a `GCNClassifier`.
        folder: made if need be.
        report: How it was trained, kept beside the weights for people to read.
    """
    model = getattr(oracle, "model", oracle)
    if not isinstance(model, GCNClassifier):
        raise ArtifactError(
            f"expected an oracle whose model is a GCNClassifier, got {type(model).__name__}; "
            "save your own model with torch and wrap it as ModelOracle(model) again."
        )
    config = {
        "model": asdict(model.config),
        "class_names": oracle.class_names,
        "batch_size": oracle.batch_size,
        "report": None if report is None else report.to_dict(),
    }
    return write_artifact(folder, kind=_KIND, config=config, tensors=model.state_dict())


def load_oracle(folder: str | os.PathLike[str]) -> ModelOracle:
    """Read an oracle that `save_oracle` wrote."""
    saved, tensors = _read(folder)
    return _rebuild(saved, tensors, folder)


def oracle_data(folder: str | os.PathLike[str]) -> OracleData:
    """What an oracle in a folder was trained on."""
    saved, _ = _read(folder)
    report = saved.report or {}
    return OracleData(report.get("dataset"), report.get("drawing"), _origin(saved)[2])


@dataclass(frozen=True)
class _SavedOracle:
    """What is written of an oracle beside its weights."""

    __pydantic_config__ = STRICT

    model: Mapping[str, Any]
    class_names: tuple[str, ...] | None
    batch_size: Annotated[int, Field(ge=1)] | None
    report: Mapping[str, Any] | None = None


def _read(folder: str | os.PathLike[str]) -> tuple[_SavedOracle, dict[str, Tensor]]:
    config, tensors = read_artifact(folder, _KIND)
    where = f"an oracle in {folder}"
    return read_settings(_SavedOracle, config, where=where, error=ArtifactError), tensors


def _rebuild(
    saved: _SavedOracle, tensors: dict[str, Tensor], folder: str | os.PathLike[str]
) -> ModelOracle:
    try:
        where = f"the model of an oracle in {folder}"
        described = read_settings(GCNConfig, saved.model, where=where, error=ArtifactError)
        what = f"the weights in {folder} to fit the model described there"
        with building(what, tensors, advice="save the oracle again"):
            if len(described.layers) > len(tensors):
                raise ValueError(f"{len(described.layers)} layers and {len(tensors)} weights")
            model = GCNClassifier(**asdict(described))
            model.load_state_dict(tensors)
        return oracle_of(model, saved.class_names, batch_size=saved.batch_size)
    except ConfigError as error:
        raise ArtifactError(
            f"expected an oracle in {folder}, got one that cannot be ({error}); save it again."
        ) from None


def _origin(saved: _SavedOracle) -> tuple[str | None, str | None, int, int]:
    """Dataset, origin of its graphs, features and classes a saved oracle was made for."""
    report, model = saved.report or {}, saved.model
    return (
        report.get("dataset"),
        report.get("origin"),
        model["num_features"],
        model["num_classes"],
    )


def oracle_of(
    model: GCNClassifier, class_names: Sequence[str] | None, *, batch_size: int | None = None
) -> ModelOracle:
    """A trained classifier as an oracle."""
    model.eval()
    return ModelOracle(
        model,
        num_classes=model.config.num_classes,
        class_names=class_names,
        batch_size=batch_size,
    )


def _holds_oracle(folder: str | os.PathLike[str]) -> bool:
    return any(
        os.path.exists(as_path(folder, ArtifactError) / name)
        for name in (CONFIG_FILE, WEIGHTS_FILE)
    )


def _is_small(bundle: DatasetBundle, settings: OracleSettings) -> bool:
    nodes = sum(graph.num_nodes for graph in bundle.graphs) / len(bundle.graphs)
    values = settings.batch_size * nodes * max(bundle.num_features, *settings.layers)
    return bool(values <= _ONE_THREAD_VALUES)


class _Run:
    """The state of one training."""

    def __init__(self, bundle: DatasetBundle, settings: OracleSettings, seed: int) -> None:
        self.bundle, self.settings, self.seed = bundle, settings, seed
        self.wall, self.cpu = time.perf_counter(), time.process_time()
        self.graphs = stack_graphs(bundle.graphs)
        self.model = GCNClassifier(
            bundle.num_features,
            bundle.num_classes,
            layers=settings.layers,
            readout=settings.readout,
            normalize=settings.normalize,
        )
        self.optimizer = torch.optim.Adam(
            self.model.parameters(),
            lr=settings.learning_rate,
            weight_decay=settings.weight_decay,
            fused=True,  # one call for all weights: with models this small, calls are the cost
        )
        self.average: AveragedModel | None = None
        if settings.average:
            mean = get_ema_multi_avg_fn(settings.average)
            self.average = AveragedModel(self.model, multi_avg_fn=mean)
        self.train = torch.tensor(bundle.split.train)
        self.done = self.best_epoch = 0
        self.best_accuracy, self.best_loss = -1.0, math.inf
        self.best_state = copy.deepcopy(self.kept.state_dict())

    @property
    def kept(self) -> GCNClassifier:
        """The model that is validated and kept: the one trained, or the average of its weights."""
        model = self.model if self.average is None else self.average.module
        assert isinstance(model, GCNClassifier)
        return model

    @property
    def out_of_patience(self) -> bool:
        patience = self.settings.patience
        return patience is not None and self.done - self.best_epoch >= patience

    def epoch(self, epoch: int) -> EpochReport:
        """One pass over the training graphs, then a look at the validation graphs."""
        self.model.train()
        total = torch.zeros(())
        for batch in self.train[torch.randperm(len(self.train))].split(self.settings.batch_size):
            total += self._step(batch) * len(batch)
        train_loss = float(total) / len(self.train)
        val_loss, val_accuracy = self._evaluate(self.bundle.split.val)
        if not math.isfinite(train_loss + val_loss):
            raise OracleError(
                f"expected a finite loss on '{self.bundle.name}', got {train_loss} in epoch {epoch} "
                f"at learning rate {self.settings.learning_rate}; lower the learning rate, or "
                "check the node features."
            )
        improved = self._is_better(val_accuracy, val_loss)
        if improved:
            # The copy comes first: Ctrl-C in its middle must not leave new numbers on old weights.
            self.best_state = copy.deepcopy(self.kept.state_dict())
            self.best_epoch, self.best_accuracy, self.best_loss = epoch, val_accuracy, val_loss
        self.done = epoch
        return EpochReport(
            epoch, self.settings.epochs, train_loss, val_loss, val_accuracy, improved
        )

    def result(self, stopped: Literal["finished", "early", "interrupted"]) -> TrainedClassifier:
        """The best model so far, measured on all parts of the data."""
        model = self.kept
        model.load_state_dict(self.best_state)
        model.eval()
        split = self.bundle.split
        report = TrainingReport(
            dataset=self.bundle.name,
            origin=self.bundle.card.origin,
            seed=self.seed,
            settings=self.settings,
            class_names=self.bundle.class_names,
            train_accuracy=self._evaluate(split.train)[1],
            val_accuracy=self._evaluate(split.val)[1],
            test_accuracy=self._evaluate(split.test)[1],
            epochs=self.done,
            best_epoch=self.best_epoch,
            wall_seconds=time.perf_counter() - self.wall,
            cpu_seconds=time.process_time() - self.cpu,
            stopped=stopped,
            drawing=self.bundle.drawing,
        )
        _log.info("%s", report)
        return TrainedClassifier(model, report)

    def _step(self, batch: Tensor) -> Tensor:
        logits = self.graphs.logits(self.model, batch)
        loss = functional.cross_entropy(logits, self.graphs.labels[batch])
        self.optimizer.zero_grad()
        loss.backward()
        if self.settings.clip_value is not None:
            torch.nn.utils.clip_grad_value_(self.model.parameters(), self.settings.clip_value)
        self.optimizer.step()
        if self.average is not None:
            self.average.update_parameters(self.model)
        return loss.detach()

    def _is_better(self, accuracy: float, loss: float) -> bool:
        if self.settings.tie_break == "loss" and accuracy == self.best_accuracy:
            return loss < self.best_loss
        return accuracy > self.best_accuracy

    @torch.no_grad()
    def _evaluate(self, part: Sequence[int]) -> tuple[float, float]:
        """Mean loss and accuracy."""
        model = self.kept.eval()
        loss, hits = 0.0, 0
        for batch in torch.tensor(part).split(_EVALUATION_BATCH):
            logits, labels = self.graphs.logits(model, batch), self.graphs.labels[batch]
            loss += float(functional.cross_entropy(logits, labels, reduction="sum"))
            hits += int((logits.argmax(dim=1) == labels).sum())
        return loss / len(part), hits / len(part)
