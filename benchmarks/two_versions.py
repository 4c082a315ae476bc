"""CPU seconds a graph of this version and of another, asked about the same graphs in turn.

    git worktree add ../older 317d3ee
    python benchmarks/two_versions.py ../older/src
    python benchmarks/two_versions.py ../older/src --datasets ba_3motifs --methods edgeflip rsgg-ce

Each version runs in a process of its own, trains its own oracle and fits with the same seed. A graph is
explained by both, the one right after the other, and who begins changes from graph to graph, so that what
disturbs the one disturbs the other too. One thread. Where a version has no `edgeflip`, its `dr-cfgnn`
without denoising is meant.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

DATASETS = ("ba_2motifs", "ba_2motifs_3class", "ba_3motifs", "ba_4motifs")
HERE = Path(__file__).resolve().parents[1] / "src"


class Version:
    """A version of the package in a process of its own.

    Args:
        source: Its folder `src`.
        profile: The presets it uses.
    """

    def __init__(self, source: Path, profile: str) -> None:
        path = os.pathsep.join([str(source.resolve()), os.environ.get("PYTHONPATH", "")])
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--worker", profile],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"},
        )

    def seconds(self, dataset: str, method: str, index: int) -> float:
        """CPU seconds of explaining a test graph."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{dataset} {method} {index}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(
                f"expected an answer about {dataset} {method}, got none; see that version alone."
            )
        return float(answer)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row per dataset and method."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("other", type=Path, help="folder src of the other version")
    parser.add_argument("--datasets", nargs="+", default=list(DATASETS))
    parser.add_argument("--methods", nargs="+", default=["edgeflip", "rsgg-ce"])
    parser.add_argument("--graphs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--profile", default="cpu")
    options = parser.parse_args(argv)
    versions = [Version(source, options.profile) for source in (options.other, HERE)]
    print(f"| | method | other | this | this / other, by round |\n{'| --- ' * 5}|")
    try:
        for dataset in options.datasets:
            for method in options.methods:
                for version in versions:
                    version.seconds(dataset, method, 0)
                rounds = [
                    _round(versions, dataset, method, options.graphs) for _ in range(options.rounds)
                ]
                means = [sum(column) / len(rounds) for column in zip(*rounds, strict=True)]
                ratios = ", ".join(f"{this / other:.2f}" for other, this in rounds)
                row = f"| {dataset} | {method} | {means[0]:.4f} | {means[1]:.4f} | {ratios} |"
                print(row, flush=True)
    finally:
        for version in versions:
            version.close()


def _round(versions: list[Version], dataset: str, method: str, graphs: int) -> tuple[float, float]:
    """Mean CPU seconds a graph of each."""
    spent = [0.0, 0.0]
    for index in range(graphs):
        for turn in (index % 2, 1 - index % 2):
            spent[turn] += versions[turn].seconds(dataset, method, index)
    return spent[0] / graphs, spent[1] / graphs


def work(profile: str) -> None:
    """Explain what is asked for on standard input; works with either version."""
    import torch

    from edgeflip import list_explainers, load_dataset, make_explainer, train_oracle

    torch.set_num_threads(1)
    ready: dict[tuple[str, str], tuple[Any, Any]] = {}
    oracles: dict[str, Any] = {}
    for line in sys.stdin:
        dataset, method, index = line.split()
        if (dataset, method) not in ready:
            bundle = load_dataset(dataset)
            if dataset not in oracles:
                oracles[dataset] = train_oracle(bundle, profile=profile)
            settings: dict[str, Any] = {}
            name = method
            if method == "edgeflip" and "edgeflip" not in list_explainers():
                name, settings = "dr-cfgnn", {"denoise": False}
            made = make_explainer(name, dataset=dataset, profile=profile, overrides=settings)
            ready[dataset, method] = made.fit(bundle.train, oracles[dataset]), bundle.test
        explainer, graphs = ready[dataset, method]
        # Older versions have no rules of chemistry that could be left out.
        plain = {"chemistry": False} if hasattr(explainer, "chemistry") else {}
        started = time.process_time()
        explainer.explain(graphs[int(index)], **plain)
        print(time.process_time() - started, flush=True)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        work(sys.argv[2])
    else:
        main()
