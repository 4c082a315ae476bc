"""Settings chosen on validation graphs: what there was to choose from, what each came to, and what was taken.

    python benchmarks/choices.py                            # all choices
    python benchmarks/choices.py gist --out runs/choices    # one of them, its runs kept in that folder

Every line is a benchmark of its own, run as `edgeflip bench run … --split val`: methods learn from training
graphs alone, and no test graph is looked at. A killed choice goes on where it was. Ties go to the first line,
which is nearest to what was published.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from edgeflip.bench import read_results, run_bench
from edgeflip.bench.spec import BenchSpec, MethodSpec

BA = ("ba_2motifs", "ba_2motifs_3class", "ba_3motifs", "ba_4motifs")


@dataclass(frozen=True)
class Choice:
    """What is chosen, among what, and by which measure.

    Attributes:
        spec: The benchmark; its method is given the settings of an option.
        options: Settings by what they are called; of the oracle or of the method.
        by: `"accuracy"` of the oracle on the validation graphs, or a metric of the rows; higher is better.
        of_oracle: Whether the options are settings of the oracle.
        also: Metrics that are told and decide nothing.
        decides: Whether the highest is taken; otherwise what was published is, and the figures are told.
    """

    spec: BenchSpec
    options: Mapping[str, Mapping[str, Any]]
    by: str
    of_oracle: bool = False
    also: tuple[str, ...] = ()
    decides: bool = True


def _oracles(
    title: str, datasets: tuple[str, ...], options: Mapping[str, Mapping[str, Any]]
) -> Choice:
    """Settings of oracles, by their accuracy alone: how sure one is decides how easily it is changed."""
    asks_little = (MethodSpec("random", settings={"oracle_calls": 100}),)
    spec = BenchSpec(title, datasets, asks_little, seeds=(0, 1, 2), split="val", graphs=1)
    return Choice(spec, options, by="accuracy", of_oracle=True)


def _cf2(title: str, datasets: tuple[str, ...]) -> Choice:
    """Weight and learning rate of CF², whose published ones were chosen for another oracle."""
    spec = BenchSpec(title, datasets, (MethodSpec("cf2"),), split="val", graphs=50)
    options = {
        f"weight {weight:g}, rate {rate:g}": {"weight": weight, "learning_rate": rate}
        for weight in (20.0, 100.0)
        for rate in (0.02, 0.05, 0.1, 0.2)
    }
    return Choice(spec, options, by="validity", also=("size", "fidelity"))


CHOICES = {
    "ba-oracles": _oracles(
        "Oracles of the BA sets",
        BA,
        {f"rate {rate:g}": {"learning_rate": rate} for rate in (0.003, 0.005, 0.01)},
    ),
    "bbbp-oracle": _oracles(
        "BBBP's oracle",
        ("bbbp",),
        {f"rate {rate:g}": {"learning_rate": rate} for rate in (0.003, 0.005)},
    ),
    "twitter-oracle": _oracles(
        "Graph-Twitter's oracle",
        ("graph_twitter",),
        {f"width {width}": {"layers": [width] * 3} for width in (128, 64)},
    ),
    "sst5-oracle": _oracles(
        "Graph-SST5's oracle",
        ("graph_sst5",),
        {
            f"width {width}, rate {rate:g}": {"layers": [width] * 3, "learning_rate": rate}
            for width in (128, 64)
            for rate in (1e-3, 5e-4)
        },
    ),
    "mutag0-oracle": _oracles(
        "Mutag0's oracle",
        ("mutag0",),
        {
            "the first of the best epochs, as published": {"tie_break": "first"},
            "the one of them with the lowest loss": {"tie_break": "loss"},
        },
    ),
    "cf2-ba": _cf2("CF² on the BA sets", BA),
    "cf2-real": _cf2("CF² on molecules and sentences", ("bbbp", "graph_twitter", "graph_sst5")),
    "gist": Choice(
        BenchSpec("GIST's negatives", BA, (MethodSpec("gist"),), split="val", graphs=50),
        {
            "across the graphs of a batch, as published": {"negatives": "batch"},
            "inside graphs": {"negatives": "graph"},
        },
        by="validity",
        also=("size", "fidelity"),
        decides=False,
    ),
}


def main(argv: Sequence[str] | None = None) -> None:
    """Run what there is to choose from and print it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "choices", nargs="*", help=f"some of {', '.join(CHOICES)}; all when left out"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("runs/choices"), help="where runs are kept"
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--graphs", type=int, help="at most so many validation graphs a set")
    parser.add_argument("--datasets", nargs="+", help="only these of a choice")
    parser.add_argument("--seeds", type=int, help="so many seeds")
    parser.add_argument("--profile", default="cpu", choices=["cpu", "smoke"])
    parser.add_argument("--json", action="store_true", help="print the figures as JSON last")
    options = parser.parse_args(argv)
    if unknown := sorted(set(options.choices) - set(CHOICES)):
        parser.error(f"expected some of {', '.join(CHOICES)}, got {unknown[0]}")
    figures = {name: _measured(name, options) for name in options.choices or CHOICES}
    if options.json:
        print(json.dumps(figures))


def _measured(name: str, options: argparse.Namespace) -> dict[str, Any]:
    choice = CHOICES[name]
    choice = replace(choice, spec=_spec(choice, {}, options))
    names = (choice.by, *choice.also)
    print(
        f"\n{choice.spec.title}: the highest {choice.by} on validation graphs, seeds and sets alike.\n"
    )
    print(
        f"| {' | '.join(['option', *choice.spec.datasets, *(f'mean {each}' for each in names)])} |"
    )
    print("| --- " * (1 + len(choice.spec.datasets) + len(names)) + "|")
    means: dict[str, float] = {}
    for number, (option, settings) in enumerate(choice.options.items()):
        folder = options.out / f"{name}-{number}"
        run_bench(_spec(choice, settings, options), folder, workers=options.workers, name=name)
        results = read_results(folder)
        rows = results.oracles if choice.by == "accuracy" else results.graphs
        values = {
            dataset: {each: _mean(rows, dataset, each) for each in names}
            for dataset in choice.spec.datasets
        }
        overall = {each: fmean(found[each] for found in values.values()) for each in names}
        means[option] = overall[choice.by]
        cells = [f"{found[choice.by]:.3f}" for found in values.values()]
        cells += [f"{overall[each]:.3f}" for each in names]
        print(f"| {' | '.join([option, *cells])} |", flush=True)
    highest = max(means, key=lambda option: round(means[option], 6))
    taken = highest if choice.decides else next(iter(means))
    print(f"\nHighest: {highest}. Taken: {taken}.", flush=True)
    return {"means": means, "highest": highest, "taken": taken}


def _spec(choice: Choice, settings: Mapping[str, Any], options: argparse.Namespace) -> BenchSpec:
    spec = replace(choice.spec, profile=options.profile)
    if options.graphs is not None:
        spec = replace(spec, graphs=options.graphs)
    if options.datasets:
        chosen = tuple(name for name in spec.datasets if name in options.datasets)
        spec = replace(spec, datasets=chosen)
    if options.seeds is not None:
        spec = replace(spec, seeds=tuple(range(options.seeds)))
    if choice.of_oracle:
        return replace(spec, oracle=settings)
    (method,) = spec.methods
    return replace(spec, methods=(replace(method, settings={**method.settings, **settings}),))


def _mean(rows: Sequence[Mapping[str, Any]], dataset: str, name: str) -> float:
    known = [row[name] for row in rows if row["dataset"] == dataset and row.get(name) is not None]
    return fmean(known) if known else float("nan")


if __name__ == "__main__":
    main()
