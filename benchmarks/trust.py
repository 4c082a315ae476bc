"""Does an answer made for one model change the mind of others? By method, margin and models in the search.

    python benchmarks/trust.py                                  # BBBP and BA-3Motifs, 40 test graphs each
    python benchmarks/trust.py --datasets bbbp --graphs 60 --methods edgeflip random gcfexplainer
    python benchmarks/trust.py --split val --json

Seven models of each dataset are trained once and kept in --models: four GCNs from different seeds and three
GINs. The searches see three GCNs and two GINs at most; one GCN and one GIN are held out. Graphs are those
that all seven predict rightly. Each cell is the share of answers that change a held-out model's prediction,
with Wilson's 95 % interval; the smallest answer of a graph counts. Every kept answer is asked about again
with the bare models of its search, one graph at a time.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data

from edgeflip import Budget, CounterfactualSet, DatasetBundle, ModelOracle, load_dataset
from edgeflip.explainers import make_explainer
from edgeflip.metrics import wilson
from trusting.models import gcn, gin

_MARGINS = (1.0, 2.0)


@dataclass(frozen=True)
class Models:
    """The models of a dataset: those that searches may see, and those that are held out."""

    gcns: tuple[ModelOracle, ...]
    gins: tuple[ModelOracle, ...]
    held_gcn: ModelOracle
    held_gin: ModelOracle

    @classmethod
    def of(cls, bundle: DatasetBundle, folder: Path, profile: str) -> Models:
        """Read, or trained where the folder has none."""
        gcns = [gcn(bundle, folder, seed, profile) for seed in range(4)]
        gins = [gin(bundle, folder, seed, profile) for seed in range(3)]
        return cls(tuple(gcns[:3]), tuple(gins[:2]), gcns[3], gins[2])

    @property
    def all(self) -> tuple[ModelOracle, ...]:
        """Every one of them."""
        return (*self.gcns, *self.gins, self.held_gcn, self.held_gin)


@dataclass(frozen=True)
class Row:
    """One way to search.

    Attributes:
        title: What it is.
        method: Name of the method.
        models: The models that must change their mind.
        options: Keywords of `explain`.
    """

    title: str
    method: str
    models: tuple[ModelOracle, ...]
    options: dict[str, Any]


def rows_of(models: Models, methods: Sequence[str]) -> list[Row]:
    """The ways to search, each beside the first: one model and no margin."""
    one, two, three = models.gcns[:1], models.gcns[:2], models.gcns
    mixed = (*models.gcns[:2], *models.gins)
    rows = [Row(name, name, one, {}) for name in methods]
    if "edgeflip" not in methods:
        return rows
    for margin in _MARGINS:
        rows.append(Row(f"margin {margin:g}", "edgeflip", one, {"margin": margin}))
    named = {
        "two GCNs": two,
        "three GCNs": three,
        "two GCNs, two GINs": mixed,
    }
    for title, members in named.items():
        rows.append(Row(title, "edgeflip", members, {}))
        rows.append(Row(f"{title}, margin 1", "edgeflip", members, {"margin": 1.0}))
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    """Explain, ask the models that were held out, and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--datasets", nargs="*", default=["bbbp", "ba_3motifs"])
    parser.add_argument("--methods", nargs="*", default=["edgeflip", "random"])
    parser.add_argument("--graphs", type=int, default=40, help="at most this many a dataset")
    parser.add_argument("--split", choices=("test", "val"), default="test")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each graph")
    parser.add_argument("--models", type=Path, default=Path("runs/trust"))
    parser.add_argument("--profile", default="cpu", help="settings of models and methods")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON last")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    figures: dict[str, Any] = {}
    for name in arguments.datasets:
        bundle = load_dataset(name)
        models = Models.of(bundle, arguments.models, arguments.profile)
        graphs = _predicted_rightly(models, getattr(bundle, arguments.split))[: arguments.graphs]
        table = Table(
            f"{name}, {len(graphs)} {arguments.split} graphs",
            "answered",
            "edits",
            "held-out GCN",
            "held-out GIN",
            "CPU s",
            "re-checked",
        )
        figures[name] = {}
        for row in rows_of(models, arguments.methods):
            told = _measured(row, bundle, models, graphs, arguments)
            figures[name][row.title] = told
            table.add_row(row.title, *_cells(told))
            print(name, row.title, *_cells(told), sep=" | ", file=sys.stderr, flush=True)
        Console(width=110).print(table)
    if arguments.json:
        print(json.dumps(figures))


def _measured(
    row: Row, bundle: DatasetBundle, models: Models, graphs: Sequence[Data], arguments: Any
) -> dict[str, Any]:
    explainer = make_explainer(row.method, dataset=bundle.name, profile=arguments.profile)
    train = [] if row.method in ("edgeflip", "random") else bundle.train
    explainer.fit(train, row.models[0] if len(row.models) == 1 else list(row.models))
    budget = Budget(seconds=arguments.seconds)
    started = time.process_time()
    answers = [
        explainer.explain(graph, fill=bundle.fill, budget=budget, **row.options) for graph in graphs
    ]
    seconds = time.process_time() - started
    found = [answer for answer in answers if answer.found]
    edited = [answer.edited_graph(answer.smallest) for answer in found]
    sizes = [answer.smallest.size for answer in found if answer.smallest is not None]
    kept = [entry for answer in found for entry in answer.counterfactuals]
    return {
        "answered": len(found),
        "graphs": len(graphs),
        "edits": sum(sizes) / max(1, len(sizes)),
        "gcn": _turned(models.held_gcn, found, edited),
        "gin": _turned(models.held_gin, found, edited),
        "seconds": seconds / max(1, len(graphs)),
        "kept": len(kept),
        "confirmed": sum(_all_turned(row, answer) for answer in found),
    }


def _cells(told: dict[str, Any]) -> list[str]:
    count = told["answered"]
    shares = [_share(told[key], count) for key in ("gcn", "gin")]
    return [
        f"{count}/{told['graphs']}",
        f"{told['edits']:.1f}",
        *shares,
        f"{told['seconds']:.2f}",
        f"{told['confirmed']}/{told['kept']}",
    ]


def _share(hits: int, trials: int) -> str:
    if not trials:
        return "-"
    found = wilson(hits, trials)
    return f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def _turned(
    oracle: ModelOracle, answers: Sequence[CounterfactualSet], edited: Sequence[Data]
) -> int:
    """How many edited graphs a model that was right about the input predicts otherwise."""
    labels = oracle.predict(edited).tolist() if edited else []
    return sum(label != answer.label for label, answer in zip(labels, answers, strict=True))


def _all_turned(row: Row, answer: CounterfactualSet) -> int:
    """How many kept answers change the mind of every model of the search, asked without edgeflip."""
    count = 0
    for entry in answer.counterfactuals:
        graph = answer.edited_graph(entry)
        batch = torch.zeros(graph.num_nodes, dtype=torch.long)
        labels = [_label(oracle.model, graph, batch) for oracle in row.models]
        count += all(label != answer.label for label in labels)
    return count


def _label(model: Any, graph: Data, batch: torch.Tensor) -> int:
    with torch.no_grad():
        return int(model(graph.x, graph.edge_index, batch=batch).argmax())


def _predicted_rightly(models: Models, graphs: Sequence[Data]) -> list[Data]:
    truth = torch.tensor([int(graph.y) for graph in graphs])
    right = torch.stack([oracle.predict(graphs) == truth for oracle in models.all]).all(dim=0)
    return [graph for graph, keep in zip(graphs, right.tolist(), strict=True) if keep]


if __name__ == "__main__":
    main()
