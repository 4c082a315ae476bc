"""D4Explainer's long training: limits, what it tells, and going on after it was killed."""

import itertools
import json

import pytest
import torch

from conftest import assert_sentence
from edgeflip import load_dataset, train_oracle
from edgeflip.errors import ArtifactError, ConfigError, TrainingError
from edgeflip.explainers.d4explainer import D4Config, D4Explainer, DenoiserConfig, DiffusionConfig
from edgeflip.explainers.d4explainer import training as module
from edgeflip.support import kept_memory
from edgeflip.testing import example_graphs, example_oracle
from edgeflip.training import fit_once

TRAIN = example_graphs(24, seed=1)
TINY = DenoiserConfig(layers=2, width=8, dropout=0.1)


def explainer(**training):
    settings = {"epochs": 6, "levels": 2, "batch_size": 8, "check_every": 2, **training}
    return D4Explainer(D4Config(candidates=20, denoiser=TINY, training=DiffusionConfig(**settings)))


def weights(fitted):
    return fitted.denoiser_.state_dict()


class KilledError(Exception):
    """The process is gone."""


def kill_in_epoch(monkeypatch, number):
    """Every fit ends in the middle of its epoch of that number."""
    usual, epochs = module.DiffusionTrainer._epoch, itertools.count(1)

    def epoch(self, optimizer):
        if next(epochs) == number:
            self._generator.manual_seed(99)
            raise KilledError
        usual(self, optimizer)

    monkeypatch.setattr(module.DiffusionTrainer, "_epoch", epoch)


@pytest.mark.parametrize("killed_in", [2, 4, 6])
def test_a_training_that_was_killed_goes_on_to_the_same_result(tmp_path, monkeypatch, killed_in):
    monkeypatch.setattr(module, "_CHECKPOINT_SECONDS", 0.0)
    oracle = example_oracle()
    undisturbed = explainer().fit(TRAIN, oracle, seed=3)
    first = explainer()
    first.checkpoint = tmp_path
    with monkeypatch.context() as patch:
        kill_in_epoch(patch, killed_in)
        with pytest.raises(KilledError):
            first.fit(TRAIN, oracle, seed=3)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == ["config.json", "model.safetensors"]
    assert json.loads((tmp_path / "config.json").read_text())["config"]["epoch"] == killed_in - 1
    with monkeypatch.context() as patch:
        # Only what is left is trained.
        kill_in_epoch(patch, 6 - (killed_in - 1) + 1)
        second = explainer()
        second.checkpoint = tmp_path
        torch.manual_seed(1234)
        second.fit(TRAIN, oracle, seed=3)
    assert weights(second).keys() == weights(undisturbed).keys()
    for name, value in weights(second).items():
        assert torch.equal(value, weights(undisturbed)[name]), name
    one, other = second.report_, undisturbed.report_
    assert one.curve == other.curve
    assert (one.epochs, one.best_epoch, one.stopped) == (6, other.best_epoch, "finished")
    assert second.earlier_[1] > 0
    assert one.cpu_seconds > second.earlier_[1]


def test_a_checkpoint_of_another_training_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_CHECKPOINT_SECONDS", 0.0)
    oracle = example_oracle()
    one = explainer()
    one.checkpoint = tmp_path
    one.fit(TRAIN, oracle, seed=3)
    for graphs, seed, other in (
        (TRAIN, 4, explainer()),
        (TRAIN[:-1], 3, explainer()),
        (TRAIN, 3, explainer(levels=3)),
    ):
        other.checkpoint = tmp_path
        with pytest.raises(ArtifactError) as error:
            other.fit(graphs, oracle, seed=seed)
        assert_sentence(error, "checkpoint of this training")
    # How long it may take does not shape what is learned until then.
    longer = explainer(max_cpu_minutes=60.0)
    longer.checkpoint = tmp_path
    assert longer.fit(TRAIN, oracle, seed=3).report_.epochs == 6


def test_a_fit_once_that_was_killed_goes_on_and_leaves_no_checkpoint(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_CHECKPOINT_SECONDS", 0.0)
    bundle = load_dataset("ba_2motifs")
    oracle = train_oracle(bundle, profile="smoke")

    def method():
        made = D4Explainer.for_dataset("ba_2motifs", profile="smoke")
        training = DiffusionConfig(epochs=3, levels=2, max_graphs=16, check_every=1)
        return D4Explainer(D4Config(candidates=5, denoiser=made.config.denoiser, training=training))

    with monkeypatch.context() as patch:
        kill_in_epoch(patch, 3)
        with pytest.raises(KilledError):
            fit_once(method(), bundle, oracle, tmp_path)
    (folder,) = tmp_path.iterdir()
    assert [path.name for path in folder.iterdir()] == ["training"]
    fit = fit_once(method(), bundle, oracle, tmp_path)
    again = fit_once(method(), bundle, oracle, tmp_path)
    assert not (folder / "training").exists()
    assert fit.cpu_seconds > fit.explainer.earlier_[1] > 0
    assert again.cpu_seconds == fit.cpu_seconds
    # What tables tell of a fit is told of one that is read from disk too.
    assert again.explainer.report_ == fit.explainer.report_
    assert again.explainer.report_.notes()["epochs"] == 3
    assert len(again.explainer.report_.notes()["curve"]) == 3


def test_training_ends_without_a_better_epoch_for_long_enough(monkeypatch):
    looks = iter([(0.5, 4.0), (0.75, 9.0), (0.75, 9.5), (0.5, 1.0), (0.75, 9.0), (1.0, 2.0)])
    monkeypatch.setattr(module.DiffusionTrainer, "look", lambda self: next(looks))
    report = explainer(epochs=50, patience=6).fit(TRAIN, example_oracle()).report_
    assert (report.epochs, report.best_epoch, report.stopped) == (10, 4, "patience")
    assert (report.flip_rate, report.edits) == (0.75, 9.0)
    assert [look.epoch for look in report.curve] == [2, 4, 6, 8, 10]
    assert [look.flip_rate for look in report.curve] == [0.5, 0.75, 0.75, 0.5, 0.75]


def test_no_epoch_is_begun_that_the_cpu_time_does_not_allow(monkeypatch):
    clock = itertools.count(0.0, 60.0)
    monkeypatch.setattr(module.time, "process_time", lambda: next(clock))
    report = (
        explainer(epochs=50, check_every=3, max_cpu_minutes=4.5)
        .fit(TRAIN, example_oracle())
        .report_
    )
    # A minute each: the fifth would end after five.
    assert (report.epochs, report.stopped) == (4, "time")
    assert [look.epoch for look in report.curve] == [3, 4]


def test_one_epoch_is_trained_however_little_time_there_is():
    report = explainer(max_cpu_minutes=1e-9).fit(TRAIN, example_oracle()).report_
    assert (report.epochs, report.best_epoch, report.stopped) == (1, 1, "time")


def test_looks_at_the_same_denoiser_see_the_same():
    fitted = explainer(check_every=1, epochs=3, learning_rate=1e-30).fit(TRAIN, example_oracle())
    assert len({(look.flip_rate, look.edits) for look in fitted.report_.curve}) == 1


def test_progress_says_how_many_epochs_there_will_be(monkeypatch):
    totals = []

    class Bar:
        total = 0

        def __enter__(self):
            return self

        def __exit__(self, *_):
            return None

        def set_postfix(self, *_, **__):
            return None

        def update(self):
            totals.append(self.total)

    clock = itertools.count(0.0, 60.0)
    monkeypatch.setattr(module.time, "process_time", lambda: next(clock))
    monkeypatch.setattr(module, "progress_bar", lambda *_, **__: Bar())
    explainer(epochs=50, max_cpu_minutes=4.5).fit(TRAIN, example_oracle())
    assert totals == [4, 4, 4, 4]


def test_a_loss_that_is_no_number_ends_the_training(monkeypatch):
    def losses(self, batch):
        yield torch.full((), torch.nan, requires_grad=True)

    monkeypatch.setattr(module.DiffusionTrainer, "_losses", losses)
    with pytest.raises(TrainingError) as error:
        explainer().fit(TRAIN, example_oracle())
    assert_sentence(error, "learning_rate")


def test_a_saved_explainer_keeps_its_report(tmp_path):
    fitted = explainer().fit(TRAIN, example_oracle())
    fitted.save(tmp_path)
    assert D4Explainer.load(tmp_path, example_oracle()).report_ == fitted.report_


def test_senseless_limits_are_refused():
    for settings in ({"patience": 0}, {"max_cpu_minutes": 0.0}, {"max_cpu_minutes": float("nan")}):
        with pytest.raises(ConfigError) as error:
            DiffusionConfig(**settings)
        assert_sentence(error, next(iter(settings)))


def test_memory_is_kept_where_the_c_library_can(monkeypatch):
    with kept_memory():
        assert torch.ones(10).sum() == 10
    monkeypatch.setattr("edgeflip.support.allocation._glibc", lambda: None)
    with kept_memory():
        assert torch.ones(10).sum() == 10
