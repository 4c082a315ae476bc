"""What it costs to let others work, and whether their answers are the same: several processes, and a cluster.

    python benchmarks/engines.py --out runs/engines                  # 500 BBBP graphs, a few minutes
    python benchmarks/engines.py --out runs/engines --cluster        # 2,000 BA graphs on two nodes

The first explains the same graphs in two independent processes, each of which has every other graph, and
with engine="local" and two workers, in turn. A number of graphs is explained, and a tenth of it; what the
difference took is what graphs cost, without starting and loading. "Share" is how many graphs `local`
explains in the time, or the CPU time, in which the independent ones explain one.

The second starts a Ray cluster of two nodes on this machine. When the first answer is there a worker of one
node is killed, and soon after the other node. Answers must be those of this process, byte for byte but for
seconds; otherwise the run ends with an error.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data

from edgeflip import (
    CounterfactualExplainer,
    explain_stream,
    load_dataset,
    make_explainer,
)
from edgeflip.datasets import generated_graphs
from edgeflip.search import timeless
from edgeflip.training import oracle_for

GRAPHS, ROUNDS = 500, 3
CLUSTER_GRAPHS = 2_000


def main(argv: Sequence[str] | None = None) -> None:
    """Compare engines, or kill parts of a cluster."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder for models")
    parser.add_argument("--dataset", help="bbbp, or ba_2motifs with --cluster")
    parser.add_argument("--graphs", type=int, help="how many")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of the comparison")
    parser.add_argument("--profile", default="cpu", choices=("cpu", "smoke"), help="of the oracle")
    parser.add_argument(
        "--cluster", action="store_true", help="kill parts of a cluster of two nodes"
    )
    parser.add_argument("--part", nargs=2, type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    os.environ["OMP_NUM_THREADS"] = "1"
    options.dataset = options.dataset or ("ba_2motifs" if options.cluster else "bbbp")
    options.graphs = options.graphs or (CLUSTER_GRAPHS if options.cluster else GRAPHS)
    if options.part:
        alone(options)
    elif options.cluster:
        on_a_cluster(options)
    else:
        compare(options)


def task(options: argparse.Namespace) -> tuple[CounterfactualExplainer[Any], list[Data]]:
    """The explainer and the graphs."""
    bundle = load_dataset(options.dataset)
    oracle = oracle_for(bundle, options.out / options.dataset / "oracle", profile=options.profile)
    explainer = make_explainer("edgeflip", dataset=bundle.name).fit([], oracle)
    made = options.dataset == "ba_2motifs"
    graphs = list(islice(generated_graphs() if made else iter(bundle.graphs), options.graphs))
    return explainer, graphs


def alone(options: argparse.Namespace) -> None:
    """What one of the independent processes does."""
    explainer, graphs = task(options)
    first, count = options.part
    print(len(explainer.explain_many(graphs[:count][first::2])))


def cpu() -> float:
    """CPU seconds of this process and of those that ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def timed(what: str, count: int, options: argparse.Namespace, work: Any) -> tuple[float, float]:
    """Seconds and CPU seconds of explaining so many graphs."""
    started, before = time.perf_counter(), cpu()
    if what == "local":
        explainer, graphs = work
        answers = explainer.explain_many(graphs[:count], engine="local", workers=2)
        assert len(answers) == count
    else:
        command = [sys.executable, __file__, "--out", str(options.out), "--graphs", str(count)]
        command += ["--dataset", options.dataset, "--profile", options.profile, "--part"]
        parts = [
            subprocess.Popen([*command, str(first), str(count)], stdout=subprocess.DEVNULL)
            for first in range(2)
        ]
        if any(part.wait() for part in parts):
            raise SystemExit("an independent process failed")
    return time.perf_counter() - started, cpu() - before


def compare(options: argparse.Namespace) -> None:
    """Print what a graph costs in two independent processes and with two workers."""
    work = task(options)
    few = max(2, options.graphs // 10)
    rows: dict[str, list[tuple[float, float]]] = {"independent": [], "local": []}
    for _ in range(options.rounds):
        for what, found in rows.items():
            less, more = (timed(what, count, options, work) for count in (few, options.graphs))
            left = options.graphs - few
            found.append(((more[0] - less[0]) / left, (more[1] - less[1]) / left))
    table = Table(box=None)
    for head in ("round", "who", "ms a graph", "CPU ms a graph"):
        table.add_column(head, justify="right")
    for number in range(options.rounds):
        for what, found in rows.items():
            seconds, used = found[number]
            table.add_row(str(number + 1), what, f"{1e3 * seconds:.2f}", f"{1e3 * used:.2f}")
    console = Console()
    console.print(table)
    sums = {
        what: [sum(column) for column in zip(*found, strict=True)] for what, found in rows.items()
    }
    shares = [one / other for one, other in zip(sums["independent"], sums["local"], strict=True)]
    over = 1e3 * (sums["local"][1] - sums["independent"][1]) / options.rounds
    console.print(
        f"Share of the independent processes' graphs that local explains: {shares[0]:.2f} by the clock, "
        f"{shares[1]:.2f} by CPU time. Overhead of local: {over:.2f} CPU ms a graph."
    )


def on_a_cluster(options: argparse.Namespace) -> None:
    """Kill a worker and a node midway, and compare every answer."""
    import psutil
    import ray
    from ray.cluster_utils import Cluster

    explainer, graphs = task(options)
    started = time.process_time()
    wanted = [timeless(answer.to_dict()) for answer in explainer.explain_many(graphs)]
    inline = (time.process_time() - started) / len(graphs)
    room: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 200 * 2**20}
    cluster = Cluster(initialize_head=True, head_node_args=room)
    second = cluster.add_node(**room)
    ray.init(address=cluster.address, log_to_driver=False, logging_level=logging.ERROR)

    def workers(node: Any) -> list[Any]:
        raylet = psutil.Process(node.all_processes["raylet"][0].process.pid)
        return [
            each
            for each in raylet.children(recursive=True)
            if any("TaskActor" in word for word in each.cmdline())
        ]

    done = []
    began, driver = time.perf_counter(), time.process_time()
    for each in explain_stream(explainer, graphs, engine="ray"):
        done.append(each)
        if len(done) == 1:
            print(f"first answer after {time.perf_counter() - began:.1f} s", flush=True)
            victim = workers(cluster.head_node)[0]
            print(f"worker {victim.pid} of the first node is killed", flush=True)
            victim.kill()
        if len(done) == max(2, len(graphs) // 50):
            print("the second node is killed", flush=True)
            cluster.remove_node(second, allow_graceful=False)
    last, driver = time.perf_counter() - began, time.process_time() - driver
    failures = [each for each in done if each.failure]
    found = [timeless(each.answer.to_dict()) for each in done if each.answer]
    same = [json.dumps(each) for each in found] == [json.dumps(each) for each in wanted]
    print(f"{len(done):,} answers after {last:.1f} s; {len(failures)} failures")
    print(f"the same as inline but for seconds: {'yes' if same else 'no'}")
    print(
        f"inline takes {1e3 * inline:.2f} CPU ms a graph; the one who asks the cluster spent "
        f"{1e3 * driver / len(graphs):.2f} on each."
    )
    ray.shutdown()
    stop: Any = cluster.shutdown
    stop()
    if not same:
        raise SystemExit("answers differ")


if __name__ == "__main__":
    main()
