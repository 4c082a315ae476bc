"""Whose node features GIST's redrawn graphs carry, and what that does to its validity.

    python benchmarks/gist_features.py --datasets graph_twitter graph_sst5

GIST redraws a training graph of another class. edgeflip lays the redrawn edges upon the nodes of the graph
to explain, since its answers are edits of edges. The published code asks the oracle about the redrawn graph
with features of its own. This prints the share of test graphs that change class with the features of the
input, of the overshoot, and of the network.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor
from torch_geometric.data import Data

from edgeflip import load_dataset, make_explainer
from edgeflip.core.padding import DenseGraphs
from edgeflip.explainers.gist import GIST
from edgeflip.explainers.gist.network import StyleNetwork, relaxed, symmetric
from edgeflip.training.fitting import fit_once
from edgeflip.training.oracles import oracle_for

FEATURES = ("input", "overshoot", "network")


def main(argv: Sequence[str] | None = None) -> None:
    """Print a row per dataset."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", nargs="+", default=["graph_twitter", "graph_sst5"])
    parser.add_argument("--graphs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--profile", default="cpu", help="of the presets")
    parser.add_argument("--models", type=Path, help="where trained models are kept; nowhere")
    options = parser.parse_args(argv)
    torch.set_num_threads(1)
    print("| dataset | graphs | features of the input | of the overshoot | of the network |")
    print("| --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as folder:
        for name in options.datasets:
            row = _shares(name, options, options.models or Path(folder))
            print(f"| {name} | {' | '.join(row)} |", flush=True)


def _shares(name: str, options: argparse.Namespace, folder: Path) -> list[str]:
    bundle = load_dataset(name)
    oracle = oracle_for(
        bundle, folder / f"oracle-{name}", profile=options.profile, seed=options.seed
    )
    explainer = fit_once(
        make_explainer("gist", dataset=name, profile=options.profile),
        bundle,
        oracle,
        folder,
        seed=options.seed,
    ).explainer
    assert isinstance(explainer, GIST)
    network, config = explainer.network_, explainer.config
    predicted = oracle.predict_proba(bundle.train).argmax(dim=1)
    sizes = torch.tensor([graph.num_nodes for graph in bundle.train])
    generator = torch.Generator().manual_seed(options.seed)
    right = oracle.predict_proba(bundle.test).argmax(dim=1).tolist()
    tested = zip(bundle.test, right, strict=True)
    graphs = [graph for graph, label in tested if label == int(graph.y)][: options.graphs]
    hits = dict.fromkeys(FEATURES, 0)
    for graph in graphs:
        own = int(oracle.predict_proba([graph]).argmax())
        fitting = ((sizes == graph.num_nodes) & (predicted != own)).nonzero().flatten()
        if not fitting.numel():
            continue
        chosen = fitting[torch.randint(len(fitting), (1,), generator=generator)]
        overshoot = bundle.train[int(chosen)]
        x, edges = _redrawn(network, overshoot, config.temperature, generator)
        for key, features in zip(FEATURES, (graph.x, overshoot.x, x), strict=True):
            made = Data(x=features, edge_index=edges, num_nodes=graph.num_nodes)
            hits[key] += int(oracle.predict_proba([made]).argmax()) != own
    return [str(len(graphs)), *(f"{hits[key] / len(graphs):.2f}" for key in FEATURES)]


@torch.no_grad()
def _redrawn(
    network: StyleNetwork, graph: Data, temperature: float, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """New features and drawn edges of an overshoot."""
    styled = network(DenseGraphs.of([graph]))
    logits = relaxed(network.logits(styled.low, styled.high), temperature, generator)
    chance = symmetric(logits.sigmoid())[0].triu(1)
    drawn = (torch.rand(chance.shape, generator=generator) < chance).float()
    return styled.x[0], (drawn + drawn.T).nonzero().T.contiguous()


if __name__ == "__main__":
    main()
