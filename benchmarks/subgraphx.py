"""What a factual subgraph costs, and what it is worth: SubgraphX plainly and in batches.

    python benchmarks/subgraphx.py            # tables; the plain search takes half a minute a graph
    python benchmarks/subgraphx.py --quick    # two graphs of each data set
    python benchmarks/subgraphx.py --json     # and the figures as one JSON object on the last line

Four explainers on the same test graphs, all on one thread:

- plain: the published search; every coalition is scored by itself on 100 samples, each of them two
  PyG graphs that are collated into a batch
- published: the same search and samples, scored in batches of masks
- SubgraphX: our defaults
- Occlusion: every edge removed once

The value is the Shapley value of the answer by one referee for all, with 1000 samples of its own.
Recall is the share of the motif's nodes in the answer. The speed-up is the plain search's CPU seconds
over those of our defaults, on the same graphs. Last comes a whole explanation: DR-CFGNN in the `cpu`
profile, with Occlusion, on the BA-2Motifs graphs of the plain search.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial

import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data

from edgeflip import EdgeFlip, MeteredOracle, ModelOracle, PairSpace, load_dataset, train_oracle
from edgeflip.core import FactualSubgraph
from edgeflip.datasets import DatasetBundle
from edgeflip.factual import Occlusion, SubgraphX
from edgeflip.factual.coalitions import Topology, as_bits, members, subgraph_of
from edgeflip.factual.shapley import BatchedShapley, PlainShapley, draw_joiners
from edgeflip.oracle.masking import MaskedOracle

REFEREE_SAMPLES = 1000
REFEREE_SEED = 20_000

Explain = Callable[[MeteredOracle, Data, int], FactualSubgraph]


@dataclass(frozen=True)
class Row:
    """Means over graphs of one explainer on one data set."""

    dataset: str
    explainer: str
    graphs: int
    cpu_seconds: float
    oracle_calls: float
    value: float
    recall: float


def explain_plainly(
    settings: SubgraphX, oracle: MeteredOracle, graph: Data, label: int
) -> FactualSubgraph:
    """The published search with the plain scorer."""
    space = PairSpace.of(graph)
    topology = Topology.of(space)
    generator = torch.Generator().manual_seed(0)
    scorer = PlainShapley(oracle, label, space, topology, settings.radius, generator)
    assert isinstance(oracle.oracle, ModelOracle)
    with oracle.oracle.frozen():
        coalition, value = settings.search(topology, scorer)
    return subgraph_of(space, members(coalition), value)


def referee_value(oracle: ModelOracle, graph: Data, label: int, answer: FactualSubgraph) -> float:
    """The answer's Shapley value, from samples that no explainer has seen."""
    space = PairSpace.of(graph)
    generator = torch.Generator().manual_seed(REFEREE_SEED)
    joiners = draw_joiners(REFEREE_SAMPLES, space.num_nodes, generator)
    radius = SubgraphX().radius
    referee = BatchedShapley(
        MaskedOracle(oracle, space), label, Topology.of(space), radius, joiners
    )
    return referee.scores([as_bits(answer.nodes)], REFEREE_SAMPLES)[0]


def measure(
    bundle: DatasetBundle, oracle: ModelOracle, name: str, explain: Explain, graphs: list[Data]
) -> tuple[Row, list[float]]:
    """The means of one explainer, and its CPU seconds graph by graph."""
    seconds, calls, values, recalls = [], [], [], []
    for graph, label in zip(graphs, oracle.predict(graphs).tolist(), strict=True):
        meter = MeteredOracle(oracle)
        started = time.process_time()
        answer = explain(meter, graph, label)
        seconds.append(time.process_time() - started)
        calls.append(meter.calls)
        values.append(referee_value(oracle, graph, label, answer))
        assert bundle.motif_nodes is not None
        motif = bundle.motif_nodes(graph)
        recalls.append(len(motif & set(answer.nodes)) / len(motif))
    means = [sum(column) / len(graphs) for column in (seconds, calls, values, recalls)]
    return Row(bundle.name, name, len(graphs), *means), seconds


def compare(
    dataset: str, graph_count: int, plain_count: int, options: argparse.Namespace
) -> tuple[list[Row], float, float]:
    """All explainers on one data set, and the CPU seconds that make the speed-up."""
    bundle = load_dataset(dataset)
    oracle = train_oracle(bundle, profile=options.profile)
    max_nodes = options.max_nodes
    graphs = bundle.test[:graph_count]
    ours = SubgraphX(max_nodes)
    published = SubgraphX.published(max_nodes, rollouts=options.rollouts)
    explainers: dict[str, Explain] = {
        "plain": partial(explain_plainly, published),
        "published": partial(published.explain, seed=0),
        "SubgraphX": partial(ours.explain, seed=0),
        "Occlusion": partial(Occlusion(max_nodes).explain, seed=0),
    }
    ours.explain(oracle, graphs[0], 0, seed=0)  # the first call of all pays for setting torch up
    rows, seconds = [], {}
    for name, explain in explainers.items():
        chosen = graphs[:plain_count] if name == "plain" else graphs
        row, seconds[name] = measure(bundle, oracle, name, explain, chosen)
        rows.append(row)
    return rows, sum(seconds["plain"]), sum(seconds["SubgraphX"][:plain_count])


def explain_wholly(dataset: str, graph_count: int, profile: str) -> float:
    """Mean CPU seconds of a whole explanation by DR-CFGNN."""
    bundle = load_dataset(dataset)
    oracle = train_oracle(bundle, profile=profile)
    explainer = EdgeFlip.for_dataset(dataset, profile=profile)
    explainer.fit([*bundle.train, *bundle.val], oracle)
    explainer.explain(bundle.val[0])
    started = time.process_time()
    for graph in bundle.test[:graph_count]:
        explainer.explain(graph)
    return (time.process_time() - started) / graph_count


def show(rows: list[Row], speedup: float) -> None:
    """The table for people."""
    table = Table("data", "explainer", "graphs", "CPU s/graph", "calls/graph", "value", "recall")
    for row in rows:
        figures = (f"{row.cpu_seconds:.3f}", f"{row.oracle_calls:,.0f}")
        quality = (f"{row.value:.4f}", f"{row.recall:.3f}")
        table.add_row(row.dataset, row.explainer, str(row.graphs), *figures, *quality)
    Console(width=100).print(table, f"speed-up of SubgraphX over plain: {speedup:.0f}×")


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--graphs", type=int, default=10, help="BA-2Motifs; half of it BA-4Motifs")
    parser.add_argument("--plain-graphs", type=int, help="how many the plain search is run on")
    parser.add_argument("--max-nodes", type=int, default=6)
    parser.add_argument("--rollouts", type=int, default=20, help="of the published search")
    parser.add_argument("--quick", action="store_true", help="two graphs of each data set")
    parser.add_argument("--profile", default="cpu", help="of the presets")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    count = 2 if options.quick else max(1, options.graphs)
    counts = {"ba_2motifs": count, "ba_4motifs": count if options.quick else (count + 1) // 2}
    rows: list[Row] = []
    plain = ours = 0.0
    for dataset, wanted in counts.items():
        few = wanted if options.plain_graphs is None else min(wanted, max(1, options.plain_graphs))
        part, plain_seconds, our_seconds = compare(dataset, wanted, few, options)
        rows, plain, ours = rows + part, plain + plain_seconds, ours + our_seconds
    show(rows, plain / ours)
    plainly = rows[0].cpu_seconds
    wholly = explain_wholly("ba_2motifs", rows[0].graphs, options.profile)
    print(
        f"DR-CFGNN, {options.profile} profile: {wholly:.3f} CPU s a graph, "
        f"1/{plainly / wholly:.0f} of plain SubgraphX"
    )
    if options.json:
        figures = {
            "speedup": plain / ours,
            "explain_seconds": wholly,
            "explain_speedup": plainly / wholly,
        }
        print(json.dumps({**figures, "rows": [asdict(row) for row in rows]}))


if __name__ == "__main__":
    main()
