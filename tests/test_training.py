from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from torch_geometric.data import Data

from edgeflip.datasets import DatasetBundle, Split, load_dataset
from edgeflip.errors import ArtifactError, ConfigError, DatasetError, OracleError
from edgeflip.oracle.gcn import GCNClassifier
from edgeflip.oracle.model import ModelOracle
from edgeflip.presets import OracleSettings
from edgeflip.support.storage import read_artifact, write_artifact
from edgeflip.training.oracles import (
    TrainingInterrupted,
    fit_classifier,
    load_oracle,
    oracle_for,
    save_oracle,
    train_and_save,
)
from edgeflip.training.reports import EpochReport
from edgeflip.training.train import train_oracle

QUICK = OracleSettings(layers=(8, 8), normalize=False, epochs=3, learning_rate=0.01)


@pytest.fixture(scope="module")
def bundle() -> DatasetBundle:
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("EDGEFLIP_DATA", raising=False)
        return load_dataset("ba_3motifs")


@pytest.fixture(scope="module")
def small(bundle: DatasetBundle) -> DatasetBundle:
    """Every 20th graph: all classes, quick to train on."""
    graphs = [graph.clone() for graph in bundle.graphs[::20]]
    split = Split(tuple(range(40)), tuple(range(40, 45)), tuple(range(45, 50)))
    return replace(bundle, graphs=graphs, split=split)


def same_weights(first: nn.Module, second: nn.Module) -> bool:
    pairs = zip(first.state_dict().values(), second.state_dict().values(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def test_training_learns(bundle: DatasetBundle) -> None:
    settings = replace(QUICK, layers=(20, 20, 20), epochs=20)
    report = fit_classifier(bundle, settings, seed=0).report
    assert report.test_accuracy > 0.6
    assert (report.dataset, report.seed, report.settings) == ("ba_3motifs", 0, settings)
    assert (report.epochs, report.stopped) == (20, "finished")
    assert 1 <= report.best_epoch <= 20


def test_the_same_seed_gives_the_same_weights(small: DatasetBundle) -> None:
    first, second, other = (fit_classifier(small, QUICK, seed).model for seed in (5, 5, 6))
    assert same_weights(first, second)
    assert not same_weights(first, other)


def test_the_random_state_of_the_caller_is_left_alone(small: DatasetBundle) -> None:
    before = random.getstate(), np.random.get_state()[1].copy(), torch.random.get_rng_state()
    fit_classifier(small, QUICK, seed=5)
    assert random.getstate() == before[0]
    assert (np.random.get_state()[1] == before[1]).all()
    assert torch.equal(torch.random.get_rng_state(), before[2])


def test_the_number_of_threads_is_put_back(small: DatasetBundle) -> None:
    before, seen = torch.get_num_threads(), []
    try:
        torch.set_num_threads(2)
        fit_classifier(small, QUICK, on_epoch=lambda _: seen.append(torch.get_num_threads()))
        assert torch.get_num_threads() == 2
        assert set(seen) == {1}
    finally:
        torch.set_num_threads(before)


def test_graphs_of_several_sizes_can_be_trained_on(small: DatasetBundle) -> None:
    graphs = [
        Data(
            x=graph.x[: 25 - shorter], edge_index=graph.edge_index[:, :10].clamp(max=20), y=graph.y
        )
        for graph, shorter in zip(small.graphs, [0, 1] * 25, strict=True)
    ]
    trained = fit_classifier(replace(small, graphs=graphs), replace(QUICK, normalize=True))
    assert trained.report.epochs == 3


def test_the_kept_weights_are_those_of_the_first_best_epoch(small: DatasetBundle) -> None:
    seen: list[EpochReport] = []
    settings = replace(QUICK, epochs=12)
    report = fit_classifier(small, settings, on_epoch=seen.append).report
    assert [epoch.epoch for epoch in seen] == list(range(1, 13))
    best = max(epoch.val_accuracy for epoch in seen)
    assert report.val_accuracy == best
    assert report.best_epoch == next(e.epoch for e in seen if e.val_accuracy == best)
    assert report.best_epoch == max(e.epoch for e in seen if e.improved)


def test_ties_can_be_broken_by_the_loss(small: DatasetBundle) -> None:
    seen: list[EpochReport] = []
    settings = replace(QUICK, epochs=12, tie_break="loss")
    report = fit_classifier(small, settings, on_epoch=seen.append).report
    wanted = max(seen, key=lambda epoch: (epoch.val_accuracy, -epoch.val_loss))
    assert report.best_epoch == wanted.epoch


def test_the_weights_can_be_averaged_over_steps(small: DatasetBundle) -> None:
    steps = replace(QUICK, batch_size=2)
    plain = fit_classifier(small, replace(steps, epochs=2))
    mean = fit_classifier(small, replace(steps, epochs=2, average=0.9))
    still = fit_classifier(small, replace(steps, epochs=2, average=0.999999))
    start = fit_classifier(small, replace(steps, epochs=1, learning_rate=1e-12))
    assert not same_weights(plain.model, mean.model)
    # The average starts at the first step's weights; one that hardly moves stays there.
    key = "classify.weight"
    moved = (still.model.state_dict()[key] - start.model.state_dict()[key]).abs().max()
    assert moved <= 1.5 * QUICK.learning_rate
    assert same_weights(mean.model, fit_classifier(small, mean.report.settings).model)
    with pytest.raises(ConfigError, match="average to be at least 0 and below 1"):
        replace(QUICK, average=1.0)


def test_training_stops_early_when_nothing_improves(small: DatasetBundle) -> None:
    settings = replace(QUICK, epochs=50, learning_rate=1e-12, patience=4)
    report = fit_classifier(small, settings).report
    assert report.stopped == "early"
    assert report.epochs == report.best_epoch + 4


def test_ctrl_c_keeps_the_best_model_so_far(small: DatasetBundle) -> None:
    def interrupt(report: EpochReport) -> None:
        if report.epoch == 2:
            raise KeyboardInterrupt

    before = torch.random.get_rng_state()
    with pytest.raises(TrainingInterrupted, match="after 2 of 3 epochs") as caught:
        fit_classifier(small, QUICK, on_epoch=interrupt)
    report = caught.value.trained.report
    assert (report.stopped, report.epochs) == ("interrupted", 2)
    assert same_weights(
        caught.value.trained.model, fit_classifier(small, replace(QUICK, epochs=2)).model
    )
    assert isinstance(caught.value, KeyboardInterrupt)
    assert torch.equal(before, torch.random.get_rng_state())


def test_ctrl_c_in_the_first_epoch_still_gives_a_model(
    small: DatasetBundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(torch.nn.utils, "clip_grad_value_", interrupt)
    with pytest.raises(TrainingInterrupted) as caught:
        fit_classifier(small, QUICK)
    assert (caught.value.trained.report.epochs, caught.value.trained.report.best_epoch) == (0, 0)


def test_a_loss_that_is_not_finite_names_epoch_and_learning_rate(small: DatasetBundle) -> None:
    graphs = [graph.clone() for graph in small.graphs]
    graphs[3].x[0, 0] = float("nan")
    with pytest.raises(OracleError, match=r"got nan in epoch 1 at learning rate 0\.01;"):
        fit_classifier(replace(small, graphs=graphs), QUICK)


def test_data_no_classifier_can_learn_from_are_refused(small: DatasetBundle) -> None:
    with pytest.raises(DatasetError, match="got no val graphs"):
        fit_classifier(replace(small, split=replace(small.split, val=())), QUICK)
    with pytest.raises(DatasetError, match="a label in"):
        fit_classifier(replace(small, class_names=("cycle", "house")), QUICK)


def test_progress_goes_to_stderr_and_only_when_asked(
    small: DatasetBundle, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgeflip.support.progress._PATIENCE", 0.0)
    fit_classifier(small, QUICK)
    assert capsys.readouterr() == ("", "")
    fit_classifier(small, QUICK, progress=True)
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "3/3" in printed.err


def test_train_oracle_gives_an_oracle_with_class_names(small: DatasetBundle) -> None:
    oracle = train_oracle(small, settings=QUICK, seed=5)
    assert oracle.class_names == ("cycle", "house", "clique")
    assert oracle.num_classes == 3
    assert oracle.predict_proba(small.test).shape == (5, 3)
    assert same_weights(oracle.model, fit_classifier(small, QUICK, 5).model)


def test_a_saved_oracle_answers_the_same(small: DatasetBundle, tmp_path: Path) -> None:
    trained = fit_classifier(small, QUICK)
    oracle = train_oracle(small, settings=QUICK)
    save_oracle(oracle, tmp_path / "oracle", trained.report)
    loaded = load_oracle(tmp_path / "oracle")
    assert torch.equal(loaded.predict_proba(small.test), oracle.predict_proba(small.test))
    assert loaded.class_names == oracle.class_names
    kept = read_artifact(tmp_path / "oracle", "oracle")[0]["report"]
    assert kept["test_accuracy"] == trained.report.test_accuracy


def test_only_our_own_classifier_can_be_saved(tmp_path: Path) -> None:
    class Strange(nn.Module):
        def forward(
            self, x: torch.Tensor, edge_index: torch.Tensor, batch: torch.Tensor
        ) -> None: ...

    with pytest.raises(ArtifactError, match="GCNClassifier, got Strange"):
        save_oracle(ModelOracle(Strange(), num_classes=2), tmp_path / "oracle")
    assert not (tmp_path / "oracle").exists()


def test_weights_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    config = {"model": {"num_features": 3, "num_classes": 2}, "class_names": None, "batch_size": 8}
    weights = GCNClassifier(4, 2).state_dict()
    write_artifact(tmp_path, kind="oracle", config=config, tensors=weights)
    with pytest.raises(ArtifactError, match=r"^[^\n]*size mismatch[^\n]*$"):
        load_oracle(tmp_path)
    config["model"] = {"depth": 3}
    write_artifact(tmp_path, kind="oracle", config=config, tensors={})
    with pytest.raises(ArtifactError, match="depth"):
        load_oracle(tmp_path)


def test_an_oracle_is_trained_once_and_then_read(
    small: DatasetBundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "oracle"
    first = oracle_for(small, folder, profile="smoke", seed=1)
    assert read_artifact(folder, "oracle")[0]["report"]["seed"] == 1
    monkeypatch.setattr("edgeflip.training.oracles.fit_classifier", None)
    assert same_weights(first.model, oracle_for(small, folder, profile="smoke", seed=1).model)


def test_an_oracle_for_other_data_is_refused(small: DatasetBundle, tmp_path: Path) -> None:
    train_and_save(small, tmp_path, settings=QUICK)
    other = replace(small, class_names=("cycle", "house", "clique", "other"))
    with pytest.raises(ConfigError, match=r"4 classes.*got one for.*3 classes"):
        oracle_for(other, tmp_path)
    with pytest.raises(ConfigError, match=r"'ba_2motifs_3class'.*got one for 'ba_3motifs'"):
        oracle_for(replace(small, name="ba_2motifs_3class"), tmp_path)


def test_an_oracle_of_generated_graphs_is_refused_for_the_published_ones(
    small: DatasetBundle, tmp_path: Path
) -> None:
    train_and_save(small, tmp_path, settings=QUICK)
    published = replace(small, card=replace(small.card, origin="file"))
    with pytest.raises(ConfigError, match=r"file data.*generated data"):
        oracle_for(published, tmp_path)


def test_a_folder_with_half_an_oracle_is_not_written_over(
    small: DatasetBundle, tmp_path: Path
) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"someone's weights")
    with pytest.raises(ArtifactError, match=r"config\.json, got none"):
        oracle_for(small, tmp_path)
    assert (tmp_path / "model.safetensors").read_bytes() == b"someone's weights"


def test_several_seeds_give_several_oracles_and_each_is_that_of_its_seed(bundle):
    three = train_oracle(bundle, settings=QUICK, seed=4, seeds=3)
    assert len({oracle.fingerprint() for oracle in three}) == 3
    alone = train_oracle(bundle, settings=QUICK, seed=5)
    assert alone.fingerprint() == three[1].fingerprint()
    with pytest.raises(ConfigError, match="at least 1"):
        train_oracle(bundle, settings=QUICK, seeds=0)
