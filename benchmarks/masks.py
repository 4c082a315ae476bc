"""The methods that learn edge masks, beside the paper's published figures.

    python benchmarks/masks.py                                   # cpu profile, the four BA sets
    python benchmarks/masks.py --profile paper --methods cf2     # published settings and oracle
    python benchmarks/masks.py --datasets bbbp --graphs 50
    python benchmarks/masks.py --alone                           # one graph at a time
    python benchmarks/masks.py --methods xplore --settings '{"start": "input", "steps": 500}'

Correctly predicted test graphs; one thread; seconds are CPU seconds per graph, those of `explain_many`
unless `--alone` is given.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Sequence

import torch

from edgeflip import CounterfactualSet, ModelOracle, load_dataset, load_preset, make_explainer
from edgeflip.datasets import DatasetBundle
from edgeflip.training import train_oracle

DATASETS = ("ba_2motifs", "ba_2motifs_3class", "ba_3motifs", "ba_4motifs")
METHODS = ("cf2", "cf-gnnexplainer", "c2explainer", "xplore")


def mean(values: list[float]) -> float:
    return statistics.fmean(values) if values else float("nan")


def row(answers: list[CounterfactualSet], seconds: float) -> str:
    found = [answer for answer in answers if answer.found]
    best = [answer.best for answer in found if answer.best is not None]
    first = [answer.first for answer in found if answer.first is not None]
    return (
        f"{len(found) / len(answers):8.2f} {mean([entry.fidelity for entry in best]):8.2f} "
        f"{mean([entry.size for entry in best]):6.2f} {mean([entry.size for entry in first]):6.2f} "
        f"{mean([a.trace.oracle_calls for a in answers]):6.1f} {seconds / len(answers):8.3f}"
    )


def measure(
    bundle: DatasetBundle, oracle: ModelOracle, method: str, options: argparse.Namespace
) -> str:
    test = list(bundle.test)
    labels = oracle.predict(test).tolist()
    graphs = [graph for graph, label in zip(test, labels, strict=True) if label == int(graph.y)]
    graphs = graphs[: options.graphs]
    explainer = make_explainer(
        method, dataset=bundle.name, profile=options.profile, overrides=options.settings
    )
    explainer.fit([], oracle)
    started = time.process_time()
    if options.alone:
        answers = [explainer.explain(graph) for graph in graphs]
    else:
        answers = explainer.explain_many(graphs)
    return f"{len(graphs):6d} {row(answers, time.process_time() - started)}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=DATASETS)
    parser.add_argument("--methods", nargs="+", default=METHODS)
    parser.add_argument("--profile", default="cpu")
    parser.add_argument("--graphs", type=int, default=None)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--settings", type=json.loads, default={}, help="that replace the preset's")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    print(
        f"{'dataset':18s} {'method':16s} {'graphs':>6s} validity fidelity   size  first  calls  seconds"
    )
    for dataset in options.datasets:
        bundle = load_dataset(dataset)
        oracle = train_oracle(bundle, profile=options.profile)
        expected = load_preset(dataset, "paper").expected
        for method in options.methods:
            print(
                f"{dataset:18s} {method:16s} {measure(bundle, oracle, method, options)}", flush=True
            )
            published = expected.methods.get(method) if expected else None
            if published is not None:
                print(
                    f"{'':18s} {'published':16s} {'':6s} {published.validity:8.2f} "
                    f"{published.fidelity:8.2f} {published.size:6.2f} {'':6s} {'':6s} "
                    f"{published.seconds or float('nan'):8.3f}"
                )


if __name__ == "__main__":
    main()
