"""One cycle of BA-3Motifs turned into a house and into a clique by additions alone, and how many it takes.

    python benchmarks/figures.py             # docs/figures/targets.svg and a table
    python benchmarks/figures.py --quick     # a link predictor of a few epochs
    python benchmarks/figures.py --json      # and the figures as one JSON object on the last line

The table counts the additions of all counterfactuals kept, over cycles of the test graphs: of all that
flip, and of those in which every edit is needed. The paper shows one or two for the house, and up to
five for the clique.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.table import Table
from torch_geometric.data import Data

from edgeflip import (
    Constraints,
    CounterfactualExplainer,
    CounterfactualSet,
    EdgeFlip,
    ModelOracle,
    load_dataset,
    train_oracle,
)
from edgeflip.core import EditSet, edge_pairs
from edgeflip.datasets import DatasetBundle
from edgeflip.draw import Canvas, Picture, Scene, drawing_of, subject_of
from edgeflip.draw.scene import Item, placed, words
from edgeflip.explainers.dr_cfgnn import DRCFGNN

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "figures"
WIDE, HIGH, MARGIN, TOP = 400.0, 300.0, 24.0, 66.0


def fitted(bundle: DatasetBundle, oracle: ModelOracle, *, quick: bool) -> DRCFGNN:
    """The +OH explainer of the cpu profile."""
    config = DRCFGNN.for_dataset(bundle.name, profile="cpu", overrides={"denoise": False}).config
    if quick:
        config = replace(config, training=replace(config.training, epochs=15))
    return DRCFGNN(config).fit([*bundle.train, *bundle.val], oracle)


def cycles(bundle: DatasetBundle, oracle: ModelOracle, most: int) -> list[Data]:
    """Correctly predicted test graphs whose motif is a cycle."""
    labels = oracle.predict(bundle.test).tolist()
    pairs = zip(bundle.test, labels, strict=True)
    return [graph for graph, label in pairs if label == int(graph.y) == 0][:most]


def answers(
    explainer: DRCFGNN, graphs: Sequence[Data], target: int, *, minimal: bool
) -> list[CounterfactualSet]:
    """Counterfactuals by additions alone, as many as there are up to 200."""
    chosen: CounterfactualExplainer[Any] = explainer
    if minimal:
        ours = replace(
            EdgeFlip.for_dataset("ba_2motifs").config,
            predictor=explainer.config.predictor,
            training=explainer.config.training,
        )
        chosen = EdgeFlip(ours, links=explainer.links_).fit([], explainer.oracle_)
    only = Constraints(allow_removals=False)
    return [chosen.explain(graph, target=target, constraints=only, keep=200) for graph in graphs]


def spread(found: Sequence[CounterfactualSet]) -> dict[str, Any]:
    """How many additions the counterfactuals of a target have."""
    sizes = Counter(entry.size for answer in found for entry in answer.counterfactuals)
    best = [answer.best.size for answer in found if answer.best]
    first = [answer.first.size for answer in found if answer.first]
    return {
        "graphs": len(found),
        "found": len(best),
        "kept": sum(sizes.values()),
        "by_additions": {str(size): sizes[size] for size in sorted(sizes)},
        "best_mean": statistics.fmean(best) if best else None,
        "best_max": max(best, default=None),
        "first_mean": statistics.fmean(first) if first else None,
    }


def targets_figure(pair: Sequence[CounterfactualSet], motif: frozenset[int]) -> Picture:
    """One graph after the edits for each target, its nodes at the same places."""
    graph = pair[0].graph
    edges = frozenset(edge for edge in edge_pairs(graph) if motif.issuperset(edge))
    made = [answer.best.edits if answer.best else EditSet() for answer in pair]
    # All edits together lead the places, so that neither target has its edges on top of each other.
    both = EditSet(
        added=frozenset().union(*(edits.added for edits in made)),
        removed=frozenset().union(*(edits.removed for edits in made)),
    )
    subject = replace(subject_of(graph, [both, *made]), core_nodes=motif, core_edges=edges)
    scene = drawing_of(subject, Canvas(WIDE, HIGH)).panels[-1]
    items: list[Item] = []
    told = []
    for column, (answer, moves) in enumerate(zip(pair, subject.choices[1:], strict=True)):
        left = MARGIN + column * (WIDE + MARGIN)
        assert answer.target is not None
        wanted = answer.class_name(answer.target)
        change = f"{answer.class_name(answer.label)} → {wanted}"
        note = "nothing found"
        if answer.best:
            many = f"{len(moves)} edge{'s'[: len(moves) != 1]} added"
            note = f"{many}, probability of {wanted} {answer.best.proba[answer.target]:.2f}"
        items += [words((left, 34), change, "title"), words((left, 54), note, "note")]
        shown = scene.under(move.key for move in moves)
        items += placed(shown.items, (left, TOP))
        told.append(f"{change}: {note}, {', '.join(move.name for move in moves)}.")
    reading = (
        "Filled nodes are the motif; added edges are blue with a plus. Nodes keep their places."
    )
    items.append(words((MARGIN, TOP + HIGH + 26), reading, "small"))
    width = 2 * WIDE + 3 * MARGIN
    label = "One cycle and two targets"
    return Picture(Scene(width, TOP + HIGH + 44, tuple(items), label, " ".join(told)))


def main(argv: Sequence[str] | None = None) -> None:
    """Draw, count and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--json", action="store_true", help="print the figures as JSON last")
    parser.add_argument("--quick", action="store_true", help="a link predictor of a few epochs")
    parser.add_argument("--graphs", type=int, default=20, help="cycles to count additions over")
    parser.add_argument("--out", type=Path, default=FOLDER, help="folder of the pictures")
    arguments = parser.parse_args(argv)
    torch.set_num_threads(1)
    arguments.out.mkdir(parents=True, exist_ok=True)
    results: dict[str, Any] = {}
    bundle = load_dataset("ba_3motifs")
    oracle = train_oracle(bundle, profile="smoke" if arguments.quick else "cpu")
    explainer = fitted(bundle, oracle, quick=arguments.quick)
    graphs = cycles(bundle, oracle, arguments.graphs)
    found = {
        (target, minimal): answers(explainer, graphs, target, minimal=minimal)
        for target in (1, 2)
        for minimal in (False, True)
    }
    assert bundle.motif_nodes is not None
    # The first graph that can become either.
    pairs = list(zip(found[1, True], found[2, True], strict=True))
    shown = next((pair for pair in pairs if pair[0].found and pair[1].found), pairs[0])
    picture = targets_figure(shown, bundle.motif_nodes(shown[0].graph))
    picture.save(arguments.out / "targets.svg")
    most = explainer.config.add.max
    sizes = [str(size) for size in range(1, most + 1)]
    table = Table("target", "edits", "graphs", "found", "kept", *sizes, "best")
    for (target, minimal), sets in found.items():
        row = spread(sets)
        name, kind = bundle.class_names[target], "needed" if minimal else "all"
        results[f"targets {name} {kind}"] = row
        table.add_row(
            name,
            kind,
            str(row["graphs"]),
            str(row["found"]),
            str(row["kept"]),
            *(str(row["by_additions"].get(size, 0)) for size in sizes),
            "-" if row["best_mean"] is None else f"{row['best_mean']:.2f}",
        )
    results["link_predictor_auc"] = explainer.report_.auc
    console = Console(width=100)
    console.print("Counterfactuals of cycles by number of additions, and the mean of the best")
    console.print(table)
    console.print(f"pictures in {arguments.out}")
    if arguments.json:
        print(json.dumps(results))


if __name__ == "__main__":
    main()
