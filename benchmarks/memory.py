"""Peak memory of a whole job: load a dataset, train its oracle, fit DR-CFGNN, explain test graphs.

    python benchmarks/memory.py                        # Graph-SST5, 50 test graphs
    python benchmarks/memory.py --dataset graph_twitter --graphs 20

One process, one thread; the peak is that of the process so far. Features of words are read from the
cache when they are there, see `benchmarks/encode.py`.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch

from edgeflip import EdgeFlip, load_dataset, train_oracle


@contextmanager
def measured(what: str) -> Iterator[None]:
    """Print the CPU seconds of a block, and the peak after it."""
    started = time.process_time()
    yield
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(f"{what}: {time.process_time() - started:.0f} CPU s, peak {peak:,.0f} MB", flush=True)


def main(argv: Sequence[str] | None = None) -> None:
    """Do the job step by step."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--dataset", default="graph_sst5")
    parser.add_argument("--profile", default="cpu", help="of the presets")
    parser.add_argument("--graphs", type=int, default=50)
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    with measured("imports"):
        pass
    with measured(f"load {options.dataset}"):
        bundle = load_dataset(options.dataset)
    with measured("train the oracle"):
        oracle = train_oracle(bundle, profile=options.profile)
    with measured(f"fit on {len(bundle.train) + len(bundle.val):,} graphs"):
        explainer = EdgeFlip.for_dataset(options.dataset, profile=options.profile)
        explainer.fit([*bundle.train, *bundle.val], oracle)
    with measured(f"explain {options.graphs} graphs"):
        found = [explainer.explain(graph).found for graph in bundle.test[: options.graphs]]
    print(f"{sum(found)} of {len(found)} answered")


if __name__ == "__main__":
    main()
