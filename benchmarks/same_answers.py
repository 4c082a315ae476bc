"""Whether edgeflip still answers as it did in a run: the graphs of the run, explained again with this code.

    python benchmarks/same_answers.py runs/ba runs/real
    python benchmarks/same_answers.py runs/real --datasets bbbp --label 1

The oracle and the link predictor are trained again as the run trained them. In every cell the run's
figure and this code's.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch

from edgeflip import DRCFGNN, CounterfactualSet, load_dataset
from edgeflip.bench.report import read_results
from edgeflip.bench.report.versus import OURS
from edgeflip.training.fits import fit_once
from edgeflip.training.oracles import oracle_for


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row per dataset."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folders", nargs="+", help="folders of runs")
    parser.add_argument("--datasets", nargs="+")
    parser.add_argument("--label", type=int, help="only graphs of this predicted class")
    parser.add_argument("--profile", default="cpu", help="of the presets")
    parser.add_argument("--models", type=Path, default=Path("runs/same_answers"))
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    print(f"| | graphs | same edits | validity | edits | fidelity |\n{'| --- ' * 6}|")
    for folder in options.folders:
        results = read_results(folder)
        for name in options.datasets or results.datasets:
            rows = [
                row
                for row in results.graphs
                if row["dataset"] == name and row["method"] == OURS and row["seed"] == 0
                if options.label in (None, row["label"])
            ]
            answers = _explain(
                name, [row["graph"] for row in rows], options.models, options.profile
            )
            _print(name, rows, answers)


def _explain(
    name: str, places: Sequence[int], models: Path, profile: str
) -> list[CounterfactualSet]:
    bundle = load_dataset(name)
    oracle = oracle_for(bundle, models / f"oracle-{name}", profile=profile)
    explainer = DRCFGNN.for_dataset(name, profile=profile, overrides={"denoise": False})
    fitted = fit_once(explainer, bundle, oracle, models, with_validation=True).explainer
    return [fitted.explain(bundle.test[place]) for place in places]


def _print(
    name: str, rows: Sequence[Mapping[str, Any]], answers: Sequence[CounterfactualSet]
) -> None:
    then = [row for row in rows if row["found"]]
    now = [answer.best for answer in answers if answer.best is not None]
    same = sum(_edits(row) == _now(answer) for row, answer in zip(rows, answers, strict=True))
    pairs = (
        (len(then) / len(rows), len(now) / len(rows)),
        (_mean([row["size"] for row in then]), _mean([best.size for best in now])),
        (_mean([row["fidelity"] for row in then]), _mean([best.fidelity for best in now])),
    )
    cells = " | ".join(f"{before:.3f} → {after:.3f}" for before, after in pairs)
    print(f"| {name} | {len(rows)} | {same} | {cells} |", flush=True)


def _edits(row: Mapping[str, Any]) -> object:
    if not row["found"]:
        return None
    return {tuple(edge) for edge in row["added"]}, {tuple(edge) for edge in row["removed"]}


def _now(answer: CounterfactualSet) -> object:
    if answer.best is None:
        return None
    return set(answer.best.edits.added), set(answer.best.edits.removed)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values) if values else float("nan")


if __name__ == "__main__":
    main()
