"""What training D4Explainer's denoiser costs, and whether one level of noise a step would do.

    python benchmarks/d4.py                                # all sets: a step, an epoch, 800 epochs
    git worktree add ../older fb90b10
    python benchmarks/d4.py ../older/src                   # beside another version, in turn
    python benchmarks/d4.py --experiment one-level --datasets ba_2motifs

The cost is that of real training steps: batches of small, middle and large graphs, each version in a
process of its own on one thread, and an oracle that was not trained, which costs the same. The experiment
trains one denoiser with the preset's levels of noise a step and one with a single level, for as many epochs
and for as many CPU seconds, and explains validation graphs with both: no test graph is looked at.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from edgeflip import DatasetBundle, ModelOracle, load_dataset, make_explainer, train_oracle
from edgeflip.explainers.d4explainer import D4Config, D4Explainer
from edgeflip.explainers.d4explainer.denoiser import Denoiser
from edgeflip.explainers.d4explainer.training import DiffusionTrainer
from edgeflip.oracle import GCNClassifier
from edgeflip.presets import load_preset
from guided import DATASETS

HERE = Path(__file__).resolve().parents[1] / "src"
PUBLISHED_EPOCHS = 800


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row per set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", help="folder src of another version")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--profile", default="paper", help="whose denoiser, levels and batches")
    parser.add_argument("--graphs", type=int, help="at most so many training graphs")
    parser.add_argument("--batches", type=int, default=4, help="training steps that are measured")
    parser.add_argument("--rounds", type=int, default=1, help="of all versions in turn")
    parser.add_argument("--minutes", type=float, default=90.0, help="CPU minutes a set may take")
    parser.add_argument("--experiment", choices=["one-level"])
    parser.add_argument(
        "--epochs", type=int, default=100, help="of the experiment's first denoiser"
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON last")
    options = parser.parse_args(argv)
    figures = _one_level(options) if options.experiment else _costs(options)
    if options.json:
        print(json.dumps(figures))


# What it costs.


def _costs(options: argparse.Namespace) -> list[dict[str, Any]]:
    sources = {"this": HERE} | ({"other": options.other} if options.other else {})
    names = ["set", "graphs", "ms a graph and level", "other version", "ratio", "look, ms a graph"]
    names += ["CPU s an epoch", f"epochs in {options.minutes:g} min", "800 epochs, CPU h"]
    print(f"| {' | '.join(names)} |\n{'| --- ' * len(names)}|")
    figures = []
    for dataset in options.datasets:
        runs: dict[str, list[dict[str, float]]] = {name: [] for name in sources}
        for number in range(options.rounds):
            for name in sources if number % 2 else reversed(sources):
                runs[name].append(_measured(sources[name], dataset, options))
        figure = _figure(dataset, runs, options.minutes)
        other = ["", ""]
        if "other_ms" in figure:
            other = [f"{figure['other_ms']:.2f}", f"{figure['ratio']:.2f}"]
        cells = [dataset, f"{figure['graphs']:,.0f}", f"{figure['ms']:.2f}", *other]
        cells += [f"{figure['look_ms']:.0f}", f"{figure['epoch_seconds']:.0f}"]
        cells += [f"{figure['epochs']:,.0f}", f"{figure['hours']:.1f}"]
        print(f"| {' | '.join(cells)} |", flush=True)
        figures.append(figure)
    return figures


def _figure(
    dataset: str, runs: dict[str, list[dict[str, float]]], minutes: float
) -> dict[str, Any]:
    """Means of the runs, and what they come to in an epoch and in all."""
    own = {key: statistics.fmean(run[key] for run in runs["this"]) for key in runs["this"][0]}
    seconds = own["training"] * own["levels"] * own["ms"] / 1e3
    seconds += own["validation"] * own["look_ms"] / 1e3 / own["check_every"]
    figure: dict[str, Any] = {"set": dataset, **own, "epoch_seconds": seconds}
    figure |= {"epochs": 60 * minutes / seconds, "hours": PUBLISHED_EPOCHS * seconds / 3600}
    if "other" in runs:
        figure["other_ms"] = statistics.fmean(run["ms"] for run in runs["other"])
        figure["ratio"] = figure["other_ms"] / figure["ms"]
    return figure


def _measured(source: Path, dataset: str, options: argparse.Namespace) -> dict[str, float]:
    """What a step costs, in a process of its own."""
    path = os.pathsep.join([str(source.resolve()), os.environ.get("PYTHONPATH", "")])
    question = [dataset, options.profile, str(options.batches), str(options.graphs or 0)]
    done = subprocess.run(
        [sys.executable, __file__, "--worker", *question],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def work(dataset: str, profile: str, batches: int, limit: int) -> dict[str, float]:
    """CPU time of training steps and of a look; runs with either version."""
    torch.set_num_threads(1)
    bundle = load_dataset(dataset)
    config = _config(dataset, profile)
    torch.manual_seed(0)
    oracle = _untrained(bundle, profile)
    graphs = [*bundle.train, *bundle.val][: limit or None]
    with oracle.frozen():
        trainer: Any = DiffusionTrainer(
            Denoiser(bundle.num_features, config.denoiser),
            graphs,
            oracle.predict_proba(graphs),
            oracle,
            replace(config.training, max_graphs=None),
            torch.Generator().manual_seed(0),
            draw_levels=config.levels,
        )
        optimizer = torch.optim.Adam(trainer.denoiser.parameters(), lr=1e-4)
        chosen = _spread_out(trainer, batches)
        training, validation = len(trainer._training), len(trainer._validation)
        trainer._batches = lambda _: iter(chosen[:1])
        trainer._epoch(optimizer)
        trainer._batches = lambda _: iter(chosen)
        started = time.process_time()
        trainer._epoch(optimizer)
        steps = time.process_time() - started
        # A look at some of the graphs that were trained on, of all sizes.
        looked_at = [batch[len(batch) // 2] for batch in chosen]
        trainer._validation = looked_at
        trainer._batches = lambda _: iter([looked_at])
        started = time.process_time()
        trainer.look()
        look = time.process_time() - started
    own = config.training
    return {
        "graphs": len(graphs),
        "training": training,
        "validation": validation,
        "levels": own.levels,
        "check_every": own.check_every,
        "ms": 1e3 * steps / sum(map(len, chosen)) / own.levels,
        "look_ms": 1e3 * look / len(looked_at),
    }


def _spread_out(trainer: Any, count: int) -> list[list[int]]:
    """Batches of an epoch, evenly spread from those of the smallest graphs to those of the largest."""

    def cells(batch: list[int]) -> int:
        return sum(trainer._spaces[index].num_nodes ** 2 for index in batch)

    ordered = sorted(trainer._batches(trainer._training), key=cells)
    count = min(count, len(ordered))
    return [ordered[(2 * k + 1) * len(ordered) // (2 * count)] for k in range(count)]


def _config(dataset: str, profile: str) -> D4Config:
    found = make_explainer("d4explainer", dataset=dataset, profile=profile).config
    assert isinstance(found, D4Config)
    return found


def _untrained(bundle: DatasetBundle, profile: str) -> ModelOracle:
    settings = load_preset(bundle.name, profile).oracle
    model = GCNClassifier(
        bundle.num_features,
        bundle.num_classes,
        layers=settings.layers,
        readout=settings.readout,
        normalize=settings.normalize,
    )
    return ModelOracle(model, num_classes=bundle.num_classes)


# Whether one level of noise a step would do.


def _one_level(options: argparse.Namespace) -> list[dict[str, Any]]:
    torch.set_num_threads(1)
    names = ["set", "levels a step", "epochs", "CPU s", "kept", "validity", "size", "size of first"]
    print(f"| {' | '.join(names)} |\n{'| --- ' * len(names)}|")
    figures = []
    for dataset in options.datasets:
        bundle = load_dataset(dataset)
        oracle = train_oracle(bundle, profile="smoke" if options.profile == "smoke" else "cpu")
        config = _config(dataset, options.profile)
        several = replace(config.training, epochs=options.epochs, max_graphs=options.graphs)
        config = replace(config, levels=config.levels or several.levels, training=several)
        first = _row(dataset, bundle, oracle, config)
        single = replace(several, levels=1)
        figures += [first, _row(dataset, bundle, oracle, replace(config, training=single))]
        # The same CPU time again, in which there are more epochs of one level.
        single = replace(
            single,
            epochs=several.levels * options.epochs,
            max_cpu_minutes=first["cpu_seconds"] / 60,
        )
        figures.append(_row(dataset, bundle, oracle, replace(config, training=single)))
    return figures


def _row(
    dataset: str, bundle: DatasetBundle, oracle: ModelOracle, config: D4Config
) -> dict[str, Any]:
    """Train and explain the validation graphs; prints as it goes."""
    explainer = D4Explainer(config, progress=True).fit(bundle.train, oracle)
    report = explainer.report_
    graphs = bundle.val[: config.training.max_graphs]
    answers = explainer.explain_many(graphs)
    sizes = [answer.best.size for answer in answers if answer.best is not None]
    firsts = [answer.first.size for answer in answers if answer.first is not None]
    figure = {
        "set": dataset,
        "levels": config.training.levels,
        "epochs": report.epochs,
        "cpu_seconds": report.cpu_seconds,
        "best_epoch": report.best_epoch,
        "validity": len(sizes) / len(graphs),
        "size": statistics.fmean(sizes) if sizes else 0.0,
        "first": statistics.fmean(firsts) if firsts else 0.0,
        "curve": [[look.epoch, look.flip_rate, look.edits] for look in report.curve],
    }
    told = [f"{figure['cpu_seconds']:.0f}", str(figure["best_epoch"]), f"{figure['validity']:.2f}"]
    told += [f"{figure['size']:.1f}", f"{figure['first']:.1f}"]
    cells = [dataset, str(figure["levels"]), str(figure["epochs"]), *told]
    print(f"| {' | '.join(cells)} |", flush=True)
    return figure


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        set_name, profile_name, *numbers = sys.argv[2:]
        print(json.dumps(work(set_name, profile_name, int(numbers[0]), int(numbers[1]))))
    else:
        main()
