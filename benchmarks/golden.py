"""Whether this code answers as it did: every method on the golden graphs, compared edit by edit.

    python benchmarks/convert_317d3ee.py OLD_MODELS runs/golden   # oracles and fits of 317d3ee, once
    python benchmarks/golden.py runs/golden                       # a row per dataset and method
    python benchmarks/golden.py runs/golden --datasets bbbp --methods random
    python benchmarks/golden.py runs/golden --record              # writes benchmarks/golden.json

Golden graphs are the first 100 test graphs of each BA set, 60 of BBBP and of Mutag0, 40 of each set of
sentences, seed 0. `edgeflip` and `d4explainer` have none: the search of one (see `guided.py`) and the
training of the other (see `d4.py`) were changed on purpose. What is compared is a hash of all edit sets that
an answer keeps, best first. The exit code is 1 when any graph differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from edgeflip import (
    CounterfactualExplainer,
    CounterfactualSet,
    DatasetBundle,
    ModelOracle,
    load_dataset,
    make_explainer,
)
from edgeflip.explainers import OPTIONS, explainer_class
from edgeflip.training import oracle_for

GOLDEN = Path(__file__).with_name("golden.json")

COUNTS = {
    "ba_2motifs": 100,
    "ba_2motifs_3class": 100,
    "ba_3motifs": 100,
    "ba_4motifs": 100,
    "bbbp": 60,
    "mutag0": 60,
    "graph_twitter": 40,
    "graph_sst5": 40,
}

RIVALS = (
    "random",
    "gcfexplainer",
    "cf2",
    "rsgg-ce",
    "gist",
    "cf-gnnexplainer",
    "c2explainer",
)


def columns(dataset: str) -> dict[str, tuple[str, dict[str, Any]]]:
    """The columns of the comparison of 317d3ee: label to method and settings."""
    on_ba = dataset.startswith("ba_")
    found: dict[str, tuple[str, dict[str, Any]]] = {name: (name, {}) for name in RIVALS}
    if not on_ba:
        found["random"] = ("random", {"oracle_calls": 20_000})
    for denoise in (False, True):
        for one_hot in (False, True):
            # On Mutag0 nothing is added, and molecules are not denoised.
            if (dataset == "mutag0" and not one_hot) or (dataset in ("bbbp", "mutag0") and denoise):
                continue
            label = f"dr-cfgnn {'+' if denoise else '-'}DeN {'+' if one_hot else '-'}OH"
            settings: dict[str, Any] = {
                "denoise": denoise,
                "one_hot": one_hot,
                "published_code": {"faithful_only": on_ba, "denoise_stops": True},
            }
            if not on_ba:
                settings["iterations"] = 12_000
            found[label] = ("dr-cfgnn", settings)
    found["edgeflip"] = ("edgeflip", {})
    return found


def fitted(
    bundle: DatasetBundle,
    oracle: ModelOracle,
    options: argparse.Namespace,
    method: str,
    settings: dict[str, Any],
) -> CounterfactualExplainer[Any]:
    """The explainer of a column with what was learned before, or now if nothing was."""
    explainer = make_explainer(
        method, dataset=bundle.name, profile=options.profile, overrides=settings
    )
    if not explainer_class(method).learns:
        return explainer.fit([], oracle)
    variant = ""
    if method in ("dr-cfgnn", "edgeflip"):
        variant = "+OH" if settings.get("one_hot", True) else "-OH"
    folder = options.models / bundle.name / f"{method}{variant}"
    if folder.exists():
        return explainer.restore(folder, oracle)
    explainer.fit([*bundle.train, *bundle.val], oracle).save(folder)
    return explainer


def digest(answer: CounterfactualSet) -> str:
    """A short hash of all edit sets that an answer keeps, in their order."""
    kept = list(answer.counterfactuals)
    if answer.first is not None and answer.first not in kept:
        # Golden answers are of a time when the first flip had the last seat.
        kept = [*kept[: OPTIONS["keep"].default - 1], answer.first]
    edits = [entry.edits.to_dict() for entry in kept]
    return hashlib.sha256(json.dumps(edits).encode()).hexdigest()[:10]


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row per dataset and method."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("models", type=Path, help="folder of oracles and fits; made if missing")
    parser.add_argument("--profile", default="cpu", help="presets of oracles and methods")
    parser.add_argument("--golden", type=Path, default=GOLDEN, help="file of golden answers")
    parser.add_argument("--datasets", nargs="+", default=list(COUNTS))
    parser.add_argument("--methods", nargs="+", help="labels of columns; all by default")
    parser.add_argument("--graphs", type=int, help="at most so many graphs of each set")
    parser.add_argument("--record", action="store_true", help="write what comes out as golden")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    known: dict[str, dict[str, list[str]]] = (
        json.loads(options.golden.read_text()) if options.golden.exists() else {}
    )
    print(
        f"| dataset | method | graphs | same | validity | edits | fidelity | CPU s |\n{'| --- ' * 8}|"
    )
    different = 0
    for dataset in options.datasets:
        bundle = load_dataset(dataset)
        graphs = list(bundle.test)[: options.graphs or COUNTS[dataset]]
        oracle = oracle_for(bundle, options.models / dataset / "oracle", profile=options.profile)
        for label, (method, settings) in columns(dataset).items():
            if options.methods and label not in options.methods:
                continue
            explainer = fitted(bundle, oracle, options, method, settings)
            started = time.process_time()
            answers = explainer.explain_many(graphs, seed=0)
            seconds = (time.process_time() - started) / len(graphs)
            found = [digest(answer) for answer in answers]
            golden = known.get(dataset, {}).get(label, [])[: len(graphs)]
            wrong = [
                i for i, pair in enumerate(zip(found, golden, strict=False)) if pair[0] != pair[1]
            ]
            different += len(wrong)
            same = f"{len(golden) - len(wrong)} of {len(golden)}" if golden else "–"
            print(
                f"| {dataset} | {label} | {_figures(answers, same)} | {seconds:.4f} |", flush=True
            )
            if wrong:
                print(f"  differs on graphs {wrong}", flush=True)
            if options.record:
                known.setdefault(dataset, {})[label] = found
                options.golden.write_text(_as_json(known))
    if different and not options.record:
        sys.exit(1)


def _figures(answers: Sequence[CounterfactualSet], same: str) -> str:
    best = [answer.best for answer in answers if answer.best is not None]
    count = max(1, len(best))
    edits = sum(entry.size for entry in best) / count
    fidelity = sum(entry.fidelity for entry in best) / count
    return (
        f"{len(answers)} | {same} | {len(best) / len(answers):.3f} | {edits:.3f} | {fidelity:.3f}"
    )


def _as_json(known: dict[str, dict[str, list[str]]]) -> str:
    lines = []
    for dataset, rows in known.items():
        inside = ",\n".join(
            f"  {json.dumps(label)}: {json.dumps(found)}" for label, found in rows.items()
        )
        lines.append(f"{json.dumps(dataset)}: {{\n{inside}\n}}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


if __name__ == "__main__":
    main()
