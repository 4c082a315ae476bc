"""PyG's Explainer with edgeflip beside GNNExplainer, on graphs that edgeflip makes: no download.

    python examples/pyg_explainer.py            # about 20 seconds on one core
    python examples/pyg_explainer.py --smoke    # seconds, with a model that is hardly trained

A GIN learns BA-2Motifs: is the motif a cycle or a house? Then both algorithms explain the same graphs
through the same Explainer, and the edges that they name are taken away.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Linear, ReLU, Sequential
from torch_geometric.data import Data
from torch_geometric.explain import Explainer, Explanation, GNNExplainer
from torch_geometric.explain.metric import fidelity
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool

from edgeflip import Constraints, load_dataset
from edgeflip.integrations.pyg import CounterfactualAlgorithm


class GIN(torch.nn.Module):
    """Three GIN layers, a sum over the nodes, two classes."""

    def __init__(self, features: int, width: int = 20, classes: int = 2) -> None:
        super().__init__()
        self.convs = torch.nn.ModuleList()
        for layer in range(3):
            inputs = features if layer == 0 else width
            self.convs.append(
                GINConv(
                    Sequential(
                        Linear(inputs, width), BatchNorm1d(width), ReLU(), Linear(width, width)
                    )
                )
            )
        self.hidden, self.out = Linear(width, width), Linear(width, classes)

    def forward(self, x: Tensor, edge_index: Tensor, batch: Tensor | None = None) -> Tensor:
        """Class scores of the graphs of a batch."""
        for conv in self.convs:
            x = conv(x, edge_index).relu()
        return self.out(self.hidden(global_add_pool(x, batch)).relu())


def train(model: GIN, graphs: Sequence[Data], epochs: int) -> None:
    """Teach the model the labels of graphs."""
    loader = DataLoader(graphs, batch_size=64, shuffle=True)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model.train()
    for _ in range(epochs):
        for data in loader:
            optimizer.zero_grad()
            scores = model(data.x, data.edge_index, data.batch)
            torch.nn.functional.cross_entropy(scores, data.y).backward()
            optimizer.step()
    model.eval()


def accuracy(model: GIN, graphs: Sequence[Data]) -> float:
    """Share of graphs whose class the model finds."""
    data = next(iter(DataLoader(graphs, batch_size=len(graphs))))
    return float((predicted(model, data) == data.y).float().mean())


def predicted(model: GIN, data: Data) -> Tensor:
    """Predicted classes."""
    with torch.no_grad():
        classes: Tensor = model(data.x, data.edge_index, data.batch).argmax(dim=1)
    return classes


@dataclass(eq=False)
class Row:
    """What one algorithm did on all graphs, a number per graph in each list."""

    name: str
    edges: list[float] = field(default_factory=list)
    fidelity: list[float] = field(default_factory=list)
    valid: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        """Means, as a line of the table."""
        edges, plus, valid, seconds = (
            sum(column) / len(column)
            for column in (self.edges, self.fidelity, self.valid, self.seconds)
        )
        return f"{self.name:<34} {edges:>6.1f} {plus:>10.2f} {valid:>9.2f} {seconds:>12.3f}"


def explainer_of(model: GIN, algorithm: torch.nn.Module) -> Explainer:
    """PyG's Explainer of the model's predictions."""
    return Explainer(
        model,
        algorithm,
        explanation_type="model",
        edge_mask_type="object",
        model_config={
            "mode": "multiclass_classification",
            "task_level": "graph",
            "return_type": "raw",
        },
    )


def highest_edges(explanation: Explanation, count: int) -> Tensor:
    """A mask of the edges that are masked highest, both directions of each taken together."""
    low, high = explanation.edge_index.sort(dim=0).values
    pair = low * explanation.num_nodes + high
    pairs, place = pair.unique(return_inverse=True)
    weight = torch.zeros(len(pairs)).index_add_(0, place, explanation.edge_mask)
    weight[pairs // explanation.num_nodes == pairs % explanation.num_nodes] = -1  # self-loops stay
    return torch.isin(place, weight.topk(count).indices).float()


def explained(row: Row, explainer: Explainer, graph: Data) -> Explanation:
    """What an Explainer says of a graph, with the CPU time that it took."""
    started = time.process_time()
    explanation = explainer(graph.x, graph.edge_index)
    row.seconds.append(time.process_time() - started)
    return explanation


def note(row: Row, explainer: Explainer, explanation: Explanation, changed: bool) -> None:
    """Write down what became of the edges that an explanation names."""
    come = explanation.get("added_edge_index", torch.empty(2, 0))
    row.edges.append(int(explanation.edge_mask.sum() + come.size(1)) // 2)
    row.fidelity.append(fidelity(explainer, explanation)[0])
    row.valid.append(float(changed))


def compare(model: GIN, graphs: Sequence[Data], epochs: int) -> list[Row]:
    """Explain graphs with every algorithm."""
    removals = CounterfactualAlgorithm("edgeflip", constraints=Constraints(allow_additions=False))
    ours = {
        Row("edgeflip, edges that go"): explainer_of(model, removals),
        Row("edgeflip, edges that come or go"): explainer_of(model, CounterfactualAlgorithm()),
    }
    same, six = Row("GNNExplainer, as many edges"), Row("GNNExplainer, its six best edges")
    masking = explainer_of(model, GNNExplainer(epochs=epochs))
    for graph in graphs:
        before = predicted(model, graph)
        for row, explainer in ours.items():
            edits = explained(row, explainer, graph)
            note(row, explainer, edits, bool(edits.cf_prediction.argmax(dim=1) != before))
        mask = explained(same, masking, graph)
        six.seconds.append(same.seconds[-1])
        count = int(next(iter(ours)).edges[-1])
        for row, most in ((same, max(1, count)), (six, 6)):
            chosen = mask.clone()
            chosen.edge_mask = highest_edges(mask, most)
            left = Data(x=graph.x, edge_index=graph.edge_index[:, chosen.edge_mask == 0])
            note(row, masking, chosen, bool(predicted(model, left) != before))
    return [*ours, same, six]


def main(argv: Sequence[str] | None = None) -> None:
    """Train, explain, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few graphs, in seconds")
    smoke = parser.parse_args(argv).smoke
    # The sums of several threads differ in their last digits, and with them the trained model.
    torch.set_num_threads(1)
    torch.manual_seed(0)
    bundle = load_dataset("ba_2motifs")
    model = GIN(bundle.graphs[0].num_features)
    train(model, bundle.train[:: 4 if smoke else 1], epochs=12)
    print(f"a GIN on {bundle.card.title}, test accuracy {accuracy(model, bundle.test):.2f}\n")
    rows = compare(model, bundle.test[: 3 if smoke else 25], epochs=10 if smoke else 200)
    print(f"{'algorithm':<34} {'edges':>6} {'fidelity+':>10} {'validity':>9} {'CPU s/graph':>12}")
    print(*rows, sep="\n")
    print(
        "\nvalidity: the class changes on the really edited graph. fidelity+ is PyG's, which sees edges\n"
        "that go, and none that comes."
    )


if __name__ == "__main__":
    main()
