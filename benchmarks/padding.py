"""What graphs of unlike sizes cost to learn from, in this version and in another.

    git worktree add ../older 894f8d9
    python benchmarks/padding.py ../older/src                     # 1,800 molecules, mean 16 nodes, largest 95
    python benchmarks/padding.py ../older/src --datasets bbbp mutag0 --seeds 1
    python benchmarks/padding.py --work links oracle              # this version alone

The first set is made up: rings, chains and leaves, one in five large, every second molecule with a nitro
group. Others are those of edgeflip, all but their test graphs. Each figure is of a process of its own on one
thread, the versions in turn: CPU seconds of the work alone, what came of it, and the peak of the process.

    links    `fit_links` with the settings of the preset: validation AUC
    links32  the same with default settings, as `EdgeFlip()` has them: batches of 32 graphs
    oracle   `train_oracle`: validation accuracy
    soft     50 times answers and slopes of 64 graphs with weights, drawn at random: mean size of a slope
    d4explainer, gist, rsgg-ce   `fit` on as many graphs as the preset takes: what its report tells
"""

from __future__ import annotations

import argparse
import json
import math
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch_geometric.data import Data

from edgeflip import DatasetBundle, ModelOracle, load_dataset, make_explainer, train_oracle
from edgeflip.core import PairSpace
from edgeflip.datasets import DatasetCard, random_split
from edgeflip.explainers import LinkExplainer
from edgeflip.links import LinkSettings, fit_links
from edgeflip.oracle import GCNClassifier, SoftGraphs
from edgeflip.presets import load_preset

HERE = Path(__file__).resolve().parents[1] / "src"
MADE_UP = "molecules"
SIZES = ((0.8, 10.7, 0.34), (0.2, 37.0, 0.34))
"""Share, mean and spread of the small and of the large ones: 16 nodes on average, the largest 95."""
LARGEST = 95


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row per set and work."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path, nargs="?", help="folder src of the other version")
    parser.add_argument("--datasets", nargs="+", default=[MADE_UP])
    parser.add_argument("--work", nargs="+", choices=sorted(WORK), default=["links", "oracle"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--graphs", type=int, default=1800, help="at most so many")
    parser.add_argument("--profile", default="cpu")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON last")
    options = parser.parse_args(argv)
    sources = [source for source in (options.other, HERE) if source is not None]
    figures = []
    print("| set | work | version | CPU s | result per seed | peak MB |\n" + "| --- " * 6 + "|")
    for dataset in options.datasets:
        for work in options.work:
            runs: dict[Path, list[dict[str, Any]]] = {source: [] for source in sources}
            for seed in range(options.seeds):
                for source in sources if seed % 2 else reversed(sources):
                    runs[source].append(_measured(source, dataset, work, seed, options))
            for source in sources:
                found = runs[source]
                version = "this" if source is HERE else "other"
                print(f"| {dataset} | {work} | {version} | {_row(found)} |", flush=True)
                figures.append({"set": dataset, "work": work, "version": version, "runs": found})
    if options.json:
        print(json.dumps(figures))


def _row(runs: Sequence[dict[str, Any]]) -> str:
    seconds = statistics.fmean(run["seconds"] for run in runs)
    results = " ".join(f"{run['result']:.4f}" for run in runs)
    return f"{seconds:.1f} | {results} | {max(run['peak'] for run in runs):,.0f}"


def _measured(
    source: Path, dataset: str, work: str, seed: int, options: argparse.Namespace
) -> dict[str, Any]:
    """CPU seconds, result and peak of a work in a process of its own."""
    path = os.pathsep.join([str(source.resolve()), os.environ.get("PYTHONPATH", "")])
    question = [dataset, work, str(seed), str(options.graphs), options.profile]
    done = subprocess.run(
        [sys.executable, __file__, "--worker", *question],
        env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


# What a process measures.


def work(dataset: str, name: str, seed: int, graphs: int, profile: str) -> dict[str, float]:
    """Do one work; runs with either version."""
    torch.set_num_threads(1)
    bundle = _bundle(dataset, graphs)
    seconds, result = WORK[name](bundle, seed, profile)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    return {"seconds": seconds, "result": result, "peak": peak}


def _links(bundle: DatasetBundle, seed: int, profile: str) -> tuple[float, float]:
    explainer = make_explainer("edgeflip", dataset=_preset(bundle), profile=profile)
    assert isinstance(explainer, LinkExplainer)
    return _fitted_links(bundle, explainer.link_settings, seed)


def _links32(bundle: DatasetBundle, seed: int, profile: str) -> tuple[float, float]:
    return _fitted_links(bundle, LinkSettings(), seed)


def _fitted_links(bundle: DatasetBundle, settings: LinkSettings, seed: int) -> tuple[float, float]:
    model = GCNClassifier(bundle.num_features, bundle.num_classes)
    oracle = ModelOracle(model, num_classes=bundle.num_classes)
    graphs = [*bundle.train, *bundle.val]
    started = time.process_time()
    links = fit_links(graphs, oracle, settings, seed=seed)
    return time.process_time() - started, links.report.auc


def _oracle(bundle: DatasetBundle, seed: int, profile: str) -> tuple[float, float]:
    started = time.process_time()
    oracle = train_oracle(bundle, profile=profile, seed=seed)
    seconds = time.process_time() - started
    labels = torch.cat([graph.y for graph in bundle.val])
    right = oracle.predict_proba(bundle.val).argmax(dim=1) == labels
    return seconds, float(right.float().mean())


def _soft(bundle: DatasetBundle, seed: int, profile: str) -> tuple[float, float]:
    oracle = _trained_a_little(bundle, profile)
    chosen = random.Random(seed).sample(range(len(bundle.train)), min(64, len(bundle.train)))
    spaces = [PairSpace.of(bundle.train[index]) for index in chosen]
    # As every method does before: then it is known what the model returns.
    oracle.predict_proba([space.graph for space in spaces])
    started = time.process_time()
    soft = SoftGraphs(oracle, spaces, [torch.arange(space.num_pairs) for space in spaces])
    weights = (0.98 * soft.original + 0.01).requires_grad_()
    for _ in range(50):
        (slopes,) = torch.autograd.grad(soft.logits(weights).logsumexp(dim=1).sum(), weights)
    return time.process_time() - started, float(slopes.abs().mean())


def _fit(method: str) -> Callable[[DatasetBundle, int, str], tuple[float, float]]:
    def fit(bundle: DatasetBundle, seed: int, profile: str) -> tuple[float, float]:
        oracle = _trained_a_little(bundle, profile)
        # A few epochs of the longest training of all.
        few = {"training": {"epochs": 5}} if method == "d4explainer" else None
        explainer: Any = make_explainer(
            method, dataset=_preset(bundle), profile=profile, overrides=few
        )
        started = time.process_time()
        explainer.fit(bundle.train, oracle, seed=seed)
        seconds = time.process_time() - started
        report = getattr(explainer, "report_", None)
        named = ("flip_rate", "loss")
        return seconds, next((getattr(report, key) for key in named if hasattr(report, key)), 0.0)

    return fit


def _trained_a_little(bundle: DatasetBundle, profile: str) -> ModelOracle:
    settings = load_preset(bundle.name, profile).oracle
    return train_oracle(bundle, settings=replace(settings, epochs=min(10, settings.epochs)))


def _preset(bundle: DatasetBundle) -> str | None:
    return None if bundle.name == MADE_UP else bundle.name


WORK: dict[str, Callable[[DatasetBundle, int, str], tuple[float, float]]] = {
    "links": _links,
    "links32": _links32,
    "oracle": _oracle,
    "soft": _soft,
    **{name: _fit(name) for name in ("d4explainer", "gist", "rsgg-ce")},
}


# The made-up set.


def _bundle(dataset: str, graphs: int) -> DatasetBundle:
    if dataset != MADE_UP:
        bundle = load_dataset(dataset)
        kept = bundle.split.train[: graphs - min(len(bundle.split.val), graphs // 8)]
        return replace(
            bundle,
            split=replace(
                bundle.split, train=kept, val=bundle.split.val[: max(1, graphs - len(kept))]
            ),
        )
    # Two hundred more, of the same sizes, are test graphs that nothing learns from.
    made = made_up_molecules(graphs + max(1, graphs // 9))
    card = DatasetCard(MADE_UP, "none", "none", "made up", None, "generated")
    split = random_split(len(made))
    return DatasetBundle(MADE_UP, made, split, ("without", "nitro"), None, "molecule", card)


def made_up_molecules(count: int, *, seed: int = 0) -> list[Data]:
    """Graphs that look like molecules, in random order."""
    rng = random.Random(seed)
    sizes: list[int] = []
    for share, mean, spread in SIZES:
        normal = statistics.NormalDist(math.log(mean) - spread**2 / 2, spread)
        part = round(share * count)
        sizes += [round(math.exp(normal.inv_cdf((k + 0.5) / part))) for k in range(part)]
    rng.shuffle(sizes)
    return [
        _molecule(min(LARGEST, max(5, size)), place % 2, rng) for place, size in enumerate(sizes)
    ]


# Carbon, nitrogen, oxygen, sulphur, fluorine, chlorine: how many bonds they have room for.
_ROOM = (4, 3, 2, 2, 1, 1)


def _molecule(size: int, label: int, rng: random.Random) -> Data:
    kinds, bonds, room = [0], [], [4]

    def add(kind: int, to: int) -> int:
        kinds.append(kind)
        room.append(_ROOM[kind] - 1)
        bonds.append((to, len(kinds) - 1))
        room[to] -= 1
        return len(kinds) - 1

    limit = size - 3 * label
    while len(kinds) < limit:
        # Chains grow at their ends more often than in the middle.
        free = [atom for atom in range(len(kinds)) if room[atom] > 0]
        start = rng.choice(free[-4:] if rng.random() < 0.6 else free)
        around = rng.choice((5, 6, 6, 6))
        if limit - len(kinds) >= around and room[start] > 1 and rng.random() < 0.3:
            last = start
            for _ in range(around - 1):
                last = add(rng.choices((0, 1), (9, 1))[0], last)
            bonds.append((start, last))
            room[start] -= 1
            room[last] -= 1
        else:
            # The last free place must not be closed before the molecule has its size.
            ending = len(free) > 3 or len(kinds) == limit - 1
            add(rng.choices(range(6), (60, 12, 12, 4, 6 * ending, 6 * ending))[0], start)
    if label:
        carbon = rng.choice([atom for atom in range(len(kinds)) if room[atom] > 0])
        nitrogen = add(1, carbon)
        add(2, nitrogen)
        add(2, nitrogen)
    both = torch.tensor(bonds + [(v, u) for u, v in bonds]).t().contiguous()
    x = torch.nn.functional.one_hot(torch.tensor(kinds), len(_ROOM)).float()
    return Data(x=x, edge_index=both, y=torch.tensor([label]))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        set_name, work_name, *numbers, chosen = sys.argv[2:]
        print(json.dumps(work(set_name, work_name, int(numbers[0]), int(numbers[1]), chosen)))
    else:
        main()
