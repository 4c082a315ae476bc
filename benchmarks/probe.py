"""What columns of a benchmark cost that no earlier run tells: a few graphs each, and a part of the learning.

    python benchmarks/probe.py ba real reproduction --out runs/probe      # prints lines for probed_costs.csv
    python benchmarks/probe.py real --datasets bbbp --methods xplore --graphs 3

Graphs are explained as the benchmark does, without noise and classes. Learning is cut short and multiplied:
link predictors and GIST after some epochs, GCFExplainer's walks after a twentieth of their steps. D4Explainer
takes the CPU minutes that it may take. Seconds are CPU seconds.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from edgeflip.bench import load_spec, run_bench
from edgeflip.bench.costs import ORACLE, Cost, known_costs
from edgeflip.bench.spec import BenchSpec, MethodSpec
from edgeflip.support import RESULTS, read_rows

LINK_EPOCHS, STEPS_SHARE = 3, 20


@dataclass(frozen=True)
class Short:
    """A method that learns less, and what its learning must be multiplied by, or takes in all."""

    settings: Mapping[str, Any]
    times: float = 1.0
    seconds: float | None = None


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("specs", nargs="+", help="names of specs, or TOML files")
    parser.add_argument("--out", type=Path, default=Path("runs/probe"), help="where runs are kept")
    parser.add_argument("--graphs", type=int, default=4, help="graphs that are explained")
    parser.add_argument("--datasets", nargs="+", help="only these")
    parser.add_argument("--methods", nargs="+", help="only these columns")
    options = parser.parse_args(argv)
    print("dataset,method,profile,graph_seconds,training_seconds")
    known = known_costs()
    for name in options.specs:
        _, spec = load_spec(name)
        for dataset in options.datasets or spec.datasets:
            if dataset in spec.datasets:
                _probe(name, spec, dataset, options, known)


def _probe(
    name: str,
    spec: BenchSpec,
    dataset: str,
    options: argparse.Namespace,
    known: dict[tuple[str, str, str], Cost],
) -> None:
    short: dict[str, Short] = {}
    methods = []
    for method in spec.methods_on(dataset):
        label, key = (
            spec.label(method),
            (dataset, spec.label(method), method.profile or spec.profile),
        )
        if key not in known and label in (options.methods or [label]):
            known[key] = Cost()
            short[label] = _shortened(spec, method, dataset)
            settings = {**method.settings, **short[label].settings}
            # A label of ours says nothing of the settings, so none of them is refused.
            methods.append(replace(method, label=f"probe {label}", settings=settings, seeds=None))
    wanted = (dataset, ORACLE, spec.profile) not in known
    if not methods and not wanted:
        return
    probe = replace(
        spec,
        datasets=(dataset,),
        methods=tuple(replace(method, datasets=None) for method in methods)
        or (MethodSpec("random", settings={"oracle_calls": 10}),),
        seeds=spec.seeds[:1],
        graphs=options.graphs,
        noise=False,
        targets=False,
        plausibility=False,
        replacements=False,
        factual_proximity=False,
    )
    folder = options.out / f"{Path(name).stem}-{dataset}"
    run_bench(probe, folder, models=options.out / "models")
    found = read_rows(folder / RESULTS, all_signed=True).rows
    if wanted:
        known[dataset, ORACLE, spec.profile] = Cost()
        (trained,) = (row for row in found if row["kind"] == "oracle")
        print(
            f"{dataset},{ORACLE},{spec.profile},,{trained['cpu_seconds']:.4g}",
            flush=True,
        )
    for method in methods:
        label = method.label.removeprefix("probe ")
        mine = [row for row in found if row.get("method") == method.label]
        rows = [row for row in mine if row["kind"] == "graph"]
        (fit,) = (row for row in mine if row["kind"] == "fit")
        cut = short[label]
        learned = cut.seconds if cut.seconds is not None else fit["cpu_seconds"] * cut.times
        seconds = fmean(row["cpu_seconds"] for row in rows)
        profile = method.profile or spec.profile
        training = f"{learned:.4g}" if fit["learns"] else ""
        print(f"{dataset},{label},{profile},{seconds:.4g},{training}", flush=True)


def _shortened(spec: BenchSpec, method: MethodSpec, dataset: str) -> Short:
    config: Any = spec.make_explainer(method, dataset).config
    if method.name == "d4explainer":
        training = config.training
        minutes = training.max_cpu_minutes
        few = {"training": {"epochs": 1, "max_graphs": 64}}
        return Short(few, seconds=None if minutes is None else 60 * minutes)
    if method.name in ("dr-cfgnn", "edgeflip"):
        epochs = min(LINK_EPOCHS, config.training.epochs)
        return Short({"training": {"epochs": epochs}}, config.training.epochs / epochs)
    if method.name == "gist":
        return Short({"epochs": 1}, config.epochs)
    if method.name == "gcfexplainer" and config.steps is not None:
        return Short({"steps": [-(-each // STEPS_SHARE) for each in config.steps]}, STEPS_SHARE)
    return Short({})


if __name__ == "__main__":
    main()
