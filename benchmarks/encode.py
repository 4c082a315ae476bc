"""How long the words of the sentence sets take to encode, and what the features weigh.

python benchmarks/encode.py                      # both sets, into a folder that is thrown away
python benchmarks/encode.py graph_twitter --cache somewhere
"""

from __future__ import annotations

import argparse
import os
import resource
import tempfile
import time
from collections.abc import Sequence

from edgeflip.datasets.sentences import SENTENCE_SETS, load_sentences


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", default=SENTENCE_SETS, metavar="name")
    parser.add_argument("--data-dir", default=os.environ.get("EDGEFLIP_DATA"))
    parser.add_argument("--cache", help="keep the features here; what is there is not made again")
    options = parser.parse_args(argv)
    for name in options.names:
        if options.cache is None:
            with tempfile.TemporaryDirectory() as folder:
                measure(name, options.data_dir, folder)
        else:
            measure(name, options.data_dir, options.cache)


def measure(name: str, data_dir: str | None, cache: str) -> None:
    for what in ("encode and load", "load from the cache"):
        wall, cpu = time.perf_counter(), time.process_time()
        bundle = load_sentences(name, data_dir, cache_dir=cache, progress=True)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        words = sum(graph.num_nodes for graph in bundle.graphs)
        size = words * bundle.num_features * 4 / 2**20
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
        print(
            f"{name}: {what}: {len(bundle.graphs)} texts, {words} words x {bundle.num_features}, "
            f"{wall:.1f} s wall, {cpu:.1f} s CPU, features {size:.0f} MB, peak {peak:.0f} MB",
            flush=True,
        )


if __name__ == "__main__":
    main()
